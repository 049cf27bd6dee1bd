//! Readers that do not keep up: C11, R6, R8, R9.

use std::time::Duration;

use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{Action, Event, Outbound, Pulled};
use mcp_http_core::json::Json;
use mcp_http_tests::script::{
    Call, Script, assert_full, messages, note, notes, progress, resume, session_of, streaming,
};

fn small(config: &mut Config) {
    config.ring_frames_max = 3;
}

#[test]
fn r9_full_exactly_when_the_ring_is_full_of_unpulled_and_then_one_writable() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    assert_eq!(s.send(call.target(), note(1)), [call.pull()]);
    assert_eq!(s.send(call.target(), note(2)), []);
    assert_eq!(s.send(call.target(), note(3)), []);
    assert_full(&mut s, call.target(), note(4));
    assert_full(&mut s, call.target(), note(4));
    let drawn = s.pull_one(call.exchange);
    assert_eq!((messages(&drawn), drawn.pulled), (notes([1]), Pulled::More));
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    assert_eq!(s.pull_one(call.exchange).actions, [], "one Writable");
    assert_eq!(s.send(call.target(), note(4)), []);
    assert_eq!(s.send(call.target(), note(5)), []);
    assert_full(&mut s, call.target(), note(6));
    let drawn = s.pull(call.exchange);
    assert_eq!((messages(&drawn), drawn.pulled), (notes([3, 4, 5]), Pulled::Idle));
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn c11_the_same_on_the_standalone_stream() {
    let mut s = Script::with(small);
    let session = s.open();
    let target = session_of(&session);
    let get = s.listen(&session);
    s.pull(get);
    for number in 0..3 {
        s.send(target, note(number));
    }
    assert_full(&mut s, target, note(3));
    let drawn = s.pull_one(get);
    assert_eq!(drawn.actions, [Action::Writable { target }]);
    assert_eq!(s.send(target, note(3)), []);
    assert_eq!(messages(&s.pull(get)), notes(1..4));
    s.finish();
}

#[test]
fn c11_a_reader_that_does_not_read_affects_only_its_stream() {
    let mut s = Script::with(small);
    let (session, other) = (s.open(), s.open());
    let (stuck, free) = (streaming(&mut s, &session, "1"), streaming(&mut s, &session, "2"));
    let elsewhere = streaming(&mut s, &other, "1");
    for number in 1..4 {
        s.send(stuck.target(), note(number));
    }
    assert_full(&mut s, stuck.target(), note(4));
    for call in [free, elsewhere] {
        for number in 0..10 {
            assert_eq!(s.send(call.target(), note(number)), [call.pull()]);
            assert_eq!(messages(&s.pull(call.exchange)), notes([number]));
        }
        s.answer(call, "{}");
    }
    let stalled = s.event(Event::Stalled { exchange: stuck.exchange });
    let writable = Action::Writable { target: stuck.target() };
    let close = Action::Close { exchange: stuck.exchange };
    assert!(stalled == [writable.clone(), close.clone()] || stalled == [close, writable], "{stalled:?}");
    assert_eq!(s.send(stuck.target(), note(4)), []);
    s.answer(stuck, "{}");
    s.finish();
}

#[test]
fn r9_a_stream_that_breaks_unblocks_its_sender() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    for number in 1..4 {
        s.send(call.target(), note(number));
    }
    assert_full(&mut s, call.target(), note(4));
    assert_eq!(s.gone(call.exchange), [Action::Writable { target: call.target() }]);
    for number in 4..9 {
        assert_eq!(s.send(call.target(), note(number)), [], "detached: the oldest are evicted");
    }
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn r9_a_sender_that_waits_when_its_session_ends_hears_of_the_end_alone() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    for number in 1..4 {
        s.send(call.target(), note(number));
    }
    assert_full(&mut s, call.target(), note(4));
    let deleted = s.delete().with(&session.id).admit();
    let writable = deleted.actions.iter().any(|action| matches!(action, Action::Writable { .. }));
    assert!(!writable, "{:?}", deleted.actions);
    let drawn = s.pull(call.exchange);
    assert_eq!(messages(&drawn)[..3], notes(1..4));
    assert_eq!((messages(&drawn).len(), drawn.pulled), (4, Pulled::End));
    s.finish();
}

