//! Calls, notices and replies within a session: C1 to C3, C10, C13, C14, R5, L2.

use std::time::Duration;

use bytes::Bytes;
use mcp_http_core::endpoint::{Action, CancelReason, Delivery, Event, Outbound, Pulled, SendError, Target};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{RequestId, code};
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Call, Said, Script, Session, accepted, ask, error_code, json, message, note, only_reject, progress,
    question, result, stream, told,
};

const TICK: Duration = Duration::from_nanos(1);

/// Cancels by a notice of the client; returns what came of it besides the 202.
#[track_caller]
fn cancel(s: &mut Script, session: &Session, id: &str) -> Vec<Action> {
    let admission = s.post(ask::cancelled(id)).with(&session.id).admit();
    let mut actions = admission.actions;
    let delivered = actions
        .iter()
        .position(|action| matches!(action, Action::Deliver { delivery: Delivery::Notice { .. }, .. }));
    if let Some(place) = delivered {
        let Action::Deliver { delivery: Delivery::Notice { message, .. }, .. } = actions.remove(place) else {
            unreachable!()
        };
        assert_eq!(s.event(Event::Taken { message }), [accepted(admission.exchange)]);
    } else {
        let answer = accepted(admission.exchange);
        let place = actions.iter().position(|action| *action == answer).expect("C1: 202");
        actions.remove(place);
    }
    assert_eq!(s.flushed(admission.exchange), []);
    actions
}

#[track_caller]
fn last_message(said: &[Said]) -> &str {
    match said.last() {
        Some(Said::Message(text)) => text,
        other => panic!("{other:?}"),
    }
}

// C1

#[test]
fn c1_a_notice_is_202_when_it_was_taken() {
    let mut s = Script::new();
    let session = s.open();
    let admission = s.post(ask::notice("x")).with(&session.id).admit();
    let id = s.notice_of(&session, &admission, "x");
    assert_eq!(s.advance(Duration::from_secs(60)), [], "a slow application pushes back");
    assert_eq!(s.event(Event::Taken { message: id }), [accepted(admission.exchange)]);
    assert_eq!(s.event(Event::Taken { message: id }), [], "X2");
    assert_eq!(s.flushed(admission.exchange), []);
    s.finish();
}

#[test]
fn c1_a_notice_whose_client_left_before_it_was_taken() {
    let mut s = Script::new();
    let session = s.open();
    let admission = s.post(ask::notice("x")).with(&session.id).admit();
    let id = s.notice_of(&session, &admission, "x");
    assert_eq!(s.gone(admission.exchange), []);
    assert_eq!(s.event(Event::Taken { message: id }), []);
    s.finish();
}

#[test]
fn c1_a_reply_that_answers_nothing_is_202_and_ignored() {
    let mut s = Script::new();
    let session = s.open();
    for id in ["1", "0", r#""""#, r#""x""#, "99999999999999999999999999"] {
        let admission = s.post(ask::reply(id)).with(&session.id).admit();
        assert_eq!(admission.actions, [accepted(admission.exchange)]);
        assert_eq!(s.flushed(admission.exchange), []);
    }
    s.finish();
}

// C14: JSON or SSE, decided late

/// What a client can read.
const ACCEPTS: [(&str, bool, bool); 6] = [
    ("application/json, text/event-stream", true, true),
    ("*/*", true, true),
    ("application/json", true, false),
    ("application/json, text/event-stream;q=0", true, false),
    ("text/event-stream", false, true),
    ("text/event-stream, application/json;q=0.0", false, true),
];

fn call_with(s: &mut Script, session: &Session, accept: &str) -> Call {
    let admission = s.post(ask::request("7", "t")).with(&session.id).accept(accept).admit();
    s.call_of(Some(session), &admission, "7", "t")
}

fn primed(version: Version, said: impl IntoIterator<Item = Said>) -> Vec<Said> {
    let priming = (version == Version::V2025_11_25).then_some(Said::Priming);
    priming.into_iter().chain(said).collect()
}

#[test]
fn c14_a_final_answer_alone_is_json_where_the_client_reads_json() {
    for version in Version::HANDSHAKE {
        for (accept, reads_json, _) in ACCEPTS {
            let mut s = Script::new();
            let session = s.open_at(version);
            let call = call_with(&mut s, &session, accept);
            let actions = s.answer(call, "{}");
            let text = ask::result_text("7", "{}");
            if reads_json {
                assert_eq!(actions, [call.json(&text)], "{accept}");
            } else {
                assert_eq!(actions, call.stream(), "{accept}");
                let drawn = s.pull(call.exchange);
                assert_eq!((drawn.said(), drawn.pulled), (primed(version, [message(text)]), Pulled::End));
            }
            assert_eq!(s.flushed(call.exchange), []);
            s.finish();
        }
    }
}

