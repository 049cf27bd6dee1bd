//! How message channels begin and end: one call without a session, what is dropped when, who is not accepted, and
//! the shutdown; on each runtime.

mod channels_support;
mod socket_support;

use std::time::Duration;

use mcp_http_tokio::channels::{ChannelEnd, Why};
use mcp_http_tokio::{Config, DiscardReason, EndReason, SessionMode, Version};
use serde_json::{Value, json};

use channels_support::{INITIALIZED, RUNTIMES, Server, result, result_of, text, wait};
use socket_support::ask::{self, Ask};
use socket_support::stats::{Stats, Tables};
use socket_support::wait::until;
use socket_support::wire::Wire;

fn plain(_: &mut Config) {}

const STATELESS: &str = "2026-07-28";

/// A request of the stateless era.
fn stateless(id: &str, method: &str, params: &Value) -> Ask {
    let mut params = params.clone();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    ask::request(id, method, &params).with("mcp-protocol-version", STATELESS).with("mcp-method", method)
}

/// Sends and does not wait.
fn send(server: &Server, ask: &Ask) -> Wire {
    let mut wire = Wire::to(server.addr);
    wire.send(ask.bytes());
    wire
}

const FAILED: i64 = -32603;

#[test]
fn z11_a_call_that_stands_alone_is_a_channel_of_its_own() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let meta = json!({ "progressToken": 3 });
        let mut wire = send(&server, &stateless("1", "x", &json!({ "_meta": meta })));
        // The same id at the same time is another channel.
        let mut other = send(&server, &stateless("1", "x", &json!({})));
        let (mut one, mut two) = (server.accept(), server.accept());
        assert!(one.0.id().is_none() && one.0.session.is_none());
        let (first, second) = (one.recv(), two.recv());
        let params = |message: &str| serde_json::from_str::<Value>(message).unwrap()["params"].clone();
        if params(&text(&first))["_meta"]["progressToken"].is_null() {
            std::mem::swap(&mut one, &mut two);
        }
        assert_eq!(
            (first.version(), second.version()),
            (Some(Version::V2026_07_28), Some(Version::V2026_07_28))
        );
        drop((first, second));
        assert_eq!(two.0.recv.ended(), None);
        two.answer("1", r#"{"resultType":"complete","n":2}"#);
        assert_eq!(two.end(), ChannelEnd::Answered);
        assert_eq!(two.try_say(r#"{"jsonrpc":"2.0","method":"n"}"#), Err(Why::Gone));
        assert_eq!(other.answer().result()["n"], 2);

        // What is no answer goes on its stream, however it is sent; a request cannot (Z8).
        one.say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#);
        one.say(r#"{"jsonrpc":"2.0","method":"n"}"#);
        assert_eq!(one.try_say_standalone(r#"{"jsonrpc":"2.0","method":"n"}"#), Err(Why::Gone));
        assert_eq!(one.try_say(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#), Err(Why::Gone));
        one.answer("1", r#"{"n":1}"#);
        assert_eq!(one.end(), ChannelEnd::Answered);
        let head = wire.head().unwrap();
        assert_eq!((head.status, head.field("mcp-session-id")), (200, None));
        let progress = json!({ "progressToken": 3, "progress": 1 });
        assert_eq!(
            socket_support::sse::Stream::new(wire, head).messages(),
            [
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress }),
                json!({ "jsonrpc": "2.0", "method": "n" }),
                result(json!(1), json!({ "n": 1 })),
            ]
        );
        // A notice has no channel.
        let params = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": STATELESS } });
        let notice = ask::notice("notifications/x", &params).with("mcp-protocol-version", STATELESS);
        assert_eq!(send(&server, &notice.with("mcp-method", "notifications/x")).answer().status(), 202);
        server.stop();
    }
}

#[test]
fn r13_a_client_that_leaves_cancels_its_call_without_a_session() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let wire = send(&server, &stateless(r#""a""#, "x", &json!({})));
        let mut app = server.accept();
        let call = app.recv().call().cloned().unwrap();
        drop(wire);
        assert_eq!(
            app.take(),
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#
        );
        assert!(call.is_cancelled());
        assert_eq!(app.end(), ChannelEnd::Cancelled);
        assert_eq!(app.try_say(&result_of(r#""a""#, "{}")), Err(Why::Gone));
        assert_eq!(app.try_say_for(&call, &result_of(r#""a""#, "{}")), Err(Why::Gone));
        server.stop();
    }
}

#[test]
fn s12_with_sessions_off_every_request_is_a_channel() {
    for which in RUNTIMES {
        let mut server = Server::start(which, |config| config.sessions = SessionMode::Off);
        let mut wire = send(&server, &ask::initialize());
        let mut app = server.accept();
        assert_eq!(app.recv().version(), Some(Version::V2025_06_18));
        assert!(app.0.session.is_none());
        app.answer("0", INITIALIZED);
        let answer = wire.answer();
        assert_eq!((answer.status(), answer.session_id()), (200, None));
        assert_eq!(app.end(), ChannelEnd::Answered);
        let mut wire = send(&server, &ask::ping("4"));
        let mut app = server.accept();
        let message = app.recv();
        assert_eq!(
            (text(&message), message.version()),
            (String::from(r#"{"jsonrpc":"2.0","id":4,"method":"ping","params":{}}"#), None)
        );
        drop(message);
        app.answer("4", "{}");
        assert_eq!(wire.answer().body, br#"{"jsonrpc":"2.0","id":4,"result":{}}"#);
        server.stop();
    }
}

#[test]
fn r2_dropped_before_the_answer_the_session_is_discarded() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        // Once before the request was taken, once after.
        for take in [false, true] {
            let mut wire = send(&server, &ask::initialize());
            let mut app = server.accept();
            if take {
                app.take();
            }
            drop(app);
            let answer = wire.answer();
            assert_eq!(
                (answer.error_code(), answer.json()["id"].clone(), answer.session_id()),
                (FAILED, json!(0), None)
            );
        }
        let total = server.stop().endpoints.total;
        assert_eq!((total.created, total.committed, total.discarded.refused), (2, 0, 2));
    }
}

#[test]
fn r1_dropped_later_the_session_ends_and_its_calls_fail() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let (session, mut app) = server.session();
        let mut call = session.send(ask::ping("1"));
        app.take();
        let mut stream = session.listen();
        // Neither of these keeps it open.
        let (send, handle) = (app.0.send.clone(), app.0.session.clone());
        drop(app);
        assert_eq!(call.answer().status(), 404);
        assert!(stream.messages().is_empty());
        assert_eq!(session.ping().status(), 404);
        let sent = wait(send.send(json!({ "jsonrpc": "2.0", "method": "n" }).into()));
        assert_eq!(sent.map_err(|unsent| unsent.why), Err(Why::Gone));
        drop(handle);
        let total = server.stop().endpoints.total;
        assert_eq!((total.committed, total.ended.application), (1, 1));
    }
}

#[test]
fn r4_dropped_unanswered_one_call_gets_an_error() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let mut wire = send(&server, &stateless("1", "x", &json!({})));
        drop(server.accept());
        let answer = wire.answer();
        assert_eq!(
            (answer.status(), answer.error_code(), answer.json()["id"].clone()),
            (200, FAILED, json!(1))
        );
        server.stop();
    }
}

#[test]
fn r4_with_nobody_to_accept_everybody_gets_an_error() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let (session, mut app) = server.session();
        let (mut one, mut two) =
            (send(&server, &ask::initialize()), send(&server, &stateless("1", "x", &json!({}))));
        until("both", || server.channels.waiting(), |waiting| *waiting == 2);
        let mut call = session.send(ask::ping("9"));
        app.take();
        server.desert();
        // Refused by the shutdown that begins, or by nobody being there.
        assert!(one.answer().session_id().is_none());
        assert_eq!(two.answer().error_code(), FAILED);
        // What was accepted may go on.
        app.answer("9", "{}");
        assert_eq!(call.answer().body, br#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
        assert_eq!(app.end(), ChannelEnd::Ended(EndReason::Shutdown));
        let total = server.down().endpoints.total;
        assert_eq!((total.created, total.committed, total.ended.shutdown), (2, 1, 1));
    }
}

#[test]
fn r8_who_is_not_accepted_waits_within_the_limits() {
    for which in RUNTIMES {
        let mut server = Server::start(which, |config| {
            config.sessions_max = 2;
            config.solo_calls_max = 2;
        });
        let refused = |ask: &Ask| {
            let answer = send(&server, ask).answer();
            (answer.status(), answer.session_id().is_none())
        };
        let sessions = [send(&server, &ask::initialize()), send(&server, &ask::initialize())];
        let pings = [
            send(&server, &stateless("1", "x", &json!({}))),
            send(&server, &stateless("2", "x", &json!({}))),
        ];
        until("all four", || server.channels.waiting(), |waiting| *waiting == 4);
        assert_eq!(refused(&ask::initialize()), (503, true));
        assert_eq!(refused(&stateless("3", "x", &json!({}))), (503, true));
        // Who has left is not there to be accepted.
        sessions.into_iter().chain(pings).for_each(Wire::reset);
        let stats = Stats::until(server.addr, "nothing", |stats| stats.tables == Tables::EMPTY);
        assert_eq!(stats.lives.discarded["client_gone"], 2);
        until("nobody", || server.channels.waiting(), |waiting| *waiting == 0);
        let mut wire = send(&server, &stateless("4", "x", &json!({})));
        let mut app = server.accept();
        app.take();
        app.answer("4", "{}");
        assert_eq!(wire.answer().status(), 200);
        server.stop();
    }
}

#[test]
fn s1_who_is_never_accepted_is_discarded_at_the_deadline() {
    for which in RUNTIMES {
        let mut server = Server::start(which, |config| config.establish = Duration::from_millis(50));
        let answer = send(&server, &ask::initialize()).answer();
        assert!(answer.status() >= 500 && answer.session_id().is_none(), "{answer:?}");
        let stats = Stats::until(server.addr, "nothing", |stats| stats.tables == Tables::EMPTY);
        assert_eq!(stats.lives.discarded["timeout"], 1);
        until("nobody", || server.channels.waiting(), |waiting| *waiting == 0);
        // One that was accepted, and not answered, likewise.
        let mut wire = send(&server, &ask::initialize());
        let mut app = server.accept();
        while wait(app.0.recv.recv()).is_some() {}
        assert_eq!(app.0.recv.ended(), Some(ChannelEnd::Discarded(DiscardReason::Timeout)));
        assert!(wire.answer().status() >= 500);
        server.stop();
    }
}

#[test]
fn x1_a_shutdown_ends_sessions_and_lets_calls_finish() {
    for which in RUNTIMES {
        let mut server = Server::start(which, |config| config.shutdown_drain = Duration::from_secs(60));
        let (idle, mut idle_app) = server.session();
        let (busy, mut busy_app) = server.session();
        let mut call = busy.send(ask::ping("1"));
        busy_app.take();
        server.channels.close();
        assert_eq!(idle_app.end(), ChannelEnd::Ended(EndReason::Shutdown));
        busy_app.answer("1", "{}");
        assert_eq!(call.answer().status(), 200);
        assert_eq!(busy_app.end(), ChannelEnd::Ended(EndReason::Shutdown));
        drop((idle, busy));
        let total = server.stop().endpoints.total;
        assert_eq!((total.committed, total.ended.shutdown), (2, 2));
    }
}

#[test]
fn r14_a_session_that_ends_takes_its_calls_with_it() {
    for which in RUNTIMES {
        let mut server = Server::start(which, plain);
        let (session, mut app) = server.session();
        let mut call = session.send(ask::ping("1"));
        let handle = app.recv().call().cloned().unwrap();
        assert_eq!(session.delete().status(), 204);
        assert_eq!(call.answer().status(), 404);
        assert_eq!(app.end_with_calls(), ChannelEnd::Ended(EndReason::Deleted));
        assert!(handle.is_cancelled());
        assert_eq!(app.try_say_for(&handle, &result_of("1", "{}")), Err(Why::Gone));
        server.stop();
    }
}

/// The ports' own way: served in the background, from `Server::channels` on.
#[test]
fn x1_a_port_serves_channels_in_the_background() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let tokio = runtime.block_on(async {
        let server = mcp_http_tokio::Server::bind("127.0.0.1:0", Config::default()).await.unwrap();
        (server.local_addr(), server.channels())
    });
    let smol = wait(async {
        let server = mcp_http_smol::Server::bind("127.0.0.1:0", Config::default()).await.unwrap();
        (server.local_addr(), server.channels())
    });
    for (addr, mut channels) in [tokio, smol] {
        let mut wire = Wire::to(addr);
        wire.send(stateless("1", "x", &json!({})).bytes());
        let mut app = channels_support::App(wait(channels.accept()).unwrap());
        app.take();
        app.answer("1", "{}");
        assert_eq!(wire.answer().status(), 200);
        assert!(channels.publisher().is_some());
        channels.close();
        assert!(wait(channels.accept()).is_none());
        assert!(std::net::TcpStream::connect(addr).is_err(), "nobody listens any more");
    }
}
