//! What a request is once it has been judged: the only thing that an `Endpoint` accepts.
//!
//! No constructor is public. So a request that was refused is never heard of by the part that owns
//! sessions, and only an [`Admitted`] that is an `initialize` can open one (R2, R3).

use bytes::Bytes;

use crate::answer::Grant;
use crate::jsonrpc::{Notice, Reply, Request, RequestId};
use crate::reject::{Refusal, Reject};
use crate::session_id::SessionRef;
use crate::version::Version;

/// A request that passed every judgement that can be made without knowing any session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    pub(crate) kind: Kind,
    /// The `Mcp-Session-Id` it bears. Always `None` when sessions are off (S12).
    pub(crate) session: Option<SessionRef>,
    pub(crate) accept: Accept,
    pub(crate) grant: Option<Grant>,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// POST of a well-formed `initialize` request.
    Initialize(Initialize),
    /// POST of any other request.
    Call(Request),
    /// POST of a notice.
    Notice(IncomingNotice),
    /// POST of the client's answer to a request of the server.
    Reply(Reply),
    /// POST of an array, not empty, with no `initialize` in it, of at most `batch_max` messages.
    Batch(Vec<BatchItem>),
    /// POST of a request of the stateless era.
    Stateless(Stateless),
    /// POST of a notice of the stateless era.
    StatelessNotice(Notice),
    /// GET: opens the standalone stream, or resumes after an event.
    Open {
        /// `Last-Event-ID` as it came, untrusted, at most 128 bytes (C5).
        last_event_id: Option<Bytes>,
    },
    /// DELETE: ends the session.
    Delete,
}

/// A judged request of the stateless era: it stands alone, whatever session id it bears (R13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stateless {
    /// The request.
    pub request: Request,
    /// What a `subscriptions/listen` asks for; `None` on every other method.
    pub listen: Option<ListenFilter>,
}

/// The kinds of change that a `subscriptions/listen` asks for (Z10).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenFilter {
    /// `toolsListChanged`
    pub tools: bool,
    /// `promptsListChanged`
    pub prompts: bool,
    /// `resourcesListChanged`
    pub resources: bool,
    /// `resourceSubscriptions`, at most `listen_uris_max`, without repetitions.
    pub uris: Vec<Box<str>>,
}

/// A judged `initialize`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialize {
    /// The request; its parameters are as the client sent them.
    pub request: Request,
    /// What the client gets unless the application may and does choose another (S11).
    pub negotiated: Version,
}

/// A notice, and what it cancels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncomingNotice {
    /// The notice.
    pub notice: Notice,
    /// `params.requestId` of a well-formed `notifications/cancelled`.
    pub cancels: Option<RequestId>,
}

/// One message of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchItem {
    /// Waits for an answer.
    Request(Request),
    /// Needs none.
    Notice(IncomingNotice),
    /// Is one.
    Reply(Reply),
}

/// What the client can read (I2). A POST has at least one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// `application/json`.
    pub json: bool,
    /// `text/event-stream`.
    pub event_stream: bool,
    /// Both, and it would rather have the event stream: it names that with more weight than JSON, or with the
    /// same and first (RFC 9110 12.5.1 leaves the order to the server).
    pub prefers_event_stream: bool,
}

impl Accept {
    /// Whether an answer alone goes out as JSON.
    pub(crate) fn wants_json(self) -> bool {
        self.json && !self.prefers_event_stream
    }
}

impl Admitted {
    /// What the request asks for, for a log, a gateway or a test; only the whole opens anything.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// What the client can read.
    #[must_use]
    pub fn accept(&self) -> Accept {
        self.accept
    }

    /// The CORS grant, if there is one.
    #[must_use]
    pub fn grant(&self) -> Option<&Grant> {
        self.grant.as_ref()
    }

    /// A refusal that the caller has its own reason for, such as its auth hook, with the id and the CORS
    /// grant of this request.
    #[must_use]
    pub fn refuse(&self, refusal: Refusal) -> Reject {
        let id = match &self.kind {
            Kind::Initialize(Initialize { request, .. }) | Kind::Call(request) => Some(request.id.clone()),
            Kind::Stateless(Stateless { request, .. }) => Some(request.id.clone()),
            Kind::Notice(_)
            | Kind::Reply(_)
            | Kind::Batch(_)
            | Kind::StatelessNotice(_)
            | Kind::Open { .. }
            | Kind::Delete => None,
        };
        Reject::new(refusal).with_id(id).with_grant(self.grant.clone())
    }

    /// The session id the request bears; says which shard to go to.
    #[must_use]
    pub fn session(&self) -> Option<&SessionRef> {
        self.session.as_ref()
    }

    /// Whether this can open a session, so that a server can place it on a shard of its choice.
    #[must_use]
    pub fn opens_session(&self) -> bool {
        matches!(self.kind, Kind::Initialize(_)) && self.session.is_none()
    }
}
