//! One endpoint behind one lock, and the carrying out of its orders after unlock.
//!
//! Orders are queued under the lock and carried out by one thread at a time, oldest first. So for each session
//! and exchange they take effect in the order of the lock (R7), and no callback runs under it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};

use mcp_http_core::endpoint::{
    Action, Actions, CallId, Delivery, DiscardReason, EndReason, Endpoint, Event, ExchangeId, Frames,
    Outbound, Principal, Pulled, SendError, SessionKey, Target, Topic, Victim,
};
use mcp_http_core::intake::Admitted;
use mcp_http_core::reject::Reject;
use mcp_http_core::session_id::{SessionId, SessionRef, ShardId};
use mcp_http_core::time::Timestamp;

use crate::call::{Line, LineState};
use crate::mailbox::{At, Handed, Mailbox, Order};
use crate::port::Port;
use crate::session::{Record, Session};

pub(crate) struct Shard {
    id: ShardId,
    state: Mutex<State>,
}

struct State {
    endpoint: Endpoint,
    actions: Actions,
    queue: VecDeque<Task>,
    /// Somebody is carrying out the queue.
    draining: bool,
    /// The connection of each exchange, by [`ExchangeId::index`].
    peers: Vec<Option<(ExchangeId, Arc<Mailbox>)>>,
    /// The handle of each session, by [`SessionKey::index`].
    sessions: Vec<Option<Session>>,
    lines: BTreeMap<CallId, Arc<LineState>>,
    /// The time the timer's task waits for, and how to wake it.
    armed: Option<Timestamp>,
    timer: Option<Waker>,
}

/// One order, resolved: nothing in it needs the lock.
enum Task {
    Post(Arc<Mailbox>, Order),
    Tell(Session, Change),
    Cancel(Arc<LineState>),
    Room(Arc<LineState>),
    RoomInSession(Session),
}

/// What happens to a session, for the application.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Created,
    Committed,
    Discarded(DiscardReason),
    Ended(EndReason),
}

/// Who is told of changes. The answer to `Created` says whether the application opened its side.
pub(crate) trait Told {
    fn told(&self, session: &Session, change: Change) -> bool;
}

impl Shard {
    pub(crate) fn new(id: ShardId, endpoint: Endpoint) -> Self {
        Shard {
            id,
            state: Mutex::new(State {
                endpoint,
                actions: Actions::new(),
                queue: VecDeque::new(),
                draining: false,
                peers: Vec::new(),
                sessions: Vec::new(),
                lines: BTreeMap::new(),
                armed: None,
                timer: None,
            }),
        }
    }

    pub(crate) fn glance(&self, session: &SessionRef, who: Option<&Principal>) -> Result<(), Reject> {
        self.lock().endpoint.glance(session, who)
    }

    pub(crate) fn admit(
        &self,
        what: Admitted,
        who: Option<Principal>,
        now: Timestamp,
        from: &Arc<Mailbox>,
        server: &(impl Told + ?Sized),
        port: &Weak<dyn Port>,
    ) -> At {
        let mut guard = self.lock();
        let state = &mut *guard;
        let exchange = state.endpoint.admit(what, who, now, &mut state.actions);
        let index = exchange.index();
        if state.peers.len() <= index {
            state.peers.resize_with(index + 1, || None);
        }
        state.peers[index] = Some((exchange, Arc::clone(from)));
        self.carry_out(guard, now, server, port);
        At { shard: self.id, exchange }
    }

    pub(crate) fn handle(
        &self,
        event: Event,
        now: Timestamp,
        server: &(impl Told + ?Sized),
        port: &Weak<dyn Port>,
    ) {
        let over = match &event {
            Event::Flushed { exchange } | Event::Gone { exchange } => Some(*exchange),
            _ => None,
        };
        let mut guard = self.lock();
        let state = &mut *guard;
        state.endpoint.handle(event, now, &mut state.actions);
        if let Some(exchange) = over {
            take_peer(&mut state.peers, exchange);
        }
        self.carry_out(guard, now, server, port);
    }

