//! One server: its endpoints, its handler, and all of its connections. Knows no socket; a port hands it byte
//! streams.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use mcp_http_core::config::{Config, ConfigError};
use mcp_http_core::endpoint::{
    Budget, CallId, Endpoint, Event, Lease, Outbound, SendError, SessionKey, Stats, Target, Topic,
};
use mcp_http_core::intake::Intake;
use mcp_http_core::reject::Refusal;
use mcp_http_core::session_id::ShardId;
use mcp_http_core::time::Timestamp;

use crate::connection;
use crate::entropy::SystemEntropy;
use crate::handler::Handler;
use crate::mailbox::{Mailbox, Order};
use crate::port::Port;
use crate::runtime::{Io, Runtime};
use crate::session::Session;
use crate::shard::{Change, Shard, Told};
use crate::signal::Flag;

/// The drain time of who does not want to wait: enough to write what the failed calls answer.
const NOW: Duration = Duration::from_millis(200);

/// A server without its sockets. Cheap to clone.
pub struct Service<H, R>(pub(crate) Arc<Inner<H, R>>);

pub(crate) struct Inner<H, R> {
    pub(crate) handler: Arc<H>,
    pub(crate) runtime: R,
    pub(crate) config: Arc<Config>,
    pub(crate) intake: Intake,
    pub(crate) budget: Arc<Budget>,
    shards: Vec<Shard>,
    next_shard: AtomicUsize,
    /// The origin of all timestamps.
    epoch: Instant,
    connections: Mutex<Connections>,
    refusals: Mutex<BTreeMap<&'static str, u64>>,
    /// Set when the shutdown has nothing left to wait for.
    pub(crate) down: Flag,
    /// This, as calls and sessions see it.
    pub(crate) port: Weak<dyn Port>,
}

#[derive(Default)]
struct Connections {
    open: BTreeMap<u64, Arc<Mailbox>>,
    accepted: u64,
    retiring: bool,
}

/// What the whole server counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// The sum over all endpoints.
    pub endpoints: Stats,
    /// Open connections.
    pub connections: u64,
    /// Connections since the start.
    pub accepted: u64,
    /// Refusals since the start, by reason.
    pub refusals: BTreeMap<&'static str, u64>,
}

impl<H, R> Clone for Service<H, R> {
    fn clone(&self) -> Self {
        Service(Arc::clone(&self.0))
    }
}

impl<H: Handler, R: Runtime> Service<H, R> {
    /// A server with `shards` endpoints, at least one. More than one helps where many threads serve it.
    ///
    /// # Errors
    /// What is wrong with `config`.
    pub fn new(handler: H, config: Config, runtime: R, shards: u16) -> Result<Self, ConfigError> {
        config.check()?;
        let config = Arc::new(config);
        let budget = Arc::new(Budget::new());
        let endpoint = |shard| {
            Endpoint::new(Arc::clone(&config), Arc::clone(&budget), ShardId(shard), Box::new(SystemEntropy))
        };
        let shards = (0..shards.max(1)).map(|shard| Shard::new(ShardId(shard), endpoint(shard))).collect();
        let intake = Intake::new(Arc::clone(&config)).with_params(Arc::new(handler.param_headers()));
        let inner = Arc::new_cyclic(|port: &Weak<Inner<H, R>>| Inner {
            handler: Arc::new(handler),
            epoch: runtime.now(),
            runtime,
            intake,
            config,
            budget,
            shards,
            next_shard: AtomicUsize::new(0),
            connections: Mutex::default(),
            refusals: Mutex::default(),
            down: Flag::default(),
            port: Weak::<Inner<H, R>>::clone(port),
        });
        let service = Service(inner);
        service.start_timers();
        service.0.handler.started(service.publisher());
        Ok(service)
    }

    /// Serves one connection until it is closed. `peer` is for the log.
    pub fn serve_connection<I: Io>(
        &self,
        io: I,
        peer: Option<String>,
    ) -> impl Future<Output = ()> + Send + use<H, R, I> {
        connection::serve(Arc::clone(&self.0), io, peer)
    }

    /// Shuts down: no new sessions and calls, idle streams end now, calls may finish until the configured
    /// drain time is over, then they are failed. Returns when nothing is left.
    pub async fn shutdown(&self) {
        let until = self.0.now().after(self.0.config.shutdown_drain);
        self.shutdown_until(until).await;
    }

    /// The same with hardly any time: what is left is failed at once.
    pub async fn shutdown_now(&self) {
        self.shutdown_until(self.0.now().after(NOW)).await;
    }

