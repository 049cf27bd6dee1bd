//! Streams and their rings: storing frames, making room, retaining and letting go. What the frames say is
//! `output`'s.

use crate::slab::Key;
use crate::sse;
use crate::time::Timestamp;

use super::Endpoint;
use super::action::{Actions, Home};
use super::event_id::EventId;
use super::ring::{Pushed, Ring, Room, Weight};
use super::stream::{CallState, Stream};
use super::timers::{Due, Kind};

impl Endpoint {
    /// Encodes a message for a stream and stores it, with an id where the stream can be resumed.
    pub(super) fn push(&mut self, home: Home, text: &[u8], weight: Weight, out: &mut Actions) -> Pushed {
        let Some(stream) = self.stream(home) else { return Pushed::Dropped };
        if stream.lost && stream.carrier.is_none() {
            return Pushed::Dropped;
        }
        let carrier = stream.carrier;
        let position = stream.ring.next_position();
        let id = match home {
            Home::Session { session, stream } => {
                let tag = self.sessions.get(session).map(|session| session.tag);
                tag.map(|tag| EventId { tag, stream, position }.encode())
            }
            Home::Exchange(_) => None,
        };
        let frame = sse::message_frame(id.as_deref(), text);
        if weight != Weight::Final && !self.make_room(home, frame.len()) {
            return self.no_room(home, weight);
        }
        let taken = if weight == Weight::Final { 0 } else { frame.len() };
        if taken > 0 && !self.take_memory(taken, weight) {
            return self.starve(home, weight);
        }
        let room = Room { frames_max: self.config.ring_frames_max, bytes_max: self.config.ring_bytes_max };
        let pushed =
            self.with_ring_and(taken, home, |ring| ring.push(frame, weight, carrier.is_some(), room));
        let pushed = pushed.unwrap_or(Pushed::Dropped);
        let dropped = match pushed {
            Pushed::Stored { dropped } => dropped,
            Pushed::Dropped => 1,
            Pushed::Full => 0,
        };
        self.counters.dropped_notices = self.counters.dropped_notices.saturating_add(dropped);
        if let (Some(key), Pushed::Stored { .. }) = (carrier, pushed) {
            self.wake(key, out);
        }
        pushed
    }

    /// The server has no memory for a frame.
    pub(super) fn starve(&mut self, home: Home, weight: Weight) -> Pushed {
        self.starved = weight == Weight::Kept;
        self.no_room(home, weight)
    }

    /// The session or the server has no room: what can be left out is, the rest waits.
    fn no_room(&mut self, home: Home, weight: Weight) -> Pushed {
        if weight == Weight::Droppable {
            self.counters.dropped_notices = self.counters.dropped_notices.saturating_add(1);
            return Pushed::Dropped;
        }
        if let Home::Session { session, .. } = home
            && let Some(session) = self.sessions.get_mut(session)
        {
            session.crowded = true;
        }
        Pushed::Full
    }

    /// Makes the rings of a session leave room for `len` more bytes: what only a resume might ask for goes,
    /// oldest streams first. Returns whether there is room.
    fn make_room(&mut self, home: Home, len: usize) -> bool {
        let Home::Session { session: key, .. } = home else { return true };
        let bytes_max = self.config.session_ring_bytes_max;
        loop {
            let Some(session) = self.sessions.get(key) else { return true };
            if session.ring_bytes == 0 || session.ring_bytes.saturating_add(len) <= bytes_max {
                return true;
            }
            let over = |stream: &&Stream| stream.carrier.is_none() && stream.is_finished();
            if let Some(number) = session.streams.iter().find(over).map(|stream| stream.number) {
                self.drop_stream(key, number);
                continue;
            }
            let numbers: Vec<(u32, bool)> =
                session.streams.iter().map(|stream| (stream.number, stream.carrier.is_some())).collect();
            let evicted = numbers.into_iter().any(|(stream, attached)| {
                let home = Home::Session { session: key, stream };
                let evict =
                    |ring: &mut Ring| if attached { ring.evict_pulled() } else { ring.evict_oldest() };
                self.with_ring(home, evict) == Some(true)
            });
            if !evicted {
                return false;
            }
        }
    }

    pub(super) fn stream(&self, home: Home) -> Option<&Stream> {
        match home {
            Home::Session { session, stream } => self.sessions.get(session)?.stream(stream),
            Home::Exchange(key) => self.exchanges.get(key)?.carries.solo(),
        }
    }

