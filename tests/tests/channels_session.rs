//! A session as a message channel, on each runtime: what the client says and is told, message by message.

mod channels_support;
mod socket_support;

use std::time::Duration;

use mcp_http_tests::serving::Which;
use mcp_http_tokio::channels::{ChannelEnd, Why};
use mcp_http_tokio::{Access, DiscardReason, EndReason, Principal, Version};
use serde_json::json;

use channels_support::{INITIALIZED, RUNTIMES, Server, json_of, result, text, wait};
use socket_support::ask::{self, Ask};
use socket_support::stats::Stats;
use socket_support::wait::until;
use socket_support::wire::Wire;

fn plain(_: &mut mcp_http_tokio::Config) {}

/// What the client reads as a result.
const DONE: &str = r#"{"done":true}"#;

#[test]
fn r1_a_session_from_initialize_to_delete() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let mut wire = Wire::to(server.addr);
        wire.send(ask::initialize().bytes());
        let mut app = server.accept();
        let first = app.recv();
        let params = r#"{"capabilities":{},"clientInfo":{"name":"test","version":"1"},"protocolVersion":"2025-06-18"}"#;
        let initialize = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#);
        assert_eq!((text(&first), first.version()), (initialize, Some(Version::V2025_06_18)));
        assert_eq!(Stats::of(server.addr).tables.pending, 1);
        drop(first);

        app.answer("0", INITIALIZED);
        let answer = wire.answer();
        assert_eq!(answer.json(), json!({ "jsonrpc": "2.0", "id": 0, "result": json_value(INITIALIZED) }));
        let id = app.0.id().expect("it is a session").as_bytes().to_vec();
        assert_eq!(answer.session_id().map(str::as_bytes), Some(&id[..]));

        let session = socket_support::session::Session {
            addr: server.addr,
            id: String::from_utf8(id).unwrap(),
            version: "2025-06-18",
        };
        let mut wire = session.send(ask::notice("notifications/initialized", &json!({})));
        assert_eq!(app.take(), r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#);
        assert_eq!(wire.answer().status(), 202);

        let mut wire = session.send(ask::ping(r#""a\u0062""#));
        let ping = app.recv();
        assert_eq!(text(&ping), r#"{"jsonrpc":"2.0","id":"a\u0062","method":"ping","params":{}}"#);
        assert_eq!(ping.version(), Some(Version::V2025_06_18));
        drop(ping);
        // An id is the same however its string is written, and the client gets its own (R5).
        app.answer(r#""ab""#, "{}");
        assert_eq!(wire.answer().body, br#"{"jsonrpc":"2.0","id":"a\u0062","result":{}}"#);

        assert_eq!(session.delete().status(), 204);
        assert_eq!(app.end(), ChannelEnd::Ended(EndReason::Deleted));
        assert_eq!(app.try_say(r#"{"jsonrpc":"2.0","method":"notifications/late"}"#), Err(Why::Gone));
        let total = server.stop().endpoints.total;
        assert_eq!((total.created, total.committed, total.ended.deleted), (1, 1, 1));
    }
}

fn json_value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn c3_progress_and_notices_of_a_call_go_on_its_stream() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let (session, mut app) = server.session();
        let wire = session.send(ask::tool_with_progress("7", "t", &json!({})));
        let call = app.recv().call().expect("a request has a call").clone();
        app.say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"token","progress":1}}"#);
        app.say_for(&call, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#);
        app.say_for(&call, &channels_support::result_of("null", DONE));
        let mut stream = open(wire);
        let progress = json!({ "progressToken": "token", "progress": 1 });
        assert_eq!(
            stream.messages(),
            [
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress }),
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": "x" } }),
                result(json!(7), json!({ "done": true })),
            ]
        );
        // What was answered takes nothing more.
        let late = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"token","progress":2}}"#;
        assert_eq!(app.try_say(late), Err(Why::Gone));
        assert_eq!(app.try_say_for(&call, late), Err(Why::Gone));
        assert_eq!(app.try_say(&channels_support::result_of("7", DONE)), Err(Why::Gone));
        session.close();
        server.stop();
    }
}

/// Reads the head of an event stream that was asked for.
#[track_caller]
fn open(mut wire: Wire) -> socket_support::sse::Stream {
    let head = wire.head().expect("an answer");
    assert_eq!((head.status, head.field("content-type")), (200, Some("text/event-stream")), "{head:?}");
    socket_support::sse::Stream::new(wire, head)
}

