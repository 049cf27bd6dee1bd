//! Calls over a socket: how they are answered, side by side, cancelled, interrupted, one after the other.

mod socket_support;

use std::time::Duration;

use serde_json::{Value, json};

use socket_support::ask::{Ask, cancel, initialize, notice, ping, request, tool, tool_with_progress};
use socket_support::binary::Everything;
use socket_support::local::Local;
use socket_support::session::Session;
use socket_support::stats::{Stats, Tables};
use socket_support::wait::{now, until};
use socket_support::wire::{Answer, Wire};

fn echo(id: &str, text: &str) -> Ask {
    tool(id, "echo", &json!({ "text": text }))
}

/// The text of a tool's result.
fn said(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {message}"))
}

/// The one message of an answer, in whatever form it came.
fn only_message(answer: &Answer) -> Value {
    assert_eq!(answer.status(), 200, "{answer:?}");
    if answer.field("content-type") == Some("application/json") {
        return answer.json();
    }
    let messages: Vec<Value> = answer.events().iter().filter_map(|event| event.message()).collect();
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages[0].clone()
}

/// I2, C14.
#[test]
fn json_or_events_as_the_client_accepts() {
    let server = Everything::start(&[]);
    let session = Session::open(server.addr);
    let (json, events) = ("application/json", "text/event-stream");
    for (accept, expected) in [
        (Some("application/json, text/event-stream"), json),
        (Some("text/event-stream, application/json"), events),
        (Some("text/event-stream;q=0.5, application/json"), json),
        (Some("application/json"), json),
        (Some("APPLICATION/JSON"), json),
        (Some("*/*"), json),
        (Some("application/*"), json),
        (None, json),
        (Some("text/event-stream"), events),
        (Some("text/*"), events),
        (Some("application/json;q=0, text/event-stream"), events),
        (Some("text/plain, text/event-stream;q=0.1"), events),
    ] {
        let ask = echo("7", "hello").without("accept");
        let ask = accept.into_iter().fold(ask, |ask, accept| ask.with("accept", accept));
        let answer = session.ask(ask);
        assert_eq!(answer.field("content-type"), Some(expected), "{accept:?}");
        let message = only_message(&answer);
        assert_eq!((said(&message), &message["id"]), ("hello", &json!(7)), "{accept:?}");
    }
}

/// C3: progress goes before the answer, on the call's own stream; who reads only JSON gets the answer alone.
#[test]
fn progress_before_the_result() {
    let server = Everything::start(&[]);
    let session = Session::open(server.addr);
    let ask = || tool_with_progress("7", "test_tool_with_progress", &json!({}));
    let messages = session.stream(ask()).messages();
    let (last, progress) = messages.split_last().unwrap();
    let reported: Vec<i64> = progress
        .iter()
        .inspect(|message| assert_eq!(message["method"], "notifications/progress"))
        .inspect(|message| assert_eq!(message["params"]["progressToken"], "token"))
        .map(|message| message["params"]["progress"].as_i64().unwrap())
        .collect();
    assert_eq!(reported, [0, 50, 100]);
    assert_eq!(last["id"], 7);
    assert!(!said(last).is_empty());

    let alone = session.ask(ask().set("accept", "application/json")).json();
    assert_eq!((said(&alone), &alone["id"]), (said(last), &json!(7)));
    let unasked = session.ask(tool("7", "test_tool_with_progress", &json!({})));
    assert_eq!(said(&only_message(&unasked)), said(last), "without a token there is no progress");
}

/// A call that takes long turns into a stream, so that nobody on the way gives up.
#[test]
fn silence_turns_into_a_stream() {
    let server = Local::start(|config| {
        config.sse_commit_after = Duration::from_millis(50);
        config.comment_every = Duration::from_millis(50);
    });
    let session = Session::open(server.addr);
    let mut stream = session.stream(request("7", "gated", &json!({ "x": 1 })));
    let first: Vec<bool> = (0..3).map(|_| stream.event().comment).collect();
    assert_eq!(first, [true; 3]);
    server.open_gate();
    let message = stream.message();
    assert_eq!((&message["id"], &message["result"]["x"]), (&json!(7), &json!(1)));
    assert_eq!(stream.rest(), []);
    session.close();
}

