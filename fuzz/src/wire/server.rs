//! The server's side: connections, the intake and one endpoint, as an adapter drives them.

use std::collections::{BTreeMap, VecDeque};
use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use mcp_http_core::answer::Answer;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{
    Action, Actions, Budget, Endpoint, Event, ExchangeId, Frames, Lease, Outbound, Pulled, SendError, Target,
    Topic,
};
use mcp_http_core::h1::{self, Connection};
use mcp_http_core::intake::{Admitted, Intake, NeedsBody, Verdict};
use mcp_http_core::reject::{Refusal, Reject};
use mcp_http_core::session_id::ShardId;
use mcp_http_core::time::Timestamp;

use super::books::Books;
use super::memory::{completion_bytes_max, lease_more, octets};
use crate::bench::Counting;

/// Octets that a peer which does not read leaves under way.
const WINDOW: usize = 400;

pub(super) struct Server {
    pub(super) now: Timestamp,
    pub(super) books: Books,
    pub(super) until: Option<Timestamp>,
    pub(super) conns: Vec<Conn>,
    config: Arc<Config>,
    budget: Arc<Budget>,
    intake: Intake,
    endpoint: Endpoint,
    peers: BTreeMap<ExchangeId, usize>,
    orders: VecDeque<(usize, ExchangeId, Order)>,
    asked: u64,
}

pub(super) struct Conn {
    h1: Connection,
    /// What has come of the next head.
    head: Lease,
    stage: Stage,
    pulling: bool,
    /// What came and is not read yet.
    inbox: Vec<u8>,
    eof: bool,
    pub(super) stalled: bool,
    unread: usize,
    /// All that was written.
    pub(super) wire: Vec<u8>,
    pub(super) closed: bool,
}

enum Stage {
    Idle,
    Reading(Box<NeedsBody>, Vec<u8>, Lease),
    /// The request counts until its response begins.
    Serving(ExchangeId, Lease),
    Answered,
}

enum Order {
    Answer(Box<Answer>),
    Pull,
    Close,
}

impl Server {
    pub(super) fn new(config: Config) -> Self {
        config.check().expect("a possible configuration");
        let (config, budget) = (Arc::new(config), Arc::new(Budget::new()));
        Server {
            now: Timestamp::from_origin(Duration::from_secs(1000)),
            books: Books::default(),
            until: None,
            conns: Vec::new(),
            intake: Intake::new(config.clone()),
            endpoint: Endpoint::new(
                config.clone(),
                budget.clone(),
                ShardId(0),
                Box::new(Counting::default()),
            ),
            config,
            budget,
            peers: BTreeMap::new(),
            orders: VecDeque::new(),
            asked: 0,
        }
    }

    /// Accepts a connection; `None` behind the beginning of a shutdown.
    pub(super) fn connect(&mut self) -> Option<usize> {
        if self.until.is_some() {
            return None;
        }
        self.conns.push(Conn {
            h1: Connection::new(self.config.h1(), self.now),
            head: self.budget.lease(),
            stage: Stage::Idle,
            pulling: false,
            inbox: Vec::new(),
            eof: false,
            stalled: false,
            unread: 0,
            wire: Vec::new(),
            closed: false,
        });
        Some(self.conns.len() - 1)
    }

    pub(super) fn receive(&mut self, conn: usize, octets: &[u8]) {
        self.conns[conn].inbox.extend_from_slice(octets);
    }

    pub(super) fn receive_eof(&mut self, conn: usize) {
        self.conns[conn].eof = true;
    }

    pub(super) fn reset(&mut self, conn: usize) {
        self.conns[conn].h1.abort();
    }

    pub(super) fn stall(&mut self, conn: usize, stalled: bool) {
        self.conns[conn].stalled = stalled;
        self.conns[conn].unread = 0;
    }

    pub(super) fn retire_all(&mut self) {
        for conn in self.conns.iter_mut().filter(|conn| !conn.closed) {
            conn.h1.close_after_response();
        }
    }

