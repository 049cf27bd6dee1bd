//! Peers that are slow, silent, or half gone (L4, H6, H10). Each is ended by a deadline of the server's, while a
//! client beside them is served; then nothing of them is left.
#![cfg(target_os = "linux")]

mod attack_support;
mod socket_support;

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpSocket;

use attack_support::before::{GROWTH_KIB_MAX, rounds, rounds_within};
use attack_support::live::Live;
use attack_support::peers::{drip, many, sip};
use attack_support::size;
use socket_support::ask::{get, initialize, request, tool};
use socket_support::binary::Everything;
use socket_support::local::Local;
use socket_support::session::Session;
use socket_support::stats::{Stats, Tables};
use socket_support::wait::{pause, until};
use socket_support::wire::{Lost, Wire};

/// At a time, each on a thread of its own. With 4 MiB for the rounds that follow the first, that allows 27 KiB for
/// each: less than a head or a buffer of the longest kind.
const PEERS: usize = 50;
const ROUNDS: usize = 3;

/// For peers that wait to be found out. Clients that behave have to finish their heads and bodies within it.
const DEADLINES: [&str; 4] = ["--header-timeout", "1", "--body-timeout", "1"];

fn peers() -> usize {
    size(PEERS, 10 * PEERS)
}

#[test]
fn slow_heads() {
    let server = Everything::start(&DEADLINES);
    let addr = server.addr;
    let whole = initialize().bytes();
    let line = format!("POST /mcp?{}", "x".repeat(4_000)).into_bytes();
    let fields = b"POST /mcp HTTP/1.1\r\n";
    // From the very first byte; in a field; fields without end.
    let starts: [(&[u8], &[u8]); 3] = [(b"", &line), (&whole[..40], b"x"), (fields, b"x: y\r\n")];
    rounds(&server, "slow heads", ROUNDS, || {
        Live::beside(Session::open(addr), |live| {
            scope(|threads| {
                threads.spawn(|| live.is_served(10));
                many(peers(), |number| {
                    let (first, then) = starts[number % starts.len()];
                    let answer = drip(addr, first, then).answer();
                    assert_eq!((answer.status(), answer.head.closes()), (408, true), "{answer:?}");
                })
            })
        })
    });
    let stats = server.stats();
    assert_eq!(stats.refused("http"), ((ROUNDS + 1) * peers()) as u64, "{:?}", stats.refusals);
    assert_eq!(stats.lives.created, ROUNDS as u64 + 1, "a slow head opened a session");
}

#[test]
fn slow_bodies() {
    let server = Everything::start(&DEADLINES);
    let addr = server.addr;
    let head = |line: (&str, &str)| initialize().body("").with(line.0, line.1).bytes();
    let (counted, chunked) = (head(("content-length", "1000000")), head(("transfer-encoding", "chunked")));
    rounds(&server, "slow bodies", ROUNDS, || {
        Live::beside(Session::open(addr), |live| {
            scope(|threads| {
                threads.spawn(|| live.is_served(10));
                many(peers(), |number| {
                    let (first, then): (&[u8], &[u8]) = match number % 3 {
                        0 => (&counted, b" "),
                        1 => (&chunked, b"1\r\n \r\n"),
                        // Within the line of a chunk's size.
                        _ => (&chunked, b"4\r\n{   \r\n"),
                    };
                    let answer = drip(addr, first, then).answer();
                    assert_eq!((answer.status(), answer.head.closes()), (408, true), "{answer:?}");
                })
            })
        })
    });
    let stats = server.stats();
    assert_eq!(stats.refused("http"), ((ROUNDS + 1) * peers()) as u64, "{:?}", stats.refusals);
    assert_eq!(stats.lives.created, ROUNDS as u64 + 1, "a slow body opened a session");
}

/// Connections that say nothing, or nothing any more: closed without a word.
#[test]
fn half_open_peers() {
    let server =
        Everything::start(&["--keep-alive", "1", "--header-timeout", "1", "--confirm-timeout", "0.2"]);
    let addr = server.addr;
    rounds(&server, "half-open peers", ROUNDS, || {
        Live::beside(Session::open(addr), |live| {
            let silent = |number: usize| {
                let mut wire = Wire::to(addr);
                match number % 4 {
                    0 => {}
                    1 => wire.send(b"\r\n"),
                    2 => assert_eq!(wire.ask(&initialize()).status(), 200),
                    _ => wire.half_close(),
                }
                wire
            };
            let mut wires: Vec<Wire> = (0..4 * peers()).map(silent).collect();
            live.is_served(10);
            wires.iter_mut().for_each(Wire::expect_close);
            wires.len()
        })
    });
    assert_eq!(server.stats().refusals, [].into(), "silence is no request");
}

