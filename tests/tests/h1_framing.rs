//! What a peer may send, and what becomes of it: exact events for each rule of framing (H1..H6, H8).

mod h1_support;

use h1_support::cuts::Cut;
use h1_support::judge::Server;
use h1_support::rig::{Rig, full, served};
use mcp_http_core::h1::{Body, Limits};
use proptest::prelude::*;

const HOST: &str = "Host: a\r\n";

/// A request with these lines behind `Host`.
fn post(lines: &str) -> String {
    format!("POST /mcp HTTP/1.1\r\n{HOST}{lines}\r\n")
}

fn chunked(body: &str) -> String {
    post("Transfer-Encoding: chunked\r\n") + body
}

fn last(input: &str) -> String {
    served(&mut Rig::new(), input).pop().unwrap_or_default()
}

#[test]
fn h1_a_request_comes_as_head_data_and_end() {
    let mut rig = Rig::new();
    assert_eq!(
        rig.receive(post("Content-Length: 5\r\n") + "hello"),
        ["Request POST /mcp HTTP/1.1 Length(5)"],
        "the body waits until it is asked for"
    );
    assert_eq!(rig.read_body(5), ["Data hello", "BodyEnd"]);
    rig.respond(200, Body::Empty).expect("it is due");
    assert_eq!(rig.events(), [""; 0]);
    rig.write();
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.connection.buffered(), 0);
}

#[test]
fn h1_a_request_without_a_body_has_an_empty_one() {
    let mut rig = Rig::new();
    assert_eq!(rig.receive(post("")), ["Request POST /mcp HTTP/1.1 None"]);
    assert_eq!(rig.read_body(5), ["BodyEnd"]);
    assert_eq!(last(&post("Content-Length: 0\r\n")), "BodyEnd");
    assert_eq!(last(&chunked("0\r\n\r\n")), "BodyEnd");
}

#[test]
fn h1_data_comes_as_it_arrives() {
    let mut rig = Rig::new();
    served(&mut rig, &post("Content-Length: 5\r\n"));
    assert_eq!(rig.receive("he"), ["Data he"]);
    assert_eq!(rig.receive("llo"), ["Data llo", "BodyEnd"]);

    let mut rig = Rig::new();
    served(&mut rig, &chunked("5\r\nhe"));
    assert_eq!(rig.receive("llo\r\n3;x=\"y\"\r\n"), ["Data llo"]);
    assert_eq!(rig.receive("abc\r\n0\r\nTrailer: dropped\r\n"), ["Data abc"]);
    assert_eq!(rig.receive("\r\n"), ["BodyEnd"]);
}

