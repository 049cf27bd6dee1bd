//! The books of one shard: every action is entered, and what the contract forbids fails the test (R1, R2, R4,
//! R7, R9). Knows nothing of how the endpoint works.

use std::collections::{BTreeMap, BTreeSet};

use mcp_http_core::answer::{Head, Response};
use mcp_http_core::endpoint::{
    Action, CallId, Delivery, DiscardReason, EndReason, Event, ExchangeId, MessageId, Pulled, SessionKey,
    Stats, Target,
};
use mcp_http_core::h1::Body;
use mcp_http_core::session_id::SessionId;

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Created(SessionId),
    Committed,
    Discarded(DiscardReason),
    Ended(EndReason),
}

/// Where an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// No response yet.
    Waiting,
    /// The response was given whole.
    Whole,
    /// The response is a stream, and its puller has something to do.
    Streaming,
    /// The puller was told that this was all for now.
    Idle,
    /// The puller was told that this was all.
    Pulled,
    Over,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) sessions: BTreeMap<SessionKey, Life>,
    pub(super) exchanges: BTreeMap<ExchangeId, Course>,
    /// Every call that was delivered, with its session; `None` once it is answered or cancelled.
    pub(super) calls: BTreeMap<CallId, Option<SessionKey>>,
    pub(super) calls_open: BTreeSet<CallId>,
    /// Calls that are an `initialize`, with the session they open.
    opening: BTreeMap<ExchangeId, SessionKey>,
    opening_calls: BTreeSet<CallId>,
    pub(super) untaken: BTreeMap<MessageId, ExchangeId>,
    full: BTreeSet<Target>,
    /// A `subscriptions/listen` is a call that nobody answers before the server ends it (Z10).
    listens: BTreeSet<ExchangeId>,
}

impl Ledger {
    /// A request was admitted under this exchange; it opens a stream of announcements, or does not.
    #[track_caller]
    pub(super) fn admitted(&mut self, exchange: ExchangeId, stays_open: bool) {
        let before = self.exchanges.insert(exchange, Course::Waiting);
        assert_eq!(before, None, "an exchange id was given twice");
        if stays_open {
            self.listens.insert(exchange);
        }
    }

    #[track_caller]
    pub(super) fn enter(&mut self, actions: &[Action]) {
        for action in actions {
            self.enter_one(action);
        }
        for action in actions {
            match action {
                Action::Reject { exchange, .. } => {
                    let life = self.opening.get(exchange).map(|session| &self.sessions[session]);
                    let nothing_left = matches!(life, None | Some(Life::Discarded(_)));
                    assert!(nothing_left, "R2: a refused exchange left {life:?}");
                }
                Action::Close { exchange } => {
                    // Its id may have been used before.
                    let life = self.opening.get(exchange).map(|session| &self.sessions[session]);
                    let undecided = matches!(life, Some(Life::Created(_)));
                    assert!(!undecided, "R2: an exchange that was not answered left {life:?}");
                }
                _ => {}
            }
        }
    }

    #[track_caller]
    fn enter_one(&mut self, action: &Action) {
        match action {
            Action::CreateSession { session, id } => {
                let before = self.sessions.insert(*session, Life::Created(id.clone()));
                assert_eq!(before, None, "R1: created twice");
            }
            Action::Commit { session } => {
                let before = self.sessions.insert(*session, Life::Committed);
                assert!(matches!(before, Some(Life::Created(_))), "R1: Commit after {before:?}");
            }
            Action::Discard { session, reason } => {
                let before = self.sessions.insert(*session, Life::Discarded(*reason));
                assert!(matches!(before, Some(Life::Created(_))), "R1: Discard after {before:?}");
            }
            Action::End { session, reason } => {
                let before = self.sessions.insert(*session, Life::Ended(*reason));
                assert_eq!(before, Some(Life::Committed), "R1: End after");
            }
            Action::Deliver { exchange, session, delivery } => self.deliver(*exchange, *session, delivery),
            Action::Cancel { call, reason: _ } => {
                self.names_call(*call);
                assert!(self.calls_open.remove(call), "cancelled a call that waits for nothing");
            }
            Action::Respond { exchange, response } => self.respond(*exchange, response),
            Action::Reject { exchange, .. } => {
                let before = self.exchanges.insert(*exchange, Course::Over);
                assert_eq!(before, Some(Course::Waiting), "R4: Reject after");
            }
            Action::Pull { exchange } => {
                let before = self.exchanges.insert(*exchange, Course::Streaming);
                assert_eq!(before, Some(Course::Idle), "R9: Pull for a stream that is not idle");
            }
            Action::Writable { target } => {
                assert!(self.full.remove(target), "R9: Writable without Full");
                match target {
                    Target::Call(call) => self.names_call(*call),
                    Target::Session(session) => self.names(*session),
                }
            }
            Action::Close { exchange } => {
                // Only a stalled or half-closed exchange is over already, by what the driver itself said.
                let before = self.exchanges.insert(*exchange, Course::Over);
                assert!(before.is_some(), "Close for an exchange that never was");
            }
        }
    }

