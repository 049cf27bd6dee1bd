//! Every refusal that a client can bring about at any time, each with the way there. Those that depend on the
//! server's state (all sessions taken, shutting down) are in the tests that make that state.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::ask::{Ask, delete, get, initialize, notice, ping, request};
use super::session::Session;
use super::stats::Stats;
use super::wire::{Answer, Wire};

/// What the servers under test are started with, so that a body can be too large.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// A request that is refused.
#[derive(Clone)]
pub(crate) struct Refused {
    /// What is wrong with it.
    pub(crate) what: String,
    bytes: Vec<u8>,
    /// The client has no more to say, and says so.
    half_closes: bool,
    is_head: bool,
    pub(crate) status: u16,
    code: Code,
    /// Its name in the server's counters.
    pub(crate) reason: &'static str,
    /// Whether the connection has to go: what follows on it cannot be told from the body.
    closes: bool,
    /// The literal of the request's id, which comes back if it was read.
    id: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Code {
    Is(i64),
    /// One of the implementation's own.
    Own,
    /// There is no body.
    None,
}

const PARSE: i64 = -32700;
const INVALID: i64 = -32600;
const PARAMS: i64 = -32602;

impl Refused {
    /// Sends it on a new connection and checks the answer.
    #[track_caller]
    pub(crate) fn send(&self, addr: SocketAddr) -> Answer {
        let mut wire = Wire::to(addr);
        let answer = self.send_on(&mut wire);
        if self.closes {
            wire.expect_close();
        }
        answer
    }

    #[track_caller]
    pub(crate) fn send_on(&self, wire: &mut Wire) -> Answer {
        // The server may refuse before it has read all: what matters is its answer.
        _ = wire.try_send(&self.bytes);
        if self.half_closes {
            wire.half_close();
        }
        match wire.try_answer(self.is_head) {
            Ok(answer) => {
                self.check(&answer);
                answer
            }
            Err(lost) => panic!("{}: no answer: {lost:?}", self.what),
        }
    }

    /// Whether another request can follow on the same connection.
    pub(crate) fn keeps(&self) -> bool {
        !self.closes && !self.half_closes
    }

    /// Sends it as often as said, on as few connections as it allows.
    #[track_caller]
    pub(crate) fn send_many(&self, addr: SocketAddr, times: usize) {
        let mut wire = Wire::to(addr);
        for _ in 0..times {
            self.send_on(&mut wire);
            if !self.keeps() {
                wire = Wire::to(addr);
            }
        }
    }

    #[track_caller]
    fn check(&self, answer: &Answer) {
        let what = &self.what;
        assert_eq!(answer.status(), self.status, "{what}: {answer:?}");
        assert_eq!(answer.session_id(), None, "{what}: a refusal bears a session id: {answer:?}");
        assert_eq!(answer.head.closes(), self.closes || self.half_closes, "{what}: {answer:?}");
        let code = match self.code {
            Code::None => return assert!(answer.body.is_empty(), "{what}: {answer:?}"),
            Code::Own => None,
            Code::Is(code) => Some(code),
        };
        let message = answer.json();
        assert_eq!(message["jsonrpc"], "2.0", "{what}: {message}");
        let id = self.id.map(|id| serde_json::from_str::<Value>(id).unwrap());
        assert_eq!(message.get("id"), id.as_ref(), "{what}: {message}");
        assert!(code.is_none_or(|code| answer.error_code() == code), "{what}: {message}");
        assert!(message["error"]["code"].is_i64(), "{what}: {message}");
        let says = message["error"]["message"].as_str().unwrap_or_default();
        assert!(says.len() > 10, "{what}: it does not say what is wrong: {message}");
    }

    /// The same with the connection gone afterwards.
    fn closing(mut self) -> Refused {
        self.closes = true;
        self
    }

