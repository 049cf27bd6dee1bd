//! Requests as clients send them: heads and bodies that go through the whole judgement.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request};
use mcp_http_core::endpoint::{Action, ExchangeId, Principal};
use mcp_http_core::intake::{Admitted, Verdict};
use mcp_http_core::reject::Reject;
use mcp_http_core::session_id::{SessionId, SessionRef};

use super::Script;

/// A request that passes every rule until a test changes it.
#[derive(Debug)]
#[must_use = "nothing happens before `admit` or `refused`"]
pub struct Ask<'a> {
    script: &'a mut Script,
    method: Method,
    fields: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    who: Option<Principal>,
}

/// What became of a request that the intake let through.
#[derive(Debug, PartialEq)]
pub struct Admission {
    /// Its exchange.
    pub exchange: ExchangeId,
    /// What is to be done.
    pub actions: Vec<Action>,
}

impl<'a> Ask<'a> {
    pub(super) fn post(script: &'a mut Script, body: Bytes) -> Self {
        let ask = Ask { script, method: Method::POST, fields: Vec::new(), body, who: None };
        ask.field("host", "localhost:8000")
            .field("accept", "application/json, text/event-stream")
            .field("content-type", "application/json")
    }

    pub(super) fn get(script: &'a mut Script) -> Self {
        let ask = Ask { script, method: Method::GET, fields: Vec::new(), body: Bytes::new(), who: None };
        ask.field("host", "localhost:8000").field("accept", "text/event-stream")
    }

    pub(super) fn delete(script: &'a mut Script) -> Self {
        let ask = Ask { script, method: Method::DELETE, fields: Vec::new(), body: Bytes::new(), who: None };
        ask.field("host", "localhost:8000")
    }

    /// Another method.
    pub fn method(mut self, method: &str) -> Self {
        self.method = Method::from_bytes(method.as_bytes()).expect("a method");
        self
    }

    /// One more line of this field.
    pub fn field(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a field name");
        self.fields.push((name, HeaderValue::from_bytes(value.as_ref()).expect("a field value")));
        self
    }

    /// Without any line of this field.
    pub fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(field, _)| field != name);
        self
    }

    /// This `Accept` instead.
    pub fn accept(self, value: &str) -> Self {
        self.without("accept").field("accept", value)
    }

    /// With `MCP-Protocol-Version`.
    pub fn version(self, name: &str) -> Self {
        self.field("mcp-protocol-version", name)
    }

    /// With `Mcp-Session-Id`.
    pub fn with(self, id: &SessionId) -> Self {
        self.field("mcp-session-id", id.as_bytes())
    }

    /// With `Last-Event-ID`.
    pub fn after(self, event_id: &str) -> Self {
        self.field("last-event-id", event_id)
    }

    /// Sent by somebody.
    pub fn who(mut self, name: &str) -> Self {
        self.who = Some(Principal(Bytes::copy_from_slice(name.as_bytes())));
        self
    }

    /// Judges the request and hands it to the endpoint of its shard.
    ///
    /// # Panics
    /// If the intake refuses it.
    #[track_caller]
    pub fn admit(self) -> Admission {
        let who = self.who.clone();
        let (script, judged) = self.judge();
        match judged {
            Ok(admitted) => script.take_in(admitted, who),
            Err(reject) => panic!("refused at intake: {reject:?}"),
        }
    }

    /// Judges the request, which the intake must refuse; no endpoint hears of it.
    ///
    /// # Panics
    /// If it is admitted.
    #[track_caller]
    pub fn refused(self) -> Reject {
        match self.judge().1 {
            Ok(admitted) => panic!("not refused: {admitted:?}"),
            Err(reject) => reject,
        }
    }

    /// Judges the request and gives up before the endpoint hears of it, as when a client leaves in the body.
    ///
    /// # Panics
    /// If its head is refused.
    #[track_caller]
    pub fn head_only(self) {
        match self.script.intake.head(&self.parts()) {
            Verdict::Body(_) | Verdict::Admit(_) => {}
            other => panic!("not a head that is served: {other:?}"),
        }
    }

    /// Asks whether the session is there, as it is done before a body is read.
    ///
    /// # Errors
    /// The endpoint's refusal.
    ///
    /// # Panics
    /// If the request bears no session id that could be looked for so early.
    #[track_caller]
    pub fn glance(self) -> Result<(), Reject> {
        let parts = self.parts();
        let session: SessionRef = match self.script.intake.head(&parts) {
            Verdict::Body(needs) => needs.session().expect("a session to look for").clone(),
            Verdict::Admit(admitted) => admitted.session().expect("a session to look for").clone(),
            other => panic!("not a head that is served: {other:?}"),
        };
        self.script.glance(&session, self.who.as_ref())
    }

    fn judge(self) -> (&'a mut Script, Result<Admitted, Reject>) {
        let judged = match self.script.intake.head(&self.parts()) {
            Verdict::Reject(reject) => Err(reject),
            Verdict::Admit(admitted) => Ok(admitted),
            Verdict::Body(needs) => needs.body(self.body),
            other @ (Verdict::Answer(_) | Verdict::Health | Verdict::Stats) => panic!("answered: {other:?}"),
        };
        (self.script, judged)
    }

    fn parts(&self) -> Parts {
        let mut request = Request::builder().method(self.method.clone()).uri("/mcp");
        for (name, value) in &self.fields {
            request = request.header(name, value);
        }
        request.body(()).expect("a request").into_parts().0
    }
}

/// An `initialize` that asks for `version`; `id` is a JSON literal, as in all of these.
#[must_use]
pub fn initialize(id: &str, version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// A request without parameters.
#[must_use]
pub fn request(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

/// What every request of the stateless era has in `_meta` (Z3), without braces.
pub const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

/// The parameters of a request of the stateless era; `members` are those beside `_meta`, without braces.
#[must_use]
pub fn modern_params(members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(r#"{{"_meta":{{{META}}}{comma}{members}}}"#)
}

/// A request of the stateless era.
#[must_use]
pub fn modern(id: &str, method: &str, members: &str) -> String {
    let params = modern_params(members);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A notice without parameters.
#[must_use]
pub fn notice(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}

/// The notice that cancels the request `id`.
#[must_use]
pub fn cancelled(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

/// A client's answer.
#[must_use]
pub fn reply(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// The text of a result as the server sends it.
#[must_use]
pub fn result_text(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The text of [`progress`](super::progress).
#[must_use]
pub fn progress_text(step: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":{step}}}}}"#)
}

/// The text of [`note`](super::note).
#[must_use]
pub fn note_text(number: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"note","params":{{"n":{number}}}}}"#)
}

/// The text of [`question`](super::question).
#[must_use]
pub fn question_text(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

/// The text of an error answer without data.
#[must_use]
pub fn error_text(id: &str, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// The text that acknowledges a subscription (Z10); `granted` is a JSON object.
#[must_use]
pub fn acknowledged_text(id: &str, granted: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{granted}}}}}"#
    )
}

/// The text of a change of the list of `what`, for a subscription (Z10).
#[must_use]
pub fn list_changed_text(id: &str, what: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/{what}/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

/// The text of a change of a resource, for a subscription (Z10); `uri` is a JSON string.
#[must_use]
pub fn updated_text(id: &str, uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":{uri},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

/// The text that ends a subscription in good order (Z10).
#[must_use]
pub fn completed_text(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}
