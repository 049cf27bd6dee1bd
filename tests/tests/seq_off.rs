//! Sessions off: S12, and what C and R rules mean there.

use std::time::Duration;

use mcp_http_core::config::SessionMode;
use mcp_http_core::endpoint::{
    Action, CallId, CancelReason, Delivery, Event, ExchangeId, Outbound, Pulled, SendError, Target,
};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::code;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Call, Chance, Said, Script, accepted, ask, json, message, note, only_reject, progress, question, result,
    told,
};

const TICK: Duration = Duration::from_nanos(1);

#[track_caller]
fn call(s: &mut Script, id: &str) -> Call {
    let admission = s.post(ask::request(id, "t")).admit();
    s.call_of(None, &admission, id, "t")
}

#[track_caller]
fn initialize(s: &mut Script) -> (ExchangeId, CallId) {
    let admission = s.post(ask::initialize("1", "2025-06-18")).admit();
    let [
        Action::Deliver { exchange, session: None, delivery: Delivery::Initialize { call, negotiated, .. } },
    ] = &admission.actions[..]
    else {
        panic!("{:?}", admission.actions)
    };
    assert_eq!((*exchange, *negotiated), (admission.exchange, Version::V2025_06_18));
    (admission.exchange, *call)
}

fn initialized() -> Outbound {
    Outbound::Initialized { version: Version::V2025_06_18, result: Json::EMPTY_OBJECT }
}

#[test]
fn s12_initialize_is_answered_without_an_id_and_nothing_is_left() {
    let mut s = Script::off();
    let (exchange, call) = initialize(&mut s);
    assert_eq!(s.send(Target::Call(call), initialized()), [json(exchange, &ask::result_text("1", "{}"))]);
    assert_eq!(s.flushed(exchange), []);
    let stats = s.stats();
    assert_eq!((stats.total.created, stats.sessions, stats.exchanges, stats.deadlines), (0, 0, 0, 0));
    s.finish();
}

#[test]
fn s12_initialize_needs_no_entropy_and_no_place() {
    let mut s = Script::with(|config| {
        config.sessions = SessionMode::Off;
        config.sessions_max = 1;
    });
    s.chance(Chance::Fails);
    let all: Vec<_> = (0..3).map(|_| initialize(&mut s)).collect();
    for (exchange, call) in all {
        assert_eq!(s.send(Target::Call(call), initialized()), [json(exchange, &ask::result_text("1", "{}"))]);
    }
    s.finish();
}

#[test]
fn s12_an_initialize_that_fails_leaves_nothing() {
    let mut s = Script::off();
    let (exchange, call) = initialize(&mut s);
    let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#;
    let actions = s.send(Target::Call(call), mcp_http_tests::script::error(code::INVALID_PARAMS, "no"));
    assert_eq!(actions, [json(exchange, text)]);
    let (exchange, call) = initialize(&mut s);
    assert_eq!(s.gone(exchange), [Action::Cancel { call, reason: CancelReason::Disconnected }]);
    let (exchange, call) = initialize(&mut s);
    let actions = s.advance(s.config().establish);
    let rejects: Vec<_> =
        actions.iter().filter(|action| matches!(action, Action::Reject { .. })).cloned().collect();
    assert_eq!(told(only_reject(&rejects, exchange)), (503, -32603, Some("1".into())));
    let cancels =
        actions.iter().filter(|action| matches!(action, Action::Cancel { call: of, .. } if *of == call));
    assert_eq!((cancels.count(), actions.len()), (1, 2), "{actions:?}");
    s.finish();
}

