//! One connection under virtual time: feeds it, takes its events as readable lines, plays the socket.

use std::io::IoSlice;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode};
use mcp_http_core::h1::{Body, Connection, Event, Limits, Misuse};
use mcp_http_core::time::Timestamp;

/// Slices of one vectored write.
const SLICES_MAX: usize = 64;

pub(crate) struct Rig {
    pub(crate) connection: Connection,
    pub(crate) now: Timestamp,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Rig::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let now = Timestamp::from_origin(Duration::from_secs(1000));
        Rig { connection: Connection::new(limits, now), now }
    }

    /// Feeds octets; returns the events they gave.
    pub(crate) fn receive(&mut self, octets: impl AsRef<[u8]>) -> Vec<String> {
        self.connection.receive(octets.as_ref(), self.now);
        self.events()
    }

    pub(crate) fn receive_eof(&mut self) -> Vec<String> {
        self.connection.receive_eof(self.now);
        self.events()
    }

    /// Lets time pass, handling each deadline when it comes; returns the events.
    pub(crate) fn advance(&mut self, by: Duration) -> Vec<String> {
        let until = self.now.after(by);
        let mut events = Vec::new();
        while let Some(at) = self.connection.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.connection.handle_timeout(self.now);
            events.extend(self.events());
            let next = self.connection.poll_timeout();
            assert!(next.is_none_or(|next| next > self.now), "a deadline outlives its time");
        }
        self.now = until;
        events
    }

    /// The time from now until the next deadline.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.connection.poll_timeout().map(|at| at.since(self.now))
    }

    pub(crate) fn events(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.connection.next_event()).map(|event| line(&event)).collect()
    }

    pub(crate) fn read_body(&mut self, limit: usize) -> Vec<String> {
        self.connection.read_body(limit, self.now);
        self.events()
    }

    pub(crate) fn respond(&mut self, status: u16, body: Body) -> Result<(), Misuse> {
        self.respond_with(status, &[], body)
    }

    pub(crate) fn respond_with(
        &mut self,
        status: u16,
        fields: &[(HeaderName, HeaderValue)],
        body: Body,
    ) -> Result<(), Misuse> {
        let status = StatusCode::from_u16(status).expect("a status");
        self.connection.respond(status, fields, body, None, self.now)
    }

    pub(crate) fn send(&mut self, data: &'static str) -> Result<(), Misuse> {
        self.connection.send(Bytes::from_static(data.as_bytes()), self.now)
    }

    pub(crate) fn finish(&mut self) -> Result<(), Misuse> {
        self.connection.finish(self.now)
    }

    /// What one vectored write would hold.
    pub(crate) fn peek(&self) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let filled = self.connection.output(&mut slices);
        slices.iter().take(filled).flat_map(|slice| slice.iter().copied()).collect()
    }

    /// The socket takes at most `n` octets; returns them.
    pub(crate) fn write_at_most(&mut self, n: usize) -> String {
        let mut octets = self.peek();
        octets.truncate(n);
        self.connection.wrote(octets.len(), self.now);
        String::from_utf8_lossy(&octets).into_owned()
    }

    /// The socket takes everything, in one write; returns it.
    pub(crate) fn write(&mut self) -> String {
        let written = self.write_at_most(usize::MAX);
        assert!(!self.connection.has_output(), "one write takes it all");
        written
    }
}

/// The events of a request whose body is read as soon as its head is there.
pub(crate) fn served(rig: &mut Rig, input: &str) -> Vec<String> {
    let mut events = rig.receive(input);
    if events.last().is_some_and(|event| event.starts_with("Request")) {
        events.extend(rig.read_body(usize::MAX));
    }
    events
}

/// A whole body.
pub(crate) fn full(text: impl Into<Bytes>) -> Body {
    Body::Full(text.into())
}

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// An event on one line.
pub(crate) fn line(event: &Event) -> String {
    match event {
        Event::Request(request) => {
            let parts = &request.parts;
            format!("Request {} {} {:?} {:?}", parts.method, parts.uri, parts.version, request.body)
        }
        Event::Data(data) => format!("Data {}", data.escape_ascii()),
        Event::BodyEnd => "BodyEnd".to_owned(),
        Event::Fault(fault) => format!("Fault {fault:?} {}", fault.status().as_u16()),
        Event::Flushed => "Flushed".to_owned(),
        Event::HalfClosed => "HalfClosed".to_owned(),
        Event::Gone => "Gone".to_owned(),
        Event::ShutdownWrite => "ShutdownWrite".to_owned(),
        Event::Close => "Close".to_owned(),
    }
}