    pub(super) fn questions(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// Everything that can be done now is done.
    pub(super) fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut moved = self.carry_out();
            for conn in 0..self.conns.len() {
                moved |= !self.conns[conn].closed && self.turn(conn);
            }
            if !moved {
                return self.check_memory();
            }
        }
        panic!("R9: it never rests");
    }

    pub(super) fn advance_to_next(&mut self) {
        let endpoint = self.endpoint.poll_timeout();
        let conns = self.conns.iter().filter(|conn| !conn.closed).filter_map(|conn| conn.h1.poll_timeout());
        if let Some(next) = conns.chain(endpoint).min() {
            self.go_on(next);
        }
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.go_on(self.now.after(by));
    }

    fn go_on(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        for _ in 0..64 {
            self.with(|endpoint, now, out| endpoint.handle_timeout(now, out));
            if self.endpoint.poll_timeout().is_none_or(|next| next > self.now) {
                break;
            }
        }
        let next = self.endpoint.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "R9: {next:?} is due at {:?}", self.now);
        for conn in self.conns.iter_mut().filter(|conn| !conn.closed) {
            conn.h1.handle_timeout(self.now);
        }
    }

    /// Lets the time of a shutdown go by; then the connections that are left are closed.
    pub(super) fn drain(&mut self) {
        let until = self.until.expect("it shuts down");
        self.settle();
        while self.endpoint.poll_timeout().is_some() {
            assert!(self.endpoint.poll_timeout() <= Some(until.max(self.now)), "R14: due after the end");
            self.advance_to_next();
            self.settle();
        }
        self.now = self.now.max(until);
        for conn in self.conns.iter_mut().filter(|conn| !conn.closed) {
            conn.h1.abort();
        }
        self.settle();
    }

    /// R14.
    pub(super) fn check_drained(&self) {
        let stats = self.endpoint.stats();
        assert!(stats.is_drained(), "R14: {stats:?}");
        assert_eq!((self.budget.sessions(), self.budget.buffered_bytes()), (0, 0), "R14");
        let left = (self.books.sessions.len(), self.books.calls.len(), self.books.exchanges());
        assert_eq!(left, (0, 0, 0), "R14: sessions, calls, exchanges");
        assert!(self.books.waiting.is_empty(), "R9: {:?} wait for ever", self.books.waiting);
        assert!(self.conns.iter().all(|conn| conn.closed), "R14: connections");
    }

    /// R8: beside answers, which always have room where they are small, all that is held stays within the limit.
    fn check_memory(&self) {
        let stats = self.endpoint.stats();
        let room = self.books.answered as u64;
        let held = self.budget.buffered_bytes() as u64;
        assert!(stats.buffered_bytes <= held, "R8: {stats:?}, and {held} are counted");
        assert!(held <= self.config.memory_max as u64 + room, "R8: {held} of {}", self.config.memory_max);
        assert!(stats.sessions <= 2 * self.config.sessions_max as u64, "R8: {stats:?}");
        assert_eq!(stats.exchanges, self.books.exchanges() as u64, "R4: {stats:?}");
        assert_eq!(stats.sessions, self.books.sessions.len() as u64, "R1: {stats:?}");
    }
}

/// The endpoint.
impl Server {
    pub(super) fn tell(&mut self, event: Event) {
        if let Event::Flushed { exchange } | Event::Gone { exchange } = &event {
            self.books.is_over(*exchange);
            self.peers.remove(exchange);
        }
        self.with(|endpoint, now, out| endpoint.handle(event, now, out));
    }

    pub(super) fn publish(&mut self, topic: &Topic) {
        self.with(|endpoint, _, out| endpoint.publish(topic, out));
    }

    pub(super) fn send(&mut self, to: Target, message: Outbound) -> Result<(), SendError> {
        let mut out = Actions::new();
        let sent = self.endpoint.send(to, message, self.now, &mut out);
        if matches!(sent, Err(SendError::Full(_))) {
            self.books.waiting.insert(to);
        }
        self.enter(&mut out);
        sent
    }

    fn with<R>(&mut self, call: impl FnOnce(&mut Endpoint, Timestamp, &mut Actions) -> R) -> R {
        let mut out = Actions::new();
        let given = call(&mut self.endpoint, self.now, &mut out);
        self.enter(&mut out);
        given
    }

    fn enter(&mut self, out: &mut Actions) {
        for action in out.drain() {
            self.books.enter(&action);
            let (exchange, order) = match action {
                Action::Respond { exchange, response } => {
                    (exchange, Order::Answer(Box::new(response.into_answer())))
                }
                Action::Reject { exchange, reject } => {
                    (exchange, Order::Answer(Box::new(reject.into_answer())))
                }
                Action::Pull { exchange } => (exchange, Order::Pull),
                Action::Close { exchange } => (exchange, Order::Close),
                _ => continue,
            };
            let Some(conn) = self.peers.get(&exchange) else { panic!("R4: {exchange:?} is over") };
            self.orders.push_back((*conn, exchange, order));
        }
    }

