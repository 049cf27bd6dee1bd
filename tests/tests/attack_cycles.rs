//! L5, at length: refusals without end, and sessions that are opened and deleted without end, leave nothing.
//! By default a part; with `ATTACK_FULL=1`, 100 000 of each.
#![cfg(target_os = "linux")]

mod attack_support;
mod socket_support;

use std::net::SocketAddr;

use attack_support::before::Before;
use attack_support::peers::many;
use attack_support::size;
use socket_support::ask::{delete, initialize_as};
use socket_support::binary::Everything;
use socket_support::refusals;
use socket_support::session::Session;
use socket_support::stats::{Stats, Tables};
use socket_support::wire::Wire;

/// Clients at a time.
const THREADS: usize = 4;

const VERSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

/// L5: with 4 MiB for all of them, 100 000 cycles allow 41 bytes for each: less than any record.
#[test]
fn sessions_opened_and_deleted() {
    let cycles = size(3_000, 100_000);
    let server = Everything::start(&[]);
    cycle(server.addr, cycles / 5);
    let before = Before::of(&server, Tables::EMPTY);
    let lives = server.stats().lives;
    cycle(server.addr, cycles);
    let stats = before.is_back(&server, "sessions opened and deleted", cycles);
    let (created, deleted) =
        (stats.lives.created - lives.created, stats.lives.ended["deleted"] - lives.ended["deleted"]);
    assert_eq!((created, deleted), (cycles as u64, cycles as u64), "{:?}", stats.lives);
    assert_eq!(stats.lives.discarded, [].into());
}

/// Establishes and deletes, each client on a connection that stays.
fn cycle(addr: SocketAddr, cycles: usize) {
    many(THREADS, |thread| {
        let mut wire = Wire::to(addr);
        for number in 0..cycles / THREADS {
            let version = VERSIONS[(thread + number) % VERSIONS.len()];
            let opened = wire.ask(&initialize_as("cycle", version));
            let id = opened.session_id().unwrap_or_else(|| panic!("no session: {opened:?}"));
            let deleted =
                wire.ask(&delete().with("mcp-session-id", id).with("mcp-protocol-version", version));
            assert_eq!(deleted.status(), 204, "{deleted:?}");
        }
    });
}

/// L5: every kind of refusal in turn, beside a session that stays. Memory is read along the way as well: what grows
/// with each refusal grows in each stretch.
#[test]
fn refusals_of_all_kinds() {
    const STRETCHES: usize = 4;
    let server = Everything::start(&["--body-max", "65536", "--stream-retention", "0.05"]);
    let session = Session::open(server.addr);
    let lost = refusals::lost_event(&session);
    let all = refusals::all(&session, &lost);
    let times = size(3_000, 100_000).div_ceil(all.len() * STRETCHES);
    let stretch = || {
        many(THREADS, |thread| {
            for refused in all.iter().skip(thread).step_by(THREADS) {
                refused.send_many(server.addr, times);
            }
        });
        all.len() * times
    };
    stretch();
    let tables = Tables { sessions: 1, deadlines: 1, ..Tables::EMPTY };
    let before = Before::of(&server, tables);
    let lives = server.stats().lives;
    let (mut sent, mut resident_kib) = (0, vec![before.resident_kib]);
    for _ in 0..STRETCHES {
        sent += stretch();
        Stats::until(server.addr, "all connections closed", |stats| stats.connections == 1);
        resident_kib.push(server.resident_kib());
    }
    println!("KiB along the way: {resident_kib:?}");
    let stats = before.is_back(&server, "refusals", sent);
    let refused: u64 = stats.refusals.values().sum();
    // Those of the first stretch are counted too, and the way to the lost event is none.
    assert_eq!(refused, (sent + sent / STRETCHES) as u64, "{:?}", stats.refusals);
    assert_eq!(stats.lives, lives, "a refusal has to do with a session");
    assert_eq!(session.ping().status(), 200);
    session.close();
}
