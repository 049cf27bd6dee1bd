//! The machine itself.

use std::io::IoSlice;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode};

use super::{Body, Event, Limits, Misuse};
use crate::time::Timestamp;

/// One socket's HTTP/1.1 exchanges.
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    now: Timestamp,
}

impl Connection {
    /// A connection just accepted.
    #[must_use]
    pub fn new(limits: Limits, now: Timestamp) -> Self {
        Connection { limits, now }
    }

    /// The peer's next octets.
    pub fn receive(&mut self, bytes: &[u8], now: Timestamp) {
        let _ = bytes;
        self.now = now;
    }

    /// The peer shut its write side.
    pub fn receive_eof(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The socket took `n` octets of the output.
    pub fn wrote(&mut self, n: usize, now: Timestamp) {
        let _ = n;
        self.now = now;
    }

    /// Judges the deadlines.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The next event; `None` until there is more input.
    pub fn next_event(&mut self) -> Option<Event> {
        None
    }

    /// When `handle_timeout` is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        Some(self.now.after(self.limits.header_read))
    }

    /// Whether more of the peer's octets are of use now.
    #[must_use]
    pub fn wants_read(&self) -> bool {
        true
    }

    /// Whether octets wait to be written.
    #[must_use]
    pub fn has_output(&self) -> bool {
        self.unwritten() > 0
    }

    /// Fills `slices` with the output in order; returns how many were filled.
    pub fn output<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let _ = slices;
        0
    }

    /// Octets of output that wait.
    #[must_use]
    pub fn unwritten(&self) -> usize {
        0
    }

    /// Octets held, input and output together.
    #[must_use]
    pub fn buffered(&self) -> usize {
        0
    }

    /// The application wants the body, at most `limit` octets.
    pub fn read_body(&mut self, limit: usize, now: Timestamp) {
        let _ = limit;
        self.now = now;
    }

    /// Queues a response.
    ///
    /// # Errors
    /// [`Misuse`], and nothing is queued.
    pub fn respond(
        &mut self,
        status: StatusCode,
        fields: &[(HeaderName, HeaderValue)],
        body: Body,
        date: Option<&HeaderValue>,
        now: Timestamp,
    ) -> Result<(), Misuse> {
        let _ = (status, fields, body, date, now);
        Err(Misuse::NothingToAnswer)
    }

    /// Queues a piece of a streamed body.
    ///
    /// # Errors
    /// [`Misuse`], and nothing is queued.
    pub fn send(&mut self, data: Bytes, now: Timestamp) -> Result<(), Misuse> {
        let _ = (data, now);
        Err(Misuse::NoStream)
    }

    /// Ends a streamed body.
    ///
    /// # Errors
    /// [`Misuse`], and nothing is queued.
    pub fn finish(&mut self, now: Timestamp) -> Result<(), Misuse> {
        let _ = now;
        Err(Misuse::NoStream)
    }

    /// Gives the connection up.
    pub fn abort(&mut self) {}

    /// The response to come, or under way, is the last.
    pub fn close_after_response(&mut self) {}
}
