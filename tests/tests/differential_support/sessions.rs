//! Sessions from `initialize` to their end.

use serde_json::json;

use super::client::{Client, MIDDLE, NEWEST, OLDEST};
use super::{Scenario, scenario};
use crate::socket_support::ask::{initialize, initialize_as, notice, ping, request};

pub(crate) const ALL: &[Scenario] = &[
    scenario("a life", a_life),
    scenario("every version", every_version),
    scenario("initialize is refused by the application", refused),
    scenario("initialize panics", panics),
    scenario("the client leaves before initialize is answered", leaves_early),
    scenario("a version that nobody knows", unknown_version),
    scenario("an initialize that bears an id", bears_an_id),
    scenario("two sessions do not mix", two_sessions),
    scenario("a stolen id", stolen),
    scenario("the application ends a session", ended_by_application),
    scenario("more on one connection", one_connection),
    Scenario {
        name: "initialize is not answered in time",
        play: too_late,
        configure: |config| config.establish = std::time::Duration::from_millis(50),
    },
    Scenario { name: "the cap", play: cap, configure: |config| config.sessions_max = 2 },
    Scenario {
        name: "without sessions",
        play: without_sessions,
        configure: |config| config.sessions = mcp_http_tokio::SessionMode::Off,
    },
];

fn a_life(client: &mut Client) {
    let open = client.open(MIDDLE);
    client.ask("ping", &open.own(ping("1")));
    client.ask("echo", &open.own(request("\"a\"", "echo", &json!({ "text": "hello" }))));
    client.delete(&open);
    client.ask("after", &open.own(ping("2")));
    client.delete(&open);
}

fn every_version(client: &mut Client) {
    for version in [OLDEST, MIDDLE, NEWEST] {
        let open = client.open(version);
        client.ask("ping", &open.own(ping("1")));
        client.delete(&open);
    }
}

fn refused(client: &mut Client) {
    client.ask("initialize", &initialize_as("refused", MIDDLE));
    client.server.until("discarded s1 Refused", 1);
}

fn panics(client: &mut Client) {
    client.ask("initialize", &initialize_as("panics", MIDDLE));
    client.open(MIDDLE);
}

fn leaves_early(client: &mut Client) {
    let wire = client.send(&initialize_as("silent", MIDDLE));
    client.server.until("initialize s1 by anyone 2025-06-18", 1);
    wire.reset();
    client.server.until("discarded s1 ClientGone", 1);
}

fn unknown_version(client: &mut Client) {
    client.ask("unknown", &initialize_as("test", "1999-12-31"));
    let ask = initialize_as("test", MIDDLE).with("mcp-protocol-version", NEWEST);
    client.ask("header and body differ", &ask);
    let open = client.open(MIDDLE);
    let ask = ping("1").with("mcp-session-id", &open.id).with("mcp-protocol-version", "1999-12-31");
    client.ask("unknown later", &ask);
}

fn bears_an_id(client: &mut Client) {
    let open = client.open(MIDDLE);
    client.ask("a known id", &initialize().with("mcp-session-id", &open.id));
    let unknown: String = open.id.chars().rev().collect();
    let answer = client.ask("an unknown id", &initialize().with("mcp-session-id", &unknown));
    assert_eq!(answer.session_id(), None);
    client.ask("still there", &open.own(ping("1")));
}

fn two_sessions(client: &mut Client) {
    let (one, two) = (client.open(MIDDLE), client.open(NEWEST));
    client.ask("one", &one.own(request("1", "echo", &json!({ "to": 1 }))));
    client.ask("two", &two.own(request("1", "echo", &json!({ "to": 2 }))));
    client.delete(&one);
    client.ask("two is there", &two.own(ping("3")));
}

fn stolen(client: &mut Client) {
    let open = client.open_with(MIDDLE, |ask| ask.with("authorization", "as alice"));
    for who in ["as alice", "as bob", "forbidden", "late", "nonsense"] {
        client.ask(who, &open.own(ping("1").with("authorization", who)));
    }
    client.ask("nobody", &open.own(ping("1")));
    client.ask("alice", &open.own(ping("1").with("authorization", "as alice")));
}

fn ended_by_application(client: &mut Client) {
    let open = client.open(MIDDLE);
    let mut stream = client.listen(&open);
    client.server.end_session(1);
    client.rest(&mut stream);
    client.ask("after", &open.own(ping("1")));
}

fn one_connection(client: &mut Client) {
    let open = client.open(MIDDLE);
    let mut wire = client.server.connect();
    for id in ["1", "2"] {
        wire.send(open.own(ping(id)).bytes());
        client.answer("in turn", &mut wire, false);
    }
    // The second is sent before the first is answered.
    let first = open.own(request("3", "echo", &json!({ "gate": "a" })));
    wire.send([first.bytes(), open.own(ping("4")).bytes()].concat());
    client.server.until("call 3 echo s1 by anyone 2025-06-18 POST", 1);
    client.server.open("a");
    client.answer("first", &mut wire, false);
    client.answer("second", &mut wire, false);
    client.ask("a notice", &open.own(notice("notifications/panics", &json!({}))));
}

fn too_late(client: &mut Client) {
    client.ask("initialize", &initialize_as("silent", MIDDLE));
    client.server.until("discarded s1 Timeout", 1);
}

fn cap(client: &mut Client) {
    client.open(MIDDLE);
    let open = client.open(MIDDLE);
    client.ask("one too many", &initialize());
    client.ask("too fast", &initialize().with("x-too-fast", "yes"));
    client.delete(&open);
    client.open(MIDDLE);
}

fn without_sessions(client: &mut Client) {
    let answer = client.ask("initialize", &initialize());
    assert_eq!(answer.session_id(), None);
    client.ask("ping", &ping("1"));
    client.ask("listen", &crate::socket_support::ask::get());
    client.ask("delete", &crate::socket_support::ask::delete());
}
