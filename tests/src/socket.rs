//! One connection of a server that is made of the bare core: `h1`, `Intake` and endpoints, one turn at a time, as
//! an adapter does it. The wire, the clock and the application are around it. Nothing here stands on the driver,
//! so that a server of this kind can be compared with the driver's.

use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use http::request::Parts;
use mcp_http_core::answer::{Answer, Response};
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{Budget, Endpoint, Event, ExchangeId, Frames, Lease, Principal, Pulled};
use mcp_http_core::h1;
use mcp_http_core::intake::{Admitted, Intake, NeedsBody, Verdict};
use mcp_http_core::reject::{Refusal, Reject};
use mcp_http_core::time::Timestamp;

/// One exchange of the server: the number of its endpoint, and its name there.
pub type At = (usize, ExchangeId);

/// Octets on their way, or the end of them.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Parcel {
    Bytes(Vec<u8>),
    Eof,
    Reset,
}

/// What an endpoint, or the server as a whole, orders of a connection.
#[derive(Debug)]
#[expect(missing_docs, reason = "as the actions of the same names")]
pub enum Order {
    Respond(At, Box<Response>),
    Reject(At, Box<Reject>),
    Pull(At),
    Close(At),
    /// No further request.
    Retire,
    /// Give the connection up.
    Abort,
}

/// What a connection's loop came to.
#[derive(Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Rest {
    Waiting,
    Closed,
}

/// What is around one connection.
pub trait Around {
    /// The configuration.
    fn config(&self) -> &Arc<Config>;
    /// The judge.
    fn intake(&self) -> &Intake;
    /// The server's memory.
    fn budget(&self) -> &Arc<Budget>;
    /// The endpoints.
    fn shards(&mut self) -> &mut [Endpoint];

    /// A reading of the clock, which may be a little old when it is used.
    fn now(&mut self) -> Timestamp;
    /// The time by which deadlines are judged.
    fn exact(&self) -> Timestamp;
    /// What `Date` says.
    fn date(&self) -> Option<HeaderValue> {
        None
    }

