//! How long a peer may take, in virtual time: header, body, idle, write stall, drain (H6, L4).

mod h1_support;

use h1_support::rig::{Rig, full, secs};
use mcp_http_core::h1::{Body, Limits};

const NOTHING: [&str; 0] = [];

fn post(lines: &str) -> String {
    format!("POST /mcp HTTP/1.1\r\nHost: a\r\n{lines}\r\n")
}

/// A connection whose first exchange is over.
fn idle() -> Rig {
    let mut rig = Rig::new();
    rig.receive(post(""));
    rig.respond(200, full("done")).expect("it is due");
    rig.write();
    assert_eq!(rig.events(), ["Flushed"]);
    rig
}

#[test]
fn h6_a_silent_connection_is_closed_silently_at_the_header_deadline() {
    let mut rig = Rig::new();
    assert_eq!(rig.deadline(), Some(secs(10)));
    assert_eq!(rig.advance(secs(9)), NOTHING);
    assert_eq!(rig.advance(secs(1)), ["Close"]);
    assert_eq!(rig.deadline(), None);
    assert!(!rig.connection.has_output());
}

#[test]
fn h6_the_header_deadline_starts_at_the_first_octet_and_is_not_put_off() {
    let mut rig = Rig::new();
    rig.advance(secs(9));
    rig.receive("P");
    assert_eq!(rig.deadline(), Some(secs(10)));
    for octet in ["O", "S", "T", " ", "/", "m", "c", "p", " "] {
        assert_eq!(rig.advance(secs(1)), NOTHING);
        rig.receive(octet);
    }
    assert_eq!(rig.advance(secs(1)), ["Fault HeadTimeout 408"]);
    rig.respond(408, full("late")).expect("a fault is answered");
    rig.write();
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
}

#[test]
fn h6_an_empty_line_starts_the_header_deadline_and_gets_no_answer() {
    for line in ["\r\n", "\r"] {
        let mut rig = idle();
        rig.advance(secs(70));
        rig.receive(line);
        assert_eq!(rig.deadline(), Some(secs(10)), "{line:?}");
        rig.advance(secs(5));
        rig.receive("\r\n".trim_start_matches(line));
        assert_eq!(rig.deadline(), Some(secs(5)));
        assert_eq!(rig.advance(secs(5)), ["Close"]);
    }
}

#[test]
fn h6_an_empty_line_does_not_put_off_the_deadline_of_the_head_behind_it() {
    let mut rig = Rig::new();
    rig.receive("\r\n");
    rig.advance(secs(9));
    rig.receive("GET");
    assert_eq!(rig.advance(secs(1)), ["Fault HeadTimeout 408"]);
}

#[test]
fn h6_an_idle_connection_is_closed_silently() {
    let mut rig = idle();
    assert_eq!(rig.deadline(), Some(secs(75)));
    assert_eq!(rig.advance(secs(75)), ["Close"]);
    assert!(!rig.connection.has_output());
}

#[test]
fn h6_an_idle_connection_holds_nothing() {
    assert_eq!(idle().connection.buffered(), 0);
}

#[test]
fn h6_the_next_head_has_its_own_deadline_also_when_it_waited() {
    let mut rig = Rig::new();
    rig.receive(post("") + "POST ");
    rig.advance(secs(100));
    rig.respond(200, Body::Empty).expect("it is due");
    rig.write();
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.deadline(), Some(secs(10)), "from when it was its turn");
    assert_eq!(rig.advance(secs(10)), ["Fault HeadTimeout 408"]);
}

#[test]
fn h6_a_head_that_is_complete_when_its_time_is_up_is_served() {
    let mut rig = Rig::new();
    rig.connection.receive(post("").as_bytes(), rig.now);
    rig.connection.handle_timeout(rig.now.after(secs(60)));
    assert_eq!(rig.events(), ["Request POST /mcp HTTP/1.1 None"]);
}

#[test]
fn h6_the_body_deadline_runs_from_read_body_and_is_not_put_off() {
    let mut rig = Rig::new();
    rig.receive(post("Content-Length: 100\r\n"));
    assert_eq!(rig.deadline(), None, "until it is asked for, the application takes the time");
    rig.advance(secs(1000));
    rig.read_body(100);
    assert_eq!(rig.deadline(), Some(secs(30)));
    for _ in 0..29 {
        assert_eq!(rig.advance(secs(1)), NOTHING);
        assert_eq!(rig.receive("x"), ["Data x"]);
    }
    assert_eq!(rig.advance(secs(1)), ["Fault BodyTimeout 408"]);
}

#[test]
fn h6_trailers_count_as_body() {
    let mut rig = Rig::new();
    rig.receive(post("Transfer-Encoding: chunked\r\n") + "0\r\nA: b");
    rig.read_body(1);
    assert_eq!(rig.advance(secs(30)), ["Fault BodyTimeout 408"]);
}

