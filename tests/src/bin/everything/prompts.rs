//! The prompts: one table, from which `prompts/list`, `prompts/get` and completion read.

use mcp_http_tokio::ErrorObject;
use serde_json::{Value, json};

use crate::content::{embedded, image, text};
use crate::context::Context;
use crate::given::{Given, Misfit};
use crate::outcome::Failure;
use crate::questions::Question;
use crate::rounds::{Conversation, Round, Step, Turn};
use Contents::{Asked, Plain};

/// One prompt.
pub(crate) struct Prompt {
    name: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    contents: Contents,
}

/// How a prompt comes to the contents of its messages; all are the user's.
enum Contents {
    /// From the arguments, which have been checked.
    Plain(fn(&[&str]) -> Vec<Value>),
    /// From what the client answers.
    Asked(Conversation),
}

/// One argument of a prompt: a string that must be given.
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    description: &'static str,
    /// What completion offers.
    pub(crate) values: &'static [&'static str],
}

static PROMPTS: [Prompt; 5] = [
    Prompt {
        name: "test_simple_prompt",
        description: "One text.",
        arguments: &[],
        contents: Plain(|_| vec![text("This is a simple prompt for testing.")]),
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
        contents: Plain(|given| {
            let [arg1, arg2] = given else { return Vec::new() };
            vec![text(&format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]
        }),
    },
    Prompt {
        name: "test_prompt_with_embedded_resource",
        description: "A resource of the given URI, and a text.",
        arguments: &[Argument {
            name: "resourceUri",
            description: "The URI that the resource bears.",
            values: &["test://example-resource", "test://static-text"],
        }],
        contents: Plain(|given| {
            let [uri] = given else { return Vec::new() };
            let resource = embedded(uri, "text/plain", "Embedded resource content for testing.");
            vec![resource, text("Please process the embedded resource above.")]
        }),
    },
    Prompt {
        name: "test_prompt_with_image",
        description: "An image and a text.",
        arguments: &[],
        contents: Plain(|_| vec![image(), text("Please describe the image above.")]),
    },
    Prompt {
        name: "test_input_required_result_prompt",
        description: "One text, about something that the user is asked for.",
        arguments: &[],
        contents: Asked(Conversation::open(about_context)),
    },
];

/// Answers `prompts/list`.
pub(crate) fn list() -> Value {
    let prompts: Vec<Value> = PROMPTS.iter().map(Prompt::listed).collect();
    json!({ "prompts": prompts })
}

/// Answers `prompts/get`.
pub(crate) async fn get(context: &Context<'_>) -> Result<Value, ErrorObject> {
    let prompt = find(context.params.text("name")?)?;
    let given = context.params.optional_object("arguments")?.unwrap_or_default();
    let turn = match prompt.contents {
        Plain(contents) => Turn::Done(contents(&prompt.checked(&given)?)),
        Asked(conversation) => {
            let turn = conversation.hold(context, prompt.name, &given).await;
            turn.map_err(|failure| failure.into_error(context.stateless))?
        }
    };
    Ok(match turn {
        Turn::Done(contents) => prompt.result(contents),
        Turn::InputRequired(result) => result,
        Turn::Start(_) => return Err(ErrorObject::internal("prompts are not tasks")),
    })
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

    /// The values of all arguments, in their order.
    fn checked<'a>(&self, given: &'a Given) -> Result<Vec<&'a str>, Misfit> {
        self.arguments.iter().map(|argument| given.text(argument.name)).collect()
    }

    fn result(&self, contents: Vec<Value>) -> Value {
        let message = |content| json!({ "role": "user", "content": content });
        let messages: Vec<Value> = contents.into_iter().map(message).collect();
        json!({ "description": self.description, "messages": messages })
    }

    fn listed(&self) -> Value {
        let argument = |argument: &Argument| json!({ "name": argument.name, "description": argument.description, "required": true });
        let arguments: Vec<Value> = self.arguments.iter().map(argument).collect();
        json!({ "name": self.name, "description": self.description, "arguments": arguments })
    }
}

fn about_context(round: &Round<'_>) -> Result<Step, Failure> {
    let Some(form) = round.answers.form("user_context")? else {
        let fields = json!({ "context": { "type": "string" } });
        let form = Question::form("What context should the prompt use?", fields, &["context"]);
        return Ok(Step::ask("user_context", form));
    };
    Ok(Step::Done(vec![text(&format!("Please go on from here: {}", form.text("context")?))]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::{Asked, PROMPTS, Plain, find};
    use crate::given::Given;

    #[test]
    fn names_are_unique_and_every_prompt_is_described() {
        let names: BTreeSet<&str> = PROMPTS.iter().map(|prompt| prompt.name).collect();
        assert_eq!(names.len(), PROMPTS.len());
        assert!(PROMPTS.iter().all(|prompt| !prompt.description.is_empty()));
    }

    #[test]
    fn every_prompt_has_contents_with_its_arguments_and_not_without() {
        for prompt in &PROMPTS {
            let arguments: serde_json::Map<String, Value> =
                prompt.arguments.iter().map(|argument| (argument.name.into(), json!("X-Y"))).collect();
            let given = Given::from(json!(arguments));
            let contents = match prompt.contents {
                Plain(contents) => contents(&prompt.checked(&given).unwrap()),
                Asked(_) => continue,
            };
            let result = prompt.result(contents);
            assert!(!result["messages"].as_array().unwrap().is_empty(), "{}", prompt.name);
            assert!(arguments.is_empty() || result.to_string().contains("X-Y"), "{}", prompt.name);
            assert_eq!(prompt.checked(&Given::default()).is_err(), !arguments.is_empty(), "{}", prompt.name);
        }
    }

    #[test]
    fn an_unknown_prompt_is_refused() {
        let refused = find(&"x".repeat(1000)).map(|prompt| prompt.name).unwrap_err();
        assert_eq!(refused.code, -32602);
        assert!(refused.message.len() < 200);
    }
}
