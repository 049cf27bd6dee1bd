//! S1 over a socket: what is refused, cut short or merely asked leaves no session behind, and touches none.

mod socket_support;

use std::collections::BTreeMap;

use serde_json::json;

use socket_support::ask::{Ask, delete, get, initialize, initialize_as, ping};
use socket_support::binary::Everything;
use socket_support::refusals;
use socket_support::session::Session;
use socket_support::stats::{Lives, Stats, Tables};
use socket_support::wire::{Lost, Wire};

const ONE_SESSION: Tables = Tables { sessions: 1, deadlines: 1, ..Tables::EMPTY };

#[test]
fn every_refusal_leaves_everything_as_it_was() {
    let server = Everything::start(&["--body-max", "65536", "--stream-retention", "0.05"]);
    let session = Session::open(server.addr);
    let lost = refusals::lost_event(&session);
    let start = server.settle(ONE_SESSION);
    for refused in refusals::all(&session, &lost) {
        let before = server.stats();
        refused.send(server.addr);
        let after = server.settle(ONE_SESSION);
        assert_eq!(after.lives, start.lives, "{}", refused.what);
        let mut expected = before.refusals;
        *expected.entry(refused.reason.into()).or_default() += 1;
        assert_eq!(after.refusals, expected, "{}", refused.what);
    }
    assert_eq!(session.ping().status(), 200, "the session that was there is served as before");
    session.close();
    server.settle(Tables::EMPTY);
}

#[test]
fn a_refusal_that_can_keeps_its_connection() {
    let server = Everything::start(&["--body-max", "65536", "--stream-retention", "0.05"]);
    let session = Session::open(server.addr);
    let lost = refusals::lost_event(&session);
    let mut wire = Wire::to(server.addr);
    let mut kept = 0;
    for refused in refusals::all(&session, &lost).iter().filter(|refused| refused.keeps()) {
        refused.send_on(&mut wire);
        assert_eq!(wire.ask(&session.own(ping("1"))).status(), 200, "after {}", refused.what);
        kept += 1;
    }
    assert!(kept > 50, "only {kept} refusals keep their connection");
}

#[test]
fn options_answers_and_opens_nothing() {
    let server = Everything::start(&[]);
    let preflight = Ask::new("OPTIONS", "/mcp")
        .with("origin", "http://localhost:9")
        .with("access-control-request-method", "POST");
    for ask in [Ask::new("OPTIONS", "/mcp"), preflight, initialize().method("OPTIONS")] {
        let answer = Wire::to(server.addr).ask(&ask);
        assert_eq!((answer.status(), answer.session_id()), (204, None), "{answer:?}");
    }
    assert_eq!(server.settle(Tables::EMPTY).lives, Lives::default());
}

#[test]
fn an_allowed_origin_can_read_its_refusals() {
    let server = Everything::start(&[]);
    let origin = "http://localhost:9";
    let refused = Wire::to(server.addr).ask(&initialize().with("origin", origin).set("accept", "text/plain"));
    assert_eq!((refused.status(), refused.field("access-control-allow-origin")), (406, Some(origin)));
    let opened = Wire::to(server.addr).ask(&initialize().with("origin", origin));
    assert_eq!((opened.status(), opened.field("access-control-allow-origin")), (200, Some(origin)));
    assert!(opened.session_id().is_some());
    let exposed = opened.field("access-control-expose-headers").unwrap_or_default();
    assert!(exposed.split(", ").any(|name| name == "mcp-session-id"), "{exposed}");
}

