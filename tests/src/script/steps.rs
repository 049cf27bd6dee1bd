//! Steps that every test takes, each with its exact actions, and the actions that tests expect.

use mcp_http_core::answer::{Head, Response};
use mcp_http_core::endpoint::{
    Action, CallId, Delivery, EndReason, Event, ExchangeId, MessageId, Outbound, SessionKey, Target,
};
use mcp_http_core::h1::Body;
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{ErrorObject, Request, RequestId};
use mcp_http_core::reject::Reject;
use mcp_http_core::session_id::SessionId;
use mcp_http_core::version::Version;

use super::{Admission, Script, ask, whole};

/// An `initialize` that was delivered and is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Its exchange.
    pub exchange: ExchangeId,
    /// Where its answer goes.
    pub call: CallId,
    /// The session it opens.
    pub key: SessionKey,
    /// Its id.
    pub id: SessionId,
    /// Its shard.
    pub shard: usize,
    /// What is negotiated.
    pub version: Version,
}

/// A session that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The endpoint's name for it.
    pub key: SessionKey,
    /// The client's name for it.
    pub id: SessionId,
    /// Its shard.
    pub shard: usize,
    /// What was negotiated.
    pub version: Version,
}

/// A call that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its exchange.
    pub exchange: ExchangeId,
    /// Where its answer goes.
    pub call: CallId,
    /// Its shard.
    pub shard: usize,
}

/// A refusal by what the client sees: status, JSON-RPC code, id as a literal.
pub type Told = (u16, i64, Option<String>);

impl Call {
    /// Where output for it is sent.
    #[must_use]
    pub fn target(&self) -> Target {
        Target::Call(self.call)
    }

    /// Its answer as JSON.
    #[must_use]
    pub fn json(&self, text: &str) -> Action {
        json(self.exchange, text)
    }

    /// The head of its stream, which has something to pull.
    #[must_use]
    pub fn stream(&self) -> [Action; 2] {
        stream(self.exchange)
    }

    /// The order to pull.
    #[must_use]
    pub fn pull(&self) -> Action {
        Action::Pull { exchange: self.exchange }
    }
}

impl Opening {
    /// Where the answer is sent.
    #[must_use]
    pub fn target(&self) -> Target {
        Target::Call(self.call)
    }

    /// The answer that offers the session.
    #[must_use]
    pub fn offer(&self) -> Action {
        json_offer(self.exchange, &self.id, &ask::result_text("1", "{}"))
    }

    /// As a session, for requests that bear its id.
    #[must_use]
    pub fn session(&self) -> Session {
        Session { key: self.key, id: self.id.clone(), shard: self.shard, version: self.version }
    }
}

/// 200 with this JSON.
#[must_use]
pub fn json(exchange: ExchangeId, text: &str) -> Action {
    let response = Response { head: Head::Json { session: None }, body: whole(text), grant: None };
    Action::Respond { exchange, response }
}

/// 200 with this JSON and a session's id.
#[must_use]
pub fn json_offer(exchange: ExchangeId, id: &SessionId, text: &str) -> Action {
    let head = Head::Json { session: Some(id.clone()) };
    Action::Respond { exchange, response: Response { head, body: whole(text), grant: None } }
}

/// 200 with an event stream, which has something to pull.
#[must_use]
pub fn stream(exchange: ExchangeId) -> [Action; 2] {
    let head = Head::EventStream { session: None };
    let response = Response { head, body: Body::Stream, grant: None };
    [Action::Respond { exchange, response }, Action::Pull { exchange }]
}

/// 202.
#[must_use]
pub fn accepted(exchange: ExchangeId) -> Action {
    Action::Respond { exchange, response: Response { head: Head::Accepted, body: Body::Empty, grant: None } }
}

/// 204.
#[must_use]
pub fn no_content(exchange: ExchangeId) -> Action {
    Action::Respond { exchange, response: Response { head: Head::NoContent, body: Body::Empty, grant: None } }
}

/// The refusal, which must be all there is, of this exchange.
///
/// # Panics
/// If it is not.
#[track_caller]
pub fn only_reject(actions: &[Action], of: ExchangeId) -> &Reject {
    match actions {
        [Action::Reject { exchange, reject }] if *exchange == of => reject,
        other => panic!("not one refusal of {of:?}: {other:?}"),
    }
}

