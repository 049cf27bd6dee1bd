//! A server of the bare core, in the script's own thread and in virtual time: time goes by only while a client or
//! the script waits for something, and then from one deadline to the next. Nothing of the driver is in it; the
//! application is [`app`], which does by steps what the lab does.

mod app;
mod link;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{
    Action, Actions, Budget, Endpoint, Event, Outbound, Principal, Stats, Target, Topic,
};
use mcp_http_core::entropy::{Entropy, EntropyError};
use mcp_http_core::intake::Intake;
use mcp_http_core::session_id::ShardId;
use mcp_http_core::time::Timestamp;
use mcp_http_tests::socket::{At, Order, Parcel, Rest, Socket};
use serde_json::json;

use self::app::App;
use self::link::{Link, There};
use super::{Seen, Tested, config, lives};
use crate::socket_support::wait::PATIENCE;
use crate::socket_support::wire::Wire;

const SHARDS: u16 = 2;

/// What an adapter gives over its own last moment, for the writing of what was failed in it.
const SPARE: Duration = Duration::from_millis(100);

pub(crate) struct Bare(Arc<Mutex<World>>);

/// Everything there is.
struct World {
    config: Arc<Config>,
    intake: Intake,
    budget: Arc<Budget>,
    shards: Vec<Endpoint>,
    /// Whose turn it is to take what belongs to no shard yet.
    turn: usize,
    now: Timestamp,
    conns: Vec<Conn>,
    exchanges: BTreeMap<At, Asked>,
    app: App,
    refusals: BTreeMap<&'static str, u64>,
    /// In a shutdown: when the connections that are left are cut off.
    cut_at: Option<Timestamp>,
    stopping: bool,
}

/// One connection, seen from both ends.
struct Conn {
    socket: Option<Socket>,
    up: VecDeque<Parcel>,
    down: VecDeque<u8>,
    orders: VecDeque<Order>,
    /// There may be something for the server to do.
    due: bool,
    /// The client's end is closed.
    left: bool,
    /// The server's end is closed, or will not write more.
    over: bool,
}

/// An exchange that an endpoint has.
struct Asked {
    conn: usize,
    method: Method,
    who: Option<Principal>,
}

struct Counting(u64);

impl Entropy for Counting {
    fn fill(&mut self, into: &mut [u8]) -> Result<(), EntropyError> {
        for byte in into {
            // Ids look like ids, so that no part of one is found elsewhere by chance.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = self.0.to_le_bytes()[7];
        }
        Ok(())
    }
}

impl Bare {
    pub(crate) fn start(configure: fn(&mut Config)) -> Bare {
        let config = config(configure);
        config.check().expect("a possible configuration");
        let (config, budget) = (Arc::new(config), Arc::new(Budget::new()));
        let shard = |shard: u16| {
            let entropy = Box::new(Counting(shard.into()));
            Endpoint::new(config.clone(), budget.clone(), ShardId(shard), entropy)
        };
        let shards = (0..SHARDS).map(shard).collect();
        let intake = Intake::new(config.clone());
        Bare(Arc::new(Mutex::new(World {
            config,
            intake,
            budget,
            shards,
            turn: 0,
            now: Timestamp::from_origin(Duration::from_secs(1_000)),
            conns: Vec::new(),
            exchanges: BTreeMap::new(),
            app: App::default(),
            refusals: BTreeMap::new(),
            cut_at: None,
            stopping: false,
        })))
    }
}

impl Tested for Bare {
    fn connect(&self) -> Wire {
        Wire::over_other(Link::to(&self.0))
    }

    fn until(&self, line: &str, times: usize) {
        let mut world = self.0.lock().unwrap();
        let enough = |world: &World| {
            (world.app.log.iter().filter(|written| *written == line).count() >= times).then_some(())
        };
        let come = world.wait(enough);
        assert!(come.is_some(), "never came: {times} times {line:?}: {:#?}", world.app.log);
    }

    fn open(&self, gate: &str) {
        self.0.lock().unwrap().open_gate(gate);
    }

