//! Watches a stream whose frames nobody fetches: a stack does not poll for a peer that does not read, so that
//! somebody else has to notice.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;

use mcp_http_core::endpoint::Event;

use crate::handler::Handler;
use crate::mailbox::{At, Mailbox};
use crate::runtime::Runtime;
use crate::service::Inner;
use crate::signal::Flag;

/// What a stream's body shows of itself.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    polls: AtomicU64,
    /// The last poll gave a frame: there may be more.
    fetching: AtomicBool,
    over: Flag,
}

impl Pulse {
    pub(super) fn polled(&self, gave: bool) {
        self.fetching.store(gave, Ordering::Relaxed);
        self.polls.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn over(&self) {
        self.over.set();
    }
}

/// Looks once every `write_stall`. A stream is given up when it had something to fetch and was not polled from
/// one look to the next.
pub(super) async fn run<H: Handler, R: Runtime>(
    server: Arc<Inner<H, R>>,
    mailbox: Arc<Mailbox>,
    at: At,
    pulse: Arc<Pulse>,
) {
    // So many polls, and something to fetch: as it was at the last look.
    let mut last = None;
    loop {
        let next = server.instant(server.now().after(server.config.write_stall));
        let mut sleep = pin!(server.runtime.sleep_until(next));
        let over = poll_fn(|cx| match pulse.over.poll_set(cx) {
            Poll::Ready(()) => Poll::Ready(true),
            Poll::Pending => sleep.as_mut().poll(cx).map(|()| false),
        });
        if over.await {
            return;
        }
        let waits = pulse.fetching.load(Ordering::Relaxed) || !mailbox.is_empty();
        let now = waits.then(|| pulse.polls.load(Ordering::Relaxed));
        if now.is_some() && now == last {
            return server.tell(at, |exchange| Event::Stalled { exchange });
        }
        last = now;
    }
}