#[test]
fn c14_an_error_answer_alone_is_json_with_200() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "nope");
    let text = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no \"such\"\n"}}"#;
    assert_eq!(s.fail(call, code::METHOD_NOT_FOUND, "no \"such\"\n"), [call.json(text)]);
    s.finish();
}

#[test]
fn c14_anything_before_the_answer_commits_to_sse() {
    for version in Version::HANDSHAKE {
        for (accept, _, reads_sse) in ACCEPTS {
            let mut s = Script::new();
            let session = s.open_at(version);
            let call = call_with(&mut s, &session, accept);
            let text = ask::result_text("7", "{}");
            if reads_sse {
                assert_eq!(s.send(call.target(), progress(1)), call.stream());
                assert_eq!(s.answer(call, "{}"), []);
                let drawn = s.pull(call.exchange);
                let said = [message(ask::progress_text(1)), message(text)];
                assert_eq!((drawn.said(), drawn.pulled), (primed(version, said), Pulled::End));
            } else {
                assert_eq!(s.send(call.target(), progress(1)), []);
                assert_eq!(s.answer(call, "{}"), [call.json(&text)]);
                assert_eq!(s.stats().total.dropped_notices, 1, "D5");
            }
            assert_eq!(s.flushed(call.exchange), []);
            s.finish();
        }
    }
}

#[test]
fn c14_silence_past_sse_commit_after_commits_to_sse() {
    for version in Version::HANDSHAKE {
        for (accept, _, reads_sse) in ACCEPTS {
            let mut s = Script::new();
            let session = s.open_at(version);
            let call = call_with(&mut s, &session, accept);
            let after = s.config().sse_commit_after;
            assert_eq!(s.advance(after - TICK), []);
            let text = ask::result_text("7", "{}");
            if reads_sse {
                assert_eq!(s.advance(TICK), call.stream());
                let first = if version == Version::V2025_11_25 { Said::Priming } else { Said::Comment };
                let drawn = s.pull(call.exchange);
                assert_eq!((drawn.said(), drawn.pulled), (vec![first], Pulled::Idle));
                assert_eq!(s.answer(call, "{}"), [call.pull()]);
                let drawn = s.pull(call.exchange);
                assert_eq!((drawn.said(), drawn.pulled), (vec![message(text)], Pulled::End));
            } else {
                assert_eq!(s.advance(Duration::from_secs(120)), [], "nothing else can be said in JSON");
                assert_eq!(s.answer(call, "{}"), [call.json(&text)]);
            }
            assert_eq!(s.flushed(call.exchange), []);
            s.finish();
        }
    }
}

#[test]
fn c14_an_answer_at_the_last_moment_is_json_and_no_deadline_is_left() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    s.advance(s.config().sse_commit_after - TICK);
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("7", "{}"))]);
    assert_eq!(s.advance(Duration::from_secs(5)), []);
    assert_eq!(s.flushed(call.exchange), []);
    s.finish();
}

#[test]
fn c14_json_answers_are_one_line_and_untouched_else() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    let actions = s.answer(call, "{\n \"a\" : \"x\\n\",\r\n \"b\": [ 1.50, 1e400 ] }");
    let Action::Respond { response, .. } = &actions[0] else { panic!("{actions:?}") };
    let mcp_http_core::h1::Body::Full(body) = &response.body else { panic!("{actions:?}") };
    let text = std::str::from_utf8(body).unwrap();
    assert!(!text.contains(['\n', '\r']), "{text:?}");
    assert!(text.contains(r#""x\n""#) && text.contains("1.50") && text.contains("1e400"), "{text}");
    s.finish();
}

#[test]
fn c4_a_payload_of_several_lines_cannot_break_its_event() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    s.send(call.target(), progress(1));
    s.answer(call, "{\"a\":\n\n1,\r\r\"id: 7\":2}");
    let drawn = s.pull(call.exchange);
    assert_eq!(last_message(&drawn.said()), r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"id: 7":2}}"#);
    s.finish();
}

#[test]
fn c3_progress_comes_before_the_result_whatever_was_pulled_between() {
    for pull_at in 0..=4 {
        let mut s = Script::new();
        let session = s.open();
        let call = s.call(&session, "7", "t");
        let mut said = Vec::new();
        for step in 0..4 {
            s.send(call.target(), progress(step));
            if step < pull_at {
                said.extend(s.pull(call.exchange).said());
            }
        }
        s.answer(call, "{}");
        let drawn = s.pull(call.exchange);
        said.extend(drawn.said());
        let steps = (0..4).map(|step| message(ask::progress_text(step)));
        let expected = steps.chain([message(ask::result_text("7", "{}"))]);
        assert_eq!(said, primed(Version::V2025_11_25, expected));
        assert_eq!(drawn.pulled, Pulled::End);
        assert_eq!(s.pull(call.exchange).pulled, Pulled::End, "asked again");
        assert_eq!(s.flushed(call.exchange), []);
        assert_eq!(s.pull(call.exchange).pulled, Pulled::Gone);
        s.finish();
    }
}

