//! Sessions, calls and streams of one shard: judged requests and events in, actions out. Never HTTP framing,
//! sockets or JSON text.
//!
//! Every public method that takes `&mut self` puts what is to be done into a caller-owned [`Actions`], in the
//! order in which it must be carried out (R7). Calls may be made in any order; stale names are answered with
//! `Gone` or ignored (R11). In debug builds each such method ends with a check of all invariants.

mod action;
mod admit;
mod budget;
mod carry;
mod clock;
mod event_id;
mod exchange;
mod invariants;
pub mod life;
mod listen;
mod memory;
mod output;
mod resume;
mod ring;
mod session;
mod sessions;
mod shutdown;
mod stats;
mod store;
mod stream;
mod timers;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::config::Config;
use crate::entropy::Entropy;
use crate::intake::Admitted;
use crate::reject::{Refusal, Reject};
use crate::session_id::{SessionRef, ShardId};
use crate::slab::{Key, Slab};
use crate::time::Timestamp;

pub use action::{
    Action, Actions, CallId, CancelReason, Delivery, DiscardReason, EndReason, Event, ExchangeId, MessageId,
    Outbound, Principal, Pulled, SendError, SessionKey, Target, Victim,
};
pub use budget::{Budget, Lease};
pub use carry::Frames;
pub use listen::Topic;
pub use stats::Stats;

use action::Home;
use exchange::{Carries, Exchange};
use life::Happening;
use session::Session;
use shutdown::Sweep;
use stats::Counters;
use timers::Timers;

/// All sessions of one shard and the exchanges that serve them.
///
/// The server drives it: it admits what an [`Intake`](crate::intake::Intake) let through, tells it what
/// happened outside, sends what the application says, pulls frames while a socket is writable, and calls
/// [`handle_timeout`](Endpoint::handle_timeout) when [`poll_timeout`](Endpoint::poll_timeout) is due.
pub struct Endpoint {
    config: Arc<Config>,
    budget: Arc<Budget>,
    shard: ShardId,
    entropy: Box<dyn Entropy>,
    sessions: Slab<Session>,
    exchanges: Slab<Exchange>,
    /// The exchanges that carry a `subscriptions/listen`.
    listens: BTreeSet<Key>,
    timers: Timers,
    /// The last moment of the shutdown that has begun.
    shutdown: Option<Timestamp>,
    /// What of the shutdown is under way.
    sweep: Option<Sweep>,
    /// The server had no memory for the frame that was sent last.
    starved: bool,
    /// The senders that wait for memory: on a stream, for a call or for its session.
    starving: BTreeSet<(Home, Option<u16>)>,
    /// Where the next look for frames that nobody is about to read begins.
    spare_slot: u32,
    counters: Counters,
    /// Calls so far, for the check of invariants.
    #[cfg(debug_assertions)]
    calls: u64,
}

impl Endpoint {
    /// An endpoint without sessions. All endpoints of a server share `config` and `budget`; each has a `shard`
    /// of its own, which its session ids bear.
    #[must_use]
    pub fn new(config: Arc<Config>, budget: Arc<Budget>, shard: ShardId, entropy: Box<dyn Entropy>) -> Self {
        Endpoint {
            config,
            budget,
            shard,
            entropy,
            sessions: Slab::new(),
            exchanges: Slab::new(),
            listens: BTreeSet::new(),
            timers: Timers::default(),
            shutdown: None,
            sweep: None,
            starved: false,
            starving: BTreeSet::new(),
            spare_slot: 0,
            counters: Counters::default(),
            #[cfg(debug_assertions)]
            calls: 0,
        }
    }

    /// Whether a request that bears `session` can be served, asked before its body is read. Confirms nothing.
    ///
    /// # Errors
    /// The 404 that [`admit`](Endpoint::admit) would give (S5, S6).
    pub fn glance(&self, session: &SessionRef, who: Option<&Principal>) -> Result<(), Reject> {
        self.route(session, who).map(|_| ()).map_err(Reject::new)
    }

    /// Which session this endpoint would give up for a new one, when all places of the server are taken. A
    /// server with several shards opens the new session on the one with the least, so that the right session
    /// goes, wherever it is (S10).
    pub fn victim(&mut self, now: Timestamp) -> Option<Victim> {
        self.rank_victim(now)
    }

