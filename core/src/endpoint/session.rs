//! One session's record. Everything that belongs to the session is in here, so that removing the record is
//! the whole end of it.

use crate::jsonrpc::RequestId;
use crate::session_id::SECRET_BYTES;
use crate::slab::Key;
use crate::time::Timestamp;
use crate::version::Version;

use super::action::Principal;
use super::event_id::Tag;
use super::life::Phase;
use super::stream::Stream;
use super::timers::Kind;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) secret: [u8; SECRET_BYTES],
    /// What its event ids begin with, so that another session's are told apart (C5).
    pub(super) tag: Tag,
    pub(super) principal: Option<Principal>,
    pub(super) version: Version,
    pub(super) phase: Phase,
    /// The place it takes under the cap.
    pub(super) place: Place,
    /// The pending session that will take this one's place.
    pub(super) successor: Option<Key>,
    /// The exchange of its `initialize`, while that is not complete.
    pub(super) establishing: Option<Key>,
    pub(super) streams: Vec<Stream>,
    /// Streams ever opened, the standalone one not counted.
    pub(super) streams_opened: u32,
    /// Priming events ever sent, so that each has an id of its own.
    pub(super) primed: u32,
    /// Its client has read its standalone stream.
    pub(super) listens: bool,
    /// Resources whose changes it wants to be told of.
    pub(super) uris: Vec<Box<str>>,
    /// Requests to the client without a reply.
    pub(super) asked: Vec<Asked>,
    /// Exchanges in flight.
    pub(super) exchanges: u32,
    /// Calls that the application has not answered.
    pub(super) calls: u32,
    /// The sum of the streams' rings.
    pub(super) ring_bytes: usize,
    /// A sender got `Full` because all rings together had no room.
    pub(super) crowded: bool,
    /// When the phase began.
    pub(super) since: Timestamp,
    /// When it was last in use.
    pub(super) last_active: Timestamp,
    /// Its deadline in the timers; at or before the true one, since activity does not move it (R12).
    pub(super) armed: Option<(Kind, Timestamp)>,
}

/// How a session counts against `sessions_max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It has a place of its own.
    Own,
    /// It is to take the place of this session, which is still there.
    Of(Key),
}

/// A request to the client that waits for its reply.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: RequestId,
    /// The stream it went out on.
    pub(super) stream: u32,
}

impl Session {
    pub(super) fn stream(&self, number: u32) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.number == number)
    }

    pub(super) fn stream_mut(&mut self, number: u32) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| stream.number == number)
    }

    /// What its deadline in the timers is about.
    pub(super) fn deadline_kind(&self) -> Kind {
        match self.phase {
            Phase::Pending | Phase::Offered => Kind::Establish,
            Phase::Unconfirmed | Phase::Live if self.successor.is_some() => Kind::Promised,
            Phase::Unconfirmed => Kind::Confirm,
            Phase::Live => Kind::Idle,
        }
    }

    /// Whether an exchange or a call is in flight, so that the idle clock stands still.
    pub(super) fn is_busy(&self) -> bool {
        self.exchanges > 0 || self.calls > 0
    }
}
