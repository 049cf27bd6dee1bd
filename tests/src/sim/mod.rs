//! A whole server in one thread and in virtual time: clients with real bytes over links that chop, delay, stall and
//! drop them, through `h1::Connection`, `Intake` and `Endpoint`, to an application that is late, silent or wrong.
//! One queue of what happens when; the same seed gives the same course to the byte.
//!
//! [`run`] panics at the first thing that must not be. What is held:
//!
//! - the order of what the endpoint says of sessions, calls and senders (R1, R9, R11), as the application sees it;
//! - what each client gets is its own, at most once, and exactly once where its connection and session lived; a
//!   stream that is resumed has lost and doubled nothing (R5, R6, C7);
//! - memory stays within its bound throughout (R8);
//! - when all faults are over, nobody waits for ever (R9); in the end every table is empty (R14).

mod app;
mod client;
mod dice;
mod http;
mod plan;
mod reader;
mod seen;
mod server;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{Budget, Endpoint, Event, MessageId, Topic};
use mcp_http_core::entropy::{Entropy, EntropyError};
use mcp_http_core::intake::Intake;
use mcp_http_core::session_id::ShardId;
use mcp_http_core::time::Timestamp;

use crate::socket::{At, Parcel};

use app::{Line, Owner, Session, Work};
use client::Client;
use dice::Dice;
pub use plan::{Can, Plan};
pub use seen::Seen;
use server::Conn;

/// Microseconds since the start.
type Micros = u64;

const MILLI: Micros = 1_000;
const SECOND: Micros = 1_000_000;
/// The server's clock at the start, in seconds.
const ORIGIN: u64 = 1_000;

/// What happens.
#[derive(Debug)]
enum What {
    /// The server looks at a connection.
    Turn(usize),
    /// Something comes to the server's end.
    Arrive(usize, Parcel),
    /// Something comes to the client's end.
    Reach(usize, Parcel),
    /// The client reads no more for a while.
    Stall(usize, Micros),
    Unstall(usize),
    /// The connection is reset.
    Cut(usize),
    /// The connection goes silent; neither end is told.
    Vanish(usize),
    HalfClose(usize),
    /// The kernel gives up on octets that nobody confirmed.
    Unacked(usize),
    /// The client gives up on a connection that went silent.
    GiveUp(usize),
    /// The application goes on with a call.
    Work(Line),
    /// The application sends for a call that it was told is over.
    Stubborn(Line),
    Talk(Owner),
    Take(usize, MessageId),
    /// A client does something.
    Act(usize),
    Resume(usize, usize),
    Reply(usize, usize, String),
    /// Something befalls the server.
    Befall,
    EntropyIsBack,
    Heal,
    Settled,
    Leave,
    /// The server's shutdown is over, and so are its connections.
    AbortAll,
    End,
}

/// Everything there is.
struct World {
    how: Play,
    dice: Dice,
    plan: Plan,
    now: Micros,
    /// How far the server's clock has jumped.
    jumped: Micros,
    queue: BTreeMap<(Micros, u64), What>,
    number: u64,
    config: Arc<Config>,
    intake: Intake,
    budget: Arc<Budget>,
    shards: Vec<Endpoint>,
    lucky: Arc<AtomicBool>,
    peers: BTreeMap<At, usize>,
    conns: Vec<Conn>,
    /// Connections that the server has open.
    open: BTreeSet<usize>,
    /// When the server began to shut down.
    shutdown: Option<Micros>,
    healed: bool,
    left: bool,
    sessions: BTreeMap<Owner, Session>,
    works: BTreeMap<Line, Work>,
    delivered: BTreeSet<String>,
    clients: Vec<Client>,
    seen: Seen,
}

struct Counting {
    lucky: Arc<AtomicBool>,
    drawn: u64,
}

