//! What a client carries from one round to the next, sealed so that it cannot make its own or change ours.

use std::time::Duration;

use mcp_http_tokio::Principal;
use serde_json::{Value, json};

use crate::clock::Moment;
use crate::given::Given;
use crate::questions::Answers;
use crate::secret::Secret;

/// How long a client may take for one round.
pub(super) const STATE_TTL: Duration = Duration::from_secs(10 * 60);

/// What the next round has to know of those before.
#[derive(Debug)]
pub(super) struct State {
    /// The keys that the last round asked for; other answers do not count.
    pub(super) asked: Vec<String>,
    pub(super) answers: Answers,
}

/// The request that a state belongs to. It is no good for any other.
pub(crate) struct Purpose<'a> {
    pub(crate) method: &'a str,
    pub(crate) name: &'a str,
    pub(crate) given: &'a Given,
    pub(crate) principal: Option<&'a Principal>,
}

impl State {
    /// The text for the client to carry: a tag, and what it vouches for.
    pub(super) fn seal(self, secret: &Secret, purpose: &Purpose<'_>, now: Moment) -> String {
        let State { asked, answers } = self;
        let expires_ms = now.after(STATE_TTL).ms();
        let said = json!({ "asked": asked, "answers": Value::from(answers), "expiresMs": expires_ms });
        let said = said.to_string();
        format!("{}{said}", purpose.with_parts(&said, |parts| secret.tag(parts)))
    }

    /// What was sealed; `None` if this server did not seal it for this purpose, or too long ago.
    pub(super) fn open(text: &str, secret: &Secret, purpose: &Purpose<'_>, now: Moment) -> Option<State> {
        let (tag, said) = text.split_at(text.find('{')?);
        if !purpose.with_parts(said, |parts| secret.knows(tag, parts)) {
            return None;
        }
        let said: Value = serde_json::from_str(said).ok()?;
        if now >= Moment::from_ms(said["expiresMs"].as_u64()?) {
            return None;
        }
        let asked = said["asked"].as_array()?.iter().map(|key| key.as_str().map(String::from));
        let answers = said["answers"].as_object()?.clone();
        Some(State { asked: asked.collect::<Option<_>>()?, answers: Answers::from(answers) })
    }
}

impl Purpose<'_> {
    /// Lends out all that a tag has to cover.
    fn with_parts<T>(&self, said: &str, take: impl FnOnce(&[&[u8]]) -> T) -> T {
        let given = self.given.to_string();
        let (known, who) = match self.principal {
            Some(Principal(who)) => ("principal", &**who),
            None => ("anyone", &b""[..]),
        };
        let texts = ["request state", self.method, self.name, &given, known, said].map(str::as_bytes);
        let mut parts = texts.to_vec();
        parts.push(who);
        take(&parts)
    }
}
