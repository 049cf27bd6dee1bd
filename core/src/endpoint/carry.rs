//! Exchanges carrying streams: heads, pulling, breaking, ending. What is in a stream is `output`'s; how a
//! client comes back to one is `resume`'s.

use bytes::Bytes;

use crate::answer::{Head, Response};
use crate::h1::Body;
use crate::jsonrpc::{self, ErrorObject, code};
use crate::reject::{Refusal, Reject};
use crate::session_id::SessionId;
use crate::slab::Key;
use crate::sse;
use crate::time::Timestamp;

use super::Endpoint;
use super::action::{Action, Actions, CallId, CancelReason, ExchangeId, Home, Pulled, SessionKey, Target};
use super::event_id::EventId;
use super::exchange::Carries;
use super::life::{Happening, Phase};
use super::stream::{CallState, Stream};
use super::timers::{Due, Kind};

/// Frames that were pulled, in order, to be written in one go.
#[derive(Debug, Default)]
pub struct Frames(Vec<Bytes>);

impl Frames {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Frames::default()
    }

    /// Takes the frames out.
    pub fn drain(&mut self) -> impl Iterator<Item = Bytes> + '_ {
        self.0.drain(..)
    }

    /// The frames.
    #[must_use]
    pub fn as_slice(&self) -> &[Bytes] {
        &self.0
    }
}

impl Endpoint {
    /// Starts the clock that turns silence into an event stream.
    pub(super) fn await_first_output(&mut self, key: Key, now: Timestamp) {
        if self.exchanges.get(key).is_some_and(|exchange| exchange.accept.event_stream) {
            self.arm_exchange(key, now.after(self.config.sse_commit_after));
        }
    }

    /// Sends a response that is complete; the exchange waits for `Flushed`.
    pub(super) fn respond_whole(&mut self, key: Key, head: Head, body: Body, out: &mut Actions) {
        self.disarm_exchange(key);
        if let Body::Full(body) = &body {
            self.hold(key, body.len());
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.head_sent = true;
        exchange.carries = Carries::Complete;
        let response = Response { head, body, grant: exchange.grant.take() };
        out.push(Action::Respond { exchange: ExchangeId(key), response });
    }

    pub(super) fn respond_accepted(&mut self, key: Key, out: &mut Actions) {
        self.respond_whole(key, Head::Accepted, Body::Empty, out);
    }

    /// Sends the head of an event stream, and orders the pull of what it has.
    pub(super) fn respond_stream(&mut self, key: Key, session: Option<SessionId>, out: &mut Actions) {
        self.disarm_exchange(key);
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.head_sent = true;
        let head = Head::EventStream { session };
        let response = Response { head, body: Body::Stream, grant: exchange.grant.take() };
        out.push(Action::Respond { exchange: ExchangeId(key), response });
        self.wake(key, out);
    }

    /// The response becomes an event stream. The priming event goes first where the version has one (C6); in
    /// `silence`, a comment shows that somebody is there.
    pub(super) fn commit_to_stream(&mut self, key: Key, silence: bool, now: Timestamp, out: &mut Actions) {
        self.prime(key, 0);
        let comment_at = now.after(self.config.comment_every);
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        if silence && exchange.own.is_empty() {
            exchange.own.push_back(sse::COMMENT_FRAME);
        }
        exchange.last_sent = now;
        self.respond_stream(key, None, out);
        self.arm_exchange(key, comment_at);
    }

    /// Queues a priming event that means `position` of the stream that the exchange carries.
    pub(super) fn prime(&mut self, key: Key, position: u64) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let (Carries::Stream { number }, Some(session)) = (&exchange.carries, exchange.session) else {
            return;
        };
        let Some(session) = self.sessions.get_mut(session).filter(|session| session.version.primes()) else {
            return;
        };
        session.primed = session.primed.wrapping_add(1);
        let id = EventId { tag: session.tag, stream: *number, position }.encode_priming(session.primed);
        exchange.own.push_back(sse::priming_frame(&id, self.config.retry));
    }

