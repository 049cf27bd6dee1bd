//! A handler that does what the client tells it: by the client's name in `initialize`, by the method in a call. It
//! writes down what it is told of sessions.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderValue;
use http::request::Parts;
use mcp_http_tokio::{
    Access, Call, Denied, DiscardReason, EndReason, ErrorObject, Handler, Initialize, Initialized, Json,
    Notice, Principal, Session, SessionRefused,
};
use serde_json::{Value, json};

use super::local::is_set;
use super::wait::until;

#[derive(Clone, Default)]
pub(crate) struct Rig(Arc<State>);

#[derive(Default)]
struct State {
    /// What is gated goes on when this is set.
    gate: Arc<AtomicBool>,
    /// What `session_created` does.
    created: Mutex<OnCreated>,
    told: Mutex<Vec<Told>>,
    /// Handles of all sessions by their id.
    sessions: Mutex<HashMap<String, Session>>,
    /// Calls that were begun, and that came to an end in whatever way.
    begun: AtomicUsize,
    over: AtomicUsize,
    /// Calls that saw themselves cancelled.
    cancelled: AtomicUsize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnCreated {
    #[default]
    Opens,
    Refuses,
    Panics,
}

/// One word about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) session: String,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Created,
    Committed,
    Discarded(DiscardReason),
    Ended(EndReason),
}

impl Rig {
    pub(crate) fn open_gate(&self) {
        self.0.gate.store(true, Ordering::SeqCst);
    }

    pub(crate) fn on_created(&self, does: OnCreated) {
        *self.0.created.lock().unwrap() = does;
    }

    pub(crate) fn told(&self) -> Vec<Told> {
        self.0.told.lock().unwrap().clone()
    }

    /// What was said last.
    pub(crate) fn last_told(&self) -> Option<What> {
        self.0.told.lock().unwrap().last().map(|told| told.what)
    }

    #[track_caller]
    pub(crate) fn until_told(&self, what: What) {
        until(&format!("{what:?}"), || self.last_told(), |last| *last == Some(what));
    }

    pub(crate) fn begun(&self) -> usize {
        self.0.begun.load(Ordering::SeqCst)
    }

    pub(crate) fn over(&self) -> usize {
        self.0.over.load(Ordering::SeqCst)
    }

    pub(crate) fn cancelled(&self) -> usize {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// The application's handle to a session.
    pub(crate) fn session(&self, id: &str) -> Session {
        self.0.sessions.lock().unwrap()[id].clone()
    }

    /// R1, as the application sees it: each session was created first, then committed or discarded, then, if it was
    /// committed, ended; and nothing after that.
    #[track_caller]
    pub(crate) fn check_lives(&self) {
        let told = self.told();
        let mut lives: HashMap<&str, Vec<What>> = HashMap::new();
        for Told { session, what } in &told {
            lives.entry(session).or_default().push(*what);
        }
        for life in lives.into_values() {
            let good = matches!(
                life[..],
                [What::Created, What::Discarded(_)] | [What::Created, What::Committed, What::Ended(_)]
            );
            assert!(good, "a session lived like this: {life:?}");
        }
    }

    fn tell(&self, session: &Session, what: What) {
        let session = session_name(session);
        self.0.told.lock().unwrap().push(Told { session, what });
    }
}

/// The id as clients bear it.
fn session_name(session: &Session) -> String {
    String::from_utf8(session.id().as_bytes().to_vec()).unwrap()
}

impl Handler for Rig {
    /// `authorization: as NAME` is NAME; without one it is nobody in particular.
    fn authorize(&self, head: &Parts) -> Access {
        match head.headers.get("authorization").map(HeaderValue::as_bytes) {
            None => Access::anyone(),
            Some(b"forbidden") => Access::denied(Denied::Forbidden),
            Some(b"late") => Access::later(async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Err(Denied::Forbidden)
            }),
            Some(said) => match said.strip_prefix(b"as ") {
                Some(name) => Access::principal(Principal(name.to_vec().into())),
                None => Access::denied(Denied::Challenge(HeaderValue::from_static("Bearer"))),
            },
        }
    }

