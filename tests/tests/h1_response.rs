//! What leaves for the peer, octet by octet, and who may ask for it when (H3, H7, H9).

mod h1_support;

use std::io::IoSlice;

use bytes::Bytes;
use h1_support::responses;
use h1_support::rig::{Rig, full};
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue, StatusCode};
use mcp_http_core::h1::{Body, Misuse};

const NOTHING: [&str; 0] = [];

/// A connection with a request that waits for its response.
fn asked(request_line: &str, lines: &str) -> Rig {
    let mut rig = Rig::new();
    assert_eq!(rig.receive(format!("{request_line}\r\nHost: a\r\n{lines}\r\n")).len(), 1);
    rig
}

fn post() -> Rig {
    asked("POST /mcp HTTP/1.1", "")
}

#[test]
fn h7_a_whole_response_is_one_piece_of_memory() {
    let mut rig = post();
    let fields = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let date = HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT");
    rig.connection.respond(StatusCode::OK, &fields, full("{}"), Some(&date), rig.now).expect("it is due");
    let mut slices = [IoSlice::new(&[]); 4];
    assert_eq!(rig.connection.output(&mut slices), 1);
    assert_eq!(
        rig.write(),
        "HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\ncontent-type: application/json\r\n\
         cache-control: no-store\r\ncontent-length: 2\r\n\r\n{}"
    );
    assert_eq!(rig.events(), ["Flushed"]);
}

#[test]
fn h7_a_large_body_is_queued_as_it_is() {
    let mut rig = post();
    let body = Bytes::from(vec![b'x'; 16 * 1024 + 1]);
    rig.respond(200, Body::Full(body.clone())).expect("it is due");
    let mut slices = [IoSlice::new(&[]); 4];
    assert_eq!(rig.connection.output(&mut slices), 2);
    assert_eq!(slices[1].as_ptr(), body.as_ptr(), "not copied");
    let written = rig.write();
    assert!(written.starts_with("HTTP/1.1 200 OK\r\ncontent-length: 16385\r\n\r\nxxx"));
    assert_eq!(rig.events(), ["Flushed"]);
}