    fn notify(&self, session: usize, number: u64) {
        let mut world = self.0.lock().unwrap();
        let (shard, key) = world.app.owner(session);
        let params = Some(json!({ "number": number }).into());
        let notice = Outbound::Notice { method: "notifications/count".into(), params, droppable: false };
        let sent =
            world.with(shard, |endpoint, now, out| endpoint.send(Target::Session(key), notice, now, out));
        assert_eq!(sent, Ok(()));
        world.run();
    }

    fn end_session(&self, session: usize) {
        let mut world = self.0.lock().unwrap();
        let (shard, session) = world.app.owner(session);
        world.tell(shard, Event::EndSession { session });
        world.run();
    }

    fn publish(&self, topic: &Topic) -> usize {
        let mut world = self.0.lock().unwrap();
        let told = |shard| world.with(shard, |endpoint, _, out| endpoint.publish(topic, out));
        let told = (0..usize::from(SHARDS)).map(told).sum();
        world.run();
        told
    }

    fn begin_stop(&self) {
        self.0.lock().unwrap().begin_stop();
    }

    fn stop(self: Box<Self>) -> Seen {
        let mut world = self.0.lock().unwrap();
        world.begin_stop();
        world.run_out();
        let mut stats = Stats::default();
        world.shards.iter().for_each(|shard| stats.add(&shard.stats()));
        assert!(stats.is_drained(), "left after the shutdown: {stats:?}");
        assert!(world.conns.iter().all(|conn| conn.socket.is_none()), "left after the shutdown: connections");
        assert_eq!((world.budget.sessions(), world.budget.buffered_bytes()), (0, 0));
        Seen { handler: world.app.log.clone(), server: lives(&stats, &world.refusals) }
    }
}

/// Time.
impl World {
    /// Lets happen what can happen now.
    fn run(&mut self) {
        for _ in 0..1_000_000 {
            self.work();
            let Some(conn) = self.conns.iter().position(|conn| conn.due) else { return };
            self.turn(conn);
        }
        panic!("it never rests");
    }

    /// Lets time go by until `look` sees something, for as long as a client is patient.
    fn wait<T>(&mut self, look: impl Fn(&World) -> Option<T>) -> Option<T> {
        let until = self.now.after(PATIENCE);
        loop {
            self.run();
            if let Some(seen) = look(self) {
                return Some(seen);
            }
            let due = self.next_deadline().filter(|due| *due <= until)?;
            self.go_to(due);
        }
    }

    /// Lets all time go by.
    fn run_out(&mut self) {
        self.run();
        for _ in 0..100_000 {
            let Some(due) = self.next_deadline() else { return };
            self.go_to(due);
            self.run();
        }
        panic!("R14: deadlines without end");
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let endpoints = self.shards.iter().filter_map(Endpoint::poll_timeout);
        let conns = self.conns.iter().filter_map(|conn| conn.socket.as_ref()?.poll_timeout());
        endpoints.chain(conns).chain(self.cut_at).min()
    }

    fn go_to(&mut self, due: Timestamp) {
        let now = self.now.max(due);
        self.now = now;
        for shard in 0..self.shards.len() {
            for _ in 0..10_000 {
                if self.shards[shard].poll_timeout().is_none_or(|next| next > now) {
                    break;
                }
                self.with(shard, |endpoint, now, out| endpoint.handle_timeout(now, out));
            }
        }
        self.conns.iter_mut().for_each(|conn| conn.due = true);
        if self.cut_at.is_some_and(|at| at <= now) {
            self.cut_at = None;
            (0..self.conns.len()).for_each(|conn| self.order(conn, Order::Abort));
        }
    }

    fn begin_stop(&mut self) {
        if std::mem::replace(&mut self.stopping, true) {
            return;
        }
        let until = self.now.after(self.config.shutdown_drain);
        self.cut_at = Some(until.after(SPARE));
        for shard in 0..self.shards.len() {
            self.tell(shard, Event::Shutdown { until });
        }
        (0..self.conns.len()).for_each(|conn| self.order(conn, Order::Retire));
        self.run();
    }
}

