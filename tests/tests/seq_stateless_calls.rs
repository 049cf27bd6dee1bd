//! Calls and notices of the stateless era: Z2, Z8, Z9, Z11, and what C12, C14, R8, R9 and X1 mean there.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, CancelReason, Event, Pulled, SendError};
use mcp_http_core::jsonrpc::code;
use mcp_http_tests::script::{
    Call, Said, Script, accepted, ask, assert_full, error, error_code, last_message, message, messages, note,
    notes, only_reject, progress, question, result, told,
};

const TICK: Duration = Duration::from_nanos(1);
const DRAIN: Duration = Duration::from_secs(10);
/// D3: when calls without an answer are failed.
const FAIL_AT: Duration = Duration::from_secs(9);

fn cancelled(call: Call) -> Action {
    Action::Cancel { call: call.call, reason: CancelReason::Disconnected }
}

/// The phases of a call at which its client can leave.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Silent,
    Begun,
    Idle,
    Quiet,
    Full,
}

const PHASES: [Phase; 5] = [Phase::Silent, Phase::Begun, Phase::Idle, Phase::Quiet, Phase::Full];

fn in_phase(s: &mut Script, phase: Phase) -> Call {
    let call = s.solo("7");
    match phase {
        Phase::Silent => {}
        Phase::Begun => assert_eq!(s.send(call.target(), note(0)), call.stream()),
        Phase::Idle => {
            s.send(call.target(), note(0));
            assert_eq!(s.pull(call.exchange).pulled, Pulled::Idle);
        }
        Phase::Quiet => {
            s.advance(s.config().sse_commit_after);
            assert_eq!(s.pull(call.exchange).said(), [Said::Comment]);
        }
        Phase::Full => {
            s.send(call.target(), note(0));
            s.send(call.target(), note(1));
            assert_full(s, call.target(), note(2));
        }
    }
    call
}

fn narrow() -> Script {
    Script::with(|config| config.ring_frames_max = 2)
}

#[track_caller]
fn nothing_more(s: &mut Script, call: Call) {
    for late in [result("{}"), error(-1, "x"), progress(2), note(1), question(1)] {
        let sent = s.try_send(call.target(), late);
        assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    }
    let drawn = s.pull(call.exchange);
    assert!(drawn.frames.is_empty() && drawn.actions.is_empty(), "{drawn:?}");
    assert_eq!(drawn.pulled, Pulled::Gone);
    assert_eq!(s.advance(Duration::from_secs(120)), [], "no comment either");
    assert!(s.stats().is_drained(), "{:?}", s.stats());
}

#[test]
fn z9_a_disconnect_cancels_in_every_phase() {
    for phase in PHASES {
        let mut s = narrow();
        let call = in_phase(&mut s, phase);
        assert_eq!(s.gone(call.exchange), [cancelled(call)], "{phase:?}");
        assert_eq!(s.gone(call.exchange), [], "X2");
        nothing_more(&mut s, call);
        s.finish();
    }
}

#[test]
fn z9_d2_a_half_close_cancels_in_every_phase_and_the_connection_goes() {
    for phase in PHASES {
        let mut s = narrow();
        let call = in_phase(&mut s, phase);
        let exchange = call.exchange;
        let actions = s.event(Event::HalfClosed { exchange });
        assert_eq!(actions, [cancelled(call), Action::Close { exchange }], "{phase:?}");
        assert_eq!(s.event(Event::HalfClosed { exchange }), [], "X2");
        nothing_more(&mut s, call);
        s.finish();
    }
}

#[test]
fn z9_a_stalled_reader_is_a_disconnect() {
    for phase in PHASES {
        let mut s = narrow();
        let call = in_phase(&mut s, phase);
        let actions = s.event(Event::Stalled { exchange: call.exchange });
        assert_eq!(actions, [cancelled(call), Action::Close { exchange: call.exchange }], "{phase:?}");
        nothing_more(&mut s, call);
        s.finish();
    }
}