#[test]
fn c3_output_of_a_call_goes_on_its_stream_and_never_on_the_standalone_one() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    let (a, b) = (s.call(&session, "1", "a"), s.call(&session, "2", "b"));
    assert_eq!(s.send(a.target(), progress(1)), a.stream());
    assert_eq!(s.send(b.target(), note(2)), b.stream());
    assert_eq!(s.send(Target::Session(session.key), note(3)), [Action::Pull { exchange: get }]);
    assert_eq!(s.answer(a, "{}"), []);
    assert_eq!(
        s.pull(a.exchange).said()[1..],
        [message(ask::progress_text(1)), message(ask::result_text("1", "{}"))]
    );
    assert_eq!(s.pull(b.exchange).said()[1..], [message(ask::note_text(2))]);
    assert_eq!(s.pull(get).said(), [message(ask::note_text(3))]);
    assert_eq!(s.answer(b, "{}"), [b.pull()]);
    s.finish();
}

#[test]
fn r11_a_second_answer_and_output_after_the_answer_are_gone() {
    for streaming in [true, false] {
        let mut s = Script::new();
        let session = s.open();
        let call = s.call(&session, "7", "t");
        if streaming {
            s.send(call.target(), progress(1));
        }
        s.answer(call, "{}");
        for late in [result("{}"), mcp_http_tests::script::error(-1, "x"), progress(2), note(2), question(3)]
        {
            let sent = s.try_send(call.target(), late);
            assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
        }
        s.finish();
    }
}

#[test]
fn r11_what_does_not_fit_its_target_comes_back() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    let initialized = Outbound::Initialized { version: Version::V2025_11_25, result: Json::EMPTY_OBJECT };
    let sent = s.try_send(call.target(), initialized.clone());
    assert!(matches!(sent, Err(SendError::Misplaced(_))), "{sent:?}");
    for wrong in [initialized, result("{}"), mcp_http_tests::script::error(-1, "x")] {
        let sent = s.try_send(Target::Session(session.key), wrong);
        assert!(matches!(sent, Err(SendError::Misplaced(_))), "{sent:?}");
    }
    s.finish();
}

// R5, C2

#[test]
fn r5_ids_are_told_apart_and_echoed_byte_for_byte() {
    let ids = [
        "0",
        "-0",
        r#""""#,
        "1",
        r#""1""#,
        "-1",
        "9007199254740993",
        "123456789012345678901234567890",
        "-99999999999999999999",
        r#""\u00e9""#,
        r#""\"\\""#,
        r#""é""#,
        r#"" ""#,
    ];
    let mut s = Script::new();
    let session = s.open();
    let calls: Vec<Call> = ids.iter().map(|id| s.call(&session, id, "t")).collect();
    for (id, call) in ids.iter().zip(calls).rev() {
        let number = format!(r#"{{"for":{id}}}"#);
        assert_eq!(s.answer(call, &number), [call.json(&ask::result_text(id, &number))]);
        s.flushed(call.exchange);
    }
    s.finish();
}

#[test]
fn c2_the_same_id_twice_in_flight_is_served_twice() {
    let mut s = Script::new();
    let (session, other) = (s.open(), s.open());
    let first = s.call(&session, "1", "a");
    let second = s.call(&session, "1", "b");
    let third = s.call(&other, "1", "c");
    assert_ne!(first.call, second.call);
    assert_eq!(s.send(first.target(), progress(1)), first.stream());
    assert_eq!(s.answer(third, "3"), [third.json(&ask::result_text("1", "3"))]);
    assert_eq!(s.answer(second, "2"), [second.json(&ask::result_text("1", "2"))]);
    assert_eq!(s.answer(first, "1"), []);
    assert_eq!(last_message(&s.pull(first.exchange).said()), ask::result_text("1", "1"));
    s.finish();
}

// Cancellation

#[test]
fn c10_a_call_cancelled_before_anything_was_sent_is_answered_with_an_error() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "slow");
    let actions = cancel(&mut s, &session, "7");
    let [told_handler, Action::Respond { exchange, response }] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(*told_handler, Action::Cancel { call: call.call, reason: CancelReason::Client });
    assert_eq!(*exchange, call.exchange);
    let mcp_http_core::h1::Body::Full(body) = &response.body else { panic!("{response:?}") };
    let text = String::from_utf8(body.to_vec()).unwrap();
    assert_eq!(*told_handler, Action::Cancel { call: call.call, reason: CancelReason::Client });
    assert_eq!(actions[1], call.json(&text));
    assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":7,"error":"#), "{text}");
    assert_eq!(error_code(&text), code::CANCELLED);
    let late = s.try_send(call.target(), result("{}"));
    assert!(matches!(late, Err(SendError::Gone(_))), "{late:?}");
    assert_eq!(s.flushed(call.exchange), []);
    assert_eq!(cancel(&mut s, &session, "7"), [], "X2");
    s.finish();
}