    async fn initialize(&self, request: Initialize) -> Result<Initialized, ErrorObject> {
        let params: Value = request.params()?;
        let answer = Initialized::new("rig", "1");
        // What is kept of a request counts.
        drop(request);
        match params["clientInfo"]["name"].as_str().unwrap_or_default() {
            "refused" => Err(ErrorObject::new(-32001, "not you")),
            // A panic that does not call the hook: nobody has to read about it.
            "panics" => resume_unwind(Box::new("on purpose")),
            "silent" => std::future::pending().await,
            "gated" => {
                is_set(Arc::clone(&self.0.gate)).await;
                Ok(answer)
            }
            "huge" => Ok(answer.instructions(&"x".repeat(HUGE))),
            _ => Ok(answer),
        }
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        let _over = Over(&self.0);
        match call.method() {
            "ping" => Ok(Json::EMPTY_OBJECT),
            "echo" => Ok(call.params::<Value>()?.into()),
            "fails" => Err(ErrorObject::new(-32001, "as you wished")),
            "panics" => resume_unwind(Box::new("on purpose")),
            "silent" => {
                drop(call);
                std::future::pending().await
            }
            // The call is let go of, and with it all that could be said.
            "lets-go" => {
                drop(call);
                Ok(Json::EMPTY_OBJECT)
            }
            "waits" => {
                call.cancelled().await;
                self.0.cancelled.fetch_add(1, Ordering::SeqCst);
                Err(ErrorObject::internal("cancelled"))
            }
            "gated" => {
                is_set(Arc::clone(&self.0.gate)).await;
                Ok(call.params::<Value>()?.into())
            }
            "big" => {
                let bytes = call.params::<Value>()?["bytes"].as_u64().unwrap_or_default();
                Ok(json!({ "text": "x".repeat(usize::try_from(bytes).unwrap()) }).into())
            }
            "counts" => self.counts(&call).await,
            "flood" => self.flood(&call).await,
            "asks" => {
                let reply = call.request("sampling/createMessage", None, Duration::from_secs(20)).await;
                reply.map_err(|error| ErrorObject::internal(error.to_string()))
            }
            other => Err(ErrorObject::method_not_found(other)),
        }
    }

    async fn notice(&self, notice: Notice) {
        match notice.method() {
            "notifications/panics" => resume_unwind(Box::new("on purpose")),
            "notifications/gated" => is_set(Arc::clone(&self.0.gate)).await,
            _ => {}
        }
    }

    fn session_created(&self, session: &Session) -> Result<(), SessionRefused> {
        self.tell(session, What::Created);
        self.0.sessions.lock().unwrap().insert(session_name(session), session.clone());
        let does = *self.0.created.lock().unwrap();
        match does {
            OnCreated::Opens => Ok(()),
            OnCreated::Refuses => Err(SessionRefused),
            OnCreated::Panics => resume_unwind(Box::new("on purpose")),
        }
    }

    fn session_committed(&self, session: &Session) {
        self.tell(session, What::Committed);
    }

    fn session_discarded(&self, session: &Session, reason: DiscardReason) {
        self.tell(session, What::Discarded(reason));
        self.0.sessions.lock().unwrap().remove(&session_name(session));
    }

    fn session_ended(&self, session: &Session, reason: EndReason) {
        self.tell(session, What::Ended(reason));
        self.0.sessions.lock().unwrap().remove(&session_name(session));
    }
}

/// More than two sockets' buffers take: who does not read it keeps its writer waiting.
pub(crate) const HUGE: usize = 12 * 1024 * 1024;

impl Rig {
    /// Notices with the numbers `1..=to`, then the number. With `gate`, the second half waits for the gate.
    async fn counts(&self, call: &Call) -> Result<Json, ErrorObject> {
        let params: Value = call.params()?;
        let (to, gated) = (params["to"].as_u64().unwrap_or_default(), params["gate"] == true);
        for number in 1..=to {
            if gated && number == to / 2 + 1 {
                is_set(Arc::clone(&self.0.gate)).await;
            }
            let sent = call.notify("notifications/count", Some(json!({ "number": number }).into())).await;
            sent.map_err(|error| ErrorObject::internal(error.to_string()))?;
        }
        Ok(json!({ "counted": to }).into())
    }

    /// Notices of 16 KiB each, until the gate is opened or nobody wants them.
    async fn flood(&self, call: &Call) -> Result<Json, ErrorObject> {
        let text = "x".repeat(16 * 1024);
        while !self.0.gate.load(Ordering::SeqCst) {
            let sent = call.notify("notifications/flood", Some(json!({ "text": text }).into())).await;
            sent.map_err(|error| ErrorObject::internal(error.to_string()))?;
            // A stream that nobody reads any more takes everything at once.
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        Ok(Json::EMPTY_OBJECT)
    }
}

/// Counts the end of a call, however it comes.
struct Over<'a>(&'a State);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.fetch_add(1, Ordering::SeqCst);
    }
}
