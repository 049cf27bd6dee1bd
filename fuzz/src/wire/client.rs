//! A client: writes requests on one connection at a time, and reads what comes back by the text of the RFC and of the
//! standard. It knows which sessions it named, so that a message of any other is seen.

use std::collections::BTreeSet;

use mcp_http_tests::script::ask;
use serde_json::Value;

use super::server::Server;
use crate::event_source::EventSource;
use crate::input::Input;
use crate::responses::{self, Response};

pub(super) struct Client {
    number: usize,
    conn: Option<usize>,
    /// Octets of `wire` at the last look.
    looked: usize,
    /// Numbers of the sessions that it opened or named.
    named: BTreeSet<u64>,
    last_event_id: String,
    calls: usize,
}

impl Client {
    pub(super) fn new(number: usize) -> Self {
        Client {
            number,
            conn: None,
            looked: 0,
            named: BTreeSet::new(),
            last_event_id: String::new(),
            calls: 0,
        }
    }

    /// One whole request; the input says which, and where it is cut in two.
    pub(super) fn send_request(&mut self, input: &mut Input<'_>, server: &mut Server) {
        let (what, pick, cut) = (input.byte(), input.byte(), usize::from(input.byte()));
        let session = self.name_session(pick, server);
        let fields = |more: &str| match &session {
            Some(id) => format!("mcp-session-id: {id}\r\n{more}"),
            None => more.to_owned(),
        };
        self.calls += 1;
        let params = format!(r#"{{"t":"{}-{}"}}"#, self.number, self.calls);
        let id = u32::from(what >> 5).to_string();
        let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"work","params":{params}}}"#);
        let version = ["2025-03-26", "2025-06-18", "2025-11-25"][usize::from(pick >> 4) % 3];
        let modern = "mcp-protocol-version: 2026-07-28\r\nmcp-method: ";
        let octets = match what % 16 {
            0 | 1 => post("", &ask::initialize(&id, version)),
            2..=4 => post(&fields(""), &call),
            5 => post(&fields("accept: application/json\r\n"), &call),
            6 => post(&fields("accept: text/event-stream\r\n"), &call),
            7 => post(&fields(""), &ask::notice("notifications/initialized")),
            8 => post(&fields(""), &ask::cancelled(&id)),
            9 => post(&fields(""), &ask::reply(&id)),
            10 => post(&fields(""), &format!("[{call},{},{call}]", ask::notice("x"))),
            11 => bare("DELETE", &fields("")),
            12 => bare("GET", &fields("accept: text/event-stream\r\n")),
            13 => {
                let after = format!("accept: text/event-stream\r\nlast-event-id: {}\r\n", self.last_event_id);
                bare("GET", &fields(&after))
            }
            14 => {
                let body = ask::modern(&id, "work", &format!(r#""t":"{}-{}""#, self.number, self.calls));
                post(&format!("{modern}work\r\n"), &body)
            }
            _ => {
                let members = r#""notifications":{"toolsListChanged":true}"#;
                let body = ask::modern(&id, "subscriptions/listen", members);
                post(&format!("{modern}subscriptions/listen\r\naccept: text/event-stream\r\n"), &body)
            }
        };
        let (first, second) = octets.split_at(cut.min(octets.len()));
        self.send(first, server);
        server.settle();
        self.send(second, server);
    }

    /// A session's id; now and then one that is none.
    fn name_session(&mut self, pick: u8, server: &Server) -> Option<String> {
        let ids = &server.books.ids;
        let at = usize::from(pick % 16);
        match ids.len().checked_sub(1 + at) {
            Some(number) => {
                self.named.insert(number as u64);
                Some(String::from_utf8(ids[number].clone()).expect("ids are ASCII"))
            }
            None if at % 2 == 0 => Some("0".repeat(52)),
            None => None,
        }
    }

    pub(super) fn send(&mut self, octets: &[u8], server: &mut Server) {
        if let Some(conn) = self.connection(server) {
            server.receive(conn, octets);
        }
    }

    pub(super) fn half_close(&mut self, server: &mut Server) {
        if let Some(conn) = self.open(server) {
            server.receive_eof(conn);
        }
    }

    pub(super) fn cut(&mut self, server: &mut Server) {
        if let Some(conn) = self.open(server) {
            server.reset(conn);
        }
    }

    pub(super) fn stall(&mut self, stalled: bool, server: &mut Server) {
        if let Some(conn) = self.open(server) {
            server.stall(conn, stalled);
        }
    }

    fn open(&self, server: &Server) -> Option<usize> {
        self.conn.filter(|conn| !server.conns[*conn].closed)
    }

    fn connection(&mut self, server: &mut Server) -> Option<usize> {
        if let Some(conn) = self.open(server) {
            return Some(conn);
        }
        self.read(server);
        self.conn = server.connect();
        self.looked = 0;
        self.conn
    }

    /// Looks at all that came on its connection.
    pub(super) fn read(&mut self, server: &Server) {
        let Some(conn) = self.conn else { return };
        let there = &server.conns[conn];
        if there.wire.len() == self.looked {
            return;
        }
        self.looked = there.wire.len();
        // Nobody here sends HEAD in whole requests; what does it otherwise cannot be read on from there.
        for response in responses::read(&there.wire, there.closed, &[]) {
            self.look_at(&response, server);
        }
    }

    fn look_at(&mut self, response: &Response, server: &Server) {
        if let Some(id) = response.field("mcp-session-id") {
            assert_eq!(response.status, 200, "R2: {response:?}");
            let number = server.books.ids.iter().position(|other| other == id.as_bytes());
            self.named.insert(number.expect("R1: an id that was never created") as u64);
        }
        match response.field("content-type") {
            Some("text/event-stream") => {
                let mut source = EventSource::default();
                source.push(whole_lines(&response.body));
                for message in &source.messages {
                    assert_eq!(message.kind, "message", "C4");
                    self.look_at_text(&message.data);
                }
                if !source.last_event_id.is_empty() {
                    self.last_event_id = source.last_event_id;
                }
            }
            Some("application/json") if response.whole => {
                self.look_at_text(std::str::from_utf8(&response.body).expect("JSON is text"));
            }
            _ => {}
        }
    }

    /// R5, R6: what is said to a session reaches only who named it.
    fn look_at_text(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let messages = value.as_array().cloned().unwrap_or_else(|| vec![value]);
        for message in messages {
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            for said in [&message["result"], &message["params"], &message["error"]["data"]] {
                if let Some(session) = said["s"].as_u64() {
                    assert!(self.named.contains(&session), "R6: {message} came to client {}", self.number);
                } else if let Some(token) = said["t"].as_str().filter(|token| !token.is_empty()) {
                    let own = token.starts_with(&format!("{}-", self.number));
                    assert!(own, "R5: {message} came to client {}", self.number);
                }
            }
        }
    }
}

/// A stream may be cut anywhere; what is behind its last line is not looked at.
fn whole_lines(octets: &[u8]) -> &[u8] {
    let end = octets.iter().rposition(|octet| *octet == b'\n').map_or(0, |at| at + 1);
    &octets[..end]
}

fn post(fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    format!("{head}{fields}content-length: {length}\r\n\r\n{body}").into_bytes()
}

fn bare(method: &str, fields: &str) -> Vec<u8> {
    format!("{method} /mcp HTTP/1.1\r\nhost: localhost\r\n{fields}\r\n").into_bytes()
}