#[test]
fn s12_every_call_stands_alone() {
    let mut s = Script::off();
    let (a, b, c) = (call(&mut s, "1"), call(&mut s, "1"), call(&mut s, r#""1""#));
    assert_eq!(s.send(a.target(), progress(1)), a.stream());
    assert_eq!(s.answer(c, "3"), [c.json(&ask::result_text(r#""1""#, "3"))]);
    assert_eq!(s.answer(b, "2"), [b.json(&ask::result_text("1", "2"))]);
    assert_eq!(s.answer(a, "1"), []);
    let drawn = s.pull(a.exchange);
    assert_eq!(drawn.said(), [message(ask::progress_text(1)), message(ask::result_text("1", "1"))]);
    assert_eq!(drawn.pulled, Pulled::End);
    assert!(drawn.frames.iter().all(|frame| frame.id.is_none()), "C4: ids only where resume is offered");
    for of in [a, b, c] {
        assert_eq!(s.flushed(of.exchange), []);
    }
    assert!(s.stats().is_drained());
    s.finish();
}

#[test]
fn s12_a_session_id_is_ignored_whatever_is_in_it() {
    let mut s = Script::off();
    for id in ["x", "has blank", "", "0000000000000000000000000000000000000000000000000000"] {
        let admission = s.post(ask::request("1", "t")).field("mcp-session-id", id).admit();
        let call = s.call_of(None, &admission, "1", "t");
        assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("1", "{}"))]);
        let admission = s.post(ask::initialize("1", "2025-11-25")).field("mcp-session-id", id).admit();
        assert!(matches!(admission.actions[..], [Action::Deliver { session: None, .. }]));
    }
    let twice =
        s.post(ask::request("1", "t")).field("mcp-session-id", "a").field("mcp-session-id", "b").admit();
    s.call_of(None, &twice, "1", "t");
    s.finish();
}

#[test]
fn s12_get_and_delete_are_405_and_allow_tells_the_truth() {
    let mut s = Script::off();
    for reject in [
        s.get().refused(),
        s.get().field("mcp-session-id", "x").refused(),
        s.delete().refused(),
        s.delete().field("mcp-session-id", "x").refused(),
        s.get().method("HEAD").refused(),
    ] {
        assert_eq!(told(&reject).0, 405);
        let answer = reject.into_answer();
        let allow = answer.fields.iter().find(|(name, _)| name == "allow").expect("Allow");
        assert_eq!(allow.1, "POST, OPTIONS");
    }
    s.finish();
}

#[test]
fn s12_a_disconnect_cancels() {
    for streaming in [true, false] {
        let mut s = Script::off();
        let (kept, lost) = (call(&mut s, "1"), call(&mut s, "1"));
        if streaming {
            s.send(lost.target(), progress(1));
            s.pull(lost.exchange);
        }
        let cancel = Action::Cancel { call: lost.call, reason: CancelReason::Disconnected };
        assert_eq!(s.gone(lost.exchange), [cancel]);
        for late in [result("{}"), progress(2), note(1)] {
            let sent = s.try_send(lost.target(), late);
            assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
        }
        assert_eq!(s.answer(kept, "{}"), [kept.json(&ask::result_text("1", "{}"))]);
        s.finish();
    }
}

#[test]
fn s12_a_stalled_reader_is_a_disconnect() {
    let mut s = Script::off();
    let call = call(&mut s, "1");
    s.send(call.target(), note(1));
    let actions = s.event(Event::Stalled { exchange: call.exchange });
    let cancel = Action::Cancel { call: call.call, reason: CancelReason::Disconnected };
    assert_eq!(actions, [cancel, Action::Close { exchange: call.exchange }]);
    s.finish();
}

#[test]
fn s12_a_disconnect_after_the_answer_cancels_nothing() {
    for streaming in [true, false] {
        let mut s = Script::off();
        let call = call(&mut s, "1");
        if streaming {
            s.send(call.target(), progress(1));
        }
        s.answer(call, "{}");
        assert_eq!(s.gone(call.exchange), []);
        s.finish();
    }
}

#[test]
fn d2_where_a_disconnect_cancels_shutting_the_write_side_is_one() {
    let mut s = Script::off();
    let Call { exchange, call, .. } = call(&mut s, "1");
    assert_eq!(
        s.event(Event::HalfClosed { exchange }),
        [Action::Cancel { call, reason: CancelReason::Disconnected }, Action::Close { exchange }]
    );
    s.finish();
}

#[test]
fn d2_an_initialize_not_answered_is_answered_to_a_peer_that_shut_its_side() {
    let mut s = Script::off();
    let (exchange, call) = initialize(&mut s);
    assert_eq!(s.event(Event::HalfClosed { exchange }), []);
    assert_eq!(s.send(Target::Call(call), initialized()), [json(exchange, &ask::result_text("1", "{}"))]);
    assert_eq!(s.flushed(exchange), []);
    s.finish();
}

#[test]
fn s12_no_requests_to_the_client() {
    let mut s = Script::off();
    let call = call(&mut s, "1");
    let sent = s.try_send(call.target(), question(1));
    assert!(matches!(sent, Err(SendError::Gone(_) | SendError::Misplaced(_))), "{sent:?}");
    let reply = s.post(ask::reply("1")).admit();
    assert_eq!(reply.actions, [accepted(reply.exchange)], "C1: it answers nothing");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("1", "{}"))]);
    s.finish();
}

#[test]
fn c1_a_notice_is_202_when_it_was_taken() {
    let mut s = Script::off();
    let admission = s.post(ask::notice("x")).admit();
    let [Action::Deliver { exchange, session: None, delivery: Delivery::Notice { message, .. } }] =
        &admission.actions[..]
    else {
        panic!("{:?}", admission.actions)
    };
    assert_eq!(*exchange, admission.exchange);
    assert_eq!(s.event(Event::Taken { message: *message }), [accepted(admission.exchange)]);
    assert_eq!(s.flushed(admission.exchange), []);
    s.finish();
}

#[test]
fn z11_a_cancel_of_another_exchange_reaches_no_call() {
    let mut s = Script::off();
    let call = call(&mut s, "1");
    let admission = s.post(ask::cancelled("1")).admit();
    let cancels = admission.actions.iter().any(|action| matches!(action, Action::Cancel { .. }));
    assert!(!cancels, "ids of different exchanges never meet");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("1", "{}"))]);
    s.finish();
}

