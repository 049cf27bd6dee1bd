//! The steps of a request on its way to an endpoint, whatever carries it: judged, authorized, read, admitted.
//! Not the waiting in between, which is its carrier's.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use mcp_http_core::answer::Answer;
use mcp_http_core::endpoint::{Event, ExchangeId, Lease, Principal};
use mcp_http_core::intake::{Admitted, NeedsBody, Verdict};
use mcp_http_core::reject::{Refusal, Reject};

use crate::handler::{Access, Denied, Handler, Judgement};
use crate::mailbox::{At, Handed, Mailbox};
use crate::origin::{Origin, Request};
use crate::running::Running;
use crate::runtime::Runtime;
use crate::service::Inner;

/// What passed the judgement of the head.
pub(crate) struct Admissible {
    judged: Judged,
    /// What the request takes of the server's memory: its head, and its body as it comes.
    lease: Lease,
}

enum Judged {
    Whole(Admitted),
    NeedsBody(NeedsBody),
}

/// What may come in.
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it arrives")]
pub(crate) enum Allowed {
    Whole(Arrival),
    Read(Box<Reading>),
}

/// A request whose body is being read.
pub(crate) struct Reading {
    head: Parts,
    lease: Lease,
    needs: NeedsBody,
    who: Option<Principal>,
    length: usize,
    body: Collected,
}

/// A request that an endpoint has.
pub(crate) struct Serving {
    pub(crate) at: At,
    who: Option<Principal>,
    /// What is handed over with its messages; none once the response has begun.
    request: Option<Arc<Request>>,
}

/// A body: most come in one piece, which is not copied.
enum Collected {
    Nothing,
    One(Bytes),
    Many(BytesMut),
}

/// A request as it is to be admitted, and where it came from.
pub(crate) struct Arrival {
    admitted: Admitted,
    head: Parts,
    who: Option<Principal>,
    lease: Lease,
}

impl<H: Handler, R: Runtime> Inner<H, R> {
    /// Judges a head and asks the auth hook; or answers.
    pub(crate) fn judge(&self, head: &Parts) -> Result<(Admissible, Judgement), Box<Answer>> {
        let judged = match self.intake.head(head) {
            Verdict::Reject(reject) => {
                log_misdirected(head, &reject);
                return Err(self.refusal(reject));
            }
            Verdict::Answer(answer) => return Err(answer),
            Verdict::Health => return Err(Box::new(Answer::health())),
            Verdict::Stats => return Err(Box::new(Answer::stats(self.stats().to_json()))),
            Verdict::Admit(admitted) => Judged::Whole(admitted),
            Verdict::Body(needs) => Judged::NeedsBody(needs),
        };
        let mut admissible = Admissible { judged, lease: self.budget.lease() };
        if !self.lease_more(&mut admissible.lease, octets(head)) {
            return Err(self.refusal(admissible.refuse(Refusal::TooBusy)));
        }
        let Access(judgement) = self.handler.authorize(head);
        Ok((admissible, judgement))
    }

    /// Goes by what the auth hook said.
    pub(crate) fn authorized(
        &self,
        head: Parts,
        admissible: Admissible,
        result: Result<Option<Principal>, Denied>,
    ) -> Result<Allowed, Box<Answer>> {
        let who = match result {
            Ok(who) => who,
            Err(denied) => {
                let refusal = match denied {
                    Denied::Challenge(challenge) => Refusal::Unauthorized(challenge),
                    Denied::Forbidden => Refusal::Forbidden,
                };
                return Err(self.refusal(admissible.refuse(refusal)));
            }
        };
        let Admissible { judged, lease } = admissible;
        match judged {
            Judged::Whole(admitted) => Ok(Allowed::Whole(Arrival { admitted, head, who, lease })),
            Judged::NeedsBody(needs) => {
                if let Err(refusal) = self.glance(&needs, who.as_ref()) {
                    return Err(self.refusal(needs.refuse(refusal)));
                }
                let body = Collected::Nothing;
                Ok(Allowed::Read(Box::new(Reading { head, lease, needs, who, length: 0, body })))
            }
        }
    }

