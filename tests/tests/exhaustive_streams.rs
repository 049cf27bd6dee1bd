//! Every short sequence of what can happen to one stream with a ring of two, against the reference model (C5 to
//! C9, C11, R6, R9). `EXHAUSTIVE_DEPTH` sets how many steps.

use mcp_http_tests::model::{Line, Model, Op, Rules, Search, bound};

fn rules(primes: bool) -> Rules {
    Rules {
        sessions_max: 1,
        calls_max: 2,
        ring_frames_max: 2,
        establish: 1000,
        confirm: 1000,
        idle: 1000,
        evict_after: 1000,
        sse_commit_after: 1000,
        comment_every: 2000,
        retention: 100,
        shutdown: 10,
        primes,
    }
}

const OPEN: [Op; 3] = [Op::Initialize { lucky: true }, Op::Accept { c: 0 }, Op::Flushed { x: 0 }];

fn search(what: &str, line: Line, more: &[Op]) {
    let depth = bound("EXHAUSTIVE_DEPTH", 10);
    for primes in [true, false] {
        let ops = |model: &Model| model.stream_ops(line, 3);
        let start = [&OPEN[..], more].concat();
        let found = Search { rules: rules(primes), ops: &ops, start, depth, states_max: usize::MAX }.run();
        println!("{what}, with priming events {primes}: {found:?}");
        assert_eq!(found.depth, depth);
    }
}

#[test]
fn c7_every_short_course_of_a_call_stream() {
    let line = Line::Call(1);
    search("a call's stream", line, &[Op::Call { s: 0, id: 2 }, Op::Say { to: line, droppable: false }]);
}

#[test]
fn c9_every_short_course_of_a_standalone_stream() {
    search("a standalone stream", Line::Own(0), &[]);
}
