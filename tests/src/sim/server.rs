//! The server's side: links that chop, delay, stall and drop, and sockets of the bare core at their ends.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{Action, Actions, Budget, Endpoint, Event, Frames, Principal, Pulled, Target};
use mcp_http_core::intake::{Admitted, Intake};
use mcp_http_core::reject::Refusal;
use mcp_http_core::session_id::ShardId;
use mcp_http_core::time::Timestamp;

use super::reader::Task;
use super::{Can, MILLI, Micros, What, World, http as wire};
use crate::socket::{Around, At, Order, Parcel, Rest, Socket};

/// One connection, seen from both ends.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) owner: usize,
    socket: Option<Socket>,
    /// What came to the server's end and was not read.
    inbox: VecDeque<Parcel>,
    orders: VecDeque<Order>,
    turning: bool,
    /// Octets that the server wrote and the client did not read yet, and how many those may be.
    flight: usize,
    window: usize,
    down_at: Micros,
    up_at: Micros,
    /// What came while the client did not read.
    held: VecDeque<Parcel>,
    stalled: bool,
    vanished: bool,
    unacked: bool,
    /// The client's end is open.
    pub(super) open: bool,
    half: bool,
    /// Something befell it, so that an answer need not come.
    pub(super) faulted: bool,
    /// The server said that no answer follows.
    pub(super) closing: bool,
    pub(super) reader: wire::Reader,
    pub(super) tasks: VecDeque<Task>,
}

impl Conn {
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.socket.as_ref()?.poll_timeout()
    }

    pub(super) fn takes_requests(&self) -> bool {
        self.open && !self.half && !self.vanished && !self.closing && !self.stalled
    }

    pub(super) fn is_half_closed(&self) -> bool {
        self.half
    }
}

/// The links.
impl World {
    pub(super) fn connect(&mut self, owner: usize) -> usize {
        let now = self.time();
        let conn = self.conns.len();
        let is_accepted = self.shutdown.is_none();
        let socket = Socket::new(self.config.h1(), &self.budget, now);
        let window = if self.plan.can(Can::Stall) { 300 << self.dice.below(8) } else { 65536 };
        self.conns.push(Conn {
            owner,
            socket: is_accepted.then_some(socket),
            inbox: VecDeque::new(),
            orders: VecDeque::new(),
            turning: false,
            flight: 0,
            window,
            down_at: 0,
            up_at: 0,
            held: VecDeque::new(),
            stalled: false,
            vanished: false,
            unacked: false,
            open: true,
            half: false,
            faulted: !is_accepted,
            closing: false,
            reader: wire::Reader::new(),
            tasks: VecDeque::new(),
        });
        if is_accepted {
            self.open.insert(conn);
        } else {
            self.after(MILLI, What::Reach(conn, Parcel::Reset));
        }
        conn
    }

    /// The client writes.
    pub(super) fn write_up(&mut self, conn: usize, bytes: &[u8]) {
        let mut rest = bytes;
        let mut pieces = if self.plan.can(Can::Chop) { self.dice.below(12) } else { 0 };
        while !rest.is_empty() {
            let n = if pieces == 0 { rest.len() } else { 1 + self.dice.below(rest.len()) };
            pieces = pieces.saturating_sub(1);
            self.send_up(conn, Parcel::Bytes(rest[..n].to_vec()));
            rest = &rest[n..];
        }
    }

    fn send_up(&mut self, conn: usize, parcel: Parcel) {
        if self.conns[conn].vanished {
            return;
        }
        let wait = if self.plan.can(Can::Chop) { self.dice.between(0, 20) * MILLI } else { MILLI };
        let at = self.conns[conn].up_at.max(self.now + wait);
        self.conns[conn].up_at = at;
        self.at(at, What::Arrive(conn, parcel));
    }

