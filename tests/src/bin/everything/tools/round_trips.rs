//! Tools for the round trips of the stateless era. They hold their conversations in the handshake era as well.

use serde_json::json;

use crate::client::Capability;
use crate::content::text;
use crate::outcome::Failure;
use crate::questions::Question;
use crate::rounds::{Round, Step};

pub(super) fn missing_capability(round: &Round<'_>) -> Result<Step, Failure> {
    round.client.must(Capability::Sampling)?;
    Ok(done("The client declares the capability `sampling`."))
}

pub(super) fn confirm(round: &Round<'_>) -> Result<Step, Failure> {
    let Some(form) = round.answers.form("confirm")? else {
        let form = Question::form("Please confirm", json!({ "ok": { "type": "boolean" } }), &["ok"]);
        return Ok(Step::ask("confirm", form));
    };
    let ok = form.flag("ok")?;
    Ok(done(&format!("state-ok; the user {}", if ok { "confirmed" } else { "did not confirm" })))
}

pub(super) fn greet(round: &Round<'_>) -> Result<Step, Failure> {
    let Some(form) = round.answers.form("user_name")? else { return Ok(Step::ask("user_name", name())) };
    Ok(done(&format!("Hello, {}!", form.text("name")?)))
}

pub(super) fn capital(round: &Round<'_>) -> Result<Step, Failure> {
    let Some(said) = round.answers.sampled("capital_question")? else {
        let question = Question::sample("What is the capital of France?", 100);
        return Ok(Step::ask("capital_question", question));
    };
    Ok(done(&format!("The model said: {said}")))
}

pub(super) fn roots(round: &Round<'_>) -> Result<Step, Failure> {
    let Some(uris) = round.answers.roots("client_roots")? else {
        return Ok(Step::ask("client_roots", Question::roots()));
    };
    Ok(done(&format!("The client's roots: {}", listed(&uris))))
}

pub(super) fn three_at_once(round: &Round<'_>) -> Result<Step, Failure> {
    let name_form = round.answers.form("user_name")?;
    let greeting = round.answers.sampled("greeting")?;
    let uris = round.answers.roots("client_roots")?;
    if let (Some(form), Some(greeting), Some(uris)) = (name_form, greeting, uris) {
        let name = form.text("name")?;
        return Ok(done(&format!("For {name}: {greeting} The client's roots: {}", listed(&uris))));
    }
    let questions =
        [("user_name", name()), ("greeting", greeting_of_model()), ("client_roots", Question::roots())];
    Ok(Step::Ask(open(round, questions)))
}

pub(super) fn two_in_a_row(round: &Round<'_>) -> Result<Step, Failure> {
    let Some(first) = round.answers.form("step1")? else {
        let fields = json!({ "name": { "type": "string" } });
        return Ok(Step::ask("step1", Question::form("Step 1: What is your name?", fields, &["name"])));
    };
    let Some(second) = round.answers.form("step2")? else {
        let fields = json!({ "color": { "type": "string" } });
        let form = Question::form("Step 2: What is your favorite color?", fields, &["color"]);
        return Ok(Step::ask("step2", form));
    };
    Ok(done(&format!("{} likes {}.", first.text("name")?, second.text("color")?)))
}

pub(super) fn as_far_as_able(round: &Round<'_>) -> Result<Step, Failure> {
    let questions = [("user_name", name()), ("greeting", greeting_of_model())];
    let able = questions.into_iter().filter(|(_, question)| round.client.can(question.capability));
    let open = open(round, able);
    if !open.is_empty() {
        return Ok(Step::Ask(open));
    }
    let mut said = vec![String::from("That is all this client can be asked.")];
    if let Some(form) = round.answers.form("user_name")? {
        said.push(format!("Its user is {}.", form.text("name")?));
    }
    if let Some(greeting) = round.answers.sampled("greeting")? {
        said.push(format!("Its model says: {greeting}"));
    }
    Ok(done(&said.join(" ")))
}

/// Those that have no answer yet.
fn open(
    round: &Round<'_>,
    questions: impl IntoIterator<Item = (&'static str, Question)>,
) -> Vec<(&'static str, Question)> {
    questions.into_iter().filter(|(key, _)| !round.answers.contains(key)).collect()
}

fn name() -> Question {
    Question::form("What is your name?", json!({ "name": { "type": "string" } }), &["name"])
}

fn greeting_of_model() -> Question {
    Question::sample("Generate a greeting", 50)
}

fn listed(uris: &[String]) -> String {
    if uris.is_empty() { String::from("none") } else { uris.join(", ") }
}

fn done(said: &str) -> Step {
    Step::Done(vec![text(said)])
}
