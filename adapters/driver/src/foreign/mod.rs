//! One exchange of an HTTP stack that is not ours: from its head and body to a response whose body streams.
//! Knows no framing; the stack's limits and deadlines for heads and connections are the stack's.
//!
//! Who adapts a stack hands each request to [`Service::respond`], and polls the response's [`Outgoing`] as fast
//! as the peer reads. To let go of the future, or of `Outgoing` before its last frame, says that the client is
//! gone; to let go of it after the last frame says that the client has it all.

mod outgoing;
mod watch;

use std::future::{Future, poll_fn};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use mcp_http_core::answer::Answer;
use mcp_http_core::h1::{Body, Fault};
use mcp_http_core::reject::{Refusal, Reject};

pub use self::outgoing::{Aborted, Outgoing};

use self::outgoing::Exchange;
use crate::admission::{Allowed, Reading, Serving};
use crate::handler::{Handler, Judgement};
use crate::mailbox::Order;
use crate::runtime::Runtime;
use crate::service::{Inner, Service};

/// A request's body, as the stack reads it.
pub trait Incoming: Send + Unpin + 'static {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// It was cut short.
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>>;
}

impl<H: Handler, R: Runtime> Service<H, R> {
    /// Answers one request of another HTTP stack. What outer layers put into `head.extensions` reaches the
    /// handler. The body is not polled before the head was judged, so that `100 Continue` is not sent in vain.
    pub fn respond<B: Incoming>(
        &self,
        head: Parts,
        body: B,
    ) -> impl Future<Output = Response<Outgoing<H, R>>> + Send + use<H, R, B> {
        respond(Exchange::open(Arc::clone(&self.0)), head, body)
    }
}

async fn respond<H: Handler, R: Runtime, B: Incoming>(
    mut exchange: Exchange<H, R>,
    head: Parts,
    body: B,
) -> Response<Outgoing<H, R>> {
    let answer = match admit(&exchange, head, body).await {
        Ok(serving) => {
            exchange.serving = Some(serving);
            poll_fn(|cx| poll_answer(&mut exchange, cx)).await
        }
        Err(answer) => answer,
    };
    let Answer { status, fields, body, close: _ } = *answer;
    let mut response = Response::new(match body {
        Body::Empty => Outgoing::whole(exchange, None),
        Body::Full(body) => Outgoing::whole(exchange, Some(body)),
        Body::Stream => Outgoing::stream(exchange),
    });
    *response.status_mut() = status;
    for (name, value) in fields {
        // There is room: these are a handful.
        let _ = response.headers_mut().try_append(name, value);
    }
    response
}

async fn admit<H: Handler, R: Runtime, B: Incoming>(
    exchange: &Exchange<H, R>,
    head: Parts,
    body: B,
) -> Result<Serving, Box<Answer>> {
    let server = &exchange.server;
    let (admissible, judgement) = server.judge(&head)?;
    let judgement = match judgement {
        Judgement::Now(judgement) => judgement,
        Judgement::Later(access) => access.await,
    };
    let arrival = match server.authorized(head, admissible, judgement)? {
        Allowed::Whole(arrival) => arrival,
        Allowed::Read(mut reading) => {
            let read = read(server, &mut reading, body).await.map_err(|refusal| reading.refuse(refusal));
            let arrival = read.and_then(|()| reading.finish());
            arrival.map_err(|reject| server.refusal(reject))?
        }
    };
    server.admit(arrival, None, &exchange.mailbox)
}

/// Reads a body. It has the same limits as on our own connections, whatever the stack's are.
async fn read<H: Handler, R: Runtime, B: Incoming>(
    server: &Inner<H, R>,
    reading: &mut Reading,
    mut body: B,
) -> Result<(), Refusal> {
    let mut deadline = None;
    poll_fn(|cx| {
        loop {
            match body.poll_data(cx) {
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Ready(Some(Ok(data))) => {
                    if let Err(refusal) = reading.push(data, server) {
                        return Poll::Ready(Err(refusal));
                    }
                }
                Poll::Ready(Some(Err(_))) => {
                    return Poll::Ready(Err(Refusal::Http(Fault::BodyTruncated)));
                }
                Poll::Pending => {
                    let until = || server.instant(server.now().after(server.config.body_read));
                    let sleep = || Box::pin(server.runtime.sleep_until(until()));
                    let late = deadline.get_or_insert_with(sleep).as_mut().poll(cx);
                    return late.map(|()| Err(Refusal::Http(Fault::BodyTimeout)));
                }
            }
        }
    })
    .await
}

/// Follows the endpoint's orders until one of them is what to answer.
fn poll_answer<H: Handler, R: Runtime>(
    exchange: &mut Exchange<H, R>,
    cx: &mut Context<'_>,
) -> Poll<Box<Answer>> {
    while let Some(order) = exchange.mailbox.take(cx) {
        match order {
            Order::Respond(at, response) if exchange.is_at(at) => {
                exchange.serving.iter_mut().for_each(Serving::release_request);
                return Poll::Ready(Box::new(response.into_answer()));
            }
            Order::Reject(at, reject) if exchange.is_at(at) => {
                exchange.serving = None;
                return Poll::Ready(exchange.server.refusal(reject));
            }
            // The stack has to be told something.
            Order::Close(_) | Order::Abort => {
                return Poll::Ready(exchange.server.refusal(Reject::new(Refusal::ShuttingDown)));
            }
            Order::Deliver(at, handed) => exchange.start(at, *handed, cx),
            // The connection is the stack's. An idle stream is not pulled before its head is out.
            Order::Respond(..) | Order::Reject(..) | Order::Pull(_) | Order::Retire => {}
        }
    }
    Poll::Pending
}
