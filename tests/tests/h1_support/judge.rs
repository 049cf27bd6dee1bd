//! A stand-in for the judge behind a connection: just enough of an MCP endpoint to tell a request that was
//! served from one that was not. It answers at once, and keeps a transcript of the events.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use mcp_http_core::h1::{Authority, Body, Event, Limits};

use super::macros::BODY_MAX;
use super::rig::{Rig, line};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const DATE: &str = "Thu, 01 Jan 1970 00:00:00 GMT";

/// A connection, the judge behind it, and all that both said.
pub(crate) struct Server {
    pub(crate) rig: Rig,
    /// The events; data is joined, so that cuts do not show.
    pub(crate) events: Vec<String>,
    /// What the peer can read.
    pub(crate) wire: Vec<u8>,
    /// The peer sees the end of what it can read.
    pub(crate) eof: bool,
    pub(crate) closed: bool,
    /// Octets of the first write.
    pub(crate) first_write: Option<usize>,
    asked: Option<Parts>,
    body: Vec<u8>,
}

impl Server {
    pub(crate) fn new(limits: Limits) -> Self {
        let (events, wire, body) = (Vec::new(), Vec::new(), Vec::new());
        let rig = Rig::with(limits);
        Server { rig, events, wire, eof: false, closed: false, first_write: None, asked: None, body }
    }

    /// Whether the connection took the octets; if not, the peer is stuck with them.
    pub(crate) fn receive(&mut self, octets: &[u8]) -> bool {
        if self.closed || !self.rig.connection.wants_read() {
            return false;
        }
        self.rig.connection.receive(octets, self.rig.now);
        self.run();
        true
    }

    pub(crate) fn receive_eof(&mut self) {
        if !self.closed {
            self.rig.connection.receive_eof(self.rig.now);
            self.run();
        }
    }

    /// Lets time pass.
    pub(crate) fn advance_ms(&mut self, ms: u64) {
        let until = self.rig.now.after(std::time::Duration::from_millis(ms));
        while let Some(at) = self.rig.connection.poll_timeout().filter(|at| *at <= until) {
            self.rig.now = self.rig.now.max(at);
            self.rig.connection.handle_timeout(self.rig.now);
            self.run();
        }
        self.rig.now = until;
    }

    /// Takes events and writes output until neither is left.
    fn run(&mut self) {
        loop {
            while let Some(event) = self.rig.connection.next_event() {
                self.note(&event);
                self.act(event);
            }
            let written = self.rig.peek();
            if written.is_empty() {
                return;
            }
            self.first_write.get_or_insert(written.len());
            self.rig.connection.wrote(written.len(), self.rig.now);
            self.wire.extend(written);
        }
    }

    fn note(&mut self, event: &Event) {
        let line = line(event);
        match (self.events.last_mut(), line.strip_prefix("Data ")) {
            (Some(last), Some(more)) if last.starts_with("Data ") => last.push_str(more),
            _ => self.events.push(line),
        }
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Request(request) => self.judge_head(request.parts),
            Event::Data(data) => self.body.extend_from_slice(&data),
            Event::BodyEnd => {
                self.asked = None;
                let body = std::mem::take(&mut self.body);
                self.judge_body(&body);
            }
            Event::Fault(fault) => {
                self.asked = None;
                self.answer(fault.status().as_u16(), &[], &fault.to_string());
            }
            Event::ShutdownWrite => self.eof = true,
            Event::Close => {
                self.eof = true;
                self.closed = true;
            }
            Event::Flushed | Event::HalfClosed | Event::Gone => {}
        }
    }

    fn judge_head(&mut self, parts: Parts) {
        let allow = (ALLOW, HeaderValue::from_static("POST, GET, DELETE, OPTIONS"));
        let is_json = parts.headers.get(CONTENT_TYPE).is_some_and(|value| value == "application/json");
        let (status, fields) = if parts.uri.path() != "/mcp" {
            (404, vec![])
        } else if !is_allowed(&parts) {
            (421, vec![])
        } else if parts.headers.contains_key(ORIGIN) {
            (403, vec![])
        } else if parts.method == Method::OPTIONS {
            (204, vec![allow])
        } else if parts.method == Method::GET || parts.method == Method::DELETE {
            (400, vec![])
        } else if parts.method != Method::POST {
            (405, vec![allow])
        } else if !is_json {
            (415, vec![])
        } else {
            self.body.clear();
            self.asked = Some(parts);
            return self.rig.connection.read_body(BODY_MAX, self.rig.now);
        };
        self.answer(status, &fields, "refused");
    }

    fn judge_body(&mut self, body: &[u8]) {
        let message: Option<serde_json::Value> = serde_json::from_slice(body).ok();
        match message.as_ref().and_then(|message| message.get("method")?.as_str()) {
            Some("initialize") => {
                self.answer(200, &[(SESSION, HeaderValue::from_static("s"))], "initialized")
            }
            _ => self.answer(400, &[], "no initialize"),
        }
    }

    fn answer(&mut self, status: u16, fields: &[(HeaderName, HeaderValue)], text: &str) {
        let status = StatusCode::from_u16(status).expect("a status");
        let body = Body::Full(Bytes::copy_from_slice(text.as_bytes()));
        let date = HeaderValue::from_static(DATE);
        self.rig
            .connection
            .respond(status, fields, body, Some(&date), self.rig.now)
            .expect("an answer is due");
    }
}

/// The authority of an absolute target outranks `Host`; TLS is not spoken here.
fn is_allowed(parts: &Parts) -> bool {
    let target = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
    let host = target.or_else(|| parts.headers.get(HOST).map(HeaderValue::as_bytes));
    let is_plain = parts.uri.scheme_str().is_none_or(|scheme| scheme == "http");
    is_plain && host.is_none_or(|host| Authority::parse(host).is_some_and(|host| host.host == "127.0.0.1"))
}