    /// What tells clients of changes.
    #[must_use]
    pub fn publisher(&self) -> Publisher {
        Publisher(Weak::clone(&self.0.port))
    }

    /// The counters, now.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        self.0.stats()
    }

    /// The configuration it runs with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Whether as many connections are open as may be: accepting has to pause.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.lock_connections().open.len() >= self.0.config.connections_max
    }

    async fn shutdown_until(&self, until: Timestamp) {
        let inner = &self.0;
        let open: Vec<Arc<Mailbox>> = {
            let mut connections = inner.lock_connections();
            connections.retiring = true;
            connections.open.values().cloned().collect()
        };
        for shard in &inner.shards {
            shard.handle(Event::Shutdown { until }, inner.now(), &**inner, &inner.port);
        }
        open.iter().for_each(|mailbox| mailbox.post(Order::Retire));
        // Whoever closes the last connection looks whether that was all; at the deadline all go.
        let deadline = inner.instant(until.after(Duration::from_millis(100)));
        let mut sleep = pin!(inner.runtime.sleep_until(deadline));
        inner.check_down();
        poll_fn(|cx| match inner.down.poll_set(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => sleep.as_mut().poll(cx),
        })
        .await;
        let left: Vec<Arc<Mailbox>> = inner.lock_connections().open.values().cloned().collect();
        left.iter().for_each(|mailbox| mailbox.post(Order::Abort));
        inner.down.set();
    }

    fn start_timers(&self) {
        for index in 0..self.0.shards.len() {
            let server = Arc::downgrade(&self.0);
            self.0.runtime.spawn(run_timer(server, index));
        }
    }
}

/// One task for each shard: waits for its next deadline, and for the server's end.
async fn run_timer<H: Handler, R: Runtime>(server: Weak<Inner<H, R>>, index: usize) {
    let mut sleep: Option<(Timestamp, Pin<Box<R::Sleep>>)> = None;
    poll_fn(|cx| {
        let Some(inner) = server.upgrade() else { return Poll::Ready(()) };
        if inner.down.poll_set(cx).is_ready() {
            return Poll::Ready(());
        }
        let Some(shard) = inner.shards.get(index) else { return Poll::Ready(()) };
        loop {
            // Expiry is judged by the clock, not by the timer having fired.
            let next = shard.tick(inner.now(), cx, &*inner, &inner.port);
            // A shutdown goes in steps; this may have been the last.
            inner.check_down();
            let Some(next) = next else {
                sleep = None;
                return Poll::Pending;
            };
            let (_, timer) = match &mut sleep {
                Some(armed) if armed.0 == next => armed,
                armed => armed.insert((next, Box::pin(inner.runtime.sleep_until(inner.instant(next))))),
            };
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            sleep = None;
        }
    })
    .await;
}