    fn send_down(&mut self, conn: usize, parcel: Parcel) {
        if self.conns[conn].vanished {
            return;
        }
        let wait = if self.plan.can(Can::Chop) { self.dice.between(0, 20) * MILLI } else { MILLI };
        let at = self.conns[conn].down_at.max(self.now + wait);
        self.conns[conn].down_at = at;
        self.at(at, What::Reach(conn, parcel));
    }

    pub(super) fn arrive(&mut self, conn: usize, parcel: Parcel) {
        if self.conns[conn].vanished {
            return;
        }
        let there = &mut self.conns[conn];
        if there.socket.is_some() {
            if matches!(parcel, Parcel::Reset) {
                // What was not read yet is lost with it.
                there.inbox.clear();
            }
            there.inbox.push_back(parcel);
            self.wake(conn);
        }
    }

    pub(super) fn reach(&mut self, conn: usize, parcel: Parcel) {
        let Some(there) = self.conns.get_mut(conn).filter(|conn| !conn.vanished) else { return };
        if there.stalled {
            there.held.push_back(parcel);
            return;
        }
        if let Parcel::Bytes(bytes) = &parcel {
            there.flight = there.flight.saturating_sub(bytes.len());
        }
        self.wake(conn);
        if self.conns[conn].open {
            self.read_down(conn, parcel);
        }
    }

    pub(super) fn stall(&mut self, conn: usize, time: Micros) {
        self.conns[conn].stalled = true;
        self.conns[conn].faulted = true;
        self.after(time, What::Unstall(conn));
    }

    pub(super) fn unstall(&mut self, conn: usize) {
        self.conns[conn].stalled = false;
        while let Some(parcel) = self.conns[conn].held.pop_front() {
            self.reach(conn, parcel);
        }
    }

    pub(super) fn cut(&mut self, conn: usize) {
        self.seen.cuts += u64::from(self.conns[conn].open);
        self.conns[conn].faulted = true;
        self.send_up(conn, Parcel::Reset);
        self.drop_client_end(conn);
    }

    /// The client closes its end.
    pub(super) fn hang_up(&mut self, conn: usize) {
        if !self.conns[conn].open {
            return;
        }
        self.conns[conn].faulted = true;
        self.send_up(conn, Parcel::Eof);
        self.drop_client_end(conn);
    }

    pub(super) fn half_close(&mut self, conn: usize) {
        let there = &mut self.conns[conn];
        if !there.open || there.half {
            return;
        }
        there.half = true;
        there.faulted = true;
        self.send_up(conn, Parcel::Eof);
    }

    pub(super) fn vanish(&mut self, conn: usize) {
        let there = &mut self.conns[conn];
        there.vanished = true;
        there.faulted = true;
        if there.flight > 0 {
            self.await_unacked(conn);
        }
        let wait = self.dice.between(10, 4000) * MILLI;
        self.after(wait, What::GiveUp(conn));
    }

    fn await_unacked(&mut self, conn: usize) {
        if !std::mem::replace(&mut self.conns[conn].unacked, true) {
            self.after(self.config.write_stall.as_micros() as u64, What::Unacked(conn));
        }
    }

    pub(super) fn unacked(&mut self, conn: usize) {
        let Some(socket) = &mut self.conns[conn].socket else { return };
        match socket.serves() {
            Some((shard, exchange)) => self.tell(shard, Event::Stalled { exchange }),
            None => socket.abort(),
        }
        self.wake(conn);
    }

    fn wake(&mut self, conn: usize) {
        if self.conns[conn].socket.is_none() || std::mem::replace(&mut self.conns[conn].turning, true) {
            return;
        }
        let late = if self.plan.can(Can::LateTurns) { self.dice.between(0, 2 * MILLI) } else { 0 };
        self.after(late, What::Turn(conn));
    }
}

