//! Every way in which an `initialize` leaves no session: S1, R1, R2.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, CancelReason, DiscardReason, Event, Outbound, SendError};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::code;
use mcp_http_core::reject::Reject;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{Chance, Opening, Script, ask, assert_unknown, error, json, only_reject, told};

const TICK: Duration = Duration::from_nanos(1);

fn discard(opening: &Opening, reason: DiscardReason) -> Action {
    Action::Discard { session: opening.key, reason }
}

fn cancel(opening: &Opening, reason: CancelReason) -> Action {
    Action::Cancel { call: opening.call, reason }
}

#[test]
fn s1_a_refusal_at_intake_leaves_nothing() {
    let mut s = Script::new();
    let init = || ask::initialize("1", "2025-11-25");
    let statuses = [
        s.post(init()).without("host").field("host", "evil.example").refused(),
        s.post(init()).field("origin", "http://evil.example").refused(),
        s.post(init()).field("origin", "null").refused(),
        s.post(init()).method("PUT").refused(),
        s.post(init()).method("HEAD").refused(),
        s.post(init()).method("PATCH").refused(),
        s.post(init()).accept("text/html").refused(),
        s.post(init()).without("content-type").field("content-type", "text/plain").refused(),
        s.post(init()).without("content-type").refused(),
        s.post(init()).field("content-length", "99999999").refused(),
        s.post(init()).version("2025-06-18").refused(),
        s.post(init()).field("mcp-session-id", "has blank").refused(),
        s.get().refused(),
        s.delete().refused(),
    ]
    .map(|reject| told(&reject).0);
    assert_eq!(statuses, [421, 403, 403, 405, 405, 405, 406, 415, 415, 413, 400, 400, 400, 400]);
    assert_eq!(s.stats().total.created, 0);
    s.finish();
}

#[test]
fn s1_gone_in_the_body_was_never_admitted() {
    let mut s = Script::new();
    s.post(ask::initialize("1", "2025-11-25")).head_only();
    s.post("").head_only();
    assert_eq!((s.stats().total.created, s.stats().exchanges), (0, 0));
    s.finish();
}

#[test]
fn s1_an_error_answer_to_initialize_leaves_no_session() {
    let mut s = Script::new();
    let opening = s.opening();
    let actions = s.send(opening.target(), error(code::INVALID_PARAMS, "no"));
    let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#;
    let answer = json(opening.exchange, text);
    // The session is over before or after the answer; the answer bears no id either way.
    let over = discard(&opening, DiscardReason::Refused);
    assert!(actions == [over.clone(), answer.clone()] || actions == [answer, over], "{actions:?}");
    assert_eq!(s.stats().sessions, 0);
    assert_unknown(&mut s, &opening.id);
    assert_eq!(s.flushed(opening.exchange), []);
    s.finish();
}

#[test]
fn s1_an_error_answer_whose_reader_is_gone_leaves_no_session() {
    let mut s = Script::new();
    let opening = s.opening();
    s.send(opening.target(), error(code::INTERNAL_ERROR, "no"));
    assert_eq!(s.gone(opening.exchange), []);
    s.finish();
}

#[test]
fn s1_an_application_that_fails_leaves_no_session() {
    let mut s = Script::new();
    let opening = s.opening();
    let actions = s.event(Event::SessionFailed { session: opening.key });
    let reject = one_reject(&actions, &opening);
    assert_eq!(told(&reject), (500, -32603, Some("1".into())));
    assert!(actions.contains(&discard(&opening, DiscardReason::Failed)), "{actions:?}");
    assert_eq!(s.stats().exchanges, 0);
    assert_unknown(&mut s, &opening.id);
    // Its late answer is nobody's.
    let late = s.try_send(
        opening.target(),
        Outbound::Initialized { version: Version::V2025_11_25, result: Json::EMPTY_OBJECT },
    );
    assert!(matches!(late, Err(SendError::Gone(_))), "{late:?}");
    assert_eq!(s.event(Event::SessionFailed { session: opening.key }), []);
    s.finish();
}

