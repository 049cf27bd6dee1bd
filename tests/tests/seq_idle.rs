//! When sessions end unused: S2, S8, R12.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, EndReason, Event, Pulled};
use mcp_http_tests::script::{
    Said, Script, Session, accepted, ask, assert_unknown, end, no_content, only_reject, streaming, told,
};

const TICK: Duration = Duration::from_nanos(1);

#[test]
fn s2_any_request_confirms() {
    type Use = fn(&mut Script, &Session);
    let uses: [Use; 6] = [
        |s, session| s.initialized(session),
        |s, session| {
            let call = s.call(session, "2", "ping");
            s.answer(call, "{}");
            s.flushed(call.exchange);
        },
        |s, session| {
            let get = s.listen(session);
            s.gone(get);
        },
        |s, session| {
            let reply = s.post(ask::reply("77")).with(&session.id).admit();
            assert_eq!(reply.actions, [accepted(reply.exchange)]);
            s.flushed(reply.exchange);
        },
        |s, session| {
            let call = s.call(session, "2", "ping");
            s.answer(call, "{}");
            s.gone(call.exchange);
        },
        |s, session| {
            let bad = s.get().with(&session.id).after("bad").admit();
            assert_eq!(told(only_reject(&bad.actions, bad.exchange)).0, 400);
        },
    ];
    for use_it in uses {
        let mut s = Script::new();
        let session = s.unconfirmed();
        use_it(&mut s, &session);
        let confirm = s.config().confirm;
        assert_eq!(s.advance(confirm), []);
        assert_eq!(s.stats().sessions, 1);
        s.finish();
    }
}

#[test]
fn r12_the_idle_clock_runs_from_the_end_of_the_last_call() {
    let mut s = Script::new();
    let session = s.open();
    let idle = s.config().session_idle.expect("an idle time");
    assert_eq!(s.advance(idle - TICK), []);
    let call = s.call(&session, "2", "slow");
    // Far longer than the idle time.
    let mut rest = idle * 3;
    while rest > Duration::ZERO {
        for action in s.advance(Duration::from_secs(10)) {
            let ours = matches!(&action, Action::Respond { exchange, .. } | Action::Pull { exchange } if *exchange == call.exchange);
            assert!(ours, "{action:?}");
        }
        s.pull(call.exchange);
        rest = rest.saturating_sub(Duration::from_secs(10));
    }
    assert_eq!(s.stats().sessions, 1, "a running call is never reaped");
    s.answer(call, "{}");
    s.pull(call.exchange);
    assert_eq!(s.flushed(call.exchange), []);
    assert_eq!(s.advance(idle - TICK), []);
    assert_eq!(s.advance(TICK), [end(session.key, EndReason::Idle)]);
    assert_unknown(&mut s, &session.id);
    s.finish();
}

#[test]
fn r12_a_call_goes_on_after_its_client_is_gone_and_holds_the_session() {
    let mut s = Script::new();
    let session = s.open();
    let idle = s.config().session_idle.expect("an idle time");
    let call = s.call(&session, "2", "slow");
    assert_eq!(s.gone(call.exchange), []);
    assert_eq!(s.advance(idle * 2), []);
    assert_eq!((s.stats().sessions, s.stats().calls), (1, 1));
    assert_eq!(s.answer(call, "{}"), []);
    assert_eq!(s.advance(idle - TICK), []);
    assert_eq!(s.advance(TICK), [end(session.key, EndReason::Idle)]);
    s.finish();
}

#[test]
fn r12_a_notice_that_is_not_taken_holds_the_session() {
    let mut s = Script::new();
    let session = s.open();
    let idle = s.config().session_idle.expect("an idle time");
    let admission = s.post(ask::notice("x")).with(&session.id).admit();
    let message = s.notice_of(&session, &admission, "x");
    assert_eq!(s.advance(idle * 2), []);
    assert_eq!(s.event(Event::Taken { message }), [accepted(admission.exchange)]);
    s.flushed(admission.exchange);
    assert_eq!(s.advance(idle - TICK), []);
    assert_eq!(s.advance(TICK), [end(session.key, EndReason::Idle)]);
    s.finish();
}

#[test]
fn r12_an_open_get_stream_holds_the_session_while_it_is_written() {
    let mut s = Script::new();
    let session = s.open();
    let idle = s.config().session_idle.expect("an idle time");
    let get = s.listen(&session);
    s.pull(get);
    let every = s.config().comment_every;
    let mut past = Duration::ZERO;
    while past < idle * 2 {
        assert_eq!(s.advance(every), [Action::Pull { exchange: get }]);
        let drawn = s.pull(get);
        assert_eq!((drawn.said(), drawn.pulled), (vec![Said::Comment], Pulled::Idle));
        past += every;
    }
    assert_eq!(s.gone(get), []);
    assert_eq!(s.advance(idle - TICK), []);
    assert_eq!(s.advance(TICK), [end(session.key, EndReason::Idle)]);
    s.finish();
}

#[test]
fn s8_a_stalled_stream_is_closed_and_then_the_idle_rule_ends_the_session() {
    let mut s = Script::new();
    let session = s.open();
    let idle = s.config().session_idle.expect("an idle time");
    let get = s.listen(&session);
    s.pull(get);
    let stalled = s.event(Event::Stalled { exchange: get });
    assert_eq!(stalled, [Action::Close { exchange: get }]);
    assert_eq!(s.stats().sessions, 1, "S9");
    assert_eq!(s.advance(idle - TICK), []);
    assert_eq!(s.advance(TICK), [end(session.key, EndReason::Idle)]);
    s.finish();
}

#[test]
fn r12_a_refused_request_of_the_session_counts_as_use_and_an_unknown_one_does_not() {
    let mut s = Script::new();
    let session = s.open();
    let idle = s.config().session_idle.expect("an idle time");
    assert_eq!(s.advance(idle / 2), []);
    let bob = s.post(ask::request("1", "ping")).with(&session.id).who("bob").admit();
    only_reject(&bob.actions, bob.exchange);
    assert_eq!(s.advance(idle / 2 - TICK), []);
    assert_eq!(s.advance(TICK), [end(session.key, EndReason::Idle)]);
    s.finish();
}

#[test]
fn s9_a_late_deadline_after_a_jump_ends_only_what_is_idle() {
    let mut s = Script::new();
    let idle = s.config().session_idle.expect("an idle time");
    let old = s.open();
    s.advance(idle / 2);
    let young = s.open();
    assert_eq!(s.jump(idle / 2), [end(old.key, EndReason::Idle)]);
    assert_eq!(s.stats().sessions, 1);
    s.initialized(&young);
    s.finish();
}

/// Every response of a session is activity until it was written, the empty one of a resume as well.
#[test]
fn r12_the_clock_waits_for_the_204_of_a_resume() {
    let idle = Duration::from_secs(5);
    let mut s = Script::with(|config| config.session_idle = Some(idle));
    let session = s.open();
    let call = streaming(&mut s, &session, "2");
    s.answer(call, "{}");
    let last_id = s.pull(call.exchange).last_id();
    s.flushed(call.exchange);
    let resumed = s.get().with(&session.id).after(&last_id).admit();
    assert_eq!(resumed.actions, [no_content(resumed.exchange)]);
    assert_eq!(s.advance(idle * 3), [], "it is being written");
    assert_eq!(s.flushed(resumed.exchange), []);
    assert_eq!(s.advance(idle - TICK), []);
    assert_eq!(s.advance(TICK), [end(session.key, EndReason::Idle)]);
    s.finish();
}