#[test]
fn h7_an_empty_body_says_so() {
    let mut rig = post();
    rig.respond(202, Body::Empty).expect("it is due");
    assert_eq!(rig.write(), "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
    let mut rig = post();
    rig.respond(599, full("")).expect("it is due");
    assert_eq!(
        rig.write(),
        "HTTP/1.1 599 \r\ncontent-length: 0\r\n\r\n",
        "a status without a reason of its own"
    );
}

#[test]
fn h7_statuses_without_a_body_have_none() {
    for (status, reason) in [(204, "No Content"), (304, "Not Modified")] {
        for body in [Body::Empty, full("body")] {
            let mut rig = post();
            rig.respond(status, body).expect("it is due");
            assert_eq!(rig.write(), format!("HTTP/1.1 {status} {reason}\r\n\r\n"));
            assert_eq!(rig.events(), ["Flushed"]);
        }
        let mut rig = post();
        rig.respond(status, Body::Stream).expect("it is due");
        rig.send("dropped").expect("the stream is open");
        rig.finish().expect("the stream is open");
        assert_eq!(rig.write(), format!("HTTP/1.1 {status} {reason}\r\n\r\n"));
        assert_eq!(rig.events(), ["Flushed"]);
    }
}

#[test]
fn h7_head_gets_the_fields_of_get_and_no_body() {
    let mut rig = asked("HEAD /mcp HTTP/1.1", "");
    rig.respond(200, full("body")).expect("it is due");
    assert_eq!(rig.write(), "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n");
    assert_eq!(rig.events(), ["Flushed"]);

    let mut rig = asked("HEAD /mcp HTTP/1.1", "");
    rig.respond(200, Body::Stream).expect("it is due");
    rig.send("dropped").expect("the stream is open");
    assert_eq!(rig.write(), "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    assert_eq!(rig.events(), NOTHING);
    rig.finish().expect("the stream is open");
    assert_eq!(rig.events(), ["Flushed"]);
}

#[test]
fn h7_a_refused_head_request_gets_no_body_either() {
    let mut rig = Rig::new();
    assert_eq!(rig.receive("HEAD / HTTP/1.1\r\n\r\n"), ["Fault HostMissing 400"]);
    rig.respond(400, full("no Host")).expect("a fault is answered");
    assert_eq!(rig.write(), "HTTP/1.1 400 Bad Request\r\ncontent-length: 7\r\nconnection: close\r\n\r\n");
}

#[test]
fn h7_a_fault_is_answered_in_the_terms_of_its_own_request() {
    let mut rig = asked("HEAD /mcp HTTP/1.1", "");
    rig.respond(200, Body::Empty).expect("it is due");
    rig.write();
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.receive("\0"), ["Fault NotHttp 400"]);
    rig.respond(400, full("no HTTP")).expect("a fault is answered");
    assert!(rig.write().ends_with("no HTTP"), "the HEAD before it is over");

    let mut rig = Rig::new();
    assert_eq!(rig.receive("GET / HTTP/1.0\r\nA : b\r\n\r\n"), ["Fault Field 400"]);
    rig.respond(400, Body::Stream).expect("a fault is answered");
    rig.send("no chunks").expect("the stream is open");
    assert_eq!(rig.write(), "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\nno chunks");
}

#[test]
fn h7_a_stream_is_chunked() {
    let mut rig = post();
    rig.respond(200, Body::Stream).expect("it is due");
    rig.send("hello").expect("the stream is open");
    rig.send("").expect("the stream is open");
    rig.send("a somewhat longer piece").expect("the stream is open");
    assert_eq!(
        rig.write(),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n17\r\na somewhat longer piece\r\n",
        "head and pieces leave in one write, each chunk whole, an empty piece left out"
    );
    rig.send("more").expect("the stream is open");
    rig.finish().expect("the stream is open");
    assert_eq!(rig.events(), NOTHING);
    assert_eq!(rig.write(), "4\r\nmore\r\n0\r\n\r\n");
    assert_eq!(rig.events(), ["Flushed"]);
}

#[test]
fn h7_streamed_pieces_are_not_copied() {
    let mut rig = post();
    rig.respond(200, Body::Stream).expect("it is due");
    let piece = Bytes::from_static(b"hello");
    rig.connection.send(piece.clone(), rig.now).expect("the stream is open");
    rig.connection.send(piece.clone(), rig.now).expect("the stream is open");
    let mut slices = [IoSlice::new(&[]); 8];
    let filled = rig.connection.output(&mut slices);
    let lengths: Vec<usize> = slices.iter().take(filled).map(|slice| slice.len()).collect();
    assert_eq!(
        lengths[1..],
        [3, 5, 5, 5, 2],
        "size, data, both line ends with the next size, data, line end"
    );
    assert!([2, 4].iter().all(|at| slices[*at].as_ptr() == piece.as_ptr()));
    assert_eq!(rig.connection.output(&mut [IoSlice::new(&[]); 2]), 2, "no more than there is room for");
}

#[test]
fn h7_http10_gets_a_stream_that_closing_ends() {
    let mut rig = asked("GET /mcp HTTP/1.0", "Connection: keep-alive\r\n");
    rig.respond(200, Body::Stream).expect("it is due");
    rig.send("hello").expect("the stream is open");
    rig.finish().expect("the stream is open");
    assert_eq!(rig.write(), "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello");
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
}

#[test]
fn h7_http10_is_kept_alive_only_if_it_asked() {
    let mut rig = asked("GET /mcp HTTP/1.0", "Connection: Keep-Alive\r\n");
    rig.respond(200, full("hi")).expect("it is due");
    assert_eq!(rig.write(), "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nhi");
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.receive("GET / HTTP/1.0\r\n\r\n"), ["Request GET / HTTP/1.0 None"]);
    for lines in ["", "Connection: keep-alive, close\r\n", "Keep-Alive: 300\r\n"] {
        let mut rig = asked("GET /mcp HTTP/1.0", lines);
        rig.respond(200, full("hi")).expect("it is due");
        assert_eq!(
            rig.write(),
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi",
            "{lines}"
        );
    }
}

