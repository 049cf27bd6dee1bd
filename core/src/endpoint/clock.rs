//! What happens when a deadline comes, and the shutdown, which is two deadlines for everything.

use core::time::Duration;

use crate::jsonrpc::{ErrorObject, code};
use crate::reject::{Refusal, Reject};
use crate::slab::Key;
use crate::sse;
use crate::time::Timestamp;

use super::Endpoint;
use super::action::{Action, Actions, CallId, CancelReason, ExchangeId, Home, Outbound, SendError};
use super::exchange::Carries;
use super::life::Happening;
use super::timers::{Due, Kind};

/// Deadlines handled in one call, so that no lock is held for long (R9).
const DUE_PER_CALL: usize = 256;

/// How long before the end of a shutdown calls without an answer are failed, so that there is time to write
/// it: at most this, and at most a tenth of the whole.
const FAIL_BEFORE_END_MAX: Duration = Duration::from_secs(1);

/// The two deadlines of a shutdown.
const FAIL_CALLS: u32 = 0;
const END_ALL: u32 = 1;

/// The key of deadlines that belong to no record.
const NO_KEY: Key = Key { index: 0, generation: 0 };

impl Endpoint {
    pub(super) fn handle_due(&mut self, now: Timestamp, out: &mut Actions) {
        for _ in 0..DUE_PER_CALL {
            let Some((kind, due)) = self.timers.pop_due(now) else { return };
            match kind {
                Kind::Establish | Kind::Confirm => {
                    self.forget_armed(due.key);
                    self.happen(due.key, Happening::Deadline, now, out);
                }
                Kind::Idle => self.handle_idle(due.key, now, out),
                Kind::Exchange => self.handle_silence(due.key, now, out),
                Kind::Retention => self.handle_retention(due.key, due.part),
                Kind::Memory => self.handle_memory(now, out),
                Kind::Shutdown if due.part == FAIL_CALLS => self.fail_calls(now, out),
                Kind::Shutdown => self.end_all(now, out),
            }
        }
    }

    /// Begins to shut down, or brings a later end forward.
    pub(super) fn handle_shutdown(&mut self, until: Timestamp, now: Timestamp, out: &mut Actions) {
        if let Some(set) = self.shutdown {
            if until >= set {
                return;
            }
            self.timers.clear(Kind::Shutdown);
        }
        self.shutdown = Some(until);
        let margin = FAIL_BEFORE_END_MAX.min(until.since(now).checked_div(10).unwrap_or_default());
        let fail_at = Timestamp::from_origin(until.since_origin().saturating_sub(margin));
        self.timers.add(Kind::Shutdown, Due { at: fail_at, key: NO_KEY, part: FAIL_CALLS });
        self.timers.add(Kind::Shutdown, Due { at: until, key: NO_KEY, part: END_ALL });
        for key in self.standalone_carriers() {
            self.end_standalone(key, now, out);
        }
        let listens: Vec<Key> = self.listens.iter().copied().collect();
        for key in listens {
            self.complete_listen(key, out);
        }
        for key in self.session_keys() {
            self.happen(key, Happening::ShutdownBegin, now, out);
            self.end_if_drained(key, now, out);
        }
    }

    fn handle_idle(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        self.forget_armed(key);
        let Some(session) = self.sessions.get(key) else { return };
        let due = self.config.session_idle.is_some_and(|idle| session.last_active.after(idle) <= now);
        if due && !session.is_busy() {
            self.happen(key, Happening::Deadline, now, out);
        } else {
            self.rearm_idle(key, now);
        }
    }

    /// An exchange has been silent: its head is committed, or a comment shows that the server is alive.
    fn handle_silence(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.armed = None;
        match &exchange.carries {
            Carries::Establish { id } => {
                // Only without a session; else this is the session's deadline.
                let reject = Reject::new(Refusal::EstablishTimeout).with_id(Some(id.clone()));
                let call = CallId { home: Home::Exchange(key), index: 0 };
                out.push(Action::Cancel { call, reason: CancelReason::Discarded });
                self.reject_exchange(key, reject, now, out);
            }
            Carries::Stream { .. } | Carries::Solo(_) | Carries::Listen(_) if !exchange.head_sent => {
                let home = self.home_of(key);
                self.commit_to_stream(key, true, now, out);
                if let Some(home) = home {
                    self.release_held(home, out);
                }
            }
            Carries::Stream { .. } | Carries::Solo(_) | Carries::Listen(_) => {
                let comment_at = exchange.last_sent.after(self.config.comment_every);
                if comment_at > now {
                    return self.arm_exchange(key, comment_at);
                }
                // While a pull is due the peer is not silent but slow; the write stall deals with that.
                if exchange.idle {
                    exchange.own.push_back(sse::COMMENT_FRAME);
                    exchange.last_sent = now;
                    self.wake(key, out);
                }
                self.arm_exchange(key, now.after(self.config.comment_every));
            }
            Carries::Nothing | Carries::Messages { .. } | Carries::Tail | Carries::Complete => {}
        }
    }