    /// Orders a pull if the puller was told that there was nothing more.
    pub(super) fn wake(&mut self, key: Key, out: &mut Actions) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        if exchange.head_sent && exchange.idle {
            exchange.idle = false;
            out.push(Action::Pull { exchange: ExchangeId(key) });
        }
    }

    pub(super) fn pull_frames(
        &mut self,
        key: Key,
        budget: usize,
        into: &mut Frames,
        now: Timestamp,
        out: &mut Actions,
    ) -> Pulled {
        let mut taken: usize = 0;
        let mut took_from_ring = false;
        let ended = loop {
            let Some(exchange) = self.exchanges.get_mut(key) else { return Pulled::Gone };
            if !exchange.head_sent {
                return Pulled::Gone;
            }
            let (frame, from_ring) = match exchange.own.pop_front() {
                Some(frame) => (Some(frame), false),
                None => (self.pull_from_stream(key), true),
            };
            let Some(frame) = frame else { break self.is_exhausted(key) };
            taken = taken.saturating_add(frame.len());
            took_from_ring |= from_ring;
            into.0.push(frame);
            if taken >= budget && self.has_more(key) {
                break None;
            }
        };
        if let Some(home) = self.home_of(key).filter(|_| took_from_ring) {
            self.unblock(home, out);
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return Pulled::Gone };
        if taken > 0 {
            exchange.last_sent = now;
        }
        match ended {
            None => Pulled::More,
            Some(true) => Pulled::End,
            Some(false) => {
                exchange.idle = true;
                Pulled::Idle
            }
        }
    }

    /// The response's last byte is with the client.
    pub(super) fn handle_flushed(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        match exchange.carries {
            // No response is under way: a caller's mistake, without consequence.
            Carries::Nothing | Carries::Establish { .. } | Carries::Messages { .. } => return,
            Carries::Complete
            | Carries::Tail
            | Carries::Stream { .. }
            | Carries::Solo(_)
            | Carries::Listen(_) => {}
        }
        let Some(exchange) = self.end_exchange(key, now) else { return };
        if let Some(session) = exchange.establishes {
            self.delivered(session, exchange.half_closed, now, out);
        }
        let Some(session) = exchange.session else { return };
        if let Carries::Stream { number } = exchange.carries {
            self.detach(session, number, now, out);
        }
        self.end_if_drained(session, now, out);
    }

    /// The connection is gone. In a session that cancels nothing (C10).
    pub(super) fn handle_gone(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let Some(exchange) = self.end_exchange(key, now) else { return };
        match exchange.carries {
            Carries::Establish { .. } => {
                let call = CallId { home: Home::Exchange(key), index: 0 };
                out.push(Action::Cancel { call, reason: CancelReason::Disconnected });
            }
            Carries::Stream { number } => {
                if let Some(session) = exchange.session {
                    if !exchange.head_sent {
                        self.lose_stream(session, number);
                    }
                    self.detach(session, number, now, out);
                }
            }
            Carries::Solo(stream) => {
                for (index, _) in stream.waiting() {
                    let call = CallId { home: Home::Exchange(key), index };
                    out.push(Action::Cancel { call, reason: CancelReason::Disconnected });
                }
            }
            Carries::Nothing
            | Carries::Listen(_)
            | Carries::Messages { .. }
            | Carries::Complete
            | Carries::Tail => {}
        }
        if let Some(session) = exchange.establishes {
            self.happen(session, Happening::Leave, now, out);
        }
        if let Some(session) = exchange.session {
            self.end_if_drained(session, now, out);
        }
    }

    /// The peer will say no more. A client that waits for a complete answer may still read it; a stream that
    /// is open already has lost its reader; where a disconnect cancels, this is one.
    pub(super) fn handle_half_closed(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.half_closed = true;
        let lost = match &exchange.carries {
            Carries::Stream { .. } => exchange.head_sent,
            Carries::Solo(_) | Carries::Listen(_) => true,
            Carries::Nothing
            | Carries::Establish { .. }
            | Carries::Messages { .. }
            | Carries::Tail
            | Carries::Complete => false,
        };
        if lost {
            self.handle_gone(key, now, out);
            out.push(Action::Close { exchange: ExchangeId(key) });
        }
    }

    /// Ends the record of an exchange and its part in its session's activity.
    pub(super) fn end_exchange(&mut self, key: Key, now: Timestamp) -> Option<super::exchange::Exchange> {
        self.disarm_exchange(key);
        let exchange = self.exchanges.remove(key)?;
        self.budget.bytes_changed(exchange.held, 0);
        if let Some(stream) = exchange.carries.solo() {
            self.budget.bytes_changed(stream.ring.bytes(), 0);
        }
        if self.listens.remove(&key) {
            self.budget.free_listen();
        } else if exchange.is_solo_call() {
            self.budget.free_solo_call();
        }
        if let Some(session) = exchange.session.and_then(|session| self.sessions.get_mut(session)) {
            session.exchanges = session.exchanges.saturating_sub(1);
            session.last_active = now;
        }
        Some(exchange)
    }

    pub(super) fn reject_exchange(&mut self, key: Key, reject: Reject, now: Timestamp, out: &mut Actions) {
        let Some(exchange) = self.end_exchange(key, now) else { return };
        self.counters.refused = self.counters.refused.saturating_add(1);
        let reject = reject.with_grant(exchange.grant);
        out.push(Action::Reject { exchange: ExchangeId(key), reject });
    }

    /// The stream's session is over. A client that has no head yet gets a refusal; one that reads gets the
    /// rest, an error for each call without an answer (S3), and the end.
    pub(super) fn end_carrier(
        &mut self,
        key: Key,
        stream: Stream,
        why: CancelReason,
        now: Timestamp,
        out: &mut Actions,
    ) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.session = None;
        let shutdown = why == CancelReason::Shutdown;
        if !exchange.head_sent {
            let refusal = if shutdown { Refusal::ShuttingDown } else { Refusal::UnknownSession };
            let id =
                if stream.batch { None } else { stream.waiting().next().map(|(_, call)| call.id.clone()) };
            return self.reject_exchange(key, Reject::new(refusal).with_id(id), now, out);
        }
        let error = if shutdown {
            ErrorObject::new(code::INTERNAL_ERROR, "the server is shutting down")
        } else {
            ErrorObject::new(code::SESSION_NOT_FOUND, "the session has ended")
        };
        let last = stream
            .waiting()
            .map(|(_, call)| sse::message_frame(None, &jsonrpc::error_text(Some(&call.id), &error)));
        let last: Vec<Bytes> = last.collect();
        let tail: Vec<Bytes> = stream.ring.into_unpulled().into_iter().chain(last).collect();
        let bytes = tail.iter().map(Bytes::len).sum();
        exchange.own.extend(tail);
        exchange.carries = Carries::Tail;
        self.hold(key, bytes);
        self.disarm_exchange(key);
        self.wake(key, out);
    }

    /// Nobody carries the stream any more. It is retained for a resume if there can be one.
    pub(super) fn detach(&mut self, key: Key, number: u32, now: Timestamp, out: &mut Actions) {
        let home = Home::Session { session: key, stream: number };
        let Some(stream) = self.stream_mut(home) else { return };
        stream.carrier = None;
        let (lost, finished) = (stream.lost, stream.is_finished());
        self.unblock(home, out);
        match (lost, finished) {
            (true, true) => self.drop_stream(key, number),
            (true, false) => {}
            (false, _) => self.retain(key, number, now.after(self.config.stream_retention)),
        }
    }

    /// Tells every sender on the stream that was refused with `Full` that there is room (R9); and those on
    /// the session's other streams, if it was the session that had none.
    pub(super) fn unblock(&mut self, home: Home, out: &mut Actions) {
        if let Home::Session { session: key, .. } = home
            && let Some(session) = self.sessions.get_mut(key)
            && core::mem::take(&mut session.crowded)
        {
            for stream in &mut session.streams {
                let home = Home::Session { session: key, stream: stream.number };
                unblock_stream(stream, home, out);
            }
        } else if let Some(stream) = self.stream_mut(home) {
            unblock_stream(stream, home, out);
        }
    }

    /// Where the stream lives that an exchange carries.
    pub(super) fn home_of(&self, key: Key) -> Option<Home> {
        let exchange = self.exchanges.get(key)?;
        match (&exchange.carries, exchange.session) {
            (Carries::Stream { number }, Some(session)) => Some(Home::Session { session, stream: *number }),
            (Carries::Solo(_) | Carries::Listen(_), _) => Some(Home::Exchange(key)),
            (_, _) => None,
        }
    }

    fn pull_from_stream(&mut self, key: Key) -> Option<Bytes> {
        let home = self.home_of(key)?;
        // Only a session's streams can be resumed.
        let keep = matches!(home, Home::Session { .. });
        self.with_ring(home, |ring| ring.pull(keep))?
    }

    /// Nothing is left to pull: whether for good.
    fn is_exhausted(&self, key: Key) -> Option<bool> {
        match self.home_of(key) {
            Some(home) => Some(self.stream(home).is_none_or(Stream::is_finished)),
            None => Some(true),
        }
    }

    fn has_more(&self, key: Key) -> bool {
        let own = self.exchanges.get(key).is_some_and(|exchange| !exchange.own.is_empty());
        let stream = self.home_of(key).and_then(|home| self.stream(home));
        own || stream.is_some_and(|stream| stream.ring.has_unpulled() || stream.is_finished())
    }

    /// The answer to an `initialize` reached the socket. Where the peer had shut its side, that does not show
    /// that anybody read it: the session stays offered until it is used, or until the deadline to confirm.
    fn delivered(&mut self, session: Key, half_closed: bool, now: Timestamp, out: &mut Actions) {
        let offered = self.sessions.get(session).is_some_and(|session| session.phase == Phase::Offered);
        if half_closed && offered {
            let at = now.after(self.confirm_time());
            return self.set_session_deadline(session, Some((Kind::Establish, at)));
        }
        self.happen(session, Happening::Flush, now, out);
    }

    pub(super) fn arm_exchange(&mut self, key: Key, at: Timestamp) {
        self.disarm_exchange(key);
        if let Some(exchange) = self.exchanges.get_mut(key) {
            exchange.armed = Some(at);
            self.timers.add(Kind::Exchange, Due { at, key, part: 0 });
        }
    }

    pub(super) fn disarm_exchange(&mut self, key: Key) {
        if let Some(at) = self.exchanges.get_mut(key).and_then(|exchange| exchange.armed.take()) {
            self.timers.remove(Kind::Exchange, Due { at, key, part: 0 });
        }
    }
}

fn unblock_stream(stream: &mut Stream, home: Home, out: &mut Actions) {
    if let (true, Home::Session { session, .. }) = (core::mem::take(&mut stream.blocked), home) {
        out.push(Action::Writable { target: Target::Session(SessionKey(session)) });
    }
    for (index, call) in (0_u16..).zip(&mut stream.calls) {
        if core::mem::take(&mut call.blocked) && call.state == CallState::Waiting {
            out.push(Action::Writable { target: Target::Call(CallId { home, index }) });
        }
    }
}
