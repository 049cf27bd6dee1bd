//! How the intake tests make requests and look at judgements. No rule is written here.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod stateless;

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request};
use mcp_http_core::answer::Answer;
use mcp_http_core::config::{AllowedHosts, Config, SessionMode};
use mcp_http_core::h1::Body;
use mcp_http_core::intake::{Admitted, Intake, Kind, Verdict};
use mcp_http_core::reject::{Refusal, Reject};
use mcp_http_core::version::Version;

/// A session id of our own form.
pub(crate) const SESSION: &str = "0001000000020000000300112233445566778899aabbccddeeff";

/// What a server of both eras serves, as it names it.
pub(crate) const BOTH_ERAS: [Version; 4] =
    [Version::V2026_07_28, Version::V2025_11_25, Version::V2025_06_18, Version::V2025_03_26];

pub(crate) const HANDSHAKE_ONLY: [Version; 3] =
    [Version::V2025_11_25, Version::V2025_06_18, Version::V2025_03_26];

/// I10, of a server of both eras.
pub(crate) const BAD_VERSION: Refusal = Refusal::BadVersionField { supported: &BOTH_ERAS };

/// A request that passes every rule until a test changes it.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: Method,
    target: String,
    fields: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

/// What became of a request in the end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Judged {
    Reject(Reject),
    Answer(Box<Answer>),
    Health,
    Stats,
    Admit(Admitted),
}

pub(crate) fn post(body: impl Into<Bytes>) -> Ask {
    let ask = Ask { method: Method::POST, target: "/mcp".into(), fields: Vec::new(), body: body.into() };
    ask.with("host", "localhost:8000")
        .with("accept", "application/json, text/event-stream")
        .with("content-type", "application/json")
        .with("mcp-protocol-version", "2025-11-25")
        .with("mcp-session-id", SESSION)
}

