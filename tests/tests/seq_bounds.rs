//! What is kept makes room for what is live, and tables stay bounded: R8, R9.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, Outbound, Pulled, SendError, Target};
use mcp_http_core::json::Json;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{Call, Script, ask, messages, note, progress, stream, streaming};

fn tight() -> Script {
    Script::with(|config| {
        config.ring_bytes_max = 1000;
        config.session_ring_bytes_max = 1000;
    })
}

/// Fills the stream until its sender would wait, or `count` frames.
fn fill(s: &mut Script, call: Call, count: u32) {
    for number in 0..count {
        if s.try_send(call.target(), note(number)).is_err() {
            return;
        }
    }
}

#[test]
fn r9_frames_kept_for_a_broken_stream_make_room_for_a_live_one() {
    let mut s = tight();
    let session = s.open();
    let (broken, live) = (streaming(&mut s, &session, "1"), streaming(&mut s, &session, "2"));
    s.gone(broken.exchange);
    fill(&mut s, broken, 50);
    for number in 0..20 {
        assert_eq!(s.send(live.target(), note(number)), [live.pull()], "nobody reads what blocks it");
        assert_eq!(messages(&s.pull(live.exchange)), [ask::note_text(number)]);
        assert!(s.stats().buffered_bytes <= 1000, "{}", s.stats().buffered_bytes);
    }
    s.answer(live, "{}");
    s.answer(broken, "{}");
    s.finish();
}

#[test]
fn r9_frames_kept_for_a_finished_stream_make_room_for_a_live_one() {
    let mut s = tight();
    let session = s.open();
    let (done, live) = (streaming(&mut s, &session, "1"), streaming(&mut s, &session, "2"));
    fill(&mut s, done, 50);
    s.pull(done.exchange);
    s.answer(done, "{}");
    s.pull(done.exchange);
    s.flushed(done.exchange);
    for number in 0..20 {
        assert_eq!(s.send(live.target(), note(number)), [live.pull()]);
        s.pull(live.exchange);
    }
    s.answer(live, "{}");
    s.finish();
}

#[test]
fn r9_frames_behind_the_cursor_of_another_live_stream_make_room() {
    let mut s = tight();
    let session = s.open();
    let (read, live) = (streaming(&mut s, &session, "1"), streaming(&mut s, &session, "2"));
    for number in 0..9 {
        s.send(read.target(), note(number));
        s.pull(read.exchange);
    }
    for number in 0..20 {
        assert_eq!(s.send(live.target(), note(number)), [live.pull()]);
        s.pull(live.exchange);
    }
    s.answer(live, "{}");
    s.answer(read, "{}");
    s.finish();
}

#[test]
fn r9_frames_kept_on_the_standalone_stream_make_room_for_a_call() {
    let mut s = tight();
    let session = s.open();
    let target = Target::Session(session.key);
    for number in 0..50 {
        assert_eq!(s.send(target, note(number)), [], "before the first GET nobody waits");
    }
    let live = s.call(&session, "2", "t");
    for number in 0..20 {
        let sent = s.try_send(live.target(), note(number));
        assert!(sent.is_ok(), "{number}: {sent:?}");
        s.pull(live.exchange);
    }
    s.answer(live, "{}");
    s.finish();
}

#[test]
fn r8_finished_streams_of_a_session_are_bounded() {
    let mut s = Script::with(|config| {
        config.ring_bytes_max = 1000;
        config.session_ring_bytes_max = 2000;
        config.ring_frames_max = 8;
    });
    let session = s.open();
    let mut most = 0;
    for _ in 0..500 {
        let call = streaming(&mut s, &session, "1");
        s.answer(call, "{}");
        s.pull(call.exchange);
        s.flushed(call.exchange);
        most = most.max(s.stats().streams);
    }
    assert!(most <= 100, "{most} streams for 2000 bytes");
    assert!(s.stats().deadlines <= 100 + 2, "{} deadlines", s.stats().deadlines);
    s.finish();
}