#[test]
fn c10_a_call_cancelled_in_its_stream_ends_without_an_answer() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "slow");
    s.send(call.target(), progress(1));
    s.pull(call.exchange);
    s.send(call.target(), progress(2));
    let actions = cancel(&mut s, &session, "7");
    assert_eq!(actions, [Action::Cancel { call: call.call, reason: CancelReason::Client }]);
    let drawn = s.pull(call.exchange);
    assert_eq!((drawn.said(), drawn.pulled), (vec![message(ask::progress_text(2))], Pulled::End));
    assert_eq!(s.flushed(call.exchange), []);
    s.finish();
}

#[test]
fn c10_a_call_cancelled_in_its_idle_stream_is_pulled_to_its_end() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "slow");
    s.send(call.target(), progress(1));
    s.pull(call.exchange);
    let actions = cancel(&mut s, &session, "7");
    assert_eq!(actions, [Action::Cancel { call: call.call, reason: CancelReason::Client }, call.pull()]);
    let drawn = s.pull(call.exchange);
    assert_eq!((drawn.said(), drawn.pulled), (vec![], Pulled::End));
    assert_eq!(s.flushed(call.exchange), []);
    s.finish();
}

#[test]
fn c10_for_a_client_of_event_streams_a_cancelled_call_that_sent_nothing_has_its_error_in_a_stream() {
    let mut s = Script::new();
    let session = s.open();
    let call = call_with(&mut s, &session, "text/event-stream");
    let actions = cancel(&mut s, &session, "7");
    let told_handler = Action::Cancel { call: call.call, reason: CancelReason::Client };
    assert_eq!(actions, [&[told_handler][..], &call.stream()].concat());
    let drawn = s.pull(call.exchange);
    assert_eq!(error_code(last_message(&drawn.said())), code::CANCELLED);
    assert_eq!(drawn.pulled, Pulled::End);
    s.finish();
}

#[test]
fn c2_a_cancel_that_names_an_ambiguous_or_unknown_id_is_ignored() {
    let mut s = Script::new();
    let (session, other) = (s.open(), s.open());
    let (first, second) = (s.call(&session, "1", "a"), s.call(&session, "1", "b"));
    let string = s.call(&session, r#""2""#, "c");
    let elsewhere = s.call(&other, "3", "d");
    for id in ["1", "2", "3", r#""1""#, r#""""#, "0"] {
        assert_eq!(cancel(&mut s, &session, id), [], "{id}");
    }
    for call in [first, second, string, elsewhere] {
        assert_eq!(s.answer(call, "{}").len(), 1);
    }
    s.finish();
}

#[test]
fn c2_an_id_is_ambiguous_only_while_both_are_in_flight() {
    let mut s = Script::new();
    let session = s.open();
    let (first, second) = (s.call(&session, "1", "a"), s.call(&session, "1", "b"));
    s.answer(first, "{}");
    let actions = cancel(&mut s, &session, "1");
    assert_eq!(actions[0], Action::Cancel { call: second.call, reason: CancelReason::Client });
    assert_eq!(actions.len(), 2);
    s.finish();
}

#[test]
fn r5_a_cancel_names_an_id_by_value() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, r#""a""#, "slow");
    let actions = cancel(&mut s, &session, r#""\u0061""#);
    assert_eq!(actions[0], Action::Cancel { call: call.call, reason: CancelReason::Client });
    s.finish();
}

#[test]
fn c10_a_cancel_without_a_sound_id_cancels_nothing() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "slow");
    for params in [r#"{}"#, r#"{"requestId":null}"#, r#"{"requestId":[1]}"#, r#"{"requestId":1.0}"#, r#"[1]"#]
    {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
        let admission = s.post(body).with(&session.id).admit();
        let cancels = admission.actions.iter().any(|action| matches!(action, Action::Cancel { .. }));
        assert!(!cancels, "{params}");
    }
    assert_eq!(s.answer(call, "{}").len(), 1);
    s.finish();
}

#[test]
fn c10_a_disconnect_is_no_cancel_and_what_nobody_can_ask_for_is_not_kept() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "slow");
    assert_eq!(s.gone(call.exchange), []);
    assert_eq!(s.send(call.target(), note(1)), []);
    assert_eq!(s.answer(call, "{}"), []);
    let stats = s.stats();
    assert_eq!((stats.calls, stats.streams, stats.buffered_bytes), (0, 0, 0), "no event id ever went out");
    s.finish();
}

#[test]
fn c10_a_call_whose_client_is_gone_can_be_cancelled() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "slow");
    s.send(call.target(), progress(1));
    s.pull(call.exchange);
    s.gone(call.exchange);
    let actions = cancel(&mut s, &session, "7");
    assert_eq!(actions, [Action::Cancel { call: call.call, reason: CancelReason::Client }]);
    s.finish();
}