/// One connection.
impl World {
    pub(super) fn turn(&mut self, conn: usize) {
        self.conns[conn].turning = false;
        // While it is out, orders for it wait in `orders`.
        let Some(mut socket) = self.conns[conn].socket.take() else { return };
        let mut there = There { world: self, conn };
        match socket.run(&mut there) {
            Rest::Waiting => self.conns[conn].socket = Some(socket),
            Rest::Closed => self.close(conn, socket),
        }
    }

    fn close(&mut self, conn: usize, socket: Socket) {
        self.say(|| format!("the server closes {conn}"));
        self.open.remove(&conn);
        socket.close(&mut There { world: self, conn });
        self.send_down(conn, Parcel::Eof);
    }

    fn shard_for_session(&mut self) -> usize {
        if self.budget.sessions() < self.config.sessions_max {
            return self.dice.below(self.shards.len());
        }
        let now = self.time();
        let victims = self.shards.iter_mut().enumerate();
        let victims = victims.filter_map(|(at, shard)| Some((shard.victim(now)?, at)));
        victims.min().map_or(0, |(_, at)| at)
    }

    pub(super) fn retire_all(&mut self) {
        self.order_all(|| Order::Retire);
    }

    pub(super) fn abort_all(&mut self) {
        self.order_all(|| Order::Abort);
    }

    fn order_all(&mut self, order: impl Fn() -> Order) {
        for conn in self.open.clone() {
            self.conns[conn].orders.push_back(order());
            self.wake(conn);
        }
    }
}

/// A connection in the world.
struct There<'a> {
    world: &'a mut World,
    conn: usize,
}

impl Around for There<'_> {
    fn config(&self) -> &Arc<Config> {
        &self.world.config
    }

    fn intake(&self) -> &Intake {
        &self.world.intake
    }

    fn budget(&self) -> &Arc<Budget> {
        &self.world.budget
    }

    fn shards(&mut self) -> &mut [Endpoint] {
        &mut self.world.shards
    }

    fn now(&mut self) -> Timestamp {
        self.world.time()
    }

    fn exact(&self) -> Timestamp {
        self.world.exact(self.world.now)
    }

    fn next_order(&mut self) -> Option<Order> {
        self.world.conns[self.conn].orders.pop_front()
    }

    fn read(&mut self) -> Option<Parcel> {
        self.world.conns[self.conn].inbox.pop_front()
    }

    fn is_reset(&self) -> bool {
        matches!(self.world.conns[self.conn].inbox.front(), Some(Parcel::Reset))
    }

    fn write(&mut self, slices: &[IoSlice<'_>]) -> Option<(usize, Timestamp)> {
        let There { world, conn } = self;
        let there = &world.conns[*conn];
        let room = there.window.saturating_sub(there.flight);
        if room == 0 {
            return None;
        }
        let most = if world.plan.can(Can::Chop) { 1 + world.dice.below(room) } else { room };
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.iter()).take(most).copied().collect();
        let (written, now) = (bytes.len(), world.time());
        let there = &mut world.conns[*conn];
        there.flight += written;
        if there.vanished {
            world.await_unacked(*conn);
        } else if !there.open {
            // Nobody is there: the answer is a reset.
            there.flight = 0;
            world.send_up(*conn, Parcel::Reset);
        }
        world.send_down(*conn, Parcel::Bytes(bytes));
        Some((written, now))
    }

    fn shut(&mut self) {
        self.world.send_down(self.conn, Parcel::Eof);
    }

    fn authorize(&mut self, head: &Parts) -> Result<Option<Principal>, Refusal> {
        let who = head.headers.get("authorization");
        Ok(who.map(|who| Principal(Bytes::copy_from_slice(who.as_bytes()))))
    }

    fn may_open_session(&mut self, _: &Parts) -> bool {
        true
    }

    fn admit(&mut self, admitted: Admitted, _: &Parts, who: Option<Principal>) -> At {
        let There { world, conn } = self;
        let named = admitted.session().and_then(|session| session.shard()).map(|ShardId(shard)| shard.into());
        let shard = match named.filter(|shard| *shard < world.shards.len()) {
            Some(shard) => shard,
            None if admitted.opens_session() => world.shard_for_session(),
            None => world.dice.below(world.shards.len()),
        };
        let (now, mut out) = (world.time(), Actions::new());
        let at = (shard, world.shards[shard].admit(admitted, who, now, &mut out));
        world.peers.insert(at, *conn);
        world.carry_out(shard, &mut out);
        at
    }

    fn tell(&mut self, shard: usize, event: Event) {
        self.world.tell(shard, event);
    }

    fn pull(&mut self, (shard, exchange): At, budget: usize, into: &mut Frames) -> Pulled {
        self.world.with(shard, |endpoint, now, out| endpoint.pull(exchange, budget, into, now, out))
    }

    fn refused(&mut self, _: &Refusal) {
        self.world.seen.refused += 1;
    }
}

