//! Batches of 2025-03-26: I8.

use mcp_http_core::endpoint::{Action, CancelReason, Delivery, Event, Pulled, Target};
use mcp_http_core::h1::Body;
use mcp_http_core::jsonrpc::code;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Said, Script, accepted, ask, batch, batch_calls, cancel, json, message, note, only_reject, progress,
    result, stream, told,
};

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
    let Body::Full(body) = &response.body else { panic!("{response:?}") };
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

/// R8: an answer that waits for the rest of its batch takes memory, and takes it once.
#[test]
fn r8_answers_that_wait_for_their_batch_count() {
    let long = format!("\"{}\"", "x".repeat(5_000));
    let text = ask::result_text("1", &long).len() as u64;
    for silent in [false, true] {
        let mut s = Script::new();
        let session = s.open_at(Version::V2025_03_26);
        let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
        let admission = s.post(body).with(&session.id).admit();
        let calls = batch_calls(&admission.actions);
        s.send(Target::Call(calls[0]), result(&long));
        assert_eq!(s.stats().buffered_bytes, text);
        if silent {
            s.advance(s.config().sse_commit_after);
            let frame = s.stats().buffered_bytes;
            assert!((text..text + 100).contains(&frame), "in the ring alone: {frame} bytes for {text}");
            s.pull(admission.exchange);
            s.send(Target::Call(calls[1]), result("2"));
            s.pull(admission.exchange);
        } else {
            s.send(Target::Call(calls[1]), result("2"));
            let array = text + ask::result_text("2", "2").len() as u64 + "[,]".len() as u64;
            assert_eq!(s.stats().buffered_bytes, array, "the array, and nothing beside it");
        }
        s.flushed(admission.exchange);
        s.finish();
    }
}

/// R8: it is given back when the client is gone before its batch is complete.
#[test]
fn r8_answers_of_a_batch_that_is_lost_take_nothing() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    s.send(Target::Call(calls[0]), result("1"));
    assert_ne!(s.stats().buffered_bytes, 0);
    s.gone(admission.exchange);
    assert_eq!(s.stats().buffered_bytes, 0);
    s.send(Target::Call(calls[1]), result("2"));
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
    let Body::Full(body) = &response.body else { panic!("{response:?}") };
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

#[test]
fn i8_a_batch_whose_client_left_half_answered_leaves_nothing() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    assert_eq!(s.send(Target::Call(calls[0]), result("1")), []);
    assert_eq!(s.gone(admission.exchange), []);
    assert_eq!(s.send(Target::Call(calls[1]), result("2")), []);
    assert_eq!((s.stats().calls, s.stats().streams), (0, 0));
    s.finish();
}