#[test]
fn c13_requests_to_the_client_and_their_replies() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let (session, mut app) = server.session();
        let asked = r#"{"jsonrpc":"2.0","id":"mine","method":"roots/list"}"#;
        // Nobody could read it.
        assert_eq!(app.try_say(asked), Err(Why::Gone));
        assert_eq!(app.try_say_standalone(asked), Err(Why::Gone));

        // With one call in flight, its stream will do; its client knows other ids than the application.
        let wire = session.send(ask::ping("1"));
        let call = app.recv().call().cloned().unwrap();
        app.say(asked);
        let mut stream = open(wire);
        let request = stream.message();
        let id = request["id"].clone();
        assert_eq!(request, json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list" }));
        let mut reply = session
            .send(Ask::post(json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [] } }).to_string()));
        assert_eq!(app.take(), r#"{"jsonrpc":"2.0","id":"mine","result":{"roots":[]}}"#);
        assert_eq!(reply.answer().status(), 202);
        // The same again answers nothing.
        let again = session.ask(Ask::post(json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()));
        assert_eq!(again.status(), 202);

        // An error comes as an error, on the call it was asked for.
        app.say_for(&call, asked);
        let id = stream.message()["id"].clone();
        let error = json!({ "code": -1, "message": "no" });
        let mut reply =
            session.send(Ask::post(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()));
        assert_eq!(app.take(), r#"{"jsonrpc":"2.0","id":"mine","error":{"code":-1,"message":"no"}}"#);
        assert_eq!(reply.answer().status(), 202);

        // Two calls: it cannot be told whose it is.
        let mut other = session.send(ask::ping("2"));
        app.take();
        assert_eq!(app.try_say(asked), Err(Why::Gone));
        app.answer("2", "{}");
        assert_eq!(other.answer().status(), 200);
        app.answer("1", "{}");
        assert_eq!(stream.messages(), [result(json!(1), json!({}))]);
        session.close();
        server.stop();
    }
}

#[test]
fn c13_a_request_that_the_application_cancels() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let (session, mut app) = server.session();
        let mut stream = session.listen();
        app.say(r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#);
        let id = stream.message()["id"].clone();
        assert_ne!(id, json!(9));
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"late","requestId":9}}"#;
        app.say(cancel);
        let params = json!({ "requestId": id, "reason": "late" });
        assert_eq!(
            stream.message(),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
        );
        // A reply comes too late: the application is at the ping next.
        let late = session.ask(Ask::post(json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()));
        assert_eq!(late.status(), 202);
        let mut wire = session.send(ask::ping("1"));
        assert_eq!(app.take(), r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#);
        app.answer("1", "{}");
        assert_eq!(wire.answer().status(), 200);
        // What is not its own is a notice as any other.
        app.say(cancel);
        assert_eq!(stream.message()["params"]["requestId"], 9);
        session.close();
        assert_eq!(app.end(), ChannelEnd::Ended(EndReason::Deleted));
        server.stop();
    }
}

#[test]
fn r6_a_notice_of_no_call_goes_on_the_standalone_stream() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let (session, app) = server.session();
        // Before the first GET it waits.
        app.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        let mut stream = session.listen();
        assert_eq!(
            stream.message(),
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
        );
        assert_eq!(app.try_say_standalone(r#"{"jsonrpc":"2.0","method":"n","params":[1]}"#), Ok(()));
        assert_eq!(stream.message(), json!({ "jsonrpc": "2.0", "method": "n", "params": [1] }));
        session.close();
        assert!(stream.messages().is_empty());
        server.stop();
    }
}

#[test]
fn c10_a_cancelled_call_is_told_by_message_and_flag() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let (session, mut app) = server.session();
        let mut wire = session.send(ask::ping("5"));
        let call = app.recv().call().cloned().unwrap();
        assert!(!call.is_cancelled());
        assert_eq!(session.ask(ask::cancel("5")).status(), 202);
        assert_eq!(wire.answer().error_code(), -32800);
        let told = app.recv();
        assert_eq!(
            text(&told),
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#
        );
        assert!(call.is_cancelled() && told.call().is_some());
        drop(told);
        wait(call.cancelled());
        assert_eq!(app.try_say(&channels_support::result_of("5", DONE)), Err(Why::Gone));

        // One that was not taken yet is not heard of.
        let mut wire = session.send(ask::ping("6"));
        Stats::until(server.addr, "the call", |stats| stats.tables.calls == 1);
        let mut behind = session.send(ask::notice("notifications/behind", &json!({})));
        assert_eq!(session.ask(ask::cancel("6")).status(), 202);
        assert_eq!(wire.answer().error_code(), -32800);
        assert_eq!(app.take(), r#"{"jsonrpc":"2.0","method":"notifications/behind","params":{}}"#);
        assert_eq!(behind.answer().status(), 202);
        session.close();
        server.stop();
    }
}

