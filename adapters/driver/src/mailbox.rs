//! What an endpoint orders of one connection. Filled by any thread under the shard's order, emptied by the
//! connection's own task.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};

use mcp_http_core::answer::Response;
use mcp_http_core::endpoint::{Delivery, ExchangeId};
use mcp_http_core::reject::Reject;
use mcp_http_core::session_id::ShardId;

use crate::call::Line;
use crate::session::Session;

/// One order. Those about an exchange name it: the connection may be further by now.
pub(crate) enum Order {
    Respond(At, Response),
    Reject(At, Reject),
    Pull(At),
    Close(At),
    Deliver(At, Box<Handed>),
    /// The server is shutting down: no further request on this connection.
    Retire,
    /// The server is down.
    Abort,
}

/// An exchange of one of the server's endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) shard: ShardId,
    pub(crate) exchange: ExchangeId,
}

/// A message for the application, with what it needs to answer.
pub(crate) struct Handed {
    pub(crate) delivery: Delivery,
    pub(crate) session: Option<Session>,
    /// For what is answered: `initialize` and calls.
    pub(crate) line: Option<Line>,
}

#[derive(Default)]
pub(crate) struct Mailbox(Mutex<State>);

#[derive(Default)]
struct State {
    orders: VecDeque<Order>,
    waker: Option<Waker>,
}

impl Mailbox {
    pub(crate) fn post(&self, order: Order) {
        let waker = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.orders.push_back(order);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).orders.is_empty()
    }

    /// Takes the next order, or has the task woken when there is one.
    pub(crate) fn take(&self, cx: &Context<'_>) -> Option<Order> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let order = state.orders.pop_front();
        if order.is_none() {
            match &mut state.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
        order
    }
}
