//! The codec at its bounds, to the octet and to the field: where a neighbouring value would do as well for every
//! other test (H1, H4, H6, H7).

mod h1_support;

use std::io::IoSlice;

use h1_support::rig::{Rig, full, line, served};
use mcp_http_core::h1::{Body, Event, Limits};

const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";

#[test]
fn h1_a_field_keeps_its_name_beside_known_names_of_its_length() {
    let known = [
        "mcp-name",
        "mcp-method",
        "keep-alive",
        "last-event-id",
        "mcp-session-id",
        "sec-fetch-mode",
        "x-forwarded-for",
        "x-forwarded-proto",
        "mcp-protocol-version",
    ];
    let others = known.map(|name| "x".repeat(name.len()));
    let mut head = String::from("GET / HTTP/1.1\r\nhost: a\r\n");
    for name in &known {
        head += &format!("{}: known\r\n", name.to_uppercase());
    }
    for name in &others {
        head += &format!("{name}: other\r\n");
    }
    let mut rig = Rig::new();
    rig.connection.receive((head + "\r\n").as_bytes(), rig.now);
    let Some(Event::Request(request)) = rig.connection.next_event() else { panic!("no request") };
    let mut fields: Vec<(&str, &str)> =
        request.parts.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    fields.sort_unstable();
    let mut expected = vec![("host", "a")];
    expected.extend(known.iter().map(|name| (*name, "known")));
    expected.extend(others.iter().map(|name| (name.as_str(), "other")));
    expected.sort_unstable();
    assert_eq!(fields, expected);
}

#[test]
fn h6_as_many_trailer_fields_as_the_limit_and_not_one_more() {
    let limits = Limits { fields_max: 3, ..Limits::default() };
    for (fields, last) in [(3, "BodyEnd"), (4, "Fault TrailersTooLarge 431")] {
        let mut rig = Rig::with(limits.clone());
        let input = format!("{CHUNKED}{}\r\n", "a: b\r\n".repeat(fields));
        assert_eq!(served(&mut rig, &input).last().map(String::as_str), Some(last), "{fields}");
    }
}

#[test]
fn h4_octets_that_wait_fill_their_room_to_the_last() {
    let mut rig = Rig::new();
    rig.receive("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
    rig.receive(vec![b'A'; 16 * 1024 - 1]);
    assert!(rig.connection.wants_read());
    rig.receive("A");
    assert!(!rig.connection.wants_read());
}

#[test]
fn h7_a_body_of_16_kib_leaves_in_one_piece_with_its_head() {
    for (octets, pieces) in [(16 * 1024, 1), (16 * 1024 + 1, 2)] {
        let mut rig = Rig::new();
        rig.receive("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        rig.respond(200, full(vec![b'x'; octets])).expect("it is due");
        let mut slices = [IoSlice::new(&[]); 4];
        assert_eq!(rig.connection.output(&mut slices), pieces, "{octets}");
    }
}

/// H7: who writes one slice at a time, and all of it, never gets an empty one while there is more.
#[test]
fn h7_no_slice_of_the_output_is_empty() {
    let mut rig = Rig::new();
    rig.receive("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    rig.respond(200, Body::Stream).expect("it is due");
    rig.send("one").expect("it streams");
    rig.send("three").expect("it streams");
    rig.finish().expect("it streams");
    let mut written = Vec::new();
    while rig.connection.has_output() {
        let mut slices = [IoSlice::new(&[])];
        assert_eq!(rig.connection.output(&mut slices), 1);
        let taken = slices[0].to_vec();
        assert!(!taken.is_empty(), "after {written:?}");
        rig.connection.wrote(taken.len(), rig.now);
        written.push(String::from_utf8(taken).expect("text"));
    }
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(written, [head, "3\r\n", "one", "\r\n5\r\n", "three", "\r\n0\r\n\r\n"]);
    assert_eq!(rig.connection.next_event().map(|event| line(&event)).as_deref(), Some("Flushed"));
}

#[test]
fn h6_a_header_map_has_room_for_16_384_fields() {
    let limits = Limits { fields_max: 20_000, head_bytes_max: 1024 * 1024, ..Limits::default() };
    for (more, event) in [(16_383, "Request GET / HTTP/1.1 None"), (16_384, "Fault TooManyFields 431")] {
        let mut rig = Rig::with(limits.clone());
        let events = rig.receive(format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "a: b\r\n".repeat(more)));
        assert_eq!(events, [event]);
    }
}

#[test]
fn h1_the_methods_that_are_known_and_no_other() {
    for method in ["POST", "GET", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH", "TRACE"] {
        let mut rig = Rig::new();
        let events = rig.receive(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(events, [format!("Request {method} / HTTP/1.1 None")]);
    }
    for method in ["PROPFIND", "post", "GETS", "DELET"] {
        let mut rig = Rig::new();
        assert_eq!(rig.receive(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n")), ["Fault Method 501"]);
    }
}

const UNREAD: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A response to a request whose body was not asked for, and how the connection goes on when `rest` has come.
fn answered_unread(rest: &str) -> Rig {
    let mut rig = Rig::with(Limits { drain_bytes_max: 16, ..Limits::default() });
    assert_eq!(rig.receive(UNREAD.to_owned() + rest).len(), 1);
    rig.respond(200, full("ok")).expect("it is due");
    rig.write();
    rig
}

#[test]
fn h3_an_unread_body_over_the_bound_ends_the_connection_even_if_it_came_whole() {
    let chunk = |octets: usize| format!("{octets:x}\r\n{}\r\n", "x".repeat(octets));
    let mut kept = answered_unread("1\r\nx\r\n0\r\n\r\n");
    assert_eq!(kept.events(), ["Flushed"]);
    let mut ended = answered_unread(&(chunk(100) + "0\r\n\r\n"));
    assert_eq!(ended.events(), ["Flushed", "ShutdownWrite"]);
    let mut under_way = answered_unread(&chunk(100));
    assert_eq!(under_way.events(), ["Flushed", "ShutdownWrite"]);
}

#[test]
fn h3_a_peer_that_stops_in_an_unread_body_is_not_waited_for() {
    let mut rig = answered_unread("1\r\nx\r\n");
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.receive_eof(), ["Close"]);
}

#[test]
fn h1_a_quoted_extension_escapes_text_and_nothing_else() {
    for (escaped, last) in [("\\\"", "BodyEnd"), ("\\\t", "BodyEnd"), ("\\\u{1}", "Fault ChunkLine 400")] {
        let mut rig = Rig::new();
        let events = served(&mut rig, &format!("{UNREAD}1;a=\"{escaped}\"\r\nx\r\n0\r\n\r\n"));
        assert_eq!(events.last().map(String::as_str), Some(last), "{escaped:?}");
    }
}
