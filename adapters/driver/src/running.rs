//! The application at work on one message. Whatever it does, panic included, its message is answered.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_http_core::endpoint::{Delivery, Event, MessageId, Outbound, Target};
use mcp_http_core::jsonrpc::ErrorObject;
use mcp_http_core::session_id::ShardId;

use crate::call::{Call, Line};
use crate::channels::Address;
use crate::handler::{Handler, Initialize, Notice};
use crate::origin::Origin;
use crate::port::Port;
use crate::runtime::Runtime;
use crate::service::Inner;

/// A future of the handler, and what to say when it is done.
pub(crate) struct Running {
    work: Pin<Box<dyn Future<Output = Done> + Send>>,
    end: Ending,
}

/// What the handler came to.
enum Done {
    Answer(Outbound),
    Taken,
}

/// Whom to tell.
struct Ending {
    port: Arc<dyn Port>,
    shard: ShardId,
    to: To,
}

enum To {
    Line(Line),
    Message(MessageId),
    /// It was told.
    Nobody,
}

impl Running {
    /// Starts the handler on a delivery. `None` if there is nothing for it to do.
    pub(crate) fn new<H: Handler, R: Runtime>(
        server: &Arc<Inner<H, R>>,
        shard: ShardId,
        delivery: Delivery,
        line: Option<Line>,
        origin: Origin,
    ) -> Option<Running> {
        let handler = Arc::clone(&server.handler);
        let port: Arc<dyn Port> = Arc::<Inner<H, R>>::clone(server);
        let (work, to): (Pin<Box<dyn Future<Output = Done> + Send>>, To) = match (delivery, line) {
            (Delivery::Initialize { request, negotiated, .. }, Some(line)) => {
                let (id, params, address) = (request.id, request.params, Address::of(&line));
                let request = Initialize { id, address, params, negotiated, origin };
                let work = async move {
                    Done::Answer(match handler.initialize(request).await {
                        Ok(initialized) => {
                            let (version, result) = initialized.into_result(negotiated);
                            Outbound::Initialized { version, result }
                        }
                        Err(error) => Outbound::Error { error },
                    })
                };
                (Box::pin(work), To::Line(line))
            }
            (Delivery::Call { request, version, .. }, Some(line)) => {
                let call = Call { request, version, origin, line: line.clone() };
                let work = async move {
                    Done::Answer(match handler.call(call).await {
                        Ok(result) => Outbound::Result { result },
                        Err(error) => Outbound::Error { error },
                    })
                };
                (Box::pin(work), To::Line(line))
            }
            (Delivery::Notice { message, notice }, _) => {
                let work = async move {
                    handler.notice(Notice { notice, origin }).await;
                    Done::Taken
                };
                (Box::pin(work), To::Message(message))
            }
            (Delivery::Reply { message, reply }, _) => {
                if let Some(session) = origin.session.clone() {
                    session.0.line().requests.answer(reply, origin);
                }
                (Box::pin(std::future::ready(Done::Taken)), To::Message(message))
            }
            (Delivery::Initialize { .. } | Delivery::Call { .. }, None) => return None,
        };
        Some(Running { work, end: Ending { port, shard, to } })
    }

    /// Goes on; ready when the message is answered.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match catch_unwind(AssertUnwindSafe(|| self.work.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => {
                self.end.tell(Some(done));
                Poll::Ready(())
            }
            Err(_) => {
                tracing::error!("a handler panicked; its message is answered with an error");
                self.end.tell(None);
                Poll::Ready(())
            }
        }
    }

    /// The rest of it, without its connection.
    pub(crate) async fn finish(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }
}

impl Ending {
    fn tell(&mut self, done: Option<Done>) {
        match (std::mem::replace(&mut self.to, To::Nobody), done) {
            (To::Line(line), done) => {
                let answer = match done {
                    Some(Done::Answer(answer)) => answer,
                    Some(Done::Taken) | None => Outbound::Error {
                        error: ErrorObject::internal("the server failed to answer this request"),
                    },
                };
                // Nobody may be waiting any more; then it goes nowhere, without noise.
                let _ = self.port.send(self.shard, Target::Call(line.call), answer);
                self.port.forget(self.shard, line.call);
            }
            (To::Message(message), _) => self.port.handle(self.shard, Event::Taken { message }),
            (To::Nobody, _) => {}
        }
    }
}

/// A future that is dropped half-way, as when its runtime ends, is answered like one that panicked.
impl Drop for Ending {
    fn drop(&mut self) {
        self.tell(None);
    }
}
