//! Calls and notices within a session: C1 to C3, C14, R5, R8, L2.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, Event, Outbound, Pulled, SendError, Target};
use mcp_http_core::h1::Body;
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::code;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Call, Said, Script, accepted, ask, call_with, cancel, error, error_code, last_message, message, note,
    only_reject, primed, progress, question, result, told,
};

const TICK: Duration = Duration::from_nanos(1);

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

/// What a client can read.
const ACCEPTS: [(&str, bool, bool); 6] = [
    ("application/json, text/event-stream", true, true),
    ("*/*", true, true),
    ("application/json", true, false),
    ("application/json, text/event-stream;q=0", true, false),
    ("text/event-stream", false, true),
    ("text/event-stream, application/json;q=0.0", false, true),
];

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

/// D5: who reads only JSON gets the answer, and the notice is counted as dropped.
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
    let Body::Full(body) = &response.body else { panic!("{actions:?}") };
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
        for late in [result("{}"), error(-1, "x"), progress(2), note(2), question(3)] {
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
    for wrong in [initialized, result("{}"), error(-1, "x")] {
        let sent = s.try_send(Target::Session(session.key), wrong);
        assert!(matches!(sent, Err(SendError::Misplaced(_))), "{sent:?}");
    }
    s.finish();
}

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
            let Body::Full(body) = &response.body else { panic!("{response:?}") };
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

#[test]
fn c5_cors_grants_reach_every_answer() {
    let mut s = Script::new();
    let session = s.open();
    let origin = "http://localhost:6274";
    let granted = |action: &Action| {
        let answer = match action {
            Action::Respond { response, .. } => response.clone().into_answer(),
            Action::Reject { reject, .. } => reject.clone().into_answer(),
            other => panic!("{other:?}"),
        };
        let value = answer.fields.iter().find(|(name, _)| name == "access-control-allow-origin");
        assert_eq!(value.map(|(_, value)| value.as_bytes()), Some(origin.as_bytes()), "{action:?}");
    };
    let call = s.post(ask::request("1", "t")).with(&session.id).field("origin", origin).admit();
    let call = s.call_of(Some(&session), &call, "1", "t");
    granted(&s.answer(call, "{}")[0]);
    let call = s.post(ask::request("1", "t")).with(&session.id).field("origin", origin).admit();
    let call = s.call_of(Some(&session), &call, "1", "t");
    granted(&s.send(call.target(), note(1))[0]);
    let get = s.get().with(&session.id).field("origin", origin).admit();
    granted(&get.actions[0]);
    let reply = s.post(ask::reply("1")).with(&session.id).field("origin", origin).admit();
    granted(&reply.actions[0]);
    for id in ["x", "y"] {
        let unknown =
            s.post(ask::request("1", "t")).field("mcp-session-id", id).field("origin", origin).admit();
        granted(&unknown.actions[0]);
    }
    let pending = s.post(ask::initialize("1", "2025-11-25")).field("origin", origin).admit();
    let opening = s.opened(&pending, Version::V2025_11_25);
    let late = s.advance(s.config().establish);
    let reject = late.iter().find(|action| matches!(action, Action::Reject { .. }));
    granted(reject.expect("a refusal"));
    let _ = opening;
    let held = s.post(ask::request("2", "t")).with(&session.id).field("origin", origin).admit();
    let delete = s.delete().with(&session.id).field("origin", origin).admit();
    granted(delete.actions.last().expect("204"));
    let of_held = delete
        .actions
        .iter()
        .find(|action| matches!(action, Action::Reject { exchange, .. } if *exchange == held.exchange));
    granted(of_held.expect("404"));
    s.finish();
}
