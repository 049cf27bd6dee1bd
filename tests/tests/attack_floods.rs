//! More than a server can take: heads, chunk extensions, trailers and pipelines without end, and bodies whose
//! length is not what was said. Each is refused in the right words at a bound, nothing that hides in a body is
//! heard as a request, and nothing is left.
#![cfg(target_os = "linux")]

mod attack_support;
mod socket_support;

use std::net::SocketAddr;

use serde_json::json;

use attack_support::before::rounds;
use attack_support::live::Live;
use attack_support::peers::{many, pour};
use attack_support::size;
use socket_support::ask::{Ask, initialize, ping};
use socket_support::binary::Everything;
use socket_support::session::Session;
use socket_support::wire::{Lost, Wire};

/// Of each kind at a time.
const PEERS: usize = 4;
const ROUNDS: usize = 3;

/// What each of them pours at most: many times what any limit allows.
const POURED_MAX: usize = 4 * 1024 * 1024;

fn peers() -> usize {
    size(PEERS, 10 * PEERS)
}

/// A request that never comes to its end.
struct Flood {
    what: &'static str,
    first: Vec<u8>,
    then: &'static [u8],
    status: u16,
}

fn floods() -> Vec<Flood> {
    let flood =
        |what, first: &[u8], then: &'static [u8], status| Flood { what, first: first.to_vec(), then, status };
    let line = b"POST /mcp HTTP/1.1\r\n";
    let chunked = initialize().body("").with("transfer-encoding", "chunked").bytes();
    let and = |more: &[u8]| [&chunked[..], more].concat();
    vec![
        flood("a method", b"", b"x", 400),
        flood("blank lines", b"", b"\r\n", 400),
        flood("a target", b"POST /mcp?", b"x", 414),
        flood("fields", line, b"x: y\r\n", 431),
        flood("a field's name", line, b"x", 431),
        flood("a field's value", &[line, &b"x: "[..]].concat(), b"y", 431),
        flood("the same field", line, b"mcp-session-id: x\r\n", 431),
        flood("lengths", line, b"content-length: 5\r\n", 431),
        flood("zeros of a chunk's size", &chunked, b"0", 400),
        flood("a chunk's extension", &and(b"1;"), b"x", 400),
        flood("many chunks' extensions", &chunked, b"1;a=bcdefgh\r\n \r\n", 400),
        flood("trailers", &and(b"1\r\n \r\n0\r\n"), b"x: y\r\n", 431),
        flood("a trailer", &and(b"1\r\n \r\n0\r\nx: "), b"y", 431),
        flood("chunks", &chunked, b"400\r\n \r\n", 400),
    ]
}

#[test]
fn floods_of_everything_that_has_a_limit() {
    let server = Everything::start(&["--body-max", "1000000"]);
    let (addr, floods) = (server.addr, floods());
    rounds(&server, "floods", ROUNDS, || {
        Live::beside(Session::open(addr), |live| {
            let peers = many(peers() * floods.len(), |peer| pour_out(addr, &floods[peer % floods.len()]));
            live.is_served(2);
            peers
        })
    });
    let stats = server.stats();
    let sent = ((ROUNDS + 1) * peers() * floods.len()) as u64;
    assert_eq!(stats.refused("http"), sent, "{:?}", stats.refusals);
    assert_eq!(stats.lives.created, ROUNDS as u64 + 1, "a flood opened a session");
}

#[track_caller]
fn pour_out(addr: SocketAddr, flood: &Flood) {
    let mut wire = pour(addr, &flood.first, flood.then, POURED_MAX);
    let answer = wire.answer();
    let told = (answer.status(), answer.head.closes());
    assert_eq!(told, (flood.status, true), "{}: {answer:?}", flood.what);
    wire.half_close();
    assert_ne!(wire.drain(), Lost::Silent, "{}: it is listened to for ever", flood.what);
}