    /// A body for a session that is not there need not be read.
    fn glance(&self, needs: &NeedsBody, who: Option<&Principal>) -> Result<(), Refusal> {
        let Some(session) = needs.session() else { return Ok(()) };
        let shard = session.shard().and_then(|shard| self.shard(shard));
        match shard {
            Some(shard) => shard.glance(session, who).map_err(|reject| reject.refusal),
            None => Err(Refusal::UnknownSession),
        }
    }

    /// Gives a request to an endpoint; or answers. `peer` is who sent it, as the port says it.
    pub(crate) fn admit(
        &self,
        arrival: Arrival,
        peer: Option<&str>,
        mailbox: &Arc<Mailbox>,
    ) -> Result<Serving, Box<Answer>> {
        let Arrival { admitted, head, who, lease } = arrival;
        if admitted.opens_session() && !self.handler.may_open_session(peer, &head, who.as_ref()) {
            return Err(self.refusal(admitted.refuse(Refusal::TooFast)));
        }
        // An id that names no shard of ours is refused by whichever is asked.
        let named = admitted.session().and_then(|session| session.shard());
        let shard = match named.filter(|shard| self.shard(*shard).is_some()) {
            Some(shard) => shard,
            None if admitted.opens_session() => self.shard_for_session(),
            None => self.any_shard(),
        };
        let Some(shard) = self.shard(shard) else {
            return Err(self.refusal(admitted.refuse(Refusal::UnknownSession)));
        };
        let at = shard.admit(admitted, who.clone(), self.now(), mailbox, self, &self.port);
        Ok(Serving { at, who, request: Some(Arc::new(Request { head, _lease: lease })) })
    }

    /// The answer that refuses.
    pub(crate) fn refusal(&self, reject: Reject) -> Box<Answer> {
        tracing::debug!(reason = reject.refusal.name(), "refused");
        self.count_refusal(&reject.refusal);
        Box::new(reject.into_answer())
    }

    pub(crate) fn tell(&self, at: At, event: impl FnOnce(ExchangeId) -> Event) {
        if let Some(shard) = self.shard(at.shard) {
            shard.handle(event(at.exchange), self.now(), self, &self.port);
        }
    }
}

impl Admissible {
    fn refuse(&self, refusal: Refusal) -> Reject {
        match &self.judged {
            Judged::Whole(admitted) => admitted.refuse(refusal),
            Judged::NeedsBody(needs) => needs.refuse(refusal),
        }
    }
}

impl Reading {
    /// How long the body may be.
    pub(crate) fn limit(&self) -> usize {
        self.needs.limit()
    }

    pub(crate) fn refuse(&self, refusal: Refusal) -> Reject {
        self.needs.refuse(refusal)
    }

    /// Takes a piece. Bytes are counted as they come, whatever was declared (L1).
    pub(crate) fn push<H: Handler, R: Runtime>(
        &mut self,
        data: Bytes,
        server: &Inner<H, R>,
    ) -> Result<(), Refusal> {
        let limit = self.needs.limit();
        self.length = self.length.saturating_add(data.len());
        if self.length > limit {
            return Err(Refusal::BodyTooLarge { limit });
        }
        if !server.lease_more(&mut self.lease, data.len()) {
            return Err(Refusal::TooBusy);
        }
        self.body.push(data);
        Ok(())
    }

    /// Judges the body, which is whole.
    pub(crate) fn finish(self) -> Result<Arrival, Reject> {
        let admitted = self.needs.body(self.body.into_bytes())?;
        Ok(Arrival { admitted, head: self.head, who: self.who, lease: self.lease })
    }
}

impl Serving {
    /// The response has begun: everything was handed over.
    pub(crate) fn release_request(&mut self) {
        self.request = None;
    }

    /// Hands a message to the application. `None` if it is not of this exchange, or there is nothing to do.
    pub(crate) fn start<H: Handler, R: Runtime>(
        &self,
        at: At,
        handed: Handed,
        server: &Arc<Inner<H, R>>,
    ) -> Option<Running> {
        let request = self.request.as_ref().filter(|_| self.at == at)?;
        let request = Arc::clone(request);
        let origin = Origin { session: handed.session, principal: self.who.clone(), request };
        Running::new(server, at.shard, handed.delivery, handed.line, origin)
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

/// About as many as the head had on the wire, whatever brought it.
fn octets(head: &Parts) -> usize {
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let fields = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    target + fields.sum::<usize>()
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
