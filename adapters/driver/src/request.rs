//! Requests to the client: sent on a stream, answered by another POST.

use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_http_core::endpoint::{Event, Outbound, SendError};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{Reply, RequestId};

use crate::origin::Origin;
use crate::route::Route;

/// Why a request to the client has no result.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// Nothing can carry it: the client reads no stream, the call is over, or the session is.
    #[error("no stream can carry a request to the client")]
    Gone,
    /// As many requests to this client are open as may be.
    #[error("too many requests to the client are open")]
    TooMany,
    /// The request is larger than `message_bytes_max`.
    #[error("the request is larger than the limit")]
    TooLarge,
    /// The client did not reply in time.
    #[error("the client did not reply in time")]
    TimedOut,
    /// The client replied with this JSON-RPC error object.
    #[error("the client replied with an error")]
    Refused(Json),
}

/// The open requests of one session.
#[derive(Default)]
pub(crate) struct Requests(Mutex<Table>);

#[derive(Default)]
struct Table {
    sent: u64,
    open: Vec<(RequestId, Waits)>,
}

/// Who waits for one reply.
enum Waits {
    Here(Arc<Slot>),
    /// Somebody who is told of it.
    Elsewhere(Taker),
}

/// Takes a reply, and where it came from.
pub(crate) type Taker = Box<dyn FnOnce(Reply, Origin) + Send>;

/// Where one reply arrives.
#[derive(Debug, Default)]
struct Slot(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    reply: Option<Result<Json, Json>>,
    waker: Option<Waker>,
}

impl Requests {
    /// Hands a reply to whoever waits for it; if nobody does, it is ignored.
    pub(crate) fn answer(&self, reply: Reply, origin: Origin) {
        match self.take(&reply.id) {
            Some(Waits::Here(slot)) => {
                let waker = {
                    let mut waiting = slot.0.lock().unwrap_or_else(PoisonError::into_inner);
                    waiting.reply = Some(reply.outcome);
                    waiting.waker.take()
                };
                waker.into_iter().for_each(Waker::wake);
            }
            Some(Waits::Elsewhere(taker)) => taker(reply, origin),
            None => {}
        }
    }

    /// Enters a request that somebody else sends, and whose reply `taker` gets. Returns the id to send it with.
    pub(crate) fn post(&self, taker: Taker) -> RequestId {
        self.enter(Waits::Elsewhere(taker))
    }

    /// Nobody waits for this one's reply any more.
    pub(crate) fn forget(&self, id: &RequestId) {
        self.take(id);
    }

    /// Sends a request and waits for its reply.
    pub(crate) async fn ask(
        &self,
        route: Route<'_>,
        method: &str,
        params: Option<Json>,
        timeout: Duration,
    ) -> Result<Json, RequestError> {
        let open = self.open(&route);
        let asked = async {
            self.send(&route, &open.id, method, params).await?;
            poll_fn(|cx| open.poll(cx)).await
        };
        let mut asked = pin!(asked);
        let mut late = pin!(route.port.sleep(timeout));
        poll_fn(|cx| match asked.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => late.as_mut().poll(cx).map(|()| Err(RequestError::TimedOut)),
        })
        .await
    }

    async fn send(
        &self,
        route: &Route<'_>,
        id: &RequestId,
        method: &str,
        params: Option<Json>,
    ) -> Result<(), RequestError> {
        let message = Outbound::Request { id: id.clone(), method: Cow::Owned(method.to_owned()), params };
        route.send(message).await.map_err(|error| match error {
            SendError::TooMany(_) => RequestError::TooMany,
            SendError::TooLarge(_) => RequestError::TooLarge,
            SendError::Gone(_) | SendError::Misplaced(_) | SendError::Full(_) => RequestError::Gone,
        })
    }

    fn open<'a>(&'a self, route: &'a Route<'a>) -> Open<'a> {
        let slot = Arc::new(Slot::default());
        let id = self.enter(Waits::Here(Arc::clone(&slot)));
        Open { requests: self, route, id, slot }
    }

    fn enter(&self, waits: Waits) -> RequestId {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.sent += 1;
        let id = RequestId::from_number(table.sent);
        table.open.push((id.clone(), waits));
        id
    }

    fn take(&self, id: &RequestId) -> Option<Waits> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = table.open.iter().position(|(open, _)| open == id)?;
        Some(table.open.swap_remove(index).1)
    }
}

/// One request that waits. Whoever stops waiting, for whatever reason, withdraws it.
struct Open<'a> {
    requests: &'a Requests,
    route: &'a Route<'a>,
    id: RequestId,
    slot: Arc<Slot>,
}

impl Open<'_> {
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<Json, RequestError>> {
        let mut waiting = self.slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reply) = waiting.reply.take() {
            return Poll::Ready(reply.map_err(RequestError::Refused));
        }
        waiting.waker = Some(cx.waker().clone());
        drop(waiting);
        self.route.over.poll_set(cx).map(|()| Err(RequestError::Gone))
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.requests.take(&self.id).is_some() {
            let Route { port, shard, target, .. } = *self.route;
            port.handle(shard, Event::Withdraw { target, id: self.id.clone() });
        }
    }
}
