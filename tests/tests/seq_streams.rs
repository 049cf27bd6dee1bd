//! Streams that survive: C4 to C9, C11 to C13, R6, R8, R9, and the table of resumes.

use std::time::Duration;

use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{Action, CancelReason, Event, ExchangeId, Outbound, Pulled, SendError, Target};
use mcp_http_core::json::Json;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Call, Drawn, Said, Script, Session, ask, json, no_content, note, only_reject, progress, question, result,
    stream, told,
};

const TICK: Duration = Duration::from_nanos(1);

/// The messages among what was said.
fn messages(drawn: &Drawn) -> Vec<String> {
    let said = drawn.said().into_iter().filter_map(|said| match said {
        Said::Message(text) => Some(text),
        Said::Comment | Said::Priming | Said::Retry => None,
    });
    said.collect()
}

fn notes(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(ask::note_text).collect()
}

fn session_of(session: &Session) -> Target {
    Target::Session(session.key)
}

/// A resume that is served, exactly; a stream's head and the order to pull.
#[track_caller]
fn resume(s: &mut Script, session: &Session, after: &str) -> ExchangeId {
    let admission = s.get().with(&session.id).after(after).admit();
    assert_eq!(admission.actions, stream(admission.exchange));
    admission.exchange
}

/// What a resume is answered with if it is not served.
#[track_caller]
fn resume_status(s: &mut Script, session: &Session, after: &str) -> u16 {
    let admission = s.get().with(&session.id).after(after).admit();
    if admission.actions == [no_content(admission.exchange)] {
        assert_eq!(s.flushed(admission.exchange), []);
        return 204;
    }
    told(only_reject(&admission.actions, admission.exchange)).0
}

// C4, C9: the standalone stream

#[test]
fn c4_the_head_of_a_get_stream_goes_out_at_once() {
    for version in Version::HANDSHAKE {
        let mut s = Script::new();
        let session = s.open_at(version);
        let admission = s.get().with(&session.id).admit();
        assert_eq!(admission.actions[0], stream(admission.exchange)[0]);
        let drawn = s.pull(admission.exchange);
        let said = if version == Version::V2025_11_25 { vec![Said::Priming] } else { vec![] };
        assert_eq!((drawn.said(), drawn.pulled), (said, Pulled::Idle));
        let Action::Respond { response, .. } = admission.actions[0].clone() else { panic!() };
        let answer = response.into_answer();
        let field = |name: &str| {
            let mut values = answer.fields.iter().filter(|(field, _)| field == name);
            let value = values.next().map(|(_, value)| value.to_str().unwrap());
            assert_eq!(values.next(), None);
            value
        };
        assert_eq!(answer.status.as_u16(), 200);
        assert_eq!(field("content-type"), Some("text/event-stream"));
        assert_eq!(field("cache-control"), Some("no-cache, no-transform"));
        assert_eq!(field("x-accel-buffering"), Some("no"));
        assert_eq!(field("mcp-session-id"), None);
        s.finish();
    }
}

#[test]
fn c3_what_belongs_to_no_call_waits_for_the_first_get() {
    let mut s = Script::new();
    let session = s.open();
    for number in 0..3 {
        assert_eq!(s.send(session_of(&session), note(number)), []);
    }
    let get = s.listen(&session);
    let drawn = s.pull(get);
    assert_eq!(drawn.said()[0], Said::Priming);
    assert_eq!(messages(&drawn), notes(0..3));
    assert_eq!(s.send(session_of(&session), note(3)), [Action::Pull { exchange: get }]);
    assert_eq!(s.send(session_of(&session), note(4)), [], "one Pull for an idle stream");
    assert_eq!(messages(&s.pull(get)), notes(3..5));
    s.finish();
}

