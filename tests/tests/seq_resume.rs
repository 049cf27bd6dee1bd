//! Resumed streams: C7, C8, and the table of resumes.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, CancelReason, Pulled};
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Said, Script, ask, json, messages, note, notes, only_reject, progress, resume, resume_status, session_of,
    stream, told,
};

const TICK: Duration = Duration::from_nanos(1);

/// How the call ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    BeforeTheBreak,
    WhileDetached,
    AfterTheResume,
    /// As an error, while detached.
    InError,
}

#[test]
fn c7_resume_yields_exactly_what_followed_at_every_point_of_breakage() {
    for version in Version::HANDSHAKE {
        for ends in [Ends::BeforeTheBreak, Ends::WhileDetached, Ends::AfterTheResume, Ends::InError] {
            for pulled in 1..=5 {
                for seen in 1..=pulled {
                    break_at(version, ends, pulled, seen);
                }
            }
        }
    }
}

/// The server pulled `pulled` frames, the client saw `seen` of them (the rest was cut, also within a frame),
/// then the connection broke.
fn break_at(version: Version, ends: Ends, pulled: usize, seen: usize) {
    let case = format!("{version:?} {ends:?} pulled {pulled} seen {seen}");
    let mut s = Script::new();
    let session = s.open_at(version);
    let call = s.call(&session, "1", "t");
    for number in 0..3 {
        s.send(call.target(), note(number));
    }
    let finish = |s: &mut Script| match ends {
        Ends::InError => s.fail(call, -32000, "no"),
        Ends::BeforeTheBreak | Ends::WhileDetached | Ends::AfterTheResume => s.answer(call, "{}"),
    };
    if ends == Ends::BeforeTheBreak {
        finish(&mut s);
    }
    let mut frames = Vec::new();
    for _ in 0..pulled {
        frames.extend(s.pull_one(call.exchange).frames);
    }
    if frames.len() < seen {
        return s.finish();
    }
    assert_eq!(s.gone(call.exchange), [], "{case}");
    if matches!(ends, Ends::WhileDetached | Ends::InError) {
        assert_eq!(finish(&mut s), [], "{case}");
    }
    let answer = match ends {
        Ends::InError => r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#.to_owned(),
        Ends::BeforeTheBreak | Ends::WhileDetached | Ends::AfterTheResume => ask::result_text("1", "{}"),
    };
    let all: Vec<String> = notes(0..3).into_iter().chain([answer]).collect();
    let seen_messages =
        frames[..seen].iter().filter(|frame| matches!(frame.said(), Said::Message(_))).count();
    let last = frames[seen - 1].id.clone().expect("every frame of a session's stream has an id");
    let expected = &all[seen_messages..];
    if expected.is_empty() {
        assert_eq!(resume_status(&mut s, &session, &last), 204, "{case}: finished and nothing left");
        return s.finish();
    }
    let exchange = resume(&mut s, &session, &last);
    let mut drawn = s.pull(exchange);
    let mut got = messages(&drawn);
    if ends == Ends::AfterTheResume {
        assert_eq!(drawn.pulled, Pulled::Idle, "{case}");
        assert_eq!(finish(&mut s), [Action::Pull { exchange }], "{case}");
        drawn = s.pull(exchange);
        got.extend(messages(&drawn));
    }
    assert_eq!(got, expected, "{case}");
    assert_eq!(drawn.pulled, Pulled::End, "{case}");
    assert_eq!(s.flushed(exchange), []);
    s.finish();
}

