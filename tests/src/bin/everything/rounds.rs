//! Conversations: what asks the client something before it answers. A tool is written once, as a function from
//! the answers so far to the next step.

use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::context::Context;
use crate::given::Given;
use crate::outcome::{Failure, Outcome};
use crate::questions::{Answers, Question};

/// People take their time.
const ANSWER_WITHIN: Duration = Duration::from_secs(5 * 60);

/// No conversation here is longer.
const ROUNDS_MAX: usize = 8;

/// Says what comes next, by what it has been told. Asks for nothing that was answered.
pub(crate) type NextStep = fn(&Round<'_>) -> Result<Step, Failure>;

/// What is known when a step begins.
pub(crate) struct Round<'a> {
    pub(crate) given: &'a Given,
    pub(crate) answers: &'a Answers,
}

/// What a step comes to.
#[derive(Debug)]
pub(crate) enum Step {
    /// Ask these, each under its key.
    Ask(Vec<(&'static str, Question)>),
    /// That was all.
    Done(Vec<Value>),
}

impl Step {
    pub(crate) fn ask(key: &'static str, question: Question) -> Step {
        Step::Ask(vec![(key, question)])
    }
}

/// Holds the conversation, on the stream of the call.
pub(crate) async fn hold(context: &Context<'_>, given: &Given, next: NextStep) -> Outcome {
    let mut answers = Answers::default();
    for _ in 0..ROUNDS_MAX {
        match next(&Round { given, answers: &answers })? {
            Step::Done(contents) => return Ok(contents),
            Step::Ask(questions) => {
                for (key, question) in questions {
                    answers.insert(key, ask(context, &context.client, question).await?);
                }
            }
        }
    }
    Err(Failure::Told(String::from("this conversation leads nowhere")))
}

async fn ask(context: &Context<'_>, client: &Client, question: Question) -> Result<Value, Failure> {
    client.must(question.capability)?;
    let reply = context.call.request(question.method, Some(question.params.into()), ANSWER_WITHIN).await?;
    reply.decode().map_err(|_| Failure::Told(String::from("the client's reply cannot be read")))
}