#[test]
fn c9_the_newest_get_wins_and_a_late_close_of_the_older_changes_nothing() {
    let mut s = Script::new();
    let session = s.open();
    let older = s.listen(&session);
    s.pull(older);
    let admission = s.get().with(&session.id).admit();
    let newer = admission.exchange;
    let others: Vec<_> =
        admission.actions.iter().filter(|action| !stream(newer).contains(action)).cloned().collect();
    match &others[..] {
        [Action::Close { exchange }] if *exchange == older => {}
        [Action::Pull { exchange }] if *exchange == older => {
            assert_eq!(s.pull(older).pulled, Pulled::End);
        }
        other => panic!("the older is not closed: {other:?}"),
    }
    assert_eq!(admission.actions.len(), 3);
    s.pull(newer);
    for late in [
        Event::Flushed { exchange: older },
        Event::Gone { exchange: older },
        Event::Stalled { exchange: older },
        Event::HalfClosed { exchange: older },
    ] {
        assert_eq!(s.event(late), []);
    }
    assert_eq!(s.send(session_of(&session), note(1)), [Action::Pull { exchange: newer }]);
    assert_eq!(messages(&s.pull(newer)), notes([1]));
    assert_eq!(s.pull(older).pulled, Pulled::Gone);
    s.finish();
}

#[test]
fn c9_what_the_older_had_not_pulled_the_newer_gets() {
    let mut s = Script::new();
    let session = s.open();
    let older = s.listen(&session);
    s.pull(older);
    for number in 0..3 {
        s.send(session_of(&session), note(number));
    }
    assert_eq!(messages(&s.pull_one(older)), notes([0]));
    let newer = s.get().with(&session.id).admit().exchange;
    assert_eq!(messages(&s.pull(newer)), notes(1..3));
    s.finish();
}

#[test]
fn c9_the_standalone_stream_of_another_session_is_another() {
    let mut s = Script::new();
    let (a, b) = (s.open(), s.open());
    let (of_a, of_b) = (s.listen(&a), s.listen(&b));
    s.pull(of_a);
    s.pull(of_b);
    assert_eq!(s.send(session_of(&a), note(1)), [Action::Pull { exchange: of_a }]);
    assert_eq!(s.pull(of_b).frames, []);
    assert_eq!(messages(&s.pull(of_a)), notes([1]));
    s.finish();
}

#[test]
fn c13_a_request_on_the_standalone_stream_is_answered_by_a_reply() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    assert_eq!(s.send(session_of(&session), question(9)), [Action::Pull { exchange: get }]);
    assert_eq!(messages(&s.pull(get)), [ask::question_text(9)]);
    let reply = s.post(ask::reply("9")).with(&session.id).admit();
    assert!(matches!(reply.actions[..], [Action::Deliver { .. }]), "{:?}", reply.actions);
    s.finish();
}

#[test]
fn c13_a_request_on_a_detached_stream_waits_for_its_client() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    let drawn = s.pull(get);
    s.gone(get);
    assert_eq!(s.send(session_of(&session), question(9)), []);
    let again = resume(&mut s, &session, &drawn.last_id());
    assert_eq!(messages(&s.pull(again)), [ask::question_text(9)]);
    s.finish();
}

// C5, C6: event ids and priming

