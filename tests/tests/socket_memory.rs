//! R8 over sockets: heads and bodies count against the memory of the whole server as they come, for as long as
//! their calls last, and give it back.

mod socket_support;

use serde_json::json;
use socket_support::ask::{initialize, request};
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
