//! A tokio byte stream as the driver wants it: a socket, or TLS over one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mcp_http_driver::Io;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Any tokio stream.
#[derive(Debug)]
pub struct TokioIo<S> {
    stream: S,
    /// What the stream took and may still hold: TLS keeps what the socket did not take, until it is flushed.
    unflushed: Option<usize>,
}

impl<S> TokioIo<S> {
    /// Wraps a stream.
    pub fn new(stream: S) -> Self {
        TokioIo { stream, unflushed: None }
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for TokioIo<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(into);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, from: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        // Written is what is flushed: the caller comes again with the same bytes until it is.
        let written = match self.unflushed {
            Some(written) => written,
            None => ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, from))?,
        };
        self.unflushed = Some(written);
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.unflushed = None;
        Poll::Ready(Ok(written))
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
