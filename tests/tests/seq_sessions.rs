//! Sessions that exist: S3 to S7, S9.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, CancelReason, Delivery, EndReason, Event, Pulled, SendError, Target};
use mcp_http_core::reject::Reject;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Ask, Said, Script, accepted, ask, assert_unknown, delete, end, error_code, no_content, note, only_reject,
    progress, question, result, streaming, told,
};

/// As long as a session id of ours, and nobody's.
const NOBODYS: &str = "0000000000000000000000000000000000000000000000000000";

#[test]
fn s3_delete_ends_at_once_and_later_requests_are_404() {
    let mut s = Script::new();
    let session = s.open();
    assert_eq!(delete(&mut s, &session, &[]), []);
    assert_eq!(s.stats().sessions, 0);
    assert_unknown(&mut s, &session.id);
    let again = s.delete().with(&session.id).admit();
    assert_eq!(told(only_reject(&again.actions, again.exchange)), (404, -32001, None));
    let get = s.get().with(&session.id).admit();
    assert_eq!(told(only_reject(&get.actions, get.exchange)), (404, -32001, None));
    let init = s.post(ask::initialize("1", "2025-11-25")).with(&session.id).admit();
    assert_eq!(told(only_reject(&init.actions, init.exchange)), (404, -32001, Some("1".into())));
    assert_eq!(s.stats().total.created, 1);
    s.finish();
}

#[test]
fn s3_delete_of_an_unconfirmed_session_ends_it() {
    let mut s = Script::new();
    let session = s.unconfirmed();
    assert_eq!(delete(&mut s, &session, &[]), []);
    s.finish();
}

#[test]
fn s3_delete_of_nobodys_session_and_without_one() {
    let mut s = Script::new();
    let session = s.open();
    let unknown = s.delete().field("mcp-session-id", NOBODYS).admit();
    assert_eq!(told(only_reject(&unknown.actions, unknown.exchange)), (404, -32001, None));
    assert_eq!(told(&s.delete().refused()), (400, -32600, None));
    let call = s.call(&session, "1", "ping");
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn s3_delete_during_a_call_whose_head_is_held_is_404() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "7", "slow");
    let delete = s.delete().with(&session.id).admit();
    let [cancel, reject, ended, answer] = &delete.actions[..] else { panic!("{:?}", delete.actions) };
    assert_eq!(*cancel, Action::Cancel { call: call.call, reason: CancelReason::SessionEnded });
    let refused = told(only_reject(std::slice::from_ref(reject), call.exchange));
    assert_eq!(refused, (404, -32001, Some("7".into())));
    assert_eq!(*ended, end(session.key, EndReason::Deleted));
    assert_eq!(*answer, no_content(delete.exchange));
    for late in [progress(1), result("{}"), question(1)] {
        let sent = s.try_send(call.target(), late);
        assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    }
    assert_eq!(s.flushed(call.exchange), []);
    assert_eq!(s.gone(call.exchange), []);
    s.finish();
}