#[test]
fn c5_a_bad_event_id_is_400_and_touches_nothing() {
    let mut s = Script::new();
    let (session, other) = (s.open(), s.open());
    let get = s.listen(&session);
    s.pull(get);
    let of_other = s.listen(&other);
    let foreign = s.pull(of_other).last_id();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), progress(1));
    let good = s.pull(call.exchange).last_id();
    let (tag, rest) = good.split_once('-').unwrap();
    let (number, position) = rest.split_once('-').unwrap();
    let bad = [
        foreign,
        "x".into(),
        "0".into(),
        "-".into(),
        "--".into(),
        tag.to_owned(),
        format!("{tag}-{number}"),
        format!("{tag}-{number}-"),
        format!("{tag}-{number}-{position}-"),
        format!("{tag}-{number}-{position}-1-1"),
        format!("{tag}-0{number}-{position}"),
        format!("{tag}-{number}-0{position}"),
        format!("{tag}-{number}-{position}0"),
        format!("{tag}-{number}-ffffffffffffffff"),
        format!("{tag}-{number}-fffffffffffffffff"),
        format!("{tag}-{number}-+{position}"),
        format!("{tag}-{number}--{position}"),
        format!("{tag}-77-{position}"),
        format!("{tag}-ffffffff-{position}"),
        format!("{tag}-fffffffff-{position}"),
        format!("0{tag}-{number}-{position}"),
        format!("00000000-{number}-{position}"),
        format!("{}-{number}-{position}", tag.to_uppercase() + "A"),
    ];
    let before = s.stats();
    for id in bad {
        let admission = s.get().with(&session.id).after(&id).admit();
        let refused = told(only_reject(&admission.actions, admission.exchange));
        assert_eq!(refused, (400, -32600, None), "{id}");
    }
    for id in ["a b", "x\t"] {
        assert_eq!(told(&s.get().with(&session.id).after(&format!("x{id}x")).refused()).0, 400);
    }
    assert_eq!(told(&s.get().with(&session.id).after(&"1".repeat(129)).refused()).0, 400);
    let twice = s.get().with(&session.id).after(&good).after(&good).refused();
    assert_eq!(told(&twice).0, 400);
    let after = s.stats();
    assert_eq!((after.streams, after.exchanges), (before.streams, before.exchanges));
    assert_eq!(s.send(session_of(&session), note(1)), [Action::Pull { exchange: get }]);
    assert_eq!(s.answer(call, "{}"), [call.pull()]);
    s.finish();
}

#[test]
fn c6_priming_and_early_close_only_at_2025_11_25() {
    for version in Version::HANDSHAKE {
        let mut s = Script::new();
        let session = s.open_at(version);
        let call = s.call(&session, "1", "t");
        s.send(call.target(), progress(1));
        let drawn = s.pull(call.exchange);
        let primes = version == Version::V2025_11_25;
        assert_eq!(drawn.said().contains(&Said::Priming), primes);
        let closed = s.event(Event::CloseStream { call: call.call });
        if primes {
            assert_eq!(closed, [call.pull()]);
            let end = s.pull(call.exchange);
            assert_eq!((messages(&end), end.pulled), (vec![], Pulled::End));
            assert_eq!(s.flushed(call.exchange), []);
            assert_eq!(s.stats().calls, 1, "the call goes on");
        } else {
            assert_eq!(closed, []);
            assert_eq!(s.answer(call, "{}"), [call.pull()]);
            assert_eq!(messages(&s.pull(call.exchange)), [ask::result_text("1", "{}")]);
        }
        s.finish();
    }
}

#[test]
fn c6_the_priming_event_has_the_configured_retry() {
    let mut s = Script::with(|config| config.retry = Duration::from_millis(2500));
    let session = s.open();
    let get = s.listen(&session);
    let drawn = s.pull(get);
    assert_eq!(drawn.frames[0].retry, Some(2500));
    s.finish();
}

#[test]
fn c6_closed_for_polling_before_anything_was_sent() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    assert_eq!(s.event(Event::CloseStream { call: call.call }), call.stream());
    let drawn = s.pull(call.exchange);
    assert_eq!((drawn.said(), drawn.pulled), (vec![Said::Priming], Pulled::End));
    assert_eq!(s.flushed(call.exchange), []);
    assert_eq!(s.send(call.target(), note(1)), []);
    let again = resume(&mut s, &session, &drawn.last_id());
    let drawn = s.pull(again);
    assert_eq!((messages(&drawn), drawn.pulled), (notes([1]), Pulled::Idle));
    assert_eq!(s.answer(call, "{}"), [Action::Pull { exchange: again }]);
    let drawn = s.pull(again);
    assert_eq!((messages(&drawn), drawn.pulled), (vec![ask::result_text("1", "{}")], Pulled::End));
    s.finish();
}

