//! Every rule of the contract that the reference model of the test suite knows (R1 to R14): courses far longer and
//! limits far stranger than the exhaustive search reaches. Each step is one that the model offers at that point; the
//! endpoint must say what the model says, action by action, and have the same tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_http_core::intake::Intake;
use mcp_http_tests::model::{Act, After, Line, Model, Op, Outcome, Rig, Rules, Xid, config};

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
    let (mut carriers, mut is_down) = (Carriers::default(), false);
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        let op = carriers.settle(choose(&mut input, &model, &lines));
        is_down |= op == Op::Shutdown;
        let outcome = step(op, &mut model, &mut rig, &mut story);
        carriers.follow(op, &outcome);
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

/// Which exchange surely carries a stream. Where nobody does and the ring is full, the endpoint gives up the oldest
/// notice for a new one that may be left out, and the model the new one: such notices are not said there.
#[derive(Default)]
struct Carriers(BTreeMap<Line, Xid>);

impl Carriers {
    fn settle(&self, op: Op) -> Op {
        match op {
            Op::Say { to, droppable: true } if !self.0.contains_key(&to) => Op::Say { to, droppable: false },
            op => op,
        }
    }

    fn follow(&mut self, op: Op, outcome: &Outcome) {
        let left = match op {
            Op::Gone { x } | Op::HalfClosed { x } | Op::Stalled { x } | Op::Flushed { x } => Some(x),
            _ => None,
        };
        let closed = |x: &Xid| outcome.acts.contains(&Act::Close(*x)) || Some(*x) == left;
        self.0.retain(|line, x| !closed(x) && op != Op::Polling { c: call_of(*line) });
        for act in &outcome.acts {
            match (act, op) {
                (Act::DeliverCall { x, c, .. }, _) => self.0.insert(Line::Call(*c), *x),
                (Act::Stream(x), Op::Get { s, after: After::Nothing }) => self.0.insert(Line::Own(s), *x),
                (Act::Stream(x), Op::Get { after: After::Event((line, _)), .. }) => self.0.insert(line, *x),
                _ => None,
            };
        }
    }
}

fn call_of(line: Line) -> u32 {
    match line {
        Line::Call(c) => c,
        Line::Own(_) => u32::MAX,
    }
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
