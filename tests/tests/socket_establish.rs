//! S1 over a socket: an `initialize` that fails, is interrupted or is never collected, and what becomes of its
//! session. Each test reads the table and the counters before and after, and what the application was told.

mod socket_support;

use std::time::Duration;

use mcp_http_tokio::{DiscardReason, EndReason};

use socket_support::ask::{Ask, delete, initialize_as, ping};
use socket_support::local::Local;
use socket_support::rig::{HUGE, OnCreated, What};
use socket_support::session::Session;
use socket_support::stats::{Became, Stats, Tables};
use socket_support::wait::until;
use socket_support::wire::{Answer, Lost, Wire};

const VERSION: &str = "2025-06-18";

fn initialize(client: &str) -> Ask {
    initialize_as(client, VERSION)
}

/// A session for those who have only its id.
fn session(server: &Local, id: &str) -> Session {
    Session { addr: server.addr, id: id.to_owned(), version: VERSION }
}

/// The counters after one more session, once it was there and the tables are empty again.
#[track_caller]
fn expect_one(server: &Local, before: &Stats, became: Became) {
    let over = |stats: &Stats| stats.lives.created > before.lives.created && stats.tables == Tables::EMPTY;
    let after = Stats::until(server.addr, "a session that is over", over);
    assert_eq!(after.lives, before.lives.and_one(became));
}

#[track_caller]
fn expect_refused(answer: &Answer, status: u16, code: i64) {
    assert_eq!((answer.status(), answer.session_id()), (status, None), "{answer:?}");
    assert_eq!((answer.error_code(), &answer.json()["id"]), (code, &serde_json::json!(0)), "{answer:?}");
}

/// Waits until the server has an `initialize` in hand.
#[track_caller]
fn until_pending(server: &Local) {
    Stats::until(server.addr, "a pending session", |stats| stats.tables.pending == 1);
}

/// Waits until an answer is under way that its client does not read: offered, and not committed.
#[track_caller]
fn until_offered(server: &Local, before: &Stats) {
    let offered = |stats: &Stats| stats.tables.sessions == 1 && stats.tables.pending == 0;
    let stats = Stats::until(server.addr, "an offered session", offered);
    assert_eq!(stats.lives, before.lives.and_one(Became::Pending), "it was committed unread");
}

#[test]
fn an_error_answer() {
    let server = Local::start(|_| ());
    let before = server.stats();
    let answer = Wire::to(server.addr).ask(&initialize("refused"));
    expect_refused(&answer, 200, -32001);
    assert_eq!(answer.json()["error"]["message"], "not you");
    expect_one(&server, &before, Became::Discarded("refused"));
    server.until_told(What::Discarded(DiscardReason::Refused));
    // The same as an event stream, for who reads nothing else.
    let mut stream = Wire::to(server.addr).open(&initialize("refused").set("accept", "text/event-stream"));
    assert_eq!(stream.head.field("mcp-session-id"), None);
    assert_eq!(stream.messages()[0]["error"]["code"], -32001);
    server.settle(Tables::EMPTY);
}

#[test]
fn a_handler_that_panics() {
    let server = Local::start(|_| ());
    let before = server.stats();
    let mut wire = Wire::to(server.addr);
    expect_refused(&wire.ask(&initialize("panics")), 200, -32603);
    expect_one(&server, &before, Became::Discarded("refused"));
    server.until_told(What::Discarded(DiscardReason::Refused));
    let answer = wire.ask(&initialize("test"));
    assert!(answer.session_id().is_some(), "the connection outlives it: {answer:?}");
}

#[test]
fn a_handler_that_is_silent_past_the_deadline() {
    let server = Local::start(|config| config.establish = Duration::from_millis(100));
    let before = server.stats();
    let answer = Wire::to(server.addr).ask(&initialize("silent"));
    expect_refused(&answer, 503, -32603);
    assert!(answer.field("retry-after").is_some(), "{answer:?}");
    expect_one(&server, &before, Became::Discarded("timeout"));
    server.until_told(What::Discarded(DiscardReason::Timeout));
}

/// What comes after the deadline goes nowhere: not to the client that asked, and not into a later session.
#[test]
fn a_handler_that_answers_past_the_deadline() {
    let server = Local::start(|config| config.establish = Duration::from_millis(100));
    let before = server.stats();
    let mut wire = Wire::to(server.addr);
    expect_refused(&wire.ask(&initialize("gated")), 503, -32603);
    server.open_gate();
    let opened = wire.ask(&initialize("test"));
    let id = opened.session_id().unwrap();
    session(&server, id).close();
    let after = server.settle(Tables::EMPTY);
    let expected = before.lives.and_one(Became::Discarded("timeout")).and_one(Became::Ended("deleted"));
    assert_eq!(after.lives, expected);
}

