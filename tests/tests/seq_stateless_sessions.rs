//! Requests of the stateless era beside sessions: Z1, Z11, R13, I12. What names a session there names nothing.

use std::time::Duration;

use mcp_http_core::answer::ErrorStatus;
use mcp_http_core::endpoint::{Action, EndReason, Event, Stats, Topic};
use mcp_http_core::jsonrpc::code;
use mcp_http_core::session_id::SessionId;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    STATELESS, Script, Session, accepted, ask, end, json_error, message, note, progress, session_of, stream,
    told,
};

const TICK: Duration = Duration::from_nanos(1);

fn script() -> Script {
    Script::with(|config| config.publishes.tools = true)
}

/// What is no end of a session does not matter here.
fn ends(actions: &[Action]) -> Vec<Action> {
    actions.iter().filter(|action| matches!(action, Action::End { .. })).cloned().collect()
}

/// Every kind of POST of the stateless era, each bearing this id and finished: none leaves a trace in the
/// endpoint.
#[track_caller]
fn all_kinds(s: &mut Script, id: &SessionId) {
    let before = s.stats();
    let answered = s.modern("1", "tools/list", "").with(id).after("x").admit();
    let answered = s.solo_of(&answered, "1");
    assert_eq!(s.answer(answered, "{}"), [answered.json(&ask::result_text("1", "{}"))]);
    assert_eq!(s.flushed(answered.exchange), []);

    let streamed = s.modern("2", "tools/list", "").with(id).who("somebody").admit();
    let streamed = s.solo_of(&streamed, "2");
    assert_eq!(s.send(streamed.target(), progress(1)), streamed.stream());
    assert_eq!(s.answer(streamed, "{}"), []);
    let said = [message(ask::progress_text(1)), message(ask::result_text("2", "{}"))];
    assert_eq!(s.pull(streamed.exchange).said(), said);
    assert_eq!(s.flushed(streamed.exchange), []);

    let left = s.modern("3", "tools/list", "").with(id).admit();
    let left = s.solo_of(&left, "3");
    assert_eq!(s.gone(left.exchange).len(), 1, "Z9");

    let unknown = s.modern("4", "tools/list", "").with(id).admit();
    let unknown = s.solo_of(&unknown, "4");
    let text = ask::error_text("4", code::METHOD_NOT_FOUND, "no");
    let answer = json_error(unknown.exchange, ErrorStatus::NotFound, &text);
    assert_eq!(s.fail(unknown, code::METHOD_NOT_FOUND, "no"), [answer]);
    assert_eq!(s.flushed(unknown.exchange), []);

    for method in ["notifications/x", "notifications/initialized", "notifications/cancelled"] {
        let notice = s.modern_notice(method).with(id).admit();
        let taken = s.solo_notice_of(&notice, method);
        assert_eq!(s.event(Event::Taken { message: taken }), [accepted(notice.exchange)]);
        assert_eq!(s.flushed(notice.exchange), []);
    }

    for asked in [r#"{"toolsListChanged":true}"#, "{}"] {
        let listening = s.listening("5", asked).with(id).after("x").admit();
        assert_eq!(listening.actions, stream(listening.exchange));
        s.pull(listening.exchange);
        assert_eq!(s.gone(listening.exchange), []);
    }
    refused_kinds(s, id);
    assert_eq!(s.stats(), before, "Z1");
}

/// Those that the intake refuses; no endpoint hears of them.
#[track_caller]
fn refused_kinds(s: &mut Script, id: &SessionId) {
    let initialize = s
        .modern("6", "initialize", r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}"#)
        .with(id)
        .refused();
    assert_eq!(told(&initialize), (404, code::METHOD_NOT_FOUND, Some("6".into())));
    let reply = s.post(ask::reply("7")).version(STATELESS).with(id).refused();
    assert_eq!((told(&reply).0, told(&reply).1), (400, code::INVALID_REQUEST), "Z2");
    let batch = format!("[{}]", ask::modern("8", "tools/list", ""));
    let batch = s.post(batch).version(STATELESS).with(id).refused();
    assert_eq!((told(&batch).0, told(&batch).1), (400, code::INVALID_REQUEST), "Z2");
    for get in
        [s.get().version(STATELESS).with(id).refused(), s.delete().version(STATELESS).with(id).refused()]
    {
        assert_eq!(told(&get).0, 405);
        let answer = get.into_answer();
        let allow = answer.fields.iter().find(|(name, _)| name == "allow").expect("Allow");
        assert_eq!(allow.1, "POST, OPTIONS");
    }
}

#[test]
fn z1_a_live_session_named_there_is_not_used() {
    let mut s = script();
    let session = s.open();
    let idle = s.config().session_idle.unwrap();
    for _ in 0..3 {
        assert_eq!(ends(&s.advance(idle / 4)), []);
        all_kinds(&mut s, &session.id);
    }
    assert_eq!(ends(&s.advance(idle / 4 - TICK)), []);
    all_kinds(&mut s, &session.id);
    assert_eq!(s.advance(TICK), [end(session.key, EndReason::Idle)], "R12: not used for so long");
    s.finish();
}