    pub(crate) fn send(
        &self,
        to: Target,
        message: Outbound,
        now: Timestamp,
        server: &(impl Told + ?Sized),
        port: &Weak<dyn Port>,
    ) -> Result<(), SendError> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let sent = state.endpoint.send(to, message, now, &mut state.actions);
        self.carry_out(guard, now, server, port);
        sent
    }

    pub(crate) fn pull(
        &self,
        exchange: ExchangeId,
        budget: usize,
        into: &mut Frames,
        now: Timestamp,
        server: &(impl Told + ?Sized),
        port: &Weak<dyn Port>,
    ) -> Pulled {
        let mut guard = self.lock();
        let state = &mut *guard;
        let pulled = state.endpoint.pull(exchange, budget, into, now, &mut state.actions);
        self.carry_out(guard, now, server, port);
        pulled
    }

    pub(crate) fn publish(
        &self,
        topic: &Topic,
        now: Timestamp,
        server: &(impl Told + ?Sized),
        port: &Weak<dyn Port>,
    ) -> usize {
        let mut guard = self.lock();
        let state = &mut *guard;
        let told = state.endpoint.publish(topic, &mut state.actions);
        self.carry_out(guard, now, server, port);
        told
    }

    pub(crate) fn subscribe(&self, session: SessionKey, uri: &str) -> bool {
        self.lock().endpoint.subscribe(session, uri)
    }

    pub(crate) fn unsubscribe(&self, session: SessionKey, uri: &str) {
        self.lock().endpoint.unsubscribe(session, uri);
    }

    /// Does what is due; returns when to come again. The caller's task is woken if that becomes earlier.
    pub(crate) fn tick(
        &self,
        now: Timestamp,
        cx: &Context<'_>,
        server: &(impl Told + ?Sized),
        port: &Weak<dyn Port>,
    ) -> Option<Timestamp> {
        loop {
            let mut guard = self.lock();
            let state = &mut *guard;
            let next = state.endpoint.poll_timeout();
            if next.is_none_or(|at| at > now) {
                state.armed = next;
                state.timer = Some(cx.waker().clone());
                return next;
            }
            state.endpoint.handle_timeout(now, &mut state.actions);
            self.carry_out(guard, now, server, port);
        }
    }

    /// The call's answer was given: nobody is to be told of it any more.
    pub(crate) fn forget_line(&self, call: CallId) {
        self.lock().lines.remove(&call);
    }

    pub(crate) fn give_up_retained(&self, bytes: usize) {
        self.lock().endpoint.give_up_retained(bytes);
    }

    pub(crate) fn victim(&self, now: Timestamp) -> Option<Victim> {
        self.lock().endpoint.victim(now)
    }

    /// Whether no session is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().endpoint.sessions() == 0
    }

    pub(crate) fn stats(&self) -> mcp_http_core::endpoint::Stats {
        self.lock().endpoint.stats()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of a callback cannot poison it: none runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves the actions under the lock, then carries the queue out, unless somebody is at it already.
    fn carry_out<'a>(
        &'a self,
        mut guard: MutexGuard<'a, State>,
        now: Timestamp,
        server: &(impl Told + ?Sized),
        port: &Weak<dyn Port>,
    ) {
        self.resolve(&mut guard, port);
        if guard.draining || guard.queue.is_empty() {
            return;
        }
        guard.draining = true;
        while let Some(task) = guard.queue.pop_front() {
            drop(guard);
            let failed = run(task, server);
            guard = self.lock();
            if let Some(session) = failed {
                let state = &mut *guard;
                state.endpoint.handle(Event::SessionFailed { session }, now, &mut state.actions);
                self.resolve(&mut guard, port);
            }
        }
        guard.draining = false;
    }

    fn resolve(&self, state: &mut State, port: &Weak<dyn Port>) {
        let State { actions, queue, peers, sessions, lines, .. } = state;
        for action in actions.drain() {
            let task = match action {
                Action::CreateSession { session, id } => {
                    let handle = self.handle_of(session, id, Weak::clone(port));
                    if sessions.len() <= session.index() {
                        sessions.resize_with(session.index() + 1, || None);
                    }
                    sessions[session.index()] = Some(handle.clone());
                    Some(Task::Tell(handle, Change::Created))
                }
                Action::Commit { session } => {
                    session_of(sessions, session).map(|handle| Task::Tell(handle, Change::Committed))
                }
                Action::Discard { session, reason } => {
                    let handle = sessions.get_mut(session.index()).and_then(Option::take);
                    handle.map(|handle| Task::Tell(handle, Change::Discarded(reason)))
                }
                Action::End { session, reason } => {
                    let handle = sessions.get_mut(session.index()).and_then(Option::take);
                    handle.map(|handle| Task::Tell(handle, Change::Ended(reason)))
                }
                Action::Deliver { exchange, session, delivery } => {
                    let session = session.and_then(|session| session_of(sessions, session));
                    let line = self.line_of(&delivery, lines, port);
                    let handed = Box::new(Handed { delivery, session, line });
                    let at = At { shard: self.id, exchange };
                    peer_of(peers, exchange).map(|peer| Task::Post(peer, Order::Deliver(at, handed)))
                }
                Action::Cancel { call, reason: _ } => lines.remove(&call).map(Task::Cancel),
                Action::Respond { exchange, response } => {
                    let at = At { shard: self.id, exchange };
                    peer_of(peers, exchange).map(|peer| Task::Post(peer, Order::Respond(at, response)))
                }
                Action::Reject { exchange, reject } => {
                    let at = At { shard: self.id, exchange };
                    take_peer(peers, exchange).map(|peer| Task::Post(peer, Order::Reject(at, reject)))
                }
                Action::Pull { exchange } => {
                    let at = At { shard: self.id, exchange };
                    peer_of(peers, exchange).map(|peer| Task::Post(peer, Order::Pull(at)))
                }
                Action::Close { exchange } => {
                    let at = At { shard: self.id, exchange };
                    take_peer(peers, exchange).map(|peer| Task::Post(peer, Order::Close(at)))
                }
                Action::Writable { target: Target::Call(call) } => {
                    lines.get(&call).map(|line| Task::Room(Arc::clone(line)))
                }
                Action::Writable { target: Target::Session(session) } => {
                    session_of(sessions, session).map(Task::RoomInSession)
                }
            };
            queue.extend(task);
        }
        state.wake_timer_if_earlier();
    }

    fn handle_of(&self, key: SessionKey, id: SessionId, port: Weak<dyn Port>) -> Session {
        Session(Arc::new(Record::new(port, self.id, key, id)))
    }

    fn line_of(
        &self,
        delivery: &Delivery,
        lines: &mut BTreeMap<CallId, Arc<LineState>>,
        port: &Weak<dyn Port>,
    ) -> Option<Line> {
        let (Delivery::Initialize { call, .. } | Delivery::Call { call, .. }) = delivery else { return None };
        let port = port.upgrade()?;
        let state = Arc::new(LineState::default());
        lines.insert(*call, Arc::clone(&state));
        Some(Line { port, shard: self.id, call: *call, state })
    }
}

