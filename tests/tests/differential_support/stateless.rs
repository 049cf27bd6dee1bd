//! The stateless era: every request stands alone, and a disconnect cancels.

use serde_json::{Value, json};

use super::client::{Client, MIDDLE};
use super::{Scenario, long_drain, scenario};
use crate::socket_support::ask::{Ask, delete, get, ping, request};

pub(crate) const ALL: &[Scenario] = &[
    scenario("calls alone", calls),
    scenario("errors have a status of their own", errors),
    scenario("what every request must say", fields),
    scenario("a disconnect cancels, before the head", gone_early),
    scenario("a disconnect cancels, in the stream", gone_late),
    scenario("a session is not touched", sessions),
    scenario("listening for changes", listening),
    Scenario { name: "listeners at the shutdown", play: shutdown, configure: long_drain },
];

const VERSION: &str = "2026-07-28";

fn modern(id: &str, method: &str, mut params: Value) -> Ask {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(id, method, &params).with("mcp-protocol-version", VERSION).with("mcp-method", method)
}

fn calls(client: &mut Client) {
    client.ask("echo", &modern("1", "echo", json!({ "a": 1 })));
    let mut stream = client.stream("counts", &modern("\"x\"", "counts", json!({ "to": 3 })));
    client.rest(&mut stream);
    client.ask("as JSON", &modern("2", "counts", json!({ "to": 3 })).set("accept", "application/json"));
    client.ask("big", &modern("3", "big", json!({ "bytes": 1_000_000 })));
}

fn errors(client: &mut Client) {
    for method in ["unknown/method", "fails", "panics", "asks"] {
        client.ask(method, &modern("1", method, json!({})));
    }
}

fn fields(client: &mut Client) {
    client.ask("no _meta", &ping("1").with("mcp-protocol-version", VERSION).with("mcp-method", "ping"));
    client.ask("no method", &modern("1", "ping", json!({})).without("mcp-method"));
    client.ask("another method", &modern("1", "ping", json!({})).set("mcp-method", "echo"));
    client.ask("no version", &modern("1", "ping", json!({})).without("mcp-protocol-version"));
    client.ask("get", &get().with("mcp-protocol-version", VERSION));
    client.ask("delete", &delete().with("mcp-protocol-version", VERSION));
}

fn gone_early(client: &mut Client) {
    let wire = client.send(&modern("1", "waits", json!({})));
    client.server.until("call 1 waits none by anyone 2026-07-28 POST", 1);
    wire.reset();
    client.server.until("cancelled 1", 1);
    client.server.until("done 1 waits", 1);
}

fn gone_late(client: &mut Client) {
    let mut stream = client.stream("waits", &modern("1", "waits", json!({ "notes": true })));
    client.message(&mut stream);
    stream.into_wire().reset();
    client.server.until("cancelled 1", 1);
    client.server.until("done 1 waits", 1);
}

fn sessions(client: &mut Client) {
    let open = client.open(MIDDLE);
    client.ask("bears an id", &modern("1", "echo", json!({})).with("mcp-session-id", &open.id));
    client.ask("bears nonsense", &modern("2", "echo", json!({})).with("mcp-session-id", "nonsense"));
    client.ask("the session", &open.own(ping("3")));
}

fn listen(id: &str) -> Ask {
    let wanted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["file:///a"] });
    modern(id, "subscriptions/listen", json!({ "notifications": wanted }))
}

fn listening(client: &mut Client) {
    let mut stream = client.stream("listen", &listen("1"));
    client.message(&mut stream);
    for topic in [
        mcp_http_tokio::Topic::Tools,
        mcp_http_tokio::Topic::Prompts,
        mcp_http_tokio::Topic::Resource("file:///a".into()),
        mcp_http_tokio::Topic::Resource("file:///b".into()),
    ] {
        let told = client.server.publish(&topic);
        client.write(format!("{topic:?}: {told} told"));
    }
    client.message(&mut stream);
    client.message(&mut stream);
    stream.into_wire().reset();
}

fn shutdown(client: &mut Client) {
    let mut stream = client.stream("listen", &listen("1"));
    client.message(&mut stream);
    let mut waits = client.stream("waits", &modern("2", "waits", json!({ "notes": true })));
    client.message(&mut waits);
    client.server.begin_stop();
    client.rest(&mut stream);
    client.rest(&mut waits);
}
