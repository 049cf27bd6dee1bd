//! One task.

use std::time::Duration;

use mcp_http_tokio::{ErrorObject, Principal};
use serde_json::{Map, Value, json};

use super::TTL_MS;
use crate::clock::Moment;
use crate::given::Given;
use crate::outcome::{Outcome, tool_result};
use crate::questions::{Answers, Question};

/// How often a client should ask.
const POLL_EVERY_MS: u64 = 500;

/// What a task is about.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// What has to be answered before the work begins; asked all at once.
    pub(crate) questions: Vec<(&'static str, Question)>,
    /// How long the work takes.
    pub(crate) takes: Duration,
    /// What the work needs to know.
    pub(crate) given: Given,
    /// What comes of it.
    pub(crate) finish: fn(&Given, &Answers) -> Outcome,
}

#[derive(Debug)]
pub(super) struct Task {
    job: Job,
    owner: Option<Principal>,
    created: Moment,
    answers: Answers,
    /// When the last answer came; the work begins with it.
    answered: Moment,
    cancelled: Option<Moment>,
}

/// How far a task has come, and since when.
enum Status {
    InputRequired,
    Working,
    Done(Moment),
    Cancelled(Moment),
}

impl Task {
    pub(super) fn new(job: Job, owner: Option<Principal>, now: Moment) -> Task {
        Task { job, owner, created: now, answers: Answers::default(), answered: now, cancelled: None }
    }

    /// Whether it belongs to `who`.
    pub(super) fn is_of(&self, who: Option<&Principal>) -> bool {
        self.owner.as_ref() == who
    }

    pub(super) fn has_expired(&self, now: Moment) -> bool {
        now >= self.created.after(Duration::from_millis(TTL_MS))
    }

    /// Takes answers to questions that are open, all of them or none; others do not matter.
    pub(super) fn update(&mut self, answers: Answers, now: Moment) -> Result<(), ErrorObject> {
        if !matches!(self.status(now), Status::InputRequired) {
            return Ok(());
        }
        let open: Vec<&str> = self.open().map(|(key, _)| *key).collect();
        for key in &open {
            answers.check_size(key)?;
        }
        if open.iter().any(|key| answers.contains(key)) {
            self.answers.extend(answers, |key| open.contains(&key));
            self.answered = now;
        }
        Ok(())
    }

    /// Stops the work, unless it is done.
    pub(super) fn cancel(&mut self, now: Moment) {
        if matches!(self.status(now), Status::InputRequired | Status::Working) {
            self.cancelled = Some(now);
        }
    }

    /// What is said of it when it is created: how it stands, and not what it has come to.
    pub(super) fn summary(&self, id: &str, now: Moment) -> Value {
        let (name, since) = match self.status(now) {
            Status::InputRequired => ("input_required", self.answered),
            Status::Working => ("working", self.answered),
            Status::Cancelled(since) => ("cancelled", since),
            Status::Done(since) if self.outcome().is_err() => ("failed", since),
            Status::Done(since) => ("completed", since),
        };
        json!({
            "taskId": id,
            "status": name,
            "createdAt": self.created.iso8601(),
            "lastUpdatedAt": since.iso8601(),
            "ttlMs": TTL_MS,
            "pollIntervalMs": POLL_EVERY_MS,
        })
    }

    /// All there is to say of it.
    pub(super) fn detailed(&self, id: &str, now: Moment) -> Value {
        let mut said = self.summary(id, now);
        match self.status(now) {
            Status::Working | Status::Cancelled(_) => {}
            Status::InputRequired => {
                let open = self.open().map(|(key, question)| (String::from(*key), question.request()));
                said["inputRequests"] = Value::Object(open.collect::<Map<_, _>>());
            }
            Status::Done(_) => match self.outcome() {
                Ok(result) => said["result"] = result,
                Err(error) => {
                    said["statusMessage"] = Value::from(&*error.message);
                    said["error"] = json!({ "code": error.code, "message": error.message });
                }
            },
        }
        said
    }

    fn status(&self, now: Moment) -> Status {
        let done = self.answered.after(self.job.takes);
        match self.cancelled {
            Some(since) => Status::Cancelled(since),
            None if self.open().next().is_some() => Status::InputRequired,
            None if now < done => Status::Working,
            None => Status::Done(done),
        }
    }

    /// What has not been answered.
    fn open(&self) -> impl Iterator<Item = &(&'static str, Question)> {
        self.job.questions.iter().filter(|(key, _)| !self.answers.contains(key))
    }

    /// The result of the tool, as its request would have got it; or its error.
    fn outcome(&self) -> Result<Value, ErrorObject> {
        let mut result = tool_result((self.job.finish)(&self.job.given, &self.answers), true)?;
        result["resultType"] = "complete".into();
        Ok(result)
    }
}
