//! One script, one transcript: what clients and handlers see is the same on every runtime and HTTP stack. The
//! same scenarios are played on the bare core, in process and in virtual time; over tokio; over smol; and over tower
//! in axum on hyper; by a client that speaks HTTP/1.1 and decides nothing by time.
//!
//! Left out is what belongs to an HTTP stack: framing, `Date`, keep-alive, and heads that are no HTTP. A client
//! that shuts its write side is gone to hyper, and may still read to our own stack (D2); so clients leave by a
//! reset here.

mod differential_support;
mod socket_support;

use differential_support::{calls, compare, refusals, sessions, shutdowns, stateless, streams};

#[test]
fn lives_of_sessions() {
    compare(sessions::ALL);
}

#[test]
fn refusals_at_the_door() {
    compare(refusals::ALL);
}

#[test]
fn calls_in_sessions() {
    compare(calls::ALL);
}

#[test]
fn streams_that_break() {
    compare(streams::ALL);
}

#[test]
fn the_stateless_era() {
    compare(stateless::ALL);
}

#[test]
fn shutdowns_of_servers() {
    compare(shutdowns::ALL);
}

/// There are enough of them.
#[test]
fn many_scenarios() {
    let all = [sessions::ALL, refusals::ALL, calls::ALL, streams::ALL, stateless::ALL, shutdowns::ALL];
    assert!(all.iter().map(|some| some.len()).sum::<usize>() >= 30);
}
