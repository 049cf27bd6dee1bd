//! A handler that does what it is told, and writes down what it sees. It stands on nothing of any runtime.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderValue;
use http::request::Parts;
use mcp_http_tokio::{
    Access, Call, Denied, DiscardReason, EndReason, ErrorObject, Handler, Initialize, Initialized, Json,
    Notice, Principal, Publisher, RequestError, Session, SessionRefused, Topic,
};
use serde_json::{Value, json};

use crate::socket_support::wait::until;

#[derive(Clone, Default)]
pub(crate) struct Lab(Arc<State>);

#[derive(Default)]
struct State {
    log: Mutex<Vec<String>>,
    /// Sessions in the order of their creation.
    sessions: Mutex<Vec<Session>>,
    open: Mutex<BTreeSet<String>>,
    publisher: Mutex<Option<Publisher>>,
}

impl Lab {
    pub(crate) fn log(&self) -> Vec<String> {
        self.0.log.lock().unwrap().clone()
    }

    /// Waits until the handler has written this line, so many times.
    #[track_caller]
    pub(crate) fn until(&self, line: &str, times: usize) {
        let count = |log: &Vec<String>| log.iter().filter(|written| *written == line).count();
        until(&format!("{times} times {line:?}"), || self.log(), |log| count(log) >= times);
    }

    /// Lets go on what waits at this gate, now and later.
    pub(crate) fn open(&self, gate: &str) {
        self.0.open.lock().unwrap().insert(gate.to_owned());
    }

    /// The session that was created as the `number`th, from 1.
    pub(crate) fn session(&self, number: usize) -> Session {
        self.0.sessions.lock().unwrap()[number - 1].clone()
    }

    /// Returns how many were told.
    pub(crate) fn publish(&self, topic: &Topic) -> usize {
        self.0.publisher.lock().unwrap().as_ref().unwrap().publish(topic)
    }

    fn write(&self, line: String) {
        self.0.log.lock().unwrap().push(line);
    }

    fn name(&self, session: Option<&Session>) -> String {
        let sessions = self.0.sessions.lock().unwrap();
        let number = |session: &Session| sessions.iter().position(|known| known == session);
        session.and_then(number).map_or_else(|| "none".into(), |index| format!("s{}", index + 1))
    }

    async fn pass(&self, gate: &str, call: &Call) {
        while !self.0.open.lock().unwrap().contains(gate) {
            call.sleep(Duration::from_millis(2)).await;
        }
    }

    async fn answer(&self, call: &Call) -> Result<Json, ErrorObject> {
        let params: Value = call.params()?;
        let gate = params["gate"].as_str();
        match call.method() {
            "ping" => Ok(Json::EMPTY_OBJECT),
            "echo" => {
                if let Some(gate) = gate {
                    self.pass(gate, call).await;
                }
                Ok(params.into())
            }
            "fails" => Err(ErrorObject::new(-32001, "as you wished")),
            "panics" => resume_unwind(Box::new("on purpose")),
            "waits" => {
                if params["notes"] == true {
                    note(call, 0).await?;
                }
                call.cancelled().await;
                self.write(format!("cancelled {}", id(call)));
                Err(ErrorObject::internal("cancelled"))
            }
            "big" => Ok(json!({ "text": "x".repeat(params["bytes"].as_u64().unwrap_or(0) as usize) }).into()),
            "counts" => {
                let to = params["to"].as_u64().unwrap_or(0);
                for number in 1..=to {
                    if number == to / 2 + 1
                        && let Some(gate) = gate
                    {
                        self.pass(gate, call).await;
                    }
                    note(call, number).await?;
                }
                Ok(json!({ "counted": to }).into())
            }
            "progresses" => {
                for step in 1..=3 {
                    let sent = call.progress(f64::from(step), Some(3.0), Some("on it")).await;
                    sent.map_err(|error| ErrorObject::internal(error.to_string()))?;
                }
                Ok(Json::EMPTY_OBJECT)
            }
            "asks" => {
                let reply = call.request("sampling/createMessage", None, Duration::from_secs(20)).await;
                // What an adapter calls it is not what is compared.
                let (said, answer) = match reply {
                    Ok(result) => (format!("{result:?}"), Ok(result)),
                    Err(RequestError::Refused(error)) => (format!("refused {error:?}"), Err("refused")),
                    Err(_) => (String::from("nobody"), Err("nobody to ask")),
                };
                self.write(format!("reply {said}"));
                answer.map_err(ErrorObject::internal)
            }
            "polls" => {
                note(call, 1).await?;
                call.close_stream();
                self.pass(gate.unwrap_or_default(), call).await;
                note(call, 2).await?;
                Ok(Json::EMPTY_OBJECT)
            }
            "subscribes" => {
                let session = call.session().ok_or_else(|| ErrorObject::internal("no session"))?;
                Ok(json!({ "subscribed": session.subscribe("file:///a") }).into())
            }
            other => Err(ErrorObject::method_not_found(other)),
        }
    }
}