/// Connections.
impl World {
    fn connect(&mut self) -> usize {
        assert!(!self.stopping, "a server that stops accepts nobody");
        self.conns.push(Conn {
            socket: Some(Socket::new(self.config.h1(), &self.budget, self.now)),
            up: VecDeque::new(),
            down: VecDeque::new(),
            orders: VecDeque::new(),
            due: false,
            left: false,
            over: false,
        });
        self.conns.len() - 1
    }

    /// Something comes to the server's end.
    fn arrive(&mut self, conn: usize, parcel: Parcel) {
        let there = &mut self.conns[conn];
        if matches!(parcel, Parcel::Reset) {
            // What was not read yet is lost with it.
            there.up.clear();
        }
        there.up.push_back(parcel);
        there.due = true;
    }

    fn order(&mut self, conn: usize, order: Order) {
        self.conns[conn].orders.push_back(order);
        self.conns[conn].due = true;
    }

    fn turn(&mut self, conn: usize) {
        self.conns[conn].due = false;
        // While it is out, orders for it wait in `orders`.
        let Some(mut socket) = self.conns[conn].socket.take() else { return };
        let mut there = There { world: self, conn };
        match socket.run(&mut there) {
            Rest::Waiting => self.conns[conn].socket = Some(socket),
            Rest::Closed => {
                socket.close(&mut there);
                self.conns[conn].over = true;
            }
        }
    }
}

/// Endpoints.
impl World {
    fn with<R>(&mut self, shard: usize, call: impl FnOnce(&mut Endpoint, Timestamp, &mut Actions) -> R) -> R {
        let mut out = Actions::new();
        let given = call(&mut self.shards[shard], self.now, &mut out);
        self.carry_out(shard, &mut out);
        given
    }

    fn tell(&mut self, shard: usize, event: Event) {
        if let Event::Flushed { exchange } | Event::Gone { exchange } = &event {
            self.exchanges.remove(&(shard, *exchange));
        }
        self.with(shard, |endpoint, now, out| endpoint.handle(event, now, out));
    }

    fn carry_out(&mut self, shard: usize, out: &mut Actions) {
        let actions: Vec<Action> = out.drain().collect();
        for action in actions {
            match action {
                Action::Respond { exchange, response } => {
                    let at = (shard, exchange);
                    self.order(self.exchanges[&at].conn, Order::Respond(at, Box::new(response)));
                }
                Action::Pull { exchange } => {
                    let at = (shard, exchange);
                    self.order(self.exchanges[&at].conn, Order::Pull(at));
                }
                Action::Reject { exchange, reject } => {
                    let at = (shard, exchange);
                    let Asked { conn, .. } = self.exchanges.remove(&at).expect("R4: it is not over");
                    self.order(conn, Order::Reject(at, Box::new(reject)));
                }
                Action::Close { exchange } => {
                    let at = (shard, exchange);
                    let Asked { conn, .. } = self.exchanges.remove(&at).expect("R4: it is not over");
                    self.order(conn, Order::Close(at));
                }
                Action::CreateSession { session, .. } => self.app.created((shard, session)),
                Action::Commit { session } => self.app.committed((shard, session)),
                Action::Discard { session, reason } => self.app.discarded((shard, session), reason),
                Action::End { session, reason } => self.app.ended((shard, session), reason),
                Action::Deliver { exchange, session, delivery } => {
                    let Asked { method, who, .. } = &self.exchanges[&(shard, exchange)];
                    let session = session.map(|session| (shard, session));
                    let taken = self.app.deliver(shard, session, delivery, who.as_ref(), method);
                    if let Some(message) = taken {
                        self.tell(shard, Event::Taken { message });
                    }
                }
                Action::Cancel { call, .. } => self.app.cancelled((shard, call)),
                Action::Writable { target: Target::Call(call) } => self.app.has_room((shard, call)),
                Action::Writable { target: Target::Session(_) } => panic!("nobody waits for that"),
            }
        }
    }
}