#[test]
fn an_application_that_cannot_open_its_side() {
    let server = Local::start(|_| ());
    for does in [OnCreated::Refuses, OnCreated::Panics] {
        server.on_created(does);
        let before = server.stats();
        let mut wire = Wire::to(server.addr);
        expect_refused(&wire.ask(&initialize("test")), 500, -32603);
        expect_one(&server, &before, Became::Discarded("failed"));
        server.until_told(What::Discarded(DiscardReason::Failed));
        server.on_created(OnCreated::Opens);
        assert!(wire.ask(&initialize("test")).session_id().is_some(), "{does:?}: the next one opens");
        let stats = server.stats();
        let id = server.told().last().unwrap().session.clone();
        session(&server, &id).close();
        assert_eq!(stats.tables.sessions, 1);
        server.settle(Tables::EMPTY);
    }
}

#[test]
fn gone_before_the_answer_with_a_reset() {
    let server = Local::start(|_| ());
    let before = server.stats();
    let mut wire = Wire::to(server.addr);
    wire.send(initialize("gated").bytes());
    until_pending(&server);
    wire.reset();
    expect_one(&server, &before, Became::Discarded("client_gone"));
    server.until_told(What::Discarded(DiscardReason::ClientGone));
    // The handler's late answer finds nobody.
    server.open_gate();
    expect_one(&server, &before, Became::Discarded("client_gone"));
}

/// A FIN alone may come from a client that waits for its answer (D2). One that was not waiting shows it at the
/// latest by not using the id.
#[test]
fn gone_before_the_answer_with_a_fin() {
    let server = Local::start(|config| config.confirm = Duration::from_millis(100));
    let before = server.stats();
    let mut wire = Wire::to(server.addr);
    wire.send(initialize("gated").bytes());
    drop(wire);
    until_pending(&server);
    server.open_gate();
    let after = server.settle(Tables::EMPTY);
    assert_eq!(
        (after.lives.created, after.lives.committed),
        (before.lives.created + 1, before.lives.committed)
    );
    assert_eq!(after.lives.discarded.values().sum::<u64>(), 1, "{:?}", after.lives);
}

/// D2 again: the answer is for who shut its side and reads on; it is a session when it is used.
#[test]
fn a_client_that_shuts_its_side_and_waits_gets_its_session() {
    let server = Local::start(|_| ());
    let before = server.stats();
    let mut wire = Wire::to(server.addr);
    wire.send(initialize("gated").bytes());
    // Before the server is asked how far it is: it reads the end where it reads the request.
    wire.half_close();
    until_pending(&server);
    server.open_gate();
    let answer = wire.answer();
    let id = answer.session_id().expect("a session").to_owned();
    wire.expect_close();
    let stats = server.stats();
    assert_eq!(stats.lives, before.lives.and_one(Became::Pending), "nobody has used it");
    assert_eq!(session(&server, &id).ping().status(), 200);
    assert_eq!(server.stats().lives, before.lives.and_one(Became::Committed));
    session(&server, &id).close();
    expect_one(&server, &before, Became::Ended("deleted"));
}

/// The answer is larger than what the sockets take, and the client reads none of it.
#[test]
fn gone_during_the_write_of_the_answer() {
    let server = Local::start(|_| ());
    let before = server.stats();
    let mut wire = Wire::narrow(server.addr);
    wire.send(initialize("huge").bytes());
    until_offered(&server, &before);
    wire.reset();
    expect_one(&server, &before, Became::Discarded("undelivered"));
    server.until_told(What::Discarded(DiscardReason::Undelivered));
}

#[test]
fn an_answer_that_is_never_read() {
    let server = Local::start(|config| config.write_stall = Duration::from_millis(200));
    let before = server.stats();
    let mut wire = Wire::narrow(server.addr);
    wire.send(initialize("huge").bytes());
    expect_one(&server, &before, Became::Discarded("undelivered"));
    assert_ne!(wire.drain(), Lost::Silent, "what cannot be written is given up");
}

/// Who drips and drips keeps the stall away, but not the deadline to establish.
#[test]
fn an_answer_that_is_read_too_slowly() {
    let server = Local::start(|config| config.establish = Duration::from_millis(300));
    let before = server.stats();
    let mut wire = Wire::narrow(server.addr);
    wire.send(initialize("huge").bytes());
    expect_one(&server, &before, Became::Discarded("timeout"));
    assert_ne!(wire.drain(), Lost::Silent, "it is cut off");
}

#[test]
fn the_id_used_before_the_answer_is_read_commits() {
    let server = Local::start(|_| ());
    let before = server.stats();
    let mut wire = Wire::narrow(server.addr);
    wire.send(initialize("huge").bytes());
    let head = wire.head().unwrap();
    let id = head.field("mcp-session-id").unwrap().to_owned();
    until_offered(&server, &before);
    assert_eq!(session(&server, &id).ping().status(), 200);
    let stats = server.stats();
    assert_eq!(stats.lives, before.lives.and_one(Became::Committed));
    server.until_told(What::Committed);
    wire.reset();
    Stats::until(server.addr, "the connection's end", |stats| stats.tables.exchanges == 0);
    assert_eq!(session(&server, &id).ping().status(), 200, "it does not depend on its first connection");
    session(&server, &id).close();
    expect_one(&server, &before, Became::Ended("deleted"));
}