impl<H: Handler, R: Runtime> Inner<H, R> {
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_origin(self.runtime.now().saturating_duration_since(self.epoch))
    }

    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        // Past the clock's range is as good as a year.
        const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        self.epoch.checked_add(at.since_origin()).unwrap_or_else(|| self.runtime.now() + FAR)
    }

    pub(crate) fn shard(&self, id: ShardId) -> Option<&Shard> {
        self.shards.get(usize::from(id.0))
    }

    /// Leases memory for a head or a body. Streams that are retained for a resume go for it (R8).
    pub(crate) fn lease_more(&self, lease: &mut Lease, bytes: usize) -> bool {
        let memory_max = self.config.memory_max;
        let mut grown = lease.grow(bytes, memory_max);
        for shard in &self.shards {
            if grown {
                break;
            }
            shard.give_up_retained(bytes);
            grown = lease.grow(bytes, memory_max);
        }
        grown
    }

    /// A sender waits for room. If it is memory that is short, every shard gives up what it can do without, so
    /// that there is some when the sender is told to try again.
    fn relieve(&self) {
        // The largest frame that a ring takes among others.
        let wanted = self.config.ring_bytes_max;
        if self.budget.buffered_bytes().saturating_add(wanted) > self.config.memory_max {
            self.shards.iter().for_each(|shard| shard.give_up_retained(wanted));
        }
    }

    /// The shard for a new session: while there are places each in its turn, then the one whose session is to
    /// go for it.
    pub(crate) fn shard_for_session(&self) -> ShardId {
        if self.budget.sessions() < self.config.sessions_max || self.shards.len() == 1 {
            return self.any_shard();
        }
        let now = self.now();
        let victims =
            (0..).zip(&self.shards).filter_map(|(id, shard)| Some((shard.victim(now)?, ShardId(id))));
        victims.min_by_key(|(victim, _)| *victim).map_or_else(|| self.any_shard(), |(_, shard)| shard)
    }

    /// The shard for what belongs to none yet: each in its turn.
    pub(crate) fn any_shard(&self) -> ShardId {
        let turn = self.next_shard.fetch_add(1, Ordering::Relaxed) % self.shards.len();
        ShardId(u16::try_from(turn).unwrap_or(0))
    }

    pub(crate) fn count_refusal(&self, refusal: &Refusal) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        *refusals.entry(refusal.name()).or_default() += 1;
    }

    /// Enters a connection; returns its number.
    pub(crate) fn open_connection(&self, mailbox: &Arc<Mailbox>) -> u64 {
        let mut connections = self.lock_connections();
        connections.accepted += 1;
        let number = connections.accepted;
        connections.open.insert(number, Arc::clone(mailbox));
        if connections.retiring {
            mailbox.post(Order::Retire);
        }
        number
    }

    pub(crate) fn close_connection(&self, number: u64) {
        self.lock_connections().open.remove(&number);
        self.check_down();
    }

    /// In a shutdown: whether nothing is left.
    pub(crate) fn check_down(&self) {
        let connections = self.lock_connections();
        let idle = connections.retiring && connections.open.is_empty();
        drop(connections);
        if idle && self.shards.iter().all(Shard::is_empty) {
            self.down.set();
        }
    }

    pub(crate) fn stats(&self) -> ServerStats {
        let mut endpoints = Stats::default();
        self.shards.iter().for_each(|shard| endpoints.add(&shard.stats()));
        // With what is leased outside the endpoints.
        endpoints.buffered_bytes = self.budget.buffered_bytes() as u64;
        let connections = self.lock_connections();
        ServerStats {
            endpoints,
            connections: connections.open.len() as u64,
            accepted: connections.accepted,
            refusals: self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn lock_connections(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H: Handler, R: Runtime> Port for Inner<H, R> {
    fn send(&self, shard: ShardId, to: Target, message: Outbound) -> Result<(), SendError> {
        match self.shard(shard) {
            Some(own) => {
                let sent = own.send(to, message, self.now(), self, &self.port);
                if let Err(SendError::Full(_)) = &sent {
                    self.relieve();
                }
                sent
            }
            None => Err(SendError::Gone(Box::new(message))),
        }
    }

    fn handle(&self, shard: ShardId, event: Event) {
        if let Some(shard) = self.shard(shard) {
            shard.handle(event, self.now(), self, &self.port);
        }
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.runtime.sleep_until(self.instant(self.now().after(time))))
    }

    fn publish(&self, topic: &Topic) -> usize {
        let told = |shard: &Shard| shard.publish(topic, self.now(), self, &self.port);
        self.shards.iter().map(told).sum()
    }

    fn subscribe(&self, shard: ShardId, session: SessionKey, uri: &str) -> bool {
        self.shard(shard).is_some_and(|shard| shard.subscribe(session, uri))
    }

    fn unsubscribe(&self, shard: ShardId, session: SessionKey, uri: &str) {
        if let Some(shard) = self.shard(shard) {
            shard.unsubscribe(session, uri);
        }
    }

    fn forget(&self, shard: ShardId, call: CallId) {
        if let Some(shard) = self.shard(shard) {
            shard.forget_line(call);
        }
    }
}

impl<H: Handler, R: Runtime> Told for Inner<H, R> {
    fn told(&self, session: &Session, change: Change) -> bool {
        tracing::debug!(session = ?session, ?change, "session");
        let told = catch_unwind(AssertUnwindSafe(|| match change {
            Change::Created => self.handler.session_created(session).is_ok(),
            Change::Committed => {
                self.handler.session_committed(session);
                true
            }
            Change::Discarded(reason) => {
                self.handler.session_discarded(session, reason);
                true
            }
            Change::Ended(reason) => {
                self.handler.session_ended(session, reason);
                true
            }
        }));
        match told {
            Ok(opened) => opened,
            Err(_) => {
                tracing::error!(session = ?session, ?change, "a session callback panicked");
                !matches!(change, Change::Created)
            }
        }
    }
}

/// Tells clients that something changed. Cheap to clone; of no effect once the server is gone.
#[derive(Clone)]
pub struct Publisher(pub(crate) Weak<dyn Port>);

impl Publisher {
    /// Tells everyone who asked: `subscriptions/listen` streams, and sessions, on their standalone streams.
    /// Returns how many were told. [`Config::publishes`] has to name the kind, or nobody can ask.
    pub fn publish(&self, topic: &Topic) -> usize {
        self.0.upgrade().map_or(0, |port| port.publish(topic))
    }
}

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Publisher")
    }
}
