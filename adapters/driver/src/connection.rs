//! One connection: moves bytes between its socket and the machines, and runs its calls. The only loop there
//! is; what is said and when is decided in the machines.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_http_core::answer::Answer;
use mcp_http_core::endpoint::{Event, Frames, Lease, Pulled};
use mcp_http_core::h1;
use mcp_http_core::reject::{Refusal, Reject};
use mcp_http_core::time::Timestamp;

use crate::date::DateField;
use crate::exchange::Stage;
use crate::handler::Handler;
use crate::mailbox::{Mailbox, Order};
use crate::running::Running;
use crate::runtime::{Io, Runtime};
use crate::service::Inner;

/// Turns of the loop before other tasks get theirs.
const TURNS_MAX: usize = 32;

/// Slices in one vectored write.
const SLICES_MAX: usize = 64;

/// What one read takes.
const READ_BYTES: usize = 16 * 1024;

thread_local! {
    /// One for each thread, so that an idle connection holds no buffer.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into_boxed_slice());
}

/// Counts the connection from now on, not from when the future is first polled: the cap is exact.
pub(crate) fn serve<H: Handler, R: Runtime, I: Io>(
    server: Arc<Inner<H, R>>,
    io: I,
    peer: Option<String>,
) -> impl Future<Output = ()> + Send + use<H, R, I> {
    let mailbox = Arc::new(Mailbox::default());
    let open = Open { number: server.open_connection(&mailbox), server };
    tracing::trace!(number = open.number, peer = peer.as_deref(), "connection opened");
    async move {
        let server = Arc::clone(&open.server);
        let mut connection = Connection {
            h1: h1::Connection::new(server.config.h1(), server.now()),
            io,
            mailbox,
            stage: Stage::Idle,
            head: server.budget.lease(),
            pulling: false,
            frames: Frames::new(),
            running: Vec::new(),
            alarm: None,
            date: DateField::default(),
            shut: Shut::No,
            peer,
            server,
        };
        poll_fn(|cx| connection.poll(cx)).await;
        connection.leave();
    }
}

/// A connection that counts, until this is dropped.
struct Open<H: Handler, R: Runtime> {
    number: u64,
    server: Arc<Inner<H, R>>,
}

impl<H: Handler, R: Runtime> Drop for Open<H, R> {
    fn drop(&mut self) {
        self.server.close_connection(self.number);
        tracing::trace!(number = self.number, "connection closed");
    }
}

pub(crate) struct Connection<H, R: Runtime, I> {
    pub(crate) server: Arc<Inner<H, R>>,
    pub(crate) h1: h1::Connection,
    io: I,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) stage: Stage,
    /// What has come of the next head.
    pub(crate) head: Lease,
    /// The exchange's stream has frames.
    pub(crate) pulling: bool,
    frames: Frames,
    /// Calls and notices of this connection that the application is at. In a session they outlive it.
    pub(crate) running: Vec<Running>,
    alarm: Option<(Timestamp, Pin<Box<R::Sleep>>)>,
    pub(crate) date: DateField,
    shut: Shut,
    /// Who is at the other end, as the port says it.
    pub(crate) peer: Option<String>,
}

/// How far the write side's shutdown is.
#[derive(PartialEq, Eq)]
enum Shut {
    No,
    Due,
    Done,
}

/// What one turn came to.
enum Turn {
    /// Something happened: look again.
    Moved,
    /// Everything waits.
    Waiting,
    Closed,
}