#[test]
fn c6_closed_for_polling_again_and_again() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    let mut last = s.pull(call.exchange).last_id();
    let mut exchange = call.exchange;
    for number in 1..5 {
        assert_eq!(s.event(Event::CloseStream { call: call.call }), [Action::Pull { exchange }]);
        assert_eq!(s.pull(exchange).pulled, Pulled::End);
        s.flushed(exchange);
        assert_eq!(s.event(Event::CloseStream { call: call.call }), [], "closed already");
        s.send(call.target(), note(number));
        exchange = resume(&mut s, &session, &last);
        let drawn = s.pull(exchange);
        assert_eq!((messages(&drawn), drawn.pulled), (notes([number]), Pulled::Idle));
        last = drawn.last_id();
    }
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn c6_unpulled_frames_are_written_or_kept_when_closed_for_polling() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.send(call.target(), note(0));
    let first = s.pull(call.exchange);
    s.send(call.target(), note(1));
    s.send(call.target(), note(2));
    s.event(Event::CloseStream { call: call.call });
    let rest = s.pull(call.exchange);
    assert_eq!(rest.pulled, Pulled::End);
    s.flushed(call.exchange);
    let mut got = messages(&rest);
    let last = if got.is_empty() { first.last_id() } else { rest.last_id() };
    let again = resume(&mut s, &session, &last);
    got.extend(messages(&s.pull(again)));
    assert_eq!(got, notes(1..3), "nothing lost or doubled");
    s.answer(call, "{}");
    s.finish();
}

// C7: every point of breakage

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

// The table of resumes

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
    assert_eq!((s.stats().streams, s.stats().buffered_bytes), (0, 0));
    assert_eq!(s.flushed(call.exchange), []);
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

// C11, R8, R9: backpressure

fn small(config: &mut Config) {
    config.ring_frames_max = 3;
}

/// A call's stream that was pulled to its end.
#[track_caller]
fn streaming(s: &mut Script, session: &Session, id: &str) -> Call {
    let call = s.call(session, id, "t");
    assert_eq!(s.send(call.target(), note(0)), call.stream());
    s.pull(call.exchange);
    call
}

#[track_caller]
fn assert_full(s: &mut Script, to: Target, what: Outbound) {
    let sent = s.try_send(to, what);
    assert!(matches!(sent, Err(SendError::Full(_))), "{sent:?}");
}

#[test]
fn r9_full_exactly_when_the_ring_is_full_of_unpulled_and_then_one_writable() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    assert_eq!(s.send(call.target(), note(1)), [call.pull()]);
    assert_eq!(s.send(call.target(), note(2)), []);
    assert_eq!(s.send(call.target(), note(3)), []);
    assert_full(&mut s, call.target(), note(4));
    assert_full(&mut s, call.target(), note(4));
    let drawn = s.pull_one(call.exchange);
    assert_eq!((messages(&drawn), drawn.pulled), (notes([1]), Pulled::More));
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    assert_eq!(s.pull_one(call.exchange).actions, [], "one Writable");
    assert_eq!(s.send(call.target(), note(4)), []);
    assert_eq!(s.send(call.target(), note(5)), []);
    assert_full(&mut s, call.target(), note(6));
    let drawn = s.pull(call.exchange);
    assert_eq!((messages(&drawn), drawn.pulled), (notes([3, 4, 5]), Pulled::Idle));
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn c11_the_same_on_the_standalone_stream() {
    let mut s = Script::with(small);
    let session = s.open();
    let target = session_of(&session);
    let get = s.listen(&session);
    s.pull(get);
    for number in 0..3 {
        s.send(target, note(number));
    }
    assert_full(&mut s, target, note(3));
    let drawn = s.pull_one(get);
    assert_eq!(drawn.actions, [Action::Writable { target }]);
    assert_eq!(s.send(target, note(3)), []);
    assert_eq!(messages(&s.pull(get)), notes(1..4));
    s.finish();
}

