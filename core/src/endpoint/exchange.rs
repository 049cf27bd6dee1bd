//! One HTTP exchange: what it carries, and what only it has to send. What follows when it ends is decided in
//! `endpoint`.

use std::collections::VecDeque;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::answer::Grant;
use crate::intake::Accept;
use crate::jsonrpc::RequestId;
use crate::slab::Key;
use crate::time::Timestamp;

use super::listen::Listen;
use super::stream::Stream;

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) carries: Carries,
    /// The session whose activity this is.
    pub(super) session: Option<Key>,
    /// The session whose `initialize` this is; with sessions off there is none.
    pub(super) establishes: Option<Key>,
    pub(super) accept: Accept,
    pub(super) grant: Option<Grant>,
    /// Whether the response head is out. Until then a stream may still become a JSON answer.
    pub(super) head_sent: bool,
    /// Whether the peer shut its write side: it may be gone.
    pub(super) half_closed: bool,
    /// Whether the puller was told that there is nothing more for now.
    pub(super) idle: bool,
    /// Frames of this exchange alone, sent before the stream's: priming events, comments, a tail.
    pub(super) own: VecDeque<Bytes>,
    /// Bytes of its answer that count against the server's memory until it ends.
    pub(super) held: usize,
    /// When something was last sent.
    pub(super) last_sent: Timestamp,
    /// Its deadline in the timers.
    pub(super) armed: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) enum Carries {
    /// Nothing yet, or a refusal.
    Nothing,
    /// An `initialize` that waits for the application's answer.
    Establish { id: RequestId },
    /// A stream of its session.
    Stream { number: u32 },
    /// A stream without a session.
    Solo(Box<Stream>),
    /// A `subscriptions/listen` stream.
    Listen(Box<Listen>),
    /// Notices and replies; 202 goes out when all of these were taken.
    Messages { waiting: SmallVec<[u16; 2]> },
    /// The last frames of something that is over elsewhere.
    Tail,
    /// A response that was given whole.
    Complete,
}

impl Exchange {
    pub(super) fn new(accept: Accept, grant: Option<Grant>, now: Timestamp) -> Self {
        Exchange {
            carries: Carries::Nothing,
            session: None,
            establishes: None,
            accept,
            grant,
            head_sent: false,
            half_closed: false,
            idle: true,
            own: VecDeque::new(),
            held: 0,
            last_sent: now,
            armed: None,
        }
    }
}

impl Exchange {
    /// Whether this is a call outside sessions that has a place under their cap: an `initialize` that opens
    /// none is one as well.
    pub(super) fn is_solo_call(&self) -> bool {
        match &self.carries {
            Carries::Solo(_) => true,
            Carries::Establish { .. } => self.establishes.is_none(),
            Carries::Nothing
            | Carries::Stream { .. }
            | Carries::Listen(_)
            | Carries::Messages { .. }
            | Carries::Tail
            | Carries::Complete => false,
        }
    }
}

impl Carries {
    /// The stream that lives here.
    pub(super) fn solo(&self) -> Option<&Stream> {
        match self {
            Carries::Solo(stream) => Some(stream),
            Carries::Listen(listen) => Some(&listen.stream),
            Carries::Nothing
            | Carries::Establish { .. }
            | Carries::Stream { .. }
            | Carries::Messages { .. }
            | Carries::Tail
            | Carries::Complete => None,
        }
    }

    pub(super) fn solo_mut(&mut self) -> Option<&mut Stream> {
        match self {
            Carries::Solo(stream) => Some(stream),
            Carries::Listen(listen) => Some(&mut listen.stream),
            Carries::Nothing
            | Carries::Establish { .. }
            | Carries::Stream { .. }
            | Carries::Messages { .. }
            | Carries::Tail
            | Carries::Complete => None,
        }
    }
}