impl Entropy for Counting {
    fn fill(&mut self, into: &mut [u8]) -> Result<(), EntropyError> {
        if !self.lucky.load(Ordering::Relaxed) {
            return Err(EntropyError);
        }
        self.drawn += 1;
        for stretch in into.chunks_mut(8) {
            stretch.copy_from_slice(&self.drawn.to_le_bytes()[..stretch.len()]);
        }
        Ok(())
    }
}

/// How a seed is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Play {
    /// Each step is printed.
    pub trace: bool,
}

/// Plays one seed.
///
/// # Panics
/// If something happens that must not.
#[must_use]
pub fn run(seed: u64, play: Play) -> Seen {
    let mut world = World::new(seed, play);
    world.play();
    world.seen
}

impl World {
    fn new(seed: u64, play: Play) -> Self {
        let mut dice = Dice::new(seed);
        let plan = Plan::new(&mut dice);
        let config = Arc::new(plan.config(&mut dice));
        config.check().expect("a possible configuration");
        let (lucky, budget) = (Arc::new(AtomicBool::new(true)), Arc::new(Budget::new()));
        let shards = (0..plan.shards).map(|shard| {
            let entropy = Counting { lucky: lucky.clone(), drawn: (shard as u64) << 32 };
            Endpoint::new(config.clone(), budget.clone(), ShardId(shard as u16), Box::new(entropy))
        });
        let mut world = World {
            how: play,
            now: 0,
            jumped: 0,
            queue: BTreeMap::new(),
            number: 0,
            intake: Intake::new(config.clone()),
            shards: shards.collect(),
            lucky,
            peers: BTreeMap::new(),
            conns: Vec::new(),
            open: BTreeSet::new(),
            shutdown: None,
            healed: false,
            left: false,
            sessions: BTreeMap::new(),
            works: BTreeMap::new(),
            delivered: BTreeSet::new(),
            clients: (0..plan.clients).map(Client::new).collect(),
            seen: Seen::default(),
            dice,
            plan,
            config,
            budget,
        };
        world.say(|| format!("may happen: {:?}", world.plan.able().collect::<Vec<_>>()));
        world.say(|| format!("left out: {:?}", world.plan.left_out().collect::<Vec<_>>()));
        world.say(|| format!("{:?}", world.config));
        for client in 0..world.plan.clients {
            world.after(client as u64 * MILLI, What::Act(client));
        }
        world.after(500 * MILLI, What::Befall);
        world.after(world.plan.heal, What::Heal);
        world
    }

    fn say(&self, what: impl FnOnce() -> String) {
        if self.how.trace {
            println!("{:>12.6} {}", self.now as f64 / 1e6, trace::short(&what()));
        }
    }

    fn after(&mut self, wait: Micros, what: What) {
        self.at(self.now + wait, what);
    }

    fn at(&mut self, when: Micros, what: What) {
        self.number += 1;
        self.queue.insert((when.max(self.now), self.number), what);
    }

    /// What the server's clock shows: on several threads a reading may be a little old when it is used.
    fn time(&mut self) -> Timestamp {
        let late = if self.plan.can(Can::Skew) { self.dice.between(0, 3 * MILLI) } else { 0 };
        self.exact(self.now - late.min(self.now))
    }

