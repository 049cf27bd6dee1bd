//! Cancelled calls, and clients that leave or shut their side: C10, D2.

use mcp_http_core::endpoint::{Action, CancelReason, Event, Pulled, SendError};
use mcp_http_core::h1::Body;
use mcp_http_core::jsonrpc::code;
use mcp_http_tests::script::{
    Script, accepted, ask, call_with, cancel, error_code, last_message, message, note, progress, result,
    stream,
};

#[test]
fn c10_a_call_cancelled_before_anything_was_sent_is_answered_with_an_error() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "slow");
    let actions = cancel(&mut s, &session, "7");
    let [told_handler, Action::Respond { exchange, response }] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(*told_handler, Action::Cancel { call: call.call, reason: CancelReason::Client });
    assert_eq!(*exchange, call.exchange);
    let Body::Full(body) = &response.body else { panic!("{response:?}") };
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