#[test]
fn h1_each_fault_of_a_head() {
    let long_line = format!("GET /{} HTTP/1.1\r\n", "a".repeat(16 * 1024));
    let long_head = post(&format!("A: {}\r\n", "a".repeat(64 * 1024)));
    let cases = [
        ("\x16\x03\x01", "NotHttp 400"),
        (" GET / HTTP/1.1\r\n", "NotHttp 400"),
        ("{\"jsonrpc\"", "NotHttp 400"),
        (&"\r\n".repeat(9), "EmptyLines 400"),
        ("\nGET / HTTP/1.1\r\n", "LineEnd 400"),
        ("\rGET", "LineEnd 400"),
        ("GET / HTTP/1.1\n", "LineEnd 400"),
        ("GET / HTTP/1.1\r\nHost: a\n", "LineEnd 400"),
        ("GET / HTTP/1.1\rHost: a\r\n", "RequestLine 400"),
        ("GET /\r\n", "RequestLine 400"),
        ("GET  / HTTP/1.1\r\n", "RequestLine 400"),
        ("GET /  HTTP/1.1\r\n", "RequestLine 400"),
        ("GET / HTTP/1.1 \r\n", "RequestLine 400"),
        ("GET\t/ HTTP/1.1\r\n", "RequestLine 400"),
        ("G@T / HTTP/1.1\r\n", "RequestLine 400"),
        ("GET / HTTP/1.10\r\n", "RequestLine 400"),
        ("GET / http/1.1\r\n", "RequestLine 400"),
        ("SSH-2.0-x\r\n", "RequestLine 400"),
        (&"A".repeat(2049), "RequestLine 400"),
        ("GET / HTTP/2.0\r\n", "Version 505"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "Version 505"),
        (&long_line, "RequestLineTooLong 414"),
        (&long_head, "HeadTooLarge 431"),
        (&post(&"a: b\r\n".repeat(100)), "TooManyFields 431"),
        (&post("A : b\r\n"), "Field 400"),
        (&post(": b\r\n"), "Field 400"),
        (&post("A\r\n"), "Field 400"),
        (&post("A: b\r\n c\r\n"), "Field 400"),
        (&post("A: b\0\r\n"), "Field 400"),
        (&post("A: b\rc\r\n"), "Field 400"),
        (&post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "LengthAndCoding 400"),
        (&post("Content-Length: +1\r\n"), "ContentLength 400"),
        (&post("Content-Length: \r\n"), "ContentLength 400"),
        (&post("Content-Length: 1, 1\r\n"), "ContentLength 400"),
        (&post("Content-Length: 1\r\nContent-Length: 1\r\n"), "ContentLength 400"),
        (&post("Content-Length: 18446744073709551616\r\n"), "ContentLength 400"),
        (&post("Transfer-Encoding: chunked, chunked\r\n"), "Coding 400"),
        (&post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "Coding 400"),
        (&post("Transfer-Encoding: chunked, gzip\r\n"), "Coding 400"),
        (&post("Transfer-Encoding: chunked;q=1\r\n"), "Coding 400"),
        (&post("Transfer-Encoding: \r\n"), "Coding 400"),
        (&post("Transfer-Encoding: chunked,\r\n"), "Coding 400"),
        (&post("Transfer-Encoding: gzip, chunked\r\n"), "CodingUnknown 501"),
        (&post("Transfer-Encoding: identity\r\n"), "CodingUnknown 501"),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "CodingInHttp10 400"),
        ("POST / HTTP/1.1\r\n\r\n", "HostMissing 400"),
        (&post("hOST: a\r\n"), "HostRepeated 400"),
        ("POST / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", "HostRepeated 400"),
        ("POST / HTTP/1.1\r\nHost: u@a\r\n\r\n", "HostMalformed 400"),
        ("POST / HTTP/1.1\r\nHost:\r\n\r\n", "HostMalformed 400"),
        ("POST mcp HTTP/1.1\r\nHost: a\r\n\r\n", "Target 400"),
        (&"A".repeat(65), "Method 501"),
        ("BREW / HTTP/1.1\r\nHost: a\r\n\r\n", "Method 501"),
        ("post / HTTP/1.1\r\nHost: a\r\n\r\n", "Method 501"),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", "Method 501"),
        (&post("Expect: a-cookie\r\n"), "Expectation 417"),
        (&post("Expect: 100-continue, a-cookie\r\n"), "Expectation 417"),
    ];
    for (input, expected) in cases {
        let is_word = input.bytes().all(|octet| octet == b'A') && input.len() < 2048;
        let input = if is_word { format!("{input} / HTTP/1.1\r\nHost: a\r\n\r\n") } else { input.to_owned() };
        assert_eq!(Rig::new().receive(&input), [format!("Fault {expected}")], "{input:.80}");
    }
}

#[test]
fn h1_each_fault_of_a_body() {
    let cases = [
        ("\r\n", "ChunkLine 400"),
        (";a\r\n", "ChunkLine 400"),
        ("5\n", "ChunkLine 400"),
        ("+5\r\n", "ChunkLine 400"),
        ("5 \r\n", "ChunkLine 400"),
        ("5\rx\n", "ChunkLine 400"),
        ("10000000000000000\r\n", "ChunkLine 400"),
        (&"0".repeat(273), "ChunkLine 400"),
        ("5000000\r\n", "BodyTooLarge 413"),
        ("0\n", "ChunkLine 400"),
        ("0\r\n\n", "Trailer 400"),
        ("0\r\nA\r\n", "Trailer 400"),
        ("0\r\n A: b\r\n", "Trailer 400"),
        ("0\r\nA : b\r\n", "Trailer 400"),
        ("0\r\nA: \x01\r\n", "Trailer 400"),
        (&format!("0\r\nA: {}", "a".repeat(64 * 1024)), "TrailersTooLarge 431"),
        (&format!("0\r\n{}", "A: b\r\n".repeat(101)), "TrailersTooLarge 431"),
        (&format!("0\r\n{}", format!("A: {}\r\n", "b".repeat(1024)).repeat(64)), "TrailersTooLarge 431"),
    ];
    for (body, expected) in cases {
        assert_eq!(last(&chunked(body)), format!("Fault {expected}"), "{body:.80}");
    }
    for end in ["X", "\n", "\rX", "0\r\n"] {
        let input = chunked("3\r\nabc") + end;
        assert_eq!(served(&mut Rig::new(), &input)[1..], ["Data abc", "Fault ChunkEnd 400"], "{end:?}");
    }
}

