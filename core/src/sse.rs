//! The text of server-sent events (WHATWG HTML 9.2.5). Encodes one event at a time; which events there are
//! and what their ids mean is `endpoint`'s.

use bytes::{BufMut, Bytes, BytesMut};
use core::time::Duration;
use thiserror::Error;

/// The longest event id, in bytes: it comes back in `Last-Event-ID` (C5).
pub const EVENT_ID_BYTES_MAX: usize = 128;

/// One event. Fields are written in the order `id`, `event`, `retry`, `data`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// What the client will send back as `Last-Event-ID`: at most 128 bytes from 0x20 to 0x7E. The endpoint's
    /// own ids have no blanks, since a field's value comes back without those at its ends.
    pub id: Option<&'a str>,
    /// The event's type; without it clients take `message`.
    pub event: Option<&'a str>,
    /// How long the client is to wait before it reconnects; written in whole milliseconds.
    pub retry: Option<Duration>,
    /// The payload: one `data` line for each of its lines. Without it clients dispatch nothing.
    pub data: Option<&'a str>,
}

/// A field that would break out of its line, or that clients would ignore.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SseError {
    /// An id outside its alphabet or length.
    #[error("an event id has at most 128 bytes from 0x20 to 0x7E")]
    BadId,
    /// A type with a line break.
    #[error("an event type has no CR and no LF")]
    BadType,
}

impl SseEvent<'_> {
    /// Appends the event with its final blank line.
    ///
    /// # Errors
    /// [`SseError`], and nothing was written.
    pub fn encode(&self, out: &mut BytesMut) -> Result<(), SseError> {
        if self.id.is_some_and(|id| !is_event_id(id.as_bytes())) {
            return Err(SseError::BadId);
        }
        if self.event.is_some_and(|event| event.bytes().any(|byte| byte == b'\r' || byte == b'\n')) {
            return Err(SseError::BadType);
        }
        if let Some(id) = self.id {
            put_line("id: ", id.as_bytes(), out);
        }
        if let Some(event) = self.event {
            put_line("event: ", event.as_bytes(), out);
        }
        if let Some(retry) = self.retry {
            put_line("retry: ", retry.as_millis().to_string().as_bytes(), out);
        }
        if let Some(data) = self.data {
            put_lines("data: ", data.as_bytes(), out);
        }
        out.put_u8(b'\n');
        Ok(())
    }
}

/// Appends a comment: what keeps a silent stream open (C12). Clients drop it.
pub fn encode_comment(text: &str, out: &mut BytesMut) {
    put_lines(": ", text.as_bytes(), out);
    out.put_u8(b'\n');
}

fn is_event_id(id: &[u8]) -> bool {
    id.len() <= EVENT_ID_BYTES_MAX && id.iter().all(|byte| (0x20..=0x7e).contains(byte))
}

/// The frame of one JSON-RPC message, which is one line of JSON. `id` is one of our own making.
pub(crate) fn message_frame(id: Option<&str>, message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(message.len().saturating_add(80));
    if let Some(id) = id {
        put_line("id: ", id.as_bytes(), &mut frame);
    }
    // Some clients drop events without a type (C4).
    frame.put_slice(b"event: message\n");
    put_lines("data: ", message, &mut frame);
    frame.put_u8(b'\n');
    frame.freeze()
}

/// The frame that gives the client an id to resume from before there is a message (C6).
pub(crate) fn priming_frame(id: &str, retry: Duration) -> Bytes {
    let mut frame = BytesMut::with_capacity(64);
    put_line("id: ", id.as_bytes(), &mut frame);
    put_line("retry: ", retry.as_millis().to_string().as_bytes(), &mut frame);
    frame.put_slice(b"data: \n\n");
    frame.freeze()
}

/// The frame that tells when to come back, and nothing else.
pub(crate) fn retry_frame(retry: Duration) -> Bytes {
    let mut frame = BytesMut::with_capacity(32);
    put_line("retry: ", retry.as_millis().to_string().as_bytes(), &mut frame);
    frame.put_u8(b'\n');
    frame.freeze()
}

/// The frame that says only that the server is alive.
pub(crate) const COMMENT_FRAME: Bytes = Bytes::from_static(b": \n\n");

fn put_lines(field: &str, text: &[u8], out: &mut BytesMut) {
    let mut rest = text;
    while let Some(end) = rest.iter().position(|&byte| byte == b'\r' || byte == b'\n') {
        let (line, tail) = rest.split_at(end);
        put_line(field, line, out);
        rest = tail.strip_prefix(b"\r\n").or_else(|| tail.get(1..)).unwrap_or_default();
    }
    put_line(field, rest, out);
}

fn put_line(field: &str, value: &[u8], out: &mut BytesMut) {
    out.put_slice(field.as_bytes());
    out.put_slice(value);
    out.put_u8(b'\n');
}