#[test]
fn s3_delete_during_a_call_that_streams_ends_it_with_an_error_event() {
    for pulled_before in [true, false] {
        let mut s = Script::new();
        let session = s.open();
        let call = s.call(&session, r#""seven""#, "slow");
        assert_eq!(s.send(call.target(), progress(1)), call.stream());
        if pulled_before {
            let drawn = s.pull(call.exchange);
            let said = [Said::Priming, Said::Message(ask::progress_text(1))];
            assert_eq!((drawn.said(), drawn.pulled), (said.to_vec(), Pulled::Idle));
        }
        let cancel = Action::Cancel { call: call.call, reason: CancelReason::SessionEnded };
        let delete = s.delete().with(&session.id).admit();
        let mut expected = vec![cancel, end(session.key, EndReason::Deleted), no_content(delete.exchange)];
        if pulled_before {
            expected.insert(1, call.pull());
        }
        assert_eq!(delete.actions, expected);
        let drawn = s.pull(call.exchange);
        let said = drawn.said();
        let Some(Said::Message(last)) = said.last() else { panic!("{said:?}") };
        assert!(last.starts_with(r#"{"jsonrpc":"2.0","id":"seven","error":"#), "{last}");
        assert!(error_code(last) < 0);
        assert_eq!(said.len(), if pulled_before { 1 } else { 3 });
        assert_eq!(drawn.pulled, Pulled::End);
        assert_eq!(s.flushed(call.exchange), []);
        let late = s.try_send(call.target(), result("{}"));
        assert!(matches!(late, Err(SendError::Gone(_))), "{late:?}");
        s.finish();
    }
}

#[test]
fn s3_delete_ends_the_standalone_stream_and_detached_streams() {
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    assert_eq!(s.pull(get).pulled, Pulled::Idle);
    let call = s.call(&session, "1", "slow");
    s.send(call.target(), progress(1));
    let drawn = s.pull(call.exchange);
    assert_eq!(s.gone(call.exchange), [], "a disconnect is no cancel");
    let cancel = Action::Cancel { call: call.call, reason: CancelReason::SessionEnded };
    let delete = s.delete().with(&session.id).admit();
    let of = |wanted: fn(&Action) -> bool| delete.actions.iter().filter(|action| wanted(action)).count();
    assert_eq!(delete.actions.iter().filter(|action| **action == cancel).count(), 1);
    assert_eq!(of(|action| matches!(action, Action::Pull { .. })), 1, "{:?}", delete.actions);
    assert_eq!(delete.actions.len(), 4, "{:?}", delete.actions);
    let rest = s.pull(get);
    assert_eq!((rest.frames, rest.pulled), (vec![], Pulled::End));
    assert_eq!(s.stats().buffered_bytes, 0);
    assert_eq!(s.stats().streams, 0);
    let resume = s.get().with(&session.id).after(&drawn.last_id()).admit();
    assert_eq!(told(only_reject(&resume.actions, resume.exchange)).0, 404);
    s.finish();
}

#[test]
fn s3_delete_while_a_notice_waits_to_be_taken() {
    let mut s = Script::new();
    let session = s.open();
    let admission = s.post(ask::notice("x")).with(&session.id).admit();
    let message = s.notice_of(&session, &admission, "x");
    delete(&mut s, &session, &[]);
    // The notice was accepted; its exchange must still end, in one way.
    let actions = s.event(Event::Taken { message });
    assert!(actions == [accepted(admission.exchange)] || actions.is_empty(), "{actions:?}");
    s.finish();
}

#[test]
fn s3_another_sessions_calls_go_on() {
    let mut s = Script::new();
    let (a, b) = (s.open(), s.open());
    let (of_a, of_b) = (s.call(&a, "1", "slow"), s.call(&b, "1", "slow"));
    let deleted = s.delete().with(&a.id).admit();
    assert!(
        deleted.actions.contains(&Action::Cancel { call: of_a.call, reason: CancelReason::SessionEnded })
    );
    assert_eq!(deleted.actions.len(), 4);
    assert_eq!(s.answer(of_b, "{}"), [of_b.json(&ask::result_text("1", "{}"))]);
    s.finish();
}

#[test]
fn s4_a_second_initialize_with_a_live_id_leaves_the_session_untouched() {
    let mut s = Script::new();
    let session = s.unconfirmed();
    let confirm = s.config().confirm;
    assert_eq!(s.advance(confirm / 2), []);
    let again = s.post(ask::initialize("5", "2025-11-25")).with(&session.id).admit();
    assert_eq!(told(only_reject(&again.actions, again.exchange)), (400, -32600, Some("5".into())));
    assert_eq!((s.stats().total.created, s.stats().sessions), (1, 1));
    s.initialized(&session);
    let call = s.call(&session, "6", "ping");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("6", "{}"))]);
    // Without an id it is a new session, always.
    let other = s.open();
    assert_ne!(other.id, session.id);
    s.finish();
}

#[test]
fn s5_without_an_id_400_and_with_an_unknown_one_404_id_echoed() {
    let mut s = Script::new();
    s.open();
    for body in [ask::request("3", "ping"), ask::notice("x"), ask::reply("3")] {
        let (status, code, _) = told(&s.post(body.clone()).refused());
        assert_eq!((status, code), (400, -32600), "{body}");
    }
    assert_eq!(told(&s.post(ask::request("3", "ping")).refused()).2, Some("3".into()));
    assert_eq!(told(&s.get().refused()), (400, -32600, None));
    for (body, id) in
        [(ask::request("3", "ping"), Some("3")), (ask::notice("x"), None), (ask::reply("3"), None)]
    {
        let admission = s.post(body).field("mcp-session-id", NOBODYS).admit();
        let refused = told(only_reject(&admission.actions, admission.exchange));
        assert_eq!(refused, (404, -32001, id.map(String::from)), "every refusal echoes the id that was read");
    }
    s.finish();
}