/// A peer that has asked and shut its side, while what it asked for takes its time.
#[test]
fn half_closed_peers() {
    let server = Everything::start(&["--stream-retention", "0.2"]);
    let addr = server.addr;
    rounds(&server, "half-closed peers", ROUNDS, || {
        let session = Session::open(addr);
        let slow = session.own(tool("1", "slow", &json!({ "ms": 300, "steps": 1 })));
        let asks = [slow.clone().set("accept", "application/json"), slow, session.own(get())];
        let mut wires: Vec<Wire> = (0..peers())
            .map(|number| {
                let mut wire = Wire::to(addr);
                wire.send(asks[number % asks.len()].bytes());
                wire.half_close();
                wire
            })
            .collect();
        // With an answer or without: it ends, though the peer never closes its other side.
        for wire in &mut wires {
            assert_ne!(wire.drain(), Lost::Silent);
        }
        session.close();
        wires.len()
    });
}

/// Readers of a stream of some MB that take a byte and then another. Meanwhile others are served; and when they
/// leave, what was kept for them goes.
#[test]
fn slow_readers_that_leave() {
    const READERS: usize = 12;
    const TEXT_BYTES: usize = 3 * 1024 * 1024;
    /// glibc keeps, at the top of the arena of each thread, up to twice the largest block that it ever mapped and
    /// was given back. A process on two cores has three such threads; more cores, more of them. If answers were
    /// lost instead, it would be `ROUNDS * READERS * 3` MiB.
    const KEPT_KIB_MAX: u64 = 2 * 3 * 1024 * 4 + GROWTH_KIB_MAX;
    let server = Everything::start(&["--stream-retention", "0.2"]);
    let addr = server.addr;
    let text = "x".repeat(TEXT_BYTES);
    rounds_within(&server, "slow readers", ROUNDS, KEPT_KIB_MAX, || {
        let reader = Session::open(addr);
        let ask = reader.own(tool("1", "echo", &json!({ "text": text })).set("accept", "text/event-stream"));
        Live::beside(Session::open(addr), |live| {
            let mut readers: Vec<TcpStream> = (0..READERS).map(|_| narrow(addr, &ask.bytes())).collect();
            let standing =
                |stats: &Stats| stats.tables.exchanges >= READERS as u64 && stats.tables.calls <= 1;
            Stats::until(addr, "all answers given and none taken", standing);
            for _ in 0..20 {
                assert!(readers.iter_mut().all(sip), "a slow reader was cut off without a reason");
                live.is_served(2);
            }
            // An answer waits once for each reader, and is not kept twice.
            let held = server.stats().tables.buffered_bytes;
            assert!(held <= (READERS * (TEXT_BYTES + 4 * 1024)) as u64, "{held} bytes are held");
        });
        reader.close();
        READERS
    });
}

/// Readers that never leave: reading a byte now and then is no way to hold a stream for ever (L4, C11).
#[test]
fn slow_readers_that_stay() {
    const READERS: usize = 8;
    let server = Local::start(|config| {
        config.write_stall = Duration::from_millis(500);
        config.stream_retention = Duration::from_millis(200);
    });
    let addr = server.addr;
    let session = Session::open(addr);
    let ask = session.own(request("1", "big", &json!({ "bytes": 12 * 1024 * 1024 })));
    let asks = [ask.clone().set("accept", "text/event-stream"), ask.set("accept", "application/json")];
    let stop = AtomicBool::new(false);
    scope(|threads| {
        let stop_all = StopOnDrop(&stop);
        for number in 0..READERS {
            let (bytes, stop) = (asks[number % asks.len()].bytes(), &stop);
            threads.spawn(move || {
                let mut stream = narrow(addr, &bytes);
                while !stop.load(Ordering::SeqCst) && sip(&mut stream) {
                    pause(Duration::from_millis(50));
                }
            });
        }
        until("all calls", || server.begun(), |begun| *begun == READERS);
        // They still read.
        Stats::until(addr, "every slow reader cut off", |stats| stats.tables.exchanges == 0);
        drop(stop_all);
    });
    session.close();
    server.settle(Tables::EMPTY);
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A peer whose system takes next to nothing for it, with a request sent.
fn narrow(addr: SocketAddr, request: &[u8]) -> TcpStream {
    use std::io::Write;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = runtime.block_on(socket.connect(addr)).expect("the server accepts").into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    stream.write_all(request).expect("the server reads");
    stream
}
