//! Every rule of the contract that the reference model of the test suite knows (R1 to R14): courses far longer and
//! limits far stranger than the exhaustive search reaches. Each step is one that the model offers at that point; the
//! endpoint must say what the model says, action by action, and have the same tables.

use std::sync::Arc;

use mcp_http_core::intake::Intake;
use mcp_http_tests::model::{Act, Line, Model, Op, Outcome, Rig, Rules, config};

use crate::input::Input;

/// Steps of one course.
const STEPS_MAX: usize = 100;
const SESSIONS_MAX: usize = 4;
const EXCHANGES_MAX: usize = 6;

/// Reads: the rules, then two bytes for each step.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let rules = rules(&mut input);
    let settings = Arc::new(config(&rules));
    let intake = Intake::new(settings.clone());
    let (mut model, mut rig) = (Model::new(rules.clone()), Rig::new(&rules, &intake, &settings));
    let (mut story, mut lines) = (Vec::new(), Vec::new());
    let mut is_down = false;
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        let op = choose(&mut input, &model, &lines);
        is_down |= op == Op::Shutdown;
        let outcome = step(op, &mut model, &mut rig, &mut story);
        lines.extend(outcome.acts.iter().filter_map(line_of));
    }
    drain(is_down, &mut model, &mut rig, &mut story);
}

fn rules(input: &mut Input<'_>) -> Rules {
    let mut secs = |most: usize| 1 + input.below(most) as u64;
    Rules {
        establish: secs(6),
        confirm: secs(6),
        idle: secs(9),
        evict_after: secs(4),
        sse_commit_after: secs(4),
        comment_every: secs(9),
        retention: secs(6),
        shutdown: 10,
        sessions_max: 1 + input.below(3),
        calls_max: 1 + input.below(3),
        ring_frames_max: 1 + input.below(4),
        primes: input.below(2) == 0,
    }
}

/// A step in the life of sessions, or one on a stream.
fn choose(input: &mut Input<'_>, model: &Model, lines: &[Line]) -> Op {
    let (kind, pick) = (usize::from(input.byte()), usize::from(input.byte()));
    let ops = match lines.len().checked_sub(1 + kind / 2 % lines.len().max(1)) {
        Some(line) if kind % 2 == 1 => model.stream_ops(lines[line], EXCHANGES_MAX),
        _ => model.session_ops(SESSIONS_MAX, EXCHANGES_MAX),
    };
    ops[pick % ops.len()]
}

/// A stream that there is from here on.
fn line_of(act: &Act) -> Option<Line> {
    match act {
        Act::Json { offers: Some(s), .. } => Some(Line::Own(*s)),
        Act::DeliverCall { c, .. } => Some(Line::Call(*c)),
        _ => None,
    }
}

fn step(op: Op, model: &mut Model, rig: &mut Rig, story: &mut Vec<(Op, u64)>) -> Outcome {
    let outcome = model.step(op);
    story.push((op, model.now()));
    let taken = rig.step(op, model.now(), &outcome).and_then(|()| rig.compare(model));
    if let Err(why) = taken {
        panic!("{story:?}\n{why}");
    }
    outcome
}

/// Shuts down, lets all time go by, and looks that nothing is left (R14).
fn drain(is_down: bool, model: &mut Model, rig: &mut Rig, story: &mut Vec<(Op, u64)>) {
    if !is_down {
        step(Op::Shutdown, model, rig, story);
    }
    while model.next_deadline().is_some() {
        step(Op::Wait, model, rig, story);
    }
    if let Err(why) = rig.check_drained() {
        panic!("{story:?}\n{why}");
    }
}
