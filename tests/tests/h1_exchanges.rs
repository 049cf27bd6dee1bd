//! How exchanges follow one another: unread bodies (H3), pipelining (H4), `100 Continue` (H5), and what the
//! end of the peer's octets means where (H10).

mod h1_support;

use h1_support::rig::{Rig, full, served};
use mcp_http_core::h1::{Body, Limits};

const HOST: &str = "Host: a\r\n";

/// A request with these lines behind `Host`.
fn post(lines: &str) -> String {
    format!("POST /mcp HTTP/1.1\r\n{HOST}{lines}\r\n")
}

fn chunked(body: &str) -> String {
    post("Transfer-Encoding: chunked\r\n") + body
}

#[test]
fn h3_unread_body_of_ten_gigabytes_gets_413_and_lingers() {
    let mut rig = Rig::new();
    rig.receive(post("Content-Length: 10000000000\r\n"));
    assert_eq!(rig.read_body(4 << 20), ["Fault BodyTooLarge 413"]);
    rig.respond(413, full("too large")).expect("a fault is answered");
    assert!(rig.write().contains("\r\nconnection: close\r\n"));
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
    let block = vec![b'x'; 64 * 1024];
    for _ in 0..4 {
        assert!(rig.connection.wants_read());
        assert_eq!(rig.receive(&block), [""; 0]);
        assert_eq!(rig.connection.buffered(), 0, "what is dropped is not held");
    }
    assert!(!rig.connection.wants_read(), "the budget is spent: the rest stays in the socket");
    assert_eq!(rig.advance(Limits::default().drain), ["Close"]);
}

#[test]
fn h3_a_small_unread_body_is_dropped_and_the_connection_kept() {
    let mut rig = Rig::new();
    rig.receive(post("Content-Length: 5\r\n") + "he");
    rig.respond(404, full("no")).expect("it is due");
    assert!(!rig.write().contains("connection:"));
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.receive("llo".to_owned() + &post("")), ["Request POST /mcp HTTP/1.1 None"]);
}

#[test]
fn h3_each_exchange_has_its_own_drain_budget() {
    let body = "x".repeat(200 * 1024);
    let mut rig = Rig::new();
    for _ in 0..3 {
        assert_eq!(rig.receive(chunked(&format!("{:x}\r\n", body.len()))).len(), 1);
        rig.respond(404, Body::Empty).expect("it is due");
        rig.write();
        assert_eq!(rig.events(), ["Flushed"]);
        assert_eq!(rig.receive(format!("{body}\r\n0\r\n\r\n")), [""; 0]);
    }
}

#[test]
fn h3_the_limit_of_a_body_ends_with_the_interest_in_it() {
    let mut rig = Rig::new();
    rig.receive(chunked("5\r\nhello\r\n"));
    assert_eq!(rig.read_body(6), ["Data hello"]);
    rig.respond(404, Body::Empty).expect("it is due");
    assert_eq!(rig.receive("5\r\nworld\r\n0\r\n\r\n"), [""; 0]);
    rig.write();
    assert_eq!(rig.events(), ["Flushed"], "it was small enough to drop");
}

