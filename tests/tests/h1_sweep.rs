//! All 256 octets at each place where a lenient reader could see another framing. A request is hidden where
//! that reader would find it; here it never runs, and the outcome is what the grammar says, exactly.

mod h1_support;

use h1_support::cuts::Cut;
use h1_support::judge::Server;
use h1_support::macros::{AUTHORITY, INIT};
use h1_support::responses::{self, Response};
use mcp_http_core::h1::Limits;

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

/// What must become of a request.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Refused by the connection, which closes.
    Refused,
    /// Read as announced, and answered with these statuses.
    Served(&'static [u16]),
}

#[test]
fn h1_no_octet_disguises_transfer_encoding_beside_a_length() {
    for octet in 0..=255_u8 {
        let places: [(&[u8], &[u8], Outcome); 5] = [
            (b"", b"Transfer-Encoding: chunked", another_name(octet)),
            (b"Transfer-Encoding", b": chunked", another_name(octet)),
            (b"Transfer-Encoding:", b"chunked", Outcome::Refused),
            (b"Transfer-Encoding: chunked", b"", Outcome::Refused),
            (b"Transfer-", b"Encoding: chunked", another_name_or_colon(octet)),
        ];
        let body = [&chunked(PING)[..], &hidden()].concat();
        for (before, after, expected) in places {
            let line = [before, &[octet], after].concat();
            let length = format!("Content-Length: {}", body.len());
            check(&[&head(&[length.as_bytes(), &line]), &body], expected, &line);
        }
    }
}

#[test]
fn h1_no_octet_disguises_a_length_beside_transfer_encoding() {
    for octet in 0..=255_u8 {
        let places: [(&[u8], &[u8], Outcome); 3] = [
            (b"", b"Content-Length: 4", another_name(octet)),
            (b"Content-Length:", b"4", Outcome::Refused),
            (b"Content-Length: 4", b"", Outcome::Refused),
        ];
        for (before, after, expected) in places {
            let line = [before, &[octet], after].concat();
            check(&[&head(&[b"Transfer-Encoding: chunked", &line]), &chunked(&hidden())], expected, &line);
        }
    }
}

#[test]
fn h1_no_octet_disguises_a_chunk_size() {
    let size = format!("{:x}", PING.len()).into_bytes();
    for octet in 0..=255_u8 {
        let is_token = is_tchar(octet);
        let places = [
            ([&[octet], &size[..], b"\r\n"].concat(), octet == b'0'),
            ([&size[..], &[octet], b"\r\n"].concat(), false),
            ([&size[..], b";a", &[octet], b"\r\n"].concat(), is_token),
            ([&size[..], b"\r", &[octet]].concat(), octet == b'\n'),
        ];
        for (line, is_size) in places {
            let next = format!("GET /nope HTTP/1.1\r\nHost: {AUTHORITY}\r\n\r\n");
            let is_other_size =
                line.iter().take_while(|octet| octet.is_ascii_hexdigit()).count() > size.len();
            if is_other_size && !is_size {
                // A larger chunk than is there: its data never ends, or not where it says.
                continue;
            }
            let expected = if is_size { Outcome::Served(&[400, 404]) } else { Outcome::Refused };
            let rest = [&line[..], PING, b"\r\n0\r\n\r\n", next.as_bytes()].concat();
            check(&[&head(&[b"Transfer-Encoding: chunked"]), &rest], expected, &line);
        }
    }
}

/// A token octet makes another field of the line; the framing then is the one that is left.
fn another_name(octet: u8) -> Outcome {
    if is_tchar(octet) { Outcome::Served(&[400]) } else { Outcome::Refused }
}

fn another_name_or_colon(octet: u8) -> Outcome {
    if octet == b':' { Outcome::Served(&[400]) } else { another_name(octet) }
}

fn check(parts: &[&[u8]], expected: Outcome, line: &[u8]) {
    let input = parts.concat();
    for cut in [Cut::Whole, Cut::Octets] {
        let mut server = Server::new(Limits::default());
        cut.apply(&input).into_iter().all(|piece| server.receive(piece));
        let responses = responses::parse(&server.wire, false, server.eof);
        let statuses: Vec<u16> =
            responses.iter().filter(|one| one.is_final()).map(|one| one.status).collect();
        let is_session =
            responses.iter().any(|response: &Response| response.field("mcp-session-id").is_some());
        assert!(!is_session, "a hidden request ran: {}", line.escape_ascii());
        let is_fault = server.events.iter().any(|event| event.starts_with("Fault"));
        let outcome = match expected {
            Outcome::Refused => is_fault && server.eof && matches!(statuses[..], [400 | 501]),
            Outcome::Served(expected) => !is_fault && !server.eof && statuses == expected,
        };
        assert!(outcome, "{} {cut:?}: {expected:?}, {statuses:?} {:?}", line.escape_ascii(), server.events);
    }
}

fn head(lines: &[&[u8]]) -> Vec<u8> {
    let mut head =
        format!("POST /mcp HTTP/1.1\r\nHost: {AUTHORITY}\r\nContent-Type: application/json\r\n").into_bytes();
    for line in lines {
        head.extend_from_slice(line);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn hidden() -> Vec<u8> {
    [&head(&[format!("Content-Length: {}", INIT.len()).as_bytes()]), INIT.as_bytes()].concat()
}

fn chunked(data: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n0\r\n\r\n"].concat()
}

fn is_tchar(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&octet)
}
