//! Shutdown: X1, R14, and what it must not wait for.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, CancelReason, EndReason, Event, Pulled, SendError, Target};
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Call, Said, Script, Session, accepted, ask, error_code, note, only_reject, progress, question, result,
    told,
};

const TICK: Duration = Duration::from_nanos(1);
const DRAIN: Duration = Duration::from_secs(10);
/// D3: when calls without an answer are failed.
const FAIL_AT: Duration = Duration::from_secs(9);

fn ended(session: &Session) -> Action {
    Action::End { session: session.key, reason: EndReason::Shutdown }
}

#[test]
fn x1_without_anything_in_flight_it_is_over_at_once() {
    let mut s = Script::new();
    assert_eq!(s.shutdown(DRAIN), []);
    assert!(s.stats().exchanges == 0 && s.stats().sessions == 0);
    assert_eq!(s.advance(DRAIN), []);
    s.finish();
}

#[test]
fn x1_new_sessions_are_refused_and_the_connection_closes() {
    let mut s = Script::new();
    s.shutdown(DRAIN);
    for _ in 0..2 {
        let admission = s.post(ask::initialize("1", "2025-11-25")).admit();
        let reject = only_reject(&admission.actions, admission.exchange).clone();
        assert_eq!(told(&reject), (503, -32000, Some("1".into())));
        assert!(reject.into_answer().close);
    }
    s.advance(DRAIN * 2);
    let admission = s.post(ask::initialize("1", "2025-11-25")).admit();
    assert_eq!(
        told(only_reject(&admission.actions, admission.exchange)).0,
        503,
        "also after the last moment"
    );
    assert_eq!(s.stats().total.created, 0);
    s.finish();
}

#[test]
fn d4_sessions_without_calls_end_at_once() {
    let mut s = Script::new();
    let (a, b) = (s.open(), s.unconfirmed());
    let actions = s.shutdown(DRAIN);
    assert!(actions == [ended(&a), ended(&b)] || actions == [ended(&b), ended(&a)], "{actions:?}");
    assert_eq!((s.stats().sessions, s.stats().deadlines), (0, s.stats().deadlines));
    s.finish();
}

#[test]
fn x1_get_streams_end_at_once_with_complete_messages_and_a_retry() {
    for version in Version::HANDSHAKE {
        for busy in [true, false] {
            let mut s = Script::new();
            let session = s.open_at(version);
            let get = s.listen(&session);
            s.pull(get);
            s.send(Target::Session(session.key), note(1));
            let call = busy.then(|| s.call(&session, "1", "slow"));
            let actions = s.shutdown(DRAIN);
            assert_eq!(actions.contains(&ended(&session)), !busy, "{actions:?}");
            let drawn = s.pull(get);
            let said = drawn.said();
            assert_eq!(said[0], Said::Message(ask::note_text(1)), "what was queued is said");
            assert_eq!(said[1..], [Said::Retry]);
            assert_eq!(drawn.pulled, Pulled::End, "never waits for a stream that has no reason to end");
            s.flushed(get);
            if let Some(call) = call {
                assert_eq!(s.answer(call, "{}")[0], call.json(&ask::result_text("1", "{}")));
            }
            s.finish_by_shutdown(true);
        }
    }
}

#[test]
fn x1_an_idle_get_stream_is_woken_to_its_end() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    let actions = s.shutdown(DRAIN);
    assert!(actions.contains(&Action::Pull { exchange: get }), "{actions:?}");
    assert!(actions.contains(&ended(&session)), "{actions:?}");
    assert_eq!(actions.len(), 2);
    assert_eq!(s.pull(get).pulled, Pulled::End);
    s.flushed(get);
    s.finish();
}

#[test]
fn x1_calls_finish_until_the_deadline_and_then_their_session_ends() {
    let mut s = Script::new();
    let session = s.open();
    let (a, b) = (s.call(&session, "1", "t"), s.call(&session, "2", "t"));
    s.send(b.target(), progress(1));
    assert_eq!(s.shutdown(DRAIN), []);
    s.advance(Duration::from_millis(500));
    assert_eq!(s.answer(a, "{}"), [a.json(&ask::result_text("1", "{}"))]);
    s.flushed(a.exchange);
    assert_eq!(s.stats().sessions, 1);
    let actions = s.answer(b, "{}");
    let drawn = s.pull(b.exchange);
    let last = drawn.said().pop();
    assert_eq!((last, drawn.pulled), (Some(Said::Message(ask::result_text("2", "{}"))), Pulled::End));
    let later = s.flushed(b.exchange);
    let all = [actions, drawn.actions, later].concat();
    assert_eq!(all, [ended(&session)], "D4");
    s.finish();
}