impl State {
    fn wake_timer_if_earlier(&mut self) {
        let next = self.endpoint.poll_timeout();
        let earlier = next.is_some_and(|at| self.armed.is_none_or(|armed| at < armed));
        if let Some(waker) = self.timer.take_if(|_| earlier) {
            waker.wake();
        }
    }
}

/// Carries one task out. Returns the session whose application could not open its side.
fn run(task: Task, server: &(impl Told + ?Sized)) -> Option<SessionKey> {
    match task {
        Task::Post(mailbox, order) => mailbox.post(order),
        Task::Tell(session, change) => {
            if matches!(change, Change::Discarded(_) | Change::Ended(_)) {
                session.0.end();
            }
            let opened = server.told(&session, change);
            return (!opened).then_some(session.0.key);
        }
        Task::Cancel(line) => {
            line.cancelled.set();
            line.writable.give();
        }
        Task::Room(line) => line.writable.give(),
        Task::RoomInSession(session) => session.0.give_room(),
    }
    None
}

type Peers = Vec<Option<(ExchangeId, Arc<Mailbox>)>>;

fn peer_of(peers: &Peers, exchange: ExchangeId) -> Option<Arc<Mailbox>> {
    match peers.get(exchange.index()) {
        Some(Some((of, mailbox))) if *of == exchange => Some(Arc::clone(mailbox)),
        Some(_) | None => None,
    }
}

fn take_peer(peers: &mut Peers, exchange: ExchangeId) -> Option<Arc<Mailbox>> {
    let slot = peers.get_mut(exchange.index())?;
    slot.take_if(|(of, _)| *of == exchange).map(|(_, mailbox)| mailbox)
}

fn session_of(sessions: &[Option<Session>], key: SessionKey) -> Option<Session> {
    sessions.get(key.index())?.as_ref().filter(|session| session.0.key == key).cloned()
}