    #[track_caller]
    fn deliver(&mut self, exchange: ExchangeId, session: Option<SessionKey>, delivery: &Delivery) {
        assert!(self.exchanges.contains_key(&exchange), "delivered for an exchange that never was");
        if let Some(session) = session {
            self.names(session);
        }
        match delivery {
            Delivery::Initialize { call, .. } | Delivery::Call { call, .. } => {
                assert_eq!(self.calls.insert(*call, session), None, "R5: a call id was given twice");
                self.calls_open.insert(*call);
                if let Delivery::Initialize { .. } = delivery {
                    self.opening_calls.insert(*call);
                    if let Some(session) = session {
                        self.opening.insert(exchange, session);
                    }
                }
            }
            Delivery::Notice { message, .. } | Delivery::Reply { message, .. } => {
                assert_eq!(self.untaken.insert(*message, exchange), None, "a message id was given twice");
            }
        }
    }

    #[track_caller]
    fn respond(&mut self, exchange: ExchangeId, response: &Response) {
        let course = match response.body {
            // Pulled when the first `Pull` says so.
            Body::Stream => Course::Idle,
            Body::Empty | Body::Full(_) => Course::Whole,
        };
        let before = self.exchanges.insert(exchange, course);
        assert_eq!(before, Some(Course::Waiting), "R4: Respond after");
        let bears = match &response.head {
            Head::Json { session } | Head::EventStream { session } => session.as_ref(),
            Head::Accepted | Head::NoContent | Head::Error(_) => None,
        };
        if let Some(id) = bears {
            let session =
                self.opening.get(&exchange).expect("only the answer to initialize bears an id (R2)");
            let life = &self.sessions[session];
            assert_eq!(
                life,
                &Life::Created(id.clone()),
                "the answer bears the id of a session in another state"
            );
        }
    }

    #[track_caller]
    fn names(&self, session: SessionKey) {
        let life = self.sessions.get(&session);
        let alive = matches!(life, Some(Life::Created(_) | Life::Committed));
        assert!(alive, "R1: {session:?} was named when it was {life:?}");
    }

    #[track_caller]
    fn names_call(&self, call: CallId) {
        let session = self.calls.get(&call).expect("a call that was delivered");
        if let Some(session) = session {
            self.names(*session);
        }
    }

    pub(super) fn told(&mut self, event: &Event) {
        match event {
            Event::Shutdown { .. } => self.listens.clear(),
            Event::Taken { message } => {
                self.untaken.remove(message);
            }
            Event::Flushed { exchange } => {
                if matches!(self.exchanges.get(exchange), Some(Course::Whole | Course::Pulled)) {
                    self.exchanges.insert(*exchange, Course::Over);
                }
            }
            Event::Gone { exchange } => {
                if self.exchanges.contains_key(exchange) {
                    self.exchanges.insert(*exchange, Course::Over);
                }
            }
            Event::HalfClosed { .. }
            | Event::Stalled { .. }
            | Event::SessionFailed { .. }
            | Event::EndSession { .. }
            | Event::CloseStream { .. }
            | Event::Withdraw { .. } => {}
        }
    }

    /// The puller of a stream was told this.
    #[track_caller]
    pub(super) fn pulled(&mut self, exchange: ExchangeId, pulled: Pulled) {
        let course = self.exchanges.get(&exchange).copied();
        let next = match pulled {
            Pulled::More => Course::Streaming,
            Pulled::Idle => Course::Idle,
            Pulled::End => Course::Pulled,
            Pulled::Gone => return,
        };
        assert!(
            matches!(course, Some(Course::Streaming | Course::Idle | Course::Pulled)),
            "pulled from an exchange that was {course:?}"
        );
        self.exchanges.insert(exchange, next);
    }

    /// A sender was told `Full`.
    pub(super) fn full(&mut self, target: Target) {
        self.full.insert(target);
    }

    /// An answer to the call was taken.
    #[track_caller]
    pub(super) fn answered(&mut self, call: CallId) {
        assert!(
            self.calls_open.remove(&call),
            "an answer was taken for a call that had one or was cancelled"
        );
    }

    /// Whether each sender that got `Full` has had its `Writable`, unless what it waited for is over.
    #[track_caller]
    fn check_no_sender_forgotten(&self) {
        for target in &self.full {
            let waits = match target {
                Target::Call(call) => self.calls_open.contains(call),
                Target::Session(session) => {
                    matches!(self.sessions.get(session), Some(Life::Created(_) | Life::Committed))
                }
            };
            assert!(!waits, "R9: {target:?} got Full and never Writable");
        }
    }

