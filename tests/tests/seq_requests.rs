//! Requests to the client and its replies: C13.

use bytes::Bytes;
use mcp_http_core::endpoint::{Action, Delivery, Event, SendError, Target};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::RequestId;
use mcp_http_tests::script::{Said, Script, accepted, ask, call_with, message, question};

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
