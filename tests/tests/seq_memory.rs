//! The memory of the whole server when there is little of it (R8, R9, R14): who goes for whom, to the frame, and who is
//! told.

mod seq_support;

use std::time::Duration;

use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{Action, Event, Outbound, Pulled, SendError, SessionKey, Target};
use mcp_http_core::json::Json;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Call, Script, Session, ask, assert_full, batch, batch_calls, messages, note, notes, result, session_of,
};
use seq_support::Course;

const MEMORY: usize = 8_192;

/// How often a shard looks whether there is memory again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

fn little(config: &mut Config) {
    config.memory_max = MEMORY;
    config.message_bytes_max = MEMORY;
    config.body_bytes_max = MEMORY;
}

/// A session with a call whose answer, as JSON, takes so much that `left` bytes are left until it is flushed.
fn taken_but(s: &mut Script, left: usize) -> Call {
    let session = s.open();
    let call = s.call(&session, "1", "t");
    let around = s.buffered_bytes() + left + ask::result_text("1", "\"\"").len();
    let answer = format!("\"{}\"", "x".repeat(MEMORY - around));
    assert_eq!(s.answer(call, &answer), [call.json(&ask::result_text("1", &answer))]);
    assert_eq!(s.buffered_bytes(), MEMORY - left);
    call
}

/// A session with an open standalone stream whose priming event was read.
fn reader(s: &mut Script) -> (Session, mcp_http_core::endpoint::ExchangeId) {
    let session = s.open();
    let get = s.listen(&session);
    s.pull(get);
    (session, get)
}

fn frame_bytes() -> usize {
    let mut s = Script::new();
    let session = s.open();
    s.send(session_of(&session), note(1));
    let bytes = s.buffered_bytes();
    s.finish();
    bytes
}

#[test]
fn r14_an_answer_of_a_kibibyte_has_room_where_there_is_no_memory_and_one_byte_more_has_not() {
    for (bytes, fits) in [(1024, true), (1025, false)] {
        let mut s = Script::with(little);
        let full = taken_but(&mut s, 0);
        let session = s.open();
        let call = s.call(&session, "7", "t");
        let answer = format!("\"{}\"", "x".repeat(bytes - ask::result_text("7", "\"\"").len()));
        let actions = s.answer(call, &answer);
        assert_eq!(actions == [call.json(&ask::result_text("7", &answer))], fits, "{bytes}");
        s.flushed(full.exchange);
        s.flushed(call.exchange);
        assert_eq!(s.buffered_bytes(), 0);
        s.finish();
    }
}

#[test]
fn r14_last_frames_have_room_also_beyond_the_memory_there_is() {
    let mut s = Script::with(little);
    let calls = [s.open(), s.open()].map(|session| {
        let call = s.call(&session, "7", "t");
        // Not pulled: what a reader has taken would make room.
        assert_eq!(s.send(call.target(), note(0)), call.stream());
        call
    });
    let full = taken_but(&mut s, 0);
    for call in calls {
        s.answer(call, "{}");
        assert!(s.buffered_bytes() > MEMORY);
    }
    for call in calls {
        let drawn = s.pull(call.exchange);
        let both = vec![ask::note_text(0), ask::result_text("7", "{}")];
        assert_eq!((messages(&drawn), drawn.pulled), (both, Pulled::End));
        s.flushed(call.exchange);
    }
    s.flushed(full.exchange);
    s.finish();
}

#[test]
fn r9_each_sender_that_memory_refused_is_told_once_and_in_turn() {
    let mut s = Script::with(little);
    let readers = [reader(&mut s), reader(&mut s)];
    let call = s.call(&readers[0].0, "7", "t");
    // Not pulled: what a reader has taken would make room.
    s.send(call.target(), note(0));
    let full = taken_but(&mut s, 0);
    let targets = [session_of(&readers[0].0), call.target(), session_of(&readers[1].0)];
    for target in targets {
        assert_full(&mut s, target, note(1));
    }
    assert_eq!(s.advance(LOOK_AGAIN), [], "there is none yet");
    s.flushed(full.exchange);
    assert_eq!(s.advance(LOOK_AGAIN), targets.map(|target| Action::Writable { target }));
    assert_eq!(s.advance(LOOK_AGAIN), [], "once");
    for target in targets {
        s.send(target, note(1));
    }
    s.answer(call, "{}");
    s.pull(call.exchange);
    s.flushed(call.exchange);
    readers.iter().for_each(|(_, get)| drop(s.gone(*get)));
    s.finish();
}

