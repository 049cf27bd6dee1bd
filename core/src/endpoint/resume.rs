//! GET: the standalone stream, coming back to a stream after an event, and leaving one for polling.

use bytes::Bytes;

use crate::answer::Head;
use crate::h1::Body;
use crate::reject::Refusal;
use crate::slab::Key;
use crate::sse;
use crate::time::Timestamp;

use super::Endpoint;
use super::action::{Actions, CallId, Home};
use super::event_id::EventId;
use super::exchange::Carries;
use super::stream::{STANDALONE, Stream};
use super::timers::{Due, Kind};

impl Endpoint {
    pub(super) fn admit_open(
        &mut self,
        exchange: Key,
        key: Key,
        last_event_id: Option<Bytes>,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), Refusal> {
        if self.shutdown.is_some() {
            return Err(Refusal::ShuttingDown);
        }
        let Some(last_event_id) = last_event_id else {
            self.open_standalone(key);
            if let Some(session) = self.sessions.get_mut(key) {
                session.listens = true;
            }
            let home = Home::Session { session: key, stream: STANDALONE };
            let position = self.stream(home).map_or(0, |stream| stream.ring.cursor());
            self.attach(exchange, key, STANDALONE, position, now, out);
            return Ok(());
        };
        let event = self.own_event(key, &last_event_id)?;
        let home = Home::Session { session: key, stream: event.stream };
        let Some(stream) = self.stream(home) else { return Err(Refusal::EventsLost) };
        if !stream.ring.knows(event.position) {
            return Err(Refusal::BadEventId);
        }
        let gap = stream.ring.misses_after(event.position);
        if stream.is_standalone() {
            // A gap here is counted and not refused: clients recover from this answer and from no other.
            self.counters.gaps = self.counters.gaps.saturating_add(u64::from(gap));
        } else if gap || stream.lost {
            return Err(Refusal::EventsLost);
        } else if stream.is_finished() && !stream.ring.has_after(event.position) {
            self.carry_in_session(exchange, Carries::Nothing, key);
            self.respond_whole(exchange, Head::NoContent, Body::Empty, out);
            return Ok(());
        }
        let made_room = self.with_ring(home, |ring| ring.rewind(event.position));
        self.attach(exchange, key, event.stream, event.position, now, out);
        if made_room == Some(true) {
            self.unblock(home, out);
        }
        Ok(())
    }

    /// The event that an untrusted `Last-Event-ID` names, if it is one of this session's streams (C5).
    fn own_event(&self, key: Key, last_event_id: &[u8]) -> Result<EventId, Refusal> {
        let session = self.sessions.get(key).ok_or(Refusal::UnknownSession)?;
        let event = EventId::decode(last_event_id).filter(|event| event.tag == session.tag);
        let event = event.ok_or(Refusal::BadEventId)?;
        let opened = if event.stream == STANDALONE {
            session.stream(STANDALONE).is_some()
        } else {
            event.stream <= session.streams_opened
        };
        if opened { Ok(event) } else { Err(Refusal::BadEventId) }
    }

    /// The standalone stream exists from its first message or its first reader on.
    pub(super) fn open_standalone(&mut self, key: Key) {
        if let Some(session) = self.sessions.get_mut(key)
            && session.stream(STANDALONE).is_none()
        {
            session.streams.insert(0, Stream::standalone());
        }
    }

    /// The exchange carries the stream from here; one that did is completed. Newest wins (C7, C9).
    fn attach(
        &mut self,
        exchange: Key,
        key: Key,
        number: u32,
        position: u64,
        now: Timestamp,
        out: &mut Actions,
    ) {
        let home = Home::Session { session: key, stream: number };
        let Some(stream) = self.stream_mut(home) else { return };
        let older = stream.carrier.replace(exchange);
        let retained_until = stream.retained_until.take();
        let finished = stream.is_finished();
        if let Some(at) = retained_until {
            self.timers.remove(Kind::Retention, Due { at, key, part: number });
        }
        if let Some(older) = older {
            self.release(older, now, out);
        }
        self.carry_in_session(exchange, Carries::Stream { number }, key);
        if !finished {
            self.prime(exchange, position);
        }
        if let Some(exchange) = self.exchanges.get_mut(exchange) {
            exchange.last_sent = now;
        }
        self.respond_stream(exchange, None, out);
        self.arm_exchange(exchange, now.after(self.config.comment_every));
    }

    /// The exchange carries nothing any more: its response is completed, and it is no activity of the session.
    pub(super) fn release(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.carries = Carries::Tail;
        let session = exchange.session.take();
        if let Some(session) = session.and_then(|session| self.sessions.get_mut(session)) {
            session.exchanges = session.exchanges.saturating_sub(1);
            session.last_active = now;
        }
        self.disarm_exchange(key);
        if self.exchanges.get(key).is_some_and(|exchange| exchange.head_sent) {
            self.wake(key, out);
        } else {
            self.respond_stream(key, None, out);
        }
    }

    /// Ends the exchange of a call's stream and keeps the stream, so that the client polls (C6).
    pub(super) fn close_for_polling(&mut self, call: CallId, now: Timestamp, out: &mut Actions) {
        let Home::Session { session: key, stream: number } = call.home else { return };
        let primes = self.sessions.get(key).is_some_and(|session| session.version.primes());
        let carrier = self.stream(call.home).filter(|stream| !stream.is_finished()).and_then(|s| s.carrier);
        let Some(carrier) = carrier.filter(|_| primes) else { return };
        let Some(exchange) = self.exchanges.get(carrier) else { return };
        if !exchange.head_sent {
            if !exchange.accept.event_stream {
                return;
            }
            self.commit_to_stream(carrier, false, now, out);
            self.release_held(call.home, out);
        }
        // What the client has not got yet goes with it: the fewer polls, the better.
        let unpulled =
            self.with_ring(call.home, |ring| core::iter::from_fn(|| ring.pull(true)).collect::<Vec<Bytes>>());
        if let Some(exchange) = self.exchanges.get_mut(carrier) {
            exchange.own.extend(unpulled.into_iter().flatten());
        }
        self.release(carrier, now, out);
        self.detach(key, number, now, out);
    }

    /// The frame that asks the readers of a stream to come back, once it is over.
    pub(super) fn farewell(&self) -> Bytes {
        sse::retry_frame(self.config.retry)
    }
}