/// Endpoints.
impl World {
    pub(super) fn tell(&mut self, shard: usize, event: Event) {
        if let Event::Flushed { exchange } | Event::Gone { exchange } = &event {
            self.peers.remove(&(shard, *exchange));
        }
        self.with(shard, |endpoint, now, out| endpoint.handle(event, now, out));
    }

    pub(super) fn with<R>(
        &mut self,
        shard: usize,
        call: impl FnOnce(&mut Endpoint, Timestamp, &mut Actions) -> R,
    ) -> R {
        let now = self.time();
        self.with_at(shard, now, call)
    }

    pub(super) fn with_at<R>(
        &mut self,
        shard: usize,
        now: Timestamp,
        call: impl FnOnce(&mut Endpoint, Timestamp, &mut Actions) -> R,
    ) -> R {
        let mut out = Actions::new();
        let given = call(&mut self.shards[shard], now, &mut out);
        self.carry_out(shard, &mut out);
        given
    }

    fn carry_out(&mut self, shard: usize, out: &mut Actions) {
        // R8: an answer of up to 1 KiB goes out in any case.
        let bound = self.config.memory_max + 1024 * (self.peers.len() + self.works.len() + 1);
        let held = self.budget.buffered_bytes();
        assert!(held <= bound, "R8: {held} bytes of {}", self.config.memory_max);
        let actions: Vec<Action> = out.drain().collect();
        for action in actions {
            self.say(|| format!("  {shard}: {action:?}"));
            match action {
                Action::Respond { exchange, response } => {
                    self.order((shard, exchange), |at| Order::Respond(at, Box::new(response)));
                }
                Action::Pull { exchange } => self.order((shard, exchange), Order::Pull),
                Action::Reject { exchange, reject } => {
                    self.order((shard, exchange), |at| Order::Reject(at, Box::new(reject)));
                    self.peers.remove(&(shard, exchange));
                }
                Action::Close { exchange } => {
                    self.order((shard, exchange), Order::Close);
                    self.peers.remove(&(shard, exchange));
                }
                Action::CreateSession { session, id } => self.created((shard, session), &id),
                Action::Commit { session } => self.committed((shard, session)),
                Action::Discard { session, .. } | Action::End { session, .. } => {
                    self.is_over((shard, session), matches!(action, Action::End { .. }));
                }
                Action::Deliver { exchange, session, delivery } => {
                    self.deliver((shard, exchange), session.map(|session| (shard, session)), delivery);
                }
                Action::Cancel { call, .. } => self.cancelled((shard, call)),
                Action::Writable { target: Target::Call(call) } => self.writable((shard, call)),
                Action::Writable { target: Target::Session(session) } => {
                    self.writable_session((shard, session));
                }
            }
        }
    }

    fn order(&mut self, at: At, order: impl FnOnce(At) -> Order) {
        let Some(conn) = self.peers.get(&at).copied() else { panic!("R4: {at:?} is over") };
        self.conns[conn].orders.push_back(order(at));
        self.wake(conn);
    }
}