/// Bodies that are longer than the limit, one chunk of a byte after the other: counted as they come (L1).
#[test]
fn a_body_of_single_bytes() {
    let server = Everything::start(&["--body-max", "20000"]);
    let body = initialize().body;
    let chunk = |byte: &u8| [b"1\r\n", &[*byte][..], b"\r\n"].concat();
    let head = initialize().body("").with("transfer-encoding", "chunked").bytes();
    let chunks: Vec<u8> = body.iter().flat_map(chunk).collect();
    let blank = chunk(&b' ').repeat(20_000 - body.len());
    let whole = [&head[..], &chunks, &blank, b"0\r\n\r\n"].concat();
    let over = [&head[..], &chunks, &blank, &chunk(&b' '), b"0\r\n\r\n"].concat();
    rounds(&server, "bodies of single bytes", ROUNDS, || {
        many(peers(), |number| {
            let (bytes, status) = if number % 2 == 0 { (&whole, 200) } else { (&over, 413) };
            let mut wire = Wire::to(server.addr);
            // A refusal may come before all is read.
            _ = wire.try_send(bytes);
            let answer = wire.answer();
            assert_eq!(answer.status(), status, "{answer:?}");
            if let Some(id) = answer.session_id() {
                let session = Session { addr: server.addr, id: id.to_owned(), version: "2025-06-18" };
                session.close();
            }
        })
    });
}

/// What a length can look like, with the length that it means, if it means any. `{}` is the true one.
const LENGTHS: [(&str, Option<i64>); 26] = [
    ("{}", Some(0)),
    ("000{}", Some(0)),
    (" {} ", Some(0)),
    ("{}\t", Some(0)),
    ("{-1}", Some(-1)),
    ("{+1}", Some(1)),
    ("0", None),
    ("1", None),
    ("", None),
    ("+{}", None),
    ("-{}", None),
    ("-0", None),
    ("{}.0", None),
    ("{}e0", None),
    ("0x{}", None),
    ("{},{}", None),
    ("{}, {}", None),
    ("{} {}", None),
    ("{};", None),
    ("\"{}\"", None),
    ("{}\r\nx-more: 1\r\ncontent-length: {}", None),
    ("{}\r\ncontent-length: 0", None),
    ("{}\r\ntransfer-encoding: identity", None),
    ("{2^32}", None),
    ("{2^64}", None),
    ("{2^128}", None),
];

/// The length as it is said, for a body of so many bytes. What wraps around in 32, 64 or 128 bits would be the true
/// length again.
fn said(length: &str, bytes: usize) -> String {
    let (past_64, past_128) =
        (u128::from(u64::MAX) + 1 + bytes as u128, "340282366920938463463374607431768211456");
    length
        .replace("{}", &bytes.to_string())
        .replace("{-1}", &(bytes - 1).to_string())
        .replace("{+1}", &(bytes + 1).to_string())
        .replace("{2^32}", &((1_u64 << 32) + bytes as u64).to_string())
        .replace("{2^64}", &past_64.to_string())
        .replace("{2^128}", past_128)
}

/// Bodies that lie about their length, with a good request hidden where a gullible server would look for the next
/// one. Only an honest length opens a session, and only one.
#[test]
fn bodies_that_lie() {
    let server = Everything::start(&[
        "--body-timeout",
        "1",
        "--header-timeout",
        "1",
        "--keep-alive",
        "1",
        "--confirm-timeout",
        "0.2",
    ]);
    let addr = server.addr;
    let body = String::from_utf8(initialize().body).unwrap();
    let hidden = String::from_utf8(initialize().bytes()).unwrap();
    rounds(&server, "bodies that lie", ROUNDS, || {
        many(2 * LENGTHS.len(), |number| {
            let (length, off) = LENGTHS[number / 2];
            // With more behind the body, or with silence.
            let follows = number % 2 == 0;
            let fields = said(length, body.len());
            let head = initialize().body("").with("x-fields", "y").with("transfer-encoding", "x").bytes();
            let head = String::from_utf8(head)
                .unwrap()
                .replace("transfer-encoding: x", &format!("content-length: {fields}"));
            let mut wire = Wire::to(addr);
            _ = wire.try_send(format!("{head}{body}{}", if follows { &hidden } else { "" }));
            let statuses = statuses(&mut wire);
            let expected: &[u16] = match (off, follows) {
                // Honest: the one behind is a request of its own.
                (Some(0), true) => &[200, 200],
                (Some(0), false) => &[200],
                // Too short: no JSON, and then a `}` that is no request.
                (Some(-1), _) => &[400, 400],
                // Too long: with the first byte of what follows it is no JSON; alone it never comes whole.
                (Some(_), true) => &[400, 501],
                (Some(_), false) => &[408],
                (None, _) => return assert!(refused(&statuses), "{length:?}: {statuses:?}"),
            };
            assert_eq!(statuses, expected, "{length:?}, follows: {follows}");
        })
    });
    let honest = LENGTHS.iter().filter(|(_, off)| *off == Some(0)).count();
    let created = server.stats().lives.created;
    assert_eq!(created, ((ROUNDS + 1) * honest * 3) as u64, "a hidden request was heard");
}

