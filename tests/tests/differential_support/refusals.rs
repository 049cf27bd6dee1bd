//! What is refused before any session hears of it, and what is answered beside the endpoint.

use serde_json::json;

use super::client::{Client, MIDDLE};
use super::{Scenario, scenario};
use crate::socket_support::ask::{Ask, delete, get, initialize, ping, request};

pub(crate) const ALL: &[Scenario] = &[
    scenario("hosts and origins", hosts_and_origins),
    scenario("methods and paths", methods_and_paths),
    scenario("fields that do not fit", fields),
    scenario("bodies that do not fit", bodies),
    scenario("sessions that are not there", sessions),
    scenario("who is asking", auth),
    Scenario {
        name: "bodies that are too large",
        play: too_large,
        configure: |config| config.body_bytes_max = 1000,
    },
    Scenario {
        name: "a body that does not come",
        play: too_slow,
        configure: |config| config.body_read = std::time::Duration::from_millis(50),
    },
];

fn hosts_and_origins(client: &mut Client) {
    client.ask("another host", &initialize().set("host", "evil.example"));
    client.ask("another origin", &initialize().with("origin", "http://evil.example"));
    client.ask("no origin", &initialize().with("origin", "null"));
    client.ask("a page of ours", &initialize().with("origin", "http://127.0.0.1"));
    let preflight = Ask::new("OPTIONS", "/mcp").with("origin", "http://127.0.0.1");
    client.ask("preflight", &preflight.clone().with("access-control-request-method", "POST"));
    client.ask("options", &preflight);
}

fn methods_and_paths(client: &mut Client) {
    client.ask("put", &initialize().method("PUT"));
    client.ask("head", &Ask::new("HEAD", "/mcp"));
    client.ask("another path", &initialize().target("/other"));
    client.ask("below", &initialize().target("/mcp/x"));
    client.ask("a slash", &initialize().target("/mcp/"));
    client.ask("a query", &initialize().target("/mcp?a=b"));
    client.ask("get without a session", &get());
    client.ask("delete without a session", &delete());
}

fn fields(client: &mut Client) {
    client.ask("nothing acceptable", &initialize().set("accept", "text/plain"));
    client.ask("get is for events", &get().set("accept", "application/json"));
    client.ask("no JSON", &initialize().set("content-type", "text/plain"));
    client.ask("no type", &initialize().without("content-type"));
    client
        .ask("two versions", &ping("1").with("mcp-protocol-version", "1").with("mcp-protocol-version", "2"));
    client.ask("a bad id", &ping("1").with("mcp-session-id", "a b").with("mcp-protocol-version", MIDDLE));
}

fn bodies(client: &mut Client) {
    for body in [
        "",
        "{",
        "null",
        "[]",
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    ] {
        client.ask(body, &Ask::post(body));
    }
}

fn sessions(client: &mut Client) {
    let open = client.open(MIDDLE);
    let unknown: String = open.id.chars().rev().collect();
    for ask in [ping("1"), get(), delete()] {
        client.ask(
            "unknown",
            &ask.clone().with("mcp-session-id", &unknown).with("mcp-protocol-version", MIDDLE),
        );
        client.ask("unknown, no version", &ask.with("mcp-session-id", &unknown));
    }
    client.ask("missing", &ping("1"));
    client.ask("a foreign event", &open.own(get().with("last-event-id", "nonsense")));
}

fn auth(client: &mut Client) {
    for who in ["as alice", "forbidden", "late", "nonsense"] {
        client.ask(who, &initialize().with("authorization", who));
        let origin = initialize().with("authorization", who).with("origin", "http://127.0.0.1:1");
        client.ask("with an origin", &origin);
    }
}

fn too_large(client: &mut Client) {
    // Announced: it is not read.
    let mut wire = client.server.connect();
    wire.send(initialize().with("content-length", "1001").head_text());
    client.answer("announced", &mut wire, false);
    // Not announced: counted as it comes.
    let mut wire = client.server.connect();
    wire.send(initialize().with("transfer-encoding", "chunked").head_text());
    wire.send(format!("3e9\r\n{}\r\n", "x".repeat(1001)));
    client.answer("counted", &mut wire, false);
    let open = client.open(MIDDLE);
    client.ask("just right", &open.own(request("1", "echo", &json!({ "text": "x".repeat(900) }))));
}

fn too_slow(client: &mut Client) {
    let mut wire = client.server.connect();
    wire.send(initialize().with("content-length", "100").head_text());
    client.answer("nothing of it", &mut wire, false);
}