    /// The books and the endpoint's own counters say the same.
    #[track_caller]
    pub(super) fn check_against(&self, stats: &Stats) {
        let count = |of: fn(&Life) -> bool| self.sessions.values().filter(|life| of(life)).count() as u64;
        let alive = count(|life| matches!(life, Life::Created(_) | Life::Committed));
        assert_eq!(stats.sessions, alive, "sessions alive");
        assert_eq!(stats.total.created, self.sessions.len() as u64, "sessions created");
        assert_eq!(
            stats.total.discarded.sum(),
            count(|life| matches!(life, Life::Discarded(_))),
            "discarded"
        );
        assert_eq!(stats.total.ended.sum(), count(|life| matches!(life, Life::Ended(_))), "ended");
        let committed = count(|life| matches!(life, Life::Committed | Life::Ended(_)));
        assert_eq!(stats.total.committed, committed, "committed");
        let exchanges = self.exchanges.values().filter(|course| **course != Course::Over).count() as u64;
        assert_eq!(stats.exchanges, exchanges, "exchanges in flight: {:?}", self.exchanges);
        // An `initialize` that opens a session is counted as a pending session and not as a call.
        let initialize = self.calls_open.intersection(&self.opening_calls);
        let (opening, alone): (Vec<&CallId>, Vec<&CallId>) =
            initialize.partition(|call| self.calls[call].is_some());
        assert_eq!(stats.pending, opening.len() as u64, "sessions whose initialize is not answered");
        let is_open = |exchange: &&ExchangeId| self.exchanges[*exchange] != Course::Over;
        let listens = self.listens.iter().filter(is_open).count();
        let calls = (self.calls_open.len() - opening.len() + listens) as u64;
        // One that opens none may be counted as either or neither here; `seq_off` says what is right.
        let uncounted = calls - alone.len() as u64;
        assert!([calls, uncounted].contains(&stats.calls), "calls in flight: {:?}", self.calls_open);
    }

    /// Everything is over: R1's sum, by reason.
    #[track_caller]
    pub(super) fn check_closed(&self, stats: &Stats) {
        self.check_against(stats);
        self.check_no_sender_forgotten();
        for (session, life) in &self.sessions {
            assert!(matches!(life, Life::Discarded(_) | Life::Ended(_)), "R1: {session:?} is left {life:?}");
        }
        for (exchange, course) in &self.exchanges {
            assert_eq!(*course, Course::Over, "R4: {exchange:?} did not end");
        }
        assert_eq!(stats.total.created, stats.total.discarded.sum() + stats.total.ended.sum(), "R1");
        assert_eq!(stats.total.committed, stats.total.ended.sum(), "R1");
        for reason in [
            DiscardReason::Refused,
            DiscardReason::Failed,
            DiscardReason::ClientGone,
            DiscardReason::Undelivered,
            DiscardReason::Timeout,
            DiscardReason::NoRoom,
            DiscardReason::Shutdown,
        ] {
            let seen = self.sessions.values().filter(|life| **life == Life::Discarded(reason)).count() as u64;
            assert_eq!(discards(stats, reason), seen, "discarded for {reason:?} (X3)");
        }
        for reason in [
            EndReason::Deleted,
            EndReason::Idle,
            EndReason::Unconfirmed,
            EndReason::Evicted,
            EndReason::Application,
            EndReason::Shutdown,
        ] {
            let seen = self.sessions.values().filter(|life| **life == Life::Ended(reason)).count() as u64;
            assert_eq!(ends(stats, reason), seen, "ended for {reason:?} (X3)");
        }
    }
}

fn discards(stats: &Stats, reason: DiscardReason) -> u64 {
    let counts = &stats.total.discarded;
    match reason {
        DiscardReason::Refused => counts.refused,
        DiscardReason::Failed => counts.failed,
        DiscardReason::ClientGone => counts.client_gone,
        DiscardReason::Undelivered => counts.undelivered,
        DiscardReason::Timeout => counts.timeout,
        DiscardReason::NoRoom => counts.no_room,
        DiscardReason::Shutdown => counts.shutdown,
    }
}

fn ends(stats: &Stats, reason: EndReason) -> u64 {
    let counts = &stats.total.ended;
    match reason {
        EndReason::Deleted => counts.deleted,
        EndReason::Idle => counts.idle,
        EndReason::Unconfirmed => counts.unconfirmed,
        EndReason::Evicted => counts.evicted,
        EndReason::Application => counts.application,
        EndReason::Shutdown => counts.shutdown,
    }
}