    /// The oldest order for this connection.
    fn next_order(&mut self) -> Option<Order>;
    /// What came next.
    fn read(&mut self) -> Option<Parcel>;
    /// Whether what came next is a reset, which is heard at once.
    fn is_reset(&self) -> bool;
    /// Takes octets, if there is room: how many, and when.
    fn write(&mut self, slices: &[IoSlice<'_>]) -> Option<(usize, Timestamp)>;
    /// The server writes no more.
    fn shut(&mut self);

    /// The auth hook.
    ///
    /// # Errors
    /// How it refuses.
    fn authorize(&mut self, head: &Parts) -> Result<Option<Principal>, Refusal>;
    /// Whether one more session may be opened now.
    fn may_open_session(&mut self, head: &Parts) -> bool;
    /// Gives a request to an endpoint, and carries out what that orders.
    fn admit(&mut self, admitted: Admitted, head: &Parts, who: Option<Principal>) -> At;
    /// Tells an endpoint, and carries out what that orders.
    fn tell(&mut self, shard: usize, event: Event);
    /// Pulls, and carries out what that orders.
    fn pull(&mut self, at: At, budget: usize, into: &mut Frames) -> Pulled;
    /// A request was refused.
    fn refused(&mut self, refusal: &Refusal);
}

/// The server's end of one connection.
#[derive(Debug)]
pub struct Socket {
    h1: h1::Connection,
    /// What has come of the next head.
    head: Lease,
    stage: Stage,
    pulling: bool,
    shut_due: bool,
    frames: Frames,
}

#[derive(Debug)]
enum Stage {
    Idle,
    Reading(Box<Reading>),
    /// The request counts until its response begins.
    Serving(At, Lease),
    Answered,
}

#[derive(Debug)]
struct Reading {
    needs: NeedsBody,
    head: Parts,
    who: Option<Principal>,
    body: Vec<u8>,
    lease: Lease,
}

/// What one turn came to.
enum Turn {
    Moved,
    Rests(Rest),
}

impl Socket {
    /// A connection that was accepted just now.
    #[must_use]
    pub fn new(limits: h1::Limits, budget: &Arc<Budget>, now: Timestamp) -> Socket {
        Socket {
            h1: h1::Connection::new(limits, now),
            head: budget.lease(),
            stage: Stage::Idle,
            pulling: false,
            shut_due: false,
            frames: Frames::new(),
        }
    }

    /// When it has to have its turns at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.h1.poll_timeout()
    }

    /// The exchange that an endpoint has.
    #[must_use]
    pub fn serves(&self) -> Option<At> {
        match self.stage {
            Stage::Serving(at, _) => Some(at),
            Stage::Idle | Stage::Reading(_) | Stage::Answered => None,
        }
    }

    /// The wire is lost.
    pub fn abort(&mut self) {
        self.h1.abort();
    }

    /// Takes turns until everything waits.
    ///
    /// # Panics
    /// If it never does.
    pub fn run(&mut self, around: &mut impl Around) -> Rest {
        for _ in 0..10_000 {
            if let Turn::Rests(rest) = self.turn(around) {
                return rest;
            }
        }
        panic!("a connection never rests: {self:?}");
    }

    /// The connection is over, and with it what it carried.
    pub fn close(mut self, around: &mut impl Around) {
        self.end_exchange(around, |exchange| Event::Gone { exchange });
    }

    fn turn(&mut self, around: &mut impl Around) -> Turn {
        let mut moved = false;
        while let Some(order) = around.next_order() {
            moved = true;
            self.carry_out(order, around);
        }
        while let Some(event) = self.h1.next_event() {
            moved = true;
            match event {
                h1::Event::Close => return Turn::Rests(Rest::Closed),
                h1::Event::ShutdownWrite => self.shut_due = true,
                other => self.handle_h1(other, around),
            }
        }
        if moved {
            return Turn::Moved;
        }
        moved |= self.hold_head(around);
        moved |= self.pull(around);
        moved |= self.write(around);
        if self.shut_due && !self.h1.has_output() {
            self.shut_due = false;
            around.shut();
        }
        moved |= self.read(around);
        let now = around.exact();
        if self.h1.poll_timeout().is_some_and(|due| due <= now) {
            self.h1.handle_timeout(now);
            moved = true;
        }
        if moved { Turn::Moved } else { Turn::Rests(Rest::Waiting) }
    }

    /// What has come of a head counts (R8) until it is whole; where there is no memory for it, it is refused.
    fn hold_head(&mut self, around: &mut impl Around) -> bool {
        let (octets, leased) = (self.h1.head_octets(), self.head.bytes());
        if octets <= leased {
            self.head.shrink_to(octets);
            return false;
        }
        if lease_more(&mut self.head, octets - leased, around) || !self.h1.refuse_head() {
            return false;
        }
        self.head.shrink_to(0);
        self.refuse(Reject::new(Refusal::TooBusy), around);
        true
    }

    fn carry_out(&mut self, order: Order, around: &mut impl Around) {
        let at = self.serves();
        match order {
            Order::Respond(of, response) if at == Some(of) => {
                if let Stage::Serving(_, lease) = &mut self.stage {
                    lease.shrink_to(0);
                }
                self.respond(response.into_answer(), around);
            }
            Order::Reject(of, reject) if at == Some(of) => self.refuse(*reject, around),
            Order::Pull(of) if at == Some(of) => self.pulling = true,
            Order::Close(of) if at == Some(of) => {
                self.stage = Stage::Answered;
                self.h1.abort();
            }
            // The exchange is over, and with it what was ordered of it.
            Order::Respond(..) | Order::Reject(..) | Order::Pull(_) | Order::Close(_) => {}
            Order::Retire => self.h1.close_after_response(),
            Order::Abort => self.h1.abort(),
        }
    }

    fn respond(&mut self, answer: Answer, around: &mut impl Around) {
        if answer.close {
            self.h1.close_after_response();
        }
        let (now, date) = (around.now(), around.date());
        let sent = self.h1.respond(answer.status, &answer.fields, answer.body, date.as_ref(), now);
        self.check(sent);
    }

    fn refuse(&mut self, reject: Reject, around: &mut impl Around) {
        around.refused(&reject.refusal);
        self.answer(reject.into_answer(), around);
    }

    /// Answers what no endpoint knows, or knows no longer.
    fn answer(&mut self, answer: Answer, around: &mut impl Around) {
        self.stage = Stage::Answered;
        self.pulling = false;
        self.respond(answer, around);
    }

    fn handle_h1(&mut self, event: h1::Event, around: &mut impl Around) {
        match event {
            h1::Event::Request(request) => self.judge(request.parts, around),
            h1::Event::Data(data) => self.collect(&data, around),
            h1::Event::BodyEnd => self.body_is_whole(around),
            h1::Event::Fault(fault) => {
                let reject = match std::mem::replace(&mut self.stage, Stage::Answered) {
                    Stage::Reading(reading) => {
                        let limit = reading.needs.limit();
                        reading.needs.refuse(match fault {
                            // Counted here or announced, it is the same refusal.
                            h1::Fault::BodyTooLarge => Refusal::BodyTooLarge { limit },
                            _ => Refusal::Http(fault),
                        })
                    }
                    Stage::Idle | Stage::Serving(..) | Stage::Answered => Reject::new(Refusal::Http(fault)),
                };
                self.refuse(reject, around);
            }
            h1::Event::Flushed => self.end_exchange(around, |exchange| Event::Flushed { exchange }),
            h1::Event::Gone => self.end_exchange(around, |exchange| Event::Gone { exchange }),
            h1::Event::HalfClosed => {
                if let Some((shard, exchange)) = self.serves() {
                    around.tell(shard, Event::HalfClosed { exchange });
                }
            }
            h1::Event::ShutdownWrite | h1::Event::Close => {}
        }
    }

    fn judge(&mut self, head: Parts, around: &mut impl Around) {
        let mut lease = around.budget().lease();
        let verdict = around.intake().head(&head);
        match verdict {
            Verdict::Reject(reject) => self.refuse(reject, around),
            Verdict::Answer(answer) => self.answer(*answer, around),
            Verdict::Health | Verdict::Stats => panic!("nobody asks for these"),
            Verdict::Admit(admitted) => match let_in(&head, None, &mut lease, around) {
                Ok(who) => self.admit(admitted, &head, who, lease, around),
                Err(refusal) => self.refuse(admitted.refuse(refusal), around),
            },
            Verdict::Body(needs) => match let_in(&head, Some(&needs), &mut lease, around) {
                Ok(who) => {
                    let (limit, body) = (needs.limit(), Vec::new());
                    self.stage = Stage::Reading(Box::new(Reading { needs, head, who, body, lease }));
                    self.h1.read_body(limit, around.now());
                }
                Err(refusal) => self.refuse(needs.refuse(refusal), around),
            },
        }
    }

    fn collect(&mut self, data: &[u8], around: &mut impl Around) {
        let Stage::Reading(reading) = &mut self.stage else { return };
        if lease_more(&mut reading.lease, data.len(), around) {
            reading.body.extend_from_slice(data);
        } else if let Stage::Reading(reading) = std::mem::replace(&mut self.stage, Stage::Idle) {
            self.refuse(reading.needs.refuse(Refusal::TooBusy), around);
        }
    }

    fn body_is_whole(&mut self, around: &mut impl Around) {
        let Stage::Reading(reading) = std::mem::replace(&mut self.stage, Stage::Idle) else { return };
        let Reading { needs, head, who, body, lease } = *reading;
        match needs.body(Bytes::from(body)) {
            Ok(admitted) => self.admit(admitted, &head, who, lease, around),
            Err(reject) => self.refuse(reject, around),
        }
    }

    fn admit(
        &mut self,
        admitted: Admitted,
        head: &Parts,
        who: Option<Principal>,
        lease: Lease,
        around: &mut impl Around,
    ) {
        if admitted.opens_session() && !around.may_open_session(head) {
            return self.refuse(admitted.refuse(Refusal::TooFast), around);
        }
        self.pulling = false;
        self.stage = Stage::Serving(around.admit(admitted, head, who), lease);
    }

    fn end_exchange(&mut self, around: &mut impl Around, event: impl FnOnce(ExchangeId) -> Event) {
        self.pulling = false;
        if let Stage::Serving((shard, exchange), _) = std::mem::replace(&mut self.stage, Stage::Idle) {
            around.tell(shard, event(exchange));
        }
    }

    fn pull(&mut self, around: &mut impl Around) -> bool {
        let Some(at) = self.serves() else { return false };
        let budget = around.config().pull_bytes_max;
        if !self.pulling || self.h1.unwritten() >= budget {
            return false;
        }
        let pulled = around.pull(at, budget, &mut self.frames);
        let now = around.now();
        let mut sent = Ok(());
        let mut some = false;
        for frame in self.frames.drain() {
            some = true;
            sent = sent.and_then(|()| self.h1.send(frame, now));
        }
        match pulled {
            Pulled::More => assert!(some, "R9: more, and nothing was given"),
            Pulled::Idle | Pulled::Gone => self.pulling = false,
            Pulled::End => {
                self.pulling = false;
                sent = sent.and_then(|()| self.h1.finish(now));
            }
        }
        self.check(sent);
        true
    }

    fn write(&mut self, around: &mut impl Around) -> bool {
        let mut moved = false;
        while self.h1.has_output() {
            let mut slices = [IoSlice::new(&[]); 8];
            let filled = self.h1.output(&mut slices);
            let Some((written, now)) = around.write(&slices[..filled]) else { break };
            self.h1.wrote(written, now);
            moved = true;
        }
        moved
    }

    fn read(&mut self, around: &mut impl Around) -> bool {
        if around.is_reset() {
            around.read();
            self.h1.abort();
            return true;
        }
        if !self.h1.wants_read() {
            return false;
        }
        let now = around.now();
        match around.read() {
            Some(Parcel::Bytes(bytes)) => self.h1.receive(&bytes, now),
            Some(Parcel::Eof) => self.h1.receive_eof(now),
            Some(Parcel::Reset) | None => return false,
        }
        true
    }

    fn check(&mut self, sent: Result<(), h1::Misuse>) {
        match sent {
            Ok(()) => {}
            // The peer is gone in the meantime.
            Err(h1::Misuse::Closed) => self.h1.abort(),
            Err(misuse) => panic!("{misuse}: {self:?}"),
        }
    }
}

/// Between the judgement of the head and what follows: memory, the auth hook, and the early look-up.
fn let_in(
    head: &Parts,
    needs: Option<&NeedsBody>,
    lease: &mut Lease,
    around: &mut impl Around,
) -> Result<Option<Principal>, Refusal> {
    if !lease_more(lease, octets(head), around) {
        return Err(Refusal::TooBusy);
    }
    let who = around.authorize(head)?;
    needs.map_or(Ok(()), |needs| glance(needs, who.as_ref(), around.shards()))?;
    Ok(who)
}

/// Leases more of the server's memory; what is kept only for a resume goes for it.
fn lease_more(lease: &mut Lease, octets: usize, around: &mut impl Around) -> bool {
    let memory_max = around.config().memory_max;
    let mut grown = lease.grow(octets, memory_max);
    for shard in around.shards() {
        if !grown {
            shard.give_up_retained(octets);
            grown = lease.grow(octets, memory_max);
        }
    }
    grown
}

/// About as many as the head had on the wire.
fn octets(head: &Parts) -> usize {
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let fields = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    target + fields.sum::<usize>()
}

/// A body for a session that is not there need not be read.
fn glance(needs: &NeedsBody, who: Option<&Principal>, shards: &[Endpoint]) -> Result<(), Refusal> {
    let Some(session) = needs.session() else { return Ok(()) };
    let shard = session.shard().map_or(0, |shard| usize::from(shard.0));
    let shard = shards.get(shard).ok_or(Refusal::UnknownSession)?;
    shard.glance(session, who).map_err(|reject| reject.refusal)
}
