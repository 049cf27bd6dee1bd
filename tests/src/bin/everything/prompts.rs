//! The prompts: one table, from which `prompts/list`, `prompts/get` and completion read.

use std::sync::LazyLock;

use mcp_http_tokio::{ErrorObject, Json};
use serde_json::{Value, json};

use crate::content::{embedded, image, text};
use crate::given::Given;

/// One prompt.
pub(crate) struct Prompt {
    name: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    /// The contents of the messages; all are the user's. The arguments have been checked.
    contents: fn(&[&str]) -> Vec<Value>,
}

/// One argument of a prompt: a string that must be given.
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    description: &'static str,
    /// What completion offers.
    pub(crate) values: &'static [&'static str],
}

static PROMPTS: [Prompt; 4] = [
    Prompt {
        name: "test_simple_prompt",
        description: "One text.",
        arguments: &[],
        contents: |_| vec![text("This is a simple prompt for testing.")],
    },
    Prompt {
        name: "test_prompt_with_arguments",
        description: "One text that holds both arguments.",
        arguments: &[
            Argument {
                name: "arg1",
                description: "The first argument.",
                values: &["test", "test value", "testing", "text"],
            },
            Argument { name: "arg2", description: "The second argument.", values: &["one", "two"] },
        ],
        contents: |given| {
            let [arg1, arg2] = given else { return Vec::new() };
            vec![text(&format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]
        },
    },
    Prompt {
        name: "test_prompt_with_embedded_resource",
        description: "A resource of the given URI, and a text.",
        arguments: &[Argument {
            name: "resourceUri",
            description: "The URI that the resource bears.",
            values: &["test://example-resource", "test://static-text"],
        }],
        contents: |given| {
            let [uri] = given else { return Vec::new() };
            let resource = embedded(uri, "text/plain", "Embedded resource content for testing.");
            vec![resource, text("Please process the embedded resource above.")]
        },
    },
    Prompt {
        name: "test_prompt_with_image",
        description: "An image and a text.",
        arguments: &[],
        contents: |_| vec![image(), text("Please describe the image above.")],
    },
];

/// Answers `prompts/list`.
pub(crate) fn list() -> Json {
    static LIST: LazyLock<Json> = LazyLock::new(|| {
        let prompts: Vec<Value> = PROMPTS.iter().map(Prompt::listed).collect();
        json!({ "prompts": prompts }).into()
    });
    LIST.clone()
}

/// Answers `prompts/get`.
pub(crate) fn get(params: &Given) -> Result<Json, ErrorObject> {
    let prompt = find(params.text("name")?)?;
    let given = params.optional_object("arguments")?.unwrap_or_default();
    let values = prompt.arguments.iter().map(|argument| given.text(argument.name));
    let values: Vec<&str> = values.collect::<Result<_, _>>()?;
    let messages: Vec<Value> = (prompt.contents)(&values)
        .into_iter()
        .map(|content| json!({ "role": "user", "content": content }))
        .collect();
    Ok(json!({ "description": prompt.description, "messages": messages }).into())
}

/// The prompt `name`.
pub(crate) fn find(name: &str) -> Result<&'static Prompt, ErrorObject> {
    PROMPTS.iter().find(|prompt| prompt.name == name).ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        ErrorObject::invalid_params(format!("unknown prompt: {shown}; `prompts/list` names them all"))
    })
}

impl Prompt {
    /// What completion offers for the argument `name`.
    pub(crate) fn values(&self, name: &str) -> Option<&'static [&'static str]> {
        self.arguments.iter().find(|argument| argument.name == name).map(|argument| argument.values)
    }

    fn listed(&self) -> Value {
        let argument = |argument: &Argument| json!({ "name": argument.name, "description": argument.description, "required": true });
        let arguments: Vec<Value> = self.arguments.iter().map(argument).collect();
        json!({ "name": self.name, "description": self.description, "arguments": arguments })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::{PROMPTS, get};
    use crate::given::Given;

    #[test]
    fn names_are_unique_and_every_prompt_is_described() {
        let names: BTreeSet<&str> = PROMPTS.iter().map(|prompt| prompt.name).collect();
        assert_eq!(names.len(), PROMPTS.len());
        assert!(PROMPTS.iter().all(|prompt| !prompt.description.is_empty()));
    }

    #[test]
    fn every_prompt_can_be_got_with_its_arguments_and_not_without() {
        for prompt in &PROMPTS {
            let arguments: serde_json::Map<String, Value> =
                prompt.arguments.iter().map(|argument| (argument.name.into(), json!("X-Y"))).collect();
            let given = json!({ "name": prompt.name, "arguments": arguments });
            let result: Value = get(&Given::from(given)).unwrap().decode().unwrap();
            let messages = result["messages"].as_array().unwrap();
            assert!(!messages.is_empty(), "{}", prompt.name);
            assert!(arguments.is_empty() || result.to_string().contains("X-Y"), "{}", prompt.name);
            let without = get(&Given::from(json!({ "name": prompt.name })));
            assert_eq!(without.is_err(), !arguments.is_empty(), "{}", prompt.name);
        }
    }

    #[test]
    fn an_unknown_prompt_is_refused() {
        let refused = get(&Given::from(json!({ "name": "x".repeat(1000) }))).unwrap_err();
        assert_eq!(refused.code, -32602);
        assert!(refused.message.len() < 200);
    }
}
