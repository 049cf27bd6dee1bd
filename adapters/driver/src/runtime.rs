//! What the driver needs of a runtime: a clock, sleep, spawn, and sockets. A port is these two traits, and the
//! listening socket of [`listen`](crate::listen).

use std::future::Future;
use std::io::{self, IoSlice};
use std::task::{Context, Poll};
use std::time::Instant;

/// A runtime. Cheap to clone.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// Waits until a point in time.
    type Sleep: Future<Output = ()> + Send;

    /// The monotonic clock; a runtime with virtual time answers with that.
    fn now(&self) -> Instant;

    /// A future that is ready at `at`, or at once if that has passed.
    fn sleep_until(&self, at: Instant) -> Self::Sleep;

    /// Runs `task` to its end in the background.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);
}

/// A byte stream: a socket, or TLS over one.
pub trait Io: Send + Unpin + 'static {
    /// Reads into the front of `into`; 0 when the peer has shut its write side.
    ///
    /// # Errors
    /// The connection is broken.
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Writes from the front of `from`, and returns how much of it left for the socket: a stream that buffers
    /// is flushed first. After `Pending` it is called again with the same front, which may be followed by more.
    ///
    /// # Errors
    /// The connection is broken.
    fn poll_write(&mut self, cx: &mut Context<'_>, from: &[IoSlice<'_>]) -> Poll<io::Result<usize>>;

    /// Shuts the write side.
    ///
    /// # Errors
    /// The connection is broken.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}
