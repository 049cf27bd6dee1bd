//! Every short sequence of what can happen to a few sessions and three exchanges, against the reference model (R1
//! to R14). `EXHAUSTIVE_STATES` sets how many states are looked at from each beginning; with `--nocapture` it is told
//! how many there were, and how deep. Together with `exhaustive_world` these are a million.

use mcp_http_tests::model::{Model, Op, Rules, Search, bound};

/// From each of six beginnings.
const STATES: usize = 60_000;

fn rules(sessions_max: usize) -> Rules {
    Rules {
        sessions_max,
        calls_max: 2,
        ring_frames_max: 2,
        establish: 3,
        confirm: 2,
        idle: 4,
        evict_after: 1,
        sse_commit_after: 1,
        comment_every: 1000,
        retention: 2,
        shutdown: 10,
        primes: true,
    }
}

const LIVE: [Op; 3] = [Op::Initialize { lucky: true }, Op::Accept { c: 0 }, Op::Flushed { x: 0 }];
const SECOND: [Op; 3] = [Op::Initialize { lucky: true }, Op::Accept { c: 1 }, Op::Flushed { x: 1 }];

/// `alive` bounds the sessions that there are at a time, `sessions_max` those that have a place.
fn search(sessions_max: usize, alive: usize, start: &[&[Op]]) {
    let states_max = bound("EXHAUSTIVE_STATES", STATES);
    let search = Search {
        rules: rules(sessions_max),
        ops: &|model: &Model| model.session_ops(alive, 3),
        start: start.concat(),
        depth: usize::MAX,
        states_max,
    };
    let found = search.run();
    println!("{sessions_max} places, {alive} sessions, after {start:?}: {found:?}");
    assert!(found.complete || found.states >= states_max, "{found:?}");
}

#[test]
fn r1_every_short_life_from_the_beginning() {
    search(1, 2, &[]);
    search(2, 2, &[]);
}

#[test]
fn r1_every_short_life_with_a_live_session() {
    search(1, 2, &[&LIVE]);
    search(2, 2, &[&LIVE, &[Op::Call { s: 0, id: 2 }]]);
}

#[test]
fn s10_every_short_life_at_the_cap() {
    search(2, 3, &[&LIVE, &SECOND]);
    search(2, 3, &[&LIVE, &SECOND, &[Op::Initialize { lucky: true }]]);
}