#[test]
fn h1_chunk_extensions_are_bounded_in_total() {
    let chunk = format!("1;{}\r\nx\r\n", "a".repeat(255));
    assert_eq!(last(&chunked(&(chunk.repeat(64) + "0\r\n\r\n"))), "BodyEnd");
    assert_eq!(last(&chunked(&chunk.repeat(65))), "Fault ChunkLine 400");
}

#[test]
fn h1_faults_come_in_the_order_of_the_rules() {
    // Syntax, version, framing, host, target, method, expectation: each line breaks its rule and all after it.
    let rest = "Content-Length: x\r\nHost: ,\r\nExpect: x\r\n\r\n";
    let inputs = [
        ("BREW mcp HTTP/9\r\n".to_owned() + rest, "RequestLine 400"),
        ("BREW mcp HTTP/9.1\r\n".to_owned() + rest, "Version 505"),
        ("BREW mcp HTTP/1.1\r\nA : b\r\n".to_owned() + rest, "Field 400"),
        ("BREW mcp HTTP/1.1\r\n".to_owned() + rest, "ContentLength 400"),
        ("BREW mcp HTTP/1.1\r\nHost: ,\r\nExpect: x\r\n\r\n".to_owned(), "HostMalformed 400"),
        ("BREW mcp HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n".to_owned(), "Target 400"),
        ("BREW /mcp HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n".to_owned(), "Method 501"),
        ("POST /mcp HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n".to_owned(), "Expectation 417"),
    ];
    for (input, expected) in inputs {
        assert_eq!(last(&input), format!("Fault {expected}"), "{input}");
    }
}

#[test]
fn h1_nothing_is_parsed_behind_a_fault() {
    let mut rig = Rig::new();
    let good = post("Content-Length: 0\r\n");
    assert_eq!(rig.receive("GET / HTTP/1.1\r\n\r\n".to_owned() + &good), ["Fault HostMissing 400"]);
    assert_eq!(rig.receive(&good), [""; 0]);
    rig.respond(400, full("no Host")).expect("a fault is answered");
    assert!(rig.write().contains("\r\nconnection: close\r\n"));
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
    assert_eq!(rig.receive(&good), [""; 0]);
    assert_eq!(rig.receive_eof(), ["Close"]);
}

#[test]
fn h1_only_crlf_before_a_request_line() {
    let request = post("");
    assert_eq!(last(&("\r\n".repeat(8) + &request)), "BodyEnd");
    assert_eq!(Rig::new().receive("\r"), [""; 0]);
    assert_eq!(Rig::new().receive("\r\n\r\n\0\r\nQUIT\n"), ["Fault NotHttp 400"]);
}

#[test]
fn h2_limits_hold_to_the_octet_at_any_cut() {
    let limits =
        Limits { request_line_bytes_max: 40, head_bytes_max: 100, fields_max: 3, ..Limits::default() };
    let line = |octets: usize| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(octets - 14));
    let head = |octets: usize| format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n", "x".repeat(octets - 32));
    let fields = |count: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(count - 1));
    let cases = [
        (line(40), "Request"),
        (line(41), "Fault RequestLineTooLong 414"),
        (head(100), "Request"),
        (head(101), "Fault HeadTooLarge 431"),
        (fields(3), "Request"),
        (fields(4), "Fault TooManyFields 431"),
    ];
    assert_eq!((line(40).find("\r\n"), head(100).len()), (Some(40), 100));
    for (input, expected) in cases {
        for cut in [Cut::Whole, Cut::Octets, Cut::Random { seed: 1 }] {
            let mut rig = Rig::with(limits.clone());
            let events: Vec<String> =
                cut.apply(input.as_bytes()).into_iter().flat_map(|piece| rig.receive(piece)).collect();
            assert!(events.len() == 1 && events[0].starts_with(expected), "{input} {cut:?} {events:?}");
        }
    }
}

#[test]
fn h6_a_body_may_fill_its_limit_and_no_more() {
    for (length, limit, expected) in [(5, 5, "BodyEnd"), (5, 6, "BodyEnd"), (5, 4, "Fault BodyTooLarge 413")]
    {
        let mut rig = Rig::new();
        rig.receive(post(&format!("Content-Length: {length}\r\n")) + "hello");
        assert_eq!(rig.read_body(limit).last().map(String::as_str), Some(expected));

        let mut rig = Rig::new();
        rig.receive(chunked("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"));
        assert_eq!(rig.read_body(limit).last().map(String::as_str), Some(expected));
    }
    let mut rig = Rig::with(Limits { body_bytes_max: 4, ..Limits::default() });
    rig.receive(post("Content-Length: 5\r\n"));
    assert_eq!(rig.read_body(usize::MAX), ["Fault BodyTooLarge 413"], "the connection's own limit holds too");
}