    fn carry_out(&mut self) -> bool {
        let moved = !self.orders.is_empty();
        while let Some((conn, of, order)) = self.orders.pop_front() {
            match &self.conns[conn].stage {
                Stage::Serving(exchange, _) if *exchange == of => {}
                // The exchange is over.
                _ => continue,
            }
            match order {
                Order::Answer(answer) => {
                    if let Stage::Serving(_, lease) = &mut self.conns[conn].stage {
                        lease.shrink_to(0);
                    }
                    self.respond(conn, *answer);
                }
                Order::Pull => self.conns[conn].pulling = true,
                Order::Close => {
                    self.conns[conn].stage = Stage::Answered;
                    self.conns[conn].h1.abort();
                }
            }
        }
        moved
    }
}

/// One connection.
impl Server {
    /// Whether anything was done.
    fn turn(&mut self, conn: usize) -> bool {
        let mut moved = false;
        while let Some(event) = self.conns[conn].h1.next_event() {
            moved = true;
            self.handle_h1(conn, event);
            if self.conns[conn].closed || !self.orders.is_empty() {
                return true;
            }
        }
        moved | self.hold_head(conn) | self.pull(conn) | self.write(conn) | self.read(conn)
    }

    /// What has come of a head counts (R8) until it is whole; where there is no memory for it, it is refused.
    fn hold_head(&mut self, conn: usize) -> bool {
        let there = &mut self.conns[conn];
        let (octets, leased) = (there.h1.head_octets(), there.head.bytes());
        if octets <= leased {
            there.head.shrink_to(octets);
            return false;
        }
        let grown = lease_more(&mut there.head, octets - leased, &self.config, &mut self.endpoint);
        if grown || !there.h1.refuse_head() {
            return false;
        }
        there.head.shrink_to(0);
        self.refuse(conn, Reject::new(Refusal::TooBusy));
        true
    }

    fn judge(&mut self, conn: usize, head: &Parts) {
        let mut lease = self.budget.lease();
        let is_held = lease_more(&mut lease, octets(head), &self.config, &mut self.endpoint);
        match self.intake.head(head) {
            Verdict::Reject(reject) => self.refuse(conn, reject),
            Verdict::Answer(answer) => self.answer(conn, *answer),
            Verdict::Health | Verdict::Stats => panic!("there is no such path"),
            Verdict::Admit(admitted) if is_held => self.admit(conn, admitted, lease),
            Verdict::Admit(admitted) => self.refuse(conn, admitted.refuse(Refusal::TooBusy)),
            Verdict::Body(needs) => {
                let glanced = match needs.session() {
                    _ if !is_held => Err(Refusal::TooBusy),
                    Some(session) => self.endpoint.glance(session, None).map_err(|reject| reject.refusal),
                    None => Ok(()),
                };
                if let Err(refusal) = glanced {
                    return self.refuse(conn, needs.refuse(refusal));
                }
                let limit = needs.limit();
                self.conns[conn].stage = Stage::Reading(Box::new(needs), Vec::new(), lease);
                self.conns[conn].h1.read_body(limit, self.now);
            }
        }
    }

    fn handle_h1(&mut self, conn: usize, event: h1::Event) {
        match event {
            h1::Event::Request(request) => self.judge(conn, &request.parts),
            h1::Event::Data(data) => self.collect(conn, &data),
            h1::Event::BodyEnd => {
                let stage = std::mem::replace(&mut self.conns[conn].stage, Stage::Idle);
                let Stage::Reading(needs, body, lease) = stage else { return self.conns[conn].stage = stage };
                match needs.body(Bytes::from(body)) {
                    Ok(admitted) => self.admit(conn, admitted, lease),
                    Err(reject) => self.refuse(conn, reject),
                }
            }
            h1::Event::Fault(fault) => self.refuse(conn, Reject::new(Refusal::Http(fault))),
            h1::Event::Flushed => self.end_exchange(conn, |exchange| Event::Flushed { exchange }),
            h1::Event::Gone => self.end_exchange(conn, |exchange| Event::Gone { exchange }),
            h1::Event::HalfClosed => {
                if let Stage::Serving(exchange, _) = self.conns[conn].stage {
                    self.tell(Event::HalfClosed { exchange });
                }
            }
            h1::Event::ShutdownWrite => {}
            h1::Event::Close => {
                self.end_exchange(conn, |exchange| Event::Gone { exchange });
                self.conns[conn].closed = true;
                self.conns[conn].head.shrink_to(0);
            }
        }
    }

