//! How a session comes to be: S1, S2, R1, R3. How one does not is in `seq_establish_discarded`.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, Delivery, DiscardReason, EndReason, Event};
use mcp_http_core::jsonrpc::code;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Chance, Opening, Script, accepted, ask, assert_unknown, no_content, only_reject, told,
};

const TICK: Duration = Duration::from_nanos(1);

fn discard(opening: &Opening, reason: DiscardReason) -> Action {
    Action::Discard { session: opening.key, reason }
}

#[test]
fn s1_accepted_flushed_and_used_is_a_session() {
    let mut s = Script::new();
    let opening = s.opening();
    assert_eq!((s.stats().sessions, s.stats().pending), (1, 1));
    assert_eq!(s.accept(&opening), [opening.offer()]);
    assert_eq!((s.stats().sessions, s.stats().pending), (1, 0));
    assert_eq!(s.flushed(opening.exchange), [Action::Commit { session: opening.key }]);
    let session = opening.session();
    s.initialized(&session);
    let call = s.call(&session, "2", "tools/list");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("2", "{}"))]);
    assert_eq!(s.flushed(call.exchange), []);
    s.finish();
}

#[test]
fn r3_only_a_sound_initialize_creates() {
    let init = ask::initialize("1", "2025-11-25");
    let bodies: &[(&str, u16, i64)] = &[
        ("", 400, code::PARSE_ERROR),
        ("{", 400, code::PARSE_ERROR),
        ("[]", 400, code::INVALID_REQUEST),
        ("7", 400, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"1.0","id":1,"method":"initialize"}"#, 400, code::INVALID_REQUEST),
        (
            r#"{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}}"#,
            400,
            code::INVALID_REQUEST,
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"initialize","params":{}}"#, 400, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"initialize","params":{}}"#, 400, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"initialize","params":{}}"#, 400, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, 400, code::INVALID_PARAMS),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"clientInfo":{}}}"#,
            400,
            code::INVALID_PARAMS,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"capabilities":{},"clientInfo":{}}}"#,
            400,
            code::INVALID_PARAMS,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{}}}"#,
            400,
            code::INVALID_PARAMS,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
            400,
            code::INVALID_PARAMS,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"Initialize","params":{}}"#, 400, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, 400, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 400, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, code::INVALID_REQUEST),
    ];
    let mut s = Script::new();
    for (body, status, code) in bodies {
        let (told_status, told_code, _) = told(&s.post(body.to_string()).refused());
        assert_eq!((told_status, told_code), (*status, *code), "{body}");
        assert_eq!((s.stats().total.created, s.stats().exchanges), (0, 0), "{body}");
    }
    for batch in [format!("[{init}]"), format!("[{init},{}]", ask::request("2", "ping"))] {
        assert_eq!(told(&s.post(batch).refused()).0, 400);
    }
    assert_eq!(s.stats().total.created, 0);
    s.finish();
}

#[test]
fn r3_initialize_that_bears_an_id_never_creates() {
    let mut s = Script::new();
    let live = s.open();
    for id in ["not-ours", "0000000000000000000000000000000000000000000000000000"] {
        let admission = s.post(ask::initialize("1", "2025-11-25")).field("mcp-session-id", id).admit();
        let refused = told(only_reject(&admission.actions, admission.exchange));
        assert_eq!(refused, (404, -32001, Some("1".into())));
    }
    let admission = s.post(ask::initialize("1", "2025-11-25")).with(&live.id).admit();
    let refused = told(only_reject(&admission.actions, admission.exchange));
    assert_eq!(refused, (400, -32600, Some("1".into())));
    assert_eq!((s.stats().total.created, s.stats().sessions), (1, 1));
    let call = s.call(&live, "2", "ping");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("2", "{}"))]);
    s.finish();
}

#[test]
fn s2_a_client_gone_after_flushed_leaves_an_unconfirmed_session_that_ends_at_its_deadline() {
    let mut s = Script::new();
    let session = s.unconfirmed();
    let confirm = s.config().confirm;
    assert_eq!(s.advance(confirm - TICK), []);
    assert_eq!(s.stats().sessions, 1);
    assert_eq!(s.advance(TICK), [Action::End { session: session.key, reason: EndReason::Unconfirmed }]);
    s.finish();
}

#[test]
fn s2_the_confirm_deadline_is_the_smaller_of_confirm_and_idle() {
    let idle = Duration::from_secs(20);
    let mut s = Script::with(|config| config.session_idle = Some(idle));
    let session = s.unconfirmed();
    assert_eq!(s.advance(idle - TICK), []);
    assert_eq!(s.advance(TICK), [Action::End { session: session.key, reason: EndReason::Unconfirmed }]);
    s.finish();
}