#[test]
fn c7_two_streams_of_one_session_interleaved_and_either_resumed() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    let (a, b) = (s.call(&session, "1", "a"), s.call(&session, "2", "b"));
    let mut last = [String::new(), String::new(), String::new()];
    for number in 0..2 {
        s.send(a.target(), note(number * 10 + 1));
        s.send(b.target(), note(number * 10 + 2));
        s.send(session_of(&session), note(number * 10 + 3));
        if number == 0 {
            for (place, exchange) in [a.exchange, b.exchange, get].into_iter().enumerate() {
                last[place] = s.pull(exchange).last_id();
            }
        }
    }
    for exchange in [b.exchange, get, a.exchange] {
        assert_eq!(s.gone(exchange), []);
    }
    s.answer(b, "{}");
    let again = resume(&mut s, &session, &last[2]);
    assert_eq!(messages(&s.pull(again)), notes([13]));
    let again = resume(&mut s, &session, &last[0]);
    assert_eq!(messages(&s.pull(again)), notes([11]));
    let again = resume(&mut s, &session, &last[1]);
    let drawn = s.pull(again);
    assert_eq!(messages(&drawn), [ask::note_text(12), ask::result_text("2", "{}")]);
    assert_eq!(drawn.pulled, Pulled::End);
    s.answer(a, "{}");
    s.finish();
}

#[test]
fn c7_resuming_an_attached_stream_moves_it() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    s.send(call.target(), note(1));
    let drawn = s.pull_upto(call.exchange, 1);
    let first = drawn.id(0);
    s.pull(call.exchange);
    let admission = s.get().with(&session.id).after(&first).admit();
    let newer = admission.exchange;
    let others: Vec<_> =
        admission.actions.iter().filter(|action| !stream(newer).contains(action)).cloned().collect();
    match &others[..] {
        [Action::Close { exchange }] if *exchange == call.exchange => {}
        [Action::Pull { exchange }] if *exchange == call.exchange => {
            assert_eq!(s.pull(call.exchange).pulled, Pulled::End);
        }
        other => panic!("the older is not closed: {other:?}"),
    }
    assert_eq!(messages(&s.pull(newer)), notes(0..2));
    assert_eq!(s.gone(call.exchange), [], "late");
    assert_eq!(s.answer(call, "{}"), [Action::Pull { exchange: newer }]);
    let drawn = s.pull(newer);
    assert_eq!((messages(&drawn), drawn.pulled), (vec![ask::result_text("1", "{}")], Pulled::End));
    s.finish();
}

#[test]
fn c7_resuming_a_finished_stream_never_touches_the_standalone_one() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    let first = s.pull(call.exchange).id(0);
    s.answer(call, "{}");
    s.gone(call.exchange);
    let again = resume(&mut s, &session, &first);
    let drawn = s.pull(again);
    assert_eq!(messages(&drawn), [ask::note_text(0), ask::result_text("1", "{}")]);
    assert_eq!(drawn.pulled, Pulled::End);
    assert_eq!(s.flushed(again), []);
    assert_eq!(s.send(session_of(&session), note(5)), [Action::Pull { exchange: get }]);
    s.finish();
}

#[test]
fn c7_a_resumed_stream_can_break_and_be_resumed_again() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    let mut last = s.pull(call.exchange).last_id();
    s.gone(call.exchange);
    for number in 1..6 {
        s.send(call.target(), note(number));
        let exchange = resume(&mut s, &session, &last);
        // Cut before anything was seen, then come back with the same id.
        s.pull(exchange);
        s.gone(exchange);
        let exchange = resume(&mut s, &session, &last);
        let drawn = s.pull(exchange);
        assert_eq!(messages(&drawn), notes([number]));
        last = drawn.last_id();
        s.gone(exchange);
    }
    s.answer(call, "{}");
    let exchange = resume(&mut s, &session, &last);
    assert_eq!(messages(&s.pull(exchange)), [ask::result_text("1", "{}")]);
    s.finish();
}

#[test]
fn c5_an_event_id_of_another_session_or_principal() {
    let mut s = Script::new();
    let opening = s.opening_of(Version::V2025_11_25, Some("alice"));
    let alices = s.commit(&opening);
    let get = s.get().with(&alices.id).who("alice").admit().exchange;
    let event = s.pull(get).last_id();
    let nobodys = s.open();
    assert_eq!(resume_status(&mut s, &nobodys, &event), 400);
    let bob = s.get().with(&alices.id).after(&event).who("bob").admit();
    assert_eq!(told(only_reject(&bob.actions, bob.exchange)), (404, -32001, None));
    assert_eq!(s.send(session_of(&alices), note(1)), [Action::Pull { exchange: get }]);
    s.finish();
}

