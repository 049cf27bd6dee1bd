//! A connection with a plain application behind it, for the two targets that look at HTTP/1.1. What the application
//! does depends on nothing but its settings and the requests so far, never on how the octets came in.

use std::io::IoSlice;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use mcp_http_core::h1::{Body, Connection, Event, Fault, Limits, Request};
use mcp_http_core::time::Timestamp;

/// Slices of one vectored write.
const SLICES_MAX: usize = 16;

/// How the application answers; bit `n` is for the n-th request, and starts again at the ninth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// Answers from the head alone, and leaves the body unread.
    pub(crate) hasty: u8,
    /// Answers with a body in two pieces.
    pub(crate) streams: u8,
    /// The most octets of a body that it takes.
    pub(crate) body_max: usize,
}

/// One request as the application saw it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) request: Box<Request>,
    pub(crate) body: Vec<u8>,
    /// The body was asked for, and came to its end.
    pub(crate) whole: bool,
}

/// Both ends of a connection, and all that was said.
pub(crate) struct Peer {
    connection: Connection,
    habits: Habits,
    now: Timestamp,
    pub(crate) seen: Vec<Seen>,
    pub(crate) fault: Option<Fault>,
    /// Every event in words; data is joined, so that cuts do not show.
    pub(crate) story: Vec<String>,
    /// What the peer can read.
    pub(crate) wire: Vec<u8>,
    pub(crate) closed: bool,
    joining: bool,
}

impl Peer {
    pub(crate) fn new(limits: Limits, habits: Habits) -> Self {
        let now = Timestamp::from_origin(Duration::from_secs(1000));
        Peer {
            connection: Connection::new(limits, now),
            habits,
            now,
            seen: Vec::new(),
            fault: None,
            story: Vec::new(),
            wire: Vec::new(),
            closed: false,
            joining: false,
        }
    }

    pub(crate) fn receive(&mut self, octets: &[u8]) {
        if !self.closed && self.connection.wants_read() {
            self.connection.receive(octets, self.now);
            self.run();
        }
    }

    pub(crate) fn receive_eof(&mut self) {
        if !self.closed {
            self.connection.receive_eof(self.now);
            self.run();
        }
    }

    /// Lets all the time pass that the connection waits for; in the end nothing may be left.
    pub(crate) fn wait(&mut self) {
        for _ in 0..16 {
            let Some(due) = self.connection.poll_timeout() else { break };
            assert!(due > self.now, "R9: {due:?} is due at {:?}", self.now);
            self.now = due;
            self.story.push(format!("at {:?}", due.since_origin()));
            self.connection.handle_timeout(due);
            self.run();
        }
        assert_eq!(self.connection.poll_timeout(), None, "R9: deadlines without end");
        if self.closed {
            assert_eq!(self.connection.buffered(), 0, "R14: octets are left of a closed connection");
        }
    }

    /// Takes events and writes output until there is neither.
    fn run(&mut self) {
        loop {
            while let Some(event) = self.connection.next_event() {
                self.tell(&event);
                self.act(event);
            }
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let filled = self.connection.output(&mut slices);
            let written: usize = slices.iter().take(filled).map(|slice| slice.len()).sum();
            if written == 0 {
                assert!(!self.connection.has_output(), "output that cannot be written");
                return;
            }
            for slice in slices.iter().take(filled) {
                self.wire.extend_from_slice(slice);
            }
            self.connection.wrote(written, self.now);
        }
    }

    fn tell(&mut self, event: &Event) {
        assert!(!self.closed, "{event:?} after Close");
        let joins = std::mem::take(&mut self.joining);
        let line = match event {
            Event::Data(data) => {
                assert!(!data.is_empty(), "an empty piece of data");
                self.joining = true;
                if let Some(last) = self.story.last_mut().filter(|_| joins) {
                    last.push_str(&data.escape_ascii().to_string());
                    return;
                }
                format!("data {}", data.escape_ascii())
            }
            Event::Request(request) => format!("{:?} {:?}", request.parts, request.body),
            Event::Fault(fault) => format!("fault {fault:?}"),
            other => format!("{other:?}"),
        };
        self.story.push(line);
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Request(request) => {
                assert_eq!(self.fault, None, "a request after a fault");
                let hasty = self.is(self.habits.hasty, self.seen.len());
                self.seen.push(Seen { request, body: Vec::new(), whole: false });
                if hasty {
                    self.answer();
                } else {
                    self.connection.read_body(self.habits.body_max, self.now);
                }
            }
            Event::Data(data) => {
                let seen = self.seen.last_mut().expect("data belongs to a request");
                seen.body.extend_from_slice(&data);
                assert!(seen.body.len() <= self.habits.body_max, "L1: more than was asked for");
            }
            Event::BodyEnd => {
                let seen = self.seen.last_mut().expect("a body belongs to a request");
                assert!(!std::mem::replace(&mut seen.whole, true), "a body ends twice");
                self.answer();
            }
            Event::Fault(fault) => {
                assert_eq!(self.fault.replace(fault), None, "a fault after a fault");
                let body = Body::Full(Bytes::from_static(b"fault"));
                self.respond(fault.status(), body);
            }
            Event::Close => self.closed = true,
            Event::Flushed | Event::HalfClosed | Event::Gone | Event::ShutdownWrite => {}
        }
    }

    /// Each answer tells its number, so that answers out of order are seen.
    fn answer(&mut self) {
        let number = self.seen.len() - 1;
        let text = Bytes::from(format!("answer {number}"));
        if self.is(self.habits.streams, number) {
            self.respond(StatusCode::OK, Body::Stream);
            let halves = [text.slice(..4), text.slice(4..)];
            for half in halves {
                self.connection.send(half, self.now).expect("the stream is open");
            }
            self.connection.finish(self.now).expect("the stream is open");
        } else {
            self.respond(StatusCode::OK, Body::Full(text));
        }
    }

    fn respond(&mut self, status: StatusCode, body: Body) {
        self.connection.respond(status, &[], body, None, self.now).expect("an answer is due");
    }

    fn is(&self, habit: u8, number: usize) -> bool {
        habit >> (number % 8) & 1 == 1
    }
}
