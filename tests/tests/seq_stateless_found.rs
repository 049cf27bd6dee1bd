//! Sequences of the stateless era, and of announcements, in which a rule was once broken; each is the shortest.

use std::time::Duration;

use mcp_http_core::config::Publishes;
use mcp_http_core::endpoint::{Action, Outbound, SendError, Topic};
use mcp_http_core::h1::Body;
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{ErrorObject, code};
use mcp_http_tests::script::{Script, error_code, messages, note, session_of};

const EVERYTHING: Publishes = Publishes { tools: true, prompts: true, resources: true, updates: true };

fn everything() -> Script {
    Script::with(|config| config.publishes = EVERYTHING)
}

fn sized(bytes: usize, droppable: bool) -> Outbound {
    let params = Json::from_text(format!(r#"{{"x":"{}"}}"#, "x".repeat(bytes)).into()).unwrap();
    Outbound::Notice { method: "x".into(), params: Some(params), droppable }
}

/// Z7: the status is by the code that goes out, and not by the one that was too large to go out.
#[test]
fn z7_an_error_that_is_too_large_has_the_status_of_what_goes_out() {
    let mut s = Script::with(|config| config.message_bytes_max = 200);
    let call = s.solo("7");
    let error = ErrorObject::new(code::METHOD_NOT_FOUND, "x".repeat(300));
    let actions = s.send(call.target(), Outbound::Error { error });
    let [Action::Respond { response, .. }] = &actions[..] else { panic!("{actions:?}") };
    let answer = response.clone().into_answer();
    let Body::Full(body) = &answer.body else { panic!("{answer:?}") };
    let sent = error_code(std::str::from_utf8(body).unwrap());
    assert_eq!((answer.status.as_u16(), sent), (200, code::INTERNAL_ERROR));
    s.finish();
}

/// Z10: what the application sent to a session is no sign that its client reads the standalone stream.
#[test]
fn z10_a_session_that_was_sent_a_notice_has_not_opened_its_stream() {
    let mut s = everything();
    let session = s.open();
    s.send(session_of(&session), note(1));
    assert_eq!(s.publish(&Topic::Tools), (0, vec![]));
    let get = s.listen(&session);
    assert_eq!(messages(&s.pull(get)), [mcp_http_tests::script::ask::note_text(1)]);
    s.finish();
}

/// The same of a resource that it subscribed to.
#[test]
fn z10_a_session_that_was_told_of_a_resource_has_not_opened_its_stream() {
    let mut s = everything();
    let session = s.open();
    s.subscribe(&session, "a:b");
    assert_eq!(s.publish(&Topic::Resource("a:b".into())).0, 1);
    assert_eq!(s.publish(&Topic::Tools), (0, vec![]));
    s.finish();
}

/// R8: acknowledgements wait in rings like everything else, and are no last frames.
#[test]
fn r8_acknowledgements_keep_within_the_servers_memory() {
    const MEMORY: usize = 64 * 1024;
    let mut s = Script::with(|config| {
        config.publishes = EVERYTHING;
        config.memory_max = MEMORY;
        config.message_bytes_max = MEMORY;
        config.body_bytes_max = MEMORY;
    });
    let asked = format!(r#"{{"resourceSubscriptions":["{}"]}}"#, "x".repeat(MEMORY / 2));
    for _ in 0..4 {
        // Refused or not: it must not wait for want of room elsewhere.
        let _ = s.listening("1", &asked).admit();
    }
    assert!(s.buffered_bytes() <= MEMORY, "{}", s.buffered_bytes());
    s.finish();
}

/// R9: `Writable` follows when there is room, and not because there was no memory for something else once.
#[test]
fn r9_no_memory_for_an_announcement_wakes_no_sender() {
    let mut s = Script::with(|config| {
        config.publishes = EVERYTHING;
        config.ring_frames_max = 2;
        config.memory_max = 2000;
        config.message_bytes_max = 2000;
        config.body_bytes_max = 2000;
        config.sse_commit_after = Duration::from_secs(60);
    });
    let tools = r#"{"toolsListChanged":true}"#;
    s.listener("1", tools, tools);
    let (hog, call) = (s.solo("2"), s.solo("3"));
    s.send(hog.target(), sized(1900, false));
    assert_eq!(s.publish(&Topic::Tools).0, 0, "there is no memory for it");
    s.pull(hog.exchange);
    s.send(call.target(), note(1));
    s.send(call.target(), note(2));
    let full = s.try_send(call.target(), note(3));
    assert!(matches!(full, Err(SendError::Full(_))), "{full:?}");
    let actions = s.advance(Duration::from_secs(1));
    assert_eq!(actions, [], "its ring is as full as it was");
    s.finish();
}