#[test]
fn c14_silence_commits_to_a_stream_with_a_comment_and_comments_follow() {
    let mut s = Script::off();
    let call = call(&mut s, "1");
    assert_eq!(s.advance(s.config().sse_commit_after - TICK), []);
    assert_eq!(s.advance(TICK), call.stream());
    let drawn = s.pull(call.exchange);
    assert_eq!(
        (drawn.said(), drawn.pulled),
        (vec![Said::Comment], Pulled::Idle),
        "nothing to resume, no priming"
    );
    let every = s.config().comment_every;
    for _ in 0..3 {
        assert_eq!(s.advance(every - TICK), []);
        assert_eq!(s.advance(TICK), [call.pull()]);
        assert_eq!(s.pull(call.exchange).said(), [Said::Comment]);
    }
    assert_eq!(s.answer(call, "{}"), [call.pull()]);
    s.finish();
}

#[test]
fn c6_there_is_no_early_close_without_sessions() {
    let mut s = Script::off();
    let call = call(&mut s, "1");
    assert_eq!(s.event(Event::CloseStream { call: call.call }), []);
    s.send(call.target(), note(1));
    s.pull(call.exchange);
    assert_eq!(s.event(Event::CloseStream { call: call.call }), []);
    assert_eq!(s.answer(call, "{}"), [call.pull()]);
    s.finish();
}

#[test]
fn r9_backpressure_is_the_same_without_sessions() {
    let mut s = Script::with(|config| {
        config.sessions = SessionMode::Off;
        config.ring_frames_max = 2;
    });
    let (call, other) = (call(&mut s, "1"), call(&mut s, "2"));
    s.send(call.target(), note(0));
    s.send(call.target(), note(1));
    let sent = s.try_send(call.target(), note(2));
    assert!(matches!(sent, Err(SendError::Full(_))), "{sent:?}");
    assert_eq!(s.answer(other, "{}"), [other.json(&ask::result_text("2", "{}"))]);
    assert_eq!(s.flushed(other.exchange), []);
    let drawn = s.pull_one(call.exchange);
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    s.send(call.target(), note(2));
    s.answer(call, "{}");
    let drawn = s.pull(call.exchange);
    let said = [message(ask::note_text(1)), message(ask::note_text(2)), message(ask::result_text("1", "{}"))];
    assert_eq!((drawn.said(), drawn.pulled), (said.to_vec(), Pulled::End));
    assert_eq!(s.stats().buffered_bytes, 0, "what was pulled is not kept: nobody can resume it");
    s.finish();
}

#[test]
fn r8_calls_without_sessions_have_a_cap_of_the_whole_server() {
    let mut s = Script::sharded(2, |config| {
        config.sessions = SessionMode::Off;
        config.solo_calls_max = 3;
    });
    let first = {
        s.on(0);
        call(&mut s, "1")
    };
    call(&mut s, "2");
    s.on(1);
    call(&mut s, "3");
    for shard in [0, 1] {
        let refused = s.on(shard).post(ask::request("4", "t")).admit();
        assert_eq!(told(only_reject(&refused.actions, refused.exchange)), (503, -32000, Some("4".into())));
    }
    s.on(0);
    s.answer(first, "{}");
    s.flushed(first.exchange);
    s.on(1);
    call(&mut s, "5");
    s.finish();
}

#[test]
fn r8_an_initialize_that_opens_no_session_is_a_call_among_calls() {
    let mut s = Script::with(|config| {
        config.sessions = SessionMode::Off;
        config.solo_calls_max = 1;
    });
    let (exchange, _) = initialize(&mut s);
    assert_eq!(s.stats().calls, 1, "it waits for an answer");
    let refused = s.post(ask::initialize("2", "2025-06-18")).admit();
    assert_eq!(told(only_reject(&refused.actions, refused.exchange)), (503, -32000, Some("2".into())));
    s.gone(exchange);
    initialize(&mut s);
    s.finish();
}

#[test]
fn x1_a_shutdown_lets_calls_finish_and_fails_the_rest() {
    for peers_read in [true, false] {
        let mut s = Script::off();
        let (done, stuck, streaming) = (call(&mut s, "1"), call(&mut s, "2"), call(&mut s, "3"));
        s.send(streaming.target(), note(1));
        assert_eq!(s.shutdown(Duration::from_secs(10)), []);
        let late = s.post(ask::request("4", "t")).admit();
        assert_eq!(told(only_reject(&late.actions, late.exchange)), (503, -32000, Some("4".into())));
        s.advance(Duration::from_millis(500));
        assert_eq!(s.answer(done, "{}"), [done.json(&ask::result_text("1", "{}"))]);
        s.flushed(done.exchange);
        assert_eq!(s.stats().calls, 2);
        let _ = stuck;
        s.finish_by_shutdown(peers_read);
    }
}