#[test]
fn z9_whoever_reads_json_alone_is_cancelled_too() {
    let mut s = Script::new();
    let call = s.solo_with("7", "application/json");
    s.send(call.target(), progress(1));
    s.advance(Duration::from_secs(5));
    assert_eq!(s.gone(call.exchange), [cancelled(call)]);
    nothing_more(&mut s, call);
    s.finish();
}

#[test]
fn z9_after_the_answer_there_is_nothing_to_cancel() {
    for event in [
        |exchange| Event::Gone { exchange },
        |exchange| Event::HalfClosed { exchange },
        |exchange| Event::Stalled { exchange },
    ] {
        for begun in [true, false] {
            let mut s = Script::new();
            let call = s.solo("7");
            if begun {
                s.send(call.target(), note(1));
            }
            s.answer(call, "{}");
            let actions = s.event(event(call.exchange));
            let cancels = actions.iter().any(|action| matches!(action, Action::Cancel { .. }));
            assert!(!cancels, "{actions:?}");
            s.finish();
        }
    }
}

#[test]
fn z9_z11_one_that_leaves_takes_nobody_along() {
    let mut s = Script::sharded(8, |_| {});
    let calls: Vec<Call> = (0..16).map(|number| s.on(number % 8).solo("7")).collect();
    for call in calls.iter().skip(1).step_by(2) {
        s.on(call.shard);
        assert_eq!(s.gone(call.exchange), [cancelled(*call)]);
    }
    for call in calls.into_iter().step_by(2) {
        assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("7", "{}"))]);
    }
    s.finish();
}

#[test]
fn z8_the_client_is_asked_nothing() {
    for phase in PHASES {
        for accept in ["application/json, text/event-stream", "text/event-stream", "application/json"] {
            let mut s = narrow();
            let other = s.solo_with("8", accept);
            let call = in_phase(&mut s, phase);
            for of in [call, other] {
                let sent = s.try_send(of.target(), question(1));
                let refused = matches!(sent, Err(SendError::Gone(_) | SendError::Misplaced(_)));
                assert!(refused, "{phase:?}: {sent:?}");
            }
            let json_first = accept.contains("application/json");
            let actions = s.answer(other, "{}");
            if json_first && phase != Phase::Quiet {
                assert_eq!(actions, [other.json(&ask::result_text("8", "{}"))], "it was no output");
            }
            s.finish();
        }
    }
}

#[test]
fn z2_a_notice_is_202_when_it_was_taken() {
    let mut s = Script::new();
    let admission = s.modern_notice("x").admit();
    let taken = s.solo_notice_of(&admission, "x");
    assert_eq!(s.advance(Duration::from_secs(60)), [], "a slow application pushes back");
    assert_eq!(s.event(Event::Taken { message: taken }), [accepted(admission.exchange)]);
    assert_eq!(s.event(Event::Taken { message: taken }), [], "X2");
    assert_eq!(s.flushed(admission.exchange), []);
    assert!(s.stats().is_drained());
    // Its client may read nothing but events, or leave.
    let admission = s.modern_notice("x").accept("text/event-stream").admit();
    let taken = s.solo_notice_of(&admission, "x");
    assert_eq!(s.event(Event::Taken { message: taken }), [accepted(admission.exchange)]);
    let admission = s.modern_notice("x").admit();
    let taken = s.solo_notice_of(&admission, "x");
    assert_eq!(s.gone(admission.exchange), []);
    assert_eq!(s.event(Event::Taken { message: taken }), []);
    s.finish();
}

#[test]
fn c14_an_answer_alone_is_json_or_what_the_client_reads() {
    for (accept, json) in [
        ("application/json, text/event-stream", true),
        ("application/json", true),
        ("*/*", true),
        ("text/event-stream", false),
        ("text/*", false),
        ("application/json;q=0, */*", false),
    ] {
        let mut s = Script::new();
        let call = s.solo_with("7", accept);
        let (actions, text) = (s.answer(call, "{}"), ask::result_text("7", "{}"));
        if json {
            assert_eq!(actions, [call.json(&text)], "{accept}");
        } else {
            assert_eq!(actions, call.stream(), "{accept}");
            let drawn = s.pull(call.exchange);
            assert_eq!((drawn.said(), drawn.pulled), (vec![message(text)], Pulled::End));
            assert_eq!(drawn.frames[0].id, None, "C4");
        }
        assert_eq!(s.flushed(call.exchange), []);
        assert!(s.stats().is_drained());
        s.finish();
    }
}