#[test]
fn c11_a_reader_that_does_not_read_affects_only_its_stream() {
    let mut s = Script::with(small);
    let (session, other) = (s.open(), s.open());
    let (stuck, free) = (streaming(&mut s, &session, "1"), streaming(&mut s, &session, "2"));
    let elsewhere = streaming(&mut s, &other, "1");
    for number in 1..4 {
        s.send(stuck.target(), note(number));
    }
    assert_full(&mut s, stuck.target(), note(4));
    for call in [free, elsewhere] {
        for number in 0..10 {
            assert_eq!(s.send(call.target(), note(number)), [call.pull()]);
            assert_eq!(messages(&s.pull(call.exchange)), notes([number]));
        }
        s.answer(call, "{}");
    }
    let stalled = s.event(Event::Stalled { exchange: stuck.exchange });
    let writable = Action::Writable { target: stuck.target() };
    let close = Action::Close { exchange: stuck.exchange };
    assert!(stalled == [writable.clone(), close.clone()] || stalled == [close, writable], "{stalled:?}");
    assert_eq!(s.send(stuck.target(), note(4)), []);
    s.answer(stuck, "{}");
    s.finish();
}

#[test]
fn r9_a_stream_that_breaks_unblocks_its_sender() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    for number in 1..4 {
        s.send(call.target(), note(number));
    }
    assert_full(&mut s, call.target(), note(4));
    assert_eq!(s.gone(call.exchange), [Action::Writable { target: call.target() }]);
    for number in 4..9 {
        assert_eq!(s.send(call.target(), note(number)), [], "detached: the oldest are evicted");
    }
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn r9_a_sender_that_waits_when_its_session_ends_hears_of_the_end_alone() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    for number in 1..4 {
        s.send(call.target(), note(number));
    }
    assert_full(&mut s, call.target(), note(4));
    let deleted = s.delete().with(&session.id).admit();
    let writable = deleted.actions.iter().any(|action| matches!(action, Action::Writable { .. }));
    assert!(!writable, "{:?}", deleted.actions);
    let drawn = s.pull(call.exchange);
    assert_eq!(messages(&drawn)[..3], notes(1..4));
    assert_eq!((messages(&drawn).len(), drawn.pulled), (4, Pulled::End));
    s.finish();
}

#[test]
fn c11_droppable_notices_go_first_and_are_counted() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    s.send(call.target(), progress(1));
    s.send(call.target(), note(1));
    s.send(call.target(), progress(2));
    assert_eq!(s.send(call.target(), note(2)), [], "the oldest droppable makes room");
    assert_eq!(s.stats().total.dropped_notices, 1);
    assert_eq!(s.send(call.target(), progress(3)), [], "dropped, it or an older one");
    assert_eq!(s.stats().total.dropped_notices, 2);
    s.send(call.target(), note(3));
    assert_eq!(s.stats().total.dropped_notices, 3);
    assert_full(&mut s, call.target(), note(4));
    assert_eq!(s.send(call.target(), progress(4)), [], "nothing else can be dropped but itself");
    assert_eq!(s.stats().total.dropped_notices, 4);
    let drawn = s.pull(call.exchange);
    assert_eq!(messages(&drawn), notes(1..4));
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn c11_a_dropped_notice_leaves_no_gap_for_a_resume() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    s.send(call.target(), note(1));
    let one = s.pull(call.exchange).last_id();
    s.send(call.target(), progress(1));
    s.send(call.target(), note(2));
    s.send(call.target(), note(3));
    // The progress is dropped before anybody saw it.
    s.send(call.target(), note(4));
    assert_eq!(s.stats().total.dropped_notices, 1);
    s.gone(call.exchange);
    let again = resume(&mut s, &session, &one);
    assert_eq!(messages(&s.pull(again)), notes(2..5));
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn r14_the_final_frame_has_room_in_a_full_ring() {
    for error in [true, false] {
        let mut s = Script::with(small);
        let session = s.open();
        let call = streaming(&mut s, &session, "1");
        for number in 1..4 {
            s.send(call.target(), note(number));
        }
        assert_full(&mut s, call.target(), note(4));
        if error {
            s.fail(call, -1, "x");
        } else {
            s.answer(call, "{}");
        }
        let drawn = s.pull(call.exchange);
        assert_eq!(messages(&drawn)[..3], notes(1..4));
        assert_eq!((messages(&drawn).len(), drawn.pulled), (4, Pulled::End));
        s.finish();
    }
}