// Half-closed peers (D2)

#[test]
fn d2_an_answer_not_begun_is_given_to_a_peer_that_shut_its_side() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    assert_eq!(s.event(Event::HalfClosed { exchange: call.exchange }), []);
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("7", "{}"))]);
    assert_eq!(s.flushed(call.exchange), []);
    s.finish();
}

#[test]
fn d2_an_open_stream_of_a_peer_that_shut_its_side_is_closed_and_can_be_resumed() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    s.send(call.target(), progress(1));
    let drawn = s.pull(call.exchange);
    let close = Action::Close { exchange: call.exchange };
    assert_eq!(s.event(Event::HalfClosed { exchange: call.exchange }), [close]);
    assert_eq!(s.answer(call, "{}"), []);
    let resume = s.get().with(&session.id).after(&drawn.last_id()).admit();
    assert_eq!(resume.actions, stream(resume.exchange));
    assert_eq!(last_message(&s.pull(resume.exchange).said()), ask::result_text("7", "{}"));
    s.finish();
}

#[test]
fn d2_a_notice_of_a_peer_that_shut_its_side_is_answered() {
    let mut s = Script::new();
    let session = s.open();
    let admission = s.post(ask::notice("x")).with(&session.id).admit();
    let id = s.notice_of(&session, &admission, "x");
    assert_eq!(s.event(Event::HalfClosed { exchange: admission.exchange }), []);
    assert_eq!(s.event(Event::Taken { message: id }), [accepted(admission.exchange)]);
    s.finish();
}

// C13: requests to the client

#[test]
fn c13_a_request_on_a_calls_stream_and_its_reply() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    assert_eq!(s.send(call.target(), question(5)), call.stream());
    let drawn = s.pull(call.exchange);
    assert_eq!(drawn.said(), [Said::Priming, message(ask::question_text(5))]);
    for wrong in ["6", r#""5""#, "50"] {
        let admission = s.post(ask::reply(wrong)).with(&session.id).admit();
        assert_eq!(admission.actions, [accepted(admission.exchange)], "{wrong}");
    }
    let reply = s.post(ask::reply("5")).with(&session.id).admit();
    let [Action::Deliver { exchange, session: of, delivery: Delivery::Reply { message: id, reply: got } }] =
        &reply.actions[..]
    else {
        panic!("{:?}", reply.actions)
    };
    assert_eq!((*exchange, *of), (reply.exchange, Some(session.key)));
    assert_eq!(got.id, RequestId::from_number(5));
    assert_eq!(got.outcome, Ok(Json::from_text(Bytes::from_static(b"{}")).unwrap()));
    assert_eq!(s.event(Event::Taken { message: *id }), [accepted(reply.exchange)]);
    let again = s.post(ask::reply("5")).with(&session.id).admit();
    assert_eq!(again.actions, [accepted(again.exchange)], "it is answered");
    assert_eq!(s.answer(call, "{}"), [call.pull()]);
    s.finish();
}

#[test]
fn c13_a_reply_is_matched_within_its_session() {
    let mut s = Script::new();
    let (session, other) = (s.open(), s.open());
    let call = s.call(&session, "7", "t");
    s.send(call.target(), question(5));
    let foreign = s.post(ask::reply("5")).with(&other.id).admit();
    assert_eq!(foreign.actions, [accepted(foreign.exchange)]);
    let reply =
        s.post(r#"{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"no"}}"#).with(&session.id).admit();
    let [Action::Deliver { delivery: Delivery::Reply { reply, .. }, .. }] = &reply.actions[..] else {
        panic!("{:?}", reply.actions)
    };
    assert!(reply.outcome.is_err());
    s.finish();
}

#[test]
fn c13_a_request_with_no_stream_to_carry_it_fails_at_once() {
    let mut s = Script::new();
    let session = s.open();
    // No GET stream was ever opened.
    let sent = s.try_send(Target::Session(session.key), question(1));
    assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    // A client that reads only JSON.
    let call = call_with(&mut s, &session, "application/json");
    let sent = s.try_send(call.target(), question(2));
    assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    // Its client is gone, and nobody can come back to it.
    let lost = s.call(&session, "8", "t");
    s.gone(lost.exchange);
    let sent = s.try_send(lost.target(), question(3));
    assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    for id in ["1", "2", "3"] {
        let reply = s.post(ask::reply(id)).with(&session.id).admit();
        assert_eq!(reply.actions, [accepted(reply.exchange)], "it was never asked");
    }
    s.finish();
}

#[test]
fn c13_a_withdrawn_request_is_not_answered() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    s.send(call.target(), question(5));
    let withdraw = Event::Withdraw { target: call.target(), id: RequestId::from_number(5) };
    assert_eq!(s.event(withdraw.clone()), []);
    assert_eq!(s.event(withdraw), []);
    let reply = s.post(ask::reply("5")).with(&session.id).admit();
    assert_eq!(reply.actions, [accepted(reply.exchange)]);
    s.finish();
}

