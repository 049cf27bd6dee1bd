//! Tools that ask the client's user or model. Each is a function from the answers so far to the next step.

use serde_json::{Value, json};

use super::one_text;
use crate::content::text;
use crate::outcome::Failure;
use crate::questions::Question;
use crate::rounds::{Round, Step};

const SAMPLE_TOKENS_MAX: u32 = 100;

pub(super) fn sampling_schema() -> Value {
    one_text("prompt", "What to ask the model.")
}

pub(super) fn sampling(round: &Round<'_>) -> Result<Step, Failure> {
    let prompt = round.given.text("prompt")?;
    Ok(match round.answers.sampled("reply")? {
        None => Step::ask("reply", Question::sample(prompt, SAMPLE_TOKENS_MAX)),
        Some(said) => Step::Done(vec![text(&format!("LLM response: {said}"))]),
    })
}

pub(super) fn elicitation_schema() -> Value {
    one_text("message", "What to tell the user.")
}

pub(super) fn elicitation(round: &Round<'_>) -> Result<Step, Failure> {
    let fields = json!({
        "username": { "type": "string", "description": "A name." },
        "email": { "type": "string", "description": "An e-mail address." },
    });
    let form = Question::form(round.given.text("message")?, fields, &["username", "email"]);
    show(round, "User response", form)
}

pub(super) fn defaults(round: &Round<'_>) -> Result<Step, Failure> {
    let fields = json!({
        "name": { "type": "string", "description": "A name.", "default": "John Doe" },
        "age": { "type": "integer", "description": "Years.", "default": 30 },
        "score": { "type": "number", "description": "Points.", "default": 95.5 },
        "status": {
            "type": "string",
            "description": "A state.",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": { "type": "boolean", "description": "Whether that was checked.", "default": true },
    });
    let form = Question::form("Please look through these defaults.", fields, &[]);
    show(round, "Elicitation completed", form)
}

pub(super) fn enums(round: &Round<'_>) -> Result<Step, Failure> {
    let titled = json!([
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" },
    ]);
    let fields = json!({
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
        },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    });
    show(round, "Elicitation completed", Question::form("Please choose.", fields, &[]))
}

/// Asks, and shows what came back, whatever that is.
fn show(round: &Round<'_>, said: &str, form: Question) -> Result<Step, Failure> {
    let Some(reply) = round.answers.whole("reply")? else { return Ok(Step::ask("reply", form)) };
    let action = reply.text("action")?;
    let content = reply.optional_object("content")?.unwrap_or_default();
    Ok(Step::Done(vec![text(&format!("{said}: action={action}, content={content}"))]))
}
