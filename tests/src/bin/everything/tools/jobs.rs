//! Tools whose work goes on as a task, where the client knows about tasks.

use std::time::Duration;

use serde_json::{Value, json};

use super::one_text;
use crate::content::text;
use crate::given::Given;
use crate::outcome::{Failure, Outcome};
use crate::questions::{Answers, Question};
use crate::rounds::{Round, Step};
use crate::tasks::Job;

const SLOW_SECONDS_MAX: u32 = 600;
const SLOW_SECONDS_DEFAULT: u32 = 1;

/// Long enough to be seen at work.
const A_WHILE: Duration = Duration::from_secs(1);

pub(super) fn slow_compute_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "seconds": {
                "type": "integer",
                "minimum": 0,
                "maximum": SLOW_SECONDS_MAX,
                "default": SLOW_SECONDS_DEFAULT,
                "description": "How long it takes.",
            },
            "label": { "type": "string", "description": "A name for it." },
        },
    })
}

pub(super) fn slow_compute(given: &Given) -> Result<Job, Failure> {
    let seconds = given.count("seconds", 0..=SLOW_SECONDS_MAX, SLOW_SECONDS_DEFAULT)?;
    let label = if given.has("label") { given.short_text("label")? } else { "It" };
    Ok(Job {
        questions: Vec::new(),
        takes: Duration::from_secs(u64::from(seconds)),
        given: json!({ "said": format!("{label} took {seconds} s.") }).into(),
        finish: |given, _| Ok(vec![text(given.text("said")?)]),
    })
}

pub(super) fn failing(_: &Given) -> Result<Job, Failure> {
    let finish = |_: &Given, _: &Answers| Err(Failure::Told(String::from("This job always fails.")));
    Ok(Job { questions: Vec::new(), takes: A_WHILE, given: Given::default(), finish })
}

pub(super) fn breaking(_: &Given) -> Result<Job, Failure> {
    let finish = |_: &Given, _: &Answers| Err(Failure::broken("this job always breaks"));
    Ok(Job { questions: Vec::new(), takes: A_WHILE, given: Given::default(), finish })
}

pub(super) fn confirm_delete_schema() -> Value {
    one_text("filename", "What to delete. There are no files here.")
}

pub(super) fn confirm_delete(given: &Given) -> Result<Job, Failure> {
    let filename = given.short_text("filename")?;
    let fields = json!({ "confirm": { "type": "boolean" } });
    Ok(Job {
        questions: vec![("confirm", Question::form(&format!("Delete {filename}?"), fields, &["confirm"]))],
        takes: Duration::ZERO,
        given: json!({ "filename": filename }).into(),
        finish: deleted,
    })
}

fn deleted(given: &Given, answers: &Answers) -> Outcome {
    let form = answers.form("confirm")?.unwrap_or_default();
    let did = if form.flag("confirm")? { "Deleted" } else { "Kept" };
    Ok(vec![text(&format!("{did} {}.", given.text("filename")?))])
}

pub(super) fn two_names(_: &Given) -> Result<Job, Failure> {
    let form = |which| {
        let fields = json!({ "name": { "type": "string" } });
        Question::form(&format!("The {which} name?"), fields, &["name"])
    };
    Ok(Job {
        questions: vec![("first", form("first")), ("second", form("second"))],
        takes: Duration::ZERO,
        given: Given::default(),
        finish: |_, answers| {
            let form = |key| answers.form(key).map(Option::unwrap_or_default);
            let (first, second) = (form("first")?, form("second")?);
            Ok(vec![text(&format!("{} and {}", first.text("name")?, second.text("name")?))])
        },
    })
}

/// First a conversation, then a task.
pub(super) fn greeting(round: &Round<'_>) -> Result<Step, Failure> {
    let Some(form) = round.answers.form("user_name")? else {
        let fields = json!({ "name": { "type": "string" } });
        let form = Question::form("Whom shall the task greet?", fields, &["name"]);
        return Ok(Step::ask("user_name", form));
    };
    Ok(Step::Start(Job {
        questions: Vec::new(),
        takes: A_WHILE,
        given: json!({ "name": form.short_text("name")? }).into(),
        finish: |given, _| Ok(vec![text(&format!("Hello, {}!", given.text("name")?))]),
    }))
}
