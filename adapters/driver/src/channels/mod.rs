//! Sessions as message channels: for gateways, and for servers of other SDKs, which want whole JSON-RPC messages
//! in and out and implement no [`Handler`](crate::Handler). It stands on that trait, so all of the contract holds.
//!
//! ```text
//! server -- ChannelHandler -- Channels::accept() -> Channel { session, recv, send }
//! ```
//!
//! A port's `Server::channels()` serves in the background and returns [`Channels`]. For hooks, or with a
//! [`Service`](crate::Service) of one's own, [`open`] gives both ends.
//!
//! # What a channel is
//!
//! - **A session**, from its `initialize` on. That request is the first message. The session is created, and
//!   neither committed nor served before it was answered (R1).
//! - **One call** that has no session: of the stateless era, and with sessions off. The request is the only
//!   message, but for a `notifications/cancelled` when the client is gone (R13). Where a call stands alone there
//!   are no requests to the client. Notices without a session go nowhere: there is nothing they could be about.
//!
//! `subscriptions/listen` is answered without the application: it feeds it by [`Channels::publisher`].
//!
//! # What the application owes
//!
//! - **An answer to each request** that was taken, one, unless it was cancelled (R4). Until then the call is in
//!   flight: its session is not idle (R12), and has `calls_per_session_max` of them at most.
//! - **To say where output belongs** (R5, R6): [`Sender::send_for`] with the [`CallHandle`] of the request is
//!   always right. [`Sender::send`] goes by ids, for who knows nothing else: it finds answers and progress, and
//!   of other notices and requests it does not know for which call they are.
//! - **To take messages** (R8). A notice is answered to its client when it was taken, so a slow application slows
//!   its clients down; [`messages_max`](ChannelHandler::messages_max) of one channel wait at most.
//! - **To let go of [`Incoming`]** (R8). Its request counts against `memory_max` for as long as anybody holds it;
//!   [`into_message`](Incoming::into_message) keeps the text alone.
//! - **Not to wait for room alone.** A [`send`](Sender::send) of what is no answer may wait for as long as its
//!   client reads nothing. Who takes and sends in one loop takes nothing meanwhile.
//! - **To take `None` as the end.** A session that ends takes its calls with it; they may be reported cancelled
//!   first. [`Receiver::ended`] says why.
//!
//! # What happens on drop
//!
//! | dropped | then |
//! |---|---|
//! | [`Receiver`], `initialize` not answered | the client gets an error, the session is discarded as refused |
//! | [`Receiver`], later | the session ends (`EndReason::Application`); its calls are failed |
//! | [`Receiver`] of one call, not answered | the client gets an error |
//! | [`Sender`], [`CallHandle`], [`Incoming`] | nothing: none of them keeps anything open |
//! | the future of a `send` | the message was sent as a whole or not at all |
//! | [`Channels`] | the port's server shuts down; who was not accepted gets an error. Accepted channels drain |
//!
//! Who is not accepted waits, within the limits for sessions and calls: an `initialize` until the deadline to
//! establish, a call until its client leaves.

mod backlog;
mod call;
mod handler;
mod link;
mod message;
mod sender;

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_http_core::session_id::SessionId;

use crate::service::Publisher;
use crate::session::Session;

use self::backlog::Backlog;
use self::link::Link;

pub(crate) use self::call::Address;
pub use self::call::CallHandle;
pub use self::handler::ChannelHandler;
pub use self::link::{ChannelEnd, Incoming};
pub use self::sender::{Sender, Unsent, Why};

/// Both ends: the handler for a server, and where its channels come out.
#[must_use]
pub fn open() -> (ChannelHandler, Channels) {
    let backlog = Arc::new(Backlog::default());
    (ChannelHandler::new(Arc::clone(&backlog)), Channels(backlog))
}

/// Where channels come out.
pub struct Channels(Arc<Backlog>);

/// A session, or one call outside sessions, as messages.
#[derive(Debug)]
pub struct Channel {
    /// The session; `None` for one call.
    pub session: Option<Session>,
    /// What the client says. This keeps the channel open.
    pub recv: Receiver,
    /// What the client is told.
    pub send: Sender,
}

/// What the client of a channel says, in its order. Dropping it ends the channel.
pub struct Receiver(Arc<Link>);

impl Channels {
    /// The next channel. `None` when the server is gone, which after [`close`](Channels::close) is when it has
    /// drained.
    pub async fn accept(&mut self) -> Option<Channel> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// [`accept`](Channels::accept) as a poll.
    pub fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Option<Channel>> {
        self.0.poll_accept(cx)
    }

    /// How many wait to be accepted.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }

    /// Begins the shutdown of a port's server. What was accepted goes on until it has drained.
    pub fn close(&self) {
        self.0.closing.set();
    }

    /// Ready once this was closed or dropped: when a server with the [`ChannelHandler`] is to shut down.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + Sync + use<> {
        let backlog = Arc::clone(&self.0);
        async move { backlog.closing.wait().await }
    }

    /// What tells clients of changes; `None` before the server has started.
    #[must_use]
    pub fn publisher(&self) -> Option<Publisher> {
        self.0.publisher()
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        self.0.desert();
    }
}

impl Channel {
    /// The id that the client bears; `None` for one call.
    #[must_use]
    pub fn id(&self) -> Option<&SessionId> {
        self.session.as_ref().map(Session::id)
    }
}

impl Receiver {
    /// The next message; `None` when the channel is over.
    pub async fn recv(&mut self) -> Option<Incoming> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// [`recv`](Receiver::recv) as a poll.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Incoming>> {
        self.0.poll_take(cx)
    }

    /// Why the channel is over, once it is.
    #[must_use]
    pub fn ended(&self) -> Option<ChannelEnd> {
        self.0.ended()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Channels")
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(&self.0.session()).finish()
    }
}
