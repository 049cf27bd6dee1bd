//! Sessions and streams at their edges: where one off, or one more condition, would pass every other test (C5, C12,
//! C13, R8, R9, S8, S10, X1).

use std::time::Duration;

use mcp_http_core::endpoint::{Action, CancelReason, EndReason, Event, Outbound, Pulled, SendError, Target};
use mcp_http_core::jsonrpc::RequestId;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Call, Said, Script, Session, accepted, ask, assert_full, batch, batch_calls, cancel, end, error_code,
    last_message, messages, note, notes, only_reject, question, result, resume, resume_status, session_of,
    streaming, told,
};

const TICK: Duration = Duration::from_nanos(1);

#[test]
fn c5_the_number_of_a_priming_event_has_at_most_eight_digits() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.send(session_of(&session), note(1));
    let id = s.pull(get).last_id();
    s.gone(get);
    assert_eq!(resume_status(&mut s, &session, &format!("{id}-123456789")), 400);
    let exchange = resume(&mut s, &session, &format!("{id}-12345678"));
    s.gone(exchange);
    s.finish();
}

#[test]
fn c12_a_pull_that_brings_nothing_is_no_sign_of_life() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    let every = s.config().comment_every;
    assert_eq!(s.advance(every - TICK), []);
    assert_eq!(s.pull(get).said(), []);
    assert_eq!(s.advance(TICK), [Action::Pull { exchange: get }]);
    assert_eq!(s.pull(get).said(), [Said::Comment]);
    s.gone(get);
    s.finish();
}

#[test]
fn r9_a_pull_that_takes_the_last_frame_says_that_it_was_the_last() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    s.send(session_of(&session), note(1));
    let drawn = s.pull_upto(get, 1);
    assert_eq!((messages(&drawn), drawn.pulled), (vec![ask::note_text(1)], Pulled::Idle));
    assert_eq!(s.send(session_of(&session), note(2)), [Action::Pull { exchange: get }]);
    s.send(session_of(&session), note(3));
    assert_eq!(s.pull_upto(get, 1).pulled, Pulled::More);
    assert_eq!(s.pull_upto(get, 1).pulled, Pulled::Idle);
    s.gone(get);
    s.finish();
}

#[test]
fn s10_a_promised_session_still_ends_when_its_own_time_comes() {
    let mut s = Script::with(|config| config.sessions_max = 1);
    let confirm = s.config().confirm;
    let unconfirmed = s.unconfirmed();
    s.advance(confirm - Duration::from_secs(1));
    let opening = s.opening();
    assert_eq!(s.advance(Duration::from_secs(1)), [end(unconfirmed.key, EndReason::Unconfirmed)]);
    assert_eq!(s.accept(&opening), [opening.offer()]);
    s.flushed(opening.exchange);
    s.finish();
}

#[test]
fn s10_a_promised_session_that_is_used_is_idle_from_then_on() {
    let idle = Duration::from_secs(100);
    for used in [false, true] {
        let mut s = Script::with(|config| {
            config.sessions_max = 1;
            config.session_idle = Some(idle);
            config.evict_after = Duration::from_secs(60);
            config.establish = Duration::from_secs(200);
        });
        let session = s.open();
        s.advance(Duration::from_secs(70));
        let opening = s.opening();
        if used {
            s.initialized(&session);
        }
        let due = s.advance(Duration::from_secs(30));
        assert_eq!(due, if used { vec![] } else { vec![end(session.key, EndReason::Idle)] });
        if used {
            assert_eq!(s.advance(Duration::from_secs(70) - TICK), []);
            assert_eq!(s.advance(TICK), [end(session.key, EndReason::Idle)]);
        }
        assert_eq!(s.accept(&opening), [opening.offer()]);
        s.flushed(opening.exchange);
        s.finish();
    }
}