#[test]
fn c11_droppable_notices_go_first_and_are_counted() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    s.send(call.target(), progress(1));
    s.send(call.target(), note(1));
    s.send(call.target(), progress(2));
    assert_eq!(s.send(call.target(), note(2)), [], "the oldest droppable makes room");
    assert_eq!(s.stats().total.dropped_notices, 1);
    assert_eq!(s.send(call.target(), progress(3)), [], "dropped, it or an older one");
    assert_eq!(s.stats().total.dropped_notices, 2);
    s.send(call.target(), note(3));
    assert_eq!(s.stats().total.dropped_notices, 3);
    assert_full(&mut s, call.target(), note(4));
    assert_eq!(s.send(call.target(), progress(4)), [], "nothing else can be dropped but itself");
    assert_eq!(s.stats().total.dropped_notices, 4);
    let drawn = s.pull(call.exchange);
    assert_eq!(messages(&drawn), notes(1..4));
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn c11_a_dropped_notice_leaves_no_gap_for_a_resume() {
    let mut s = Script::with(small);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    s.send(call.target(), note(1));
    let one = s.pull(call.exchange).last_id();
    s.send(call.target(), progress(1));
    s.send(call.target(), note(2));
    s.send(call.target(), note(3));
    // The progress is dropped before anybody saw it.
    s.send(call.target(), note(4));
    assert_eq!(s.stats().total.dropped_notices, 1);
    s.gone(call.exchange);
    let again = resume(&mut s, &session, &one);
    assert_eq!(messages(&s.pull(again)), notes(2..5));
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn r14_the_final_frame_has_room_in_a_full_ring() {
    for error in [true, false] {
        let mut s = Script::with(small);
        let session = s.open();
        let call = streaming(&mut s, &session, "1");
        for number in 1..4 {
            s.send(call.target(), note(number));
        }
        assert_full(&mut s, call.target(), note(4));
        if error {
            s.fail(call, -1, "x");
        } else {
            s.answer(call, "{}");
        }
        let drawn = s.pull(call.exchange);
        assert_eq!(messages(&drawn)[..3], notes(1..4));
        assert_eq!((messages(&drawn).len(), drawn.pulled), (4, Pulled::End));
        s.finish();
    }
}

#[test]
fn r8_bytes_bound_a_ring_too() {
    let mut s = Script::with(|config| config.ring_bytes_max = 400);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    let mut sent = 0;
    while s.try_send(call.target(), note(sent)).is_ok() {
        assert!(s.stats().buffered_bytes <= 400 + 200, "{}", s.stats().buffered_bytes);
        sent += 1;
        assert!(sent < 20, "no bound");
    }
    assert!(sent >= 2, "a frame is about 90 bytes");
    let drawn = s.pull(call.exchange);
    assert_eq!(messages(&drawn), notes(0..sent));
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn r8_a_message_larger_than_the_ring_goes_alone_once_the_ring_is_empty() {
    let mut s = Script::with(|config| config.ring_bytes_max = 400);
    let session = s.open();
    let call = streaming(&mut s, &session, "1");
    let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(2000));
    let params = Json::from_text(text.clone().into()).unwrap();
    let large = Outbound::Notice { method: "large".into(), params: Some(params), droppable: false };
    s.send(call.target(), note(1));
    assert_full(&mut s, call.target(), large.clone());
    let drawn = s.pull(call.exchange);
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    assert_eq!(s.send(call.target(), large), [call.pull()]);
    assert_full(&mut s, call.target(), note(2));
    let drawn = s.pull(call.exchange);
    assert_eq!(messages(&drawn), [format!(r#"{{"jsonrpc":"2.0","method":"large","params":{text}}}"#)]);
    assert_eq!(drawn.actions, [Action::Writable { target: call.target() }]);
    assert_eq!(s.send(call.target(), note(2)), [call.pull()]);
    s.answer(call, &text);
    s.finish();
}

#[test]
fn r8_the_streams_of_one_session_share_a_bound() {
    let mut s = Script::with(|config| {
        config.ring_bytes_max = 1000;
        config.session_ring_bytes_max = 1500;
    });
    let (session, other) = (s.open(), s.open());
    let (a, b) = (streaming(&mut s, &session, "1"), streaming(&mut s, &session, "2"));
    let elsewhere = streaming(&mut s, &other, "1");
    for call in [a, b] {
        for number in 0.. {
            if s.try_send(call.target(), note(number)).is_err() {
                break;
            }
            assert!(number < 100, "no bound");
        }
    }
    let of_session = s.stats().buffered_bytes;
    assert!((1200..=1800).contains(&of_session), "{of_session}");
    assert_eq!(s.send(elsewhere.target(), note(1)), [elsewhere.pull()]);
    // Room made by either reader unblocks whoever waits for it.
    let mut actions = s.pull(a.exchange).actions;
    actions.extend(s.pull(b.exchange).actions);
    for target in [a.target(), b.target()] {
        let writable = Action::Writable { target };
        assert_eq!(actions.iter().filter(|action| **action == writable).count(), 1, "{actions:?}");
    }
    for call in [a, b, elsewhere] {
        s.answer(call, "{}");
    }
    s.finish();
}

#[test]
fn r8_memory_max_bounds_the_whole_server() {
    let mut s = Script::sharded(2, |config| {
        config.ring_bytes_max = 4_000;
        config.session_ring_bytes_max = 4_000;
        config.message_bytes_max = 2_000;
        config.body_bytes_max = 2_000;
        config.memory_max = 10_000;
    });
    let mut calls = Vec::new();
    for number in 0..6 {
        let session = s.on(number % 2).open();
        let call = s.call(&session, "1", "t");
        for number in 0..100 {
            if s.try_send(call.target(), note(number)).is_err() {
                break;
            }
        }
        calls.push(call);
        let buffered: u64 = (0..2).map(|shard| s.on(shard).stats().buffered_bytes).sum();
        assert!(buffered <= 10_000, "R8: {buffered} bytes");
    }
    s.finish();
}

/// Each of many senders that wait for memory is told once, when there is some.
#[test]
fn r9_every_sender_that_waited_for_memory_is_told_once() {
    let mut s = Script::with(|config| {
        config.message_bytes_max = 8_000;
        config.body_bytes_max = 8_000;
        config.memory_max = 8_000;
    });
    let session = s.open();
    let hog = s.call(&session, "0", "t");
    while s.try_send(hog.target(), note(0)).is_ok() {}
    let calls: Vec<Call> = (1..=30).map(|id| s.solo(&id.to_string())).collect();
    for call in &calls {
        assert_full(&mut s, call.target(), note(1));
    }
    s.pull(hog.exchange);
    let told = s.advance(Duration::from_millis(100));
    for call in &calls {
        let writable = Action::Writable { target: call.target() };
        assert_eq!(told.iter().filter(|action| **action == writable).count(), 1, "{told:?}");
    }
    for call in &calls {
        s.answer(*call, "{}");
    }
    s.answer(hog, "{}");
    s.finish();
}

#[test]
fn r6_a_pull_takes_about_its_budget_and_at_least_one_frame() {
    let mut s = Script::new();
    let session = s.open();
    let call = s.call(&session, "1", "t");
    for number in 0..10 {
        s.send(call.target(), note(number));
    }
    let mut got = Vec::new();
    let mut turns = 0;
    loop {
        let drawn = s.pull_upto(call.exchange, 200);
        got.extend(messages(&drawn));
        turns += 1;
        assert!((1..=3).contains(&drawn.frames.len()), "{drawn:?}");
        match drawn.pulled {
            Pulled::More => {}
            Pulled::Idle => break,
            Pulled::End | Pulled::Gone => panic!("{drawn:?}"),
        }
    }
    assert!(turns >= 4);
    assert_eq!(got, notes(0..10));
    s.answer(call, "{}");
    s.finish();
}