#[test]
fn h9_what_the_connection_writes_nobody_else_may_write() {
    let keep_alive = HeaderName::from_static("keep-alive");
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, DATE, keep_alive] {
        let mut rig = post();
        let field = [(name, HeaderValue::from_static("1"))];
        assert_eq!(rig.respond_with(200, &field, Body::Empty), Err(Misuse::FramingField));
        assert_eq!(rig.connection.unwritten(), 0, "nothing was queued");
        rig.respond(200, Body::Empty).expect("it is still due");
    }
}

#[test]
fn h7_output_may_leave_in_any_pieces() {
    let sizes = [1, 2, 3, 5, 7, 11, 64, 1000];
    let whole = |rig: &mut Rig| {
        rig.respond(200, Body::Stream).expect("it is due");
        for piece in ["hello", "x", "a somewhat longer piece"] {
            rig.send(piece).expect("the stream is open");
        }
        rig.finish().expect("the stream is open");
    };
    let mut rig = post();
    whole(&mut rig);
    let all = rig.write();
    for size in sizes {
        let mut rig = post();
        whole(&mut rig);
        let mut written = String::new();
        while rig.connection.has_output() {
            assert_eq!(rig.connection.unwritten(), all.len() - written.len());
            assert_eq!(rig.peek(), &all.as_bytes()[written.len()..]);
            assert_eq!(rig.events(), NOTHING);
            written += &rig.write_at_most(size);
        }
        assert_eq!((written.as_str(), rig.events()), (all.as_str(), vec!["Flushed".to_owned()]), "{size}");
    }
    for cut in 1..all.len() {
        let mut rig = post();
        whole(&mut rig);
        let first = rig.write_at_most(cut);
        assert_eq!(first + &rig.write(), all, "cut at {cut}");
    }
}

#[test]
fn h7_output_may_be_queued_between_partial_writes() {
    let mut rig = post();
    rig.respond(200, Body::Stream).expect("it is due");
    let mut written = rig.write_at_most(10);
    for piece in ["hello", "world", "again"] {
        rig.send(piece).expect("the stream is open");
        written += &rig.write_at_most(9);
    }
    rig.finish().expect("the stream is open");
    written += &rig.write();
    let [response] = &responses::parse(written.as_bytes(), false, false)[..] else { panic!("one response") };
    assert_eq!(response.body, b"helloworldagain");
}

#[test]
fn h7_more_written_than_there_was_counts_as_all() {
    let mut rig = post();
    rig.respond(200, Body::Empty).expect("it is due");
    rig.connection.wrote(usize::MAX, rig.now);
    assert_eq!(rig.events(), ["Flushed"]);
    rig.connection.wrote(1, rig.now);
    assert_eq!((rig.events().len(), rig.connection.unwritten()), (0, 0));
}

