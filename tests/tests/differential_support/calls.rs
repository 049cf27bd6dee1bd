//! Calls of a session: answered at once, late, with notices before, never.

use serde_json::json;

use super::client::{Client, MIDDLE, NEWEST, OLDEST};
use super::{Scenario, scenario};
use crate::socket_support::ask::{Ask, cancel, notice, request};

pub(crate) const ALL: &[Scenario] = &[
    scenario("ids come back as they were", ids),
    scenario("the same id twice in flight", same_id),
    scenario("calls that fail", failures),
    scenario("notices before the result", notices),
    scenario("as the client accepts", accepts),
    scenario("progress", progress),
    scenario("cancelled before anything was sent", cancelled_early),
    scenario("cancelled when its stream is open", cancelled_late),
    scenario("a question to the client", question),
    scenario("a question that nothing can carry", question_to_nobody),
    scenario("notices and replies", notices_and_replies),
    scenario("a batch", batch),
    scenario("deleted with a call in flight", deleted),
    scenario("a large answer", large),
    scenario("more notices than are kept", many),
    Scenario { name: "too many calls", play: too_many, configure: |config| config.calls_per_session_max = 1 },
];

fn ids(client: &mut Client) {
    let open = client.open(MIDDLE);
    for id in ["1", "\"1\"", "0", "\"\"", "-7", "9007199254740993", r#""\u0041""#] {
        client.ask(id, &open.own(request(id, "ping", &json!({}))));
    }
}

fn same_id(client: &mut Client) {
    let open = client.open(MIDDLE);
    let wires = ["a", "b"].map(|gate| {
        let wire = client.send(&open.own(request("1", "echo", &json!({ "gate": gate }))));
        client.server.until("call 1 echo s1 by anyone 2025-06-18 POST", if gate == "a" { 1 } else { 2 });
        wire
    });
    let [mut first, mut second] = wires;
    client.server.open("b");
    client.answer("second", &mut second, false);
    client.server.open("a");
    client.answer("first", &mut first, false);
}

fn failures(client: &mut Client) {
    let open = client.open(MIDDLE);
    for method in ["fails", "panics", "unknown/method", "ping"] {
        client.ask(method, &open.own(request("1", method, &json!({}))));
    }
}

fn notices(client: &mut Client) {
    for version in [MIDDLE, NEWEST] {
        let open = client.open(version);
        let mut stream = client.stream("counts", &open.own(request("1", "counts", &json!({ "to": 3 }))));
        client.rest(&mut stream);
    }
}

fn accepts(client: &mut Client) {
    let open = client.open(MIDDLE);
    for accept in
        ["application/json", "text/event-stream", "*/*", "text/event-stream, application/json;q=0.1"]
    {
        let counts = request("1", "counts", &json!({ "to": 2 })).set("accept", accept);
        client.ask(accept, &open.own(counts));
        client.ask(accept, &open.own(request("2", "ping", &json!({})).set("accept", accept)));
    }
}

fn progress(client: &mut Client) {
    let open = client.open(NEWEST);
    client.ask("nobody asked for it", &open.own(request("1", "progresses", &json!({}))));
    let params = json!({ "_meta": { "progressToken": "token" } });
    let mut stream = client.stream("asked for", &open.own(request("2", "progresses", &params)));
    client.rest(&mut stream);
}

fn cancelled_early(client: &mut Client) {
    let open = client.open(MIDDLE);
    let mut wire = client.send(&open.own(request("1", "waits", &json!({}))));
    client.server.until("call 1 waits s1 by anyone 2025-06-18 POST", 1);
    client.ask("another's id", &open.own(cancel("2")));
    client.ask("cancel", &open.own(cancel("1")));
    client.answer("waits", &mut wire, false);
    client.server.until("done 1 waits", 1);
}

fn cancelled_late(client: &mut Client) {
    let open = client.open(NEWEST);
    let waits = open.own(request("1", "waits", &json!({ "notes": true })));
    let mut stream = client.stream("waits", &waits);
    client.message(&mut stream);
    client.ask("cancel", &open.own(cancel("1")));
    client.rest(&mut stream);
    client.server.until("done 1 waits", 1);
}

fn question(client: &mut Client) {
    let open = client.open(MIDDLE);
    for reply in [r#""result":{"ok":true}"#, r#""error":{"code":-1,"message":"no"}"#] {
        let mut stream = client.stream("asks", &open.own(request("1", "asks", &json!({}))));
        let message = loop {
            if let Some(message) = stream.event().message() {
                break message;
            }
        };
        client.write(format!("  asked {message}"));
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},{reply}}}"#, message["id"]);
        client.ask("reply", &open.own(Ask::post(body)));
        client.rest(&mut stream);
    }
}

fn question_to_nobody(client: &mut Client) {
    let open = client.open(MIDDLE);
    let asks = request("1", "asks", &json!({})).set("accept", "application/json");
    client.ask("asks", &open.own(asks));
}

fn notices_and_replies(client: &mut Client) {
    let open = client.open(MIDDLE);
    client.ask("a notice", &open.own(notice("notifications/any", &json!({ "a": 1 }))));
    client.ask("a panic", &open.own(notice("notifications/panics", &json!({}))));
    client.ask("a reply to nothing", &open.own(Ask::post(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#)));
}

fn batch(client: &mut Client) {
    let open = client.open(OLDEST);
    let of = |bodies: &[&str]| open.own(Ask::post(format!("[{}]", bodies.join(","))));
    let (one, two) = (
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"2","method":"echo","params":{"a":1}}"#,
    );
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/any"}"#;
    client.ask("one", &of(&[one]));
    client.ask("two", &of(&[one, two]));
    client.ask("notices", &of(&[notice, notice]));
    client.ask("bad", &of(&[one, "7"]));
}

fn deleted(client: &mut Client) {
    let open = client.open(NEWEST);
    let mut early = client.send(&open.own(request("1", "waits", &json!({}))));
    client.server.until("call 1 waits s1 by anyone 2025-11-25 POST", 1);
    let waits = open.own(request("2", "waits", &json!({ "notes": true })));
    let mut late = client.stream("waits", &waits);
    client.message(&mut late);
    let mut listening = client.listen(&open);
    client.event(&mut listening);
    client.delete(&open);
    client.answer("early", &mut early, false);
    client.rest(&mut late);
    client.rest(&mut listening);
    // Two handlers see it at the same time: which is first is open.
    client.server.until("done 1 waits", 1);
    client.server.until("done 2 waits", 1);
}

fn large(client: &mut Client) {
    let open = client.open(MIDDLE);
    let big = |accept: &str| {
        let big = request("1", "big", &json!({ "bytes": 3_000_000 }));
        open.own(big.set("accept", accept))
    };
    client.ask("as JSON", &big("application/json"));
    client.ask("as an event", &big("text/event-stream"));
}

fn many(client: &mut Client) {
    let open = client.open(MIDDLE);
    let mut stream = client.stream("counts", &open.own(request("1", "counts", &json!({ "to": 2000 }))));
    let messages = stream.messages();
    let inorder =
        messages.iter().take(2000).zip(1..).all(|(note, number)| note["params"]["number"] == number);
    client.write(format!("  {} messages, in order: {inorder}", messages.len()));
}

fn too_many(client: &mut Client) {
    let open = client.open(MIDDLE);
    let mut wire = client.send(&open.own(request("1", "echo", &json!({ "gate": "a" }))));
    client.server.until("call 1 echo s1 by anyone 2025-06-18 POST", 1);
    client.ask("one too many", &open.own(request("2", "ping", &json!({}))));
    client.server.open("a");
    client.answer("the one", &mut wire, false);
}