#[test]
fn deleted_before_the_answer_is_read() {
    let server = Local::start(|_| ());
    let before = server.stats();
    let mut wire = Wire::narrow(server.addr);
    wire.send(initialize("huge").bytes());
    let head = wire.head().unwrap();
    let id = head.field("mcp-session-id").unwrap().to_owned();
    until_offered(&server, &before);
    session(&server, &id).close();
    assert_eq!(session(&server, &id).ping().status(), 404);
    wire.reset();
    expect_one(&server, &before, Became::Ended("deleted"));
    server.until_told(What::Ended(EndReason::Deleted));
}

/// Whole and in order, also when it takes many writes.
#[test]
fn a_large_answer_that_is_read() {
    let server = Local::start(|_| ());
    let answer = Wire::narrow(server.addr).ask(&initialize("huge"));
    let text = answer.result()["instructions"].as_str().unwrap().to_owned();
    assert!(text.len() == HUGE && text.bytes().all(|byte| byte == b'x'));
    session(&server, answer.session_id().unwrap()).close();
}

/// S2: probes that never come back.
#[test]
fn gone_after_the_answer() {
    let server = Local::start(|config| config.confirm = Duration::from_millis(200));
    let before = server.stats();
    let answer = Wire::to(server.addr).ask(&initialize("test"));
    let id = answer.session_id().unwrap();
    server.until_told(What::Ended(EndReason::Unconfirmed));
    expect_one(&server, &before, Became::Ended("unconfirmed"));
    assert_eq!(session(&server, id).ping().status(), 404);
}

/// One use confirms: from then on the idle rule holds, and not the deadline to confirm.
#[test]
fn one_use_confirms() {
    let server = Local::start(|config| {
        config.confirm = Duration::from_millis(100);
        config.session_idle = Some(Duration::from_millis(400));
    });
    let before = server.stats();
    Session::open(server.addr);
    expect_one(&server, &before, Became::Ended("idle"));
    server.until_told(What::Ended(EndReason::Idle));
}

#[test]
fn shutdown_before_the_answer() {
    let server = Local::start(|_| ());
    let mut wire = Wire::to(server.addr);
    wire.send(initialize("gated").bytes());
    until_pending(&server);
    server.begin_stop();
    let answer = wire.answer();
    expect_refused(&answer, 503, answer.error_code());
    assert!(answer.head.closes());
    wire.expect_close();
    server.until_told(What::Discarded(DiscardReason::Shutdown));
}

#[test]
fn a_pending_session_answers_to_nobody() {
    let server = Local::start(|_| ());
    let mut wire = Wire::to(server.addr);
    wire.send(initialize("gated").bytes());
    until_pending(&server);
    let told = until("the application to be told", || server.told(), |told| !told.is_empty());
    let pending = session(&server, &told[0].session);
    assert_eq!(pending.ping().status(), 404);
    assert_eq!(pending.ask(socket_support::ask::get()).status(), 404);
    assert_eq!(pending.delete().status(), 404);
    server.open_gate();
    let answer = wire.answer();
    assert_eq!(answer.session_id(), Some(pending.id.as_str()));
    assert_eq!(pending.ping().status(), 200);
}

/// S4, S5, S6: to anybody else the session is not there, in the very same words.
#[test]
fn a_session_of_another_principal() {
    let server = Local::start(|_| ());
    let as_name = |ask: Ask, name: &str| ask.with("authorization", name);
    let answer = Wire::to(server.addr).ask(&as_name(initialize("test"), "as ann"));
    let anns = session(&server, answer.session_id().unwrap());
    let unknown = Session { id: "0".repeat(anns.id.len()), ..anns.clone() };
    for ask in [ping("1"), socket_support::ask::get(), delete()] {
        for name in ["as bob", ""] {
            let other = |session: &Session| {
                let ask = session.own(ask.clone());
                let ask = if name.is_empty() { ask } else { as_name(ask, name) };
                let mut answer = Wire::to(server.addr).ask(&ask);
                answer.head.fields.retain(|(name, _)| name != "date");
                answer
            };
            assert_eq!(other(&anns).status(), 404);
            assert_eq!(other(&anns), other(&unknown), "{name:?} {ask:?}");
        }
    }
    let answer = anns.ask(as_name(ping("1"), "as ann"));
    assert_eq!(answer.status(), 200);
}

#[test]
fn who_is_refused_by_the_auth_hook_opens_nothing() {
    let server = Local::start(|_| ());
    let before = server.stats();
    for (said, status, reason) in
        [("nobody", 401, "unauthorized"), ("forbidden", 403, "forbidden"), ("late", 403, "forbidden")]
    {
        let refused = Wire::to(server.addr).ask(&initialize("test").with("authorization", said));
        assert_eq!((refused.status(), refused.session_id()), (status, None), "{refused:?}");
        assert_eq!(refused.field("www-authenticate").is_some(), status == 401);
        assert!(refused.json()["error"]["message"].is_string());
        assert!(server.stats().refused(reason) > 0, "{reason}");
    }
    assert_eq!(server.settle(Tables::EMPTY).lives, before.lives);
}
