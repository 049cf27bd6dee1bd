//! S6: whoever holds another principal's session id, and even the ids of its events, learns nothing by them. What
//! it gets is byte for byte what an id gets that never was, but for the date; and the session notices nothing.

mod socket_support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::json;

use socket_support::ask::{Ask, cancel, delete, get, initialize, notice, ping, request};
use socket_support::local::Local;
use socket_support::session::Session;
use socket_support::sse::Stream;
use socket_support::stats::Stats;
use socket_support::wait::PATIENCE;
use socket_support::wire::{Answer, Wire};

const VERSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

/// Who else might come with the id: `authorization`, if they send any.
const OTHERS: [Option<&str>; 4] = [None, Some("as mallory"), Some("as alic"), Some("as ALICE")];

/// A session of a principal, who does everything with the name's token.
struct Owned {
    session: Session,
    name: &'static str,
}

impl Owned {
    #[track_caller]
    fn open(addr: SocketAddr, version: &'static str, name: &'static str) -> Owned {
        let ask = socket_support::ask::initialize_as("test", version).with("authorization", name);
        let answer = Wire::to(addr).ask(&ask);
        let id = answer.session_id().expect("a session is offered").to_owned();
        Owned { session: Session { addr, id, version }, name }
    }

    fn own(&self, ask: Ask) -> Ask {
        ask.with("mcp-session-id", &self.session.id).with("authorization", self.name)
    }

    #[track_caller]
    fn ask(&self, ask: Ask) -> Answer {
        Wire::to(self.session.addr).ask(&self.own(ask))
    }

    #[track_caller]
    fn stream(&self, ask: Ask) -> Stream {
        Wire::to(self.session.addr).open(&self.own(ask))
    }
}

/// The whole response as it comes off the socket, up to the close, without the date.
fn raw(addr: SocketAddr, ask: &Ask) -> Vec<u8> {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&ask.clone().with("connection", "close").bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer and a close");
    let text = String::from_utf8(bytes).expect("text");
    let date = text.split("\r\n").find(|line| line.starts_with("date: ")).expect("a date");
    text.replacen(&format!("{date}\r\n"), "", 1).into_bytes()
}

/// What can be tried with an id; `event` is one of the session's own.
fn tries(event: &str) -> Vec<(&'static str, Ask)> {
    let batch = Ask::post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]"#);
    let reply = |id: &str| Ask::post(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stolen":true}}}}"#));
    vec![
        ("a call", ping("1")),
        ("a call that only takes JSON", ping("1").set("accept", "application/json")),
        ("a call that only takes a stream", ping("\"a\"").set("accept", "text/event-stream")),
        ("a call that would be slow", request("1", "silent", &json!({}))),
        ("a call of an unknown method", request("1", "no-such", &json!({}))),
        ("a notice", notice("notifications/initialized", &json!({}))),
        ("a cancel of the call in flight", cancel("7")),
        ("an answer to the server's request", reply("0")),
        ("another answer to the server's request", reply("1")),
        ("a batch", batch),
        ("a second initialize", initialize()),
        ("a stream", get()),
        ("a resume", get().with("last-event-id", event)),
        ("a resume after nothing", get().with("last-event-id", "garbage")),
        ("an end", delete()),
    ]
}

/// Ids that nobody has, and that look like this one.
fn unknown_ids(id: &str) -> Vec<String> {
    let change = |at: usize| {
        let mut bytes = id.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        String::from_utf8(bytes).unwrap()
    };
    vec![change(0), change(id.len() / 2), change(id.len() - 1), "x".repeat(id.len())]
}