    fn collect(&mut self, conn: usize, data: &[u8]) {
        let Stage::Reading(needs, body, lease) = &mut self.conns[conn].stage else { return };
        if lease_more(lease, data.len(), &self.config, &mut self.endpoint) {
            body.extend_from_slice(data);
        } else {
            let reject = needs.refuse(Refusal::TooBusy);
            self.refuse(conn, reject);
        }
    }

    fn admit(&mut self, conn: usize, admitted: Admitted, lease: Lease) {
        let mut out = Actions::new();
        self.books.answered += completion_bytes_max(&admitted);
        let exchange = self.endpoint.admit(admitted, None, self.now, &mut out);
        self.books.admit(exchange);
        self.peers.insert(exchange, conn);
        self.conns[conn].pulling = false;
        self.conns[conn].stage = Stage::Serving(exchange, lease);
        self.enter(&mut out);
    }

    fn refuse(&mut self, conn: usize, reject: Reject) {
        self.answer(conn, reject.into_answer());
    }

    /// Answers what no endpoint knows.
    fn answer(&mut self, conn: usize, answer: Answer) {
        self.conns[conn].stage = Stage::Answered;
        self.respond(conn, answer);
    }

    fn respond(&mut self, conn: usize, answer: Answer) {
        let there = &mut self.conns[conn];
        if answer.close {
            there.h1.close_after_response();
        }
        match there.h1.respond(answer.status, &answer.fields, answer.body, None, self.now) {
            Ok(()) | Err(h1::Misuse::Closed) => {}
            Err(misuse) => panic!("R4: {misuse}"),
        }
    }

    fn end_exchange(&mut self, conn: usize, event: impl FnOnce(ExchangeId) -> Event) {
        self.conns[conn].pulling = false;
        let stage = std::mem::replace(&mut self.conns[conn].stage, Stage::Idle);
        if let Stage::Serving(exchange, _) = stage {
            self.tell(event(exchange));
        }
    }

    fn pull(&mut self, conn: usize) -> bool {
        let Stage::Serving(exchange, _) = self.conns[conn].stage else { return false };
        let budget = self.config.pull_bytes_max;
        if !self.conns[conn].pulling || self.conns[conn].h1.unwritten() >= budget {
            return false;
        }
        let mut frames = Frames::new();
        let pulled = self.with(|endpoint, now, out| endpoint.pull(exchange, budget, &mut frames, now, out));
        let there = &mut self.conns[conn];
        let mut sent = Ok(());
        assert!(pulled != Pulled::More || !frames.as_slice().is_empty(), "R9: more, and nothing is given");
        for frame in frames.drain() {
            sent = sent.and_then(|()| there.h1.send(frame, self.now));
        }
        there.pulling = pulled == Pulled::More;
        if pulled == Pulled::End {
            sent = sent.and_then(|()| there.h1.finish(self.now));
        }
        assert!(matches!(sent, Ok(()) | Err(h1::Misuse::Closed)), "R4: {sent:?}");
        true
    }

    fn write(&mut self, conn: usize) -> bool {
        let there = &mut self.conns[conn];
        let room = if there.stalled { WINDOW.saturating_sub(there.unread) } else { usize::MAX };
        let mut slices = [IoSlice::new(&[]); 8];
        let filled = there.h1.output(&mut slices);
        let octets: Vec<u8> =
            slices.iter().take(filled).flat_map(|slice| slice.iter()).take(room).copied().collect();
        if octets.is_empty() {
            return false;
        }
        there.h1.wrote(octets.len(), self.now);
        there.unread += octets.len();
        there.wire.extend_from_slice(&octets);
        true
    }

    fn read(&mut self, conn: usize) -> bool {
        let there = &mut self.conns[conn];
        if !there.h1.wants_read() {
            return false;
        }
        if !there.inbox.is_empty() {
            let octets = std::mem::take(&mut there.inbox);
            there.h1.receive(&octets, self.now);
            return true;
        }
        if std::mem::take(&mut there.eof) {
            there.h1.receive_eof(self.now);
            return true;
        }
        false
    }
}
