//! What a port's stream says it has written has left for the socket: TLS keeps what its socket does not take. And what
//! a port's server does can be done on any thread.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use mcp_http_smol::SmolIo;
use mcp_http_tokio::{Config, Io, TokioIo};

/// Takes whatever is written, four octets at a time, and keeps it while the socket is not writable.
#[derive(Clone, Default)]
struct Buffering {
    writable: Arc<AtomicBool>,
    kept: Vec<u8>,
}

impl Buffering {
    fn take(&mut self, from: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let all = from.iter().flat_map(|slice| slice.iter().copied());
        let before = self.kept.len();
        self.kept.extend(all.take(4));
        Poll::Ready(Ok(self.kept.len() - before))
    }

    fn flush(&self) -> Poll<io::Result<()>> {
        if self.writable.load(Ordering::SeqCst) { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

impl tokio::io::AsyncRead for Buffering {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl tokio::io::AsyncWrite for Buffering {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.take(&[IoSlice::new(from)])
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flush()
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl smol::io::AsyncRead for Buffering {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }
}

impl smol::io::AsyncWrite for Buffering {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.take(&[IoSlice::new(from)])
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flush()
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[track_caller]
fn check(mut io: impl Io, writable: &AtomicBool) {
    let mut cx = Context::from_waker(Waker::noop());
    let front = [IoSlice::new(b"abcdef")];
    assert!(io.poll_write(&mut cx, &front).is_pending());
    // It comes again with the same front, and more behind it.
    let more = [IoSlice::new(b"abcdef"), IoSlice::new(b"gh")];
    assert!(io.poll_write(&mut cx, &more).is_pending());
    writable.store(true, Ordering::SeqCst);
    assert!(matches!(io.poll_write(&mut cx, &more), Poll::Ready(Ok(4))));
    assert!(matches!(io.poll_write(&mut cx, &[IoSlice::new(b"ef")]), Poll::Ready(Ok(2))));
}

#[test]
fn written_is_what_was_flushed() {
    let stream = Buffering::default();
    check(TokioIo::new(stream.clone()), &stream.writable);
    let stream = Buffering::default();
    check(SmolIo::new(stream.clone()), &stream.writable);
}

#[test]
fn a_server_is_bound_and_served_on_any_thread() {
    fn on_any<T: Send>(_: T) {}
    on_any(async {
        let server = mcp_http_tokio::Server::bind("127.0.0.1:0", Config::default()).await.unwrap();
        server.serve(mcp_http_driver::channels::open().0).await
    });
    on_any(async {
        let server = mcp_http_smol::Server::bind(("127.0.0.1", 0), Config::default()).await.unwrap();
        server.serve(mcp_http_driver::channels::open().0).await
    });
}
