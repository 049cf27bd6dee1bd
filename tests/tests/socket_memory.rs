//! R8 over sockets: heads and bodies count against the memory of the whole server as they come, for as long as
//! their calls last, and give it back. Where it is short, streams that are kept for a resume go, on whichever shard.

mod socket_support;

use serde_json::json;
use socket_support::ask::{get, initialize, notice, request};
use socket_support::local::Local;
use socket_support::session::Session;
use socket_support::stats::Stats;
use socket_support::wire::Wire;

const MEMORY: usize = 64 * 1024;

/// A body that finds no memory is refused, whatever others have sent keeps its place, and afterwards there is room.
#[test]
fn r8_bodies_that_are_being_read_share_the_servers_memory() {
    let server = Local::start(|config| {
        config.memory_max = MEMORY;
        config.message_bytes_max = MEMORY;
        config.body_bytes_max = MEMORY;
    });
    let text = String::from_utf8(initialize().body).unwrap();
    let long = initialize().body(format!("{text}{}", " ".repeat(48 * 1024))).bytes();
    let (most, last) = long.split_at(long.len() - 1);

    let mut first = Wire::to(server.addr);
    first.send(most);
    Stats::until(server.addr, "the first body to be held", |stats| stats.tables.buffered_bytes > 48 * 1024);
    let mut second = Wire::to(server.addr);
    second.send_what_is_taken(&long);
    let refused = second.answer();
    assert_eq!(
        (refused.status(), refused.field("retry-after"), refused.session_id()),
        (503, Some("1"), None)
    );

    first.send(last);
    let answer = first.answer();
    assert_eq!(answer.status(), 200);
    let session = Session::open(server.addr);
    session.close();
    Stats::until(server.addr, "the memory to be given back", |stats| stats.tables.buffered_bytes == 0);
    let mut third = Wire::to(server.addr);
    third.send(&long);
    assert_eq!(third.answer().status(), 200);
}

/// A head that finds no memory is refused before it is whole, and the others keep their place.
#[test]
fn r8_heads_that_are_being_read_share_the_servers_memory() {
    let server = Local::start(|config| {
        config.memory_max = MEMORY;
        config.message_bytes_max = MEMORY;
        config.body_bytes_max = MEMORY;
    });
    let long = initialize().with("x-long", &"x".repeat(40 * 1024)).bytes();
    let whole = long.windows(4).position(|octets| octets == b"\r\n\r\n").unwrap();
    let (most, last) = long.split_at(whole);

    let mut first = Wire::to(server.addr);
    first.send(most);
    Stats::until(server.addr, "the first head to be held", |stats| stats.tables.buffered_bytes > 40 * 1024);
    let mut second = Wire::to(server.addr);
    second.send_what_is_taken(most);
    let refused = second.answer();
    assert_eq!(
        (refused.status(), refused.field("retry-after"), refused.session_id()),
        (503, Some("1"), None)
    );
    assert_eq!(refused.field("connection"), Some("close"));

    first.send(last);
    assert_eq!(first.answer().status(), 200);
    Stats::until(server.addr, "the memory to be given back", |stats| stats.tables.buffered_bytes == 0);
    let mut third = Wire::to(server.addr);
    third.send(&long);
    assert_eq!(third.answer().status(), 200);
}

/// While a call lasts its request counts: what it asks with is the application's to read.
#[test]
fn r8_a_request_counts_for_as_long_as_its_call_lasts() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let params = json!({ "to": 2, "gate": true, "pad": "x".repeat(9_000) });
    let ask = session.own(request("7", "counts", &params)).with("x-long", &"x".repeat(7_000));
    let mut wire = Wire::to(server.addr);
    wire.send(ask.bytes());
    let held = |stats: &Stats| stats.tables.buffered_bytes > 16_000;
    Stats::until(server.addr, "the call to hold its request", held);
    server.open_gate();
    Stats::until(server.addr, "the call to be over", |stats| {
        stats.tables.calls == 0 && stats.tables.buffered_bytes < 7_000
    });
    session.close();
}

/// Also when its client is gone, and the application keeps what it was handed.
#[test]
fn r8_a_notice_counts_until_it_was_taken_whoever_is_gone() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let params = json!({ "pad": "x".repeat(9_000) });
    let mut wire = Wire::to(server.addr);
    wire.send(session.own(notice("notifications/gated", &params)).bytes());
    let held = |stats: &Stats| stats.tables.buffered_bytes > 9_000 && stats.tables.exchanges == 1;
    Stats::until(server.addr, "the notice to be handed over", held);
    wire.reset();
    let alone = |stats: &Stats| stats.tables.exchanges == 0;
    let stats = Stats::until(server.addr, "the client to be gone", alone);
    assert!(stats.tables.buffered_bytes > 9_000, "{stats:?}");
    server.open_gate();
    Stats::until(server.addr, "the notice to be taken", |stats| stats.tables.buffered_bytes == 0);
    session.close();
}

/// R9: a sender whose own shard has nothing to give up gets what another one has.
#[test]
fn r8_frames_kept_on_one_shard_make_room_for_a_sender_on_another() {
    let server = Local::start(|config| {
        config.memory_max = MEMORY;
        config.message_bytes_max = MEMORY;
        config.body_bytes_max = MEMORY;
        config.ring_bytes_max = 40 * 1024;
    });
    // Sessions are given to shards in turn.
    let (one, other) = (Session::open(server.addr), Session::open(server.addr));
    let mut stream =
        one.stream(request("7", "big", &json!({ "bytes": 30 * 1024 })).set("accept", "text/event-stream"));
    assert_eq!(stream.messages().len(), 1);
    let kept = |stats: &Stats| stats.tables.exchanges == 0 && stats.tables.buffered_bytes > 30 * 1024;
    Stats::until(server.addr, "the answer to be kept", kept);
    let mut listening = other.listen();
    server.notify(&other.id, "notifications/long", json!({ "text": "x".repeat(38 * 1024) }));
    assert_eq!(listening.message()["method"], "notifications/long");
    let last_id = stream.last_id.clone().unwrap();
    assert_eq!(one.ask(get().with("last-event-id", &last_id)).status(), 400, "it was let go");
    one.close();
    other.close();
}