#[test]
fn s2_gone_after_flushed_says_nothing_new() {
    let mut s = Script::new();
    let opening = s.offered();
    assert_eq!(s.flushed(opening.exchange), [Action::Commit { session: opening.key }]);
    assert_eq!(s.gone(opening.exchange), []);
    assert_eq!(s.flushed(opening.exchange), []);
    let session = opening.session();
    s.initialized(&session);
    // It is confirmed: only the idle clock runs now.
    assert_eq!(s.advance(s.config().confirm), []);
    assert_eq!(s.stats().sessions, 1);
    s.finish();
}

#[test]
fn s1_the_id_used_before_flushed_commits_then() {
    let mut s = Script::new();
    let opening = s.offered();
    let session = opening.session();
    let admission = s.post(ask::notice("notifications/initialized")).with(&opening.id).admit();
    let [commit, deliver] = &admission.actions[..] else { panic!("{:?}", admission.actions) };
    assert_eq!(*commit, Action::Commit { session: opening.key });
    let Action::Deliver { delivery: Delivery::Notice { message, .. }, .. } = deliver else {
        panic!("{deliver:?}")
    };
    assert_eq!(s.event(Event::Taken { message: *message }), [accepted(admission.exchange)]);
    assert_eq!(s.flushed(opening.exchange), [], "committed once");
    // Used, so not unconfirmed.
    assert_eq!(s.flushed(admission.exchange), []);
    assert_eq!(s.advance(s.config().confirm), []);
    let call = s.call(&session, "2", "ping");
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn s1_the_id_used_before_the_write_failed_is_a_session() {
    let mut s = Script::new();
    let opening = s.offered();
    let admission = s.post(ask::request("2", "ping")).with(&opening.id).admit();
    assert_eq!(admission.actions[0], Action::Commit { session: opening.key });
    assert_eq!(s.gone(opening.exchange), [], "the id was used");
    assert_eq!(s.stats().sessions, 1);
    s.finish();
}

#[test]
fn s1_the_id_used_by_somebody_else_before_flushed_commits_nothing() {
    let mut s = Script::new();
    let opening = s.opening_of(Version::V2025_11_25, Some("alice"));
    assert_eq!(s.accept(&opening), [opening.offer()]);
    let admission = s.post(ask::request("2", "ping")).with(&opening.id).who("bob").admit();
    assert_eq!(told(only_reject(&admission.actions, admission.exchange)).0, 404);
    assert_eq!(s.gone(opening.exchange), [discard(&opening, DiscardReason::Undelivered)]);
    s.finish();
}

#[test]
fn s1_a_pending_id_is_nobodys() {
    let mut s = Script::new();
    let opening = s.opening();
    assert_unknown(&mut s, &opening.id);
    let get = s.get().with(&opening.id).admit();
    assert_eq!(told(only_reject(&get.actions, get.exchange)), (404, -32001, None));
    let delete = s.delete().with(&opening.id).admit();
    assert_eq!(told(only_reject(&delete.actions, delete.exchange)), (404, -32001, None));
    assert!(s.post(ask::request("2", "ping")).with(&opening.id).version("2025-11-25").glance().is_err());
    // Nor does the use of it help it along.
    assert_eq!(s.accept(&opening), [opening.offer()]);
    assert_eq!(s.flushed(opening.exchange), [Action::Commit { session: opening.key }]);
    s.finish();
}

#[test]
fn s3_delete_of_an_offered_session_commits_and_ends() {
    let mut s = Script::new();
    let opening = s.offered();
    let delete = s.delete().with(&opening.id).admit();
    assert_eq!(
        delete.actions,
        [
            Action::Commit { session: opening.key },
            Action::End { session: opening.key, reason: EndReason::Deleted },
            no_content(delete.exchange)
        ]
    );
    assert_eq!(s.flushed(delete.exchange), []);
    assert_eq!(s.flushed(opening.exchange), []);
    assert_unknown(&mut s, &opening.id);
    s.finish();
}

#[test]
fn r10_entropy_that_repeats_itself_gives_distinct_ids() {
    let mut s = Script::sharded(2, |_| {});
    s.chance(Chance::Repeats);
    let mut ids = Vec::new();
    for shard in [0, 1, 0, 1, 0] {
        let opening = s.on(shard).opening();
        let session = s.commit(&opening);
        ids.push(session.id.as_bytes().to_vec());
        if ids.len() == 3 {
            let delete = s.delete().with(&session.id).admit();
            s.flushed(delete.exchange);
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    s.finish();
}

#[test]
fn d2_a_peer_that_shut_its_side_and_uses_its_id_has_a_session() {
    let mut s = Script::new();
    let opening = s.opening();
    assert_eq!(s.event(Event::HalfClosed { exchange: opening.exchange }), []);
    assert_eq!(s.accept(&opening), [opening.offer()]);
    assert_eq!(s.flushed(opening.exchange), []);
    let admission = s.post(ask::request("2", "ping")).with(&opening.id).admit();
    assert_eq!(admission.actions[0], Action::Commit { session: opening.key });
    assert_eq!(admission.actions.len(), 2);
    s.finish();
}