#[test]
fn c7_the_standalone_stream_is_resumed_from_any_age_and_a_gap_is_counted() {
    for version in Version::HANDSHAKE {
        let mut s = Script::with(|config| config.ring_frames_max = 4);
        let session = s.open_at(version);
        let get = s.listen(&session);
        s.send(session_of(&session), note(0));
        let first = s.pull(get).last_id();
        s.gone(get);
        for number in 1..10 {
            assert_eq!(s.send(session_of(&session), note(number)), [], "detached: the oldest are evicted");
        }
        let exchange = resume(&mut s, &session, &first);
        let drawn = s.pull(exchange);
        let primed = drawn.said()[0] == Said::Priming;
        assert_eq!(primed, version == Version::V2025_11_25);
        assert_eq!(messages(&drawn), notes(6..10));
        assert_eq!(s.stats().total.gaps, 1);
        assert_eq!(s.send(session_of(&session), note(10)), [Action::Pull { exchange }], "then live");
        assert_eq!(messages(&s.pull(exchange)), notes([10]));
        s.finish();
    }
}

#[test]
fn c7_a_resume_without_a_gap_counts_none() {
    let mut s = Script::with(|config| config.ring_frames_max = 4);
    let session = s.open();
    let get = s.listen(&session);
    s.send(session_of(&session), note(0));
    let first = s.pull(get).last_id();
    s.gone(get);
    for number in 1..5 {
        s.send(session_of(&session), note(number));
    }
    let exchange = resume(&mut s, &session, &first);
    assert_eq!(messages(&s.pull(exchange)), notes(1..5));
    assert_eq!(s.stats().total.gaps, 0);
    s.finish();
}

#[test]
fn c7_a_cut_right_after_the_priming_event_of_a_resume_loses_nothing() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.send(session_of(&session), note(0));
    let first = s.pull(get);
    s.send(session_of(&session), note(1));
    s.send(session_of(&session), note(2));
    s.pull(get);
    s.gone(get);
    let mut last = first.last_id();
    let mut ids = vec![first.id(0), last.clone()];
    for _ in 0..3 {
        let exchange = resume(&mut s, &session, &last);
        let drawn = s.pull(exchange);
        assert_eq!(drawn.said()[0], Said::Priming);
        assert_eq!(messages(&drawn), notes(1..3));
        last = drawn.id(0);
        assert!(!ids.contains(&last), "its id is new");
        ids.push(last.clone());
        s.gone(exchange);
    }
    s.finish();
}

#[test]
fn c7_the_standalone_stream_is_resumed_after_its_retention() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.send(session_of(&session), note(0));
    let first = s.pull(get);
    s.gone(get);
    s.send(session_of(&session), note(1));
    s.advance(s.config().stream_retention * 2);
    assert_eq!(s.stats().buffered_bytes, 0, "retained for so long and no longer");
    let exchange = resume(&mut s, &session, &first.id(0));
    let drawn = s.pull(exchange);
    assert_eq!((messages(&drawn), drawn.pulled), (vec![], Pulled::Idle));
    assert_eq!(s.stats().total.gaps, 1);
    assert_eq!(s.send(session_of(&session), note(2)), [Action::Pull { exchange }]);
    assert_eq!(messages(&s.pull(exchange)), notes([2]));
    s.finish();
}

#[test]
fn c7_a_calls_stream_with_frames_missing_is_400() {
    let mut s = Script::with(|config| config.ring_frames_max = 4);
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    let first = s.pull(call.exchange).last_id();
    s.gone(call.exchange);
    for number in 1..10 {
        assert_eq!(s.send(call.target(), note(number)), []);
    }
    assert_eq!(resume_status(&mut s, &session, &first), 400);
    // The call goes on all the same.
    assert_eq!(s.answer(call, "{}"), []);
    assert_eq!(resume_status(&mut s, &session, &first), 400);
    s.finish();
}

