//! Conversations: what asks the client something before it answers. Each is written once, as a function from the
//! answers so far to the next step. In the handshake era the questions are requests on the call's stream; in the
//! stateless era they are the result, and the client comes back with the answers.

mod state;

use std::time::Duration;

use mcp_http_tokio::ErrorObject;
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::clock::Moment;
use crate::context::Context;
use crate::given::{Given, Misfit};
use crate::outcome::Failure;
use crate::questions::{Answers, Question};
use crate::secret::Secret;
use crate::tasks::Job;
pub(crate) use state::Purpose;
use state::State;

/// People take their time.
const ANSWER_WITHIN: Duration = Duration::from_secs(5 * 60);

/// No conversation here is longer.
const ROUNDS_MAX: usize = 8;

/// One kind of conversation.
#[derive(Clone, Copy)]
pub(crate) struct Conversation {
    /// Says what comes next. Asks for nothing that was answered.
    pub(crate) next: fn(&Round<'_>) -> Result<Step, Failure>,
    /// Whether answers count only if this server asked for them, just now and for this very request. If so, it
    /// may be longer than one round.
    pub(crate) sealed: bool,
}

/// What is known when a step begins.
pub(crate) struct Round<'a> {
    pub(crate) given: &'a Given,
    pub(crate) client: &'a Client,
    pub(crate) answers: &'a Answers,
}

/// What a step comes to.
#[derive(Debug)]
pub(crate) enum Step {
    /// Ask these, each under its key.
    Ask(Vec<(&'static str, Question)>),
    /// That was all.
    Done(Vec<Value>),
    /// That was all; the rest is a task.
    Start(Job),
}

/// What a request comes to.
#[derive(Debug)]
pub(crate) enum Turn {
    /// The contents of its answer.
    Done(Vec<Value>),
    /// The client has to answer first; the result that says so.
    InputRequired(Value),
    /// A task has to be started.
    Start(Job),
}

impl Step {
    pub(crate) fn ask(key: &'static str, question: Question) -> Step {
        Step::Ask(vec![(key, question)])
    }
}

impl Conversation {
    /// Takes the answers of whoever gives any.
    pub(crate) const fn open(next: fn(&Round<'_>) -> Result<Step, Failure>) -> Conversation {
        Conversation { next, sealed: false }
    }

    pub(crate) const fn sealed(next: fn(&Round<'_>) -> Result<Step, Failure>) -> Conversation {
        Conversation { next, sealed: true }
    }

    /// Holds the conversation about `name`, which is a tool or a prompt.
    pub(crate) async fn hold(
        self,
        context: &Context<'_>,
        name: &str,
        given: &Given,
    ) -> Result<Turn, Failure> {
        if !context.stateless {
            return self.hold_on_stream(context, given).await;
        }
        let purpose =
            Purpose { method: context.call.method(), name, given, principal: context.call.principal() };
        let brought = Brought::with(&context.params).map_err(ErrorObject::from)?;
        self.turn(&context.server.secret, &purpose, &context.client, brought, Moment::now())
    }

    async fn hold_on_stream(self, context: &Context<'_>, given: &Given) -> Result<Turn, Failure> {
        let (client, mut answers) = (&context.client, Answers::default());
        for _ in 0..ROUNDS_MAX {
            let questions = match (self.next)(&Round { given, client, answers: &answers })? {
                Step::Done(contents) => return Ok(Turn::Done(contents)),
                Step::Start(job) => return Ok(Turn::Start(job)),
                Step::Ask(questions) => questions,
            };
            for (key, question) in questions {
                client.must(question.capability)?;
                let params = Some(question.params.into());
                let reply = context.call.request(question.method, params, ANSWER_WITHIN).await?;
                let reply = reply.decode().map_err(|_| Failure::broken("a reply cannot be read"))?;
                answers.insert(key, reply);
            }
        }
        Err(Failure::broken("this conversation has no end"))
    }

    /// One round: all that is known of those before it, the client has brought along.
    fn turn(
        self,
        secret: &Secret,
        purpose: &Purpose<'_>,
        client: &Client,
        brought: Brought<'_>,
        now: Moment,
    ) -> Result<Turn, Failure> {
        let answers = self.answers(secret, purpose, brought, now)?;
        let round = Round { given: purpose.given, client, answers: &answers };
        let questions = match (self.next)(&round)? {
            Step::Done(contents) => return Ok(Turn::Done(contents)),
            Step::Start(job) => return Ok(Turn::Start(job)),
            Step::Ask(questions) => questions,
        };
        let asked = questions.iter().map(|(key, _)| String::from(*key)).collect();
        let mut requests = Map::new();
        for (key, question) in questions {
            client.must(question.capability)?;
            requests.insert(String::from(key), question.request());
        }
        let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
        if self.sealed {
            result["requestState"] = State { asked, answers }.seal(secret, purpose, now).into();
        }
        Ok(Turn::InputRequired(result))
    }

    fn answers(
        self,
        secret: &Secret,
        purpose: &Purpose<'_>,
        brought: Brought<'_>,
        now: Moment,
    ) -> Result<Answers, Failure> {
        let state = match brought.state {
            None if self.sealed => return Ok(Answers::default()),
            None => return Ok(brought.answers),
            Some(text) if self.sealed => State::open(text, secret, purpose, now),
            Some(_) => None,
        };
        let Some(State { asked, mut answers }) = state else {
            return Err(Failure::Refused(ErrorObject::invalid_params(
                "`requestState` is not one that this server gave out for this request, or it has expired",
            )));
        };
        answers.extend(brought.answers, |key| asked.iter().any(|asked| asked == key));
        Ok(answers)
    }
}

/// What a client comes back with.
#[derive(Debug)]
struct Brought<'a> {
    answers: Answers,
    state: Option<&'a str>,
}

impl Brought<'_> {
    fn with(params: &Given) -> Result<Brought<'_>, Misfit> {
        let answers = params.optional_object("inputResponses")?.unwrap_or_default();
        let state = params.optional_text("requestState")?;
        Ok(Brought { answers: Answers::from(answers.into_members()), state })
    }
}

#[cfg(test)]
mod tests;