/// Nothing but refusals.
fn refused(statuses: &[u16]) -> bool {
    !statuses.is_empty() && statuses.iter().all(|status| [400, 413, 501].contains(status))
}

/// All answers until the server closes. Silence is none: each peer here has deadlines.
#[track_caller]
fn statuses(wire: &mut Wire) -> Vec<u16> {
    let mut statuses = Vec::new();
    loop {
        match wire.try_answer(false) {
            Ok(answer) => statuses.push(answer.status()),
            Err(Lost::Silent) => panic!("the connection stays open after {statuses:?}"),
            Err(Lost::Closed | Lost::Reset) => return statuses,
        }
    }
}

/// Answers come in order and each to its own, however many requests are sent ahead (H4).
#[test]
fn pipelines_that_are_read() {
    const AHEAD: usize = 200;
    let server = Everything::start(&[]);
    let addr = server.addr;
    rounds(&server, "pipelines", ROUNDS, || {
        let session = Session::open(addr);
        let count = Live::beside(Session::open(addr), |live| {
            let count = many(peers(), |peer| {
                let mut wire = Wire::to(addr);
                for burst in 0..size(3, 30) {
                    let id = |number: usize| (peer * 1_000 + burst) * 1_000 + number;
                    let asks = (0..AHEAD).map(|number| session.own(ping(&id(number).to_string())).bytes());
                    wire.send(asks.collect::<Vec<_>>().concat());
                    for number in 0..AHEAD {
                        assert_eq!(
                            wire.answer().json(),
                            json!({ "jsonrpc": "2.0", "id": id(number), "result": {} })
                        );
                    }
                }
            });
            live.is_served(2);
            count
        });
        session.close();
        count
    });
}

/// Whoever sends and does not read is not read any more, and takes no memory for what it sent.
#[test]
fn pipelines_that_are_never_read() {
    /// What one of them may hold in the server: what was read at a time, an answer, and a connection.
    const EACH_KIB_MAX: u64 = 256;
    let server = Everything::start(&[]);
    let addr = server.addr;
    let mut held_kib_max = 0;
    rounds(&server, "pipelines that nobody reads", ROUNDS, || {
        let session = Session::open(addr);
        let list: Ask = session.own(Ask::post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#));
        let many_lists = list.bytes().repeat(5_000);
        let alone = server.resident_kib();
        Live::beside(Session::open(addr), |live| {
            let mut wires: Vec<Wire> = (0..PEERS).map(|_| Wire::narrow(addr)).collect();
            many_of(&mut wires, |wire| wire.send_what_is_taken(&many_lists));
            live.is_served(20);
            held_kib_max = server.resident_kib().saturating_sub(alone).max(held_kib_max);
        });
        session.close();
        PEERS
    });
    println!("{PEERS} pipelines that nobody reads held up to {held_kib_max} KiB");
    assert!(held_kib_max <= PEERS as u64 * EACH_KIB_MAX, "{held_kib_max} KiB for {PEERS} pipelines");
}

/// Each on a thread of its own.
fn many_of(wires: &mut [Wire], does: impl Fn(&mut Wire) + Sync) {
    std::thread::scope(|threads| {
        for wire in wires {
            let does = &does;
            threads.spawn(move || does(wire));
        }
    });
}
