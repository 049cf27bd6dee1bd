//! Event streams that are opened and left: closed, half-closed, reset, or just never read again. Each loses its
//! stream, and by the idle rule its session; descriptors and tables return to the start (H10, S8, S9).
#![cfg(target_os = "linux")]

mod socket_support;

use std::time::Duration;

use serde_json::json;

use socket_support::binary::Everything;
use socket_support::local::Local;
use socket_support::session::Session;
use socket_support::sse::Stream;
use socket_support::stats::{Stats, Tables};
use socket_support::wait::until;
use socket_support::wire::{Lost, Wire};

/// How many streams are open at a time.
const BATCH: usize = 100;

/// A thousand; `ABANDONED_STREAMS` sets another number, for a longer run of a release build.
fn streams() -> usize {
    #[expect(clippy::disallowed_methods, reason = "a test's size, set from outside")]
    let wanted = std::env::var("ABANDONED_STREAMS");
    wanted.map_or(1_000, |wanted| wanted.parse().expect("a number of streams"))
}

/// The ways to leave.
fn leave(number: usize, stream: Stream) {
    match number % 3 {
        0 => drop(stream),
        1 => stream.into_wire().reset(),
        _ => {
            let mut wire = stream.into_wire();
            wire.half_close();
            // A stream whose reader says no more has lost it: the server closes.
            assert_ne!(wire.drain(), Lost::Silent);
        }
    }
}

#[test]
fn a_thousand_streams_that_are_left() {
    let server = Everything::start(&["--session-idle", "0.5", "--stream-retention", "0.2"]);
    let descriptors = server.descriptors();
    let mut opened = 0;
    while opened < streams() {
        let batch: Vec<Stream> = (0..BATCH).map(|_| Session::open(server.addr).listen()).collect();
        Stats::until(server.addr, "all streams open", |stats| stats.tables.exchanges == BATCH as u64);
        assert!(server.descriptors() >= descriptors + BATCH, "descriptors are not what is counted here");
        for (number, stream) in batch.into_iter().enumerate() {
            leave(number, stream);
        }
        Stats::until(server.addr, "all streams closed", |stats| {
            stats.tables.exchanges == 0 && stats.connections == 1
        });
        until("descriptors as before", || server.descriptors(), |open| *open <= descriptors);
        opened += BATCH;
    }
    let stats = server.settle(Tables::EMPTY);
    assert_eq!(stats.lives.ended.get("idle"), Some(&(opened as u64)), "{:?}", stats.lives);
}

/// The same session, its stream opened and left again and again: the last reader is served, and no other is kept.
#[test]
fn one_session_whose_stream_is_left_again_and_again() {
    let server = Local::start(|_| ());
    let session = Session::open_at(server.addr, "2025-11-25");
    for number in 0..100 {
        leave(number, session.listen());
    }
    let mut stream = session.listen();
    Stats::until(server.addr, "one stream, one connection beside ours", |stats| {
        stats.tables.exchanges == 1 && stats.connections == 2
    });
    server.notify(&session.id, "notifications/x", json!({ "number": 1 }));
    assert_eq!(stream.message()["params"]["number"], 1);
    session.close();
    assert_eq!(stream.rest(), []);
    server.settle(Tables::EMPTY);
}

/// A peer that says nothing, reads nothing and does not close: the next words to it stall, and that is its end.
/// Comments alone do it too, but only when the system's buffers are full of them; so the words are large ones.
#[test]
fn streams_that_are_never_read() {
    const SILENT: usize = 10;
    let server = Local::start(|config| {
        config.write_stall = Duration::from_millis(300);
        config.comment_every = Duration::from_millis(100);
        config.stream_retention = Duration::from_millis(200);
        config.session_idle = Some(Duration::from_millis(800));
    });
    let mut silent: Vec<(Session, Wire)> = (0..SILENT)
        .map(|_| {
            let session = Session::open(server.addr);
            let mut wire = Wire::narrow(server.addr);
            wire.send(session.own(socket_support::ask::get()).bytes());
            wire.head().unwrap();
            (session, wire)
        })
        .collect();
    // Beside them one that reads: it keeps its stream, and with that its session.
    let reader = Session::open(server.addr);
    let mut stream = reader.listen();
    let text = "x".repeat(6 * 1024 * 1024);
    for (session, _) in &silent {
        server.notify(&session.id, "notifications/large", json!({ "text": text }));
    }
    let over = |stats: &Stats| stats.tables.sessions == 1;
    let mut comments = 0;
    let stats = until(
        "the sessions' end",
        || {
            comments += usize::from(stream.event().comment);
            server.stats()
        },
        over,
    );
    assert_eq!(stats.lives.ended.get("idle"), Some(&(SILENT as u64)), "{:?}", stats.lives);
    assert_eq!((stats.tables.exchanges, stats.connections), (1, 2));
    assert!(comments > 0);
    for (session, mut wire) in silent.drain(..) {
        assert_ne!(wire.drain(), Lost::Silent);
        assert_eq!(session.ping().status(), 404);
    }
    assert_eq!(reader.ping().status(), 200);
    reader.close();
}
