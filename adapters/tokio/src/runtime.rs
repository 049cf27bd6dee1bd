//! tokio's clock, sleep and spawn.

use std::future::Future;
use std::time::Instant;

use mcp_http_driver::Runtime;
use tokio::time::{Sleep, sleep_until};

/// The tokio runtime that the caller is in.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioRuntime;

impl Runtime for TokioRuntime {
    type Sleep = Sleep;

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        sleep_until(tokio::time::Instant::from_std(at))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(task);
    }
}
