//! Every short sequence of all that can happen to one session and its streams, against the reference model: calls,
//! also by clients that read only JSON, requests to the client and their replies, resumes, deadlines, shutdown (R1 to
//! R14). `EXHAUSTIVE_STATES` sets how many states are looked at from each beginning; with `--nocapture` it is told how
//! many there were, and how deep. Together with `exhaustive_sessions` these are a million.

use mcp_http_tests::model::{After, Line, Model, Op, Rules, Search, bound};

/// From each of four beginnings.
const STATES: usize = 160_000;

fn rules(primes: bool) -> Rules {
    Rules {
        sessions_max: 1,
        calls_max: 2,
        ring_frames_max: 2,
        establish: 3,
        confirm: 2,
        idle: 4,
        evict_after: 1,
        sse_commit_after: 1,
        comment_every: 3,
        retention: 2,
        shutdown: 10,
        primes,
    }
}

const LIVE: [Op; 3] = [Op::Initialize { lucky: true }, Op::Accept { c: 0 }, Op::Flushed { x: 0 }];

fn search(what: &str, more: &[Op]) {
    let states_max = bound("EXHAUSTIVE_STATES", STATES);
    for primes in [true, false] {
        let search = Search {
            rules: rules(primes),
            ops: &|model: &Model| model.world_ops(1, 3),
            start: [&LIVE[..], more].concat(),
            depth: usize::MAX,
            states_max,
        };
        let found = search.run();
        println!("{what}, with priming events {primes}: {found:?}");
        assert!(found.complete || found.states >= states_max, "{found:?}");
    }
}

#[test]
fn r6_every_short_course_of_a_call_and_what_it_asks() {
    search("a call", &[Op::Call { s: 0, id: 2 }, Op::Ask { to: Line::Call(1) }]);
}

#[test]
fn c9_every_short_course_of_a_session_that_listens() {
    search("a session", &[Op::Get { s: 0, after: After::Nothing }]);
}