async fn note(call: &Call, number: u64) -> Result<(), ErrorObject> {
    let sent = call.notify("notifications/count", Some(json!({ "number": number }).into())).await;
    sent.map_err(|error| ErrorObject::internal(error.to_string()))
}

/// As it is written in JSON.
fn id(call: &Call) -> String {
    String::from_utf8_lossy(call.id().literal()).into_owned()
}

fn who(principal: Option<&Principal>) -> String {
    principal.map_or_else(|| "anyone".into(), |who| String::from_utf8_lossy(&who.0).into_owned())
}

impl Handler for Lab {
    /// `authorization: as NAME` is NAME; without one it is anyone.
    fn authorize(&self, head: &Parts) -> Access {
        match head.headers.get("authorization").map(HeaderValue::as_bytes) {
            None => Access::anyone(),
            Some(b"forbidden") => Access::denied(Denied::Forbidden),
            Some(b"late") => Access::later(async { Err(Denied::Forbidden) }),
            Some(said) => match said.strip_prefix(b"as ") {
                Some(name) => Access::principal(Principal(name.to_vec().into())),
                None => Access::denied(Denied::Challenge(HeaderValue::from_static("Bearer"))),
            },
        }
    }

    fn may_open_session(&self, _: Option<&str>, head: &Parts, _: Option<&Principal>) -> bool {
        !head.headers.contains_key("x-too-fast")
    }

    fn started(&self, publisher: Publisher) {
        *self.0.publisher.lock().unwrap() = Some(publisher);
    }

    async fn initialize(&self, request: Initialize) -> Result<Initialized, ErrorObject> {
        let params: Value = request.params()?;
        let (session, who) = (self.name(request.session()), who(request.principal()));
        self.write(format!("initialize {session} by {who} {}", request.negotiated().name()));
        match params["clientInfo"]["name"].as_str().unwrap_or_default() {
            "refused" => Err(ErrorObject::new(-32001, "not you")),
            "panics" => resume_unwind(Box::new("on purpose")),
            "silent" => {
                // What is kept of a request counts.
                drop(request);
                std::future::pending().await
            }
            _ => Ok(Initialized::new("lab", "1")),
        }
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        let version = call.version().map_or("none", |version| version.name());
        let (session, who) = (self.name(call.session()), who(call.principal()));
        let (id, method, http) = (id(&call), call.method(), &call.head().method);
        self.write(format!("call {id} {method} {session} by {who} {version} {http}"));
        let answer = self.answer(&call).await;
        self.write(format!("done {id} {method}"));
        answer
    }

    async fn notice(&self, notice: Notice) {
        self.write(format!("notice {} {}", notice.method(), self.name(notice.session())));
        if notice.method() == "notifications/panics" {
            resume_unwind(Box::new("on purpose"));
        }
    }

    fn session_created(&self, session: &Session) -> Result<(), SessionRefused> {
        self.0.sessions.lock().unwrap().push(session.clone());
        self.write(format!("created {}", self.name(Some(session))));
        Ok(())
    }

    fn session_committed(&self, session: &Session) {
        self.write(format!("committed {}", self.name(Some(session))));
    }

    fn session_discarded(&self, session: &Session, reason: DiscardReason) {
        self.write(format!("discarded {} {reason:?}", self.name(Some(session))));
    }

    fn session_ended(&self, session: &Session, reason: EndReason) {
        self.write(format!("ended {} {reason:?}", self.name(Some(session))));
    }
}