#[test]
fn c13_no_more_open_requests_than_may_be() {
    let mut s = Script::with(|config| config.calls_per_session_max = 2);
    let session = s.open();
    let call = s.call(&session, "7", "t");
    s.send(call.target(), question(1));
    s.send(call.target(), question(2));
    let sent = s.try_send(call.target(), question(3));
    assert!(matches!(sent, Err(SendError::TooMany(_))), "{sent:?}");
    s.post(ask::reply("1")).with(&session.id).admit();
    s.send(call.target(), question(3));
    s.finish();
}

#[test]
fn c13_a_request_with_an_id_that_is_open_comes_back() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    s.send(call.target(), question(1));
    assert!(s.try_send(call.target(), question(1)).is_err(), "two questions with one answer");
    s.finish();
}

// L2: the cap of calls

#[test]
fn l2_more_calls_than_may_be_are_429() {
    let mut s = Script::with(|config| config.calls_per_session_max = 2);
    let (session, other) = (s.open(), s.open());
    let (a, b) = (s.call(&session, "1", "t"), s.call(&session, "2", "t"));
    let third = s.post(ask::request("3", "t")).with(&session.id).admit();
    let reject = only_reject(&third.actions, third.exchange).clone();
    assert_eq!(told(&reject), (429, -32000, Some("3".into())));
    assert!(reject.into_answer().fields.iter().any(|(name, _)| name == "retry-after"));
    // Notices are no calls; other sessions have their own.
    s.initialized(&session);
    let elsewhere = s.call(&other, "1", "t");
    s.answer(elsewhere, "{}");
    // Answered, a call is in flight no more, written or not; cancelled neither.
    s.answer(a, "{}");
    s.call(&session, "3", "t");
    cancel(&mut s, &session, "2");
    s.call(&session, "4", "t");
    let sent = s.try_send(b.target(), result("{}"));
    assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    s.finish();
}

#[test]
fn l2_calls_whose_client_is_gone_count() {
    let mut s = Script::with(|config| config.calls_per_session_max = 1);
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.gone(call.exchange);
    let second = s.post(ask::request("2", "t")).with(&session.id).admit();
    assert_eq!(told(only_reject(&second.actions, second.exchange)).0, 429);
    s.finish();
}

// Messages too large

#[test]
fn r8_an_answer_larger_than_message_max_becomes_an_error() {
    for streaming in [true, false] {
        let mut s = Script::with(|config| config.message_bytes_max = 1000);
        let session = s.open();
        let call = s.call(&session, "7", "t");
        if streaming {
            s.send(call.target(), progress(1));
        }
        let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(2000));
        let actions = s.answer(call, &large);
        let text = if streaming {
            assert_eq!(actions, []);
            last_message(&s.pull(call.exchange).said()).to_owned()
        } else {
            let [Action::Respond { response, .. }] = &actions[..] else { panic!("{actions:?}") };
            let mcp_http_core::h1::Body::Full(body) = &response.body else { panic!("{response:?}") };
            String::from_utf8(body.to_vec()).unwrap()
        };
        assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":7,"error":"#), "{text}");
        assert_eq!(error_code(&text), code::INTERNAL_ERROR);
        s.finish();
    }
}