#[test]
fn h3_octets_of_an_unread_body_are_never_a_request() {
    let hidden = post("");
    for framed in [
        post(&format!("Content-Length: {}\r\n", hidden.len())) + &hidden,
        chunked(&format!("{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len())),
    ] {
        let mut rig = Rig::new();
        assert_eq!(rig.receive(framed).len(), 1);
        rig.respond(404, Body::Empty).expect("it is due");
        rig.write();
        assert_eq!(rig.events(), ["Flushed"]);
        assert_eq!(rig.receive("GET / HTTP/1.1\r\nHost: b\r\n\r\n"), ["Request GET / HTTP/1.1 None"]);
    }
}

#[test]
fn h3_a_length_is_dropped_up_to_the_budget_and_not_beyond() {
    let budget = Limits::default().drain_bytes_max;
    for (length, is_kept) in [(budget, true), (budget + 1, false)] {
        let mut rig = Rig::new();
        rig.receive(post(&format!("Content-Length: {length}\r\n")));
        rig.respond(404, Body::Empty).expect("it is due");
        assert_eq!(rig.write().contains("connection: close"), !is_kept);
    }
}

#[test]
fn h3_an_unread_chunked_body_over_the_budget_ends_the_connection() {
    let limits = Limits { drain_bytes_max: 32, ..Limits::default() };
    let mut rig = Rig::with(limits.clone());
    rig.receive(chunked("5\r\nhello\r\n"));
    rig.respond(404, Body::Empty).expect("it is due");
    rig.write();
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.receive("14\r\n01234567890123456789\r\n0\r\n"), ["ShutdownWrite"], "33 octets and more");

    let mut rig = Rig::with(limits);
    rig.receive(chunked("5\r\nhello\r\n"));
    rig.respond(404, Body::Empty).expect("it is due");
    assert_eq!(rig.receive("14\r\n01234567890123456789\r\n0\r\n"), [""; 0]);
    rig.write();
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"], "the answer was still on its way");
}

#[test]
fn h3_a_broken_unread_body_ends_the_connection_after_its_response() {
    let mut rig = Rig::new();
    rig.receive(chunked("5\r\nhe"));
    rig.respond(404, Body::Empty).expect("it is due");
    assert_eq!(rig.receive("lloXX"), [""; 0]);
    rig.write();
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
}

#[test]
fn h4_pipelined_requests_wait_for_the_response_before_them() {
    let mut rig = Rig::new();
    let two = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(rig.receive(two), ["Request GET /1 HTTP/1.1 None"]);
    rig.respond(200, full("1")).expect("it is due");
    assert_eq!(rig.events(), [""; 0], "not before the socket took the response");
    rig.write();
    assert_eq!(rig.events(), ["Flushed", "Request GET /2 HTTP/1.1 None"]);
    rig.respond(200, full("2")).expect("it is due");
    rig.write();
    assert_eq!(rig.events(), ["Flushed"]);
}

#[test]
fn h4_pipelined_input_is_held_up_to_a_bound() {
    let mut rig = Rig::new();
    rig.receive(post(""));
    assert!(rig.connection.wants_read());
    assert_eq!(rig.receive(vec![b'A'; 16 * 1024]), [""; 0]);
    assert!(!rig.connection.wants_read(), "the rest stays in the socket");
    rig.respond(200, Body::Empty).expect("it is due");
    rig.write();
    assert_eq!(rig.events(), ["Flushed", "Fault RequestLine 400"], "it is looked at in its turn");
}

#[test]
fn h4_nothing_is_served_after_a_closing_response() {
    for first in ["GET /1 HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n\r\n", "GET /1 HTTP/1.0\r\n\r\n"] {
        let mut rig = Rig::new();
        assert_eq!(rig.receive(first.to_owned() + &post("")).len(), 1);
        rig.respond(200, full("1")).expect("it is due");
        assert!(rig.write().contains("\r\nconnection: close\r\n"));
        assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
        assert_eq!(rig.receive(post("")), [""; 0]);
        assert_eq!(rig.receive_eof(), ["Close"]);
        assert_eq!(rig.events(), [""; 0], "nothing follows");
    }
}

const EXPECTING: &str = "Expect: 100-Continue\r\n";

#[test]
fn h5_the_body_is_called_for_when_it_is_asked_for() {
    let mut rig = Rig::new();
    rig.receive(post(&format!("Content-Length: 5\r\n{EXPECTING}")));
    assert!(!rig.connection.has_output(), "not before");
    assert_eq!(rig.read_body(5), [""; 0]);
    assert_eq!(rig.write(), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(rig.receive("hello"), ["Data hello", "BodyEnd"]);
    rig.respond(200, Body::Empty).expect("it is due");
    assert!(!rig.write().contains("close"));
}

#[test]
fn h5_no_100_where_none_is_due() {
    let length = "Content-Length: 5\r\n";
    let cases = [
        (post(&format!("{length}{EXPECTING}")) + "h", "the body is on its way"),
        (post(EXPECTING), "there is no body"),
        (post(&format!("Content-Length: 0\r\n{EXPECTING}")), "the body is empty"),
        (format!("POST / HTTP/1.0\r\n{length}{EXPECTING}\r\n"), "HTTP/1.0 knows no interim response"),
        (post(&format!("Content-Length: 5000000000\r\n{EXPECTING}")), "the body is refused"),
        (post(length), "nobody expects it"),
    ];
    for (input, why) in cases {
        served(&mut Rig::new(), &input);
        let mut rig = Rig::new();
        served(&mut rig, &input);
        assert!(!rig.connection.has_output(), "{why}");
    }
}

#[test]
fn h5_a_refusal_goes_out_without_the_body_and_closes() {
    let mut rig = Rig::new();
    rig.receive(post(&format!("Content-Length: 5\r\n{EXPECTING}")));
    rig.respond(404, full("no")).expect("it is due");
    assert!(rig.write().contains("\r\nconnection: close\r\n"), "whether the body comes cannot be known");
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
}

#[test]
fn h10_the_end_of_input_where_nothing_was_asked_is_quiet() {
    assert_eq!(Rig::new().receive_eof(), ["Close"]);
    let mut rig = Rig::new();
    rig.receive("\r\n\r");
    assert_eq!(rig.receive_eof(), ["Close"]);
}

#[test]
fn h10_the_end_of_input_inside_a_request_is_a_fault() {
    let mut rig = Rig::new();
    rig.receive("G");
    assert_eq!(rig.receive_eof(), ["Fault HeadTruncated 400"]);

    for input in [post("Content-Length: 5\r\n") + "hell", chunked("5\r\nhello\r\n"), chunked("0\r\n")] {
        let mut rig = Rig::new();
        served(&mut rig, &input);
        assert_eq!(rig.receive_eof(), ["Fault BodyTruncated 400"]);
        rig.respond(400, Body::Empty).expect("a fault is answered");
        rig.write();
        assert_eq!(rig.events(), ["Flushed", "Close"], "there is nobody to linger for");
    }
}

#[test]
fn h10_the_end_of_input_after_a_request_is_told_once_and_the_response_goes_out() {
    let mut rig = Rig::new();
    rig.receive(post("") + &post(""));
    assert_eq!(rig.receive_eof(), ["HalfClosed"]);
    assert!(!rig.connection.wants_read());
    rig.respond(200, full("1")).expect("it is due");
    assert!(!rig.write().contains("close"), "another request is here");
    assert_eq!(rig.events(), ["Flushed", "Request POST /mcp HTTP/1.1 None"]);
    rig.respond(200, full("2")).expect("it is due");
    assert!(rig.write().contains("\r\nconnection: close\r\n"), "no other can come");
    assert_eq!(rig.events(), ["Flushed", "Close"]);
}

#[test]
fn h10_the_end_of_input_before_the_body_is_asked_for_loses_no_data() {
    let mut rig = Rig::new();
    rig.receive(post("Content-Length: 5\r\n") + "hello");
    assert_eq!(rig.receive_eof(), ["HalfClosed"]);
    assert_eq!(rig.read_body(5), ["Data hello", "BodyEnd"]);
}

/// R8: a head for which there is no memory is answered before it is whole; nothing after it is parsed.
#[test]
fn r8_a_head_that_cannot_be_held_is_answered_and_the_connection_closes() {
    let mut rig = Rig::new();
    assert!(!rig.connection.refuse_head(), "nothing has come");
    let head = post("X-Long: xxxx\r\n");
    assert_eq!(rig.receive(&head[..30]), [""; 0]);
    assert_eq!(rig.connection.head_octets(), 30);
    assert!(rig.connection.refuse_head());
    assert!(!rig.connection.refuse_head(), "once");
    assert_eq!((rig.connection.head_octets(), rig.connection.buffered()), (0, 0));
    assert_eq!(rig.events(), [""; 0], "the caller knows");
    rig.respond(503, full("no")).expect("it is due");
    assert!(rig.write().contains("\r\nconnection: close\r\n"));
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
    assert_eq!(rig.receive(&head[30..]), [""; 0]);
    assert_eq!(rig.receive_eof(), ["Close"]);
}

#[test]
fn r8_only_a_head_that_is_arriving_can_be_refused() {
    let mut rig = Rig::new();
    rig.receive(post("Content-Length: 5\r\n") + "he");
    assert_eq!(rig.connection.head_octets(), 0, "a body is not one");
    assert!(!rig.connection.refuse_head());
    assert_eq!(rig.read_body(100), ["Data he"]);
    assert!(!rig.connection.refuse_head());
    rig.receive("llo".to_owned() + "GET /");
    assert_eq!(rig.connection.head_octets(), 0, "the next one waits");
    assert!(!rig.connection.refuse_head());
    rig.respond(200, full("yes")).expect("it is due");
    rig.write();
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.connection.head_octets(), 5);
    assert!(rig.connection.refuse_head());
    rig.connection.abort();
    assert_eq!(rig.events(), ["Gone", "Close"], "it has opened an exchange");
}
