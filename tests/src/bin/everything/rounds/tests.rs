//! The round trips of the stateless era: every way in which a client may come back.

use std::time::Duration;

use mcp_http_tokio::Principal;
use serde_json::{Value, json};

use super::state::STATE_TTL;
use super::{Answers, Brought, Conversation, Purpose, Round, Step, Turn};
use crate::client::Client;
use crate::clock::Moment;
use crate::content::text;
use crate::given::Given;
use crate::outcome::Failure;
use crate::questions::Question;
use crate::secret::Secret;

const START: Moment = Moment::from_ms(1_000_000);

/// Asks for `first`, then for `second`.
fn two(round: &Round<'_>) -> Result<Step, Failure> {
    let form = || Question::form("?", json!({ "n": { "type": "string" } }), &["n"]);
    for key in ["first", "second"] {
        if round.answers.form(key)?.is_none() {
            return Ok(Step::ask(key, form()));
        }
    }
    let answer = |key| round.answers.form(key).map(|form| form.unwrap_or_default());
    Ok(Step::Done(vec![text(&format!("{}{}", answer("first")?.text("n")?, answer("second")?.text("n")?))]))
}

/// One who asks: everything that makes a request what it is.
struct Asker {
    secret: Secret,
    method: &'static str,
    name: &'static str,
    given: Given,
    principal: Option<Principal>,
    client: Client,
    now: Moment,
}

impl Asker {
    fn new() -> Asker {
        let (given, client) = (Given::default(), Client::able());
        let (method, name) = ("tools/call", "tool");
        Asker { secret: Secret::of(1), method, name, given, principal: None, client, now: START }
    }

    fn ask(&self, conversation: Conversation, answers: Value, state: Option<&str>) -> Result<Turn, Failure> {
        let purpose = Purpose {
            method: self.method,
            name: self.name,
            given: &self.given,
            principal: self.principal.as_ref(),
        };
        let answers = Answers::from(Given::from(answers).into_members());
        conversation.turn(&self.secret, &purpose, &self.client, Brought { answers, state }, self.now)
    }

    /// What is asked, and the state to bring along.
    fn asked(&self, conversation: Conversation, answers: Value, state: Option<&str>) -> (Vec<String>, Value) {
        let turn = self.ask(conversation, answers, state).unwrap();
        let Turn::InputRequired(result) = turn else { panic!("{turn:?}") };
        assert_eq!(result["resultType"], "input_required");
        let requests = result["inputRequests"].as_object().unwrap();
        assert!(requests.values().all(|request| request["method"] == "elicitation/create"));
        (requests.keys().cloned().collect(), result["requestState"].clone())
    }

    fn is_refused(&self, conversation: Conversation, state: &str) -> bool {
        let turn = self.ask(conversation, filled("first", "a"), Some(state));
        matches!(turn, Err(Failure::Refused(error)) if error.code == -32602)
    }
}

fn filled(key: &str, n: &str) -> Value {
    json!({ key: { "action": "accept", "content": { "n": n } } })
}

fn both() -> Value {
    json!({ "first": filled("first", "a")["first"], "second": filled("second", "b")["second"] })
}

/// The text of an answer that needs nothing more.
fn said(turn: Result<Turn, Failure>) -> Value {
    let Ok(Turn::Done(contents)) = turn else { panic!("{turn:?}") };
    contents[0]["text"].clone()
}

const OPEN: Conversation = Conversation::open(two);
const SEALED: Conversation = Conversation::sealed(two);

#[test]
fn an_open_conversation_takes_any_answer_and_asks_for_what_is_missing() {
    let asker = Asker::new();
    assert_eq!(asker.asked(OPEN, json!({}), None), (vec![String::from("first")], Value::Null));
    assert_eq!(asker.asked(OPEN, filled("wrong", "a"), None).0, ["first"]);
    assert_eq!(asker.asked(OPEN, filled("first", "a"), None).0, ["second"]);
    assert_eq!(said(asker.ask(OPEN, both(), None)), "ab");
    let mut more = both();
    more["third"] = json!(1);
    assert_eq!(said(asker.ask(OPEN, more, None)), "ab");
}