#[test]
fn d3_calls_without_an_answer_fail_in_time_for_the_error_to_be_written() {
    let mut s = Script::new();
    let session = s.open();
    let (held, streaming) = (s.call(&session, "1", "t"), s.call(&session, r#""2""#, "t"));
    let admission = s.post(ask::request("3", "t")).with(&session.id).accept("application/json").admit();
    let json_only = s.call_of(Some(&session), &admission, "3", "t");
    s.send(streaming.target(), progress(1));
    s.pull(streaming.exchange);
    s.shutdown(DRAIN);
    s.advance(Duration::from_millis(999));
    // Held for less than `sse_commit_after`, then it is a stream too.
    let committed = s.advance(TICK * 1_000_000);
    assert_eq!(committed, held.stream());
    s.pull(held.exchange);
    let actions = s.advance(FAIL_AT - Duration::from_secs(1) - TICK);
    assert_eq!(actions, []);
    let actions = s.advance(TICK);
    for call in [held, streaming, json_only] {
        let cancel = Action::Cancel { call: call.call, reason: CancelReason::Shutdown };
        assert_eq!(actions.iter().filter(|action| **action == cancel).count(), 1, "{actions:?}");
    }
    for (call, id) in [(held, "1"), (streaming, r#""2""#)] {
        assert!(actions.contains(&call.pull()), "{actions:?}");
        let drawn = s.pull(call.exchange);
        let Some(Said::Message(last)) = drawn.said().pop() else { panic!("{drawn:?}") };
        assert!(last.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)), "{last}");
        assert_eq!(error_code(&last), -32603);
        assert_eq!(drawn.pulled, Pulled::End);
        s.flushed(call.exchange);
    }
    let answered = actions.iter().find_map(|action| match action {
        Action::Reject { exchange, reject } if *exchange == json_only.exchange => Some(reject.clone()),
        _ => None,
    });
    assert_eq!(told(&answered.expect("an answer")), (503, -32000, Some("3".into())));
    for call in [held, streaming, json_only] {
        let sent = s.try_send(call.target(), result("{}"));
        assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    }
    s.advance(DRAIN);
    assert!(s.stats().is_drained());
    s.finish();
}

#[test]
fn r14_a_peer_that_does_not_read_is_aborted_at_the_last_moment() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(1));
    let written = s.call(&session, "2", "t");
    s.answer(written, "{}");
    let notice = s.post(ask::notice("x")).with(&session.id).admit();
    s.shutdown(DRAIN);
    s.advance(DRAIN - TICK);
    let actions = s.advance(TICK);
    for exchange in [get, call.exchange, written.exchange] {
        let close = Action::Close { exchange };
        assert_eq!(
            actions.iter().filter(|action| **action == close).count(),
            1,
            "{exchange:?} in {actions:?}"
        );
    }
    let _ = notice;
    assert!(s.stats().is_drained(), "{:?}", s.stats());
    s.finish();
}

#[test]
fn r14_everything_in_flight() {
    for shards in [1, 8] {
        for peers_read in [true, false] {
            let mut s = Script::sharded(shards, |config| config.ring_frames_max = 3);
            for shard in 0..usize::from(shards) {
                s.on(shard);
                everything(&mut s);
            }
            s.finish_by_shutdown(peers_read);
        }
    }
}

/// One of each: what a session, a call, a stream and an exchange can be.
fn everything(s: &mut Script) {
    s.opening();
    s.offered();
    s.unconfirmed();
    s.open();
    for version in Version::HANDSHAKE {
        let session = s.open_at(version);
        let get = s.listen(&session);
        s.pull(get);
        for number in 0..3 {
            s.send(Target::Session(session.key), note(number));
        }
        assert!(s.try_send(Target::Session(session.key), note(3)).is_err());
        s.call(&session, "1", "held");
        let unread = s.call(&session, "1", "unread");
        for number in 0..3 {
            s.send(unread.target(), note(number));
        }
        assert!(s.try_send(unread.target(), note(3)).is_err());
        let asking = s.call(&session, "2", "asking");
        s.send(asking.target(), question(1));
        s.pull(asking.exchange);
        let detached = s.call(&session, "3", "detached");
        s.send(detached.target(), note(0));
        s.pull(detached.exchange);
        s.gone(detached.exchange);
        let lost = s.call(&session, "4", "lost");
        s.gone(lost.exchange);
        let answered = s.call(&session, "5", "answered");
        s.answer(answered, "{}");
        let finished = s.call(&session, "6", "finished");
        s.send(finished.target(), note(0));
        s.answer(finished, "{}");
        let polled = s.call(&session, "7", "polled");
        s.send(polled.target(), note(0));
        s.event(Event::CloseStream { call: polled.call });
        s.post(ask::notice("untaken")).with(&session.id).admit();
        if version.batches() {
            let body = format!("[{},{}]", ask::request("8", "a"), ask::request("9", "b"));
            s.post(body).with(&session.id).admit();
        }
    }
}

