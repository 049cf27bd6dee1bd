//! What goes out: an exchange that lives as long as its response's body, and the body's frames, pulled when the
//! stack polls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use mcp_http_core::endpoint::{Event, Frames, Pulled};

use super::watch::{self, Pulse};
use crate::admission::Serving;
use crate::handler::Handler;
use crate::mailbox::{At, Handed, Mailbox, Order};
use crate::runtime::Runtime;
use crate::service::Inner;

/// An exchange on its stack. It counts as a connection of the server: a shutdown waits for it.
pub(super) struct Exchange<H: Handler, R: Runtime> {
    pub(super) server: Arc<Inner<H, R>>,
    pub(super) mailbox: Arc<Mailbox>,
    /// `None` while no endpoint has it, and when none has it any more.
    pub(super) serving: Option<Serving>,
    number: u64,
}

impl<H: Handler, R: Runtime> Exchange<H, R> {
    pub(super) fn open(server: Arc<Inner<H, R>>) -> Self {
        let mailbox = Arc::new(Mailbox::default());
        let number = server.open_connection(&mailbox);
        Exchange { server, mailbox, serving: None, number }
    }

    pub(super) fn is_at(&self, at: At) -> bool {
        self.serving.as_ref().is_some_and(|serving| serving.at == at)
    }

    /// Hands a message to the application. It is on its own from here: nobody polls it when the client does
    /// not read.
    pub(super) fn start(&self, at: At, handed: Handed, cx: &mut Context<'_>) {
        let running = self.serving.as_ref().and_then(|serving| serving.start(at, handed, &self.server));
        let Some(mut running) = running else { return };
        if running.poll(cx).is_pending() {
            self.server.runtime.spawn(running.finish());
        }
    }

    fn gone(&mut self) {
        if let Some(serving) = self.serving.take() {
            self.server.tell(serving.at, |exchange| Event::Gone { exchange });
        }
    }

    fn flushed(&mut self) {
        if let Some(serving) = self.serving.take() {
            self.server.tell(serving.at, |exchange| Event::Flushed { exchange });
        }
    }
}

impl<H: Handler, R: Runtime> Drop for Exchange<H, R> {
    fn drop(&mut self) {
        self.gone();
        self.server.close_connection(self.number);
    }
}

/// A response's body.
pub struct Outgoing<H: Handler, R: Runtime> {
    exchange: Exchange<H, R>,
    frames: VecDeque<Bytes>,
    flow: Flow,
    pulse: Option<Arc<Pulse>>,
}

/// Where the frames come from.
enum Flow {
    /// The endpoint's stream is idle.
    Idle,
    /// It has more.
    Pulling,
    /// There is no more.
    Ended,
    /// The response cannot be completed.
    Aborted,
}

/// The response was cut off: the server is down, or gave the client up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response was cut off")]
pub struct Aborted;

impl<H: Handler, R: Runtime> Outgoing<H, R> {
    pub(super) fn whole(exchange: Exchange<H, R>, body: Option<Bytes>) -> Self {
        let frames = body.into_iter().collect();
        Outgoing { exchange, frames, flow: Flow::Ended, pulse: None }
    }

    pub(super) fn stream(exchange: Exchange<H, R>) -> Self {
        let pulse = exchange.serving.as_ref().map(|serving| {
            let pulse = Arc::new(Pulse::default());
            let (server, mailbox) = (Arc::clone(&exchange.server), Arc::clone(&exchange.mailbox));
            let watch = watch::run(server, mailbox, serving.at, Arc::clone(&pulse));
            exchange.server.runtime.spawn(watch);
            pulse
        });
        Outgoing { exchange, frames: VecDeque::new(), flow: Flow::Idle, pulse }
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// [`Aborted`], once; then it is at its end, and the peer has to see that it is incomplete.
    pub fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>> {
        let polled = self.poll_next(cx);
        if let Some(pulse) = &self.pulse {
            pulse.polled(polled.is_ready());
        }
        polled
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Aborted>>> {
        loop {
            if matches!(self.flow, Flow::Idle | Flow::Pulling) {
                self.take_orders(cx);
            }
            if matches!(self.flow, Flow::Aborted) {
                // Ended, but not flushed.
                self.frames.clear();
                self.flow = Flow::Ended;
                self.exchange.gone();
                return Poll::Ready(Some(Err(Aborted)));
            }
            if let Some(frame) = self.frames.pop_front() {
                return Poll::Ready(Some(Ok(frame)));
            }
            match self.flow {
                Flow::Ended => return Poll::Ready(None),
                Flow::Idle => return Poll::Pending,
                Flow::Pulling | Flow::Aborted => self.pull(),
            }
        }
    }

    fn take_orders(&mut self, cx: &mut Context<'_>) {
        while let Some(order) = self.exchange.mailbox.take(cx) {
            match order {
                Order::Pull(at) if self.exchange.is_at(at) => self.flow = Flow::Pulling,
                Order::Close(at) if self.exchange.is_at(at) => self.flow = Flow::Aborted,
                Order::Abort => self.flow = Flow::Aborted,
                Order::Deliver(at, handed) => self.exchange.start(at, *handed, cx),
                Order::Respond(..) | Order::Reject(..) | Order::Pull(_) | Order::Close(_) | Order::Retire => {
                }
            }
        }
    }

    fn pull(&mut self) {
        let Exchange { server, serving, .. } = &self.exchange;
        let shard = serving.as_ref().and_then(|serving| Some((server.shard(serving.at.shard)?, serving.at)));
        let Some((shard, at)) = shard else {
            self.flow = Flow::Aborted;
            return;
        };
        let (budget, mut frames) = (server.config.pull_bytes_max, Frames::new());
        let pulled = shard.pull(at.exchange, budget, &mut frames, server.now(), &**server, &server.port);
        self.frames.extend(frames.drain());
        self.flow = match pulled {
            Pulled::More => Flow::Pulling,
            Pulled::Idle => Flow::Idle,
            Pulled::End => Flow::Ended,
            Pulled::Gone => Flow::Aborted,
        };
    }

    /// Whether the last frame was yielded.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self.flow, Flow::Ended) && self.frames.is_empty()
    }

    /// How many bytes are left, if that is known.
    #[must_use]
    pub fn bytes_left(&self) -> Option<u64> {
        let left = || self.frames.iter().map(|frame| frame.len() as u64).sum();
        matches!(self.flow, Flow::Ended).then(left)
    }
}

impl<H: Handler, R: Runtime> Drop for Outgoing<H, R> {
    fn drop(&mut self) {
        if let Some(pulse) = &self.pulse {
            pulse.over();
        }
        if self.is_ended() {
            self.exchange.flushed();
        }
    }
}

impl<H: Handler, R: Runtime> std::fmt::Debug for Outgoing<H, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing").field("bytes_left", &self.bytes_left()).finish_non_exhaustive()
    }
}
