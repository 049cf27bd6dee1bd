//! Tasks from their creation to their end, without waiting for it.

use std::time::Duration;

use mcp_http_tokio::{ErrorObject, Principal};
use serde_json::{Value, json};

use super::{Job, TASKS_MAX, TTL_MS, Tasks};
use crate::clock::Moment;
use crate::content::text;
use crate::given::Given;
use crate::outcome::{Failure, Outcome};
use crate::questions::{Answers, Question};
use crate::secret::Secret;

const START: Moment = Moment::from_ms(0);
const SECOND: Duration = Duration::from_secs(1);
const TTL: Duration = Duration::from_millis(TTL_MS);
const NOBODY: Option<&Principal> = None;

/// The tasks of a server, and the time.
struct Rig {
    tasks: Tasks,
    secret: Secret,
    now: Moment,
}

impl Rig {
    fn new() -> Rig {
        Rig { tasks: Tasks::default(), secret: Secret::of(1), now: START }
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    fn start(&self, job: Job) -> Result<Value, ErrorObject> {
        self.tasks.start(job, None, &self.secret, self.now)
    }

    fn started(&self, job: Job) -> String {
        let result = self.start(job).unwrap();
        String::from(result["taskId"].as_str().unwrap())
    }

    fn get(&self, id: &str) -> Result<Value, ErrorObject> {
        self.tasks.with(id, NOBODY, &self.secret, self.now, |task| Ok(task.detailed(id, self.now)))
    }

    fn status(&self, id: &str) -> Value {
        self.get(id).unwrap()["status"].take()
    }

    fn cancel(&self, id: &str) {
        let cancelled = self.tasks.with(id, NOBODY, &self.secret, self.now, |task| {
            task.cancel(self.now);
            Ok(())
        });
        cancelled.unwrap();
    }

    fn update(&self, id: &str, answers: Value) -> Result<(), ErrorObject> {
        let answers = Answers::from(Given::from(answers).into_members());
        self.tasks.with(id, NOBODY, &self.secret, self.now, |task| task.update(answers, self.now))
    }
}

/// Takes a second.
fn job(finish: fn(&Given, &Answers) -> Outcome) -> Job {
    Job { questions: Vec::new(), takes: SECOND, given: json!({ "n": "x" }).into(), finish }
}

fn plain() -> Job {
    job(|given, _| Ok(vec![text(given.text("n")?)]))
}

/// Asks two things before it begins.
fn asking() -> Job {
    let form = || Question::form("?", json!({ "n": { "type": "string" } }), &["n"]);
    let finish = |_: &Given, answers: &Answers| {
        let form = |key| answers.form(key).map(Option::unwrap_or_default);
        Ok(vec![text(&format!("{}{}", form("a")?.text("n")?, form("b")?.text("n")?))])
    };
    Job { questions: vec![("a", form()), ("b", form())], ..job(finish) }
}

fn filled(key: &str) -> Value {
    json!({ key: { "action": "accept", "content": { "n": key } } })
}

fn names(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

const BASE: [&str; 6] = ["createdAt", "lastUpdatedAt", "pollIntervalMs", "status", "taskId", "ttlMs"];

fn is_unknown(outcome: Result<Value, ErrorObject>) -> bool {
    outcome.is_err_and(|error| error.code == -32602)
}

#[test]
fn a_task_works_until_it_is_done() {
    let mut rig = Rig::new();
    let mut created = rig.start(plain()).unwrap();
    assert_eq!(created["resultType"].take(), "task");
    created.as_object_mut().unwrap().remove("resultType");
    assert_eq!(names(&created), BASE);
    let id = String::from(created["taskId"].as_str().unwrap());
    assert_eq!(rig.get(&id).unwrap(), created);
    assert_eq!(created["status"], "working");
    assert_eq!(created["createdAt"], "1970-01-01T00:00:00.000Z");

    rig.wait(SECOND - Duration::from_millis(1));
    assert_eq!(rig.get(&id).unwrap(), created);
    rig.wait(Duration::from_millis(1));
    let done = rig.get(&id).unwrap();
    assert_eq!(done["status"], "completed");
    assert_eq!(done["lastUpdatedAt"], "1970-01-01T00:00:01.000Z");
    assert_eq!(done["result"], json!({ "content": [text("x")], "resultType": "complete" }));
    rig.wait(SECOND);
    assert_eq!(rig.get(&id).unwrap(), done);
    rig.cancel(&id);
    assert_eq!(rig.get(&id).unwrap(), done);
}

#[test]
fn a_tool_that_fails_completes_and_an_error_fails() {
    let mut rig = Rig::new();
    let told = rig.started(job(|_, _| Err(Failure::Told(String::from("no")))));
    let broken = rig.started(job(|_, _| Err(Failure::broken("broken"))));
    rig.wait(SECOND);
    let told = rig.get(&told).unwrap();
    assert_eq!((&told["status"], &told["result"]["isError"]), (&json!("completed"), &json!(true)));
    let broken = rig.get(&broken).unwrap();
    assert_eq!(broken["status"], "failed");
    assert_eq!(broken["error"], json!({ "code": -32603, "message": "broken" }));
    assert_eq!(broken["statusMessage"], "broken");
    assert_eq!(broken.get("result"), None);
}

#[test]
fn a_task_asks_until_all_is_answered() {
    let mut rig = Rig::new();
    let created = rig.start(asking()).unwrap();
    assert_eq!((created["status"].as_str(), created.get("inputRequests")), (Some("input_required"), None));
    let id = created["taskId"].as_str().unwrap();
    let open = |rig: &Rig| names(&rig.get(id).unwrap()["inputRequests"]).join(" ");
    assert_eq!(open(&rig), "a b");
    assert_eq!(rig.get(id).unwrap()["inputRequests"]["a"]["method"], "elicitation/create");

    rig.wait(3 * SECOND);
    rig.update(id, json!({ "unknown": { "ignored": true } })).unwrap();
    assert_eq!(rig.get(id).unwrap()["lastUpdatedAt"], "1970-01-01T00:00:00.000Z");
    rig.update(id, filled("a")).unwrap();
    assert_eq!(open(&rig), "b");
    assert_eq!(rig.get(id).unwrap()["lastUpdatedAt"], "1970-01-01T00:00:03.000Z");
    // What is answered stays answered.
    let mut answers = filled("b");
    answers["a"] = json!({ "action": "decline" });
    rig.update(id, answers).unwrap();
    assert_eq!(rig.status(id), "working");
    rig.wait(SECOND);
    assert_eq!(rig.get(id).unwrap()["result"]["content"], json!([text("ab")]));
}

#[test]
fn an_answer_that_is_too_large_is_refused_with_all_others() {
    let rig = Rig::new();
    let id = rig.started(asking());
    let mut answers = filled("a");
    answers["b"] = json!({ "action": "accept", "content": { "n": "x".repeat(5000) } });
    assert_eq!(rig.update(&id, answers.clone()).unwrap_err().code, -32602);
    assert_eq!(names(&rig.get(&id).unwrap()["inputRequests"]), ["a", "b"]);
    answers["other"] = answers["b"].take();
    answers["b"] = filled("b")["b"].take();
    rig.update(&id, answers).unwrap();
    assert_eq!(rig.status(&id), "working");
}

#[test]
fn a_task_can_be_cancelled_at_work_and_while_it_asks() {
    let mut rig = Rig::new();
    let (working, waiting) = (rig.started(plain()), rig.started(asking()));
    rig.wait(Duration::from_millis(500));
    for id in [&working, &waiting] {
        rig.cancel(id);
        assert_eq!(names(&rig.get(id).unwrap()), BASE);
    }
    rig.wait(10 * SECOND);
    rig.cancel(&working);
    rig.update(&waiting, filled("a")).unwrap();
    for id in [&working, &waiting] {
        let task = rig.get(id).unwrap();
        assert_eq!(task["status"], "cancelled");
        assert_eq!(task["lastUpdatedAt"], "1970-01-01T00:00:00.500Z");
    }
}

#[test]
fn a_task_is_known_for_its_time_and_not_longer() {
    let mut rig = Rig::new();
    let first = rig.started(plain());
    rig.wait(SECOND);
    let second = rig.started(plain());
    rig.wait(TTL - SECOND - Duration::from_millis(1));
    assert_eq!(rig.status(&first), "completed");
    rig.wait(Duration::from_millis(1));
    assert!(is_unknown(rig.get(&first)));
    assert_eq!(rig.status(&second), "completed");
    rig.wait(SECOND);
    assert!(is_unknown(rig.get(&second)));
    assert!(rig.tasks.lock(rig.now).known.is_empty());
}

#[test]
fn there_are_only_so_many_tasks() {
    let mut rig = Rig::new();
    for _ in 0..TASKS_MAX {
        rig.started(plain());
    }
    assert_eq!(rig.start(plain()).unwrap_err().code, -32603);
    rig.wait(TTL);
    assert!(rig.start(plain()).is_ok());
    assert_eq!(rig.tasks.lock(rig.now).known.len(), 1);
}

#[test]
fn ids_cannot_be_made_up() {
    let rig = Rig::new();
    let (first, second) = (rig.started(plain()), rig.started(plain()));
    assert_ne!(first, second);
    let tag = &first[first.find('-').unwrap()..];
    for wrong in ["", "-", "1", "1-", &format!("2{tag}"), &format!("01{tag}"), tag, &first[..first.len() - 1]]
    {
        assert!(is_unknown(rig.get(wrong)), "{wrong}");
    }
}

#[test]
fn a_task_belongs_to_whoever_started_it() {
    let rig = Rig::new();
    let (one, other) = (Principal(b"one".to_vec().into()), Principal(b"other".to_vec().into()));
    let created = rig.tasks.start(plain(), Some(one.clone()), &rig.secret, rig.now).unwrap();
    let id = created["taskId"].as_str().unwrap();
    let get = |who| rig.tasks.with(id, who, &rig.secret, rig.now, |task| Ok(task.detailed(id, rig.now)));
    assert!(get(Some(&one)).is_ok());
    assert!(is_unknown(get(Some(&other))));
    assert!(is_unknown(get(None)));
}
