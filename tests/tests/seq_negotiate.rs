//! What `initialize` is answered with: S11, R4, R5.

use mcp_http_core::answer::{Head, Response};
use mcp_http_core::endpoint::{Action, Outbound, Pulled, SendError, Target};
use mcp_http_core::h1::Body;
use mcp_http_core::json::Json;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{Script, ask, json_offer, message, note, question, result};

#[test]
fn s11_the_recorded_version_is_the_one_in_the_answer() {
    for chosen in Version::HANDSHAKE {
        let mut s = Script::new();
        let mut opening = s.opening();
        let result = Json::EMPTY_OBJECT;
        assert_eq!(
            s.send(opening.target(), Outbound::Initialized { version: chosen, result }),
            [opening.offer()]
        );
        s.flushed(opening.exchange);
        opening.version = chosen;
        let session = opening.session();
        // `call` looks that the delivery names this version.
        let call = s.call(&session, "2", "ping");
        assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("2", "{}"))]);
        s.finish();
    }
}

#[test]
fn s11_an_answer_with_a_version_of_another_era_is_misplaced() {
    let mut s = Script::new();
    let opening = s.opening();
    let result = Json::EMPTY_OBJECT;
    let wrong = Outbound::Initialized { version: Version::V2026_07_28, result };
    let sent = s.try_send(opening.target(), wrong);
    assert!(matches!(sent, Err(SendError::Misplaced(_))), "{sent:?}");
    s.commit(&opening);
    s.finish();
}

#[test]
fn s11_an_unknown_version_is_negotiated_to_the_newest() {
    let mut s = Script::new();
    for (asked, negotiated) in [
        ("2025-03-26", Version::V2025_03_26),
        ("2025-06-18", Version::V2025_06_18),
        ("2025-11-25", Version::V2025_11_25),
        ("2024-11-05", Version::V2025_11_25),
        ("2026-07-28", Version::V2025_11_25),
        ("9999-99-99", Version::V2025_11_25),
        ("", Version::V2025_11_25),
    ] {
        let admission = s.post(ask::initialize("1", asked)).admit();
        s.opened(&admission, negotiated);
    }
    s.finish();
}

#[test]
fn r11_what_is_no_answer_to_initialize_comes_back() {
    let mut s = Script::new();
    let opening = s.opening();
    let sent = s.try_send(opening.target(), result("{}"));
    assert!(matches!(sent, Err(SendError::Misplaced(_))), "{sent:?}");
    // The head of `initialize` is held: nothing may come before the answer.
    for early in [note(1), question(1)] {
        let sent = s.try_send(opening.target(), early);
        assert!(matches!(sent, Err(SendError::Misplaced(_) | SendError::Gone(_))), "{sent:?}");
    }
    s.commit(&opening);
    s.finish();
}

#[test]
fn r11_a_session_that_is_not_offered_has_no_stream() {
    let mut s = Script::new();
    let opening = s.opening();
    let sent = s.try_send(Target::Session(opening.key), question(1));
    assert!(matches!(sent, Err(SendError::Gone(_))), "{sent:?}");
    s.commit(&opening);
    s.finish();
}

#[test]
fn r5_the_id_of_initialize_is_echoed_byte_for_byte() {
    for id in ["0", r#""""#, r#""1""#, "-7", "123456789012345678901234567890", r#""\u0041""#] {
        let mut s = Script::new();
        let admission = s.post(ask::initialize(id, "2025-11-25")).admit();
        let opening = s.opened(&admission, Version::V2025_11_25);
        let offer = json_offer(opening.exchange, &opening.id, &ask::result_text(id, "{}"));
        assert_eq!(s.accept(&opening), [offer]);
        s.finish();
    }
}

#[test]
fn r4_initialize_for_a_client_that_takes_only_event_streams_bears_the_id_in_its_head() {
    let mut s = Script::new();
    let admission = s.post(ask::initialize("1", "2025-11-25")).accept("text/event-stream").admit();
    let opening = s.opened(&admission, Version::V2025_11_25);
    let actions = s.accept(&opening);
    let head = Head::EventStream { session: Some(opening.id.clone()) };
    let response = Response { head, body: Body::Stream, grant: None };
    let pull = Action::Pull { exchange: opening.exchange };
    assert_eq!(actions, [Action::Respond { exchange: opening.exchange, response }, pull]);
    let drawn = s.pull(opening.exchange);
    assert_eq!(drawn.said(), [message(ask::result_text("1", "{}"))]);
    assert_eq!(drawn.pulled, Pulled::End);
    assert_eq!(s.flushed(opening.exchange), [Action::Commit { session: opening.key }]);
    s.finish();
}