    pub(super) fn stream_mut(&mut self, home: Home) -> Option<&mut Stream> {
        match home {
            Home::Session { session, stream } => self.sessions.get_mut(session)?.stream_mut(stream),
            Home::Exchange(key) => self.exchanges.get_mut(key)?.carries.solo_mut(),
        }
    }

    /// Works on a ring and keeps the sums of session and server right.
    pub(super) fn with_ring<R>(&mut self, home: Home, work: impl FnOnce(&mut Ring) -> R) -> Option<R> {
        self.with_ring_and(0, home, work)
    }

    /// The same, and `taken` bytes of the server's memory are meant for what comes in.
    fn with_ring_and<R>(&mut self, taken: usize, home: Home, work: impl FnOnce(&mut Ring) -> R) -> Option<R> {
        let Some(stream) = self.stream_mut(home) else {
            self.budget.bytes_changed(taken, 0);
            return None;
        };
        let before = stream.ring.bytes();
        let result = work(&mut stream.ring);
        let after = stream.ring.bytes();
        self.budget.bytes_changed(before.saturating_add(taken), after);
        if let Home::Session { session, .. } = home
            && let Some(session) = self.sessions.get_mut(session)
        {
            session.ring_bytes = session.ring_bytes.saturating_sub(before).saturating_add(after);
        }
        Some(result)
    }

    pub(super) fn drop_stream_at(&mut self, home: Home) {
        match home {
            Home::Session { session, stream } => self.drop_stream(session, stream),
            Home::Exchange(_) => {
                self.with_ring(home, Ring::clear);
                self.budget.free_solo_call();
            }
        }
    }

    /// Takes a stream that is over out of its session.
    pub(super) fn drop_stream(&mut self, key: Key, number: u32) {
        let home = Home::Session { session: key, stream: number };
        self.with_ring(home, Ring::clear);
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.asked.retain(|asked| asked.stream != number);
        let Some(index) = session.streams.iter().position(|stream| stream.number == number) else { return };
        let stream = session.streams.remove(index);
        // A session at rest holds no buffer for streams.
        if session.streams.is_empty() {
            session.streams = Vec::new();
        }
        self.disarm_retention(key, &stream);
    }

    /// No client can come back to the stream; what it holds is of no use.
    pub(super) fn lose_stream(&mut self, session: Key, number: u32) {
        let home = Home::Session { session, stream: number };
        if let Some(stream) = self.stream_mut(home) {
            stream.lost = true;
            // Answers that waited for the rest of their batch wait for nothing now.
            for call in stream.calls.iter_mut().filter(|call| matches!(call.state, CallState::Held(_))) {
                call.state = CallState::Done;
            }
        }
        self.with_ring(home, Ring::clear);
    }

    /// Ends the retention of a detached stream. The standalone one stays, without its frames; calls that are
    /// not answered go on, and what they send goes nowhere.
    pub(super) fn let_go(&mut self, key: Key, number: u32) {
        let home = Home::Session { session: key, stream: number };
        let Some(stream) = self.stream(home) else { return };
        if stream.is_standalone() {
            self.with_ring(home, Ring::clear);
        } else if stream.is_finished() {
            self.drop_stream(key, number);
        } else {
            self.lose_stream(key, number);
        }
    }

    /// Keeps a detached stream until `until`; of those that are finished, only so many.
    pub(super) fn retain(&mut self, key: Key, number: u32, until: Timestamp) {
        let Some(stream) = self.stream_mut(Home::Session { session: key, stream: number }) else { return };
        stream.retained_until = Some(until);
        self.timers.add(Kind::Retention, Due { at: until, key, part: number });
        let Some(session) = self.sessions.get(key) else { return };
        let mut retained =
            session.streams.iter().filter(|stream| stream.carrier.is_none() && stream.is_finished());
        let oldest = retained.next().map(|stream| stream.number);
        let over = retained.count() >= self.config.calls_per_session_max;
        if let (true, Some(oldest)) = (over, oldest) {
            self.drop_stream(key, oldest);
        }
    }

    pub(super) fn disarm_retention(&mut self, key: Key, stream: &Stream) {
        if let Some(at) = stream.retained_until {
            self.timers.remove(Kind::Retention, Due { at, key, part: stream.number });
        }
    }
}