#[test]
fn another_principal_sees_what_an_unknown_id_gets() {
    for version in VERSIONS {
        let server = Local::start(|_| ());
        let addr = server.addr;
        let alice = Owned::open(addr, version, "as alice");
        // A call in flight, a request to the client, and events: all that there is to be stolen.
        let mut standalone = alice.stream(get());
        server.notify(&alice.session.id, "notifications/x", json!({ "number": 1 }));
        standalone.message();
        let event = standalone.last_id.clone().expect("events of a session have ids");
        let mut asking = alice.stream(request("7", "asks", &json!({})));
        let asked = asking.message()["id"].clone();
        let before = server.stats();
        for who in OTHERS {
            for (what, ask) in tries(&event) {
                for versioned in [true, false] {
                    let ask = who.map_or(ask.clone(), |who| ask.clone().with("authorization", who));
                    let ask = if versioned { ask.with("mcp-protocol-version", version) } else { ask };
                    compare(addr, &alice.session.id, what, &ask);
                }
            }
        }
        unharmed(&server, &before);
        // Alice does notice nothing; the right answer still comes to the right call.
        let reply = json!({ "jsonrpc": "2.0", "id": asked, "result": { "mine": true } });
        assert_eq!(alice.ask(Ask::post(reply.to_string())).status(), 202);
        assert_eq!(asking.messages()[0]["result"], json!({ "mine": true }));
        server.notify(&alice.session.id, "notifications/x", json!({ "number": 2 }));
        assert_eq!(standalone.message()["params"]["number"], 2);
        assert_eq!(alice.ask(delete()).status(), 204);
    }
}

/// The same request with the stolen id and with ids that never were.
#[track_caller]
fn compare(addr: SocketAddr, stolen: &str, what: &str, ask: &Ask) {
    let with = |id: &str| raw(addr, &ask.clone().with("mcp-session-id", id));
    let got = with(stolen);
    for id in unknown_ids(stolen) {
        let expected = with(&id);
        assert_eq!(got.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{what}: {ask:?}");
    }
    let status = got.split(|byte| *byte == b' ').nth(1);
    // What is wrong whatever the session is may be said first, as to anybody.
    let ok = matches!(status, Some(b"404" | b"400"));
    assert!(ok, "{what}: {}", got.escape_ascii());
}

/// No session, stream, call or exchange is other than before.
#[track_caller]
fn unharmed(server: &Local, before: &Stats) {
    let same = |stats: &Stats| stats.tables == before.tables;
    let after = Stats::until(server.addr, &format!("tables as {:?}", before.tables), same);
    assert_eq!((&after.lives, after.gaps), (&before.lives, before.gaps));
}

/// What the comparison is worth: the owner's answers differ, so a session that is there can be told from one that
/// is not.
#[test]
fn the_owner_sees_something_else() {
    let server = Local::start(|_| ());
    let addr = server.addr;
    let alice = Owned::open(addr, "2025-03-26", "as alice");
    let mut standalone = alice.stream(get());
    server.notify(&alice.session.id, "notifications/x", json!({}));
    standalone.message();
    let event = standalone.last_id.clone().unwrap();
    for (what, ask) in tries(&event) {
        // These do not end by themselves, or end the session.
        if ["a call that would be slow", "a stream", "a resume"].contains(&what) {
            continue;
        }
        let with =
            |id: &str| raw(addr, &ask.clone().with("authorization", alice.name).with("mcp-session-id", id));
        let unknown = with(&unknown_ids(&alice.session.id)[0]);
        assert_ne!(with(&alice.session.id), unknown, "{what}");
    }
}

/// A principal's own id in another's mouth, both ways, and after its end: the three are the same.
#[test]
fn a_live_a_foreign_and_an_ended_id() {
    let server = Local::start(|_| ());
    let addr = server.addr;
    let (alice, bob) =
        (Owned::open(addr, "2025-06-18", "as alice"), Owned::open(addr, "2025-06-18", "as bob"));
    let ended = Owned::open(addr, "2025-06-18", "as bob");
    assert_eq!(ended.ask(delete()).status(), 204);
    for (what, ask) in tries("garbage") {
        let as_bob =
            |id: &str| raw(addr, &ask.clone().with("authorization", bob.name).with("mcp-session-id", id));
        assert_eq!(as_bob(&alice.session.id), as_bob(&ended.session.id), "{what}");
    }
    // Bob's own was never in question.
    for owned in [alice, bob] {
        assert_eq!(owned.ask(ping("1")).status(), 200);
        assert_eq!(owned.ask(delete()).status(), 204);
    }
}