#[test]
fn r8_streams_of_clients_that_leave_are_bounded() {
    let mut s = Script::with(|config| {
        config.ring_bytes_max = 1000;
        config.session_ring_bytes_max = 2000;
        config.calls_per_session_max = 4;
        config.sse_commit_after = Duration::from_millis(1);
    });
    let session = s.open();
    let mut most = 0;
    for _ in 0..500 {
        let call = s.call(&session, "1", "t");
        s.advance(s.config().sse_commit_after);
        s.pull(call.exchange);
        s.gone(call.exchange);
        s.answer(call, "{}");
        most = most.max(s.stats().streams);
    }
    assert!(most <= 100, "{most} streams for 2000 bytes");
    s.finish();
}

fn large(length: usize) -> String {
    format!(r#"{{"text":"{}"}}"#, "x".repeat(length))
}

#[test]
fn c8_an_answer_larger_than_the_ring_is_kept_whole_for_a_resume() {
    let mut s = tight();
    let session = s.open();
    let call = streaming(&mut s, &session, "7");
    s.send(call.target(), note(1));
    let last = s.pull(call.exchange).last_id();
    s.gone(call.exchange);
    let text = large(3000);
    assert_eq!(s.answer(call, &text), []);
    let again = s.get().with(&session.id).after(&last).admit();
    assert_eq!(again.actions, stream(again.exchange));
    let drawn = s.pull(again.exchange);
    assert_eq!((messages(&drawn), drawn.pulled), (vec![ask::result_text("7", &text)], Pulled::End));
    s.finish();
}

#[test]
fn r9_an_answer_larger_than_the_ring_gets_through_behind_unread_frames() {
    let mut s = tight();
    let session = s.open();
    let call = streaming(&mut s, &session, "7");
    s.send(call.target(), note(1));
    s.send(call.target(), note(2));
    let text = large(3000);
    let answer = Outbound::Result { result: Json::from_text(text.clone().into()).unwrap() };
    let mut got = Vec::new();
    match s.try_send(call.target(), answer.clone()) {
        Ok(actions) => assert_eq!(actions, []),
        Err(SendError::Full(_)) => {
            let drawn = s.pull(call.exchange);
            got.extend(messages(&drawn));
            assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
            s.send(call.target(), answer);
        }
        Err(other) => panic!("{other:?}"),
    }
    let drawn = s.pull(call.exchange);
    got.extend(messages(&drawn));
    assert_eq!(got, [ask::note_text(1), ask::note_text(2), ask::result_text("7", &text)]);
    assert_eq!(drawn.pulled, Pulled::End);
    s.finish();
}

#[test]
fn r8_an_unread_large_answer_in_json_is_no_ring_matter() {
    let mut s = tight();
    let session = s.open();
    let call = s.call(&session, "7", "t");
    let text = large(5000);
    assert_eq!(s.answer(call, &text), [call.json(&ask::result_text("7", &text))]);
    s.finish();
}

#[test]
fn r8_a_detached_stream_drops_droppable_frames_before_others() {
    let mut s = Script::with(|config| config.ring_frames_max = 3);
    let session = s.open_at(Version::V2025_06_18);
    let call = streaming(&mut s, &session, "1");
    s.send(call.target(), note(1));
    let last = s.pull(call.exchange).last_id();
    s.gone(call.exchange);
    s.send(call.target(), note(2));
    s.send(call.target(), progress(1));
    s.send(call.target(), progress(2));
    s.send(call.target(), note(3));
    s.send(call.target(), note(4));
    let again = s.get().with(&session.id).after(&last).admit();
    assert_eq!(again.actions, stream(again.exchange), "no message that matters is missing");
    let drawn = s.pull(again.exchange);
    assert_eq!(messages(&drawn), [ask::note_text(2), ask::note_text(3), ask::note_text(4)]);
    s.answer(call, "{}");
    s.finish();
}