impl<H: Handler, R: Runtime, I: Io> Connection<H, R, I> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURNS_MAX {
            match self.turn(cx) {
                Turn::Moved => {}
                Turn::Waiting => return Poll::Pending,
                Turn::Closed => return Poll::Ready(()),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Orders first, then the application, then what came in, then what goes out: so what became ready in one
    /// turn leaves in one write.
    fn turn(&mut self, cx: &mut Context<'_>) -> Turn {
        let mut moved = self.take_orders(cx);
        moved |= self.run_application(cx);
        moved |= self.poll_access(cx);
        while let Some(event) = self.h1.next_event() {
            moved = true;
            match event {
                h1::Event::Close => return Turn::Closed,
                h1::Event::ShutdownWrite => self.shut = Shut::Due,
                other => self.handle_h1(other),
            }
        }
        if moved {
            return Turn::Moved;
        }
        moved |= self.hold_head();
        moved |= self.pull();
        moved |= self.write(cx);
        moved |= self.shut_write(cx);
        moved |= self.read(cx);
        moved |= self.keep_time(cx);
        if moved { Turn::Moved } else { Turn::Waiting }
    }

    fn take_orders(&mut self, cx: &Context<'_>) -> bool {
        let mut moved = false;
        while let Some(order) = self.mailbox.take(cx) {
            moved = true;
            match order {
                Order::Respond(at, response) if self.is_at(at) => {
                    if let Stage::Serving(serving) = &mut self.stage {
                        serving.release_request();
                    }
                    self.respond(response.into_answer());
                }
                Order::Reject(at, reject) if self.is_at(at) => self.refuse(reject),
                Order::Pull(at) if self.is_at(at) => self.pulling = true,
                Order::Close(at) if self.is_at(at) => {
                    self.stage = Stage::Answered;
                    self.h1.abort();
                }
                // The exchange is over, and with it what was ordered of it.
                Order::Respond(..) | Order::Reject(..) | Order::Pull(_) | Order::Close(_) => {}
                Order::Deliver(at, handed) => self.start(at, *handed),
                Order::Retire => self.h1.close_after_response(),
                Order::Abort => self.h1.abort(),
            }
        }
        moved
    }

    fn run_application(&mut self, cx: &mut Context<'_>) -> bool {
        let before = self.running.len();
        self.running.retain_mut(|running| running.poll(cx).is_pending());
        self.running.len() != before
    }

    /// What has come of a head counts against the server's memory, until it is whole. Where there is none left,
    /// the request is refused.
    fn hold_head(&mut self) -> bool {
        let (octets, leased) = (self.h1.head_octets(), self.head.bytes());
        if octets <= leased {
            self.head.shrink_to(octets);
            return false;
        }
        if self.server.lease_more(&mut self.head, octets - leased) || !self.h1.refuse_head() {
            return false;
        }
        self.head.shrink_to(0);
        self.refuse(Reject::new(Refusal::TooBusy));
        true
    }

    pub(crate) fn respond(&mut self, answer: Answer) {
        if answer.close {
            self.h1.close_after_response();
        }
        let now = self.server.now();
        let date = self.date.value();
        let sent = self.h1.respond(answer.status, &answer.fields, answer.body, date.as_ref(), now);
        self.check(sent);
    }

    /// Takes frames while the socket keeps up.
    fn pull(&mut self) -> bool {
        let Stage::Serving(serving) = &self.stage else { return false };
        let budget = self.server.config.pull_bytes_max;
        if !self.pulling || self.h1.unwritten() >= budget {
            return false;
        }
        let at = serving.at;
        let now = self.server.now();
        let Some(shard) = self.server.shard(at.shard) else { return false };
        let pulled = shard.pull(at.exchange, budget, &mut self.frames, now, &*self.server, &self.server.port);
        let mut sent = Ok(());
        for frame in self.frames.drain() {
            sent = sent.and_then(|()| self.h1.send(frame, now));
        }
        match pulled {
            Pulled::More => {}
            Pulled::Idle | Pulled::Gone => self.pulling = false,
            Pulled::End => {
                self.pulling = false;
                sent = sent.and_then(|()| self.h1.finish(now));
            }
        }
        self.check(sent);
        true
    }

    fn write(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while self.h1.has_output() {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let filled = self.h1.output(&mut slices);
            let Some(slices) = slices.get(..filled) else { return moved };
            match self.io.poll_write(cx, slices) {
                Poll::Pending => return moved,
                Poll::Ready(Ok(written)) if written > 0 => {
                    self.h1.wrote(written, self.server.now());
                    moved = true;
                }
                Poll::Ready(_) => {
                    self.h1.abort();
                    return true;
                }
            }
        }
        moved
    }

    fn shut_write(&mut self, cx: &mut Context<'_>) -> bool {
        if self.shut != Shut::Due || self.h1.has_output() {
            return false;
        }
        match self.io.poll_shutdown(cx) {
            Poll::Pending => false,
            Poll::Ready(shut) => {
                self.shut = Shut::Done;
                if shut.is_err() {
                    self.h1.abort();
                }
                true
            }
        }
    }

    fn read(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.h1.wants_read() {
            return false;
        }
        let now = self.server.now();
        SCRATCH.with_borrow_mut(|scratch| match self.io.poll_read(cx, scratch) {
            Poll::Pending => false,
            Poll::Ready(Ok(0)) => {
                self.h1.receive_eof(now);
                true
            }
            Poll::Ready(Ok(read)) => {
                self.h1.receive(scratch.get(..read).unwrap_or_default(), now);
                true
            }
            Poll::Ready(Err(_)) => {
                self.h1.abort();
                true
            }
        })
    }

    /// Expiry is judged by the clock. The alarm is only set anew when it would ring too late.
    fn keep_time(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(due) = self.h1.poll_timeout() else { return false };
        let now = self.server.now();
        if due <= now {
            self.h1.handle_timeout(now);
            return true;
        }
        let set = |at| Box::pin(self.server.runtime.sleep_until(self.server.instant(at)));
        let (at, alarm) = match &mut self.alarm {
            Some(alarm) if alarm.0 <= due => alarm,
            alarm => alarm.insert((due, set(due))),
        };
        if alarm.as_mut().poll(cx).is_ready() {
            // It rang for an earlier deadline.
            if *at < due {
                self.alarm = Some((due, set(due)));
            } else {
                self.alarm = None;
            }
            return true;
        }
        false
    }

    pub(crate) fn check(&mut self, done: Result<(), h1::Misuse>) {
        if let Err(misuse) = done {
            // The peer may be gone in the meantime; anything else is a fault of this driver.
            tracing::debug!(%misuse, "the codec refused");
            self.h1.abort();
        }
    }

    /// Tells the endpoint that the exchange is over for this connection, and lets the application finish.
    fn leave(&mut self) {
        if let Stage::Serving(serving) = std::mem::replace(&mut self.stage, Stage::Idle) {
            self.server.tell(serving.at, |exchange| Event::Gone { exchange });
        }
        for running in self.running.drain(..) {
            self.server.runtime.spawn(running.finish());
        }
    }
}
