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
/// In seconds: no course is that long, as no step waits for it.
const NEVER: u64 = 100_000;

/// Reads: the rules, then two bytes for each step.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let rules = rules(&mut input);
    let settings = Arc::new(config(&rules));
    let intake = Intake::new(settings.clone());
    let (mut model, mut rig) = (Model::new(rules.clone()), Rig::new(&rules, &intake, &settings));
    let mut story = format!("{rules:?}");
    let mut lines = Vec::new();
    let (mut tact, mut is_down) = (Tact::default(), false);
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        let op = tact.settle(choose(&mut input, &model, &lines), &model);
        is_down |= op == Op::Shutdown;
        let outcome = step(op, &mut model, &mut rig, &mut story);
        tact.follow(op, &outcome);
        if let (false, Some(to)) = (rules.primes, outcome.acts.iter().find_map(call_line)) {
            // The model does not know the comment that such a stream begins with behind a silence.
            step(Op::Say { to, droppable: false }, &mut model, &mut rig, &mut story);
        }
        lines.extend(outcome.acts.iter().filter_map(line_of));
    }
    drain(is_down, &mut model, &mut rig, &mut story);
}

fn rules(input: &mut Input<'_>) -> Rules {
    let mut secs = |most: usize| 1 + input.below(most) as u64;
    let (establish, confirm, idle) = (secs(6), secs(6), secs(9));
    let (evict_after, sse_commit_after, comment_every) = (secs(4), secs(4), secs(9));
    let primes = input.below(2) == 0;
    Rules {
        establish,
        // Where the idle deadline is the shorter one, model and endpoint differ in what becomes of an `initialize` whose
        // peer shut its write side. `timers` has any pair, without such peers.
        confirm: confirm.min(idle),
        idle,
        evict_after,
        sse_commit_after,
        comment_every,
        // The model does not know that the stream of a call without an answer is let go.
        retention: NEVER,
        shutdown: 10,
        sessions_max: 1 + input.below(3),
        calls_max: 1 + input.below(3),
        ring_frames_max: 1 + input.below(4),
        primes,
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

/// What keeps a course away from where model and endpoint are known to differ: where nobody reads and the ring is full,
/// the endpoint gives up the oldest notice that may be left out, and the model the new one. None is said there, nor on
/// standalone streams, whose readers a shutdown takes away.
#[derive(Default)]
struct Tact {
    /// Which exchange surely carries a stream.
    carriers: BTreeMap<Line, Xid>,
}

impl Tact {
    fn settle(&self, op: Op, model: &Model) -> Op {
        match op {
            Op::Wait if model.next_deadline().is_some_and(|at| at >= NEVER) => Op::Tick,
            Op::Say { to, droppable: true } if !self.carriers.contains_key(&to) => {
                Op::Say { to, droppable: false }
            }
            op => op,
        }
    }

    fn follow(&mut self, op: Op, outcome: &Outcome) {
        let left = match op {
            Op::Gone { x } | Op::HalfClosed { x } | Op::Stalled { x } | Op::Flushed { x } => Some(x),
            _ => None,
        };
        let closed = |x: &Xid| outcome.acts.contains(&Act::Close(*x)) || Some(*x) == left;
        self.carriers.retain(|line, x| !closed(x) && op != Op::Polling { c: call_of(*line) });
        for act in &outcome.acts {
            match (act, op) {
                (Act::DeliverCall { x, c, .. }, _) => self.carriers.insert(Line::Call(*c), *x),
                (Act::Stream(x), Op::Get { after: After::Event((line @ Line::Call(_), _)), .. }) => {
                    self.carriers.insert(line, *x)
                }
                _ => None,
            };
        }
    }
}

fn call_line(act: &Act) -> Option<Line> {
    match act {
        Act::DeliverCall { c, .. } => Some(Line::Call(*c)),
        _ => None,
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

fn step(op: Op, model: &mut Model, rig: &mut Rig, story: &mut String) -> Outcome {
    let outcome = model.step(op);
    story.push_str(&format!("\n  {op:?} -> {} s", model.now()));
    let taken = rig.step(op, model.now(), &outcome).and_then(|()| rig.compare(model));
    if let Err(why) = taken {
        panic!("{story}\n{why}");
    }
    outcome
}

/// Shuts down, lets all time go by, and looks that nothing is left (R14).
fn drain(is_down: bool, model: &mut Model, rig: &mut Rig, story: &mut String) {
    if !is_down {
        step(Op::Shutdown, model, rig, story);
    }
    while model.next_deadline().is_some() {
        step(Op::Wait, model, rig, story);
    }
    if let Err(why) = rig.check_drained() {
        panic!("{story}\n{why}");
    }
}