#[test]
fn c4_c6_frames_have_no_ids_and_nothing_primes() {
    let mut s = Script::new();
    let call = s.solo("7");
    s.send(call.target(), progress(1));
    let mut frames = s.pull(call.exchange).frames;
    s.send(call.target(), note(2));
    s.advance(s.config().comment_every);
    frames.extend(s.pull(call.exchange).frames);
    assert_eq!(s.event(Event::CloseStream { call: call.call }), [], "nobody could come back");
    s.answer(call, "{}");
    frames.extend(s.pull(call.exchange).frames);
    assert!(frames.iter().all(|frame| frame.id.is_none() && frame.retry.is_none()), "{frames:?}");
    let said: Vec<Said> =
        frames.iter().map(|frame| frame.said()).filter(|said| *said != Said::Comment).collect();
    let texts = [ask::progress_text(1), ask::note_text(2), ask::result_text("7", "{}")];
    assert_eq!(said, texts.map(message));
    s.finish();
}

#[test]
fn c12_comments_come_in_every_interval_of_silence_and_end_with_the_stream() {
    let mut s = Script::new();
    let call = in_phase(&mut s, Phase::Quiet);
    let every = s.config().comment_every;
    for _ in 0..3 {
        assert_eq!(s.advance(every - TICK), []);
        assert_eq!(s.advance(TICK), [call.pull()]);
        assert_eq!(s.pull(call.exchange).said(), [Said::Comment]);
    }
    s.advance(every / 2);
    s.send(call.target(), note(1));
    assert_eq!(messages(&s.pull(call.exchange)), notes([1]));
    assert_eq!(s.advance(every - TICK), [], "it was not silent");
    assert_eq!(s.advance(TICK), [call.pull()]);
    s.answer(call, "{}");
    assert_eq!(last_message(&s.pull(call.exchange).said()), ask::result_text("7", "{}"));
    s.flushed(call.exchange);
    assert_eq!(s.next_deadline(), None);
    s.finish();
}

#[test]
fn r9_a_full_stream_tells_its_sender_when_there_is_room() {
    let mut s = narrow();
    let call = in_phase(&mut s, Phase::Full);
    let drawn = s.pull_one(call.exchange);
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    s.send(call.target(), note(2));
    assert_eq!(s.answer(call, "{}"), [], "R14: there is room for the last frame");
    let drawn = s.pull(call.exchange);
    let expected = [notes([1, 2]), vec![ask::result_text("7", "{}")]].concat();
    assert_eq!((messages(&drawn), drawn.pulled), (expected, Pulled::End));
    assert_eq!(s.buffered_bytes(), 0, "nobody can ask for it again");
    s.finish();
}

