//! A request of the client, as a channel knows it: where its answer goes, whatever id it bears.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use mcp_http_core::endpoint::{CallId, Event, Outbound, SendError, Target};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::RequestId;
use mcp_http_core::session_id::ShardId;

use crate::call::{Line, LineState};
use crate::origin::Origin;
use crate::port::Port;
use crate::route::Route;
use crate::signal::Flag;

use super::message::progress_token;

/// Where a call's output goes. Holds no server: an application may keep it.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    port: Weak<dyn Port>,
    shard: ShardId,
    call: CallId,
    state: Arc<LineState>,
}

impl Address {
    pub(crate) fn of(line: &Line) -> Address {
        let Line { port, shard, call, state } = line;
        Address { port: Arc::downgrade(port), shard: *shard, call: *call, state: Arc::clone(state) }
    }
}

/// One request of the client that waits for its answer. Cheap to clone. Holding it keeps nothing open, and
/// letting it go answers nothing.
#[derive(Clone)]
pub struct CallHandle(Arc<Record>);

struct Record {
    address: Address,
    id: RequestId,
    /// The id in the message that the application sees.
    shown: Bytes,
    opens: bool,
    kept: Mutex<Kept>,
    answered: Flag,
}

/// What a call keeps of its request until it is over.
struct Kept {
    origin: Option<Origin>,
    token: Token,
}

/// A call's progress token.
enum Token {
    /// Nobody has looked for it in these parameters yet.
    In(Option<Json>),
    Is(Option<Json>),
}

/// What a [`CallHandle`] is made of.
pub(super) struct Asked {
    pub(super) address: Address,
    pub(super) id: RequestId,
    pub(super) method: Box<str>,
    pub(super) params: Option<Json>,
    /// Whether it is an `initialize`.
    pub(super) opens: bool,
}

impl CallHandle {
    /// The client's id for this request. Others in flight may bear the same; then the message itself shows
    /// another one.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.0.id
    }

    /// Whether nobody waits for the answer any more: the client cancelled it, the session ended, or, where a
    /// disconnect cancels, the client is gone.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.address.state.cancelled.is_set()
    }

    /// Returns when [`is_cancelled`](CallHandle::is_cancelled) becomes true.
    pub async fn cancelled(&self) {
        self.0.address.state.cancelled.wait().await;
    }

    /// Lets the client poll for the answer: the response ends now, and the client comes back for what
    /// follows. Does nothing where the version does not allow it.
    pub fn close_stream(&self) {
        if let Some(port) = self.0.address.port.upgrade() {
            port.handle(self.0.address.shard, Event::CloseStream { call: self.0.address.call });
        }
    }

    pub(super) fn new(asked: &Asked, shown: Bytes, origin: Origin) -> CallHandle {
        CallHandle(Arc::new(Record {
            address: asked.address.clone(),
            id: asked.id.clone(),
            shown,
            opens: asked.opens,
            kept: Mutex::new(Kept { origin: Some(origin), token: Token::In(asked.params.clone()) }),
            answered: Flag::default(),
        }))
    }

    pub(super) fn is(&self, other: &CallHandle) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn shown(&self) -> &Bytes {
        &self.0.shown
    }

    /// Whether it is an `initialize`.
    pub(super) fn opens(&self) -> bool {
        self.0.opens
    }

    /// The token by which the client wants to hear of its progress.
    pub(super) fn progress_token(&self) -> Option<Json> {
        let mut kept = self.kept();
        if let Token::In(params) = &kept.token {
            kept.token = Token::Is(progress_token(params.as_ref(), true));
        }
        match &kept.token {
            Token::In(_) => None,
            Token::Is(token) => token.clone(),
        }
    }

    /// The call is over: whoever keeps this does not keep what came with it, which counts as the server's memory.
    pub(super) fn release(&self) -> Option<Origin> {
        let mut kept = self.kept();
        kept.token = Token::Is(None);
        kept.origin.take()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn target(&self) -> Target {
        Target::Call(self.0.address.call)
    }

    pub(super) fn answered(&self) -> &Flag {
        &self.0.answered
    }

    pub(super) fn cancelled_flag(&self) -> &Flag {
        &self.0.address.state.cancelled
    }

    /// Gives the answer. It takes no room: each stream keeps some for it.
    pub(super) fn answer(&self, answer: Outbound) -> Result<(), SendError> {
        let Address { port, shard, call, state: _ } = &self.0.address;
        let Some(port) = port.upgrade() else { return Err(SendError::Gone(Box::new(answer))) };
        // Before it: whoever sees the answer finds nothing left of the request.
        drop(self.release());
        port.send(*shard, self.target(), answer)?;
        port.forget(*shard, *call);
        Ok(())
    }

    /// Sends something that is no answer, when there is room.
    pub(super) async fn send(&self, message: Outbound) -> Result<(), SendError> {
        let Address { port, shard, call: _, state } = &self.0.address;
        let Some(port) = port.upgrade() else { return Err(SendError::Gone(Box::new(message))) };
        let (writable, over) = (&state.writable, &state.cancelled);
        let route = Route { port: &*port, shard: *shard, target: self.target(), writable, over };
        route.send(message).await
    }
}

impl fmt::Debug for CallHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallHandle").field(&self.0.address.call).finish()
    }
}
