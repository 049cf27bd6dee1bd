//! The application's handle to a session.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use mcp_http_core::endpoint::{Event, Outbound, SendError, SessionKey, Target};
use mcp_http_core::json::Json;
use mcp_http_core::session_id::{SessionId, ShardId};

use crate::port::Port;
use crate::request::{RequestError, Requests};
use crate::route::Route;
use crate::signal::{Flag, Permit};

/// One session. Cheap to clone; equal and hashed by identity, so it can key the application's own tables.
#[derive(Clone)]
pub struct Session(pub(crate) Arc<Record>);

pub(crate) struct Record {
    pub(crate) port: Weak<dyn Port>,
    pub(crate) shard: ShardId,
    pub(crate) key: SessionKey,
    pub(crate) id: SessionId,
    /// Made when it is first needed: most sessions are idle, and hold none.
    line: OnceLock<Box<SessionLine>>,
}

/// What a session's senders wait for.
#[derive(Default)]
pub(crate) struct SessionLine {
    pub(crate) writable: Permit,
    /// Set when the session is over.
    pub(crate) over: Flag,
    pub(crate) requests: Requests,
}

impl Record {
    pub(crate) fn new(port: Weak<dyn Port>, shard: ShardId, key: SessionKey, id: SessionId) -> Self {
        Record { port, shard, key, id, line: OnceLock::new() }
    }

    pub(crate) fn line(&self) -> &SessionLine {
        self.line.get_or_init(Box::default)
    }

    /// There is room on the standalone stream.
    pub(crate) fn give_room(&self) {
        if let Some(line) = self.line.get() {
            line.writable.give();
        }
    }

    /// The session is over. Who begins to wait after this is told so by the endpoint.
    pub(crate) fn end(&self) {
        if let Some(line) = self.line.get() {
            line.over.set();
            line.writable.give();
        }
    }
}

impl Session {
    /// The id that the client bears. It opens the session: do not log it whole; its `Display` is safe.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.0.id
    }

    /// Sends a notice that belongs to no call, on the session's standalone stream. Waits for room if the
    /// client does not keep up.
    ///
    /// # Errors
    /// [`SendError::Gone`] when the session is over, [`SendError::TooLarge`] past `message_bytes_max`.
    pub async fn notify(&self, method: &str, params: Option<Json>) -> Result<(), SendError> {
        let method = std::borrow::Cow::Owned(method.to_owned());
        let message = Outbound::Notice { method, params, droppable: false };
        match self.0.port.upgrade() {
            Some(port) => self.route(&*port).send(message).await,
            None => Err(SendError::Gone(Box::new(message))),
        }
    }

    /// Asks the client something that belongs to no call, on the session's standalone stream, and waits for
    /// its reply, at most `timeout`. [`Call::request`](crate::Call::request) is for what belongs to one.
    ///
    /// # Errors
    /// [`RequestError`]; at once if the client reads no standalone stream.
    pub async fn request(
        &self,
        method: &str,
        params: Option<Json>,
        timeout: Duration,
    ) -> Result<Json, RequestError> {
        let Some(port) = self.0.port.upgrade() else { return Err(RequestError::Gone) };
        self.0.line().requests.ask(self.route(&*port), method, params, timeout).await
    }

    /// From now on the client is told when `uri` changes, on the standalone stream. Returns whether it will be:
    /// not if the session is over, or has asked for as many as it may (`listen_uris_max`).
    pub fn subscribe(&self, uri: &str) -> bool {
        self.0.port.upgrade().is_some_and(|port| port.subscribe(self.0.shard, self.0.key, uri))
    }

    /// The client is not told of `uri` any more.
    pub fn unsubscribe(&self, uri: &str) {
        if let Some(port) = self.0.port.upgrade() {
            port.unsubscribe(self.0.shard, self.0.key, uri);
        }
    }

    /// Ends the session; its calls are cancelled, and its id answers 404. Again does nothing.
    pub fn end(&self) {
        if let Some(port) = self.0.port.upgrade() {
            port.handle(self.0.shard, Event::EndSession { session: self.0.key });
        }
    }

    fn route<'a>(&'a self, port: &'a dyn Port) -> Route<'a> {
        let SessionLine { writable, over, .. } = self.0.line();
        Route { port, shard: self.0.shard, target: Target::Session(self.0.key), writable, over }
    }
}

impl PartialEq for Session {
    fn eq(&self, other: &Self) -> bool {
        (self.0.shard, self.0.key) == (other.0.shard, other.0.key)
    }
}

impl Eq for Session {}

impl Hash for Session {
    fn hash<S: Hasher>(&self, state: &mut S) {
        (self.0.shard, self.0.key).hash(state);
    }
}

/// Shows the place, never the secret.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.0.id)
    }
}
