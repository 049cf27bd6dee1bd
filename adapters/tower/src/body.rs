//! Bodies as `http_body` has them, to and from the driver's.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use mcp_http_driver::foreign::{Aborted, Incoming, Outgoing};
use mcp_http_driver::{Handler, Runtime};

pub(crate) struct RequestBody<B>(Pin<Box<B>>);

impl<B> RequestBody<B> {
    pub(crate) fn new(body: B) -> Self {
        RequestBody(Box::pin(body))
    }
}

impl<B: Body + Send + 'static> Incoming for RequestBody<B> {
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            match ready!(self.0.as_mut().poll_frame(cx)) {
                None => return Poll::Ready(None),
                // Which error it was makes no difference: the body will not be complete.
                Some(Err(_)) => return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
                Some(Ok(frame)) => {
                    // Trailers mean nothing here.
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(into_bytes(data))));
                    }
                }
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "takes as many bytes as remain, and `Bytes` do not copy them")]
fn into_bytes(mut data: impl Buf) -> Bytes {
    data.copy_to_bytes(data.remaining())
}

/// A response's body. Frames are taken from their stream when it is polled, so a peer that reads slowly slows
/// down who writes.
pub struct ResponseBody<H: Handler, R: Runtime>(Outgoing<H, R>);

impl<H: Handler, R: Runtime> ResponseBody<H, R> {
    pub(crate) fn new(outgoing: Outgoing<H, R>) -> Self {
        ResponseBody(outgoing)
    }
}

// Nothing in it is ever pinned in place.
impl<H: Handler, R: Runtime> Unpin for ResponseBody<H, R> {}

impl<H: Handler, R: Runtime> Body for ResponseBody<H, R> {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        self.0.poll_frame(cx).map(|frame| frame.map(|frame| frame.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_ended()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.bytes_left().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl<H: Handler, R: Runtime> std::fmt::Debug for ResponseBody<H, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