    /// The same with this id in the answer.
    fn with_id(mut self, id: &'static str) -> Refused {
        self.id = Some(id);
        self
    }
}

fn refused(what: &str, bytes: impl AsRef<[u8]>, status: u16, code: Code, reason: &'static str) -> Refused {
    let bytes = bytes.as_ref().to_vec();
    let what = what.to_owned();
    let (half_closes, is_head, closes, id) = (false, false, false, None);
    Refused { what, bytes, half_closes, is_head, status, code, reason, closes, id }
}

/// All of them. `session` is live, `lost` an event of it that is not kept any more.
pub(crate) fn all(session: &Session, lost: &str) -> Vec<Refused> {
    let mut all = http();
    all.extend(heads());
    all.extend(fields(session, lost));
    all.extend(bodies(session));
    all
}

/// An event of a stream that is over and done with. The server's retention must be short.
pub(crate) fn lost_event(session: &Session) -> String {
    let mut stream = session.stream(ping("1").set("accept", "text/event-stream"));
    stream.rest();
    let id = stream.last_id.clone().expect("events of a session have ids");
    Stats::until(session.addr, "an end of the retention", |stats| stats.tables.streams == 0);
    id
}

/// Broken framing and broken limits.
fn http() -> Vec<Refused> {
    let valid = initialize();
    let text = String::from_utf8(valid.bytes()).unwrap();
    let body = String::from_utf8(valid.body.clone()).unwrap();
    let head = |line: &str| valid.clone().with("x", "y").bytes_with_line(line);
    let chunked = |body: &str| valid.clone().with("transfer-encoding", "chunked").body(body).bytes();
    let http = |what: &str, bytes: Vec<u8>, status| refused(what, bytes, status, Code::Own, "http").closing();
    let replaced = |from: &str, to: &str| text.replacen(from, to, 1).into_bytes();
    let mut all = vec![
        http("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), 400),
        http("no version", replaced(" HTTP/1.1", ""), 400),
        http("two blanks", replaced("POST /mcp", "POST  /mcp"), 400),
        http("HTTP/2.0", replaced("HTTP/1.1", "HTTP/2.0"), 505),
        http("lines ended by LF", text.replace("\r\n", "\n").into_bytes(), 400),
        http("a blank before the colon", replaced("accept:", "accept :"), 400),
        http("a folded line", head("x: a\r\n b"), 400),
        http("a NUL in a value", head("x: a\0b"), 400),
        http("too long a target", replaced("/mcp", &format!("/mcp?{}", "x".repeat(20_000))), 414),
        http("too many fields", head(&"x: y\r\n".repeat(200)), 431),
        http("too large a head", head(&format!("x: {}", "y".repeat(70_000))), 431),
        http("length and coding", head("content-length: 5\r\ntransfer-encoding: chunked"), 400),
        http("two lengths", head("content-length: 5\r\ncontent-length: 6"), 400),
        http("a signed length", head("content-length: +5"), 400),
        http("a length past all numbers", head("content-length: 99999999999999999999999"), 400),
        http("chunked twice", head("transfer-encoding: chunked, chunked"), 400),
        http("an unknown coding", head("transfer-encoding: gzip, chunked"), 501),
        http(
            "a coding in HTTP/1.0",
            replaced("HTTP/1.1", "HTTP/1.0")
                .replacing("content-length: ", "transfer-encoding: chunked\r\nx: "),
            400,
        ),
        http("no host", valid.clone().without("host").bytes(), 400),
        http("two hosts", valid.clone().with("host", "127.0.0.1").bytes(), 400),
        http("a malformed host", valid.clone().set("host", "a b").bytes(), 400),
        http("an unknown method", replaced("POST", "BREW"), 501),
        http("CONNECT", b"CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n".to_vec(), 501),
        http(
            "another expectation",
            head(&format!("expect: 200-maybe\r\ncontent-length: {}", body.len())),
            417,
        ),
        http("a malformed chunk size", chunked(&format!("0x{:x}\r\n{body}\r\n0\r\n\r\n", body.len())), 400),
        http("a chunk past its size", chunked(&format!("5\r\n{body}\r\n0\r\n\r\n")), 400),
        Refused {
            reason: "body_too_large",
            ..http("chunks past the limit", chunked(&format!("{:x}\r\n", BODY_BYTES_MAX + 1)), 413)
        },
    ];
    let mut cut = |what: &str, bytes: &[u8]| {
        let mut cut = http(what, bytes.to_vec(), 400);
        cut.half_closes = true;
        all.push(cut);
    };
    cut("a head cut short", &text.as_bytes()[..40]);
    cut("a body cut short", &text.as_bytes()[..text.len() - 5]);
    cut("no body at all", &text.as_bytes()[..text.len() - body.len()]);
    all
}

impl Ask {
    /// Its bytes with more lines in the head, and with no length unless those have one.
    fn bytes_with_line(&self, lines: &str) -> Vec<u8> {
        let text = String::from_utf8(self.clone().with("transfer-encoding", "x").bytes()).unwrap();
        let lines = lines.trim_end_matches("\r\n");
        text.replacen("transfer-encoding: x", lines, 1).into_bytes()
    }
}

trait Replacing {
    fn replacing(self, from: &str, to: &str) -> Vec<u8>;
}

impl Replacing for Vec<u8> {
    fn replacing(self, from: &str, to: &str) -> Vec<u8> {
        String::from_utf8(self).unwrap().replacen(from, to, 1).into_bytes()
    }
}

/// Heads that are refused whatever the body is; here it is a good `initialize`.
fn heads() -> Vec<Refused> {
    let own = |what: &str, ask: Ask, status, reason| refused(what, ask.bytes(), status, Code::Own, reason);
    let mut all = Vec::new();
    for target in ["/", "/mcp2", "/MCP", "/mcp/x", "/mcp//", "/%6dcp"] {
        all.push(own(target, initialize().target(target), 404, "unknown_path"));
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80"] {
        all.push(own(host, initialize().set("host", host), 421, "host_not_allowed"));
    }
    for origin in ["http://evil.example", "null", "http://localhost.evil.example", "file://"] {
        all.push(own(origin, initialize().with("origin", origin), 403, "origin_not_allowed"));
    }
    for method in ["PUT", "PATCH", "TRACE"] {
        all.push(own(method, initialize().method(method), 405, "method_not_allowed"));
    }
    let mut head = own("HEAD", initialize().method("HEAD"), 405, "method_not_allowed");
    (head.is_head, head.code) = (true, Code::None);
    all.push(head);
    for accept in ["text/plain", "application/jsonx", "application/json;q=0, text/event-stream;q=0"] {
        all.push(own(accept, initialize().set("accept", accept), 406, "not_acceptable"));
    }
    for content_type in
        ["text/plain; a=application/json", "application/json2", "application/json; charset=latin1"]
    {
        let ask = initialize().set("content-type", content_type);
        all.push(own(content_type, ask, 415, "unsupported_media_type"));
    }
    let ask = initialize().without("content-type");
    all.push(own("no content type", ask, 415, "unsupported_media_type"));
    let ask = initialize().with("content-encoding", "gzip");
    all.push(own("a content coding", ask, 415, "unsupported_media_type"));
    let large = initialize().body("x".repeat(BODY_BYTES_MAX + 1));
    all.push(own("too large a body", large, 413, "body_too_large"));
    let huge = initialize().with("content-length", "9000000000").body("");
    all.push(own("a body too large to skip", huge, 413, "body_too_large").closing());
    all
}

/// Version, session and event fields.
fn fields(session: &Session, lost: &str) -> Vec<Refused> {
    let invalid = |what: &str, ask: Ask, reason| refused(what, ask.bytes(), 400, Code::Is(INVALID), reason);
    let unknown = |what: &str, ask: Ask| refused(what, ask.bytes(), 404, Code::Own, "unknown_session");
    let mut all = Vec::new();
    for ask in [ping("1"), get(), delete()] {
        let with_id = |refused: Refused| if ask.body.is_empty() { refused } else { refused.with_id("1") };
        let live = session.own(ask.clone());
        let says = |what: &str| format!("{what} on {}", ask.method);
        for version in ["2024-11-05", "latest", ""] {
            let ask = live.clone().set("mcp-protocol-version", version);
            let what = says(&format!("version {version:?}"));
            all.push(with_id(invalid(&what, ask, "bad_version_field")));
        }
        let ask_twice = live.clone().with("mcp-protocol-version", "2025-03-26");
        all.push(with_id(invalid(&says("two versions"), ask_twice, "bad_version_field")));
        for id in ["a b", "", &"x".repeat(129)] {
            let what = says(&format!("session {id:?}"));
            // Where the version is said, the head alone is enough to refuse, and the body is not read.
            let bad = ask.clone().with("mcp-session-id", id);
            all.push(with_id(invalid(&what, bad.clone(), "bad_session_id")));
            all.push(invalid(&what, bad.with("mcp-protocol-version", "2025-11-25"), "bad_session_id"));
        }
        let twice = ask.clone().with("mcp-session-id", &session.id).with("mcp-session-id", &session.id);
        all.push(with_id(invalid(&says("a session twice"), twice, "bad_session_id")));
        all.push(with_id(invalid(&says("no session"), ask.clone(), "missing_session")));
        for id in ["0", &"0".repeat(52), &flipped(&session.id), &session.id.to_uppercase()] {
            if *id == session.id {
                continue;
            }
            let ask = ask.clone().with("mcp-session-id", id);
            let what = says(&format!("session {id:?}"));
            // An id that is looked up once the body is read: the answer names the call, or does not.
            all.push(unknown(&what, ask.with("mcp-protocol-version", "2025-06-18")));
        }
    }
    for (what, ask) in [
        ("a notice without a session", notice("notifications/initialized", &json!({}))),
        ("a reply without a session", Ask::post(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)),
        ("a batch without a session", Ask::post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#)),
    ] {
        let reason = if ask.body.starts_with(b"[") { "invalid_request" } else { "missing_session" };
        all.push(invalid(what, ask, reason));
    }
    let first = request("1", "tools/list", &json!({}));
    all.push(invalid("a call first", first, "missing_session").with_id("1"));
    for id in ["garbage", "00000000-0-0", "0-0-0-0-0", &"x".repeat(129)] {
        let ask = session.own(get()).with("last-event-id", id);
        all.push(invalid(&format!("event {id:?}"), ask, "bad_event_id"));
    }
    let ask = session.own(get()).with("last-event-id", lost);
    all.push(invalid("an event that is not kept", ask, "events_lost"));
    let ask = session.own(get()).set("accept", "application/json");
    all.push(refused("GET for JSON", ask.bytes(), 406, Code::Own, "not_acceptable"));
    all
}

/// The id of a session that is not there, one digit beside one that is.
fn flipped(id: &str) -> String {
    let (most, last) = id.split_at(id.len() - 1);
    format!("{most}{}", if last == "0" { "1" } else { "0" })
}

/// Bodies. Those that are about `initialize` must not open a session, whatever is wrong with them.
fn bodies(session: &Session) -> Vec<Refused> {
    let bad = |what: &str, body: &[u8], code, reason| {
        refused(what, Ask::post(body).bytes(), 400, Code::Is(code), reason)
    };
    let good = initialize().body;
    let text = String::from_utf8(good.clone()).unwrap();
    let mut all = Vec::new();
    for (what, body) in [
        ("a byte order mark", [b"\xef\xbb\xbf", &good[..]].concat()),
        ("no UTF-8", [&good[..good.len() - 1], b",\"x\":\"\xff\"}"].concat()),
        ("no body", Vec::new()),
        ("half a body", good[..good.len() / 2].to_vec()),
        ("more after the body", [&good[..], b"x"].concat()),
        ("two bodies", [&good[..], &good[..]].concat()),
    ] {
        all.push(bad(what, &body, PARSE, "not_json"));
    }
    let id = r#""id":0"#;
    assert!(text.contains(id));
    for (what, from, to, echoed) in [
        ("jsonrpc 1.0", r#""jsonrpc":"2.0""#, r#""jsonrpc":"1.0""#, true),
        ("no jsonrpc", r#""jsonrpc":"2.0","#, "", true),
        ("id null", id, r#""id":null"#, false),
        ("a fraction as id", id, r#""id":1.5"#, false),
        ("an exponent as id", id, r#""id":1e3"#, false),
        ("true as id", id, r#""id":true"#, false),
        ("an object as id", id, r#""id":{}"#, false),
        ("two ids", id, r#""id":0,"id":0"#, false),
        ("no id: a notice", r#""id":0,"#, "", false),
        ("two methods", id, r#""id":0,"method":"ping""#, true),
        ("a number as method", r#""initialize""#, "1", true),
        ("a method and a result", id, r#""id":0,"result":{}"#, true),
        ("params that are a text", r#""params":{"#, r#""params":"x","x":{"#, true),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{what}");
        let refused = bad(what, changed.as_bytes(), INVALID, "invalid_request");
        all.push(if echoed { refused.with_id("0") } else { refused });
    }
    for (what, body) in [
        ("a number", String::from("1")),
        ("an empty batch", String::from("[]")),
        ("a batch with initialize", format!("[{text}]")),
        ("a batch of rubbish", String::from("[1]")),
    ] {
        all.push(bad(what, body.as_bytes(), INVALID, "invalid_request"));
    }
    for (what, from, to) in [
        ("no protocolVersion", r#""protocolVersion""#, r#""x""#),
        ("a number as protocolVersion", r#""2025-06-18""#, "1"),
        ("no capabilities", r#""capabilities""#, r#""x""#),
        ("an array as capabilities", r#""capabilities":{}"#, r#""capabilities":[]"#),
        ("no clientInfo", r#""clientInfo""#, r#""x""#),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{what}");
        all.push(bad(what, changed.as_bytes(), PARAMS, "invalid_params").with_id("0"));
    }
    all.extend(initializes(session));
    all
}

/// Well-formed `initialize` requests that may not open a session.
fn initializes(session: &Session) -> Vec<Refused> {
    let invalid = |what: &str, ask: Ask| {
        refused(what, ask.bytes(), 400, Code::Is(INVALID), "invalid_request").with_id("0")
    };
    let unsupported = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "v999.0.0",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let unsupported = request("0", "initialize", &unsupported).with("mcp-protocol-version", "v999.0.0");
    let unsupported = unsupported.with("mcp-method", "initialize");
    let unknown = initialize().with("mcp-session-id", &flipped(&session.id));
    let batch = session.own(Ask::post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#));
    let mut batch = invalid("a batch in a session that has none", batch);
    batch.id = None;
    vec![
        invalid("head and body differ", initialize().with("mcp-protocol-version", "2025-11-25")),
        invalid("an unknown version beside a known one", initialize().with("mcp-protocol-version", "x")),
        invalid("a second initialize", session.own(initialize())),
        refused("initialize with an unknown id", unknown.bytes(), 404, Code::Own, "unknown_session")
            .with_id("0"),
        refused("an unserved era", unsupported.bytes(), 400, Code::Is(-32022), "unsupported_version")
            .with_id("0"),
        batch,
    ]
}
