//! R8 over sockets: bodies count against the memory of the whole server as they come, and give it back.

mod socket_support;

use socket_support::ask::initialize;
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