#[test]
fn c7_finished_and_nothing_left_is_204_however_often() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    s.answer(call, "{}");
    let drawn = s.pull(call.exchange);
    let last = drawn.last_id();
    assert_eq!(resume_status(&mut s, &session, &last), 204, "written, not yet flushed");
    assert_eq!(s.flushed(call.exchange), []);
    for _ in 0..3 {
        assert_eq!(resume_status(&mut s, &session, &last), 204);
    }
    // After a cut the rest is still there (C8).
    let again = resume(&mut s, &session, &drawn.id(1));
    assert_eq!(messages(&s.pull(again)), [ask::result_text("1", "{}")]);
    s.finish();
}

#[test]
fn c8_the_answer_is_kept_after_it_was_written_and_retired_after_retention() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    s.answer(call, "{}");
    let drawn = s.pull(call.exchange);
    assert_eq!(s.flushed(call.exchange), []);
    let retention = s.config().stream_retention;
    assert_eq!(s.advance(retention - TICK), []);
    let again = resume(&mut s, &session, &drawn.id(0));
    assert_eq!(messages(&s.pull(again)), [ask::note_text(0), ask::result_text("1", "{}")]);
    assert_eq!(s.flushed(again), []);
    assert_eq!(s.advance(retention - TICK), [], "the clock begins anew");
    assert!(s.stats().buffered_bytes > 0);
    assert_eq!(s.advance(TICK), []);
    assert_eq!((s.stats().streams, s.stats().buffered_bytes), (0, 0));
    let status = resume_status(&mut s, &session, &drawn.id(0));
    assert!([204, 400].contains(&status), "never 200-and-close: {status}");
    s.finish();
}

#[test]
fn c8_json_answers_are_not_retained() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    assert_eq!(s.answer(call, "{}"), [json(call.exchange, &ask::result_text("1", "{}"))]);
    let on_its_way = ask::result_text("7", "{}").len() as u64;
    assert_eq!((s.stats().streams, s.stats().buffered_bytes), (0, on_its_way));
    assert_eq!(s.flushed(call.exchange), []);
    assert_eq!(s.stats().buffered_bytes, 0);
    s.finish();
}

#[test]
fn c8_a_running_call_outlives_the_retention_of_its_stream() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    let drawn = s.pull(call.exchange);
    s.gone(call.exchange);
    assert_eq!(s.advance(s.config().stream_retention), []);
    assert_eq!((s.stats().calls, s.stats().buffered_bytes), (1, 0));
    assert_eq!(resume_status(&mut s, &session, &drawn.id(0)), 400, "frames are missing");
    assert_eq!(s.send(call.target(), note(1)), []);
    assert_eq!(s.answer(call, "{}"), []);
    assert_eq!((s.stats().calls, s.stats().buffered_bytes), (0, 0));
    s.finish();
}

#[test]
fn c10_a_call_cancelled_while_detached_has_the_rest_and_then_204() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    let drawn = s.pull(call.exchange);
    s.gone(call.exchange);
    s.send(call.target(), note(1));
    let cancel = s.post(ask::cancelled("1")).with(&session.id).admit();
    let told_handler = Action::Cancel { call: call.call, reason: CancelReason::Client };
    assert!(cancel.actions.contains(&told_handler));
    let again = resume(&mut s, &session, &drawn.last_id());
    let rest = s.pull(again);
    assert_eq!((messages(&rest), rest.pulled), (notes([1]), Pulled::End));
    s.flushed(again);
    assert_eq!(resume_status(&mut s, &session, &rest.last_id()), 204);
    s.finish();
}

#[test]
fn c6_a_cut_in_the_silent_phase_loses_nothing() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    s.advance(s.config().sse_commit_after);
    let drawn = s.pull(call.exchange);
    assert_eq!(drawn.said(), [Said::Priming]);
    s.gone(call.exchange);
    s.send(call.target(), progress(1));
    s.answer(call, "{}");
    let again = s.get().with(&session.id).after(&drawn.last_id()).admit();
    assert_eq!(again.actions, stream(again.exchange));
    let drawn = s.pull(again.exchange);
    assert_eq!(messages(&drawn), [ask::progress_text(1), ask::result_text("7", "{}")]);
    assert_eq!(drawn.pulled, Pulled::End);
    s.finish();
}