#[test]
fn h6_a_chunk_over_the_limit_is_refused_at_its_size_line() {
    let mut rig = Rig::new();
    rig.receive(chunked("3\r\nabc\r\n3\r\n"));
    assert_eq!(rig.read_body(5), ["Data abc", "Fault BodyTooLarge 413"]);
}

#[test]
fn h8_targets() {
    let cases = [
        ("GET", "/", "/"),
        ("GET", "/mcp?a=b&c[]=%20", "/mcp?a=b&c[]=%20"),
        ("GET", "//mcp/./x;a,b:@!$&'()*+=~", "//mcp/./x;a,b:@!$&'()*+=~"),
        ("GET", "http://b/mcp", "http://b/mcp"),
        ("GET", "HTTP://[::1]:80/mcp", "http://[::1]:80/mcp"),
        ("GET", "https://b?x", "https://b/?x"),
        ("GET", "http://b", "http://b/"),
        ("OPTIONS", "*", "*"),
    ];
    for (method, target, uri) in cases {
        let events = Rig::new().receive(format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(events, [format!("Request {method} {uri} HTTP/1.1 None")]);
    }
    let refused = [
        "mcp",
        "?x",
        "*",
        "a:80",
        "/mcp#f",
        "/\\",
        "/<x>",
        "/|",
        "/^",
        "/{}",
        "/\"",
        "/`",
        "/[",
        "/%zz",
        "/%4",
        "/\u{e9}",
        "/\u{1}",
        "/\u{7f}",
        "http:///mcp",
        "http://u@b/",
        "http://b:99999/",
        "http:/b",
        "http://b/#f",
        "ftp://b/",
        "://b/",
        "http://b,c/",
    ];
    for target in refused {
        let events = Rig::new().receive(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(events, ["Fault Target 400"], "{target}");
    }
}

#[test]
fn h8_versions() {
    for (version, is_11) in [("HTTP/1.0", false), ("HTTP/1.1", true), ("HTTP/1.2", true), ("HTTP/1.9", true)]
    {
        let events = Rig::new().receive(format!("GET / {version}\r\nHost: a\r\n\r\n"));
        assert_eq!(events, [format!("Request GET / HTTP/1.{} None", u8::from(is_11))]);
    }
    assert_eq!(Rig::new().receive("GET / HTTP/1.0\r\n\r\n").len(), 1, "Host is optional there");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, and however it is cut: no panic, the same events, and an end once the peer closes.
    #[test]
    fn h2_noise_gives_the_same_events_at_any_cut(input in noise(), seed in any::<u64>()) {
        let play = |cut: Cut| {
            let mut server = Server::new(Limits { head_bytes_max: 400, ..Limits::default() });
            let _stuck = cut.apply(&input).into_iter().all(|piece| server.receive(piece));
            server.receive_eof();
            server.advance_ms(120_000);
            prop_assert!(server.closed);
            prop_assert_eq!(server.rig.connection.buffered(), 0);
            Ok(server.events)
        };
        let whole = play(Cut::Whole)?;
        prop_assert_eq!(&whole, &play(Cut::Octets)?);
        prop_assert_eq!(&whole, &play(Cut::Random { seed })?);
    }
}

/// Pieces of requests, in any order, with a few octets of anything between them.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "POST /mcp HTTP/1.1\r\n",
        "GET /nope HTTP/1.1\r\n",
        "HEAD /mcp HTTP/1.0\r\n",
        "Host: 127.0.0.1\r\n",
        "Content-Type: application/json\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: 300000\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Expect: 100-continue\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "\r\n",
        "\r",
        "\n",
        "hello",
        "5\r\nhello\r\n",
        "5;a=\"b\"\r\nhello\r\n",
        "0\r\n\r\n",
        "0\r\nA: b\r\n\r\n",
        " ",
        ":",
        "\0",
    ]);
    let request = prop::sample::select(vec![
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello",
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /nope HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nhello",
        "GET /nope HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ]);
    let piece = prop_oneof![
        6 => known.prop_map(|text| text.as_bytes().to_vec()),
        4 => request.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}