#[test]
fn r14_everything_in_flight_ends_by_rule_too() {
    let mut s = Script::with(|config| config.ring_frames_max = 3);
    everything(&mut s);
    s.finish();
}

#[test]
fn x1_said_again_the_earlier_last_moment_holds() {
    for (first, second) in [(10, 60), (60, 10)] {
        let mut s = Script::new();
        let session = s.open();
        let call = s.call(&session, "1", "t");
        s.gone(call.exchange);
        s.shutdown(Duration::from_secs(first));
        s.shutdown(Duration::from_secs(second));
        s.advance(Duration::from_secs(10));
        assert!(s.stats().is_drained(), "{first} {second} {:?}", (s.stats(), s.next_deadline()));
        s.finish();
    }
}

#[test]
fn x1_a_last_moment_that_is_now_or_past_ends_everything_at_once() {
    for shift in [Duration::ZERO, Duration::from_secs(5)] {
        let mut s = Script::with(|config| config.ring_frames_max = 3);
        let until = s.now();
        s.advance(shift);
        everything(&mut s);
        s.event(Event::Shutdown { until });
        s.advance(Duration::ZERO);
        let stats = s.stats();
        assert!(stats.is_drained(), "{stats:?}");
        s.finish();
    }
}

/// R14: what bears no session id would wait for an application that has gone home.
#[test]
fn x1_after_the_last_moment_nothing_is_taken_in() {
    let mut s = Script::new();
    s.shutdown(DRAIN);
    s.advance(DRAIN);
    let admission = s.modern_notice("notifications/anything").admit();
    let [Action::Reject { exchange, reject }] = &admission.actions[..] else { panic!("{admission:?}") };
    assert_eq!((*exchange, reject.refusal.name()), (admission.exchange, "shutting_down"));
    assert!(s.stats().is_drained());
    s.finish();
}

#[test]
fn x1_a_cancel_and_a_reply_are_served_while_calls_finish() {
    let mut s = Script::new();
    let session = s.open();
    let (a, b) = (s.call(&session, "1", "t"), s.call(&session, "2", "t"));
    s.send(b.target(), question(5));
    s.pull(b.exchange);
    s.shutdown(DRAIN);
    let reply = s.post(ask::reply("5")).with(&session.id).admit();
    let [Action::Deliver { delivery: mcp_http_core::endpoint::Delivery::Reply { message, .. }, .. }] =
        &reply.actions[..]
    else {
        panic!("a call that waits for its reply could never finish: {:?}", reply.actions)
    };
    assert_eq!(s.event(Event::Taken { message: *message }), [accepted(reply.exchange)]);
    let cancel = s.post(ask::cancelled("1")).with(&session.id).admit();
    let told_handler = Action::Cancel { call: a.call, reason: CancelReason::Client };
    assert!(cancel.actions.contains(&told_handler), "{:?}", cancel.actions);
    s.answer(b, "{}");
    s.finish_by_shutdown(true);
}

#[test]
fn x1_a_new_call_and_a_new_get_during_the_drain_do_not_outlive_it() {
    let mut s = Script::new();
    let session = s.open();
    let call: Call = s.call(&session, "1", "t");
    s.shutdown(DRAIN);
    let late = s.post(ask::request("2", "t")).with(&session.id).admit();
    let get = s.get().with(&session.id).admit();
    for admission in [late, get] {
        let reject = only_reject(&admission.actions, admission.exchange);
        assert_eq!(told(reject).0, 503, "it could not run to its end");
    }
    s.answer(call, "{}");
    s.finish_by_shutdown(true);
}

#[test]
fn x1_delete_during_the_drain_is_a_delete() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.shutdown(DRAIN);
    let delete = s.delete().with(&session.id).admit();
    let reason = EndReason::Deleted;
    assert!(delete.actions.contains(&Action::End { session: session.key, reason }), "{:?}", delete.actions);
    let cancel = Action::Cancel { call: call.call, reason: CancelReason::SessionEnded };
    assert!(delete.actions.contains(&cancel), "{:?}", delete.actions);
    s.finish();
}

#[test]
fn x1_a_resume_during_the_drain() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    let last = s.pull(call.exchange).last_id();
    s.gone(call.exchange);
    s.shutdown(DRAIN);
    s.get().with(&session.id).after(&last).admit();
    s.answer(call, "{}");
    s.finish_by_shutdown(true);
}

#[test]
fn x1_a_flushed_initialize_during_the_drain_ends_in_one_way() {
    for flushed in [true, false] {
        let mut s = Script::new();
        let offered = s.offered();
        s.shutdown(DRAIN);
        if flushed {
            let actions = s.flushed(offered.exchange);
            let end = Action::End { session: offered.key, reason: EndReason::Shutdown };
            assert_eq!(actions, [Action::Commit { session: offered.key }, end]);
        }
        s.finish_by_shutdown(true);
    }
}
