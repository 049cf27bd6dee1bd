//! Opening and ending sessions. Acts on the table in `life`; every way out passes through `remove_session`.

use core::time::Duration;

use bytes::Bytes;

use crate::answer::Head;
use crate::config::SessionMode;
use crate::h1::Body;
use crate::intake::Initialize;
use crate::json::Json;
use crate::jsonrpc::{self, ErrorObject, RequestId, code};
use crate::reject::{Refusal, Reject};
use crate::session_id::{Decoded, SECRET_BYTES, SessionId};
use crate::slab::Key;
use crate::time::Timestamp;
use crate::version::Version;

use super::Endpoint;
use super::action::{
    Action, Actions, CallId, CancelReason, Delivery, DiscardReason, EndReason, ExchangeId, Home, Principal,
    SessionKey, Victim,
};
use super::admit::deliver;
use super::event_id::Tag;
use super::exchange::Carries;
use super::life::{Happening, Phase, Transition, transition};
use super::session::{Place, Session};
use super::stream::Stream;
use super::timers::{Due, Kind};

/// Sixteen bytes for the secret, four for the tag of event ids.
const DRAWN_BYTES: usize = SECRET_BYTES + 4;

/// Outdated idle deadlines that are moved in search of a session to evict, so that no `initialize` holds the lock
/// for long.
const MOVED_MAX: usize = 256;

impl Endpoint {
    /// Opens a session for a judged `initialize`, or refuses and has changed nothing.
    pub(super) fn establish(
        &mut self,
        exchange: Key,
        initialize: Initialize,
        who: Option<Principal>,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), Refusal> {
        if self.shutdown.is_some() {
            return Err(Refusal::ShuttingDown);
        }
        let Initialize { request, negotiated } = initialize;
        let session = match self.config.sessions {
            SessionMode::On => Some(self.create_session(exchange, negotiated, who, now, out)?),
            SessionMode::Off => {
                if !self.budget.take_solo_call(self.config.solo_calls_max) {
                    return Err(Refusal::TooBusy);
                }
                self.arm_exchange(exchange, now.after(self.config.establish));
                None
            }
        };
        self.carry(exchange, Carries::Establish { id: request.id.clone() });
        if let Some(exchange) = self.exchanges.get_mut(exchange) {
            exchange.establishes = session;
        }
        let call = CallId { home: Home::Exchange(exchange), index: 0 };
        deliver(exchange, session, Delivery::Initialize { call, request, negotiated }, out);
        Ok(())
    }