/// What the client sees of a refusal.
///
/// # Panics
/// If its body is no JSON-RPC error.
#[must_use]
#[track_caller]
pub fn told(reject: &Reject) -> Told {
    let answer = reject.clone().into_answer();
    assert!(
        answer.fields.iter().all(|(name, _)| name != "mcp-session-id"),
        "R2: a refusal bears a session id"
    );
    let Body::Full(body) = answer.body else { panic!("a refusal has a body (I13)") };
    let text = std::str::from_utf8(&body).expect("UTF-8");
    let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(value["jsonrpc"], "2.0");
    assert!(value["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "I13");
    let id = reject.id.as_ref().map(|id| String::from_utf8(id.literal().to_vec()).expect("UTF-8"));
    match &id {
        Some(id) => assert!(text.contains(&format!(r#""id":{id},"#)), "R5: {id} in {text}"),
        None => assert_eq!(value.get("id"), None, "an id out of nothing"),
    }
    (answer.status.as_u16(), error_code(text), id)
}

/// The code of a JSON-RPC error.
///
/// # Panics
/// If the text is none.
#[must_use]
#[track_caller]
pub fn error_code(text: &str) -> i64 {
    let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    value["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {text}"))
}

impl Script {
    /// `initialize` at 2025-11-25 with id 1, by nobody in particular: delivered, with a new session.
    #[track_caller]
    pub fn opening(&mut self) -> Opening {
        self.opening_of(Version::V2025_11_25, None)
    }

    /// The same at another version, by somebody.
    #[track_caller]
    pub fn opening_of(&mut self, version: Version, who: Option<&str>) -> Opening {
        let ask = self.post(ask::initialize("1", version.name()));
        let admission = match who {
            Some(who) => ask.who(who).admit(),
            None => ask.admit(),
        };
        self.opened(&admission, version)
    }

    /// The admission of an `initialize` with id 1 must create a session and deliver, exactly.
    #[track_caller]
    pub fn opened(&mut self, admission: &Admission, version: Version) -> Opening {
        let Admission { exchange, actions } = admission;
        let [
            Action::CreateSession { session: key, id },
            Action::Deliver { delivery: Delivery::Initialize { call, request, .. }, .. },
        ] = &actions[..]
        else {
            panic!("not an opening: {actions:?}");
        };
        let delivery = Delivery::Initialize { call: *call, request: request.clone(), negotiated: version };
        let deliver = Action::Deliver { exchange: *exchange, session: Some(*key), delivery };
        assert_eq!(*actions, [Action::CreateSession { session: *key, id: id.clone() }, deliver]);
        assert_eq!(&*request.method, "initialize");
        Opening { exchange: *exchange, call: *call, key: *key, id: id.clone(), shard: self.at, version }
    }

    /// The application accepts; returns the actions.
    #[track_caller]
    pub fn accept(&mut self, opening: &Opening) -> Vec<Action> {
        self.on(opening.shard);
        let accept = Outbound::Initialized { version: opening.version, result: Json::EMPTY_OBJECT };
        self.send(opening.target(), accept)
    }

    /// Offers a session, exactly.
    #[track_caller]
    pub fn offered(&mut self) -> Opening {
        let opening = self.opening();
        assert_eq!(self.accept(&opening), [opening.offer()]);
        opening
    }

    /// Commits an offered session by the last byte of its answer.
    #[track_caller]
    pub fn unconfirmed(&mut self) -> Session {
        let opening = self.opening();
        self.commit(&opening)
    }

    /// Takes an opening to its commit, exactly.
    #[track_caller]
    pub fn commit(&mut self, opening: &Opening) -> Session {
        assert_eq!(self.accept(opening), [opening.offer()]);
        assert_eq!(self.flushed(opening.exchange), [Action::Commit { session: opening.key }]);
        opening.session()
    }

    /// Takes an opening at the cap to its commit, over a victim, exactly.
    #[track_caller]
    pub fn commit_over(&mut self, opening: &Opening, victim: &Session) -> Session {
        let evicted = Action::End { session: victim.key, reason: EndReason::Evicted };
        assert_eq!(self.accept(opening), [evicted, opening.offer()]);
        assert_eq!(self.flushed(opening.exchange), [Action::Commit { session: opening.key }]);
        opening.session()
    }

    /// A session at 2025-11-25 that is in use.
    #[track_caller]
    pub fn open(&mut self) -> Session {
        self.open_at(Version::V2025_11_25)
    }

    /// A session of a version that is in use.
    #[track_caller]
    pub fn open_at(&mut self, version: Version) -> Session {
        let opening = self.opening_of(version, None);
        let session = self.commit(&opening);
        self.initialized(&session);
        session
    }

    /// `notifications/initialized`, taken and answered.
    #[track_caller]
    pub fn initialized(&mut self, session: &Session) {
        let admission = self.post(ask::notice("notifications/initialized")).with(&session.id).admit();
        let message = self.notice_of(session, &admission, "notifications/initialized");
        assert_eq!(self.event(Event::Taken { message }), [accepted(admission.exchange)]);
        assert_eq!(self.flushed(admission.exchange), []);
    }

    /// The admission of a notice must deliver it and nothing else.
    #[track_caller]
    pub fn notice_of(&self, session: &Session, admission: &Admission, method: &str) -> MessageId {
        let [Action::Deliver { exchange, session: of, delivery: Delivery::Notice { message, notice } }] =
            &admission.actions[..]
        else {
            panic!("not one notice: {:?}", admission.actions);
        };
        assert_eq!((*exchange, *of), (admission.exchange, Some(session.key)));
        assert_eq!(&*notice.method, method);
        *message
    }

    /// A call in a session, delivered.
    #[track_caller]
    pub fn call(&mut self, session: &Session, id: &str, method: &str) -> Call {
        let admission = self.post(ask::request(id, method)).with(&session.id).admit();
        self.call_of(Some(session), &admission, id, method)
    }

    /// The admission of a request without parameters must deliver it and nothing else.
    #[track_caller]
    pub fn call_of(&self, session: Option<&Session>, admission: &Admission, id: &str, method: &str) -> Call {
        let [Action::Deliver { delivery: Delivery::Call { call, request, .. }, .. }] = &admission.actions[..]
        else {
            panic!("not one call: {:?}", admission.actions);
        };
        assert_eq!(request.id.literal(), id.as_bytes(), "R5: an id is kept byte for byte");
        let expected = Action::Deliver {
            exchange: admission.exchange,
            session: session.map(|session| session.key),
            delivery: Delivery::Call {
                call: *call,
                request: Request { id: request.id.clone(), method: method.into(), params: None },
                version: session.map(|session| session.version),
            },
        };
        assert_eq!(admission.actions, [expected]);
        Call { exchange: admission.exchange, call: *call, shard: self.at }
    }

    /// Answers a call; `result` is JSON.
    #[track_caller]
    pub fn answer(&mut self, call: Call, result: &str) -> Vec<Action> {
        self.on(call.shard);
        self.send(call.target(), self::result(result))
    }

    /// Answers a call with an error.
    #[track_caller]
    pub fn fail(&mut self, call: Call, code: i64, message: &'static str) -> Vec<Action> {
        self.on(call.shard);
        self.send(call.target(), Outbound::Error { error: ErrorObject::new(code, message) })
    }

    /// A GET stream of this session, with its exact first actions.
    #[track_caller]
    pub fn listen(&mut self, session: &Session) -> ExchangeId {
        let admission = self.get().with(&session.id).admit();
        assert_eq!(admission.actions, stream(admission.exchange));
        admission.exchange
    }
}

/// A result from JSON.
///
/// # Panics
/// If it is not JSON.
#[must_use]
pub fn result(json: &str) -> Outbound {
    Outbound::Result { result: Json::from_text(json.to_owned().into()).expect("JSON") }
}

/// An error.
#[must_use]
pub fn error(code: i64, message: &'static str) -> Outbound {
    Outbound::Error { error: ErrorObject::new(code, message) }
}

/// A notice that may be left out; [`progress_text`](ask::progress_text) is its text.
///
/// # Panics
/// Never.
#[must_use]
pub fn progress(step: u32) -> Outbound {
    let params = Json::from_text(format!(r#"{{"progress":{step}}}"#).into()).expect("JSON");
    Outbound::Notice { method: "notifications/progress".into(), params: Some(params), droppable: true }
}

/// A notice that must arrive; [`note_text`](ask::note_text) is its text.
///
/// # Panics
/// Never.
#[must_use]
pub fn note(number: u32) -> Outbound {
    let params = Json::from_text(format!(r#"{{"n":{number}}}"#).into()).expect("JSON");
    Outbound::Notice { method: "note".into(), params: Some(params), droppable: false }
}

/// A request to the client; [`question_text`](ask::question_text) is its text.
#[must_use]
pub fn question(id: u64) -> Outbound {
    Outbound::Request { id: RequestId::from_number(id), method: "ping".into(), params: None }
}