/// A request to the client, and whether its reply is still delivered.
fn is_awaited(s: &mut Script, session: &Session, id: &str) -> bool {
    let reply = s.post(ask::reply(id)).with(&session.id).admit();
    match &reply.actions[..] {
        [Action::Respond { .. }] => {
            assert_eq!(reply.actions, [accepted(reply.exchange)]);
            assert_eq!(s.flushed(reply.exchange), []);
            false
        }
        [Action::Deliver { .. }] => {
            s.gone(reply.exchange);
            true
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn c13_a_request_is_withdrawn_by_its_id_and_alone() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    let call = streaming(&mut s, &session, "1");
    for id in [5, 6] {
        s.send(call.target(), question(id));
    }
    s.send(session_of(&session), question(7));
    s.event(Event::Withdraw { target: call.target(), id: RequestId::from_number(5) });
    assert_eq!(["5", "6", "7"].map(|id| is_awaited(&mut s, &session, id)), [false, true, true]);
    s.answer(call, "{}");
    s.pull(call.exchange);
    s.flushed(call.exchange);
    s.gone(get);
    s.finish();
}

#[test]
fn c13_an_answered_call_waits_for_no_reply_and_other_streams_do() {
    for gone_for_good in [false, true] {
        let mut s = Script::new();
        let session = s.open();
        let get = s.listen(&session);
        let call = streaming(&mut s, &session, "1");
        s.send(session_of(&session), question(6));
        s.send(call.target(), question(5));
        s.answer(call, "{}");
        s.pull(call.exchange);
        s.flushed(call.exchange);
        s.pull(get);
        if gone_for_good {
            // A comment is due meanwhile.
            s.advance(s.config().stream_retention);
            s.pull(get);
        }
        assert_eq!(["5", "6"].map(|id| is_awaited(&mut s, &session, id)), [false, true]);
        s.gone(get);
        s.finish();
    }
}

#[test]
fn c13_while_one_call_of_a_batch_is_open_its_stream_can_bring_a_reply() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let admission = s.post(body).with(&session.id).admit();
    let calls = batch_calls(&admission.actions);
    s.send(Target::Call(calls[0]), question(5));
    s.send(Target::Call(calls[1]), result("{}"));
    assert!(is_awaited(&mut s, &session, "5"));
    s.send(Target::Call(calls[0]), question(6));
    s.send(Target::Call(calls[0]), result("{}"));
    assert!(!is_awaited(&mut s, &session, "6"));
    s.pull(admission.exchange);
    s.flushed(admission.exchange);
    s.finish();
}

#[test]
fn c10_a_cancelled_call_whose_client_is_gone_for_good_leaves_no_stream() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "slow");
    s.gone(call.exchange);
    assert_eq!((s.stats().streams, s.stats().calls), (1, 1));
    let told = cancel(&mut s, &session, "1");
    assert_eq!(told, [Action::Cancel { call: call.call, reason: CancelReason::Client }]);
    assert_eq!((s.stats().streams, s.stats().calls), (0, 0));
    s.finish();
}

/// An answer of exactly so many bytes.
fn sized(call_id: &str, bytes: usize) -> String {
    let around = ask::result_text(call_id, "\"\"").len();
    format!("\"{}\"", "x".repeat(bytes - around))
}

#[test]
fn r8_a_message_may_have_message_bytes_max_bytes_and_no_more() {
    let max = 2_000;
    let mut s = Script::with(|config| config.message_bytes_max = max);
    let session = s.open();
    let call = s.call(&session, "7", "t");
    let text = ask::result_text("7", &sized("7", max));
    assert_eq!(s.answer(call, &sized("7", max)), [call.json(&text)]);
    s.flushed(call.exchange);
    let call = s.call(&session, "7", "t");
    s.send(call.target(), note(1));
    s.answer(call, &sized("7", max + 1));
    assert_eq!(error_code(last_message(&s.pull(call.exchange).said())), -32603);
    s.flushed(call.exchange);
    let fits = ask::note_text(1).len();
    let mut s = Script::with(|config| config.message_bytes_max = fits);
    let session = s.open();
    assert_eq!(s.send(session_of(&session), note(1)), []);
    let sent = s.try_send(session_of(&session), note(10));
    assert!(matches!(sent, Err(SendError::TooLarge(_))), "{sent:?}");
    s.finish();
}

