//! The stateless era over a socket: Z1 to Z11, with the demo server and with one in this process.

mod socket_support;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use socket_support::ask::{Ask, delete, get, initialize, request, tool_with_progress};
use socket_support::binary::Everything;
use socket_support::local::Local;
use socket_support::session::Session;
use socket_support::sse::{Event, Stream};
use socket_support::stats::{Stats, Tables};
use socket_support::wait::until;
use socket_support::wire::{Answer, Wire};

const VERSION: &str = "2026-07-28";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A request of the stateless era, complete; the id is written as it is.
fn modern(id: &str, method: &str, params: &Value) -> Ask {
    modern_of(id, method, params, &json!({}))
}

/// The same by a client with these capabilities.
fn modern_of(id: &str, method: &str, params: &Value, capabilities: &Value) -> Ask {
    let mut params = params.clone();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = VERSION.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    let ask = request(id, method, &params).with("mcp-protocol-version", VERSION).with("mcp-method", method);
    match params["name"].as_str().or(params["uri"].as_str()) {
        Some(name) => ask.with("mcp-name", name),
        None => ask,
    }
}

fn tool(id: &str, name: &str, arguments: &Value) -> Ask {
    modern(id, "tools/call", &json!({ "name": name, "arguments": arguments }))
}

fn listen(id: &str, notifications: &Value) -> Ask {
    modern(id, "subscriptions/listen", &json!({ "notifications": notifications }))
}

/// Opens a stream of announcements, which must be acknowledged so.
#[track_caller]
fn listener(addr: SocketAddr, id: &str, asked: &Value, granted: &Value) -> Stream {
    let mut stream = Wire::to(addr).open(&listen(id, asked));
    let id: Value = serde_json::from_str(id).unwrap();
    let params = json!({ "_meta": { SUBSCRIPTION: id }, "notifications": granted });
    let first = json!({
        "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params,
    });
    assert_eq!(stream.message(), first);
    stream
}

/// The text of a tool's result.
#[track_caller]
fn said(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {message}"))
}

#[track_caller]
fn refused(answer: &Answer, status: u16, code: i64) {
    assert_eq!((answer.status(), answer.error_code()), (status, code), "{answer:?}");
    assert_eq!(answer.session_id(), None);
}