#[test]
fn s6_another_principals_id_is_what_an_unknown_id_is_byte_for_byte() {
    let mut s = Script::new();
    let opening = s.opening_of(Version::V2025_11_25, Some("alice"));
    let session = s.commit(&opening);
    let get = s.get().with(&session.id).who("alice").admit();
    let drawn = s.pull(get.exchange);
    let event = drawn.last_id();
    let before = s.stats();
    type Make = fn(&mut Script, &[u8], &str, Option<&str>) -> Reject;
    let makes: [Make; 5] = [
        |s, id, _, who| refused(s.post(ask::request("3", "ping")).field("mcp-session-id", id), who),
        |s, id, _, who| refused(s.post(ask::initialize("3", "2025-11-25")).field("mcp-session-id", id), who),
        |s, id, _, who| refused(s.get().field("mcp-session-id", id), who),
        |s, id, _, who| refused(s.delete().field("mcp-session-id", id), who),
        |s, id, event, who| refused(s.get().field("mcp-session-id", id).after(event), who),
    ];
    for (number, make) in makes.into_iter().enumerate() {
        let unknown = make(&mut s, NOBODYS.as_bytes(), &event, Some("bob")).into_answer();
        for who in [Some("bob"), None, Some("")] {
            let others = make(&mut s, session.id.as_bytes(), &event, who).into_answer();
            assert_eq!(others, unknown, "request {number} of {who:?}");
        }
        let mut near = session.id.as_bytes().to_vec();
        let last = near.last_mut().expect("an id");
        *last = if *last == b'0' { b'1' } else { b'0' };
        assert_eq!(make(&mut s, &near, &event, Some("alice")).into_answer(), unknown, "a wrong secret");
        assert_eq!(make(&mut s, b"x", &event, Some("alice")).into_answer(), unknown, "no id of ours");
        let upper = session.id.as_bytes().to_ascii_uppercase();
        if upper != session.id.as_bytes() {
            assert_eq!(make(&mut s, &upper, &event, Some("alice")).into_answer(), unknown, "another case");
        }
    }
    let after = s.stats();
    assert_eq!(
        (after.sessions, after.exchanges, after.streams),
        (before.sessions, before.exchanges, before.streams)
    );
    assert_eq!(after.deadlines, before.deadlines);
    // The owner, with whatever token, goes on.
    let call = s.post(ask::request("4", "ping")).with(&session.id).who("alice").admit();
    let call = s.call_of(Some(&session), &call, "4", "ping");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("4", "{}"))]);
    s.finish();
}

#[track_caller]
fn refused(ask: Ask<'_>, who: Option<&str>) -> Reject {
    let ask = match who {
        Some(who) => ask.who(who),
        None => ask,
    };
    let admission = ask.admit();
    only_reject(&admission.actions, admission.exchange).clone()
}

#[test]
fn s6_a_session_of_nobody_is_not_somebodys() {
    let mut s = Script::new();
    let session = s.open();
    let admission = s.post(ask::request("3", "ping")).with(&session.id).who("bob").admit();
    assert_eq!(told(only_reject(&admission.actions, admission.exchange)).0, 404);
    s.finish();
}

#[test]
fn s6_the_glance_says_what_admission_says_and_confirms_nothing() {
    let mut s = Script::new();
    let opening = s.opening_of(Version::V2025_11_25, Some("alice"));
    let session = s.commit(&opening);
    let glance = |s: &mut Script, who: &str| {
        s.post(ask::request("3", "ping")).with(&session.id).version("2025-11-25").who(who).glance()
    };
    assert_eq!(glance(&mut s, "alice"), Ok(()));
    assert_eq!(told(&glance(&mut s, "bob").unwrap_err()), (404, -32001, None));
    let confirm = s.config().confirm;
    assert_eq!(s.advance(confirm), [end(session.key, EndReason::Unconfirmed)]);
    assert!(glance(&mut s, "alice").is_err());
    s.finish();
}

#[test]
fn s7_a_request_before_notifications_initialized_is_served() {
    let mut s = Script::new();
    let session = s.unconfirmed();
    let call = s.call(&session, "2", "tools/list");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("2", "{}"))]);
    assert_eq!(s.flushed(call.exchange), []);
    s.initialized(&session);
    s.finish();
}