#[test]
fn r8_calls_that_run_are_not_dropped_for_those_that_ended() {
    let mut s = Script::with(|config| config.calls_per_session_max = 2);
    let session = s.open();
    let open = |s: &mut Script, id: &str| -> (Call, String) {
        let call = s.call(&session, id, "t");
        s.send(call.target(), note(1));
        let last = s.pull(call.exchange).last_id();
        s.gone(call.exchange);
        (call, last)
    };
    let (first, first_id) = open(&mut s, "1");
    let (second, _) = open(&mut s, "2");
    s.answer(first, "{}");
    let (third, _) = open(&mut s, "3");
    let again = resume(&mut s, &session, &first_id);
    assert_eq!(messages(&s.pull(again)), [ask::result_text("1", "{}")]);
    s.flushed(again);
    s.answer(second, "{}");
    s.answer(third, "{}");
    s.finish();
}

/// X1, R14: a notice that stands alone is taken until the last moment, and nothing is from then on.
#[test]
fn x1_until_its_last_moment_a_shutdown_takes_what_leaves_nothing_behind() {
    let within = Duration::from_secs(10);
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "slow");
    s.shutdown(within);
    let before = s.modern_notice("x").admit();
    let message = s.solo_notice_of(&before, "x");
    assert_eq!(s.event(Event::Taken { message }), [accepted(before.exchange)]);
    s.flushed(before.exchange);
    s.answer(call, "{}");
    s.flushed(call.exchange);
    s.advance(within);
    let after = s.modern_notice("x").admit();
    assert_eq!(told(only_reject(&after.actions, after.exchange)), (503, -32000, None));
    s.finish();
}

/// A droppable note and its text.
fn dropping(number: u32) -> Outbound {
    match note(number) {
        Outbound::Notice { method, params, .. } => Outbound::Notice { method, params, droppable: true },
        other => other,
    }
}

#[test]
fn c9_who_reads_on_after_droppable_notes_went_misses_and_repeats_nothing_else() {
    // Up to which the first reader takes, which one may be dropped, and what the second gets of four in a ring of three.
    for (taken, droppable, second) in [(1, 1, &[2, 3, 4][..]), (1, 2, &[3, 4]), (2, 1, &[3, 4])] {
        let mut s = Script::with(|config| config.ring_frames_max = 3);
        let session = s.open();
        let own = session_of(&session);
        let send = |s: &mut Script, number| {
            s.send(own, if number == droppable { dropping(number) } else { note(number) });
        };
        let get = s.listen(&session);
        s.pull(get);
        (1..=taken).for_each(|number| send(&mut s, number));
        assert_eq!(messages(&s.pull(get)), notes(1..=taken));
        s.gone(get);
        (taken + 1..=4).for_each(|number| send(&mut s, number));
        let again = s.listen(&session);
        assert_eq!(messages(&s.pull(again)), notes(second.iter().copied()), "{taken} {droppable}");
        s.gone(again);
        s.finish();
    }
}

#[test]
fn c7_a_priming_event_stands_for_where_its_reader_began() {
    let mut s = Script::new();
    let session = s.open();
    let first = s.listen(&session);
    s.send(session_of(&session), note(1));
    s.pull(first);
    s.gone(first);
    let second = s.listen(&session);
    let began = s.pull(second).id(0);
    s.send(session_of(&session), note(2));
    s.pull(second);
    s.gone(second);
    let again = resume(&mut s, &session, &began);
    assert_eq!(messages(&s.pull(again)), notes([2]));
    s.gone(again);
    s.finish();
}

#[test]
fn r9_a_resume_that_makes_no_room_tells_no_sender() {
    let mut s = Script::with(|config| config.ring_frames_max = 2);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    let last = s.pull(call.exchange);
    assert_eq!(last.said(), []);
    s.send(call.target(), note(1));
    let began = s.pull_upto(call.exchange, 1).last_id();
    s.send(call.target(), note(2));
    s.send(call.target(), note(3));
    assert_full(&mut s, call.target(), note(4));
    let moved = s.get().with(&session.id).after(&began).admit();
    let writable = Action::Writable { target: call.target() };
    assert!(!moved.actions.contains(&writable), "{:?}", moved.actions);
    let drawn = s.pull(moved.exchange);
    assert_eq!((messages(&drawn), drawn.actions), (notes([2, 3]), vec![writable]));
    s.send(call.target(), note(4));
    s.answer(call, "{}");
    s.pull(call.exchange);
    s.flushed(call.exchange);
    s.pull(moved.exchange);
    s.flushed(moved.exchange);
    s.finish();
}