#[test]
fn r9_a_sender_that_its_reader_made_room_for_is_not_told_again() {
    let mut s = Script::with(little);
    let (session, get) = reader(&mut s);
    let own = session_of(&session);
    let full = taken_but(&mut s, frame_bytes() + 10);
    s.send(own, note(1));
    assert_full(&mut s, own, note(2));
    let drawn = s.pull(get);
    assert_eq!((messages(&drawn), drawn.actions), (notes([1]), vec![Action::Writable { target: own }]));
    s.flushed(full.exchange);
    assert_eq!(s.advance(LOOK_AGAIN * 3), []);
    s.gone(get);
    s.finish();
}

/// What a reader has taken is kept only in case it comes back: it goes at once, in whichever place its session is.
#[test]
fn r8_frames_that_a_reader_has_taken_make_room_wherever_they_are() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
        let mut s = Script::with(little);
        let readers = [reader(&mut s), reader(&mut s), reader(&mut s)];
        let frame = frame_bytes();
        let full = taken_but(&mut s, frame + 10);
        for place in order {
            let (session, get) = &readers[place];
            assert_eq!(s.send(session_of(session), note(1)), [Action::Pull { exchange: *get }], "{place}");
            assert_eq!(messages(&s.pull(*get)), notes([1]));
            assert_eq!(s.buffered_bytes(), MEMORY - 10, "one frame at a time");
        }
        s.flushed(full.exchange);
        readers.iter().for_each(|(_, get)| drop(s.gone(*get)));
        s.finish();
    }
}

/// A stream that is left empty has nothing to give, and is no reason to stop looking.
#[test]
fn r8_an_empty_stream_without_a_reader_is_passed_over() {
    let mut s = Script::with(little);
    let (_, get) = reader(&mut s);
    s.gone(get);
    let (taken, taken_by) = reader(&mut s);
    let (wants, wanted_by) = reader(&mut s);
    let full = taken_but(&mut s, frame_bytes() + 10);
    s.send(session_of(&taken), note(1));
    s.pull(taken_by);
    assert_eq!(s.send(session_of(&wants), note(2)), [Action::Pull { exchange: wanted_by }]);
    s.flushed(full.exchange);
    s.gone(taken_by);
    s.gone(wanted_by);
    s.finish();
}

#[test]
fn r6_frames_that_a_reader_has_yet_to_take_go_for_nobody() {
    let mut s = Script::with(little);
    let (slow, slow_get) = reader(&mut s);
    let (other, other_get) = reader(&mut s);
    let full = taken_but(&mut s, frame_bytes() + 10);
    s.send(session_of(&slow), note(1));
    assert_full(&mut s, session_of(&other), note(2));
    assert_eq!(messages(&s.pull(slow_get)), notes([1]));
    s.flushed(full.exchange);
    s.advance(LOOK_AGAIN * 2);
    s.gone(slow_get);
    s.gone(other_get);
    s.finish();
}

