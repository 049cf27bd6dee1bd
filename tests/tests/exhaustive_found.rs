//! What the exhaustive searches found, each as the shortest sequence to it.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, DiscardReason, EndReason, SendError, Target};
use mcp_http_core::version::Version;
use mcp_http_tests::script::{Script, ask, messages, note, only_reject, progress, told};

/// A sender that was told to wait must hear of the room that a resume makes: the new reader is past the frame that
/// was in the way, has nothing to take, and so nothing else would ever wake the sender.
#[test]
fn r9_a_resume_that_makes_room_tells_the_sender() {
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let mut s = Script::with(|config| config.ring_frames_max = 2);
        let session = s.open_at(version);
        let own = Target::Session(session.key);
        let get = s.get().with(&session.id).admit().exchange;
        let ids = [1, 2, 3].map(|n| {
            s.send(own, note(n));
            s.pull(get).last_id()
        });
        s.get().with(&session.id).after(&ids[0]).admit();
        assert!(matches!(s.try_send(own, note(4)), Err(SendError::Full(_))));
        let current = s.get().with(&session.id).after(&ids[2]).admit();
        let drawn = s.pull(current.exchange);
        let all = [current.actions, drawn.actions].concat();
        let told = all.iter().filter(|action| **action == Action::Writable { target: own }).count();
        assert_eq!(told, 1, "R9: {all:?}");
        s.finish();
    }
}

/// D4: a session has no call, whether the answer's last byte or a use of the id has committed it.
#[test]
fn d4_a_session_that_a_refused_use_commits_during_a_shutdown_ends_at_once() {
    for is_get in [false, true] {
        let mut s = Script::new();
        let opening = s.offered();
        s.shutdown(Duration::from_secs(10));
        let used = match is_get {
            false => s.post(ask::request("2", "slow")).with(&opening.id).admit(),
            true => s.get().with(&opening.id).admit(),
        };
        let end = Action::End { session: opening.key, reason: EndReason::Shutdown };
        assert!(used.actions.contains(&end), "D4: {:?}", used.actions);
        s.finish();
    }
}

/// S10: nobody is thrown out while there is a free place.
#[test]
fn s10_a_place_that_another_session_left_is_taken_before_anybody_is_thrown_out() {
    let mut s = Script::with(|config| config.sessions_max = 2);
    let (_older, younger) = (s.unconfirmed(), s.unconfirmed());
    let new = s.opening();
    s.delete().with(&younger.id).admit();
    assert_eq!(s.accept(&new), [new.offer()]);
    s.finish();
}

/// S10, D6: nor is a session refused that has found a free place.
#[test]
fn s10_a_place_that_another_session_left_is_taken_when_the_victim_became_active() {
    let mut s = Script::with(|config| config.sessions_max = 2);
    let (older, younger) = (s.unconfirmed(), s.unconfirmed());
    let new = s.opening();
    let call = s.call(&older, "2", "slow");
    s.delete().with(&younger.id).admit();
    let actions = s.accept(&new);
    let no_room = Action::Discard { session: new.key, reason: DiscardReason::NoRoom };
    assert!(!actions.contains(&no_room), "one of two places is free: {actions:?}");
    assert_eq!(actions, [new.offer()]);
    s.answer(call, "{}");
    s.finish();
}

/// I13: a refusal echoes the id that was read.
#[test]
fn i13_a_call_of_an_unknown_session_has_its_id_echoed() {
    let mut s = Script::new();
    let opening = s.opening();
    let call = s.post(ask::request("2", "slow")).with(&opening.id).admit();
    let refused = told(only_reject(&call.actions, call.exchange));
    assert_eq!(refused, (404, -32001, Some("2".into())));
    s.finish();
}

/// R6: a notice that was read, and is left out for want of room, takes nothing with it that was not read. No fault of
/// the endpoint's was ever found here; one that was planted got past every search that did not read to the end.
#[test]
fn r6_what_is_left_out_behind_the_cursor_takes_nothing_else_with_it() {
    let mut s = Script::with(|config| config.ring_frames_max = 2);
    let session = s.open();
    let own = Target::Session(session.key);
    let get = s.get().with(&session.id).admit().exchange;
    s.send(own, progress(1));
    assert_eq!(messages(&s.pull(get)), [ask::progress_text(1)]);
    s.gone(get);
    s.send(own, note(1));
    s.send(own, note(2));
    let get = s.get().with(&session.id).admit().exchange;
    assert_eq!(messages(&s.pull(get)), [ask::note_text(1), ask::note_text(2)]);
    s.finish();
}