/// The one refusal among the actions, which are at most Cancel, Discard and it.
#[track_caller]
fn one_reject(actions: &[Action], opening: &Opening) -> Reject {
    let mut rejects = Vec::new();
    for action in actions {
        match action {
            Action::Reject { exchange, reject } if *exchange == opening.exchange => {
                rejects.push(reject.clone())
            }
            Action::Cancel { call, .. } if *call == opening.call => {}
            Action::Discard { session, .. } if *session == opening.key => {}
            other => panic!("{other:?} among {actions:?}"),
        }
    }
    assert_eq!(rejects.len(), 1, "{actions:?}");
    rejects.remove(0)
}

#[test]
fn s1_a_handler_silent_past_the_establish_deadline_leaves_no_session() {
    let mut s = Script::new();
    let opening = s.opening();
    let establish = s.config().establish;
    assert_eq!(s.next_deadline(), Some(establish));
    assert_eq!(s.advance(establish - TICK), [], "sse_commit_after does not apply to initialize");
    let actions = s.advance(TICK);
    assert_eq!(told(&one_reject(&actions, &opening)), (503, -32603, Some("1".into())));
    assert!(actions.contains(&cancel(&opening, CancelReason::Discarded)), "{actions:?}");
    assert!(actions.contains(&discard(&opening, DiscardReason::Timeout)), "{actions:?}");
    assert_eq!(actions.len(), 3);
    assert_unknown(&mut s, &opening.id);
    let late = s.try_send(opening.target(), error(code::INTERNAL_ERROR, "late"));
    assert!(matches!(late, Err(SendError::Gone(_))), "{late:?}");
    s.finish();
}

#[test]
fn s1_a_client_gone_before_the_answer_leaves_no_session() {
    let mut s = Script::new();
    let opening = s.opening();
    assert_eq!(
        s.gone(opening.exchange),
        [cancel(&opening, CancelReason::Disconnected), discard(&opening, DiscardReason::ClientGone)]
    );
    assert_unknown(&mut s, &opening.id);
    let late = s.try_send(
        opening.target(),
        Outbound::Initialized { version: Version::V2025_11_25, result: Json::EMPTY_OBJECT },
    );
    assert!(matches!(late, Err(SendError::Gone(_))), "{late:?}");
    assert_eq!(s.gone(opening.exchange), [], "X2");
    s.finish();
}

#[test]
fn s1_a_client_gone_during_the_write_of_the_answer_leaves_no_session() {
    let mut s = Script::new();
    let opening = s.offered();
    assert_eq!(s.gone(opening.exchange), [discard(&opening, DiscardReason::Undelivered)]);
    assert_unknown(&mut s, &opening.id);
    assert_eq!(s.flushed(opening.exchange), [], "R11");
    s.finish();
}

#[test]
fn s1_a_client_that_does_not_read_the_answer_leaves_no_session() {
    let mut s = Script::new();
    let opening = s.offered();
    let actions = s.event(Event::Stalled { exchange: opening.exchange });
    let close = Action::Close { exchange: opening.exchange };
    let over = discard(&opening, DiscardReason::Undelivered);
    assert_eq!(actions, [over, close]);
    assert_unknown(&mut s, &opening.id);
    s.finish();
}

#[test]
fn s1_an_offer_not_taken_by_the_establish_deadline_is_discarded() {
    let mut s = Script::new();
    let opening = s.opening();
    let establish = s.config().establish;
    assert_eq!(s.advance(establish / 2), []);
    assert_eq!(s.accept(&opening), [opening.offer()]);
    assert_eq!(s.advance(establish / 2 - TICK), []);
    let actions = s.advance(TICK);
    assert!(actions.contains(&discard(&opening, DiscardReason::Timeout)), "{actions:?}");
    // The response is under way and can no longer be completed as what it says (R4): only its connection
    // can be closed.
    assert!(actions.contains(&Action::Close { exchange: opening.exchange }), "{actions:?}");
    assert_eq!(actions.len(), 2, "{actions:?}");
    assert_unknown(&mut s, &opening.id);
    s.finish();
}

#[test]
fn s1_no_entropy_is_a_refusal_and_nothing_else() {
    let mut s = Script::new();
    let live = s.open();
    s.chance(Chance::Fails);
    let admission = s.post(ask::initialize("1", "2025-11-25")).admit();
    let refused = told(only_reject(&admission.actions, admission.exchange));
    assert_eq!(refused, (503, -32603, Some("1".into())));
    assert_eq!((s.stats().total.created, s.stats().sessions, s.sessions()), (1, 1, 1));
    let call = s.call(&live, "2", "ping");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("2", "{}"))]);
    s.chance(Chance::Counts);
    s.open();
    s.finish();
}

