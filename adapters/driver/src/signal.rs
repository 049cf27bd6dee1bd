//! Two small wake-up tools: a flag that is set once, and a permit that is taken. Not channels: they carry
//! nothing.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Set once, seen by all.
#[derive(Debug, Default)]
pub(crate) struct Flag(Mutex<FlagState>);

#[derive(Debug, Default)]
struct FlagState {
    set: bool,
    waiting: Vec<Waker>,
}

impl Flag {
    pub(crate) fn set(&self) {
        let waiting = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.set = true;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).set
    }

    pub(crate) fn poll_set(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.set {
            return Poll::Ready(());
        }
        register(&mut state.waiting, cx);
        Poll::Pending
    }

    pub(crate) async fn wait(&self) {
        poll_fn(|cx| self.poll_set(cx)).await;
    }
}

/// Given and taken; a permit given before anybody waits is not lost.
#[derive(Debug, Default)]
pub(crate) struct Permit(Mutex<FlagState>);

impl Permit {
    pub(crate) fn give(&self) {
        let waiting = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.set = true;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    pub(crate) async fn take(&self) {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if std::mem::take(&mut state.set) {
                return Poll::Ready(());
            }
            register(&mut state.waiting, cx);
            Poll::Pending
        })
        .await;
    }
}

fn register(waiting: &mut Vec<Waker>, cx: &Context<'_>) {
    if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
        waiting.push(cx.waker().clone());
    }
}
