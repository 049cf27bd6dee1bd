//! The vocabulary of an `Endpoint`: what it is told (`Event`, `Outbound`), and what it orders (`Action`).

use std::borrow::Cow;

use bytes::Bytes;
use thiserror::Error;

use crate::answer::Response;
use crate::json::Json;
use crate::jsonrpc::{ErrorObject, Notice, Reply, Request, RequestId};
use crate::reject::Reject;
use crate::session_id::SessionId;
use crate::slab::Key;
use crate::time::Timestamp;
use crate::version::Version;

/// Who is behind a request: an opaque value that the adapter's auth hook gives, compared by equality (S6).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal(pub Bytes);

/// One HTTP request and its response, in one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub(super) Key);

/// One session, in one endpoint. Not what the client bears: that is [`SessionId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub(super) Key);

/// One JSON-RPC request that waits for the application's answer. It names the stream that carries the answer
/// and never the client's id, which may be in use twice (R5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    pub(super) home: Home,
    /// The request's place in its batch; 0 if it came alone.
    pub(super) index: u16,
}

/// Where the stream of a call lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Home {
    /// In a session, under this number.
    Session { session: Key, stream: u32 },
    /// In its exchange: `initialize`, and every call without a session.
    Exchange(Key),
}

/// One delivered notice or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    pub(super) exchange: Key,
    pub(super) index: u16,
}

impl ExchangeId {
    /// A small number, in use by one exchange at a time: an index for tables beside the endpoint.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.index as usize
    }
}

impl SessionKey {
    /// A small number, in use by one session at a time: an index for tables beside the endpoint.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.index as usize
    }
}

/// What happened outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The application took a delivered notice or reply (C1).
    Taken {
        /// Which.
        message: MessageId,
    },
    /// The socket took the last byte of the exchange's response.
    Flushed {
        /// Whose.
        exchange: ExchangeId,
    },
    /// The peer shut its write side; it may still read.
    HalfClosed {
        /// On which exchange.
        exchange: ExchangeId,
    },
    /// The exchange's connection takes no more bytes, and has taken none for too long.
    Stalled {
        /// Which.
        exchange: ExchangeId,
    },
    /// The exchange's connection is gone.
    Gone {
        /// Which.
        exchange: ExchangeId,
    },
    /// The application could not open its side of a session that [`Action::CreateSession`] announced.
    SessionFailed {
        /// Which.
        session: SessionKey,
    },
    /// The application ends a session.
    EndSession {
        /// Which.
        session: SessionKey,
    },
    /// The application lets the client poll for this call's answer: its stream's exchange ends and the stream
    /// stays (C6). Ignored where the session's version does not allow it.
    CloseStream {
        /// Which.
        call: CallId,
    },
    /// The application waits no longer for the reply to a request that it sent there; one that comes is
    /// ignored (C13).
    Withdraw {
        /// Where it was sent.
        target: Target,
        /// The request's id.
        id: RequestId,
    },
    /// Everything is to end: idle streams now, calls when they are answered, the rest at `until`. Said again,
    /// the earlier `until` holds.
    Shutdown {
        /// The last moment.
        until: Timestamp,
    },
}

/// What the application wants sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// The answer that accepts an `initialize`.
    Initialized {
        /// The version in `result`: the negotiated one, or another of the handshake era.
        version: Version,
        /// The result, `protocolVersion` included.
        result: Json,
    },
    /// The answer to a call.
    Result {
        /// The result.
        result: Json,
    },
    /// The answer that refuses a call or an `initialize`.
    Error {
        /// The error.
        error: ErrorObject,
    },
    /// A notice to the client.
    Notice {
        /// The method's name.
        method: Cow<'static, str>,
        /// An object or an array.
        params: Option<Json>,
        /// Whether it may be left out when the client does not keep up (progress, logs).
        droppable: bool,
    },
    /// A request to the client. Its reply comes as [`Delivery::Reply`].
    Request {
        /// Unique among the session's open requests.
        id: RequestId,
        /// The method's name.
        method: Cow<'static, str>,
        /// An object or an array.
        params: Option<Json>,
    },
}

/// Where something is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// On the stream of this call.
    Call(CallId),
    /// On the standalone stream of this session.
    Session(SessionKey),
}

/// Why something could not be sent. The message comes back (R11).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SendError {
    /// The client does not keep up. One [`Action::Writable`] follows when there is room.
    #[error("the stream is full; wait for room")]
    Full(Box<Outbound>),
    /// There is no such call or session any more, or nothing can carry the message.
    #[error("nothing can carry this message any more")]
    Gone(Box<Outbound>),
    /// As many requests to the client are open in the session as may be (`calls_per_session_max`).
    #[error("too many requests to the client are open")]
    TooMany(Box<Outbound>),
    /// The message does not fit the target: say, a result for a session's standalone stream, or a request with
    /// the id of one that is open.
    #[error("this message does not fit its target")]
    Misplaced(Box<Outbound>),
    /// The message is larger than `message_bytes_max`.
    #[error("the message is larger than the limit")]
    TooLarge(Box<Outbound>),
}