    fn create_session(
        &mut self,
        exchange: Key,
        version: Version,
        principal: Option<Principal>,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<Key, Refusal> {
        let mut drawn = [0_u8; DRAWN_BYTES];
        self.entropy.fill(&mut drawn).map_err(|_| Refusal::NoEntropy)?;
        let (Some(secret), Some(tag)) = (drawn.first_chunk::<SECRET_BYTES>(), drawn.last_chunk::<4>()) else {
            return Err(Refusal::NoEntropy);
        };
        let place = self.take_place(now)?;
        let key = self.sessions.insert(Session {
            secret: *secret,
            tag: Tag(u32::from_be_bytes(*tag)),
            // A copy of its own: a slice of a head would keep all of it.
            principal: principal.map(|Principal(who)| Principal(Bytes::copy_from_slice(&who))),
            version,
            phase: Phase::Pending,
            place,
            successor: None,
            establishing: Some(exchange),
            streams: Vec::new(),
            streams_opened: 0,
            primed: 0,
            listens: false,
            uris: Vec::new(),
            asked: Vec::new(),
            exchanges: 0,
            calls: 0,
            ring_bytes: 0,
            crowded: false,
            since: now,
            last_active: now,
            armed: None,
        });
        if let Place::Of(victim) = place {
            self.set_successor(victim, Some(key));
        }
        self.arm_session(key);
        self.counters.created = self.counters.created.saturating_add(1);
        out.push(Action::CreateSession { session: SessionKey(key), id: self.session_id(key, *secret) });
        Ok(key)
    }

    /// The application accepts: the session is offered, or, if its place is not to be had any more, refused.
    pub(super) fn offer(
        &mut self,
        exchange: Key,
        (id, session): (RequestId, Option<Key>),
        version: Version,
        result: &Json,
        now: Timestamp,
        out: &mut Actions,
    ) {
        let body = jsonrpc::result_text(&id, result);
        if let Some(why) = self.cannot_hold(body.len()) {
            let error = ErrorObject::new(code::INTERNAL_ERROR, why);
            return self.refuse_initialize(exchange, (id, session), &error, now, out);
        }
        let Some(key) = session else {
            self.budget.free_solo_call();
            return self.respond_message(exchange, body, None, out);
        };
        if !self.settle_place(key, now, out) {
            self.reject_exchange(exchange, Reject::new(Refusal::TooManySessions).with_id(Some(id)), now, out);
            return self.happen(key, Happening::LosePlace, now, out);
        }
        self.happen(key, Happening::Accept, now, out);
        let Some(record) = self.sessions.get_mut(key) else { return };
        record.version = version;
        let offered = self.session_id_of(key);
        self.respond_message(exchange, body, offered, out);
    }

    /// The application refuses: the error goes out without an id, and the session is discarded (R2).
    pub(super) fn refuse_initialize(
        &mut self,
        exchange: Key,
        (id, session): (RequestId, Option<Key>),
        error: &ErrorObject,
        now: Timestamp,
        out: &mut Actions,
    ) {
        let body = jsonrpc::error_text(Some(&id), error);
        self.respond_message(exchange, body, None, out);
        match session {
            Some(session) => self.happen(session, Happening::Refuse, now, out),
            None => self.budget.free_solo_call(),
        }
    }

    /// A request bears the session's id: that confirms it, and resets the idle clock.
    pub(super) fn use_session(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        self.happen(key, Happening::Use, now, out);
        if let Some(session) = self.sessions.get_mut(key) {
            session.last_active = now;
        }
    }

    /// Looks up what `happening` does to the session in its phase, and does it.
    pub(super) fn happen(&mut self, key: Key, happening: Happening, now: Timestamp, out: &mut Actions) {
        let Some(session) = self.sessions.get(key) else { return };
        match transition(session.phase, happening) {
            Transition::Nothing => {}
            Transition::Offer => self.enter(key, Phase::Offered, now),
            Transition::Commit => {
                self.commit(key, Phase::Unconfirmed, now, out);
                self.end_if_drained(key, now, out);
            }
            Transition::CommitUsed => self.commit(key, Phase::Live, now, out),
            Transition::Confirm => self.enter(key, Phase::Live, now),
            Transition::Discard(reason) => self.discard(key, reason, now, out),
            Transition::End(reason) => self.end(key, reason, now, out),
            Transition::CommitEnd(reason) => {
                self.commit(key, Phase::Live, now, out);
                self.end(key, reason, now, out);
            }
        }
    }

    /// In a shutdown, a session ends when it has no call left.
    pub(super) fn end_if_drained(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let drained = self.shutdown.is_some()
            && self
                .sessions
                .get(key)
                .is_some_and(|session| session.calls == 0 && session.phase != Phase::Offered);
        if drained {
            self.happen(key, Happening::ShutdownEnd, now, out);
        }
    }

    fn commit(&mut self, key: Key, phase: Phase, now: Timestamp, out: &mut Actions) {
        self.counters.committed = self.counters.committed.saturating_add(1);
        if let Some(session) = self.sessions.get_mut(key) {
            session.establishing = None;
            session.last_active = now;
        }
        self.enter(key, phase, now);
        out.push(Action::Commit { session: SessionKey(key) });
    }

    fn enter(&mut self, key: Key, phase: Phase, now: Timestamp) {
        if let Some(session) = self.sessions.get_mut(key) {
            // The deadline to establish runs from `initialize` to the last byte of its answer.
            if phase != Phase::Offered {
                session.since = now;
            }
            session.phase = phase;
        }
        self.arm_session(key);
    }

    fn discard(&mut self, key: Key, reason: DiscardReason, now: Timestamp, out: &mut Actions) {
        let Some(session) = self.remove_session(key, CancelReason::Discarded, now, out) else { return };
        if let Some(exchange) = session.establishing {
            self.drop_establishing(exchange, reason, now, out);
        }
        self.counters.count_discard(reason);
        out.push(Action::Discard { session: SessionKey(key), reason });
    }

    /// The `initialize` of a discarded session: unanswered it is refused; answered, but not delivered in time,
    /// it is cut off.
    fn drop_establishing(&mut self, key: Key, reason: DiscardReason, now: Timestamp, out: &mut Actions) {
        let refusal = match reason {
            // Answered or gone already.
            DiscardReason::Refused
            | DiscardReason::ClientGone
            | DiscardReason::Undelivered
            | DiscardReason::NoRoom => return,
            DiscardReason::Failed => Refusal::SessionFailed,
            DiscardReason::Timeout => Refusal::EstablishTimeout,
            DiscardReason::Shutdown => Refusal::ShuttingDown,
        };
        let Some(exchange) = self.exchanges.get(key) else { return };
        if let Carries::Establish { id } = &exchange.carries {
            let reject = Reject::new(refusal).with_id(Some(id.clone()));
            let call = CallId { home: Home::Exchange(key), index: 0 };
            out.push(Action::Cancel { call, reason: CancelReason::Discarded });
            self.reject_exchange(key, reject, now, out);
        } else if reason == DiscardReason::Timeout {
            self.end_exchange(key, now);
            out.push(Action::Close { exchange: ExchangeId(key) });
        }
    }

    fn end(&mut self, key: Key, reason: EndReason, now: Timestamp, out: &mut Actions) {
        let why =
            if reason == EndReason::Shutdown { CancelReason::Shutdown } else { CancelReason::SessionEnded };
        if self.remove_session(key, why, now, out).is_some() {
            self.counters.count_end(reason);
            out.push(Action::End { session: SessionKey(key), reason });
        }
    }

    /// The one way out. Takes the record with everything in it, frees its place, cancels its calls and ends
    /// its streams; whoever carried one gets a last message or a refusal.
    fn remove_session(
        &mut self,
        key: Key,
        why: CancelReason,
        now: Timestamp,
        out: &mut Actions,
    ) -> Option<Session> {
        self.disarm_session(key);
        let mut session = self.sessions.remove(key)?;
        match (session.place, session.successor) {
            (Place::Own, Some(successor)) => {
                if let Some(successor) = self.sessions.get_mut(successor) {
                    successor.place = Place::Own;
                }
            }
            (Place::Own, None) => self.budget.free_session(),
            (Place::Of(victim), _) => self.set_successor(victim, None),
        }
        for stream in core::mem::take(&mut session.streams) {
            self.end_stream(key, stream, why, now, out);
        }
        Some(session)
    }

    fn end_stream(
        &mut self,
        session: Key,
        stream: Stream,
        why: CancelReason,
        now: Timestamp,
        out: &mut Actions,
    ) {
        let home = Home::Session { session, stream: stream.number };
        for (index, _) in stream.waiting() {
            out.push(Action::Cancel { call: CallId { home, index }, reason: why });
        }
        self.budget.bytes_changed(stream.ring.bytes(), 0);
        self.disarm_retention(session, &stream);
        if let Some(carrier) = stream.carrier {
            self.end_carrier(carrier, stream, why, now, out);
        }
    }

    /// The id of a session as the client bears it.
    fn session_id_of(&self, key: Key) -> Option<SessionId> {
        self.sessions.get(key).map(|session| self.session_id(key, session.secret))
    }

    fn session_id(&self, key: Key, secret: [u8; SECRET_BYTES]) -> SessionId {
        SessionId::encode(&Decoded { shard: self.shard, key, secret })
    }

    /// A place under the cap: a free one, or that of a session which may be evicted when this one is offered.
    /// So an `initialize` that fails throws nobody out (S10).
    fn take_place(&mut self, now: Timestamp) -> Result<Place, Refusal> {
        if self.budget.take_session(self.config.sessions_max) {
            return Ok(Place::Own);
        }
        self.find_victim(now).map(Place::Of).ok_or(Refusal::TooManySessions)
    }

    /// Makes the place of a session that is to be offered its own.
    fn settle_place(&mut self, key: Key, now: Timestamp, out: &mut Actions) -> bool {
        let Some(Place::Of(victim)) = self.sessions.get(key).map(|session| session.place) else {
            return true;
        };
        if self.budget.take_session(self.config.sessions_max) {
            // Another session has left in the meantime.
            self.set_successor(victim, None);
            if let Some(session) = self.sessions.get_mut(key) {
                session.place = Place::Own;
            }
            return true;
        }
        if self.is_evictable(victim, now) {
            self.happen(victim, Happening::Evict, now, out);
            return true;
        }
        // The victim is active again: another one, or none.
        self.set_successor(victim, None);
        let Some(other) = self.find_victim(now) else { return false };
        if let Some(session) = self.sessions.get_mut(key) {
            session.place = Place::Of(other);
        }
        self.set_successor(other, Some(key));
        self.happen(other, Happening::Evict, now, out);
        true
    }

    /// Promises the place of a session, or takes the promise back.
    fn set_successor(&mut self, victim: Key, successor: Option<Key>) {
        let Some(session) = self.sessions.get_mut(victim) else { return };
        session.successor = successor;
        let due = session.armed.map(|(_, at)| (session.deadline_kind(), at));
        self.set_session_deadline(victim, due);
    }

    /// Which of its sessions this endpoint would give up for a new one; the least of all shards' is the
    /// server's (S10).
    pub(super) fn rank_victim(&mut self, now: Timestamp) -> Option<Victim> {
        let session = self.find_victim(now).and_then(|key| self.sessions.get(key))?;
        Some(match session.phase {
            Phase::Pending | Phase::Offered | Phase::Unconfirmed => Victim::Unconfirmed(session.since),
            Phase::Live => Victim::Idle(session.last_active),
        })
    }

    /// The oldest unconfirmed session, else the one that is idle longest, if it has been for `evict_after`;
    /// none that is promised already. Those have deadlines of a kind of their own, so this is no search.
    fn find_victim(&mut self, now: Timestamp) -> Option<Key> {
        if let Some(unconfirmed) = self.timers.of(Kind::Confirm).next() {
            return Some(unconfirmed.key);
        }
        self.settle_idle_deadlines(now);
        let longest_idle = self.timers.of(Kind::Idle).next()?.key;
        self.is_evictable(longest_idle, now).then_some(longest_idle)
    }

    fn is_evictable(&self, key: Key, now: Timestamp) -> bool {
        self.sessions.get(key).is_some_and(|session| match session.phase {
            Phase::Pending | Phase::Offered => false,
            Phase::Unconfirmed => true,
            Phase::Live => !session.is_busy() && session.last_active.after(self.config.evict_after) <= now,
        })
    }

    /// Moves idle deadlines that activity has outdated to where they belong, until the first is true, or so many
    /// were looked at. Each move pays for one use of a session.
    fn settle_idle_deadlines(&mut self, now: Timestamp) {
        for _ in 0..MOVED_MAX {
            let Some(key) = self.timers.of(Kind::Idle).next().map(|due| due.key) else { return };
            let before = self.sessions.get(key).and_then(|session| session.armed);
            self.rearm_idle(key, now);
            if self.sessions.get(key).and_then(|session| session.armed) == before {
                return;
            }
        }
    }

    /// Puts the session's deadline into the timers, reckoned from the beginning of its phase.
    pub(super) fn arm_session(&mut self, key: Key) {
        let Some(session) = self.sessions.get(key) else { return };
        let idle = self.config.session_idle;
        let (from, time) = match session.phase {
            Phase::Pending | Phase::Offered => (session.since, Some(self.config.establish)),
            Phase::Unconfirmed => (session.since, Some(self.confirm_time())),
            Phase::Live => (session.last_active, idle),
        };
        let due = time.map(|time| (session.deadline_kind(), from.after(time)));
        self.set_session_deadline(key, due);
    }

    /// How long a session may stay unused that nobody has used yet.
    pub(super) fn confirm_time(&self) -> Duration {
        let confirm = self.config.confirm;
        self.config.session_idle.map_or(confirm, |idle| idle.min(confirm))
    }

    /// Sets the idle deadline anew: from the last activity, or from `now` while something is in flight.
    pub(super) fn rearm_idle(&mut self, key: Key, now: Timestamp) {
        let Some(session) = self.sessions.get(key) else { return };
        let from = if session.is_busy() { now } else { session.last_active };
        let due = self.config.session_idle.map(|idle| (session.deadline_kind(), from.after(idle)));
        self.set_session_deadline(key, due);
    }

    pub(super) fn set_session_deadline(&mut self, key: Key, due: Option<(Kind, Timestamp)>) {
        self.disarm_session(key);
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.armed = due;
        if let Some((kind, at)) = due {
            self.timers.add(kind, Due { at, key, part: 0 });
        }
    }

    fn disarm_session(&mut self, key: Key) {
        if let Some((kind, at)) = self.sessions.get_mut(key).and_then(|session| session.armed.take()) {
            self.timers.remove(kind, Due { at, key, part: 0 });
        }
    }

    /// A response with one message: JSON, or an event stream of one event if the client reads nothing else.
    pub(super) fn respond_message(
        &mut self,
        key: Key,
        message: Bytes,
        session: Option<SessionId>,
        out: &mut Actions,
    ) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        if exchange.accept.json {
            return self.respond_whole(key, Head::Json { session }, Body::Full(message), out);
        }
        exchange.own.push_back(crate::sse::message_frame(None, &message));
        exchange.carries = Carries::Tail;
        self.respond_stream(key, session, out);
    }
}
