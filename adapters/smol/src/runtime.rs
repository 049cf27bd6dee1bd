//! smol's clock, sleep and spawn.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_http_driver::Runtime;
use smol::Timer;

/// smol's global executor. It has one thread, or as many as the environment variable `SMOL_THREADS` says.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmolRuntime;

/// Waits until a point in time.
#[derive(Debug)]
pub struct Sleep(Timer);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(|_| ())
    }
}

impl Runtime for SmolRuntime {
    type Sleep = Sleep;

    #[expect(
        clippy::disallowed_methods,
        reason = "this is where time comes in: smol has no clock of its own"
    )]
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        Sleep(Timer::at(at))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        smol::spawn(task).detach();
    }
}