#[test]
fn z1_what_is_in_flight_keeps_no_session_alive() {
    let mut s = script();
    let session = s.open();
    let idle = s.config().session_idle.unwrap();
    let call = s.modern("1", "tools/list", "").with(&session.id).accept("application/json").admit();
    let call = s.solo_of(&call, "1");
    let notice = s.modern_notice("x").with(&session.id).admit();
    let listening = s.listening("2", r#"{"toolsListChanged":true}"#).with(&session.id).admit();
    s.pull(listening.exchange);
    assert_eq!(ends(&s.advance(idle - TICK)), []);
    assert_eq!(ends(&s.advance(TICK)), [end(session.key, EndReason::Idle)]);
    // Nor does its end touch them.
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("1", "{}"))]);
    let taken = s.solo_notice_of(&notice, "x");
    assert_eq!(s.event(Event::Taken { message: taken }), [accepted(notice.exchange)]);
    s.pull(listening.exchange);
    assert_eq!(s.publish(&Topic::Tools).0, 1);
    s.finish();
}

#[test]
fn z1_a_sessions_streams_and_calls_go_on_as_if_nothing_was() {
    let mut s = script();
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    let (held, streamed) = (s.call(&session, "1", "t"), s.call(&session, "1", "t"));
    s.send(streamed.target(), note(1));
    let counts = |stats: Stats| (stats.calls, stats.streams, stats.exchanges, stats.buffered_bytes);
    let before = counts(s.stats());
    all_kinds(&mut s, &session.id);
    assert_eq!(counts(s.stats()), before);
    assert_eq!(s.send(session_of(&session), note(2)), [Action::Pull { exchange: get }]);
    assert_eq!(s.pull(get).said(), [message(ask::note_text(2))], "C3: nothing of theirs is here");
    assert_eq!(s.answer(held, "{}"), [held.json(&ask::result_text("1", "{}"))]);
    assert_eq!(s.answer(streamed, "{}"), []);
    let said = s.pull(streamed.exchange).said();
    assert_eq!(said[1..], [message(ask::note_text(1)), message(ask::result_text("1", "{}"))]);
    s.finish();
}

#[test]
fn z1_an_unconfirmed_session_is_not_confirmed() {
    let mut s = script();
    let session = s.unconfirmed();
    let confirm = s.config().confirm;
    s.advance(confirm / 2);
    all_kinds(&mut s, &session.id);
    assert_eq!(ends(&s.advance(confirm / 2 - TICK)), []);
    assert_eq!(s.advance(TICK), [end(session.key, EndReason::Unconfirmed)]);
    s.finish();
}

#[test]
fn z1_a_session_that_is_not_there_yet_is_not_opened() {
    let mut s = script();
    let opening = s.opening();
    all_kinds(&mut s, &opening.id);
    assert_eq!(s.accept(&opening), [opening.offer()]);
    // A request of the session would commit it.
    all_kinds(&mut s, &opening.id);
    assert_eq!(s.stats().total.committed, 0);
    assert_eq!(s.flushed(opening.exchange), [Action::Commit { session: opening.key }]);
    s.finish();
}

#[test]
fn z1_an_id_that_is_over_or_nobodys_is_as_good() {
    let mut s = script();
    let session = s.open();
    let delete = s.delete().with(&session.id).admit();
    s.flushed(delete.exchange);
    all_kinds(&mut s, &session.id);
    for id in ["", "has blank", "x", &"y".repeat(129)] {
        let call = s.modern("1", "tools/list", "").field("mcp-session-id", id).admit();
        let call = s.solo_of(&call, "1");
        assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("1", "{}"))], "not echoed");
    }
    let twice = s.modern("1", "tools/list", "").field("mcp-session-id", "a").field("mcp-session-id", "b");
    let twice = twice.admit();
    s.solo_of(&twice, "1");
    s.finish();
}

#[test]
fn s10_it_makes_no_session_a_later_victim() {
    let mut s = Script::with(|config| {
        config.publishes.tools = true;
        config.sessions_max = 2;
    });
    let (older, newer) = (s.open(), {
        s.advance(Duration::from_secs(1));
        s.open()
    });
    let evict_after = s.config().evict_after;
    s.advance(evict_after);
    all_kinds(&mut s, &older.id);
    let opening = s.opening();
    s.commit_over(&opening, &older);
    let _ = newer;
    s.finish();
}

