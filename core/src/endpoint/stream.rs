//! One logical stream and the calls whose answers end it. It survives the exchanges that carry it; it knows
//! neither its session nor its exchange beyond their keys.

use bytes::Bytes;
use smallvec::SmallVec;

use crate::jsonrpc::RequestId;
use crate::slab::Key;
use crate::time::Timestamp;
use crate::version::Era;

use super::ring::Ring;

/// The number of a session's standalone stream. Calls' streams count from 1.
pub(super) const STANDALONE: u32 = 0;

#[derive(Debug)]
pub(super) struct Stream {
    /// Unique in its session, never used again.
    pub(super) number: u32,
    /// The calls it answers, in the order of their batch; none on the standalone stream.
    pub(super) calls: SmallVec<[Call; 1]>,
    /// Decides what an error answer's status is (Z7).
    pub(super) era: Era,
    /// Whether the calls came as an array and a JSON answer must be one.
    pub(super) batch: bool,
    pub(super) ring: Ring,
    /// The exchange that carries it now.
    pub(super) carrier: Option<Key>,
    /// No client can resume it: it broke before it bore an id, or its retention is over.
    pub(super) lost: bool,
    /// A sender on the standalone stream got `Full` and is owed one `Writable`.
    pub(super) blocked: bool,
    /// When a detached stream is let go.
    pub(super) retained_until: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) state: CallState,
    /// Its sender got `Full` and is owed one `Writable`.
    pub(super) blocked: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallState {
    /// The application has not answered.
    Waiting,
    /// Answered; the message waits for the rest of its batch.
    Held(Bytes),
    /// Answered, and the message is in the ring or with the exchange; or cancelled.
    Done,
}

impl Stream {
    pub(super) fn standalone() -> Self {
        Stream::new(STANDALONE, SmallVec::new(), false)
    }

    pub(super) fn of_calls(number: u32, ids: impl Iterator<Item = RequestId>, batch: bool) -> Self {
        Stream::new(
            number,
            ids.map(|id| Call { id, state: CallState::Waiting, blocked: false }).collect(),
            batch,
        )
    }

    fn new(number: u32, calls: SmallVec<[Call; 1]>, batch: bool) -> Self {
        Stream {
            number,
            calls,
            era: Era::Handshake,
            batch,
            ring: Ring::new(),
            carrier: None,
            lost: false,
            blocked: false,
            retained_until: None,
        }
    }

    /// Whether everything that will ever be on it is in the ring.
    pub(super) fn is_finished(&self) -> bool {
        self.number != STANDALONE && self.calls.iter().all(|call| call.state == CallState::Done)
    }

    /// Whether frames wait in it for a reader that is not there.
    pub(super) fn is_left(&self) -> bool {
        self.carrier.is_none() && self.ring.bytes() > 0
    }

    pub(super) fn is_standalone(&self) -> bool {
        self.number == STANDALONE
    }

    /// Calls that the application has not answered.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u16, &Call)> {
        let numbered = (0_u16..).zip(&self.calls);
        numbered.filter(|(_, call)| call.state == CallState::Waiting)
    }

    /// The call at `index`, if it still waits.
    pub(super) fn waiting_mut(&mut self, index: u16) -> Option<&mut Call> {
        self.calls.get_mut(usize::from(index)).filter(|call| call.state == CallState::Waiting)
    }

    /// Whether an answer would be the last that is missing.
    pub(super) fn waits_for_one(&self) -> bool {
        self.waiting().count() == 1
    }
}
