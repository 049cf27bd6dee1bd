//! The server's side: sockets, `h1`, `Intake` and endpoints, one turn of a connection at a time, as an adapter
//! does it.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;
use http::request::Parts;
use mcp_http_core::answer::{Answer, Response};
use mcp_http_core::endpoint::{
    Action, Actions, Endpoint, Event, ExchangeId, Frames, Lease, Principal, Pulled, Target,
};
use mcp_http_core::h1;
use mcp_http_core::intake::{Admitted, NeedsBody, Verdict};
use mcp_http_core::reject::{Refusal, Reject};
use mcp_http_core::session_id::ShardId;
use mcp_http_core::time::Timestamp;

use super::reader::Task;
use super::{Can, MILLI, Micros, Parcel, What, World, http as wire};

/// One exchange of the server.
pub(super) type At = (usize, ExchangeId);

/// One connection, seen from both ends.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) owner: usize,
    socket: Option<Socket>,
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

#[derive(Debug)]
struct Socket {
    h1: h1::Connection,
    inbox: VecDeque<Parcel>,
    stage: Stage,
    pulling: bool,
    shut_due: bool,
    frames: Frames,
}

#[derive(Debug)]
enum Stage {
    Idle,
    Reading(Box<Reading>),
    Serving(At, #[expect(dead_code, reason = "holds memory")] Option<Lease>),
    Answered,
}

#[derive(Debug)]
struct Reading {
    needs: NeedsBody,
    who: Option<Principal>,
    body: Vec<u8>,
    lease: Lease,
}

#[derive(Debug)]
enum Order {
    Respond(At, Box<Response>),
    Reject(At, Box<Reject>),
    Pull(At),
    Close(At),
    Retire,
    Abort,
}

#[derive(PartialEq, Eq)]
enum Turn {
    Moved,
    Waiting,
    Closed,
}

impl Conn {
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.socket.as_ref()?.h1.poll_timeout()
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
        let socket = Socket {
            h1: h1::Connection::new(self.config.h1(), now),
            inbox: VecDeque::new(),
            stage: Stage::Idle,
            pulling: false,
            shut_due: false,
            frames: Frames::new(),
        };
        let window = if self.plan.can(Can::Stall) { 300 << self.dice.below(8) } else { 65536 };
        self.conns.push(Conn {
            owner,
            socket: is_accepted.then_some(socket),
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
        if let Some(socket) = &mut self.conns[conn].socket {
            if matches!(parcel, Parcel::Reset) {
                // What was not read yet is lost with it.
                socket.inbox.clear();
            }
            socket.inbox.push_back(parcel);
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
        match socket.stage {
            Stage::Serving((shard, exchange), _) => self.tell(shard, Event::Stalled { exchange }),
            Stage::Idle | Stage::Reading(_) | Stage::Answered => socket.h1.abort(),
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
        for _ in 0..10_000 {
            match self.turn_once(conn, &mut socket) {
                Turn::Moved => {}
                Turn::Waiting => {
                    self.conns[conn].socket = Some(socket);
                    return;
                }
                Turn::Closed => return self.close(conn, socket),
            }
        }
        panic!("connection {conn} never rests: {socket:?}");
    }

    fn turn_once(&mut self, conn: usize, socket: &mut Socket) -> Turn {
        let mut moved = false;
        while let Some(order) = self.conns[conn].orders.pop_front() {
            moved = true;
            self.carry_out_order(order, socket);
        }
        while let Some(event) = socket.h1.next_event() {
            moved = true;
            match event {
                h1::Event::Close => return Turn::Closed,
                h1::Event::ShutdownWrite => socket.shut_due = true,
                other => self.handle_h1(conn, other, socket),
            }
        }
        if moved {
            return Turn::Moved;
        }
        moved |= self.pull(socket);
        moved |= self.write_down(conn, socket);
        if socket.shut_due && !socket.h1.has_output() {
            socket.shut_due = false;
            self.send_down(conn, Parcel::Eof);
        }
        moved |= self.read_up(socket);
        let now = self.exact(self.now);
        if socket.h1.poll_timeout().is_some_and(|due| due <= now) {
            socket.h1.handle_timeout(now);
            moved = true;
        }
        if moved { Turn::Moved } else { Turn::Waiting }
    }

    fn carry_out_order(&mut self, order: Order, socket: &mut Socket) {
        let at = match socket.stage {
            Stage::Serving(at, _) => Some(at),
            Stage::Idle | Stage::Reading(_) | Stage::Answered => None,
        };
        match order {
            Order::Respond(of, response) if at == Some(of) => self.respond(socket, response.into_answer()),
            Order::Reject(of, reject) if at == Some(of) => self.refuse(socket, *reject),
            Order::Pull(of) if at == Some(of) => socket.pulling = true,
            Order::Close(of) if at == Some(of) => {
                socket.stage = Stage::Answered;
                socket.h1.abort();
            }
            // The exchange is over, and with it what was ordered of it.
            Order::Respond(..) | Order::Reject(..) | Order::Pull(_) | Order::Close(_) => {}
            Order::Retire => socket.h1.close_after_response(),
            Order::Abort => socket.h1.abort(),
        }
    }

    fn respond(&mut self, socket: &mut Socket, answer: Answer) {
        if answer.close {
            socket.h1.close_after_response();
        }
        let now = self.time();
        let sent = socket.h1.respond(answer.status, &answer.fields, answer.body, None, now);
        check(sent, socket);
    }

    fn refuse(&mut self, socket: &mut Socket, reject: Reject) {
        self.seen.refused += 1;
        self.answer(socket, reject.into_answer());
    }

    /// Answers what no endpoint knows, or knows no longer.
    fn answer(&mut self, socket: &mut Socket, answer: Answer) {
        socket.stage = Stage::Answered;
        socket.pulling = false;
        self.respond(socket, answer);
    }

    fn handle_h1(&mut self, conn: usize, event: h1::Event, socket: &mut Socket) {
        match event {
            h1::Event::Request(request) => self.judge(conn, &request.parts, socket),
            h1::Event::Data(data) => self.collect(&data, socket),
            h1::Event::BodyEnd => self.body_is_whole(conn, socket),
            h1::Event::Fault(fault) => {
                let refusal = Refusal::Http(fault);
                let reject = match std::mem::replace(&mut socket.stage, Stage::Answered) {
                    Stage::Reading(reading) => reading.needs.refuse(refusal),
                    Stage::Idle | Stage::Serving(..) | Stage::Answered => Reject::new(refusal),
                };
                self.refuse(socket, reject);
            }
            h1::Event::Flushed => self.end_exchange(socket, |exchange| Event::Flushed { exchange }),
            h1::Event::Gone => self.end_exchange(socket, |exchange| Event::Gone { exchange }),
            h1::Event::HalfClosed => {
                if let Stage::Serving((shard, exchange), _) = socket.stage {
                    self.tell(shard, Event::HalfClosed { exchange });
                }
            }
            h1::Event::ShutdownWrite | h1::Event::Close => {}
        }
    }

    fn judge(&mut self, conn: usize, head: &Parts, socket: &mut Socket) {
        let who =
            head.headers.get("authorization").map(|who| Principal(Bytes::copy_from_slice(who.as_bytes())));
        match self.intake.head(head) {
            Verdict::Reject(reject) => self.refuse(socket, reject),
            Verdict::Answer(answer) => self.answer(socket, *answer),
            Verdict::Health | Verdict::Stats => panic!("nobody asks for these"),
            Verdict::Admit(admitted) => self.admit(conn, admitted, who, None, socket),
            Verdict::Body(needs) => {
                let glanced = needs.session().map_or(Ok(()), |session| {
                    let shard = session.shard().map_or(0, |shard| usize::from(shard.0));
                    let shard = self.shards.get(shard).ok_or_else(|| Reject::new(Refusal::UnknownSession))?;
                    shard.glance(session, who.as_ref())
                });
                if let Err(reject) = glanced {
                    return self.refuse(socket, needs.refuse(reject.refusal));
                }
                let (limit, lease) = (needs.limit(), self.budget.lease());
                socket.stage = Stage::Reading(Box::new(Reading { needs, who, body: Vec::new(), lease }));
                let now = self.time();
                socket.h1.read_body(limit, now);
            }
        }
    }

    fn collect(&mut self, data: &[u8], socket: &mut Socket) {
        let Stage::Reading(reading) = &mut socket.stage else { return };
        let mut grown = reading.lease.grow(data.len(), self.config.memory_max);
        for shard in 0..self.shards.len() {
            if !grown {
                self.shards[shard].give_up_retained(data.len());
                grown = reading.lease.grow(data.len(), self.config.memory_max);
            }
        }
        if grown {
            reading.body.extend_from_slice(data);
        } else if let Stage::Reading(reading) = std::mem::replace(&mut socket.stage, Stage::Idle) {
            self.refuse(socket, reading.needs.refuse(Refusal::TooBusy));
        }
    }

    fn body_is_whole(&mut self, conn: usize, socket: &mut Socket) {
        let Stage::Reading(reading) = std::mem::replace(&mut socket.stage, Stage::Idle) else { return };
        match reading.needs.body(Bytes::from(reading.body)) {
            Ok(admitted) => self.admit(conn, admitted, reading.who, Some(reading.lease), socket),
            Err(reject) => self.refuse(socket, reject),
        }
    }

    fn admit(
        &mut self,
        conn: usize,
        admitted: Admitted,
        who: Option<Principal>,
        lease: Option<Lease>,
        socket: &mut Socket,
    ) {
        let named = admitted.session().and_then(|session| session.shard()).map(|ShardId(shard)| shard.into());
        let shard = match named.filter(|shard| *shard < self.shards.len()) {
            Some(shard) => shard,
            None if admitted.opens_session() => self.shard_for_session(),
            None => self.dice.below(self.shards.len()),
        };
        let (now, mut out) = (self.time(), Actions::new());
        let exchange = self.shards[shard].admit(admitted, who, now, &mut out);
        let at = (shard, exchange);
        socket.pulling = false;
        socket.stage = Stage::Serving(at, lease);
        self.peers.insert(at, conn);
        self.carry_out(shard, &mut out);
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

    fn end_exchange(&mut self, socket: &mut Socket, event: impl FnOnce(ExchangeId) -> Event) {
        socket.pulling = false;
        if let Stage::Serving((shard, exchange), _) = std::mem::replace(&mut socket.stage, Stage::Idle) {
            self.tell(shard, event(exchange));
        }
    }

    fn pull(&mut self, socket: &mut Socket) -> bool {
        let Stage::Serving((shard, exchange), _) = socket.stage else { return false };
        let budget = self.config.pull_bytes_max;
        if !socket.pulling || socket.h1.unwritten() >= budget {
            return false;
        }
        let frames = &mut socket.frames;
        let pulled = self.with(shard, |endpoint, now, out| endpoint.pull(exchange, budget, frames, now, out));
        let now = self.time();
        let mut sent = Ok(());
        let mut some = false;
        for frame in socket.frames.drain() {
            some = true;
            sent = sent.and_then(|()| socket.h1.send(frame, now));
        }
        match pulled {
            Pulled::More => assert!(some, "R9: more, and nothing was given"),
            Pulled::Idle | Pulled::Gone => socket.pulling = false,
            Pulled::End => {
                socket.pulling = false;
                sent = sent.and_then(|()| socket.h1.finish(now));
            }
        }
        check(sent, socket);
        true
    }

    fn write_down(&mut self, conn: usize, socket: &mut Socket) -> bool {
        let mut moved = false;
        while socket.h1.has_output() {
            let there = &self.conns[conn];
            let room = there.window.saturating_sub(there.flight);
            if room == 0 {
                break;
            }
            let most = if self.plan.can(Can::Chop) { 1 + self.dice.below(room) } else { room };
            let mut slices = [IoSlice::new(&[]); 8];
            let filled = socket.h1.output(&mut slices);
            let bytes: Vec<u8> =
                slices[..filled].iter().flat_map(|slice| slice.iter()).take(most).copied().collect();
            let now = self.time();
            socket.h1.wrote(bytes.len(), now);
            moved = true;
            let there = &mut self.conns[conn];
            there.flight += bytes.len();
            if there.vanished {
                self.await_unacked(conn);
            } else if !there.open {
                // Nobody is there: the answer is a reset.
                there.flight = 0;
                self.send_up(conn, Parcel::Reset);
            }
            self.send_down(conn, Parcel::Bytes(bytes));
        }
        moved
    }

    fn read_up(&mut self, socket: &mut Socket) -> bool {
        if matches!(socket.inbox.front(), Some(Parcel::Reset)) {
            socket.inbox.clear();
            socket.h1.abort();
            return true;
        }
        if !socket.h1.wants_read() {
            return false;
        }
        let now = self.time();
        match socket.inbox.pop_front() {
            Some(Parcel::Bytes(bytes)) => socket.h1.receive(&bytes, now),
            Some(Parcel::Eof) => socket.h1.receive_eof(now),
            Some(Parcel::Reset) | None => return false,
        }
        true
    }

    fn close(&mut self, conn: usize, mut socket: Socket) {
        self.say(|| format!("the server closes {conn}"));
        self.open.remove(&conn);
        self.end_exchange(&mut socket, |exchange| Event::Gone { exchange });
        self.send_down(conn, Parcel::Eof);
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

fn check(sent: Result<(), h1::Misuse>, socket: &mut Socket) {
    match sent {
        Ok(()) => {}
        // The peer is gone in the meantime.
        Err(h1::Misuse::Closed) => socket.h1.abort(),
        Err(misuse) => panic!("{misuse}: {socket:?}"),
    }
}