#[test]
fn an_answer_that_is_none_is_refused() {
    for wrong in [json!(12345), json!("a"), json!({}), json!({ "action": "perhaps" })] {
        let turn = Asker::new().ask(OPEN, json!({ "first": wrong }), None);
        assert!(matches!(turn, Err(Failure::Refused(error)) if error.code == -32602), "{wrong}");
    }
    for params in [json!({ "inputResponses": 1 }), json!({ "requestState": {} })] {
        assert!(Brought::with(&params.into()).is_err());
    }
    let nothing = Given::from(json!({ "inputResponses": null }));
    assert_eq!(Brought::with(&nothing).unwrap().answers, Answers::default());
}

#[test]
fn a_sealed_conversation_goes_on_from_its_state() {
    let asker = Asker::new();
    let (asked, first) = asker.asked(SEALED, json!({}), None);
    assert_eq!(asked, ["first"]);
    let (asked, second) = asker.asked(SEALED, filled("first", "a"), first.as_str());
    assert_eq!(asked, ["second"]);
    assert_ne!(first, second);
    assert_eq!(said(asker.ask(SEALED, filled("second", "b"), second.as_str())), "ab");
}

#[test]
fn a_sealed_conversation_counts_only_answers_that_it_asked_for() {
    let asker = Asker::new();
    let (asked, first) = asker.asked(SEALED, both(), None);
    assert_eq!(asked, ["first"]);
    let (asked, _) = asker.asked(SEALED, filled("second", "b"), first.as_str());
    assert_eq!(asked, ["first"]);
    let (asked, second) = asker.asked(SEALED, both(), first.as_str());
    assert_eq!(asked, ["second"]);
    // What was answered stays answered.
    let mut changed = both();
    changed["first"] = filled("first", "x")["first"].clone();
    assert_eq!(said(asker.ask(SEALED, changed, second.as_str())), "ab");
}

#[test]
fn a_state_that_was_changed_is_refused() {
    let asker = Asker::new();
    let (_, state) = asker.asked(SEALED, json!({}), None);
    let state = state.as_str().unwrap();
    assert!(!asker.is_refused(SEALED, state));
    assert!(asker.is_refused(SEALED, &format!("{state}-TAMPERED")));
    assert!(asker.is_refused(SEALED, &state.replace("first", "second")));
    for wrong in ["", "{}", "{", "no state", &"0".repeat(64), &"é".repeat(40)] {
        assert!(asker.is_refused(SEALED, wrong), "{wrong}");
    }
    for at in 0..state.len() {
        let mut changed = state.as_bytes().to_vec();
        changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
        assert!(asker.is_refused(SEALED, str::from_utf8(&changed).unwrap()), "{at}");
        assert!(asker.is_refused(SEALED, &state[..at]), "{at}");
    }
}

#[test]
fn a_state_is_good_for_its_own_request_only() {
    let (_, state) = Asker::new().asked(SEALED, json!({}), None);
    let state = state.as_str().unwrap();
    let refused = |change: fn(&mut Asker)| {
        let mut asker = Asker::new();
        change(&mut asker);
        asker.is_refused(SEALED, state)
    };
    assert!(!refused(|_| ()));
    assert!(refused(|asker| asker.method = "prompts/get"));
    assert!(refused(|asker| asker.name = "tool2"));
    assert!(refused(|asker| asker.given = json!({ "n": 1 }).into()));
    assert!(refused(|asker| asker.secret = Secret::of(2)));
    assert!(refused(|asker| asker.principal = Some(Principal(Vec::new().into()))));
    assert!(refused(|asker| asker.principal = Some(Principal(b"somebody".to_vec().into()))));
    assert!(Asker::new().is_refused(OPEN, state));
}

#[test]
fn a_state_expires() {
    let mut asker = Asker::new();
    let (_, state) = asker.asked(SEALED, json!({}), None);
    let state = state.as_str().unwrap();
    asker.now = START.after(STATE_TTL - Duration::from_millis(1));
    assert!(!asker.is_refused(SEALED, state));
    asker.now = START.after(STATE_TTL);
    assert!(asker.is_refused(SEALED, state));
}

#[test]
fn a_client_is_asked_only_what_it_can_answer() {
    let asker = Asker { client: Client::default(), ..Asker::new() };
    for conversation in [OPEN, SEALED] {
        assert!(matches!(asker.ask(conversation, json!({}), None), Err(Failure::Lacks(_))));
    }
}
