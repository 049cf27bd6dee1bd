//! The tasks extension: work that goes on after its request was answered. Nothing runs meanwhile: how far a task
//! has come follows from the time and from what was answered, whenever somebody asks.

mod task;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_http_tokio::{ErrorObject, Principal};
use serde_json::{Value, json};

use crate::client::Capability;
use crate::clock::Moment;
use crate::context::Context;
use crate::questions::Answers;
use crate::secret::Secret;
pub(crate) use task::Job;
use task::Task;

/// Tasks at a time, of all clients.
const TASKS_MAX: usize = 1024;

/// How long a task is known, from its creation, whether it is done or not.
const TTL_MS: u64 = 15 * 60 * 1000;

/// All tasks that are known.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    /// How many there ever were.
    started: u64,
    /// By their numbers: the oldest first, which is the first to expire.
    known: BTreeMap<u64, Task>,
}

/// Answers `tools/call` with a task that does `job`.
pub(crate) fn start(context: &Context<'_>, job: Job) -> Result<Value, ErrorObject> {
    let owner = context.call.principal().cloned();
    context.server.tasks.start(job, owner, &context.server.secret, Moment::now())
}

/// Answers `tasks/get`.
pub(crate) fn get(context: &Context<'_>) -> Result<Value, ErrorObject> {
    let now = Moment::now();
    of_task(context, now, |id, task| Ok(task.detailed(id, now)))
}

/// Answers `tasks/update`.
pub(crate) fn update(context: &Context<'_>) -> Result<Value, ErrorObject> {
    let now = Moment::now();
    of_task(context, now, |_, task| {
        let answers = context.params.object("inputResponses")?.into_members();
        task.update(Answers::from(answers), now).map(|()| json!({}))
    })
}

/// Answers `tasks/cancel`.
pub(crate) fn cancel(context: &Context<'_>) -> Result<Value, ErrorObject> {
    let now = Moment::now();
    of_task(context, now, |_, task| {
        task.cancel(now);
        Ok(json!({}))
    })
}

/// Does something with the task that the request names.
fn of_task(
    context: &Context<'_>,
    now: Moment,
    act: impl FnOnce(&str, &mut Task) -> Result<Value, ErrorObject>,
) -> Result<Value, ErrorObject> {
    let known = context.client.must(Capability::Tasks);
    known.map_err(|failure| failure.into_error(context.stateless))?;
    let (id, who) = (context.params.text("taskId")?, context.call.principal());
    context.server.tasks.with(id, who, &context.server.secret, now, |task| act(id, task))
}

impl Tasks {
    fn start(
        &self,
        job: Job,
        owner: Option<Principal>,
        secret: &Secret,
        now: Moment,
    ) -> Result<Value, ErrorObject> {
        let mut table = self.lock(now);
        if table.known.len() >= TASKS_MAX {
            return Err(ErrorObject::internal("as many tasks are known as may be; try again later"));
        }
        table.started += 1;
        let number = table.started;
        let (id, task) = (id(number, secret), Task::new(job, owner, now));
        let mut result = task.summary(&id, now);
        result["resultType"] = "task".into();
        table.known.insert(number, task);
        Ok(result)
    }

    /// Lends out the task `id`, if `who` may have it.
    fn with<T>(
        &self,
        id: &str,
        who: Option<&Principal>,
        secret: &Secret,
        now: Moment,
        act: impl FnOnce(&mut Task) -> Result<T, ErrorObject>,
    ) -> Result<T, ErrorObject> {
        let mut table = self.lock(now);
        let found = number(id, secret).and_then(|number| table.known.get_mut(&number));
        match found.filter(|task| task.is_of(who)) {
            Some(task) => act(task),
            None => {
                Err(ErrorObject::invalid_params("`taskId` names no task; one that there was has expired"))
            }
        }
    }

    /// The table, without what has expired.
    fn lock(&self, now: Moment) -> MutexGuard<'_, Table> {
        // Whoever panicked under the lock had changed nothing by halves: each change is one step.
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while table.known.first_entry().is_some_and(|oldest| oldest.get().has_expired(now)) {
            table.known.pop_first();
        }
        table
    }
}

/// The id that a client knows a task by. Nobody can guess one, so it is also the key to the task.
fn id(number: u64, secret: &Secret) -> String {
    let number = number.to_string();
    format!("{number}-{}", secret.tag(&[b"task", number.as_bytes()]))
}

/// The number of the task `id`.
fn number(id: &str, secret: &Secret) -> Option<u64> {
    let (number, tag) = id.split_once('-')?;
    secret.knows(tag, &[b"task", number.as_bytes()]).then(|| number.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
