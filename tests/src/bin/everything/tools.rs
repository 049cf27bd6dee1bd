//! The tools: how one is described and called. Which there are is in `table`; what each does is in the modules
//! beside it.

mod asking;
mod at_once;
mod changes;
mod contact;
mod in_time;
mod jobs;
mod round_trips;
mod table;

use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;

use mcp_http_tokio::{ErrorObject, ParamHeaderError, ParamHeaders};
use serde_json::{Value, json};

use crate::client::Capability;
use crate::context::Context;
use crate::given::Given;
use crate::outcome::{Failure, Outcome, tool_result};
use crate::rounds::{Conversation, Turn};
use crate::tasks::{self, Job};
use Work::{AtOnce, InTime, Rounds};
use table::TOOLS;

/// One tool.
struct Tool {
    name: &'static str,
    description: &'static str,
    input_schema: fn() -> Value,
    work: Work,
    /// Whether it is only for clients that know about tasks.
    tasks_only: bool,
}

/// How a tool comes to its answer.
enum Work {
    AtOnce(fn(&Given) -> Outcome),
    /// May send to the client before it answers.
    InTime(for<'a> fn(&'a Context<'a>, &'a Given) -> OutcomeInTime<'a>),
    /// Asks the client before it answers.
    Rounds(Conversation),
    /// Goes on as a task, or is waited for where the client does not know about tasks.
    Job(fn(&Given) -> Result<Job, Failure>),
}

type OutcomeInTime<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Answers `tools/list`, in the stateless era or before it.
pub(crate) fn list(stateless: bool) -> Value {
    static LISTS: LazyLock<[Value; 2]> = LazyLock::new(|| {
        [false, true].map(|stateless| {
            let tools: Vec<Value> = served(stateless).map(Tool::listed).collect();
            json!({ "tools": tools })
        })
    });
    let [before, since] = &*LISTS;
    if stateless { since.clone() } else { before.clone() }
}

/// What clients of an era can use: before the stateless era there were no tasks.
fn served(stateless: bool) -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(move |tool| stateless || !tool.tasks_only)
}

/// Which arguments clients also send as header fields.
pub(crate) fn param_headers() -> Result<ParamHeaders, ParamHeaderError> {
    let with = |headers: ParamHeaders, tool: &Tool| headers.with_tool(tool.name, &(tool.input_schema)());
    TOOLS.iter().try_fold(ParamHeaders::new(), with)
}

/// Answers `tools/call`.
pub(crate) async fn call(context: &Context<'_>) -> Result<Value, ErrorObject> {
    let name = context.params.text("name")?;
    let given = context.params.optional_object("arguments")?.unwrap_or_default();
    let Some(tool) = served(context.stateless).find(|tool| tool.name == name) else {
        let shown: String = name.chars().take(64).collect();
        return Err(ErrorObject::invalid_params(format!(
            "unknown tool: {shown}; `tools/list` names them all"
        )));
    };
    match tool.answer(context, &given).await {
        Ok(Turn::InputRequired(result)) => Ok(result),
        Ok(Turn::Start(job)) => tasks::start(context, job),
        Ok(Turn::Done(content)) => tool_result(Ok(content), context.stateless),
        Err(failure) => tool_result(Err(failure), context.stateless),
    }
}

impl Tool {
    /// A tool without arguments.
    const fn new(name: &'static str, description: &'static str, work: Work) -> Tool {
        Tool { name, description, input_schema: no_arguments, work, tasks_only: false }
    }

    /// The same with the arguments that `input_schema` describes.
    const fn taking(mut self, input_schema: fn() -> Value) -> Tool {
        self.input_schema = input_schema;
        self
    }

    /// The same for clients that know about tasks, and for no others.
    const fn tasks_only(mut self) -> Tool {
        self.tasks_only = true;
        self
    }

    async fn answer(&self, context: &Context<'_>, given: &Given) -> Result<Turn, Failure> {
        if self.tasks_only {
            context.client.must(Capability::Tasks)?;
        }
        match self.work {
            AtOnce(work) => work(given).map(Turn::Done),
            InTime(work) => work(context, given).await.map(Turn::Done),
            Rounds(conversation) => conversation.hold(context, self.name, given).await,
            Work::Job(start) if context.client.can(Capability::Tasks) => start(given).map(Turn::Start),
            Work::Job(start) => in_time::wait_for(context.call, start(given)?).await.map(Turn::Done),
        }
    }

    fn listed(&self) -> Value {
        json!({ "name": self.name, "description": self.description, "inputSchema": (self.input_schema)() })
    }
}

fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {} })
}

/// One argument, a string that must be given.
fn one_text(name: &str, description: &str) -> Value {
    json!({
        "type": "object",
        "properties": { name: { "type": "string", "description": description } },
        "required": [name],
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::{AtOnce, Failure, Given, InTime, Outcome, Rounds, TOOLS, Tool, Work, list, param_headers};
    use crate::client::Client;
    use crate::questions::Answers;
    use crate::rounds::Round;

    /// The tool's first word, if it needs nothing but arguments for it.
    fn begin(tool: &Tool, given: &Given) -> Option<Outcome> {
        match tool.work {
            AtOnce(work) => Some(work(given)),
            Rounds(conversation) => {
                let (client, answers) = (&Client::able(), &Answers::default());
                let first = (conversation.next)(&Round { given, client, answers });
                Some(first.map(|_| Vec::new()))
            }
            Work::Job(start) => Some(start(given).map(|_| Vec::new())),
            InTime(_) => None,
        }
    }

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
        let listed = list(true);
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(tools.len(), TOOLS.len());
        for tool in tools {
            assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
    }

    #[test]
    fn what_can_be_waited_for_asks_nothing() {
        for tool in TOOLS.iter().filter(|tool| !tool.tasks_only) {
            let Work::Job(start) = tool.work else { continue };
            assert!(start(&Given::default()).unwrap().questions.is_empty(), "{}", tool.name);
        }
    }

    #[test]
    fn the_handshake_era_has_no_tools_that_need_tasks() {
        let listed = list(false);
        let names = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
        let names: BTreeSet<&str> = names.collect();
        for tool in TOOLS {
            assert_eq!(names.contains(tool.name), !tool.tasks_only, "{}", tool.name);
        }
    }

    #[test]
    fn one_argument_is_also_sent_as_a_field() {
        let headers = param_headers().unwrap();
        for tool in TOOLS {
            let fields: Vec<&str> =
                headers.tool(tool.name).iter().map(|header| header.field().as_str()).collect();
            let expected: &[&str] =
                if tool.name == "test_x_mcp_header" { &["mcp-param-region"] } else { &[] };
            assert_eq!(fields, expected, "{}", tool.name);
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
            for given in [json!({}), json!({ "surplus": 1 })] {
                let Some(first) = begin(tool, &given.into()) else { continue };
                let fails = ["test_error_handling", "json_schema_2020_12_tool"].contains(&tool.name);
                assert_eq!(matches!(first, Err(Failure::Told(_))), fails, "{}", tool.name);
            }
        }
    }

    #[test]
    fn what_a_schema_requires_is_required() {
        for tool in TOOLS {
            let schema = (tool.input_schema)();
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            for name in required {
                let Some(first) = begin(tool, &Given::default()) else { continue };
                let Err(Failure::Told(why)) = first else { panic!("{}", tool.name) };
                assert!(why.contains(name.as_str().unwrap()), "{why}");
            }
        }
    }
}
