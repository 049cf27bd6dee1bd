//! Event streams: C4 to C6, C9, C12, R11.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, EndReason, Event, Pulled, SendError};
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Said, Script, ask, messages, note, notes, only_reject, progress, question, result, resume, session_of,
    stream, streaming, told,
};

const TICK: Duration = Duration::from_nanos(1);

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
    let reason = EndReason::Idle;
    assert_eq!(actions, [Action::End { session: session.key, reason }]);
    assert_eq!((s.stats().streams, s.stats().buffered_bytes), (0, 0));
    let sent = s.try_send(session_of(&session), result("{}"));
    assert!(matches!(sent, Err(SendError::Gone(_) | SendError::Misplaced(_))), "{sent:?}");
    s.finish();
}