    fn exact(&self, now: Micros) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs(ORIGIN) + Duration::from_micros(now + self.jumped))
    }

    /// When this time comes.
    fn when(&self, at: Timestamp) -> Micros {
        let nanos = at.since_origin().saturating_sub(Duration::from_secs(ORIGIN)).as_nanos();
        u64::try_from(nanos.div_ceil(1000)).unwrap_or(u64::MAX).saturating_sub(self.jumped)
    }

    /// Whether frames may be missing from a standalone stream, or a call's stream may be given up.
    fn is_loose(&self) -> bool {
        self.plan.can(Can::Tight) || self.plan.can(Can::Memory) || self.jumped > 0
    }

    fn play(&mut self) {
        while let Some(timer) = self.next_step() {
            self.seen.steps += 1;
            assert!(self.seen.steps < 2_000_000, "it does not end");
            if let Some(what) = timer {
                if let What::End = what {
                    return self.end();
                }
                self.happen(what);
            }
        }
        panic!("nothing left to happen");
    }

    /// Goes on to what is next: the queue's `What`, or a timer of the server's, which is handled here.
    fn next_step(&mut self) -> Option<Option<What>> {
        let queued = self.queue.first_key_value().map(|((when, _), _)| *when)?;
        let endpoints = self.shards.iter().enumerate();
        let endpoint = endpoints.filter_map(|(at, shard)| Some((self.when(shard.poll_timeout()?), at))).min();
        let conn =
            self.open.iter().filter_map(|c| Some((self.when(self.conns[*c].poll_timeout()?), *c))).min();
        let timer = endpoint.map(|(at, _)| at).into_iter().chain(conn.map(|(at, _)| at)).min();
        if timer.is_none_or(|timer| timer > queued) {
            let ((when, _), what) = self.queue.pop_first()?;
            self.now = when;
            return Some(Some(what));
        }
        self.now = self.now.max(timer?);
        match (endpoint, conn) {
            (Some((at, shard)), other) if other.is_none_or(|(other, _)| at <= other) => self.tick(shard),
            (_, Some((_, conn))) => self.turn(conn),
            (_, None) => {}
        }
        Some(None)
    }

    fn tick(&mut self, shard: usize) {
        let now = self.exact(self.now);
        for _ in 0..10_000 {
            self.with_at(shard, now, |endpoint, now, out| endpoint.handle_timeout(now, out));
            if self.shards[shard].poll_timeout().is_none_or(|next| next > now) {
                return;
            }
        }
        panic!("R9: still due at {now:?}");
    }

    fn happen(&mut self, what: What) {
        if !matches!(what, What::Turn(_) | What::Reach(..) | What::Arrive(..)) {
            self.say(|| format!("{what:?}"));
        }
        match what {
            What::Turn(conn) => self.turn(conn),
            What::Arrive(conn, parcel) => self.arrive(conn, parcel),
            What::Reach(conn, parcel) => self.reach(conn, parcel),
            What::Stall(conn, time) => self.stall(conn, time),
            What::Unstall(conn) => self.unstall(conn),
            What::Cut(conn) => self.cut(conn),
            What::Vanish(conn) => self.vanish(conn),
            What::HalfClose(conn) => self.half_close(conn),
            What::Unacked(conn) => self.unacked(conn),
            What::GiveUp(conn) => self.hang_up(conn),
            What::Work(line) => self.work(line),
            What::Stubborn(line) => self.be_stubborn(line),
            What::Talk(owner) => self.talk(owner),
            What::Take(shard, message) => self.tell(shard, Event::Taken { message }),
            What::Act(client) => self.act(client),
            What::Resume(client, stream) => self.resume(client, stream, None),
            What::Reply(client, session, body) => self.reply(client, session, body),
            What::Befall => self.befall(),
            What::EntropyIsBack => self.lucky.store(true, Ordering::Relaxed),
            What::Heal => self.heal(),
            What::Settled => self.settled(),
            What::Leave => self.leave_all(),
            What::AbortAll => self.abort_all(),
            What::End => {}
        }
    }

    /// Something happens to the server as a whole.
    fn befall(&mut self) {
        if self.healed {
            return;
        }
        let wait = self.dice.between(100, 1500) * MILLI;
        self.after(wait, What::Befall);
        match self.dice.below(8) {
            0 if self.plan.can(Can::Entropy) => {
                self.lucky.store(false, Ordering::Relaxed);
                let wait = self.dice.between(1, 2000) * MILLI;
                self.after(wait, What::EntropyIsBack);
            }
            1 if self.plan.can(Can::Jump) && self.dice.one_in(4) => {
                // Whatever has a deadline may be past it now.
                let by = self.dice.pick(&[1, 6, 30, 100, 100_000]) * SECOND;
                self.say(|| format!("the clock jumps by {by}"));
                self.jumped += by;
                self.conns.iter_mut().for_each(|conn| conn.faulted = true);
            }
            2 if self.plan.can(Can::Shutdown) && self.dice.one_in(6) => self.begin_shutdown(),
            3 if self.plan.can(Can::Publish) => self.publish(),
            4 if self.plan.can(Can::EndSession) => self.end_some_session(false),
            5 if self.plan.can(Can::FailSession) && self.dice.one_in(2) => self.end_some_session(true),
            _ => {}
        }
    }

    fn publish(&mut self) {
        for shard in 0..self.shards.len() {
            let told = self.with(shard, |endpoint, _, out| endpoint.publish(&Topic::Tools, out));
            self.seen.announced += told as u64;
        }
    }

    fn begin_shutdown(&mut self) {
        if self.shutdown.is_some() {
            return;
        }
        self.say(|| String::from("the server begins to shut down"));
        self.shutdown = Some(self.now);
        let now = self.exact(self.now);
        let until = now.after(self.config.shutdown_drain);
        for shard in 0..self.shards.len() {
            self.with_at(shard, now, |endpoint, now, out| {
                endpoint.handle(Event::Shutdown { until }, now, out);
            });
        }
        self.retire_all();
        let drain = self.config.shutdown_drain.as_micros() as u64;
        self.after(drain + 3 * SECOND, What::AbortAll);
    }

    /// All faults are over: what was silent speaks, and whoever reads, reads.
    fn heal(&mut self) {
        self.healed = true;
        self.lucky.store(true, Ordering::Relaxed);
        for conn in 0..self.conns.len() {
            self.unstall(conn);
        }
        self.wake_silent();
        self.after(25 * SECOND, What::Settled);
    }

    /// Nobody is waiting any more. Then either the clients leave without a word, or the server shuts down.
    fn settled(&mut self) {
        self.check_nobody_waits();
        if self.shutdown.is_none() && self.dice.one_in(2) {
            return self.after(0, What::Leave);
        }
        self.begin_shutdown();
        self.after(self.config.shutdown_drain.as_micros() as u64 + 30 * SECOND, What::End);
    }

    /// Clients close their connections: sessions end by being idle, and nothing is left, without a shutdown.
    fn leave_all(&mut self) {
        self.left = true;
        for conn in 0..self.conns.len() {
            self.hang_up(conn);
        }
        self.after(200 * SECOND, What::End);
    }

    fn end(&mut self) {
        self.check_clients();
        let mut sum = self.shards[0].stats();
        self.shards[1..].iter().for_each(|shard| sum.add(&shard.stats()));
        let places = (self.budget.sessions(), self.budget.buffered_bytes());
        let next = self.shards.iter().find_map(Endpoint::poll_timeout);
        assert!(sum.is_drained() && next.is_none() && places == (0, 0), "R14: {sum:?}, {next:?}, {places:?}");
        let (discarded, ended) = (sum.total.discarded.sum(), sum.total.ended.sum());
        assert_eq!(sum.total.created, discarded + ended, "R1");
        assert_eq!(sum.total.committed, ended, "R1");
        assert_eq!(sum.total.created, self.sessions.len() as u64, "R1: the application heard of every one");
        assert!(self.sessions.values().all(Session::is_over), "R1: {:?}", self.sessions);
        assert!(self.works.is_empty(), "R14: calls without an end: {:?}", self.works);
        assert!(self.open.is_empty(), "R14: open connections {:?}", self.open);
        assert!(self.peers.is_empty(), "R4: exchanges without an end: {:?}", self.peers);
        self.seen.sessions = sum.total.created;
        self.seen.discarded = discarded;
        self.seen.gaps = sum.total.gaps;
        self.seen.dropped = sum.total.dropped_notices;
    }
}
