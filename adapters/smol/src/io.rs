//! A byte stream of futures-io, which is smol's, as the driver wants it: a socket, or TLS over one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_http_driver::Io;
use smol::io::{AsyncRead, AsyncWrite};

/// Any smol stream.
#[derive(Debug)]
pub struct SmolIo<S>(pub S);

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for SmolIo<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, from: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, from)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}