    /// A stream that broke was not resumed in time. Its calls go on; what they send goes nowhere.
    fn handle_retention(&mut self, key: Key, number: u32) {
        let home = Home::Session { session: key, stream: number };
        let Some(stream) = self.stream_mut(home) else { return };
        stream.retained_until = None;
        self.let_go(key, number);
    }

    /// Every call without an answer gets an error, and with its last call each session ends.
    fn fail_calls(&mut self, now: Timestamp, out: &mut Actions) {
        for key in self.session_keys() {
            self.happen(key, Happening::ShutdownEnd, now, out);
        }
        let waiting: Vec<Key> = self.exchanges.iter().map(|(key, _)| key).collect();
        for key in waiting {
            self.fail_exchange(key, now, out);
        }
    }

    /// An exchange that is outside sessions, or whose session has just ended.
    fn fail_exchange(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        let call = CallId { home: Home::Exchange(key), index: 0 };
        match &exchange.carries {
            Carries::Solo(stream) if stream.is_finished() => {}
            Carries::Solo(_) if exchange.head_sent => {
                out.push(Action::Cancel { call, reason: CancelReason::Shutdown });
                let error = ErrorObject::new(code::INTERNAL_ERROR, "the server is shutting down");
                let sent: Result<(), SendError> =
                    self.send_to_call(call, Outbound::Error { error }, now, out);
                debug_assert!(sent.is_ok(), "a waiting call takes its answer");
            }
            Carries::Solo(stream) => {
                let id = stream.calls.first().map(|call| call.id.clone());
                out.push(Action::Cancel { call, reason: CancelReason::Shutdown });
                self.reject_exchange(key, Reject::new(Refusal::ShuttingDown).with_id(id), now, out);
            }
            Carries::Establish { id } => {
                let reject = Reject::new(Refusal::ShuttingDown).with_id(Some(id.clone()));
                out.push(Action::Cancel { call, reason: CancelReason::Shutdown });
                self.reject_exchange(key, reject, now, out);
            }
            Carries::Messages { .. } | Carries::Nothing => {
                self.reject_exchange(key, Reject::new(Refusal::ShuttingDown), now, out);
            }
            Carries::Stream { .. } | Carries::Listen(_) | Carries::Tail | Carries::Complete => {}
        }
    }

    /// What has not been written by now is cut off (R14).
    fn end_all(&mut self, now: Timestamp, out: &mut Actions) {
        self.fail_calls(now, out);
        self.timers.clear(Kind::Memory);
        self.starving.clear();
        let left: Vec<Key> = self.exchanges.iter().map(|(key, _)| key).collect();
        for key in left {
            self.end_exchange(key, now);
            out.push(Action::Close { exchange: ExchangeId(key) });
        }
    }

    /// A standalone stream has no reason to wait for the end of the shutdown (X1).
    fn end_standalone(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let farewell = self.farewell();
        let Some(Home::Session { session, stream }) = self.home_of(key) else { return };
        let unpulled = self.with_ring(Home::Session { session, stream }, |ring| {
            core::iter::from_fn(|| ring.pull(true)).collect::<Vec<_>>()
        });
        if let Some(exchange) = self.exchanges.get_mut(key) {
            exchange.own.extend(unpulled.into_iter().flatten());
            exchange.own.push_back(farewell);
        }
        self.release(key, now, out);
        self.detach(session, stream, now, out);
    }

    fn standalone_carriers(&self) -> Vec<Key> {
        let carriers = self.sessions.iter().filter_map(|(_, session)| {
            session.stream(super::stream::STANDALONE).and_then(|stream| stream.carrier)
        });
        carriers.collect()
    }

    fn session_keys(&self) -> Vec<Key> {
        self.sessions.iter().map(|(key, _)| key).collect()
    }

    /// The session's deadline was taken out of the timers.
    fn forget_armed(&mut self, key: Key) {
        if let Some(session) = self.sessions.get_mut(key) {
            session.armed = None;
        }
    }
}
