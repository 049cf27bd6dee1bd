//! One exchange on a connection, from its head to its last byte: judged, authorized, read, admitted, served.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use mcp_http_core::answer::Answer;
use mcp_http_core::endpoint::{Event, ExchangeId, Principal};
use mcp_http_core::h1;
use mcp_http_core::reject::{Refusal, Reject};

use crate::admission::{Admissible, Allowed, Arrival, Reading, Serving};
use crate::connection::Connection;
use crate::handler::{AccessFuture, Denied, Handler, Judgement};
use crate::mailbox::{At, Handed};
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
    head: Parts,
    admissible: Admissible,
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
                    Stage::Reading(reading) => reading.refuse(match fault {
                        // Counted here or by another stack, it is the same refusal.
                        h1::Fault::BodyTooLarge => Refusal::BodyTooLarge { limit: reading.limit() },
                        _ => refusal,
                    }),
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
                    self.server.tell(serving.at, |exchange| Event::HalfClosed { exchange });
                }
            }
            // The loop's.
            h1::Event::ShutdownWrite | h1::Event::Close => {}
        }
    }

    fn judge(&mut self, head: Parts) {
        // It is whole, and counts as what it is now.
        self.head.shrink_to(0);
        match self.server.judge(&head) {
            Err(answer) => self.answer(answer),
            Ok((admissible, Judgement::Now(result))) => self.authorized(head, admissible, result),
            Ok((admissible, Judgement::Later(access))) => {
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

    fn authorized(&mut self, head: Parts, admissible: Admissible, result: Result<Option<Principal>, Denied>) {
        match self.server.authorized(head, admissible, result) {
            Err(answer) => self.answer(answer),
            Ok(Allowed::Whole(arrival)) => self.admit(arrival),
            Ok(Allowed::Read(reading)) => {
                let limit = reading.limit();
                self.stage = Stage::Reading(reading);
                self.h1.read_body(limit, self.server.now());
            }
        }
    }

    fn collect(&mut self, data: Bytes) {
        let Stage::Reading(reading) = &mut self.stage else { return };
        if let Err(refusal) = reading.push(data, &self.server) {
            let reject = reading.refuse(refusal);
            self.refuse(reject);
        }
    }

    fn admit_body(&mut self) {
        let Stage::Reading(reading) = std::mem::replace(&mut self.stage, Stage::Idle) else { return };
        match reading.finish() {
            Ok(arrival) => self.admit(arrival),
            Err(reject) => self.refuse(reject),
        }
    }

    fn admit(&mut self, arrival: Arrival) {
        match self.server.admit(arrival, self.peer.as_deref(), &self.mailbox) {
            Err(answer) => self.answer(answer),
            Ok(serving) => {
                self.pulling = false;
                self.stage = Stage::Serving(Box::new(serving));
            }
        }
    }

    /// Hands a message to the application.
    pub(crate) fn start(&mut self, at: At, handed: Handed) {
        if let Stage::Serving(serving) = &self.stage {
            self.running.extend(serving.start(at, handed, &self.server));
        }
    }

    /// Whether this is the exchange at hand; orders about an earlier one come too late.
    pub(crate) fn is_at(&self, at: At) -> bool {
        matches!(&self.stage, Stage::Serving(serving) if serving.at == at)
    }

    pub(crate) fn refuse(&mut self, reject: Reject) {
        let answer = self.server.refusal(reject);
        self.answer(answer);
    }

    /// Answers what no endpoint knows, or knows no longer.
    fn answer(&mut self, answer: Box<Answer>) {
        self.stage = Stage::Answered;
        self.pulling = false;
        self.respond(*answer);
    }

    fn end_exchange(&mut self, event: impl FnOnce(ExchangeId) -> Event) {
        self.pulling = false;
        if let Stage::Serving(serving) = std::mem::replace(&mut self.stage, Stage::Idle) {
            self.server.tell(serving.at, event);
        }
    }
}
