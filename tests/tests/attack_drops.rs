//! Connections that are dropped at any point (L5, S1, S2): within the head, the body, the answer, an event; by a
//! close, a reset or half a close. Where, is drawn from a seed, so that a failure comes again.
#![cfg(target_os = "linux")]

mod attack_support;
mod socket_support;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use attack_support::before::Before;
use attack_support::live::Live;
use attack_support::peers::many;
use attack_support::size;
use socket_support::ask::{Ask, delete, get, initialize_as, notice, ping, tool, tool_with_progress};
use socket_support::binary::Everything;
use socket_support::chance::Chance;
use socket_support::session::Session;
use socket_support::stats::Tables;
use socket_support::wire::Wire;

/// A thousand by default. With 4 MiB for all of them, the ten thousand of a full run allow 419 bytes for each.
fn drops() -> usize {
    size(1_000, 10_000)
}

/// At a time.
const THREADS: usize = 10;

/// L5: wherever a connection breaks, its descriptor, its memory and its session are given back.
#[test]
fn connections_dropped_at_random_points() {
    let server = Everything::start(&["--confirm-timeout", "0.5", "--stream-retention", "0.2"]);
    let addr = server.addr;
    round(addr, drops() / 5, 1);
    let before = Before::of(&server, Tables::EMPTY);
    let dropped = round(addr, drops(), 2);
    let stats = before.is_back(&server, "dropped connections", dropped);
    let lives = &stats.lives;
    let (discarded, ended): (u64, u64) = (lives.discarded.values().sum(), lives.ended.values().sum());
    println!("{lives:?}");
    assert_eq!((lives.created, lives.committed), (discarded + ended, ended), "{lives:?}");
    // The points are so many that every fate is met.
    for reason in ["unconfirmed", "deleted"] {
        assert!(lives.ended.get(reason).is_some_and(|count| *count > 2), "{reason}: {lives:?}");
    }
}

/// Drops so many connections; a client beside them is served.
fn round(addr: SocketAddr, drops: usize, seed: usize) -> usize {
    let victim = Session::open(addr);
    Live::beside(Session::open(addr), |live| {
        many(THREADS, |thread| {
            let mut chance = Chance::new((seed * 1_000 + thread) as u64);
            for _ in 0..drops / THREADS {
                drop_one(addr, &victim, &mut chance);
            }
        });
        live.is_served(2);
    });
    assert_eq!(victim.ping().status(), 200, "a dropped connection is no end of a session (S9)");
    victim.close();
    drops / THREADS * THREADS
}

fn asks(victim: &Session) -> Vec<Ask> {
    let slow = json!({ "ms": 20, "steps": 4 });
    vec![
        initialize_as("test", "2025-03-26"),
        initialize_as("test", "2025-11-25"),
        initialize_as("test", "2025-06-18").set("accept", "text/event-stream"),
        victim.own(ping("1")),
        victim.own(tool("1", "echo", &json!({ "text": "x".repeat(100_000) }))),
        victim.own(tool_with_progress("1", "slow", &slow)),
        victim.own(notice("notifications/initialized", &json!({}))),
        victim.own(get()),
        delete().with("mcp-session-id", "nobody's"),
    ]
}

fn drop_one(addr: SocketAddr, victim: &Session, chance: &mut Chance) {
    let asks = asks(victim);
    let bytes = chance.one_of(&asks).bytes();
    let mut wire = Wire::to(addr);
    match chance.below(4) {
        // Within the request; also before its first byte, and before its last.
        0 => wire.send(&bytes[..chance.below(bytes.len())]),
        // Chopped, and then within.
        1 => {
            let cut = chance.below(bytes.len());
            for piece in bytes[..cut].chunks(1 + chance.below(cut.max(1))).take(5) {
                wire.send(piece);
            }
        }
        // As soon as it was sent.
        2 => wire.send(&bytes),
        // Within the answer, or after it.
        _ => {
            wire.send(&bytes);
            // None may come for a while, as on a GET.
            _ = wire.read_for(Duration::from_millis(20));
            if chance.below(4) == 0 {
                end_what_was_opened(addr, &wire);
            }
        }
    }
    match chance.below(3) {
        0 => wire.reset(),
        1 => drop(wire),
        _ => {
            wire.half_close();
            drop(wire);
        }
    }
}

/// A client that read its session's id deletes it, while its first connection is still there.
fn end_what_was_opened(addr: SocketAddr, wire: &Wire) {
    let text = String::from_utf8_lossy(wire.unused()).into_owned();
    let id = text.split_once("mcp-session-id: ").and_then(|(_, rest)| rest.split_once("\r\n"));
    if let Some((id, _)) = id {
        let answer = Wire::to(addr).ask(&delete().with("mcp-session-id", id));
        assert_eq!(answer.status(), 204, "{answer:?}");
    }
}