/// What the caller must do. Actions about one exchange or one session are carried out in their order (R7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A session was created. The application may open its side; the id answers 404 to everyone until the
    /// `initialize` is answered. Exactly one `Commit` or `Discard` follows (R1).
    CreateSession {
        /// Which.
        session: SessionKey,
        /// What the client will bear.
        id: SessionId,
    },
    /// The client has the answer. Exactly one `End` follows (R1).
    Commit {
        /// Which.
        session: SessionKey,
    },
    /// The session never came to be. Nothing names it after this.
    Discard {
        /// Which.
        session: SessionKey,
        /// Why.
        reason: DiscardReason,
    },
    /// The session is over. Nothing names it after this.
    End {
        /// Which.
        session: SessionKey,
        /// Why.
        reason: EndReason,
    },
    /// Hand this to the application.
    Deliver {
        /// The exchange it came with.
        exchange: ExchangeId,
        /// The session it belongs to, if any.
        session: Option<SessionKey>,
        /// What.
        delivery: Delivery,
    },
    /// Tell the application that nobody waits for this call's answer; output for it is `Gone` from here.
    Cancel {
        /// Which.
        call: CallId,
        /// Why.
        reason: CancelReason,
    },
    /// Answer. If the body is a stream, a `Pull` follows at once, and its frames are pulled after that.
    Respond {
        /// Which exchange.
        exchange: ExchangeId,
        /// With what.
        response: Response,
    },
    /// Refuse. The exchange is over; no event about it is needed.
    Reject {
        /// Which exchange.
        exchange: ExchangeId,
        /// How.
        reject: Reject,
    },
    /// A stream that was idle has frames: pull until it is idle again (R9).
    Pull {
        /// Whose.
        exchange: ExchangeId,
    },
    /// A sender that got `Full` may try again (R9).
    Writable {
        /// Where.
        target: Target,
    },
    /// Close the exchange's connection now: the response cannot be completed. The exchange is over; no event
    /// about it is needed.
    Close {
        /// Which.
        exchange: ExchangeId,
    },
}

/// What the application is handed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Answer with [`Outbound::Initialized`] or [`Outbound::Error`].
    Initialize {
        /// Where the answer goes.
        call: CallId,
        /// The request.
        request: Request,
        /// The version to answer with, unless another is wanted.
        negotiated: Version,
    },
    /// Answer with [`Outbound::Result`] or [`Outbound::Error`].
    Call {
        /// Where the answer goes.
        call: CallId,
        /// The request.
        request: Request,
        /// The version that its session negotiated, or that the request names in the stateless era; `None` with
        /// sessions off.
        version: Option<Version>,
    },
    /// Say [`Event::Taken`] when it was taken.
    Notice {
        /// What `Taken` names.
        message: MessageId,
        /// The notice.
        notice: Notice,
    },
    /// The client's answer to an [`Outbound::Request`]. Say [`Event::Taken`] when it was taken.
    Reply {
        /// What `Taken` names.
        message: MessageId,
        /// The reply.
        reply: Reply,
    },
}

/// Why a session never came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiscardReason {
    /// The application answered `initialize` with an error.
    Refused,
    /// The application could not open its side.
    Failed,
    /// The client left before there was an answer.
    ClientGone,
    /// The client left before it had the answer, and never used the id.
    Undelivered,
    /// The answer was not there, or not taken, in time.
    Timeout,
    /// The session it was to replace became active again.
    NoRoom,
    /// The server is shutting down.
    Shutdown,
}

/// Why a committed session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// DELETE.
    Deleted,
    /// It was not used for too long.
    Idle,
    /// It was never used at all (S2).
    Unconfirmed,
    /// A new session needed its place (S10).
    Evicted,
    /// The application ended it.
    Application,
    /// The server is shutting down.
    Shutdown,
}

/// Why nobody waits for a call any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelReason {
    /// The client sent `notifications/cancelled`.
    Client,
    /// The client disconnected, where that cancels (R13).
    Disconnected,
    /// The session it was to open was discarded.
    Discarded,
    /// Its session ended.
    SessionEnded,
    /// The server is shutting down.
    Shutdown,
}

/// A session that could be given up for a new one. What is given up first is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    /// It was never used since then.
    Unconfirmed(Timestamp),
    /// It was last used then, at least `evict_after` ago.
    Idle(Timestamp),
}

/// What came of a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// The budget is spent: pull again.
    More,
    /// That was all for now. One [`Action::Pull`] follows when there is more.
    Idle,
    /// That was all: complete the response. [`Event::Flushed`] is due when it is written.
    End,
    /// There is no such exchange any more.
    Gone,
}

/// Where the machines put their orders. Owned by the caller and used again and again.
#[derive(Debug, Default)]
pub struct Actions(Vec<Action>);

impl Actions {
    /// An empty sink.
    #[must_use]
    pub fn new() -> Self {
        Actions::default()
    }

    pub(super) fn push(&mut self, action: Action) {
        self.0.push(action);
    }

    /// Takes the orders out, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Action> + '_ {
        self.0.drain(..)
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The orders so far.
    #[must_use]
    pub fn as_slice(&self) -> &[Action] {
        &self.0
    }
}