#[test]
fn s9_a_broken_stream_is_never_the_end_of_a_session() {
    let mut s = Script::new();
    let session = s.open();
    for _ in 0..20 {
        let get = s.listen(&session);
        s.pull(get);
        assert_eq!(s.gone(get), []);
        let call = s.call(&session, "1", "ping");
        assert_eq!(s.gone(call.exchange), []);
        assert_eq!(s.answer(call, "{}"), []);
    }
    assert_eq!(s.stats().sessions, 1);
    s.initialized(&session);
    s.finish();
}

#[test]
fn the_application_ends_a_session() {
    for confirmed in [true, false] {
        let mut s = Script::new();
        let session = if confirmed { s.open() } else { s.unconfirmed() };
        let end_it = Event::EndSession { session: session.key };
        assert_eq!(s.event(end_it.clone()), [end(session.key, EndReason::Application)]);
        assert_eq!(s.event(end_it), [], "X2");
        assert_unknown(&mut s, &session.id);
        s.finish();
    }
}

#[test]
fn a_late_close_of_an_old_session_never_hits_a_newer_one() {
    let mut s = Script::new();
    let old = s.open();
    let old_call = s.call(&old, "1", "slow");
    let get = s.listen(&old);
    let gone = s.delete().with(&old.id).admit();
    s.flushed(gone.exchange);
    s.pull(get);
    s.flushed(get);
    let new = s.open();
    let new_call = s.call(&new, "1", "slow");
    let new_get = s.listen(&new);
    s.pull(new_get);
    for late in [
        Event::EndSession { session: old.key },
        Event::SessionFailed { session: old.key },
        Event::Gone { exchange: old_call.exchange },
        Event::Flushed { exchange: old_call.exchange },
        Event::Stalled { exchange: get },
        Event::HalfClosed { exchange: get },
        Event::Gone { exchange: get },
        Event::CloseStream { call: old_call.call },
    ] {
        assert_eq!(s.event(late.clone()), [], "{late:?}");
    }
    for (target, what) in [(old_call.target(), result("{}")), (Target::Session(old.key), note(1))] {
        let sent = s.try_send(target, what);
        assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    }
    assert_unknown(&mut s, &old.id);
    assert_eq!(s.answer(new_call, "{}"), [new_call.json(&ask::result_text("1", "{}"))]);
    assert_eq!(s.send(Target::Session(new.key), note(1)), [Action::Pull { exchange: new_get }]);
    s.finish();
}

#[test]
fn r6_an_id_of_one_shard_is_unknown_to_another() {
    let mut s = Script::sharded(2, |_| {});
    let a = s.on(0).open();
    let b = s.on(1).open();
    assert_ne!(a.id, b.id);
    let (of_a, of_b) = (s.call(&a, "1", "x"), s.call(&b, "1", "y"));
    assert_eq!((of_a.shard, of_b.shard), (0, 1));
    s.answer(of_b, "{}");
    s.answer(of_a, "{}");
    s.finish();
}

#[test]
fn s4_initialize_without_an_id_is_always_a_new_session_even_with_the_same_request_id() {
    let mut s = Script::new();
    let (a, b) = (s.opening(), s.opening());
    assert_ne!((a.key, a.id.clone()), (b.key, b.id.clone()));
    assert_eq!(s.accept(&b), [b.offer()]);
    assert_eq!(s.accept(&a), [a.offer()]);
    s.finish();
}

#[test]
fn r1_delivery_names_the_session_of_the_id() {
    let mut s = Script::new();
    let (a, b) = (s.open(), s.open());
    for session in [&a, &b] {
        let admission = s.post(ask::reply("1")).with(&session.id).admit();
        assert_eq!(admission.actions, [accepted(admission.exchange)], "C1: a reply that answers nothing");
        let admission = s.post(ask::notice("x")).with(&session.id).admit();
        let [Action::Deliver { session: of, delivery: Delivery::Notice { .. }, .. }] = &admission.actions[..]
        else {
            panic!("{:?}", admission.actions)
        };
        assert_eq!(*of, Some(session.key));
    }
    s.finish();
}

#[test]
fn r10_the_same_script_gives_the_same_actions_and_frames() {
    let run = || {
        let mut s = Script::new();
        let session = s.open();
        let get = s.get().with(&session.id).admit();
        let drawn = s.pull(get.exchange);
        let call = streaming(&mut s, &session, "1");
        s.gone(call.exchange);
        let actions = s.advance(Duration::from_secs(100));
        let delete = s.delete().with(&session.id).admit();
        s.finish();
        (session, drawn, actions, delete.actions)
    };
    assert_eq!(run(), run());
}
