//! The shutdown: it begins, it fails what has no answer, it ends what is left. Each walks whole tables, so each is
//! done in steps, with the lock let go between them (R8, R14).

use core::time::Duration;

use bytes::Bytes;

use crate::jsonrpc::{ErrorObject, code};
use crate::reject::{Refusal, Reject};
use crate::slab::Key;
use crate::time::Timestamp;

use super::Endpoint;
use super::action::{Action, Actions, CallId, CancelReason, ExchangeId, Home, Outbound, SendError};
use super::exchange::Carries;
use super::life::Happening;
use super::stream::STANDALONE;
use super::timers::{Due, Kind};

/// Slots of a table that one step looks at.
const SLOTS_PER_STEP: usize = 256;

/// How long before the end of a shutdown calls without an answer are failed, so that there is time to write
/// it: at most this, and at most a tenth of the whole.
const FAIL_BEFORE_END_MAX: Duration = Duration::from_secs(1);

/// The deadlines of a shutdown: its two, and the next step of what goes on.
const FAIL_CALLS: u32 = 0;
const END_ALL: u32 = 1;
const GO_ON: u32 = 2;

/// A walk through the tables, as far as it has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep {
    pass: Pass,
    /// The next slot to look at.
    slot: u32,
    /// The last pass to make.
    until: Pass,
}

/// What is done to each record of a table, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pass {
    /// A standalone stream has no reason to wait for the end (X1).
    EndStandalone,
    CompleteListen,
    /// Of a session that has not been offered, and of one without a call, this is the end.
    BeginSession,
    /// The begin of a shutdown is made.
    EndSession,
    FailExchange,
    /// Calls without an answer have failed; what has not been written by the end is cut off (R14).
    CloseExchange,
}

impl Endpoint {
    /// Begins to shut down, or brings a later end forward.
    pub(super) fn handle_shutdown(&mut self, until: Timestamp, now: Timestamp, out: &mut Actions) {
        if self.shutdown.is_some_and(|set| until >= set) {
            return;
        }
        let begins = self.shutdown.is_none();
        self.shutdown = Some(until);
        self.timers.clear(Kind::Shutdown);
        let margin = FAIL_BEFORE_END_MAX.min(until.since(now).checked_div(10).unwrap_or_default());
        let fail_at = Timestamp::from_origin(until.since_origin().saturating_sub(margin));
        self.timers.add(Kind::Shutdown, Due::of_none(fail_at, FAIL_CALLS));
        self.timers.add(Kind::Shutdown, Due::of_none(until, END_ALL));
        if begins {
            self.sweep = Some(Sweep { pass: Pass::EndStandalone, slot: 0, until: Pass::BeginSession });
        }
        self.sweep(now, out);
    }

    /// Whether the shutdown's last moment has come: nothing is taken in any more.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.shutdown.is_some_and(|until| until <= now)
    }

    /// Returns whether that was all, or the rest is for the next call.
    pub(super) fn handle_shutdown_due(&mut self, part: u32, now: Timestamp, out: &mut Actions) -> bool {
        let until = match part {
            FAIL_CALLS => Some(Pass::FailExchange),
            END_ALL => Some(Pass::CloseExchange),
            _ => None,
        };
        match (&mut self.sweep, until) {
            // What goes on goes on further.
            (Some(sweep), Some(until)) => sweep.until = sweep.until.max(until),
            (None, Some(until)) => self.sweep = Some(Sweep { pass: Pass::EndSession, slot: 0, until }),
            (_, None) => {}
        }
        self.sweep(now, out)
    }

    /// Walks on. Returns whether the walk is over; if not, the next step is due now.
    fn sweep(&mut self, now: Timestamp, out: &mut Actions) -> bool {
        let mut slots = SLOTS_PER_STEP;
        while let Some(Sweep { pass, slot, until }) = self.sweep {
            let (len, key) = match pass {
                Pass::EndStandalone | Pass::BeginSession | Pass::EndSession => {
                    (self.sessions.slots(), self.sessions.key_at(slot))
                }
                Pass::CompleteListen | Pass::FailExchange | Pass::CloseExchange => {
                    (self.exchanges.slots(), self.exchanges.key_at(slot))
                }
            };
            if slot as usize >= len {
                self.sweep = self.next_pass(pass, until);
                continue;
            }
            if slots == 0 {
                self.timers.add(Kind::Shutdown, Due::of_none(now, GO_ON));
                return false;
            }
            slots = slots.saturating_sub(1);
            self.sweep = Some(Sweep { pass, slot: slot.saturating_add(1), until });
            if let Some(key) = key {
                self.visit(pass, key, now, out);
            }
        }
        true
    }

    fn next_pass(&mut self, pass: Pass, until: Pass) -> Option<Sweep> {
        let begin = |pass| Some(Sweep { pass, slot: 0, until });
        match pass {
            Pass::CloseExchange => {
                self.timers.clear(Kind::Memory);
                self.starving.clear();
                None
            }
            _ if pass >= until => None,
            Pass::EndStandalone => begin(Pass::CompleteListen),
            Pass::CompleteListen => begin(Pass::BeginSession),
            Pass::BeginSession => begin(Pass::EndSession),
            Pass::EndSession => begin(Pass::FailExchange),
            Pass::FailExchange => begin(Pass::CloseExchange),
        }
    }

    fn visit(&mut self, pass: Pass, key: Key, now: Timestamp, out: &mut Actions) {
        match pass {
            Pass::EndStandalone => self.end_standalone(key, now, out),
            Pass::CompleteListen => self.complete_listen(key, out),
            Pass::BeginSession => {
                self.happen(key, Happening::ShutdownBegin, now, out);
                self.end_if_drained(key, now, out);
            }
            Pass::EndSession => self.happen(key, Happening::ShutdownEnd, now, out),
            Pass::FailExchange => self.fail_exchange(key, now, out),
            Pass::CloseExchange => {
                self.end_exchange(key, now);
                out.push(Action::Close { exchange: ExchangeId(key) });
            }
        }
    }

    fn end_standalone(&mut self, session: Key, now: Timestamp, out: &mut Actions) {
        let home = Home::Session { session, stream: STANDALONE };
        let Some(carrier) = self.stream(home).and_then(|stream| stream.carrier) else { return };
        let farewell = self.farewell();
        // Nobody can resume it any more.
        let rest = self.with_ring(home, |ring| {
            let rest: Vec<Bytes> = core::iter::from_fn(|| ring.pull(true)).collect();
            ring.clear();
            rest
        });
        let rest = rest.unwrap_or_default();
        self.hold(carrier, rest.iter().map(Bytes::len).sum());
        if let Some(exchange) = self.exchanges.get_mut(carrier) {
            exchange.own.extend(rest);
            exchange.own.push_back(farewell);
        }
        self.release(carrier, now, out);
        self.detach(session, STANDALONE, now, out);
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
}
