//! X1 over a socket: what is under way gets a proper end, nothing new begins, and the process goes.
#![cfg(unix)]

mod socket_support;

use std::process::ExitStatus;
use std::time::Duration;

use serde_json::{Value, json};

use socket_support::ask::{Ask, initialize, ping, tool, tool_with_progress};
use socket_support::binary::Everything;
use socket_support::local::Local;
use socket_support::session::Session;
use socket_support::stats::Stats;
use socket_support::wait::until;
use socket_support::wire::Wire;

/// Longer than any test waits: what ends sooner did not wait for it.
const FOR_EVER: &str = "600";

#[track_caller]
fn expect_clean(server: &mut Everything) -> ExitStatus {
    let (status, last_line) = server.wait();
    assert_eq!(status.code(), Some(0), "{last_line}");
    assert!(last_line.ends_with("left: nothing"), "{last_line}");
    status
}

/// Waits until the server has begun to stop: it accepts nobody any more.
#[track_caller]
fn until_stopping(server: &Everything) {
    let refused = || std::net::TcpStream::connect(server.addr).is_err();
    until("the server to stop accepting", refused, |refused| *refused);
}

#[test]
fn idle() {
    for signal in ["TERM", "INT"] {
        let mut server = Everything::start(&["--shutdown-drain", FOR_EVER]);
        // Neither an open connection nor a session is a reason to wait.
        let mut wire = Wire::to(server.addr);
        let session = Session::open(server.addr);
        assert_eq!(wire.ask(&session.own(ping("1"))).status(), 200);
        server.signal(signal);
        wire.expect_close();
        expect_clean(&mut server);
    }
}

/// More sessions than one step ends, and no connection whose close would have the server look again.
#[test]
fn x1_many_idle_sessions_are_no_reason_to_wait() {
    let mut server = Everything::start(&["--shutdown-drain", FOR_EVER]);
    let mut wire = Wire::to(server.addr);
    for _ in 0..1_500 {
        assert!(wire.ask(&initialize()).session_id().is_some());
    }
    wire.reset();
    Stats::until(server.addr, "the connection to be gone", |stats| stats.connections == 1);
    server.signal("TERM");
    expect_clean(&mut server);
}

/// L2: with as many connections as may be, the next one waits until another is closed.
#[test]
fn l2_accepting_pauses_at_the_cap_of_connections() {
    let server = Local::start(|config| config.connections_max = 2);
    let (mut first, mut second) = (Wire::to(server.addr), Wire::to(server.addr));
    for wire in [&mut first, &mut second] {
        assert_eq!(wire.ask(&initialize()).status(), 200);
    }
    let mut third = Wire::to(server.addr);
    third.send(initialize().bytes());
    assert!(third.read_for(Duration::from_millis(200)).is_err(), "nobody may have accepted it");
    assert_eq!(second.ask(&initialize()).status(), 200, "the others are served");
    first.reset();
    assert_eq!(third.answer().status(), 200);
}

/// A request that has not come whole is no reason to wait for ever, whether it stops in the head or in the body.
#[test]
fn a_request_that_never_comes_whole() {
    let mut server = Everything::start(&["--shutdown-drain", "1"]);
    let whole = initialize().bytes();
    let mut wires: Vec<Wire> = [40, whole.len() - 1]
        .iter()
        .map(|&cut| {
            let mut wire = Wire::to(server.addr);
            wire.send(&whole[..cut]);
            wire
        })
        .collect();
    until("both to be there", || server.stats().connections, |open| *open == 3);
    server.signal("TERM");
    expect_clean(&mut server);
    wires.iter_mut().for_each(|wire| _ = wire.drain());
}

/// A request that was coming in when the shutdown began is answered, with a refusal that says so.
#[test]
fn a_request_that_comes_whole_too_late() {
    let mut server = Everything::start(&["--shutdown-drain", FOR_EVER]);
    let session = Session::open(server.addr);
    let mut asks = Vec::new();
    for ask in [initialize(), session.own(ping("0"))] {
        let (whole, mut wire) = (ask.bytes(), Wire::to(server.addr));
        wire.send(&whole[..40]);
        asks.push((wire, whole));
    }
    until("both to be there", || server.stats().connections, |open| *open == 3);
    server.signal("TERM");
    until_stopping(&server);
    for ((mut wire, whole), statuses) in asks.into_iter().zip([[503, 503], [503, 404]]) {
        wire.send(&whole[40..]);
        let answer = wire.answer();
        // A session without calls is over at once: then it is not found.
        assert!(statuses.contains(&answer.status()), "{answer:?}");
        assert_eq!((answer.session_id(), answer.head.closes()), (None, true), "{answer:?}");
        assert!(answer.json()["error"]["message"].is_string());
        wire.expect_close();
    }
    expect_clean(&mut server);
}

