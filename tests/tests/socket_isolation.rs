//! What some clients do wrong is no loss to others: while the server is refused at, left, stalled and panicked in, a
//! live session's calls all get their right answers.

mod socket_support;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use serde_json::json;

use socket_support::ask::{Ask, get, initialize_as, request};
use socket_support::chance::Chance;
use socket_support::local::Local;
use socket_support::refusals;
use socket_support::session::Session;
use socket_support::stats::{Stats, Tables};
use socket_support::wait::until;
use socket_support::wire::{Lost, Wire};

/// Calls, one after the other, until told to stop; every answer must be the right one. Returns how many there were.
fn call_on(session: &Session, name: &str, stop: &AtomicBool) -> u64 {
    let mut wire = Wire::to(session.addr);
    let mut calls = 0;
    while !stop.load(Ordering::SeqCst) {
        calls += 1;
        let mine = format!("{name} {calls}");
        let (method, accept) = match calls % 3 {
            0 => ("echo", "application/json"),
            1 => ("echo", "text/event-stream"),
            _ => ("gated", "application/json, text/event-stream"),
        };
        // The same id everywhere: they must never be taken for each other.
        let ask = request("1", method, &json!({ "mine": mine })).set("accept", accept);
        let answer = wire.ask(&session.own(ask));
        let message = match answer.field("content-type") {
            Some("application/json") => answer.json(),
            _ => answer.events().iter().find_map(|event| event.message()).unwrap(),
        };
        assert_eq!(message, json!({ "jsonrpc": "2.0", "id": 1, "result": { "mine": mine } }));
    }
    calls
}

