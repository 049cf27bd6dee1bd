//! One exchange on a connection, from its head to its last byte: judged, authorized, read, admitted, served.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use mcp_http_core::answer::Answer;
use mcp_http_core::endpoint::{Event, ExchangeId, Lease, Principal};
use mcp_http_core::h1;
use mcp_http_core::intake::{Admitted, NeedsBody, Verdict};
use mcp_http_core::reject::{Refusal, Reject};

use crate::connection::Connection;
use crate::handler::{Access, AccessFuture, Denied, Handler, Judgement};
use crate::mailbox::{At, Handed};
use crate::origin::Origin;
use crate::running::Running;
use crate::runtime::{Io, Runtime};

/// Where the exchange is.
pub(crate) enum Stage {
    /// There is none.
    Idle,
    /// The auth hook is at it.
    Authorizing(Box<Authorizing>),
    /// Its body is being read.
    Reading(Box<Reading>),
    /// An endpoint has it.
    Serving(Box<Serving>),
    /// It was answered here, or is over for the endpoint; the response is on its way.
    Answered,
}

pub(crate) struct Authorizing {
    access: AccessFuture,
    head: Arc<Parts>,
    admissible: Admissible,
}

/// What passed the judgement of the head.
enum Admissible {
    Whole(Admitted),
    NeedsBody(NeedsBody),
}

pub(crate) struct Reading {
    /// What the body takes of the server's memory.
    lease: Lease,
    needs: NeedsBody,
    head: Arc<Parts>,
    who: Option<Principal>,
    body: Collected,
}

pub(crate) struct Serving {
    pub(crate) at: At,
    head: Arc<Parts>,
    who: Option<Principal>,
    /// The body is in use for as long as the exchange is served: parameters are slices of it.
    _lease: Option<Lease>,
}

/// A body: most come in one piece, which is not copied.
enum Collected {
    Nothing,
    One(Bytes),
    Many(BytesMut),
}

impl<H: Handler, R: Runtime, I: Io> Connection<H, R, I> {
    pub(crate) fn handle_h1(&mut self, event: h1::Event) {
        match event {
            h1::Event::Request(request) => self.judge(request.parts),
            h1::Event::Data(data) => self.collect(data),
            h1::Event::BodyEnd => self.admit_body(),
            h1::Event::Fault(fault) => {
                // A fault in the body comes while it is read: the exchange is not admitted yet.
                let refusal = Refusal::Http(fault);
                let reject = match std::mem::replace(&mut self.stage, Stage::Answered) {
                    Stage::Reading(reading) => reading.needs.refuse(refusal),
                    Stage::Idle | Stage::Authorizing(_) | Stage::Serving(_) | Stage::Answered => {
                        Reject::new(refusal)
                    }
                };
                self.refuse(reject);
            }
            h1::Event::Flushed => self.end_exchange(|exchange| Event::Flushed { exchange }),
            h1::Event::Gone => self.end_exchange(|exchange| Event::Gone { exchange }),
            h1::Event::HalfClosed => {
                if let Stage::Serving(serving) = &self.stage {
                    self.tell(serving.at, |exchange| Event::HalfClosed { exchange });
                }
            }
            // The loop's.
            h1::Event::ShutdownWrite | h1::Event::Close => {}
        }
    }

    fn judge(&mut self, head: Parts) {
        let admissible = match self.server.intake.head(&head) {
            Verdict::Reject(reject) => {
                log_misdirected(&head, &reject);
                return self.refuse(reject);
            }
            Verdict::Answer(answer) => return self.answer(*answer),
            Verdict::Health => return self.answer(Answer::health()),
            Verdict::Stats => return self.answer(Answer::stats(self.server.stats().to_json())),
            Verdict::Admit(admitted) => Admissible::Whole(admitted),
            Verdict::Body(needs) => Admissible::NeedsBody(needs),
        };
        let Access(judgement) = self.server.handler.authorize(&head);
        let head = Arc::new(head);
        match judgement {
            Judgement::Now(result) => self.authorized(head, admissible, result),
            Judgement::Later(access) => {
                self.stage = Stage::Authorizing(Box::new(Authorizing { access, head, admissible }));
            }
        }
    }

    pub(crate) fn poll_access(&mut self, cx: &mut Context<'_>) -> bool {
        let Stage::Authorizing(authorizing) = &mut self.stage else { return false };
        let Poll::Ready(result) = authorizing.access.as_mut().poll(cx) else { return false };
        if let Stage::Authorizing(authorizing) = std::mem::replace(&mut self.stage, Stage::Idle) {
            let Authorizing { head, admissible, .. } = *authorizing;
            self.authorized(head, admissible, result);
        }
        true
    }

    fn authorized(
        &mut self,
        head: Arc<Parts>,
        admissible: Admissible,
        result: Result<Option<Principal>, Denied>,
    ) {
        let who = match result {
            Ok(who) => who,
            Err(denied) => {
                let refusal = match denied {
                    Denied::Challenge(challenge) => Refusal::Unauthorized(challenge),
                    Denied::Forbidden => Refusal::Forbidden,
                };
                let reject = match admissible {
                    Admissible::Whole(admitted) => admitted.refuse(refusal),
                    Admissible::NeedsBody(needs) => needs.refuse(refusal),
                };
                return self.refuse(reject);
            }
        };
        match admissible {
            Admissible::Whole(admitted) => self.admit(admitted, head, who, None),
            Admissible::NeedsBody(needs) => {
                if let Err(refusal) = self.glance(&needs, who.as_ref()) {
                    return self.refuse(needs.refuse(refusal));
                }
                let limit = needs.limit();
                let (lease, body) = (self.server.budget.lease(), Collected::Nothing);
                self.stage = Stage::Reading(Box::new(Reading { lease, needs, head, who, body }));
                self.h1.read_body(limit, self.server.now());
            }
        }
    }