    /// Takes a judged request in. Its exchange ends with an [`Action::Reject`] or [`Action::Close`], or when
    /// the caller says [`Event::Flushed`] or [`Event::Gone`] (R4).
    pub fn admit(
        &mut self,
        what: Admitted,
        who: Option<Principal>,
        now: Timestamp,
        out: &mut Actions,
    ) -> ExchangeId {
        let grant = what.grant.clone();
        // What bears an id finds no session any more; what bears none must not outlive the shutdown (R14).
        let late = what.session.is_none() && self.is_over(now);
        let late = late.then(|| what.refuse(Refusal::ShuttingDown));
        let exchange = self.exchanges.insert(Exchange::new(what.accept, what.grant, now));
        let admitted = match late {
            Some(reject) => Err(reject),
            None => self.admit_kind(exchange, what.kind, what.session.as_ref(), who, now, out),
        };
        if let Err(reject) = admitted {
            self.exchanges.remove(exchange);
            self.counters.refused = self.counters.refused.saturating_add(1);
            out.push(Action::Reject { exchange: ExchangeId(exchange), reject: reject.with_grant(grant) });
        }
        self.check_invariants();
        ExchangeId(exchange)
    }

    /// Takes in what happened outside. An event about something that is over is ignored (R11).
    pub fn handle(&mut self, event: Event, now: Timestamp, out: &mut Actions) {
        match event {
            Event::Taken { message } => self.handle_taken(message, out),
            Event::Flushed { exchange } => self.handle_flushed(exchange.0, now, out),
            Event::HalfClosed { exchange } => self.handle_half_closed(exchange.0, now, out),
            Event::Stalled { exchange } => {
                if self.exchanges.get(exchange.0).is_some() {
                    self.handle_gone(exchange.0, now, out);
                    out.push(Action::Close { exchange });
                }
            }
            Event::Gone { exchange } => self.handle_gone(exchange.0, now, out),
            Event::SessionFailed { session } => self.happen(session.0, Happening::Fail, now, out),
            Event::EndSession { session } => self.happen(session.0, Happening::Finish, now, out),
            Event::CloseStream { call } => self.close_for_polling(call, now, out),
            Event::Withdraw { target, id } => self.withdraw(target, &id),
            Event::Shutdown { until } => self.handle_shutdown(until, now, out),
        }
        self.check_invariants();
    }

    /// Sends what the application says.
    ///
    /// # Errors
    /// [`SendError`], with the message. After `Full`, exactly one [`Action::Writable`] follows (R9).
    pub fn send(
        &mut self,
        to: Target,
        message: Outbound,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), SendError> {
        let sent = match to {
            Target::Call(call) => self.send_to_call(call, message, now, out),
            Target::Session(session) => self.send_to_session(session.0, message, now, out),
        };
        self.check_invariants();
        sent
    }

    /// Takes up to about `budget` bytes of frames, at least one frame if there is any, for a response that is
    /// a stream.
    pub fn pull(
        &mut self,
        exchange: ExchangeId,
        budget: usize,
        into: &mut Frames,
        now: Timestamp,
        out: &mut Actions,
    ) -> Pulled {
        let pulled = self.pull_frames(exchange.0, budget, into, now, out);
        self.check_invariants();
        pulled
    }

    /// Lets go of what only a resume would ask for, streams that broke first going first, until `bytes` are free
    /// or nothing is left; returns how many were freed. A server with several endpoints calls this on all of
    /// them when a [`Lease`] did not grow, and when `send` gave `Full` while memory is short (R8).
    pub fn give_up_retained(&mut self, bytes: usize) -> usize {
        let freed = self.free_retained(bytes);
        self.check_invariants();
        freed
    }

    /// Does what has become due. Afterwards [`poll_timeout`](Endpoint::poll_timeout) is later than `now`, or
    /// the budget of one call was spent: call again (R9).
    pub fn handle_timeout(&mut self, now: Timestamp, out: &mut Actions) {
        self.handle_due(now, out);
        self.check_invariants();
    }

    /// When [`handle_timeout`](Endpoint::handle_timeout) is next to be called. O(1).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    /// Sessions with a record, pending ones included. O(1).
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// The counters of this shard. Walks the tables: a microsecond for each few dozen records.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.count()
    }

    /// The session that a request bears, for this principal: the one place where ids are compared. What is
    /// unknown, not yet offered, over, or another's is the same 404.
    fn route(&self, session: &SessionRef, who: Option<&Principal>) -> Result<Key, Refusal> {
        let decoded = session.decoded().filter(|decoded| decoded.shard == self.shard);
        let found = decoded.and_then(|decoded| Some((decoded, self.sessions.get(decoded.key)?)));
        match found {
            Some((decoded, session))
                if crate::session_id::same_secret(&decoded.secret, &session.secret)
                    && session.phase.routes()
                    && session.principal.as_ref() == who =>
            {
                Ok(decoded.key)
            }
            Some(_) | None => Err(Refusal::UnknownSession),
        }
    }

    fn handle_taken(&mut self, message: MessageId, out: &mut Actions) {
        let Some(exchange) = self.exchanges.get_mut(message.exchange) else { return };
        let Carries::Messages { waiting } = &mut exchange.carries else { return };
        waiting.retain(|index| *index != message.index);
        if waiting.is_empty() {
            self.respond_accepted(message.exchange, out);
        }
    }
}