/// Calls go on to their answers: as JSON, on a stream, and for who was cut off and had not come back yet.
#[test]
fn calls_in_flight() {
    let mut server = Everything::start(&["--shutdown-drain", FOR_EVER]);
    let session = Session::open(server.addr);
    let slow = json!({ "ms": 700, "steps": 7 });
    let mut stream = session.stream(tool_with_progress("7", "slow", &slow));
    let mut held = Wire::to(server.addr);
    held.send(session.own(tool("8", "slow", &slow).set("accept", "application/json")).bytes());
    assert_eq!(stream.message()["method"], "notifications/progress");
    Stats::until(server.addr, "two calls in flight", |stats| stats.tables.calls == 2);
    server.signal("TERM");
    until_stopping(&server);
    let messages = stream.messages();
    let (last, progress) = messages.split_last().unwrap();
    assert!(progress.iter().all(|message| message["method"] == "notifications/progress"));
    assert_eq!((progress.len(), &last["id"]), (6, &json!(7)));
    assert!(last["result"].is_object(), "{last}");
    stream.wire().expect_close();
    let answer = held.answer();
    assert!(answer.result().is_object());
    held.expect_close();
    expect_clean(&mut server);
}

/// Past the deadline a call is failed, in words, and the process goes.
#[test]
fn calls_that_do_not_end() {
    let mut server = Everything::start(&["--shutdown-drain", "0.5"]);
    let session = Session::open(server.addr);
    let slow = json!({ "ms": 600_000, "steps": 1_000 });
    let mut stream = session.stream(tool_with_progress("7", "slow", &slow));
    assert_eq!(stream.message()["method"], "notifications/progress");
    let mut held = Wire::to(server.addr);
    held.send(session.own(tool("8", "slow", &slow).set("accept", "application/json")).bytes());
    Stats::until(server.addr, "two calls in flight", |stats| stats.tables.calls == 2);
    server.signal("TERM");
    let last = stream.messages().pop().unwrap();
    assert_eq!((&last["id"], last["error"]["code"].is_i64()), (&json!(7), true), "{last}");
    let answer = held.answer();
    assert_eq!((answer.status(), &answer.json()["id"]), (503, &json!(8)));
    expect_clean(&mut server);
}

/// A stream that has no reason to end ends now, in good order, and tells when to come back.
#[test]
fn an_open_standalone_stream() {
    for version in ["2025-06-18", "2025-11-25"] {
        let mut server = Everything::start(&["--shutdown-drain", FOR_EVER]);
        let session = Session::open_at(server.addr, version);
        let mut stream = session.listen();
        server.signal("TERM");
        let events = stream.rest();
        let last = events.last().expect("a farewell");
        assert!(last.retry.is_some(), "{events:?}");
        stream.wire().expect_close();
        expect_clean(&mut server);
    }
}

/// What was said before is not lost: it goes out before the farewell.
#[test]
fn notices_before_the_farewell() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let mut stream = session.listen();
    for number in 1..=3 {
        server.notify(&session.id, "notifications/count", json!({ "number": number }));
    }
    server.begin_stop();
    let events = stream.rest();
    let numbers: Vec<Value> = events
        .iter()
        .filter_map(|event| event.message())
        .map(|message| message["params"]["number"].clone())
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert!(events.last().unwrap().retry.is_some(), "{events:?}");
}

/// A reader that does not read is not waited for past the deadline (R14).
#[test]
fn a_reader_that_does_not_read() {
    let mut server = Everything::start(&["--shutdown-drain", "0.5"]);
    let session = Session::open(server.addr);
    let mut wire = Wire::narrow(server.addr);
    let many: Vec<u8> = {
        let list = session.own(Ask::post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)).bytes();
        list.iter().copied().cycle().take(list.len() * 5_000).collect()
    };
    // The server stops reading when nobody takes its answers; so not all of it can be sent.
    wire.send_what_is_taken(&many);
    server.signal("TERM");
    expect_clean(&mut server);
    wire.drain();
}

#[test]
fn a_second_signal_ends_at_once() {
    let mut server = Everything::start(&["--shutdown-drain", FOR_EVER]);
    let session = Session::open(server.addr);
    let slow = json!({ "ms": 600_000, "steps": 1_000 });
    let mut stream = session.stream(tool_with_progress("7", "slow", &slow));
    assert_eq!(stream.message()["method"], "notifications/progress");
    server.signal("TERM");
    until_stopping(&server);
    assert!(server.has_exited().is_none(), "the call may finish");
    server.signal("TERM");
    let last = stream.messages().pop().unwrap();
    assert_eq!((&last["id"], last["error"]["code"].is_i64()), (&json!(7), true), "{last}");
    expect_clean(&mut server);
}