#[test]
fn h6_no_deadline_while_the_application_works() {
    let mut rig = Rig::new();
    rig.receive(post("Content-Length: 1\r\n") + "x");
    assert_eq!(rig.read_body(1), ["Data x", "BodyEnd"]);
    assert_eq!(rig.deadline(), None);
    rig.respond(200, Body::Stream).expect("it is due");
    rig.write();
    assert_eq!(rig.deadline(), None, "an open stream waits for the application");
    assert_eq!(rig.advance(secs(100_000)), NOTHING);
}

#[test]
fn l4_a_write_that_stalls_ends_the_exchange() {
    let mut rig = Rig::new();
    rig.receive(post(""));
    rig.respond(200, full("0123456789")).expect("it is due");
    assert_eq!(rig.deadline(), Some(secs(30)));
    rig.advance(secs(29));
    assert_eq!(rig.write_at_most(1), "H", "any progress counts");
    assert_eq!(rig.deadline(), Some(secs(30)));
    rig.advance(secs(29));
    rig.connection.wrote(0, rig.now);
    assert_eq!(rig.deadline(), Some(secs(1)), "a write of nothing is none");
    assert_eq!(rig.advance(secs(1)), ["Gone", "Close"]);
    assert_eq!((rig.connection.has_output(), rig.connection.buffered(), rig.deadline()), (false, 0, None));
}

#[test]
fn l4_more_output_does_not_put_off_a_stalled_write() {
    let mut rig = Rig::new();
    rig.receive(post(""));
    rig.respond(200, Body::Stream).expect("it is due");
    for _ in 0..29 {
        assert_eq!(rig.advance(secs(1)), NOTHING);
        rig.send("frame").expect("the stream is open");
    }
    assert_eq!(rig.advance(secs(1)), ["Gone", "Close"]);
}

#[test]
fn l4_the_write_deadline_rests_while_there_is_nothing_to_write() {
    let mut rig = Rig::new();
    rig.receive(post(""));
    rig.respond(200, Body::Stream).expect("it is due");
    rig.write();
    rig.advance(secs(100));
    rig.send("frame").expect("the stream is open");
    assert_eq!(rig.deadline(), Some(secs(30)));
}

#[test]
fn l4_a_write_that_made_it_counts_though_its_time_was_up() {
    let mut rig = Rig::new();
    rig.receive(post(""));
    rig.respond(200, full("0123456789")).expect("it is due");
    rig.now = rig.now.after(secs(31));
    rig.write();
    rig.connection.handle_timeout(rig.now);
    assert_eq!(rig.events(), ["Flushed"]);
}

#[test]
fn l4_an_unwritten_100_continue_stalls_too() {
    let mut rig = Rig::with(Limits { write_stall: secs(5), ..Limits::default() });
    rig.receive(post("Content-Length: 5\r\nExpect: 100-continue\r\n"));
    rig.read_body(5);
    assert_eq!(rig.advance(secs(5)), ["Gone", "Close"]);
}

#[test]
fn h3_a_lingering_connection_is_closed_after_the_drain_time() {
    let mut rig = Rig::new();
    rig.receive(post("Connection: close\r\n"));
    rig.respond(200, Body::Empty).expect("it is due");
    rig.write();
    assert_eq!(rig.events(), ["Flushed", "ShutdownWrite"]);
    for _ in 0..3 {
        assert_eq!(rig.receive("x"), NOTHING);
        assert_eq!(rig.advance(secs(1) / 2), NOTHING, "what comes does not put it off");
    }
    assert_eq!(rig.advance(secs(1) / 2), ["Close"]);
}

#[test]
fn h3_an_unread_body_that_does_not_come_is_not_waited_for() {
    let mut rig = Rig::new();
    rig.receive(post("Content-Length: 5\r\n"));
    rig.respond(404, Body::Empty).expect("it is due");
    assert_eq!(rig.advance(secs(20)), NOTHING, "the response comes first");
    rig.write();
    assert_eq!(rig.events(), ["Flushed"]);
    assert_eq!(rig.deadline(), Some(secs(2)));
    rig.advance(secs(1));
    rig.receive("hell");
    assert_eq!(rig.advance(secs(1)), ["Close"]);
}

#[test]
fn h6_time_that_runs_backwards_changes_nothing() {
    let mut rig = Rig::new();
    rig.receive("GET");
    let before = rig.connection.poll_timeout();
    rig.connection.receive(b" /", mcp_http_core::time::Timestamp::ZERO);
    rig.connection.handle_timeout(mcp_http_core::time::Timestamp::ZERO);
    assert_eq!((rig.events().len(), rig.connection.poll_timeout()), (0, before));
}