#[test]
fn z11_the_same_id_from_everywhere_at_once() {
    for shards in [1, 8] {
        let mut s = Script::sharded(shards, |_| {});
        let session = s.open();
        let in_session = s.call(&session, "7", "t");
        let mut calls = Vec::new();
        for shard in 0..usize::from(shards) {
            for _ in 0..2 {
                s.on(shard);
                let (a, b) = (s.solo("7"), s.solo(r#""7""#));
                assert_eq!(s.send(a.target(), progress(1)), a.stream());
                calls.push((a, b));
            }
        }
        for (number, (a, b)) in calls.iter().enumerate().rev() {
            let (mine, text) =
                (format!(r#"{{"n":{number}}}"#), |id: &str, mine: &str| ask::result_text(id, mine));
            assert_eq!(s.answer(*b, &mine), [b.json(&text(r#""7""#, &mine))]);
            assert_eq!(s.answer(*a, &mine), []);
            let said = [message(ask::progress_text(1)), message(text("7", &mine))];
            assert_eq!(s.pull(a.exchange).said(), said, "R5");
        }
        assert_eq!(s.answer(in_session, "{}"), [in_session.json(&ask::result_text("7", "{}"))]);
        s.finish();
    }
}

#[test]
fn z11_no_cancel_of_one_reaches_another() {
    let mut s = Script::new();
    let session = s.open();
    let (in_session, alone) = (s.call(&session, "7", "t"), s.solo("7"));
    // From the stateless era, bearing the session: handed on, and nothing else.
    let notice = s.post(ask::cancelled("7")).version(STATELESS).with(&session.id).admit();
    let [Action::Deliver { session: None, .. }] = notice.actions[..] else { panic!("{:?}", notice.actions) };
    // From the session: its own call only.
    let actions = mcp_http_tests::script::cancel(&mut s, &session, "7");
    let cancels: Vec<_> = actions.iter().filter(|action| matches!(action, Action::Cancel { .. })).collect();
    assert!(matches!(cancels[..], [Action::Cancel { call, .. }] if *call == in_session.call), "{actions:?}");
    assert_eq!(s.answer(alone, "{}"), [alone.json(&ask::result_text("7", "{}"))]);
    s.finish();
}

/// A proxy on the way strips the field, or sets it: the body says what it is.
#[test]
fn i12_a_proxy_cannot_make_a_stateless_request_one_of_a_session() {
    let mut s = script();
    let session = s.open();
    let before = s.stats();
    for id in [None, Some(&session.id)] {
        for field in [None, Some("2025-03-26"), Some("2025-06-18"), Some("2025-11-25"), Some("x")] {
            for method in ["tools/list", "ping", "initialize", "subscriptions/listen"] {
                let asked = s.modern("1", method, r#""notifications":{}"#).without("mcp-protocol-version");
                let asked = field.into_iter().fold(asked, |asked, field| asked.version(field));
                let asked = id.into_iter().fold(asked, |asked, id| asked.with(id));
                let refused = asked.refused();
                assert_eq!(told(&refused), (400, code::HEADER_MISMATCH, Some("1".into())), "{field:?}");
            }
        }
    }
    assert_eq!(s.stats(), before);
    s.finish();
}

#[test]
fn i12_a_proxy_cannot_make_a_sessions_request_a_stateless_one() {
    let mut s = Script::new();
    let session = s.open();
    let idle = s.config().session_idle.unwrap();
    s.advance(idle / 2);
    for body in [
        ask::request("1", "t"),
        r#"{"jsonrpc":"2.0","id":1,"method":"t","params":{"_meta":{"progressToken":1}}}"#.into(),
        ask::initialize("1", "2025-11-25"),
    ] {
        let refused = s.post(body).version(STATELESS).field("mcp-method", "t").with(&session.id).refused();
        assert_eq!(told(&refused), (400, code::INVALID_PARAMS, Some("1".into())));
    }
    assert_eq!(s.advance(idle / 2), [end(session.key, EndReason::Idle)], "the session was not used");
    // Stripped, it is still what it was.
    let session = s.open();
    let call = s.post(ask::request("1", "t")).without("mcp-protocol-version").with(&session.id).admit();
    s.call_of(Some(&session), &call, "1", "t");
    s.finish();
}

#[test]
fn r13_an_unknown_method_is_404_here_and_200_in_a_session() {
    let mut s = Script::new();
    for version in Version::HANDSHAKE {
        let session = s.open_at(version);
        let (in_session, alone) = (s.call(&session, "7", "t"), s.solo("7"));
        let text = ask::error_text("7", code::METHOD_NOT_FOUND, "no");
        assert_eq!(s.fail(in_session, code::METHOD_NOT_FOUND, "no"), [in_session.json(&text)]);
        let answer = json_error(alone.exchange, ErrorStatus::NotFound, &text);
        assert_eq!(s.fail(alone, code::METHOD_NOT_FOUND, "no"), [answer]);
        for code in [code::INVALID_PARAMS, code::HEADER_MISMATCH, code::UNSUPPORTED_VERSION] {
            let call = s.call(&session, "8", "t");
            assert_eq!(s.fail(call, code, "no"), [call.json(&ask::error_text("8", code, "no"))]);
        }
    }
    s.finish();
}

#[test]
fn r13_a_disconnect_cancels_here_and_not_in_a_session() {
    let mut s = Script::new();
    let session: Session = s.open();
    let (in_session, alone) = (s.call(&session, "7", "t"), s.solo("7"));
    assert_eq!(s.gone(in_session.exchange), [], "C10");
    let cancelled = s.gone(alone.exchange);
    assert!(matches!(cancelled[..], [Action::Cancel { call, .. }] if call == alone.call), "{cancelled:?}");
    s.finish();
}