#[test]
fn r8_another_message_larger_than_message_max_comes_back() {
    let mut s = Script::with(|config| config.message_bytes_max = 1000);
    let session = s.open();
    let call = s.call(&session, "7", "t");
    let params = Json::from_text(format!(r#"{{"text":"{}"}}"#, "x".repeat(2000)).into()).unwrap();
    let large = Outbound::Notice { method: "x".into(), params: Some(params), droppable: false };
    for target in [call.target(), Target::Session(session.key)] {
        let sent = s.try_send(target, large.clone());
        assert!(matches!(sent, Err(SendError::TooLarge(_))), "{sent:?}");
    }
    s.finish();
}

// Batches (2025-03-26)

/// The calls of a delivered batch, in order.
fn batch_calls(actions: &[Action]) -> Vec<mcp_http_core::endpoint::CallId> {
    let calls = actions.iter().filter_map(|action| match action {
        Action::Deliver { delivery: Delivery::Call { call, .. }, .. } => Some(*call),
        _ => None,
    });
    calls.collect()
}

fn batch(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

#[test]
fn i8_a_batch_is_for_2025_03_26_only() {
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let mut s = Script::new();
        let session = s.open_at(version);
        let body = batch(&[ask::request("1", "a")]);
        let admission = s.post(body).with(&session.id).admit();
        assert_eq!(told(only_reject(&admission.actions, admission.exchange)), (400, -32600, None));
        assert_eq!(s.stats().calls, 0);
        s.finish();
    }
}

#[test]
fn i8_a_batch_of_requests_is_answered_with_one_array() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request(r#""1""#, "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    assert_eq!((admission.actions.len(), calls.len()), (2, 2));
    assert_ne!(calls[0], calls[1]);
    assert_eq!(s.send(Target::Call(calls[1]), result("2")), []);
    let actions = s.send(Target::Call(calls[0]), result("1"));
    let (one, two) = (ask::result_text("1", "1"), ask::result_text(r#""1""#, "2"));
    let in_order = json(admission.exchange, &format!("[{one},{two}]"));
    let as_answered = json(admission.exchange, &format!("[{two},{one}]"));
    assert!(actions == [in_order] || actions == [as_answered], "{actions:?}");
    assert_eq!(s.flushed(admission.exchange), []);
    s.finish();
}

#[test]
fn i8_a_batch_of_one_is_answered_with_an_array_of_one() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let admission = s.post(batch(&[ask::request("1", "a")])).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    let actions = s.send(Target::Call(calls[0]), result("1"));
    assert_eq!(actions, [json(admission.exchange, &format!("[{}]", ask::result_text("1", "1")))]);
    s.finish();
}

#[test]
fn i8_a_batch_as_a_stream_has_each_answer_as_an_event_and_ends_after_the_last() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    assert_eq!(s.send(Target::Call(calls[0]), progress(1)), stream(admission.exchange));
    assert_eq!(s.send(Target::Call(calls[1]), result("2")), []);
    let drawn = s.pull(admission.exchange);
    let said = [message(ask::progress_text(1)), message(ask::result_text("2", "2"))];
    assert_eq!((drawn.said(), drawn.pulled), (said.to_vec(), Pulled::Idle));
    let pull = Action::Pull { exchange: admission.exchange };
    assert_eq!(s.send(Target::Call(calls[0]), result("1")), [pull]);
    let drawn = s.pull(admission.exchange);
    assert_eq!((drawn.said(), drawn.pulled), (vec![message(ask::result_text("1", "1"))], Pulled::End));
    s.finish();
}

#[test]
fn i8_a_batch_of_notices_is_202_when_all_were_taken() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::notice("x"), ask::reply("99"), ask::notice("y")]);
    let admission = s.post(body).with(&session.id).admit();
    let ids = admission.actions.iter().map(|action| match action {
        Action::Deliver { delivery: Delivery::Notice { message, .. }, .. } => *message,
        other => panic!("{other:?}"),
    });
    let ids: Vec<_> = ids.collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(s.event(Event::Taken { message: ids[1] }), []);
    assert_eq!(s.event(Event::Taken { message: ids[1] }), [], "taken twice counts once");
    assert_eq!(s.event(Event::Taken { message: ids[0] }), [accepted(admission.exchange)]);
    s.finish();
}

#[test]
fn i8_a_mixed_batch_is_answered_for_its_requests() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::notice("x"), ask::request("1", "a"), ask::reply("99")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    assert_eq!((admission.actions.len(), calls.len()), (2, 1), "{:?}", admission.actions);
    let actions = s.send(Target::Call(calls[0]), result("1"));
    assert_eq!(actions, [json(admission.exchange, &format!("[{}]", ask::result_text("1", "1")))]);
    s.finish();
}

#[test]
fn i8_a_batch_takes_as_many_calls_as_it_has_or_none() {
    let mut s = Script::with(|config| config.calls_per_session_max = 2);
    let session = s.open_at(Version::V2025_03_26);
    let call = s.call(&session, "0", "t");
    let body = batch(&[ask::notice("x"), ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body.clone()).with(&session.id).admit();
    assert_eq!(told(only_reject(&admission.actions, admission.exchange)), (429, -32000, None));
    assert_eq!(s.stats().calls, 1);
    s.answer(call, "{}");
    let admission = s.post(body).with(&session.id).admit();
    assert_eq!(batch_calls(&admission.actions).len(), 2);
    s.finish();
}

#[test]
fn i8_a_cancelled_member_of_a_batch_leaves_the_others() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    let told_handler = Action::Cancel { call: calls[0], reason: CancelReason::Client };
    assert_eq!(cancel(&mut s, &session, "1"), [told_handler]);
    let actions = s.send(Target::Call(calls[1]), result("2"));
    let [Action::Respond { response, .. }] = &actions[..] else { panic!("{actions:?}") };
    let mcp_http_core::h1::Body::Full(body) = &response.body else { panic!("{response:?}") };
    let answers: Vec<serde_json::Value> = serde_json::from_slice(body).unwrap();
    let two = answers.iter().find(|answer| answer["id"] == 2).unwrap();
    assert_eq!(two["result"], 2);
    assert!(answers.iter().all(|answer| answer["id"] == 2 || answer["error"]["code"] == code::CANCELLED));
    s.finish();
}