/// R5: ids come back byte for byte, and are never taken for each other.
#[test]
fn ids_that_look_alike() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let ids = ["0", r#""""#, r#""0""#, "1", r#""1""#, "-1", "9007199254740993", r#""\u0031""#, r#""a\"b""#];
    let mut wires: Vec<Wire> = ids
        .iter()
        .map(|id| {
            let mut wire = Wire::to(server.addr);
            let ask = request(id, "gated", &json!({ "mine": id })).set("accept", "application/json");
            wire.send(session.own(ask).bytes());
            wire
        })
        .collect();
    Stats::until(server.addr, "all calls in flight", |stats| stats.tables.calls == ids.len() as u64);
    server.open_gate();
    for (id, wire) in ids.iter().zip(&mut wires) {
        let answer = wire.answer();
        let text = String::from_utf8(answer.body.clone()).unwrap();
        assert!(text.contains(&format!(r#""id":{id},"#)), "{id}: {text}");
        assert_eq!(answer.result()["mine"], *id);
    }
    session.close();
}

/// C2: in one session, across sessions, on one connection and on several.
#[test]
fn the_same_id_twice_in_flight() {
    let server = Local::start(|_| ());
    let (one, other) = (Session::open(server.addr), Session::open(server.addr));
    let gated = |session: &Session, mine: &str| {
        let mut wire = Wire::to(server.addr);
        wire.send(session.own(request("7", "gated", &json!({ "mine": mine }))).bytes());
        wire
    };
    let mut waiting = [gated(&one, "first"), gated(&one, "second"), gated(&other, "third")];
    Stats::until(server.addr, "three calls in flight", |stats| stats.tables.calls == 3);
    let quick = one.ask(request("7", "echo", &json!({ "mine": "quick" })));
    assert_eq!(only_message(&quick)["result"]["mine"], "quick");
    assert_eq!(one.ask(ping("7")).result(), json!({}));
    // It names two calls, and so it names none.
    assert_eq!(one.ask(cancel("7")).status(), 202);
    // In the other session it names one.
    assert_eq!(other.ask(cancel("7")).status(), 202);
    Stats::until(server.addr, "one call less", |stats| stats.tables.calls == 2);
    server.open_gate();
    for (wire, mine) in waiting.iter_mut().zip(["first", "second"]) {
        assert_eq!(only_message(&wire.answer())["result"]["mine"], mine);
    }
    assert_eq!(waiting[2].answer().error_code(), -32800);
    one.close();
    other.close();
    server.settle(Tables::EMPTY);
}

/// C10: a stream that has begun ends without an answer; a head that is held becomes an error; the tool stops.
#[test]
fn cancelled_by_the_client() {
    let server = Everything::start(&["--stream-retention", "0.05"]);
    let session = Session::open(server.addr);
    let slow = |id| tool_with_progress(id, "slow", &json!({ "ms": 600_000, "steps": 1_000 }));
    let mut stream = session.stream(slow("7"));
    assert_eq!(stream.message()["method"], "notifications/progress");
    let mut held = Wire::to(server.addr);
    held.send(session.own(slow(r#""7""#).set("accept", "application/json")).bytes());
    Stats::until(server.addr, "two calls in flight", |stats| stats.tables.calls == 2);

    assert_eq!(session.ask(cancel("8")).status(), 202, "it names no call");
    assert_eq!(session.ask(cancel("7")).status(), 202);
    assert!(stream.messages().iter().all(|message| message["method"] == "notifications/progress"));
    Stats::until(server.addr, "one call left", |stats| stats.tables.calls == 1);

    assert_eq!(session.ask(cancel(r#""7""#)).status(), 202);
    let answer = held.answer();
    assert_eq!((answer.status(), answer.error_code()), (200, -32800));
    assert_eq!(answer.json()["id"], "7");
    server.settle(Tables { sessions: 1, deadlines: 1, ..Tables::EMPTY });
    session.close();
}

/// The application is told, and what it says afterwards goes nowhere.
#[test]
fn a_handler_learns_that_it_is_cancelled() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let mut wire = Wire::to(server.addr);
    wire.send(session.own(request("7", "waits", &json!({}))).bytes());
    until("the call", || server.begun(), |begun| *begun == 1);
    assert_eq!(session.ask(cancel("7")).status(), 202);
    assert_eq!(wire.answer().error_code(), -32800);
    until("the handler to know", || server.cancelled(), |cancelled| *cancelled == 1);
    until("the handler to be done", || server.over(), |over| *over == 1);
    assert_eq!(wire.ask(&session.own(ping("8"))).result(), json!({}), "the connection goes on");
    session.close();
}

#[test]
fn calls_that_go_wrong_are_answered_and_hurt_nobody() {
    let server = Local::start(|config| config.message_bytes_max = 1024 * 1024);
    let session = Session::open(server.addr);
    let mut wire = Wire::to(server.addr);
    for (method, code) in [("panics", -32603), ("fails", -32001), ("no-such-method", -32601)] {
        let answer = wire.ask(&session.own(request("7", method, &json!({}))));
        assert_eq!((answer.status(), answer.error_code(), &answer.json()["id"]), (200, code, &json!(7)));
        let events =
            wire.ask(&session.own(request("7", method, &json!({})).set("accept", "text/event-stream")));
        assert_eq!(only_message(&events)["error"]["code"], code);
    }
    let too_large = wire.ask(&session.own(request("7", "big", &json!({ "bytes": 2 * 1024 * 1024 }))));
    assert_eq!((too_large.status(), too_large.error_code()), (200, -32603));
    let large = wire.ask(&session.own(request("7", "big", &json!({ "bytes": 900_000 }))));
    assert_eq!(large.result()["text"].as_str().unwrap().len(), 900_000);
    let let_go = wire.ask(&session.own(request("7", "lets-go", &json!({}))));
    assert_eq!(let_go.result(), json!({}));
    assert_eq!(wire.ask(&session.own(notice("notifications/panics", &json!({})))).status(), 202);
    assert_eq!(wire.ask(&session.own(ping("8"))).result(), json!({}));
    session.close();
    server.settle(Tables::EMPTY);
}

/// S3: an open stream ends with an error, a held head becomes a 404; then the session is nobody's.
#[test]
fn deleted_during_calls() {
    let server = Everything::start(&[]);
    let session = Session::open(server.addr);
    let slow = |id| tool_with_progress(id, "slow", &json!({ "ms": 600_000, "steps": 1_000 }));
    let mut stream = session.stream(slow("7"));
    assert_eq!(stream.message()["method"], "notifications/progress");
    let mut held = Wire::to(server.addr);
    held.send(session.own(slow("8").set("accept", "application/json")).bytes());
    let mut standalone = session.listen();
    Stats::until(server.addr, "two calls in flight", |stats| stats.tables.calls == 2);

    let mut wire = Wire::to(server.addr);
    let delete = session.own(socket_support::ask::delete());
    assert_eq!(wire.ask(&delete).status(), 204);
    let last = stream.messages().pop().unwrap();
    assert_eq!(last["id"], 7, "{last}");
    assert!(last["error"]["code"].is_i64(), "{last}");
    let answer = held.answer();
    assert_eq!((answer.status(), &answer.json()["id"]), (404, &json!(8)), "{answer:?}");
    assert_eq!(standalone.messages(), [] as [Value; 0]);
    assert_eq!(wire.ask(&delete).status(), 404, "deleted is deleted");
    for ask in [ping("9"), socket_support::ask::get(), cancel("7")] {
        assert_eq!(wire.ask(&session.own(ask)).status(), 404);
    }
    let stats = server.settle(Tables::EMPTY);
    assert_eq!(stats.lives.ended.get("deleted"), Some(&1), "{:?}", stats.lives);
}

/// H4: answered in order, one at a time, whatever they are; and nothing behind the last one is looked at.
#[test]
fn kept_alive_and_pipelined() {
    let server = Everything::start(&[]);
    let session = Session::open(server.addr);
    let before = server.stats();
    let mut wire = Wire::to(server.addr);
    for round in 0..20 {
        let text = format!("round {round}");
        let asks = [
            session.own(tool("1", "slow", &json!({ "ms": 5 }))),
            session.own(notice("notifications/x", &json!({}))),
            session.own(echo("2", &text).set("accept", "text/event-stream")),
            session.own(ping("3").set("accept", "text/plain")),
            Ask::new("GET", "/nowhere"),
            session
                .own(echo("4", &text))
                .with("transfer-encoding", "chunked")
                .body(chunked(&echo("4", &text))),
            session.own(tool_with_progress("5", "test_tool_with_progress", &json!({}))),
        ];
        if round % 2 == 0 {
            wire.send(asks.iter().flat_map(Ask::bytes).collect::<Vec<u8>>());
        }
        let mut answer = |ask: &Ask| if round % 2 == 0 { wire.answer() } else { wire.ask(ask) };
        let answers: Vec<Answer> = asks.iter().map(&mut answer).collect();
        let statuses: Vec<u16> = answers.iter().map(Answer::status).collect();
        assert_eq!(statuses, [200, 202, 200, 406, 404, 200, 200]);
        assert_eq!(only_message(&answers[0])["id"], 1);
        assert_eq!((answers[1].body.len(), answers[1].field("content-length")), (0, Some("0")));
        assert_eq!(answers[1].field("content-type"), None);
        for (answer, id) in [(&answers[2], 2), (&answers[5], 4)] {
            let message = only_message(answer);
            assert_eq!((said(&message), &message["id"]), (text.as_str(), &json!(id)));
        }
        assert_eq!(answers[6].events().last().unwrap().message().unwrap()["id"], 5);
    }
    let mut last = session.own(ping("1")).with("connection", "close").bytes();
    last.extend(initialize().bytes());
    wire.send(last);
    let answer = wire.answer();
    assert_eq!((answer.result(), answer.head.closes()), (json!({}), true));
    wire.expect_close();
    assert_eq!(server.stats().lives, before.lives, "what follows a closing answer is not read");
    session.close();
}

/// A body as one chunk.
fn chunked(ask: &Ask) -> Vec<u8> {
    let size = format!("{:x}\r\n", ask.body.len());
    [size.as_bytes(), &ask.body, b"\r\n0\r\n\r\n"].concat()
}

/// H5: a body that was held back is asked for, unless it is refused unseen.
#[test]
fn a_body_that_waits_to_be_asked_for() {
    let server = Everything::start(&[]);
    let session = Session::open(server.addr);
    let ask = session.own(echo("1", "patient")).with("expect", "100-continue");
    let mut wire = Wire::to(server.addr);
    wire.send(ask.head_text());
    let interim = wire.answer();
    assert_eq!(interim.status(), 100);
    wire.send(&ask.body);
    assert_eq!(said(&wire.answer().json()), "patient");

    let unknown = Session { id: "0".repeat(52), ..session };
    let refused = unknown.own(echo("1", "x")).with("expect", "100-continue");
    wire.send(refused.head_text());
    assert_eq!(wire.answer().status(), 404, "a body for nobody is not asked for");
}

/// One write for each answer: what is ready goes out together. Held back by Nagle's algorithm, the second part of
/// an answer would wait for the peer's delayed acknowledgement, 40 ms each time.
///
/// This is no timing test: that an answer comes in one read decides it. That half of the calls take less than
/// 20 ms is there for a stall that does not show in the reads; an answer takes well under one, and a busy machine
/// delays some calls and not most.
#[test]
fn a_hundred_calls_on_one_connection_each_answered_in_one_piece() {
    let server = Everything::start(&[]);
    let session = Session::open(server.addr);
    for accept in ["application/json", "text/event-stream"] {
        let mut wire = Wire::to(server.addr);
        let mut took: Vec<Duration> = Vec::new();
        for number in 0..100 {
            let (text, start) = (format!("call {number}"), now());
            let answer = wire.ask(&session.own(echo("7", &text).set("accept", accept)));
            took.push(start.elapsed());
            assert_eq!(answer.field("content-type"), Some(accept));
            assert_eq!(said(&only_message(&answer)), text);
            assert_eq!((wire.reads, wire.unused()), (number + 1, &b""[..]), "not in one piece: {accept}");
        }
        took.sort();
        assert!(took[50] < Duration::from_millis(20), "{accept}: calls stall: {took:?}");
    }
    session.close();
}

/// L2.
#[test]
fn at_the_cap_of_calls() {
    let server = Local::start(|config| config.calls_per_session_max = 2);
    let session = Session::open(server.addr);
    let gated = || {
        let mut wire = Wire::to(server.addr);
        wire.send(session.own(request("1", "gated", &json!({}))).bytes());
        wire
    };
    let mut waiting = [gated(), gated()];
    Stats::until(server.addr, "two calls in flight", |stats| stats.tables.calls == 2);
    let refused = session.ask(ping("2"));
    assert_eq!((refused.status(), &refused.json()["id"]), (429, &json!(2)));
    assert!(refused.field("retry-after").is_some(), "{refused:?}");
    assert_eq!(server.stats().refused("too_many_calls"), 1);
    let other = Session::open(server.addr);
    assert_eq!(other.ping().status(), 200, "another session has its own");
    server.open_gate();
    for wire in &mut waiting {
        assert_eq!(only_message(&wire.answer())["id"], 1);
    }
    assert_eq!(session.ping().status(), 200);
}

/// S12: with sessions off a disconnect cancels, and so many calls may be in flight.
#[test]
fn calls_without_sessions() {
    let server = Local::start(|config| {
        config.sessions = mcp_http_tokio::SessionMode::Off;
        config.solo_calls_max = 1;
    });
    let mut wire = Wire::to(server.addr);
    wire.send(request("1", "waits", &json!({})).bytes());
    until("the call", || server.begun(), |begun| *begun == 1);
    let mut other = Wire::to(server.addr);
    let refused = other.ask(&ping("2"));
    assert_eq!((refused.status(), &refused.json()["id"]), (503, &json!(2)));
    assert_eq!(server.stats().refused("too_busy"), 1);
    wire.reset();
    until("the handler to know", || server.cancelled(), |cancelled| *cancelled == 1);
    server.settle(Tables::EMPTY);
    assert_eq!(other.ask(&ping("2")).result(), json!({}));
}

/// A client's reply reaches whoever asked, and only the first one does.
#[test]
fn a_request_to_the_client() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let mut stream = session.stream(request("7", "asks", &json!({})));
    let asked = stream.message();
    assert_eq!(asked["method"], "sampling/createMessage");
    let reply = |said: &str| json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "said": said } });
    let other = Session::open(server.addr);
    for (session, said) in [(&other, "not mine"), (&session, "yes"), (&session, "again")] {
        let taken = session.ask(Ask::post(reply(said).to_string()));
        assert_eq!((taken.status(), taken.body.len()), (202, 0));
    }
    let messages = stream.messages();
    assert_eq!(messages.len(), 1);
    assert_eq!((&messages[0]["id"], &messages[0]["result"]["said"]), (&json!(7), &json!("yes")));
    // With nothing that could carry it, it fails at once.
    let alone = session.ask(request("8", "asks", &json!({})).set("accept", "application/json"));
    assert_eq!(alone.error_code(), -32603);
}

/// A program that ends with calls in flight: their futures are dropped where they stand, and nobody minds.
#[test]
fn a_runtime_that_is_dropped() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let mut wires: Vec<Wire> = ["silent", "waits", "gated", "flood"]
        .iter()
        .map(|method| {
            let mut wire = Wire::narrow(server.addr);
            wire.send(session.own(request("1", method, &json!({}))).bytes());
            wire
        })
        .collect();
    wires.push(session.listen().into_wire());
    until("all calls", || server.begun(), |begun| *begun == 4);
    server.drop_runtime();
    for wire in &mut wires {
        assert_ne!(wire.drain(), socket_support::wire::Lost::Silent);
    }
}
