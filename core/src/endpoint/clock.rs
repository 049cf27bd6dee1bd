//! What happens when a deadline comes. The deadlines of a shutdown are `shutdown`'s.

use crate::reject::{Refusal, Reject};
use crate::slab::Key;
use crate::sse;
use crate::time::Timestamp;

use super::Endpoint;
use super::action::{Action, Actions, CallId, CancelReason, Home};
use super::exchange::Carries;
use super::life::{Happening, Phase};
use super::timers::Kind;

/// Deadlines handled in one call, so that no lock is held for long (R9).
const DUE_PER_CALL: usize = 256;

impl Endpoint {
    pub(super) fn handle_due(&mut self, now: Timestamp, out: &mut Actions) {
        for _ in 0..DUE_PER_CALL {
            let Some((kind, due)) = self.timers.pop_due(now) else { return };
            match kind {
                Kind::Establish | Kind::Confirm => self.happen(due.key, Happening::Deadline, now, out),
                Kind::Idle => self.handle_idle(due.key, now, out),
                Kind::Promised => self.handle_promised(due.key, now, out),
                Kind::Exchange => self.handle_silence(due.key, now, out),
                Kind::Retention => self.handle_retention(due.key, due.part),
                Kind::Memory => self.handle_memory(now, out),
                Kind::Shutdown => {
                    if !self.handle_shutdown_due(due.part, now, out) {
                        return;
                    }
                }
            }
        }
    }

    fn handle_idle(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let Some(session) = self.sessions.get(key) else { return };
        let due = self.config.session_idle.is_some_and(|idle| session.last_active.after(idle) <= now);
        if due && !session.is_busy() {
            self.happen(key, Happening::Deadline, now, out);
        } else {
            self.rearm_idle(key, now);
        }
    }

    /// The session was to go for a new one, but it is its own time that has come.
    fn handle_promised(&mut self, key: Key, now: Timestamp, out: &mut Actions) {
        let live = self.sessions.get(key).is_some_and(|session| session.phase == Phase::Live);
        if live {
            return self.handle_idle(key, now, out);
        }
        self.happen(key, Happening::Deadline, now, out);
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
}