#[test]
fn h5_an_interim_response_leaves_before_the_final_one() {
    let mut rig = asked("POST /mcp HTTP/1.1", "Content-Length: 5\r\nExpect: 100-continue\r\n");
    rig.read_body(5);
    assert_eq!(rig.receive("hello"), ["Data hello", "BodyEnd"]);
    rig.respond(200, full("hi")).expect("it is due");
    assert_eq!(rig.write(), "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
}

#[test]
fn r11_calls_out_of_turn_are_refused_and_change_nothing() {
    let mut rig = Rig::new();
    assert_eq!(rig.respond(200, Body::Empty), Err(Misuse::NothingToAnswer));
    assert_eq!((rig.send("x"), rig.finish()), (Err(Misuse::NoStream), Err(Misuse::NoStream)));
    assert_eq!(rig.read_body(5), NOTHING);

    let mut rig = post();
    assert_eq!(rig.respond(100, Body::Empty), Err(Misuse::InterimStatus));
    assert_eq!(rig.send("x"), Err(Misuse::NoStream));
    rig.respond(200, full("hi")).expect("it is due");
    assert_eq!(rig.respond(200, Body::Empty), Err(Misuse::AlreadyAnswered));
    assert_eq!((rig.send("x"), rig.finish()), (Err(Misuse::NoStream), Err(Misuse::NoStream)));
    assert_eq!(rig.read_body(5), NOTHING);
    assert_eq!(rig.write(), "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");

    let mut rig = post();
    rig.respond(200, Body::Stream).expect("it is due");
    rig.finish().expect("the stream is open");
    assert_eq!((rig.send("x"), rig.finish()), (Err(Misuse::NoStream), Err(Misuse::NoStream)));

    let mut rig = post();
    rig.connection.abort();
    assert_eq!(rig.respond(200, Body::Empty), Err(Misuse::Closed));
    assert_eq!((rig.send("x"), rig.finish()), (Err(Misuse::Closed), Err(Misuse::Closed)));
}

#[test]
fn x2_abort_ends_an_exchange_once_wherever_it_stands() {
    let due = |rig: Rig| rig;
    let streaming = |mut rig: Rig| {
        rig.respond(200, Body::Stream).expect("it is due");
        rig
    };
    let sent = |mut rig: Rig| {
        rig.respond(200, full("hi")).expect("it is due");
        rig
    };
    for prepare in [due as fn(Rig) -> Rig, streaming, sent] {
        let mut rig = prepare(post());
        rig.connection.abort();
        rig.connection.abort();
        assert_eq!(rig.events(), ["Gone", "Close"]);
        rig.connection.abort();
        assert_eq!(rig.events(), NOTHING);
        assert_eq!((rig.connection.buffered(), rig.deadline()), (0, None));
        assert!(!rig.connection.wants_read());
        assert_eq!(rig.receive("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), NOTHING);
    }
    let mut rig = Rig::new();
    rig.connection.abort();
    assert_eq!(rig.events(), ["Close"], "no exchange, nothing gone");
    let mut rig = Rig::new();
    assert_eq!(rig.receive("\0"), ["Fault NotHttp 400"]);
    rig.connection.abort();
    assert_eq!(rig.events(), ["Gone", "Close"], "a fault is an exchange too");
}

#[test]
fn x1_closing_is_announced_if_it_is_known_in_time() {
    let mut rig = post();
    rig.connection.close_after_response();
    rig.respond(200, full("hi")).expect("it is due");
    assert_eq!(rig.write(), "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi");
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
}

#[test]
fn x1_closing_under_a_stream_happens_after_it() {
    let mut rig = post();
    rig.respond(200, Body::Stream).expect("it is due");
    rig.receive("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    rig.connection.close_after_response();
    assert_eq!(rig.events(), NOTHING);
    assert_eq!(rig.connection.buffered(), rig.connection.unwritten(), "the next request is dropped");
    rig.finish().expect("the stream is open");
    rig.write();
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
}

#[test]
fn x1_closing_an_idle_connection_happens_at_once_and_a_head_under_way_is_served() {
    let mut rig = Rig::new();
    rig.connection.close_after_response();
    assert_eq!(rig.events(), ["Close"]);

    let mut rig = Rig::new();
    rig.receive("GET / HTTP/1.1\r\n");
    rig.connection.close_after_response();
    assert_eq!(rig.events(), NOTHING);
    assert_eq!(rig.receive("Host: a\r\n\r\n").len(), 1);
    rig.respond(200, Body::Empty).expect("it is due");
    assert!(rig.write().contains("\r\nconnection: close\r\n"));
}

#[test]
fn h10_a_peer_gone_under_a_stream_is_told_once() {
    let mut rig = post();
    rig.respond(200, Body::Stream).expect("it is due");
    rig.write();
    assert_eq!(rig.receive_eof(), ["HalfClosed"]);
    assert_eq!(rig.receive_eof(), NOTHING);
    rig.send("still readable").expect("the stream is open");
    rig.finish().expect("the stream is open");
    rig.write();
    assert_eq!(rig.events(), ["Flushed", "Close"]);
}

#[test]
fn h7_an_answer_may_begin_while_its_body_is_still_read() {
    let mut rig = asked("POST /mcp HTTP/1.1", "Content-Length: 5\r\n");
    rig.read_body(5);
    assert_eq!(rig.receive("he"), ["Data he"]);
    rig.respond(200, Body::Stream).expect("it is due");
    assert_eq!(rig.receive("llo"), NOTHING, "the rest is dropped");
    rig.finish().expect("the stream is open");
    rig.write();
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.receive("GET / HTTP/1.1\r\nHost: a\r\n\r\n").len(), 1);
}