/// An `initialize` of which the server gets a part: up to nothing, within the request line, the fields, and the
/// body. The client then resets, closes, or closes its side and listens.
#[test]
fn gone_at_any_byte_of_the_request() {
    let server = Everything::start(&[]);
    let (head, whole) = (initialize().head_text().len(), initialize().bytes());
    let cuts = [0, 1, 9, 40, head - 3, head - 1, head, head + 1, whole.len() - 1];
    for cut in cuts {
        let sent = || {
            let mut wire = Wire::to(server.addr);
            wire.send(&whole[..cut]);
            wire
        };
        sent().reset();
        drop(sent());
        let mut listening = sent();
        listening.half_close();
        match listening.try_answer(false) {
            Err(Lost::Closed) => assert_eq!(cut, 0, "closed without a word"),
            Ok(answer) => {
                assert_eq!((answer.status(), answer.session_id()), (400, None), "{cut}: {answer:?}");
                listening.expect_close();
            }
            Err(lost) => panic!("{cut}: {lost:?}"),
        }
    }
    assert_eq!(server.settle(Tables::EMPTY).lives, Lives::default());
    socket_support::wait::until("all connections closed", || server.stats().connections, |open| *open == 1);
}

#[test]
fn a_request_that_does_not_come_in_time() {
    let server = Everything::start(&["--header-timeout", "0.2", "--body-timeout", "0.2"]);
    let (head, whole) = (initialize().head_text().len(), initialize().bytes());
    for cut in [1, 40, head - 1, head, whole.len() - 1] {
        let mut wire = Wire::to(server.addr);
        wire.send(&whole[..cut]);
        let answer = wire.answer();
        assert_eq!((answer.status(), answer.session_id()), (408, None), "{cut}: {answer:?}");
        assert!(answer.json()["error"]["message"].is_string());
        wire.expect_close();
    }
    assert_eq!(server.settle(Tables::EMPTY).lives, Lives::default());
}

#[test]
fn at_the_cap_a_new_session_is_refused_and_the_old_one_served() {
    let server = Everything::start(&["--max-sessions", "1"]);
    let session = Session::open(server.addr);
    let start = server.settle(ONE_SESSION);
    for _ in 0..3 {
        let refused = Wire::to(server.addr).ask(&initialize());
        assert_eq!((refused.status(), refused.session_id()), (503, None), "{refused:?}");
        assert!(refused.field("retry-after").is_some(), "{refused:?}");
        assert_eq!(refused.json()["id"], 0);
        assert_eq!(session.ping().status(), 200);
    }
    assert_eq!(server.settle(ONE_SESSION).lives, start.lives);
    session.close();
    Session::open(server.addr).close();
}

/// S10: whoever never came back is thrown out, when the newcomer's answer is there and not before.
#[test]
fn at_the_cap_an_unconfirmed_session_gives_way() {
    let server = Everything::start(&["--max-sessions", "1"]);
    let probe = Wire::to(server.addr).ask(&initialize());
    let probe = Session { addr: server.addr, id: probe.session_id().unwrap().into(), version: "2025-06-18" };
    // Until the server knows that its answer is out, the session is still being opened, and safe.
    Stats::until(server.addr, "a committed session", |stats| stats.lives.committed == 1);
    let session = Session::open(server.addr);
    assert_eq!(probe.ping().status(), 404);
    assert_eq!(session.ping().status(), 200);
    let stats = server.settle(ONE_SESSION);
    assert_eq!(stats.lives.ended, BTreeMap::from([("evicted".into(), 1)]));
}

/// S12: an id is neither given nor looked at, and there is nothing to open.
#[test]
fn with_sessions_off_nothing_is_ever_opened() {
    let server = Everything::start(&["--no-sessions"]);
    let mut wire = Wire::to(server.addr);
    for ask in [initialize(), initialize().with("mcp-session-id", "any"), initialize_as("x", "1999-01-01")] {
        let answer = wire.ask(&ask);
        assert_eq!(answer.session_id(), None, "{answer:?}");
        assert!(answer.result()["protocolVersion"].is_string());
    }
    for id in ["any", "a b", ""] {
        let answer = wire.ask(&ping("1").with("mcp-session-id", id));
        assert_eq!(answer.result(), json!({}));
    }
    for ask in [get(), delete(), get().with("mcp-session-id", "any")] {
        let answer = wire.ask(&ask);
        assert_eq!((answer.status(), answer.field("allow")), (405, Some("POST, OPTIONS")), "{answer:?}");
    }
    assert_eq!(server.settle(Tables::EMPTY).lives, Lives::default());
}
