//! L5, over a socket: three hundred refusals of every kind, then memory, descriptors and tables are as before.
#![cfg(target_os = "linux")]

mod socket_support;

use std::net::SocketAddr;

use serde_json::json;

use socket_support::ask::{Ask, initialize, initialize_as, ping, request};
use socket_support::binary::Everything;
use socket_support::local::Local;
use socket_support::refusals;
use socket_support::rig::OnCreated;
use socket_support::session::Session;
use socket_support::stats::{Stats, Tables};
use socket_support::wait::until;
use socket_support::wire::Wire;

const TIMES: usize = 300;

/// What the process may have grown by, in KiB. An allocator keeps some of what it was given back, and its caches
/// grow for a while; a leak would be far over this: there are over 40 000 refusals, so that as little as 256 bytes
/// lost by each would be 10 MiB.
const GROWTH_KIB_MAX: u64 = 4 * 1024;

#[test]
fn three_hundred_refusals_of_each_kind() {
    let server = Everything::start(&["--body-max", "65536", "--stream-retention", "0.05"]);
    let descriptors = server.descriptors();
    let session = Session::open(server.addr);
    let lost = refusals::lost_event(&session);
    let all = refusals::all(&session, &lost);
    // The first ones fill caches and thread-local buffers.
    all.iter().for_each(|refused| refused.send_many(server.addr, TIMES / 10));
    let tables = Tables { sessions: 1, deadlines: 1, ..Tables::EMPTY };
    let alone = |server: &Everything| {
        until("all connections closed", || server.stats().connections, |open| *open == 1);
        server.settle(tables)
    };
    let before = alone(&server);
    let resident_kib = server.resident_kib();

    all.iter().for_each(|refused| refused.send_many(server.addr, TIMES));

    let after = alone(&server);
    assert_eq!(after.lives, before.lives);
    let refused: u64 = after.refusals.values().sum::<u64>() - before.refusals.values().sum::<u64>();
    assert_eq!(refused, (all.len() * TIMES) as u64);
    until("descriptors as before", || server.descriptors(), |open| *open <= descriptors);
    let grown_kib = server.resident_kib().saturating_sub(resident_kib);
    println!("{grown_kib} KiB more after {refused} refusals of {} kinds", all.len());
    assert!(grown_kib <= GROWTH_KIB_MAX, "{grown_kib} KiB more after {refused} refusals");
    assert_eq!(session.ping().status(), 200);
}

/// Those that take their time, side by side.
#[test]
fn three_hundred_requests_that_never_come_whole() {
    let server = Everything::start(&["--header-timeout", "0.3", "--body-timeout", "0.3"]);
    let whole = initialize().bytes();
    let head = initialize().head_text().len();
    let descriptors = server.descriptors();
    for cut in [head / 2, head + 5] {
        let mut wires: Vec<Wire> = (0..TIMES)
            .map(|_| {
                let mut wire = Wire::to(server.addr);
                wire.send(&whole[..cut]);
                wire
            })
            .collect();
        for wire in &mut wires {
            assert_eq!(wire.answer().status(), 408);
            wire.expect_close();
        }
    }
    let stats = server.settle(Tables::EMPTY);
    assert_eq!((stats.refused("http"), stats.lives.created), (2 * TIMES as u64, 0));
    until("descriptors as before", || server.descriptors(), |open| *open <= descriptors);
}

/// Those of sessions that were created, or could not be.
#[test]
fn three_hundred_sessions_that_never_come_to_be() {
    let server = Local::start(|config| {
        config.establish = std::time::Duration::from_millis(200);
        config.sessions_max = 100;
    });
    let initialize = |client: &str| initialize_as(client, "2025-06-18");
    let many = |addr: SocketAddr, ask: Ask, status: u16| {
        let mut wire = Wire::to(addr);
        for _ in 0..TIMES {
            let answer = wire.ask(&ask);
            assert_eq!((answer.status(), answer.session_id()), (status, None), "{answer:?}");
        }
    };
    many(server.addr, initialize("refused"), 200);
    many(server.addr, initialize("panics"), 200);
    many(server.addr, initialize("test").with("authorization", "nobody"), 401);
    many(server.addr, initialize("test").with("authorization", "forbidden"), 403);
    many(server.addr, initialize("test").with("authorization", "late"), 403);
    server.on_created(OnCreated::Refuses);
    many(server.addr, initialize("test"), 500);
    server.on_created(OnCreated::Opens);
    // Three hundred at a time, of which the table takes a hundred.
    let mut wires: Vec<Wire> = (0..TIMES)
        .map(|_| {
            let mut wire = Wire::to(server.addr);
            wire.send(initialize("silent").bytes());
            wire
        })
        .collect();
    for wire in &mut wires {
        let answer = wire.answer();
        assert_eq!((answer.status(), answer.session_id()), (503, None), "{answer:?}");
    }
    let stats = server.settle(Tables::EMPTY);
    let (timeouts, full) = (stats.refused("establish_timeout"), stats.refused("too_many_sessions"));
    assert_eq!(timeouts + full, TIMES as u64, "{:?}", stats.refusals);
    assert!(full > 0, "{:?}", stats.refusals);
    let expected = [("refused", 2 * TIMES as u64), ("failed", TIMES as u64), ("timeout", timeouts)];
    assert_eq!(stats.lives.discarded, expected.map(|(name, count)| (name.to_owned(), count)).into());
    assert_eq!((stats.lives.committed, stats.lives.ended.len()), (0, 0), "{:?}", stats.lives);
    Session::open(server.addr).close();
}

/// Those of a session that is busy.
#[test]
fn three_hundred_calls_too_many() {
    let server = Local::start(|config| config.calls_per_session_max = 1);
    let session = Session::open(server.addr);
    let mut busy = Wire::to(server.addr);
    busy.send(session.own(request("1", "gated", &json!({}))).bytes());
    Stats::until(server.addr, "the call", |stats| stats.tables.calls == 1);
    let before = server.stats();
    let mut wire = Wire::to(server.addr);
    for _ in 0..TIMES {
        assert_eq!(wire.ask(&session.own(ping("2"))).status(), 429);
    }
    let after = server.settle(before.tables);
    assert_eq!((after.refused("too_many_calls"), &after.lives), (TIMES as u64, &before.lives));
    server.open_gate();
    assert_eq!(busy.answer().status(), 200);
    session.close();
    server.settle(Tables::EMPTY);
}