/// The answers of a batch count once: while they wait for each other, and as the array that they make.
#[test]
fn r8_answers_that_wait_for_their_batch_are_counted_once() {
    let mut s = Script::new();
    let session = s.open_at(Version::V2025_03_26);
    let body = batch(&[ask::request("1", "a"), ask::request("2", "b")]);
    let ask = |s: &mut Script| {
        let admission = s.post(body.clone()).with(&session.id).admit();
        let calls = batch_calls(&admission.actions);
        s.send(Target::Call(calls[1]), result("{}"));
        assert_eq!(s.buffered_bytes(), ask::result_text("2", "{}").len());
        (admission.exchange, calls[0])
    };
    let (exchange, call) = ask(&mut s);
    s.send(Target::Call(call), result("{}"));
    let both = [ask::result_text("1", "{}"), ask::result_text("2", "{}")];
    assert_eq!(s.buffered_bytes(), format!("[{}]", both.join(",")).len());
    s.flushed(exchange);
    assert_eq!(s.buffered_bytes(), 0);
    let (exchange, call) = ask(&mut s);
    s.send(Target::Call(call), note(1));
    let streamed = s.buffered_bytes();
    let drawn = s.pull(exchange);
    assert_eq!(messages(&drawn), [ask::result_text("2", "{}"), ask::note_text(1)]);
    let frames = both[1].len() + ask::note_text(1).len();
    assert!(streamed > frames && streamed < frames + 100, "{streamed} bytes for two frames");
    s.send(Target::Call(call), result("{}"));
    assert_eq!(messages(&s.pull(exchange)), [both[0].as_str()]);
    s.flushed(exchange);
    s.finish();
}

/// A session whose standalone stream holds so many notes that nobody has read.
fn unread(c: &mut Course, number: usize) -> SessionKey {
    let (key, _) = c.open();
    for each in 0..number {
        let sent = c.try_send(Target::Session(key), note(u32::try_from(each).expect("few")));
        sent.expect("there is room");
    }
    key
}

#[test]
fn r8_what_is_given_up_is_as_many_frames_as_are_asked_for() {
    let frame = frame_bytes();
    for (wanted, frames) in [(0, 0), (1, 1), (frame, 1), (frame + 1, 2), (3 * frame, 3), (9 * frame, 3)] {
        let mut c = Course::new(true, |_| {});
        unread(&mut c, 3);
        assert_eq!(c.endpoint.give_up_retained(wanted), frames * frame, "{wanted} bytes");
        assert_eq!(c.budget.buffered_bytes(), (3 - frames) * frame);
    }
}

#[test]
fn r8_a_stream_that_broke_goes_first_and_whole() {
    let mut c = Course::new(true, |_| {});
    unread(&mut c, 2);
    let (_, id) = c.open();
    let exchange = c.admit("POST", Some(&id), ask::request("2", "t"));
    let call = c.call();
    let before = c.budget.buffered_bytes();
    c.send(call, note(1));
    c.send(call, Outbound::Result { result: Json::EMPTY_OBJECT });
    let (frames, _) = c.pull(exchange);
    assert_eq!(frames.as_slice().len(), 3);
    c.happens(Event::Gone { exchange });
    let retained = c.budget.buffered_bytes() - before;
    assert_eq!(c.endpoint.give_up_retained(1), retained);
    assert_eq!(c.budget.buffered_bytes(), before);
}

#[test]
fn r8_memory_that_others_lease_is_not_there_for_frames() {
    let mut c = Course::new(true, little);
    let (key, _) = c.open();
    let mut lease = c.budget.lease();
    assert!(lease.grow(MEMORY, MEMORY));
    let sent = c.try_send(Target::Session(key), note(1));
    assert!(matches!(sent, Err(SendError::Full(_))), "{sent:?}");
    drop(lease);
    c.try_send(Target::Session(key), note(1)).expect("there is memory again");
}

/// D9: who has pulled frames holds them; once the ring lets go of them, the server's memory does not count them.
#[test]
fn d9_frames_that_were_pulled_and_left_their_ring_do_not_count() {
    let mut c = Course::new(true, |_| {});
    let (key, id) = c.open();
    let get = c.admit("GET", Some(&id), String::new());
    for number in 1..=2 {
        c.try_send(Target::Session(key), note(number)).expect("there is room");
    }
    let (frames, pulled) = c.pull(get);
    assert_eq!((frames.as_slice().len(), pulled), (3, Pulled::Idle), "the priming event and both");
    let in_ring: usize = frames.as_slice()[1..].iter().map(|frame| frame.len()).sum();
    assert_eq!(c.budget.buffered_bytes(), in_ring);
    assert_eq!(c.endpoint.give_up_retained(in_ring), in_ring);
    assert_eq!((c.budget.buffered_bytes(), frames.as_slice().len()), (0, 3));
}
