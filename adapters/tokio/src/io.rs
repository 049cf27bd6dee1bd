//! A tokio byte stream as the driver wants it: a socket, or TLS over one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mcp_http_driver::Io;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Any tokio stream.
#[derive(Debug)]
pub struct TokioIo<S>(pub S);

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for TokioIo<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(into);
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, from: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, from)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