    /// A body for a session that is not there need not be read.
    fn glance(&self, needs: &NeedsBody, who: Option<&Principal>) -> Result<(), Refusal> {
        let Some(session) = needs.session() else { return Ok(()) };
        let shard = session.shard().and_then(|shard| self.server.shard(shard));
        match shard {
            Some(shard) => shard.glance(session, who).map_err(|reject| reject.refusal),
            None => Err(Refusal::UnknownSession),
        }
    }

    fn admit_body(&mut self) {
        let Stage::Reading(reading) = std::mem::replace(&mut self.stage, Stage::Idle) else { return };
        let Reading { lease, needs, head, who, body } = *reading;
        match needs.body(body.into_bytes()) {
            Ok(admitted) => self.admit(admitted, head, who, Some(lease)),
            Err(reject) => self.refuse(reject),
        }
    }

    /// Bytes are counted as they come, whatever was declared (L1).
    fn collect(&mut self, data: Bytes) {
        let Stage::Reading(reading) = &mut self.stage else { return };
        if self.server.lease_more(&mut reading.lease, data.len()) {
            return reading.body.push(data);
        }
        if let Stage::Reading(reading) = std::mem::replace(&mut self.stage, Stage::Idle) {
            self.refuse(reading.needs.refuse(Refusal::TooBusy));
        }
    }

    fn admit(&mut self, admitted: Admitted, head: Arc<Parts>, who: Option<Principal>, lease: Option<Lease>) {
        if admitted.opens_session()
            && !self.server.handler.may_open_session(self.peer.as_deref(), &head, who.as_ref())
        {
            return self.refuse(admitted.refuse(Refusal::TooFast));
        }
        // An id that names no shard of ours is refused by whichever is asked.
        let named = admitted.session().and_then(|session| session.shard());
        let shard = match named.filter(|shard| self.server.shard(*shard).is_some()) {
            Some(shard) => shard,
            None if admitted.opens_session() => self.server.shard_for_session(),
            None => self.server.any_shard(),
        };
        let now = self.server.now();
        let Some(shard) = self.server.shard(shard) else { return };
        let at = shard.admit(admitted, who.clone(), now, &self.mailbox, &*self.server, &self.server.port);
        self.pulling = false;
        self.stage = Stage::Serving(Box::new(Serving { at, head, who, _lease: lease }));
    }

    /// Hands a message to the application.
    pub(crate) fn start(&mut self, at: At, handed: Handed) {
        let Stage::Serving(serving) = &self.stage else { return };
        if serving.at != at {
            return;
        }
        let origin = Origin {
            session: handed.session,
            principal: serving.who.clone(),
            head: Arc::clone(&serving.head),
        };
        let running = Running::new(&self.server, at.shard, handed.delivery, handed.line, origin);
        self.running.extend(running);
    }

    /// Whether this is the exchange at hand; orders about an earlier one come too late.
    pub(crate) fn is_at(&self, at: At) -> bool {
        matches!(&self.stage, Stage::Serving(serving) if serving.at == at)
    }

    pub(crate) fn refuse(&mut self, reject: Reject) {
        tracing::debug!(reason = reject.refusal.name(), "refused");
        self.server.count_refusal(&reject.refusal);
        self.answer(reject.into_answer());
    }

    /// Answers what no endpoint knows, or knows no longer.
    fn answer(&mut self, answer: Answer) {
        self.stage = Stage::Answered;
        self.pulling = false;
        self.respond(answer);
    }

    fn end_exchange(&mut self, event: impl FnOnce(ExchangeId) -> Event) {
        self.pulling = false;
        if let Stage::Serving(serving) = std::mem::replace(&mut self.stage, Stage::Idle) {
            self.tell(serving.at, event);
        }
    }

    pub(crate) fn tell(&self, at: At, event: impl FnOnce(ExchangeId) -> Event) {
        if let Some(shard) = self.server.shard(at.shard) {
            shard.handle(event(at.exchange), self.server.now(), &*self.server, &self.server.port);
        }
    }
}

impl Collected {
    fn push(&mut self, data: Bytes) {
        *self = match std::mem::replace(self, Collected::Nothing) {
            Collected::Nothing => Collected::One(data),
            Collected::One(first) => {
                let mut all = BytesMut::from(first);
                all.extend_from_slice(&data);
                Collected::Many(all)
            }
            Collected::Many(mut all) => {
                all.extend_from_slice(&data);
                Collected::Many(all)
            }
        };
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Collected::Nothing => Bytes::new(),
            Collected::One(body) => body,
            Collected::Many(body) => body.freeze(),
        }
    }
}

/// A refused Host or Origin is the one refusal an operator has to see: it is either an attack or a missing
/// entry in an allow-list. Shortened and escaped, since it is the client's text.
fn log_misdirected(head: &Parts, reject: &Reject) {
    let name = match reject.refusal {
        Refusal::HostNotAllowed => http::header::HOST,
        Refusal::OriginNotAllowed => http::header::ORIGIN,
        _ => return,
    };
    let target = head.uri.authority().filter(|_| name == http::header::HOST);
    let field = head.headers.get(&name).map_or(&b""[..], |value| value.as_bytes());
    let value = target.map_or(field, |authority| authority.as_str().as_bytes());
    let shown = value.get(..64).unwrap_or(value).escape_ascii();
    tracing::warn!(field = name.as_str(), value = %shown, "refused: not on the allow-list");
}
