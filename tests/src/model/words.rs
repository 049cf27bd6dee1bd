//! What the model is told and what it says, in words of its own: names are numbers in the order of their
//! appearance, times are whole seconds. No type of the endpoint's state is used.

use mcp_http_core::endpoint::{CancelReason, DiscardReason, EndReason};

/// The n-th request that was admitted.
pub type Xid = u32;
/// The n-th session that was created.
pub type Sid = u32;
/// The n-th call (`initialize` included) that was delivered.
pub type Cid = u32;
/// The n-th notice that was delivered.
pub type Mid = u32;
/// The n-th request to a client that the application sent.
pub type Qid = u32;
/// Seconds since the start.
pub type Secs = u64;

/// A stream: that of a call, or the standalone one of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// Of this call.
    Call(Cid),
    /// The session's own.
    Own(Sid),
}

/// A place on a stream: after so many frames.
pub type Place = (Line, u64);

/// What `Last-Event-ID` a GET bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// None.
    Nothing,
    /// One that no server of ours gave.
    Bad,
    /// One that stands for this place.
    Event(Place),
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields name whom the step is about")]
pub enum Op {
    /// POST `initialize` without a session id; `lucky` if there is entropy.
    Initialize { lucky: bool },
    /// POST of a request with this JSON-RPC id.
    Call { s: Sid, id: u8 },
    /// The same, by a client that reads nothing but JSON.
    CallJson { s: Sid, id: u8 },
    /// POST of a client's reply.
    Reply { s: Sid, q: Qid },
    /// POST of a notice.
    Notice { s: Sid },
    /// POST of `notifications/cancelled` for this JSON-RPC id.
    Cancelled { s: Sid, id: u8 },
    /// GET.
    Get { s: Sid, after: After },
    /// DELETE.
    Delete { s: Sid },
    /// POST `initialize` that bears a session id (S4).
    Again { s: Sid },
    /// The application accepts `initialize`.
    Accept { c: Cid },
    /// The application answers with an error.
    Refuse { c: Cid },
    /// The application answers a call.
    Answer { c: Cid },
    /// The application sends a notice.
    Say { to: Line, droppable: bool },
    /// The application sends a request to the client.
    Ask { to: Line },
    /// The application closes the call's stream for polling.
    Polling { c: Cid },
    /// The application could not open its side.
    Fail { s: Sid },
    /// The application ends a session.
    EndSession { s: Sid },
    /// The application took a notice.
    Taken { m: Mid },
    /// The response's last byte is out.
    Flushed { x: Xid },
    /// The peer shut its write side.
    HalfClosed { x: Xid },
    /// The peer reads no more.
    Stalled { x: Xid },
    /// The connection is gone.
    Gone { x: Xid },
    /// The writer takes frames: one, or all there are.
    Pull { x: Xid, all: bool },
    /// The server begins to shut down.
    Shutdown,
    /// Time goes on to the next deadline.
    Wait,
    /// Time goes on by a second.
    Tick,
}

/// The text of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Text {
    /// This.
    Exactly(String),
    /// A JSON-RPC error for this id with this code; its words are free.
    Error(u8, i64),
}

/// A frame as a client reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What its id stands for.
    pub id: Option<Place>,
    /// The rest.
    pub what: What,
}

/// What a frame is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An id and no message (C6).
    Priming,
    /// A message.
    Message(Text),
    /// When to come back.
    Retry,
    /// A comment (C12).
    Comment,
}

/// An action, as far as it is comparable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the endpoint's actions, field by field")]
pub enum Act {
    Create(Sid),
    Commit(Sid),
    Discard(Sid, DiscardReason),
    End(Sid, EndReason),
    DeliverInitialize {
        x: Xid,
        s: Sid,
        c: Cid,
    },
    DeliverCall {
        x: Xid,
        s: Sid,
        c: Cid,
    },
    DeliverNotice {
        x: Xid,
        s: Sid,
        m: Mid,
    },
    DeliverReply {
        x: Xid,
        s: Sid,
        m: Mid,
        q: Qid,
    },
    Cancel(Cid, CancelReason),
    /// 200 with JSON; `offers` is the session whose id it bears.
    Json {
        x: Xid,
        offers: Option<Sid>,
        text: Text,
    },
    Stream(Xid),
    Accepted(Xid),
    NoContent(Xid),
    /// By the refusal's name, with the id it echoes.
    Reject {
        x: Xid,
        why: &'static str,
        id: Option<u8>,
    },
    Pull(Xid),
    Writable(Line),
    Close(Xid),
}

/// What a sender was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Taken.
    Ok,
    /// Wait.
    Full,
    /// Nobody is there.
    Gone,
    /// There are as many open requests to the client as may be.
    TooMany,
}

/// What a puller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the endpoint's own words")]
pub enum Drew {
    More,
    Idle,
    End,
    Gone,
}

/// What came of a step. The order of `acts` says nothing here; `books` looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What is to be done.
    pub acts: Vec<Act>,
    /// What a sender was told.
    pub sent: Option<Sent>,
    /// What a puller got.
    pub drawn: Option<(Vec<Shown>, Drew)>,
}

impl Outcome {
    /// Whether the other says the same, in any order of its acts.
    #[must_use]
    pub fn agrees(&self, other: &Outcome) -> bool {
        let mut rest: Vec<&Act> = other.acts.iter().collect();
        for act in &self.acts {
            let Some(at) = rest.iter().position(|other| *other == act) else { return false };
            rest.swap_remove(at);
        }
        rest.is_empty() && self.sent == other.sent && self.drawn == other.drawn
    }
}

/// The numbers of a configuration that the model knows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in `Config`")]
pub struct Rules {
    pub sessions_max: usize,
    pub calls_max: usize,
    pub ring_frames_max: usize,
    pub establish: Secs,
    pub confirm: Secs,
    pub idle: Secs,
    pub evict_after: Secs,
    pub sse_commit_after: Secs,
    pub comment_every: Secs,
    pub retention: Secs,
    pub shutdown: Secs,
    /// Whether sessions are of the version that has priming events and polling (C6).
    pub primes: bool,
}