#[test]
fn discover_and_call() {
    let server = Everything::start(&[]);
    let mut wire = Wire::to(server.addr);
    let discovered = wire.ask(&modern("1", "server/discover", &json!({}))).result();
    let versions = json!([VERSION, "2025-11-25", "2025-06-18", "2025-03-26"]);
    assert_eq!(discovered["supportedVersions"], versions);
    assert!(discovered["capabilities"]["tools"].is_object(), "{discovered}");
    assert_eq!(discovered["resultType"], "complete");
    let listed = wire.ask(&modern("2", "tools/list", &json!({}))).result();
    assert!(listed["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{listed}");
    for id in ["0", r#""""#, r#""a\"b""#, "9007199254740993", "123456789012345678901234567890"] {
        let answer = wire.ask(&tool(id, "echo", &json!({ "text": "hello" })));
        let text = String::from_utf8(answer.body.clone()).unwrap();
        assert!(text.contains(&format!(r#""id":{id},"#)), "R5: {text}");
        assert_eq!(said(&answer.json()), "hello");
        assert_eq!(answer.session_id(), None, "Z1");
    }
    assert_eq!(server.settle(Tables::EMPTY).lives.created, 0);
}

#[test]
fn z2_a_notice_is_202_without_a_body() {
    let server = Everything::start(&[]);
    let notice = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
    let answer = Wire::to(server.addr).ask(&notice.with("mcp-protocol-version", VERSION));
    assert_eq!((answer.status(), answer.body.len()), (202, 0));
    assert_eq!((answer.field("content-length"), answer.field("content-type")), (Some("0"), None));
}

#[test]
fn questions_travel_in_results_and_answers_in_requests() {
    let server = Everything::start(&[]);
    let name = "test_input_required_result_multi_round";
    let able = json!({ "elicitation": {} });
    let round = |brought: Value| {
        let mut params = json!({ "name": name, "arguments": {} });
        params.as_object_mut().unwrap().extend(brought.as_object().unwrap().clone());
        // A connection each: nothing of the conversation is kept by the server.
        Wire::to(server.addr).ask(&modern_of("1", "tools/call", &params, &able)).result()
    };
    let filled = |key: &str, content: Value, state: &Value| {
        let answer = json!({ key: { "action": "accept", "content": content } });
        json!({ "inputResponses": answer, "requestState": state })
    };
    let first = round(json!({}));
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["step1"]["method"], "elicitation/create");
    let second = round(filled("step1", json!({ "name": "Ada" }), &first["requestState"]));
    assert_eq!(second["inputRequests"]["step2"]["method"], "elicitation/create");
    let last = round(filled("step2", json!({ "color": "green" }), &second["requestState"]));
    assert_eq!(
        (&last["resultType"], last["content"][0]["text"].as_str()),
        (&json!("complete"), Some("Ada likes green."))
    );

    let tampered = format!("{}x", first["requestState"].as_str().unwrap());
    let mut params = filled("step1", json!({ "name": "Ada" }), &tampered.into());
    (params["name"], params["arguments"]) = (name.into(), json!({}));
    let answer = Wire::to(server.addr).ask(&modern_of("1", "tools/call", &params, &able));
    refused(&answer, 400, -32602);
    let unable = Wire::to(server.addr).ask(&tool("1", "test_missing_capability", &json!({})));
    refused(&unable, 400, -32021);
    server.settle(Tables::EMPTY);
}

#[test]
fn z10_changes_that_others_make_reach_a_listener() {
    let server = Everything::start(&[]);
    let all = json!({
        "toolsListChanged": true, "resourceSubscriptions": ["test://watched-resource"],
    });
    let mut listening = listener(server.addr, r#""sub-1""#, &all, &all);
    let mut prompts = listener(
        server.addr,
        "0",
        &json!({ "promptsListChanged": true }),
        &json!({ "promptsListChanged": true }),
    );
    let session = Session::open(server.addr);
    let mut get = session.listen();
    // Both tell of the same change; one is of the other era.
    let mut other = Wire::to(server.addr);
    assert_eq!(
        said(&other.ask(&tool("1", "test_trigger_tool_change", &json!({}))).json()),
        "Clients that were told: 2."
    );
    let changed = "notifications/tools/list_changed";
    let stamp = json!({ "_meta": { SUBSCRIPTION: "sub-1" } });
    assert_eq!(listening.message(), json!({ "jsonrpc": "2.0", "method": changed, "params": stamp }));
    assert_eq!(get.message(), json!({ "jsonrpc": "2.0", "method": changed }));
    for (uri, told) in [("test://watched-resource", 1), ("test://static-text", 0)] {
        let answer = other.ask(&tool("2", "test_trigger_resource_update", &json!({ "uri": uri })));
        assert_eq!(said(&answer.json()), format!("Clients that were told: {told}."), "{uri}");
    }
    let updated = listening.message();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "test://watched-resource");
    assert_eq!(updated["params"]["_meta"][SUBSCRIPTION], "sub-1");
    // Only what was asked for: the first that comes is this one.
    other.ask(&tool("3", "test_trigger_prompt_change", &json!({})));
    let only = prompts.message();
    assert_eq!(
        (&only["method"], &only["params"]["_meta"][SUBSCRIPTION]),
        (&json!("notifications/prompts/list_changed"), &json!(0))
    );
    // Who leaves is told no more.
    drop(listening);
    drop(prompts);
    until(
        "nobody but the session is told",
        || other.ask(&tool("4", "test_trigger_tool_change", &json!({}))).json(),
        |answer| said(answer) == "Clients that were told: 1.",
    );
    drop(get);
    session.close();
    server.settle(Tables::EMPTY);
}

#[test]
fn z10_a_listener_that_says_nothing_is_kept_with_comments_and_refused_without_events() {
    let server = Everything::start(&["--comment-every", "0.05"]);
    let tools = json!({ "toolsListChanged": true });
    let mut listening = listener(server.addr, "1", &tools, &tools);
    let comments: Vec<bool> = (0..3).map(|_| listening.event().comment).collect();
    assert_eq!(comments, [true; 3]);
    let answer = Wire::to(server.addr).ask(&listen("1", &tools).set("accept", "application/json"));
    assert_eq!(answer.status(), 406);
    let mut empty = listener(server.addr, "2", &json!({}), &json!({}));
    let meta = json!({ SUBSCRIPTION: 2 });
    let result = json!({ "resultType": "complete", "_meta": meta });
    assert_eq!(empty.messages(), [json!({ "jsonrpc": "2.0", "id": 2, "result": result })]);
    drop(listening);
    server.settle(Tables::EMPTY);
}

#[cfg(unix)]
#[test]
fn x1_a_listener_is_told_of_the_end() {
    let mut server = Everything::start(&["--shutdown-drain", "20"]);
    let tools = json!({ "toolsListChanged": true });
    let mut listening = listener(server.addr, r#""x""#, &tools, &tools);
    server.signal("TERM");
    let result = json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: "x" } });
    assert_eq!(listening.messages(), [json!({ "jsonrpc": "2.0", "id": "x", "result": result })]);
    let (status, _) = server.wait();
    assert!(status.success(), "{status}");
}

#[test]
fn z9_closing_the_connection_cancels() {
    let server = Everything::start(&[]);
    let slow = json!({ "name": "slow", "arguments": { "ms": 600_000, "steps": 1000 } });
    // Before anything is out, in the stream, by a reset, and by shutting the write side.
    for how in ["silent", "streaming", "reset", "half"] {
        let mut params = slow.clone();
        if how == "streaming" {
            params["_meta"] = json!({ "progressToken": "t" });
        }
        let ask = modern("1", "tools/call", &params);
        let mut wire = Wire::to(server.addr);
        wire.send(ask.bytes());
        Stats::until(server.addr, how, |stats| stats.tables.calls == 1);
        match how {
            "streaming" => {
                let head = wire.head().unwrap();
                let mut stream = Stream::new(wire, head);
                assert_eq!(stream.message()["method"], "notifications/progress");
                drop(stream);
            }
            "reset" => wire.reset(),
            "half" => {
                wire.half_close();
                Stats::until(server.addr, how, |stats| stats.tables.calls == 0);
                wire.drain();
            }
            _ => drop(wire),
        }
        let stats = server.settle(Tables::EMPTY);
        assert_eq!(stats.lives.created, 0);
    }
}

#[test]
fn z9_the_application_learns_that_its_client_left() {
    let server = Local::start(|_| ());
    for number in 1..=3 {
        let mut wire = Wire::to(server.addr);
        wire.send(modern("1", "waits", &json!({})).bytes());
        until("the call", || server.begun(), |begun| *begun == number);
        assert_eq!(server.cancelled(), number - 1);
        drop(wire);
        until("its cancellation", || server.cancelled(), |cancelled| *cancelled == number);
    }
    // In a session the same is no cancellation.
    let session = Session::open(server.addr);
    let mut wire = Wire::to(server.addr);
    wire.send(session.own(request("1", "gated", &json!({}))).bytes());
    until("the call", || server.begun(), |begun| *begun == 4);
    drop(wire);
    server.settle(Tables { sessions: 1, calls: 1, ..server.stats().tables });
    server.open_gate();
    until("its end", || server.over(), |over| *over == 4);
    assert_eq!(server.cancelled(), 3, "R13");
    session.close();
}

#[test]
fn z7_statuses_before_output_and_200_after() {
    let server = Local::start(|config| config.publishes.tools = true);
    let mut wire = Wire::to(server.addr);
    refused(&wire.ask(&modern("1", "nope", &json!({}))), 404, -32601);
    refused(&wire.ask(&modern("1", "ping", &json!({}))), 404, -32601);
    refused(&wire.ask(&modern("1", "fails", &json!({}))), 200, -32001);
    refused(&wire.ask(&modern("1", "panics", &json!({}))), 200, -32603);
    refused(&wire.ask(&modern("1", "asks", &json!({}))), 200, -32603);
    refused(&wire.ask(&modern("1", "echo", &json!({})).set("mcp-method", "Echo")), 400, -32020);
    refused(&wire.ask(&modern("1", "echo", &json!({})).without("mcp-protocol-version")), 400, -32020);
    let unknown = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2027-01-01", "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let unknown =
        request("1", "echo", &unknown).with("mcp-protocol-version", "2027-01-01").with("mcp-method", "echo");
    refused(&wire.ask(&unknown), 400, -32022);
    let bare =
        request("1", "echo", &json!({})).with("mcp-protocol-version", VERSION).with("mcp-method", "echo");
    refused(&wire.ask(&bare), 400, -32602);
    for method in [get(), delete()] {
        let answer = wire.ask(&method.with("mcp-protocol-version", VERSION).with("mcp-session-id", "x"));
        assert_eq!((answer.status(), answer.field("allow")), (405, Some("POST, OPTIONS")));
    }
    assert_eq!(server.settle(Tables::EMPTY).lives.created, 0);
}

#[test]
fn z7_after_silence_the_error_is_in_the_stream() {
    let server = Local::start(|config| config.sse_commit_after = Duration::from_millis(20));
    let open = |method| Wire::to(server.addr).open(&modern("1", method, &json!({})));
    let mut streams = [open("gated"), open("silent")];
    for stream in &mut streams {
        assert!(stream.event().comment, "no priming event");
    }
    server.open_gate();
    let [answered, silent] = &mut streams;
    let events: Vec<Event> = answered.rest();
    assert!(events.iter().all(|event| event.id.is_none() && event.retry.is_none()), "{events:?}");
    assert_eq!(events.iter().filter_map(Event::message).count(), 1);
    // X1: the deadline comes, and the head is long out.
    server.begin_stop();
    let messages = silent.messages();
    assert_eq!((messages.len(), &messages[0]["error"]["code"]), (1, &json!(-32603)), "{messages:?}");
}

#[test]
fn c3_progress_comes_before_the_result_without_ids() {
    let server = Everything::start(&[]);
    let params =
        json!({ "name": "test_tool_with_progress", "arguments": {}, "_meta": { "progressToken": "t" } });
    let mut stream = Wire::to(server.addr).open(&modern("7", "tools/call", &params));
    let events = stream.rest();
    assert!(events.iter().all(|event| event.id.is_none() && event.retry.is_none()), "{events:?}");
    let messages: Vec<Value> = events.iter().filter_map(Event::message).collect();
    assert_eq!(messages.len(), 4);
    assert!(messages[..3].iter().all(|message| message["method"] == "notifications/progress"));
    assert_eq!((&messages[3]["id"], &messages[3]["result"]["resultType"]), (&json!(7), &json!("complete")));
    let json = modern("7", "tools/call", &params).set("accept", "application/json");
    assert_eq!(Wire::to(server.addr).ask(&json).json(), messages[3]);
}

#[test]
fn both_eras_take_turns_on_one_connection() {
    let server = Everything::start(&[]);
    let mut wire = Wire::to(server.addr);
    let opened = wire.ask(&initialize());
    let id = opened.session_id().expect("a session").to_owned();
    let own = |ask: Ask| ask.with("mcp-session-id", &id).with("mcp-protocol-version", "2025-06-18");
    for round in 0..5 {
        let text = format!("round {round}");
        let echo = json!({ "name": "echo", "arguments": { "text": text } });
        let older = wire.ask(&own(request("1", "tools/call", &echo))).json();
        assert_eq!(said(&older), text);
        assert_eq!(older["result"].get("resultType"), None, "what a session is answered stays as it was");
        // Bearing the session or not: it makes no difference.
        let newer = modern("1", "tools/call", &echo);
        let newer = if round % 2 == 0 { newer } else { newer.with("mcp-session-id", &id) };
        let newer = wire.ask(&newer);
        assert_eq!((said(&newer.json()), newer.session_id()), (&*text, None));
        assert_eq!(newer.json()["result"]["resultType"], "complete");
        refused(&wire.ask(&modern("1", "nope", &json!({}))), 404, -32601);
        refused(&wire.ask(&own(request("1", "nope", &json!({})))), 200, -32601);
        let events = wire.ask(&own(tool_with_progress("2", "test_tool_with_progress", &json!({})))).events();
        assert_eq!(events.iter().filter_map(Event::message).count(), 4);
    }
    assert_eq!(wire.ask(&own(delete())).status(), 204);
    assert_eq!(
        said(&wire.ask(&tool("1", "echo", &json!({ "text": "on" })).with("mcp-session-id", &id)).json()),
        "on"
    );
    assert_eq!(server.settle(Tables::EMPTY).lives.created, 1);
}

#[test]
fn one_era_alone_or_none_of_the_sessions() {
    let alone = Everything::start(&["--eras", "stateless"]);
    let answer = Wire::to(alone.addr).ask(&initialize());
    refused(&answer, 400, -32022);
    assert_eq!(answer.json()["error"]["data"]["supported"], json!([VERSION]));
    assert_eq!(Wire::to(alone.addr).ask(&get()).status(), 405);
    let handshake = Everything::start(&["--eras", "handshake"]);
    let answer = Wire::to(handshake.addr).ask(&modern("1", "tools/list", &json!({})));
    refused(&answer, 400, -32600);
    let supported = json!(["2025-11-25", "2025-06-18", "2025-03-26"]);
    assert_eq!(answer.json()["error"]["data"]["supported"], supported);
    Session::open(handshake.addr).close();
    let off = Everything::start(&["--no-sessions"]);
    let echo = || tool("1", "echo", &json!({ "text": "hello" }));
    for server in [&alone, &off] {
        assert_eq!(said(&Wire::to(server.addr).ask(&echo()).json()), "hello");
        let tools = json!({ "toolsListChanged": true });
        let mut listening = listener(server.addr, "1", &tools, &tools);
        Wire::to(server.addr).ask(&tool("2", "test_trigger_tool_change", &json!({})));
        assert_eq!(listening.message()["method"], "notifications/tools/list_changed");
        drop(listening);
        assert_eq!(server.settle(Tables::EMPTY).lives.created, 0);
    }
    assert_eq!(Wire::to(off.addr).ask(&initialize()).session_id(), None);
}