/// `initialize`, as clients send it: without a session id and without a version field.
pub(crate) fn initialize() -> Ask {
    post(r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#)
        .without("mcp-session-id")
        .without("mcp-protocol-version")
}

pub(crate) fn ping() -> Ask {
    post(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)
}

pub(crate) fn get() -> Ask {
    Ask { method: Method::GET, ..post("") }.without("content-type").set("accept", "text/event-stream")
}

pub(crate) fn delete() -> Ask {
    Ask { method: Method::DELETE, ..post("") }.without("content-type").without("accept")
}

impl Ask {
    pub(crate) fn method(mut self, method: &str) -> Ask {
        self.method = Method::from_bytes(method.as_bytes()).unwrap();
        self
    }

    pub(crate) fn target(mut self, target: &str) -> Ask {
        self.target = target.into();
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Ask {
        self.body = body.into();
        self
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.body
    }

    /// One more line of this field.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Ask {
        let value = HeaderValue::from_bytes(value.as_ref()).unwrap();
        self.fields.push((HeaderName::from_bytes(name.as_bytes()).unwrap(), value));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Ask {
        self.fields.retain(|(field, _)| field != name);
        self
    }

    /// This value in one line instead of what there was.
    pub(crate) fn set(self, name: &str, value: impl AsRef<[u8]>) -> Ask {
        self.without(name).with(name, value)
    }

    pub(crate) fn parts(&self) -> Parts {
        let mut request = Request::builder().method(self.method.clone()).uri(&self.target);
        for (name, value) in &self.fields {
            request = request.header(name, value);
        }
        request.body(()).unwrap().into_parts().0
    }

    pub(crate) fn head(&self, intake: &Intake) -> Verdict {
        intake.head(&self.parts())
    }

    pub(crate) fn judge(&self, intake: &Intake) -> Judged {
        match self.head(intake) {
            Verdict::Reject(reject) => Judged::Reject(reject),
            Verdict::Answer(answer) => Judged::Answer(answer),
            Verdict::Health => Judged::Health,
            Verdict::Stats => Judged::Stats,
            Verdict::Admit(admitted) => Judged::Admit(admitted),
            Verdict::Body(needs) => match needs.body(self.body.clone()) {
                Ok(admitted) => Judged::Admit(admitted),
                Err(reject) => Judged::Reject(reject),
            },
        }
    }

    /// The refusal; what is not refused fails the test.
    #[track_caller]
    pub(crate) fn refusal(&self, intake: &Intake) -> Refusal {
        self.reject(intake).refusal
    }

    #[track_caller]
    pub(crate) fn reject(&self, intake: &Intake) -> Reject {
        match self.judge(intake) {
            Judged::Reject(reject) => reject,
            other => panic!("not refused: {self:?}\n{other:?}"),
        }
    }

    /// What was admitted; what is not admitted fails the test.
    #[track_caller]
    pub(crate) fn admitted(&self, intake: &Intake) -> Admitted {
        match self.judge(intake) {
            Judged::Admit(admitted) => admitted,
            other => panic!("not admitted: {self:?}\n{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn kind(&self, intake: &Intake) -> Kind {
        self.admitted(intake).kind().clone()
    }

    /// Whether the head was refused, so that the body need not be read.
    pub(crate) fn head_refusal(&self, intake: &Intake) -> Option<Refusal> {
        match self.head(intake) {
            Verdict::Reject(reject) => Some(reject.refusal),
            Verdict::Answer(_) | Verdict::Health | Verdict::Stats | Verdict::Admit(_) | Verdict::Body(_) => {
                None
            }
        }
    }
}

/// A judge by the default configuration.
pub(crate) fn sessions_on() -> Intake {
    intake(|_| {})
}

pub(crate) fn sessions_off() -> Intake {
    intake(|config| config.sessions = SessionMode::Off)
}

pub(crate) fn hosts(allowed: AllowedHosts) -> Intake {
    intake(|config| config.allowed_hosts = allowed)
}

pub(crate) fn intake(change: impl FnOnce(&mut Config)) -> Intake {
    let mut config = Config::default();
    change(&mut config);
    config.check().unwrap();
    Intake::new(Arc::new(config))
}

/// The id in a refusal, as its JSON literal.
pub(crate) fn id(reject: &Reject) -> Option<&str> {
    reject.id.as_ref().map(|id| std::str::from_utf8(id.literal()).unwrap())
}

/// The content of an answer.
#[track_caller]
pub(crate) fn json(answer: &Answer) -> serde_json::Value {
    let Body::Full(body) = &answer.body else { panic!("no body: {answer:?}") };
    serde_json::from_slice(body).unwrap()
}

/// The sentence that a client is told.
#[track_caller]
pub(crate) fn message(reject: &Reject) -> String {
    json(&reject.clone().into_answer())["error"]["message"].as_str().unwrap().into()
}

/// The values of one field of an answer.
pub(crate) fn values<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    let of_name = answer.fields.iter().filter(|(field, _)| field == name);
    of_name.map(|(_, value)| value.to_str().unwrap()).collect()
}

/// The refusal of this body, the same in both modes.
#[track_caller]
fn reject_in_both_modes(body: impl Into<Bytes>) -> Reject {
    let ask = post(body);
    let with = ask.reject(&sessions_on());
    assert_eq!(with, ask.reject(&sessions_off()), "the mode makes no difference: {ask:?}");
    with
}

#[track_caller]
pub(crate) fn check_not_json(body: impl Into<Bytes>) {
    let body = body.into();
    let reject = reject_in_both_modes(body.clone());
    assert!(matches!(reject.refusal, Refusal::NotJson(_)), "{body:?} {reject:?}");
    assert_eq!(reject.id, None);
    assert_eq!(reject.into_answer().status.as_u16(), 400);
}

#[track_caller]
pub(crate) fn check_invalid(body: &str, echoed: Option<&str>) {
    let reject = reject_in_both_modes(String::from(body));
    assert!(matches!(reject.refusal, Refusal::InvalidRequest(_)), "{body} {reject:?}");
    assert_eq!(id(&reject), echoed, "{body}");
}