#[test]
fn r8_bytes_bound_a_ring_too() {
    let mut s = Script::with(|config| config.ring_bytes_max = 400);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    let mut sent = 0;
    while s.try_send(call.target(), note(sent)).is_ok() {
        assert!(s.stats().buffered_bytes <= 400 + 200, "{}", s.stats().buffered_bytes);
        sent += 1;
        assert!(sent < 20, "no bound");
    }
    assert!(sent >= 2, "a frame is about 90 bytes");
    let drawn = s.pull(call.exchange);
    assert_eq!(messages(&drawn), notes(0..sent));
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn r8_a_message_larger_than_the_ring_goes_alone_once_the_ring_is_empty() {
    let mut s = Script::with(|config| config.ring_bytes_max = 400);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(2000));
    let params = Json::from_text(text.clone().into()).unwrap();
    let large = Outbound::Notice { method: "large".into(), params: Some(params), droppable: false };
    s.send(call.target(), note(1));
    assert_full(&mut s, call.target(), large.clone());
    let drawn = s.pull(call.exchange);
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    assert_eq!(s.send(call.target(), large), [call.pull()]);
    assert_full(&mut s, call.target(), note(2));
    let drawn = s.pull(call.exchange);
    assert_eq!(messages(&drawn), [format!(r#"{{"jsonrpc":"2.0","method":"large","params":{text}}}"#)]);
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    assert_eq!(s.send(call.target(), note(2)), [call.pull()]);
    s.answer(call, &text);
    s.finish();
}

#[test]
fn r8_the_streams_of_one_session_share_a_bound() {
    let mut s = Script::with(|config| {
        config.ring_bytes_max = 1000;
        config.session_ring_bytes_max = 1500;
    });
    let (session, other) = (s.open(), s.open());
    let (a, b) = (streaming(&mut s, &session, "1"), streaming(&mut s, &session, "2"));
    let elsewhere = streaming(&mut s, &other, "1");
    for call in [a, b] {
        for number in 0.. {
            if s.try_send(call.target(), note(number)).is_err() {
                break;
            }
            assert!(number < 100, "no bound");
        }
    }
    let of_session = s.stats().buffered_bytes;
    assert!((1200..=1800).contains(&of_session), "{of_session}");
    assert_eq!(s.send(elsewhere.target(), note(1)), [elsewhere.pull()]);
    // Room made by either reader unblocks whoever waits for it.
    let mut actions = s.pull(a.exchange).actions;
    actions.extend(s.pull(b.exchange).actions);
    for target in [a.target(), b.target()] {
        let writable = Action::Writable { target };
        assert_eq!(actions.iter().filter(|action| **action == writable).count(), 1, "{actions:?}");
    }
    for call in [a, b, elsewhere] {
        s.answer(call, "{}");
    }
    s.finish();
}

#[test]
fn r8_memory_max_bounds_the_whole_server() {
    let mut s = Script::sharded(2, |config| {
        config.ring_bytes_max = 4_000;
        config.session_ring_bytes_max = 4_000;
        config.message_bytes_max = 2_000;
        config.body_bytes_max = 2_000;
        config.memory_max = 10_000;
    });
    let mut calls = Vec::new();
    for number in 0..6 {
        let session = s.on(number % 2).open();
        let call = s.call(&session, "1", "t");
        for number in 0..100 {
            if s.try_send(call.target(), note(number)).is_err() {
                break;
            }
        }
        calls.push(call);
        let buffered: u64 = (0..2).map(|shard| s.on(shard).stats().buffered_bytes).sum();
        assert!(buffered <= 10_000, "R8: {buffered} bytes");
    }
    s.finish();
}

#[test]
fn r6_a_pull_takes_about_its_budget_and_at_least_one_frame() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    for number in 0..10 {
        s.send(call.target(), note(number));
    }
    let mut got = Vec::new();
    let mut turns = 0;
    loop {
        let drawn = s.pull_upto(call.exchange, 200);
        got.extend(messages(&drawn));
        turns += 1;
        assert!((1..=3).contains(&drawn.frames.len()), "{drawn:?}");
        match drawn.pulled {
            Pulled::More => {}
            Pulled::Idle => break,
            Pulled::End | Pulled::Gone => panic!("{drawn:?}"),
        }
    }
    assert!(turns >= 4);
    assert_eq!(got, notes(0..10));
    s.answer(call, "{}");
    s.finish();
}

// C12: comments

#[test]
fn c12_comments_on_every_open_stream_every_interval_of_silence() {
    let mut s = Script::new();
    let session = s.open();
    let every = s.config().comment_every;
    let get = s.listen(&session);
    s.pull(get);
    let call = streaming(&mut s, &session, "1");
    let broken = streaming(&mut s, &session, "2");
    s.send(broken.target(), note(1));
    let last = s.pull(broken.exchange).last_id();
    s.gone(broken.exchange);
    let resumed = resume(&mut s, &session, &last);
    s.pull(resumed);
    let streams = [get, call.exchange, resumed];
    for _ in 0..3 {
        assert_eq!(s.advance(every - TICK), []);
        let mut actions = s.advance(TICK);
        for exchange in streams {
            let pull = Action::Pull { exchange };
            let place = actions.iter().position(|action| *action == pull);
            actions.remove(place.unwrap_or_else(|| panic!("{exchange:?} in {actions:?}")));
            assert_eq!(s.pull(exchange).said(), [Said::Comment]);
        }
        assert_eq!(actions, []);
    }
    // What is said in between moves the next comment.
    s.advance(every / 2);
    s.send(call.target(), note(1));
    s.pull(call.exchange);
    let actions = s.advance(every / 2);
    assert!(!actions.contains(&call.pull()), "{actions:?}");
    s.pull(get);
    s.pull(resumed);
    assert!(s.advance(every / 2).contains(&call.pull()));
    s.pull(call.exchange);
    // Timers die with the stream.
    for exchange in streams {
        s.gone(exchange);
    }
    s.answer(call, "{}");
    s.answer(broken, "{}");
    assert_eq!(s.advance(every * 4), []);
    s.finish();
}

#[test]
fn c12_comments_do_not_pile_up_where_nobody_reads() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    let actions = s.advance(s.config().comment_every * 20);
    assert_eq!(actions, [Action::Pull { exchange: get }]);
    assert_eq!(s.pull(get).said(), [Said::Comment]);
    s.finish();
}

#[test]
fn c12_json_answers_in_waiting_get_no_comments() {
    let mut s = Script::new();
    let session = s.open();
    let admission = s.post(ask::request("1", "t")).with(&session.id).accept("application/json").admit();
    s.call_of(Some(&session), &admission, "1", "t");
    assert_eq!(s.advance(s.config().comment_every * 5), []);
    s.finish();
}

// R11: late pulls and stale names

#[test]
fn r11_pulling_what_is_no_stream_is_gone() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    assert_eq!(s.pull(call.exchange).pulled, Pulled::Gone, "no head yet");
    s.answer(call, "{}");
    s.flushed(call.exchange);
    assert_eq!(s.pull(call.exchange).pulled, Pulled::Gone);
    s.finish();
}

#[test]
fn s8_a_session_with_a_detached_stream_still_ends_by_the_idle_rule() {
    let mut s = Script::with(|config| {
        config.session_idle = Some(Duration::from_secs(60));
        config.stream_retention = Duration::from_secs(600);
    });
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    s.send(session_of(&session), note(1));
    s.gone(get);
    let actions = s.advance(Duration::from_secs(60));
    let reason = mcp_http_core::endpoint::EndReason::Idle;
    assert_eq!(actions, [Action::End { session: session.key, reason }]);
    assert_eq!((s.stats().streams, s.stats().buffered_bytes), (0, 0));
    let sent = s.try_send(session_of(&session), result("{}"));
    assert!(matches!(sent, Err(SendError::Gone(_) | SendError::Misplaced(_))), "{sent:?}");
    s.finish();
}
