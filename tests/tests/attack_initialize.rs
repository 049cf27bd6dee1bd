//! Floods of `initialize`, past the cap on sessions (L3, S10): who has a session and uses it keeps it and is
//! served, whether the flood's sessions are confirmed or not; and the flood leaves nothing.
#![cfg(target_os = "linux")]

mod attack_support;
mod socket_support;

use std::net::SocketAddr;
use std::sync::Mutex;

use attack_support::before::{Before, rounds};
use attack_support::live::Live;
use attack_support::peers::many;
use attack_support::size;
use socket_support::ask::{initialize, initialize_as};
use socket_support::binary::Everything;
use socket_support::session::Session;
use socket_support::stats::{Stats, Tables};
use socket_support::wire::Wire;

/// Sessions at a time, as the server is told.
const CAP: usize = 40;
const CAP_FLAG: [&str; 2] = ["--max-sessions", "40"];

const PEERS: usize = 10;

/// `initialize` requests of one flood.
fn flood_size() -> usize {
    size(1_000, 10_000)
}

/// A flood that never comes back: the oldest of its own sessions goes for each new one, and nobody else's.
#[test]
fn a_flood_that_never_confirms() {
    let server = Everything::start(&[&CAP_FLAG[..], &["--confirm-timeout", "1"]].concat());
    let addr = server.addr;
    let mut stats = None;
    rounds(&server, "a flood of initialize", 2, || {
        // Idle sessions of well-behaved clients, which were used and are not now.
        let idle: Vec<Session> = (0..CAP / 4).map(|_| Session::open(addr)).collect();
        Live::beside(Session::open(addr), |live| {
            let flood = many(PEERS, |peer| {
                let mut wire = Wire::to(addr);
                for number in 0..flood_size() / PEERS {
                    if number % 100 == 99 {
                        wire = Wire::to(addr);
                    }
                    let version = ["2025-03-26", "2025-06-18", "2025-11-25"][(peer + number) % 3];
                    let answer = wire.ask(&initialize_as("flood", version));
                    assert!(answer.status() == 200 && answer.session_id().is_some(), "{answer:?}");
                }
            });
            live.is_served(10);
            assert!(server.stats().tables.sessions <= CAP as u64, "more sessions than the cap");
            assert_eq!(flood, PEERS);
        });
        for session in idle {
            assert_eq!(session.ping().status(), 200, "a flood threw somebody out");
            session.close();
        }
        stats = Some(server.settle(Tables::EMPTY));
        flood_size()
    });
    let lives = stats.expect("a round").lives;
    let (evicted, unconfirmed) = (lives.ended["evicted"], lives.ended["unconfirmed"]);
    let floods = (3 * flood_size()) as u64;
    assert_eq!(evicted + unconfirmed, floods, "{lives:?}");
    assert!(evicted > floods / 2, "the cap was hardly met: {lives:?}");
}

/// A flood that uses what it opened fills the table: then it is refused, and the others still are not harmed.
#[test]
fn a_flood_that_confirms() {
    let server = Everything::start(&CAP_FLAG);
    let addr = server.addr;
    rounds(&server, "a flood of sessions that are used", 2, || {
        let mut refused = 0;
        Live::beside(Session::open(addr), |live| {
            let theirs = Mutex::new(Vec::new());
            many(PEERS, |_| {
                for _ in 0..CAP / PEERS {
                    if let Some(session) = try_open(addr) {
                        theirs.lock().unwrap().push(session);
                    }
                }
            });
            let theirs = theirs.into_inner().unwrap();
            // One place is the live client's.
            assert_eq!(theirs.len(), CAP - 1);
            assert_eq!(server.stats().tables.sessions, CAP as u64);
            let already = server.stats().refused("too_many_sessions");
            many(PEERS, |_| {
                let mut wire = Wire::to(addr);
                for _ in 0..flood_size() / PEERS {
                    let answer = wire.ask(&initialize());
                    assert_eq!((answer.status(), answer.session_id()), (503, None), "{answer:?}");
                    assert!(answer.field("retry-after").is_some(), "L2: {answer:?}");
                }
            });
            refused = server.stats().refused("too_many_sessions") - already;
            live.is_served(10);
            for session in theirs {
                assert_eq!(session.ping().status(), 200, "a refused flood threw somebody out");
                session.close();
            }
        });
        assert_eq!(refused, flood_size() as u64);
        flood_size()
    });
}

/// A session that is used at once; none, if the server has no place.
fn try_open(addr: SocketAddr) -> Option<Session> {
    let answer = Wire::to(addr).ask(&initialize());
    let id = answer.session_id()?.to_owned();
    let session = Session { addr, id, version: "2025-06-18" };
    // Between its answer and its first use it is the first to go for another one.
    (session.ping().status() == 200).then_some(session)
}

/// Those that hang up before their answer: nothing was offered to anybody, and the cap is as free as before.
#[test]
fn a_flood_that_hangs_up() {
    let server = Everything::start(&[&CAP_FLAG[..], &["--confirm-timeout", "0.5"]].concat());
    let addr = server.addr;
    let bytes = initialize().bytes();
    // Fewer: the system's own queue of connections not accepted yet is short, and whoever finds it full comes again
    // a second later.
    let flood = size(300, 10_000);
    let hang_up = || {
        many(PEERS, |peer| {
            for number in 0..flood / PEERS {
                let mut wire = Wire::to(addr);
                wire.send(&bytes);
                if (peer + number) % 2 == 0 { wire.reset() } else { drop(wire) }
            }
        });
    };
    hang_up();
    let before = Before::of(&server, Tables::EMPTY);
    Live::beside(Session::open(addr), |live| {
        hang_up();
        live.is_served(10);
    });
    before.is_back(&server, "a flood that hangs up", flood);
    let all: Vec<Session> = (0..CAP).map(|_| Session::open(addr)).collect();
    Stats::until(addr, "every place taken", |stats| stats.tables.sessions == CAP as u64);
    all.into_iter().for_each(Session::close);
}