/// Requests of all kinds, of which each is cut off at some byte, on either side, in one of the ways there are.
fn disconnect(session: &Session, addr: SocketAddr, times: usize, seed: u64) {
    let mut chance = Chance::new(seed);
    let asks = [
        initialize_as("test", "2025-06-18"),
        initialize_as("gated", "2025-11-25"),
        session.own(request("1", "counts", &json!({ "to": 20 }))),
        session.own(request("1", "panics", &json!({}))),
        session.own(request("1", "big", &json!({ "bytes": 100_000 }))),
        session.own(get()),
    ];
    for _ in 0..times {
        let bytes = chance.one_of(&asks).bytes();
        let mut wire = Wire::to(addr);
        let whole = chance.below(2) == 0;
        let cut = if whole { bytes.len() } else { chance.below(bytes.len()) };
        wire.send(&bytes[..cut]);
        if whole && chance.below(2) == 0 {
            // Some of the answer, if there is one: not all of them answer at once.
            _ = wire.read_for(Duration::from_millis(20));
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
}

#[test]
fn a_live_session_is_served_whatever_others_do() {
    let server = Local::start(|config| {
        config.body_bytes_max = refusals::BODY_BYTES_MAX;
        config.write_stall = Duration::from_millis(300);
        config.confirm = Duration::from_millis(300);
        config.stream_retention = Duration::from_millis(50);
    });
    server.open_gate();
    let addr = server.addr;
    let (live, other, victim) = (Session::open(addr), Session::open(addr), Session::open(addr));
    let lost = refusals::lost_event(&victim);
    let refusals = refusals::all(&victim, &lost);
    let stop = AtomicBool::new(false);
    scope(|threads| {
        let callers = [("live", &live), ("other", &other), ("live again", &live)]
            .map(|(name, session)| threads.spawn(|| call_on(session, name, &stop)));
        let wrong = [
            threads.spawn(|| refusals.iter().cycle().take(300).for_each(|refused| _ = refused.send(addr))),
            threads.spawn(|| disconnect(&victim, addr, 100, 1)),
            threads.spawn(|| {
                let mut wire = Wire::to(addr);
                for method in ["panics", "fails", "no-such"].iter().cycle().take(300) {
                    let answer = wire.ask(&victim.own(request("1", method, &json!({}))));
                    assert!(answer.error_code() < 0);
                }
            }),
            threads.spawn(|| {
                // Slow readers: each takes a byte and no more, until the server gives it up.
                let asks = [
                    initialize_as("huge", "2025-06-18"),
                    victim.own(request("1", "big", &json!({ "bytes": 12 * 1024 * 1024 }))),
                ];
                for ask in asks.iter().cycle().take(6) {
                    let mut wire = Wire::narrow(addr);
                    wire.send(ask.bytes());
                    wire.head().unwrap();
                    socket_support::wait::pause(Duration::from_millis(30));
                }
            }),
        ];
        wrong.into_iter().for_each(|thread| thread.join().unwrap());
        stop.store(true, Ordering::SeqCst);
        let calls = callers.map(|caller| caller.join().unwrap());
        assert!(calls.iter().all(|calls| *calls > 10), "hardly any calls were made meanwhile: {calls:?}");
    });
    [live, other, victim].into_iter().for_each(Session::close);
    Stats::until(addr, "nothing left", |stats| stats.tables == Tables::EMPTY && stats.connections == 1);
}

/// C11: a stream that is flooded and never read is closed at the write stall; others do not wait for it.
#[test]
fn a_reader_that_never_reads_slows_nobody() {
    let server = Local::start(|config| config.write_stall = Duration::from_millis(500));
    let addr = server.addr;
    let (flooded, live) = (Session::open(addr), Session::open(addr));
    let mut stalled: Vec<Wire> = (0..4)
        .map(|number| {
            let mut wire = Wire::narrow(addr);
            // The last one in the very session whose other calls must go on.
            let session = if number == 3 { &live } else { &flooded };
            wire.send(session.own(request("1", "flood", &json!({}))).bytes());
            wire
        })
        .collect();
    until("all floods", || server.begun(), |begun| *begun == 4);
    // While the floods stand still because nobody reads them: the rings are full, the sockets too.
    let mut wire = Wire::to(addr);
    let mut calls = 0_u32;
    let mut open = 4;
    while open > 0 {
        for session in [&live, &flooded] {
            calls += 1;
            let answer = wire.ask(&session.own(request("1", "echo", &json!({ "mine": calls }))));
            assert_eq!(answer.result()["mine"], calls);
        }
        open = server.stats().tables.exchanges;
        assert!(calls < 1_000_000, "a stream that is not read is never closed");
    }
    assert!(calls > 20, "only {calls} calls were served while others did not read");
    for wire in &mut stalled {
        assert_ne!(wire.drain(), Lost::Silent);
    }
    server.open_gate();
    until("the floods' end", || server.over(), |over| *over >= 4);
    flooded.close();
    live.close();
    server.settle(Tables::EMPTY);
}

/// R5, R6: answers, notices and replies never cross, however alike the ids are.
#[test]
fn nothing_crosses_between_sessions() {
    let server = Local::start(|_| ());
    server.open_gate();
    let addr = server.addr;
    let server = &server;
    scope(|threads| {
        for client in 0..8_u64 {
            threads.spawn(move || {
                let session =
                    Session::open_at(addr, if client % 2 == 0 { "2025-11-25" } else { "2025-06-18" });
                let mut standalone = session.listen();
                let mut wire = Wire::to(addr);
                for round in 0..20 {
                    let mine = json!({ "client": client, "round": round });
                    server.notify(&session.id, "notifications/mine", mine.clone());
                    let answer = wire.ask(&session.own(request("1", "echo", &mine)));
                    assert_eq!(answer.result(), mine);
                    assert_eq!(standalone.message()["params"], mine);
                    let mut asking = session.stream(request("1", "asks", &json!({})));
                    let asked = asking.message()["id"].clone();
                    let reply = json!({ "jsonrpc": "2.0", "id": asked, "result": mine });
                    assert_eq!(session.ask(Ask::post(reply.to_string())).status(), 202);
                    let messages = asking.messages();
                    assert_eq!(messages.len(), 1);
                    assert_eq!(messages[0]["result"], mine);
                }
                session.close();
                assert_eq!(standalone.rest(), []);
            });
        }
    });
    server.settle(Tables::EMPTY);
}
