//! The tools: one table, from which `tools/list` and `tools/call` both read. What each tool does is in the
//! modules below.

mod at_once;
mod contact;
mod in_time;

use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;

use mcp_http_tokio::{Call, ErrorObject, Json, SendError};
use serde_json::{Value, json};

use crate::content::text;
use crate::given::{Given, Misfit};
use Work::{AtOnce, InTime};

/// One tool.
struct Tool {
    name: &'static str,
    description: &'static str,
    input_schema: fn() -> Value,
    work: Work,
}

/// How a tool comes to its answer.
enum Work {
    AtOnce(fn(&Given) -> Outcome),
    /// May send to the client before it answers.
    InTime(for<'a> fn(&'a Call, &'a Given) -> OutcomeInTime<'a>),
}

/// The content of the answer.
type Outcome = Result<Vec<Value>, Failure>;

type OutcomeInTime<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Why a tool gave no content.
#[derive(Debug)]
enum Failure {
    /// It went wrong; the model reads why and may do better.
    Told(String),
    /// There is no result at all.
    Refused(ErrorObject),
}

/// The order is the order of the list. The first tool takes no arguments and cannot fail: test suites call it.
static TOOLS: [Tool; 11] = [
    Tool {
        name: "test_simple_text",
        description: "Answers with one text.",
        input_schema: no_arguments,
        work: AtOnce(at_once::simple_text),
    },
    Tool {
        name: "test_image_content",
        description: "Answers with a PNG image.",
        input_schema: no_arguments,
        work: AtOnce(at_once::image_content),
    },
    Tool {
        name: "test_audio_content",
        description: "Answers with a WAV sound.",
        input_schema: no_arguments,
        work: AtOnce(at_once::audio_content),
    },
    Tool {
        name: "test_embedded_resource",
        description: "Answers with a resource inside the answer.",
        input_schema: no_arguments,
        work: AtOnce(at_once::embedded_resource),
    },
    Tool {
        name: "test_multiple_content_types",
        description: "Answers with a text, an image and a resource.",
        input_schema: no_arguments,
        work: AtOnce(at_once::multiple_content_types),
    },
    Tool {
        name: "test_error_handling",
        description: "Always fails.",
        input_schema: no_arguments,
        work: AtOnce(at_once::error_handling),
    },
    Tool {
        name: "test_tool_with_progress",
        description: "Reports progress three times, then answers.",
        input_schema: no_arguments,
        work: InTime(|call, _| Box::pin(in_time::tool_with_progress(call))),
    },
    Tool {
        name: "json_schema_2020_12_tool",
        description: "Takes a contact, described with what JSON Schema 2020-12 has to offer.",
        input_schema: contact::schema,
        work: AtOnce(contact::take),
    },
    Tool {
        name: "test_x_mcp_header",
        description: "Answers with its argument, which clients also send as a header field.",
        input_schema: at_once::x_mcp_header_schema,
        work: AtOnce(at_once::x_mcp_header),
    },
    Tool {
        name: "echo",
        description: "Answers with the text it was given.",
        input_schema: at_once::echo_schema,
        work: AtOnce(at_once::echo),
    },
    Tool {
        name: "slow",
        description: "Waits, reports progress after each step, and stops when it is cancelled.",
        input_schema: in_time::slow_schema,
        work: InTime(|call, given| Box::pin(in_time::slow(call, given))),
    },
];

/// Answers `tools/list`.
pub(crate) fn list() -> Json {
    static LIST: LazyLock<Json> = LazyLock::new(|| {
        let tools: Vec<Value> = TOOLS.iter().map(Tool::listed).collect();
        json!({ "tools": tools }).into()
    });
    LIST.clone()
}

/// Answers `tools/call`.
pub(crate) async fn call(call: &Call, params: &Given) -> Result<Json, ErrorObject> {
    let name = params.text("name")?;
    let given = params.optional_object("arguments")?.unwrap_or_default();
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let shown: String = name.chars().take(64).collect();
        return Err(ErrorObject::invalid_params(format!(
            "unknown tool: {shown}; `tools/list` names them all"
        )));
    };
    let outcome = match tool.work {
        AtOnce(work) => work(&given),
        InTime(work) => work(call, &given).await,
    };
    match outcome {
        Ok(content) => Ok(json!({ "content": content }).into()),
        Err(Failure::Told(why)) => Ok(json!({ "content": [text(&why)], "isError": true }).into()),
        Err(Failure::Refused(error)) => Err(error),
    }
}

impl Tool {
    fn listed(&self) -> Value {
        json!({ "name": self.name, "description": self.description, "inputSchema": (self.input_schema)() })
    }
}

fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {} })
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Failure {
        Failure::Told(misfit.to_string())
    }
}

/// Nobody waits for the answer any more, so it does not matter what it is.
impl From<SendError> for Failure {
    fn from(error: SendError) -> Failure {
        Failure::Refused(ErrorObject::internal(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::{AtOnce, Failure, Given, TOOLS, list};

    #[test]
    fn names_are_unique_and_plain() {
        let names: BTreeSet<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        for name in names {
            assert!((1..=128).contains(&name.len()), "{name}");
            assert!(
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)),
                "{name}"
            );
        }
    }

    #[test]
    fn every_tool_is_described() {
        let listed: Value = list().decode().unwrap();
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(tools.len(), TOOLS.len());
        for tool in tools {
            assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
    }

    #[test]
    fn the_first_tool_answers_without_arguments() {
        let first = &TOOLS[0];
        assert_eq!(
            (first.name, (first.input_schema)()["properties"].clone()),
            ("test_simple_text", json!({}))
        );
        let AtOnce(work) = first.work else { panic!("the first tool answers at once") };
        assert!(work(&Given::default()).is_ok());
    }

    #[test]
    fn tools_that_need_no_arguments_take_none_or_more() {
        for tool in TOOLS.iter().filter(|tool| (tool.input_schema)().get("required").is_none()) {
            let AtOnce(work) = tool.work else { continue };
            for given in [json!({}), json!({ "surplus": 1 })] {
                let told = matches!(work(&given.into()), Err(Failure::Told(_)));
                let fails = ["test_error_handling", "json_schema_2020_12_tool"].contains(&tool.name);
                assert_eq!(told, fails, "{}", tool.name);
            }
        }
    }

    #[test]
    fn what_a_schema_requires_is_required() {
        for tool in &TOOLS {
            let schema = (tool.input_schema)();
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            for name in required {
                let AtOnce(work) = tool.work else { continue };
                let Err(Failure::Told(why)) = work(&Given::default()) else { panic!("{}", tool.name) };
                assert!(why.contains(name.as_str().unwrap()), "{why}");
            }
        }
    }
}