#[test]
fn r5_the_same_id_twice_is_served_twice() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let (session, mut app) = server.session();
        let (mut one, mut two) = two_of_the_same(&session, &mut app);
        // By ids: the later shows another one.
        app.say(&channels_support::result_of(r#""again-1""#, r#"{"n":2}"#));
        assert_eq!(two.answer().body, br#"{"jsonrpc":"2.0","id":1,"result":{"n":2}}"#);
        app.say(&channels_support::result_of("1", r#"{"n":1}"#));
        assert_eq!(one.answer().body, br#"{"jsonrpc":"2.0","id":1,"result":{"n":1}}"#);

        // By calls: whatever id the answer bears.
        let mut one = session.send(ask::request("1", "n", &json!({ "n": 1 })));
        let first = app.recv().call().cloned().unwrap();
        let mut two = session.send(ask::request("1", "n", &json!({ "n": 2 })));
        let second = app.recv().call().cloned().unwrap();
        assert_eq!((first.id().literal(), second.id().literal()), (&b"1"[..], &b"1"[..]));
        let by_id = |id| app.0.send.call(&json_of(id)).map(|call| format!("{call:?}"));
        let known = [&first, &second].map(|call| Some(format!("{call:?}")));
        assert_eq!([by_id("1"), by_id(r#""again-2""#)], known);
        assert_eq!(by_id("2"), None);
        app.say_for(&second, &channels_support::result_of("1", r#"{"n":2}"#));
        assert_eq!(two.answer().body, br#"{"jsonrpc":"2.0","id":1,"result":{"n":2}}"#);
        app.say_for(&first, r#"{"jsonrpc":"2.0","error":{"code":7,"message":"m","data":[1]}}"#);
        let error = br#"{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"m","data":[1]}}"#;
        assert_eq!(one.answer().body, error);
        session.close();
        server.stop();
    }
}

/// Two calls that bear the id 1, in their order.
#[track_caller]
fn two_of_the_same(
    session: &socket_support::session::Session,
    app: &mut channels_support::App,
) -> (Wire, Wire) {
    let one = session.send(ask::request("1", "n", &json!({ "n": 1 })));
    assert_eq!(app.take(), r#"{"jsonrpc":"2.0","id":1,"method":"n","params":{"n":1}}"#);
    let two = session.send(ask::request("1", "n", &json!({ "n": 2 })));
    assert_eq!(app.take(), r#"{"jsonrpc":"2.0","id":"again-1","method":"n","params":{"n":2}}"#);
    (one, two)
}

#[test]
fn r5_a_token_given_twice_names_no_call() {
    let mut server = Server::start(Which::Tokio, plain);
    let (session, mut app) = server.session();
    let one = session.send(ask::tool_with_progress("1", "t", &json!({})));
    let call = app.recv().call().cloned().unwrap();
    let two = session.send(ask::tool_with_progress("2", "t", &json!({})));
    app.take();
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"token","progress":1}}"#;
    assert_eq!(app.try_say(progress), Err(Why::Ambiguous));
    app.say_for(&call, progress);
    app.answer("2", "{}");
    app.answer("1", "{}");
    assert_eq!(open(one).messages().len(), 2);
    let mut two = two;
    assert_eq!(two.answer().json(), result(json!(2), json!({})));
    session.close();
    server.stop();
}

#[test]
fn r11_what_does_not_fit_comes_back() {
    let mut server = Server::start(Which::Tokio, |config| config.message_bytes_max = 1000);
    let mut wire = Wire::to(server.addr);
    wire.send(ask::initialize().bytes());
    let mut app = server.accept();
    let call = app.recv().call().cloned().unwrap();
    // No version, none that is known, none of the era with sessions.
    for version in ["", r#""protocolVersion":"1""#, r#""protocolVersion":"2026-07-28""#] {
        assert_eq!(
            app.try_say(&channels_support::result_of("0", &format!("{{{version}}}"))),
            Err(Why::Misfit)
        );
    }
    let notice = r#"{"jsonrpc":"2.0","method":"n"}"#;
    assert_eq!(app.try_say_for(&call, notice), Err(Why::Misfit));
    assert_eq!(app.try_say(notice), Err(Why::Gone), "it is not offered yet");
    app.answer("0", INITIALIZED);
    // It is from here, without waiting for the client.
    app.say(notice);
    assert_eq!(wire.answer().status(), 200);
    for message in [
        "1",
        "[]",
        "{}",
        r#"[{"jsonrpc":"2.0","method":"n"}]"#,
        r#"{"jsonrpc":"2.0","method":1}"#,
        r#"{"jsonrpc":"2.0","method":"n","params":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
        r#"{"jsonrpc":"2.0","result":1}"#,
    ] {
        assert_eq!(app.try_say(message), Err(Why::Misfit), "{message}");
    }
    assert_eq!(app.try_say_standalone(&channels_support::result_of("0", "1")), Err(Why::Misfit));
    let large = format!(r#"{{"jsonrpc":"2.0","method":"n","params":["{}"]}}"#, "x".repeat(1000));
    assert_eq!(app.try_say(&large), Err(Why::TooLarge));
    drop(app);
    server.stop();
}

#[test]
fn c14_messages_are_on_one_line() {
    let mut server = Server::start(Which::Tokio, plain);
    let (session, mut app) = server.session();
    let mut wire = session.send(Ask::post(
        "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"a\\nb\",\r\n\"params\":{\n\"x\":[1,\r2]}}",
    ));
    assert_eq!(app.take(), r#"{"jsonrpc":"2.0","id":1,"method":"a\nb","params":{"x":[1,2]}}"#);
    app.say("{\"jsonrpc\":\"2.0\",\n\"id\":1,\n\"result\":{\n}}");
    assert_eq!(wire.answer().body, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    session.close();
    server.stop();
}

#[test]
fn r8_a_notice_is_accepted_when_it_was_taken_and_dropped_at_the_limit() {
    for which in RUNTIMES {
        let mut server = Server::start_with(which, plain, |handler| handler.messages_max(2));
        let (session, mut app) = server.session();
        let ask = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
        assert_eq!(app.try_say(ask), Err(Why::Gone), "there is room, and no stream");
        let mut one = session.send(ask::notice("notifications/one", &json!({})));
        let mut two = session.send(ask::notice("notifications/two", &json!({})));
        _ = until("both wait", || app.try_say(ask), |sent| *sent == Err(Why::TooMany));
        // A third need not.
        assert_eq!(session.ask(ask::notice("notifications/three", &json!({}))).status(), 202);
        assert_eq!(Stats::of(server.addr).tables.exchanges, 2);
        let mut taken = [app.take(), app.take()];
        taken.sort();
        let notice = |name| format!(r#"{{"jsonrpc":"2.0","method":"notifications/{name}","params":{{}}}}"#);
        assert_eq!(taken, ["one", "two"].map(notice));
        assert_eq!((one.answer().status(), two.answer().status()), (202, 202));
        session.close();
        assert_eq!(app.end(), ChannelEnd::Ended(EndReason::Deleted));
        server.stop();
    }
}

#[test]
fn r9_all_who_wait_for_the_same_room_get_it() {
    for which in RUNTIMES {
        const SENDERS: u64 = 16;
        let mut server = Server::start(which, |config| {
            config.ring_frames_max = 1;
            // What does not come is not to be taken for a stream that is alive.
            config.comment_every = Duration::from_secs(600);
        });
        let (session, app) = server.session();
        let mut stream = session.listen();
        for number in 0..SENDERS {
            let send = app.0.send.clone();
            // One at a time is more than the ring takes.
            let text = "x".repeat(64 * 1024);
            let message = json!({ "jsonrpc": "2.0", "method": "n", "params": [number, text] });
            server.spawn(async move { send.send(message.into()).await.unwrap() });
        }
        let mut numbers: Vec<u64> =
            (0..SENDERS).map(|_| stream.message()["params"][0].as_u64().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..SENDERS).collect::<Vec<u64>>());
        session.close();
        server.stop();
    }
}

#[test]
fn s6_who_asks_is_judged_and_told() {
    for which in RUNTIMES {
        let mut server = Server::start_with(which, plain, |handler| {
            let who = |name: &[u8]| Access::principal(Principal(name.to_vec().into()));
            let handler = handler.authorize(move |head| who(head.headers["x-who"].as_bytes()));
            handler.may_open_session(|_, head, _| head.headers["x-who"] != "eve")
        });
        let eve = Wire::to(server.addr).ask(&ask::initialize().with("x-who", "eve"));
        assert_eq!(eve.status(), 429);
        let mut wire = Wire::to(server.addr);
        wire.send(ask::initialize().with("x-who", "ann").bytes());
        let mut app = server.accept();
        let first = app.recv();
        assert_eq!(first.principal(), Some(&Principal("ann".into())));
        assert_eq!(first.head().headers["x-who"], "ann");
        assert_eq!(first.session(), app.0.session.as_ref());
        drop(first);
        app.say(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-5,"message":"not you"}}"#);
        let answer = wire.answer();
        assert_eq!((answer.error_code(), answer.session_id()), (-5, None));
        assert_eq!(app.end(), ChannelEnd::Discarded(DiscardReason::Refused));
        server.stop();
    }
}