#[test]
fn r8_as_many_calls_as_may_be_and_503_for_the_next() {
    for shards in [1, 8] {
        let mut s = Script::sharded(shards, |config| {
            config.solo_calls_max = 9;
            config.publishes.tools = true;
        });
        let last = usize::from(shards) - 1;
        let calls: Vec<Call> = (0..9).map(|number| s.on(number % usize::from(shards)).solo("7")).collect();
        let refused_everywhere = |s: &mut Script| {
            for shard in 0..=last {
                let refused = s.on(shard).modern("8", "tools/list", "").admit();
                let reject = only_reject(&refused.actions, refused.exchange).clone();
                assert_eq!(told(&reject), (503, code::REFUSED, Some("8".into())));
                assert!(reject.into_answer().fields.iter().any(|(name, _)| name == "retry-after"), "L2");
            }
        };
        refused_everywhere(&mut s);
        // What is no such call has other caps.
        let session = s.on(0).open();
        let in_session = s.call(&session, "1", "t");
        s.answer(in_session, "{}");
        let notice = s.modern_notice("x").admit();
        s.solo_notice_of(&notice, "x");
        s.listener("1", r#"{"toolsListChanged":true}"#, r#"{"toolsListChanged":true}"#);
        refused_everywhere(&mut s);
        // However one ends, there is one place more, anywhere.
        s.on(calls[0].shard);
        s.gone(calls[0].exchange);
        let in_its_place = s.on(last).solo("9");
        refused_everywhere(&mut s);
        s.answer(in_its_place, "{}");
        s.flushed(in_its_place.exchange);
        s.on(0).solo("9");
        refused_everywhere(&mut s);
        s.finish();
    }
}

#[test]
fn x1_calls_finish_until_the_deadline_and_then_fail() {
    let mut s = Script::new();
    let (silent, begun, done) = (s.solo("1"), s.solo("2"), s.solo("3"));
    s.send(begun.target(), note(1));
    s.pull(begun.exchange);
    assert_eq!(s.shutdown(DRAIN), []);
    for accept in ["application/json", "text/event-stream"] {
        let late = s.modern("4", "tools/list", "").accept(accept).admit();
        let reject = only_reject(&late.actions, late.exchange).clone();
        assert_eq!(told(&reject), (503, code::REFUSED, Some("4".into())));
        assert!(reject.into_answer().close);
    }
    s.advance(Duration::from_millis(500));
    assert_eq!(s.answer(done, "{}"), [done.json(&ask::result_text("3", "{}"))]);
    s.flushed(done.exchange);
    assert_eq!(s.advance(Duration::from_millis(500)), silent.stream(), "C14");
    s.pull(silent.exchange);
    let actions = s.advance(FAIL_AT - Duration::from_secs(1));
    for call in [silent, begun] {
        let failed = Action::Cancel { call: call.call, reason: CancelReason::Shutdown };
        assert_eq!(actions.iter().filter(|action| **action == failed).count(), 1, "{actions:?}");
        let drawn = s.pull(call.exchange);
        assert_eq!(error_code(last_message(&drawn.said())), code::INTERNAL_ERROR);
        assert_eq!(drawn.pulled, Pulled::End);
        s.flushed(call.exchange);
    }
    assert!(s.stats().exchanges == 0 && s.stats().calls == 0);
    s.advance(Duration::from_secs(1));
    s.finish();
}

#[test]
fn x1_a_call_whose_head_is_not_out_is_refused_with_503() {
    let mut s = Script::with(|config| config.sse_commit_after = Duration::from_secs(60));
    let (call, json) = (s.solo("1"), s.solo_with("2", "application/json"));
    s.shutdown(DRAIN);
    let actions = s.advance(FAIL_AT);
    for (call, id) in [(call, "1"), (json, "2")] {
        let own = |action: &&Action| match action {
            Action::Reject { exchange, .. } => *exchange == call.exchange,
            _ => false,
        };
        let reject: Vec<Action> = actions.iter().filter(own).cloned().collect();
        assert_eq!(told(only_reject(&reject, call.exchange)), (503, code::REFUSED, Some(id.into())));
        let cancel = Action::Cancel { call: call.call, reason: CancelReason::Shutdown };
        assert!(actions.contains(&cancel), "{actions:?}");
    }
    assert_eq!(actions.len(), 4);
    s.finish();
}

#[test]
fn r14_a_shutdown_at_any_phase_leaves_nothing() {
    for phase in PHASES {
        for peers_read in [true, false] {
            for commit_after in [1, 60] {
                let mut s = Script::with(|config| {
                    config.ring_frames_max = 2;
                    config.sse_commit_after = Duration::from_secs(commit_after);
                });
                in_phase(&mut s, phase);
                let notice = s.modern_notice("x").admit();
                s.solo_notice_of(&notice, "x");
                s.finish_by_shutdown(peers_read);
            }
        }
    }
}