#[test]
fn i8_a_cancel_in_a_batch_cancels() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let call = s.call(&session, "7", "slow");
    let admission = s.post(batch(&[ask::cancelled("7"), ask::notice("x")])).with(&session.id).admit();
    let told_handler = Action::Cancel { call: call.call, reason: CancelReason::Client };
    assert!(admission.actions.contains(&told_handler), "{:?}", admission.actions);
    assert_eq!(s.stats().calls, 0);
    s.finish();
}

#[test]
fn i8_a_batch_with_one_id_twice_is_served_twice() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("1", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    assert_eq!(cancel(&mut s, &session, "1"), [], "ambiguous");
    s.send(Target::Call(calls[0]), result("10"));
    let actions = s.send(Target::Call(calls[1]), result("20"));
    let text = format!("[{},{}]", ask::result_text("1", "10"), ask::result_text("1", "20"));
    assert_eq!(actions, [json(admission.exchange, &text)]);
    s.finish();
}

#[test]
fn i8_a_batch_whose_session_is_deleted_is_refused_without_an_id() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let deleted = s.delete().with(&session.id).admit();
    let reject = deleted.actions.iter().find_map(|action| match action {
        Action::Reject { exchange, reject } if *exchange == admission.exchange => Some(reject.clone()),
        _ => None,
    });
    assert_eq!(told(&reject.unwrap()), (404, -32001, None));
    assert_eq!(deleted.actions.iter().filter(|action| matches!(action, Action::Cancel { .. })).count(), 2);
    s.finish();
}

#[test]
fn i8_silence_commits_a_batch_to_a_stream_once() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    s.send(Target::Call(calls[0]), result("1"));
    assert_eq!(s.advance(s.config().sse_commit_after), stream(admission.exchange));
    let drawn = s.pull(admission.exchange);
    let answers: Vec<Said> = drawn.said().into_iter().filter(|said| *said != Said::Comment).collect();
    assert_eq!(answers, [message(ask::result_text("1", "1"))]);
    assert_eq!(drawn.pulled, Pulled::Idle);
    s.send(Target::Call(calls[1]), result("2"));
    let drawn = s.pull(admission.exchange);
    assert_eq!((drawn.said(), drawn.pulled), (vec![message(ask::result_text("2", "2"))], Pulled::End));
    s.finish();
}

#[test]
fn i8_a_cancel_before_its_request_in_one_batch_cancels_nothing() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::cancelled("1"), ask::request("1", "a")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    assert_eq!(calls.len(), 1, "{:?}", admission.actions);
    let cancels = admission.actions.iter().any(|action| matches!(action, Action::Cancel { .. }));
    assert!(!cancels, "{:?}", admission.actions);
    let actions = s.send(Target::Call(calls[0]), result("1"));
    assert_eq!(actions, [json(admission.exchange, &format!("[{}]", ask::result_text("1", "1")))]);
    s.finish();
}

#[test]
fn i8_a_cancel_after_its_request_in_one_batch_cancels_it() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::cancelled("1"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    let told_handler = Action::Cancel { call: calls[0], reason: CancelReason::Client };
    let at = |wanted: &Action| admission.actions.iter().position(|action| action == wanted);
    let delivered = admission.actions.iter().position(|action| {
        matches!(action, Action::Deliver { delivery: Delivery::Call { call, .. }, .. } if *call == calls[0])
    });
    assert!(at(&told_handler) > delivered && delivered.is_some(), "{:?}", admission.actions);
    let actions = s.send(Target::Call(calls[1]), result("2"));
    assert_eq!(actions.len(), 1);
    s.finish();
}

#[test]
fn i8_a_batch_all_of_which_is_cancelled_is_answered_with_errors() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    let told = |call| Action::Cancel { call, reason: CancelReason::Client };
    assert_eq!(cancel(&mut s, &session, "2"), [told(calls[1])]);
    let actions = cancel(&mut s, &session, "1");
    let [first, Action::Respond { response, .. }] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(*first, told(calls[0]));
    let mcp_http_core::h1::Body::Full(body) = &response.body else { panic!("{response:?}") };
    let answers: Vec<serde_json::Value> = serde_json::from_slice(body).unwrap();
    assert!(!answers.is_empty() && answers.iter().all(|answer| answer["error"]["code"] == code::CANCELLED));
    s.finish();
}

#[test]
fn i8_a_batch_whose_client_is_gone_goes_on() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    s.send(Target::Call(calls[0]), note(1));
    let last = s.pull(admission.exchange).last_id();
    assert_eq!(s.gone(admission.exchange), []);
    s.send(Target::Call(calls[1]), result("2"));
    let again = s.get().with(&session.id).after(&last).admit();
    let drawn = s.pull(again.exchange);
    assert_eq!((drawn.said(), drawn.pulled), (vec![message(ask::result_text("2", "2"))], Pulled::Idle));
    s.send(Target::Call(calls[0]), result("1"));
    let drawn = s.pull(again.exchange);
    assert_eq!((drawn.said(), drawn.pulled), (vec![message(ask::result_text("1", "1"))], Pulled::End));
    s.finish();
}