#[test]
fn s1_no_entropy_at_the_cap_throws_nobody_out() {
    let mut s = Script::with(|config| config.sessions_max = 1);
    let session = s.unconfirmed();
    s.chance(Chance::Fails);
    let admission = s.post(ask::initialize("1", "2025-11-25")).admit();
    assert_eq!(told(only_reject(&admission.actions, admission.exchange)).0, 503);
    assert_eq!(s.stats().sessions, 1);
    s.initialized(&session);
    s.finish();
}

#[test]
fn s1_a_shutdown_in_between_leaves_no_session() {
    let mut s = Script::new();
    let pending = s.opening();
    let actions = s.shutdown(Duration::from_secs(10));
    let reject = one_reject(&actions, &pending);
    assert_eq!(told(&reject), (503, -32000, Some("1".into())));
    assert!(reject.into_answer().close, "X1: Connection: close");
    assert!(actions.contains(&cancel(&pending, CancelReason::Discarded)), "{actions:?}");
    assert!(actions.contains(&discard(&pending, DiscardReason::Shutdown)), "{actions:?}");
    assert_eq!(actions.len(), 3);
    let late = s.post(ask::initialize("1", "2025-11-25")).admit();
    let reject = only_reject(&late.actions, late.exchange).clone();
    assert_eq!(told(&reject), (503, -32000, Some("1".into())));
    assert!(reject.into_answer().close);
    s.finish();
}

#[test]
fn s1_a_shutdown_of_an_offered_session_ends_in_one_way() {
    let mut s = Script::new();
    let offered = s.offered();
    let until = Duration::from_secs(10);
    s.shutdown(until);
    s.advance(until);
    assert_eq!(s.stats().sessions, 0);
    s.finish();
    let mut s = Script::new();
    let again = s.offered();
    assert_eq!(again.id, offered.id, "R10");
    s.finish_by_shutdown(true);
    let mut s = Script::new();
    s.offered();
    s.finish_by_shutdown(false);
}

#[test]
fn d2_a_peer_that_shut_its_side_and_never_comes_back_has_no_session() {
    for half_closed_first in [true, false] {
        let mut s = Script::new();
        let opening = s.opening();
        let half = Event::HalfClosed { exchange: opening.exchange };
        if half_closed_first {
            assert_eq!(s.event(half.clone()), []);
        }
        assert_eq!(s.accept(&opening), [opening.offer()]);
        if !half_closed_first {
            assert_eq!(s.event(half), []);
        }
        assert_eq!(s.flushed(opening.exchange), []);
        let confirm = s.config().confirm;
        assert_eq!(s.advance(confirm - TICK), []);
        assert_eq!(s.advance(TICK), [discard(&opening, DiscardReason::Timeout)]);
        s.finish();
    }
}

/// S2: no unused session lives longer than the idle time, be it offered or committed.
#[test]
fn d2_a_peer_that_shut_its_side_has_no_more_than_the_idle_time() {
    let idle = Duration::from_secs(2);
    let mut s = Script::with(|config| config.session_idle = Some(idle));
    let opening = s.opening();
    assert_eq!(s.event(Event::HalfClosed { exchange: opening.exchange }), []);
    assert_eq!(s.accept(&opening), [opening.offer()]);
    assert_eq!(s.flushed(opening.exchange), []);
    assert_eq!(s.advance(idle - TICK), []);
    assert_eq!(s.advance(TICK), [discard(&opening, DiscardReason::Timeout)]);
    s.finish();
}

#[test]
fn d2_a_peer_that_shut_its_side_and_leaves_has_no_session() {
    let mut s = Script::new();
    let opening = s.opening();
    assert_eq!(s.event(Event::HalfClosed { exchange: opening.exchange }), []);
    assert_eq!(
        s.gone(opening.exchange),
        [cancel(&opening, CancelReason::Disconnected), discard(&opening, DiscardReason::ClientGone)]
    );
    s.finish();
}
