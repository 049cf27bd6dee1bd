//! Channels that wait to be accepted. Each is a session that is being opened or a call outside sessions, and
//! leaves when that is over: so there are never more than the server's limits for those.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::service::Publisher;
use crate::signal::Flag;

use super::link::Link;
use super::{Channel, Receiver, Sender};

#[derive(Default)]
pub(super) struct Backlog {
    state: Mutex<State>,
    /// Set when no more are to come.
    pub(super) closing: Flag,
}

#[derive(Default)]
struct State {
    /// By the order in which they came.
    waiting: BTreeMap<u64, Channel>,
    came: u64,
    /// Nobody accepts any more.
    deserted: bool,
    /// There is no server any more.
    down: bool,
    waker: Option<Waker>,
    publisher: Option<Publisher>,
}

/// A channel that was offered. When this goes and nobody has accepted it, nobody can.
pub(super) struct Offer {
    backlog: Arc<Backlog>,
    number: u64,
}

impl Backlog {
    /// `None` if nobody accepts any more.
    pub(super) fn offer(self: &Arc<Self>, link: &Arc<Link>) -> Option<Offer> {
        let mut state = self.lock();
        if state.deserted {
            return None;
        }
        state.came = state.came.wrapping_add(1);
        let number = state.came;
        let channel = Channel {
            session: link.session().cloned(),
            recv: Receiver(Arc::clone(link)),
            send: Sender(Arc::clone(link)),
        };
        state.waiting.insert(number, channel);
        wake(state);
        Some(Offer { backlog: Arc::clone(self), number })
    }

    pub(super) fn poll_accept(&self, cx: &Context<'_>) -> Poll<Option<Channel>> {
        let mut state = self.lock();
        if let Some((_, channel)) = state.waiting.pop_first() {
            return Poll::Ready(Some(channel));
        }
        if state.down {
            return Poll::Ready(None);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    pub(super) fn desert(&self) {
        let mut state = self.lock();
        state.deserted = true;
        let left = std::mem::take(&mut state.waiting);
        drop(state);
        // Each tells its client.
        drop(left);
        self.closing.set();
    }

    pub(super) fn down(&self) {
        let mut state = self.lock();
        state.down = true;
        wake(state);
    }

    pub(super) fn started(&self, publisher: Publisher) {
        self.lock().publisher = Some(publisher);
    }

    pub(super) fn publisher(&self) -> Option<Publisher> {
        self.lock().publisher.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    waker.into_iter().for_each(Waker::wake);
}

impl Drop for Offer {
    fn drop(&mut self) {
        let left = self.backlog.lock().waiting.remove(&self.number);
        drop(left);
    }
}
