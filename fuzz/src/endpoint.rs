//! Every rule of the contract that the reference model of the test suite knows (R1 to R14): courses far longer and
//! limits far stranger than the exhaustive search reaches. Each step is one that the model offers at that point; the
//! endpoint must say what the model says, action by action, and have the same tables.

use std::sync::Arc;

use mcp_http_core::intake::Intake;
use mcp_http_tests::model::{Act, After, Line, Model, Op, Outcome, Rig, Rules, Sid, Xid, config};

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
    let mut story = format!("{rules:?}");
    let mut lines = Vec::new();
    let mut is_down = false;
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        let op = choose(&mut input, &model, &lines);
        is_down |= op == Op::Shutdown;
        let outcome = step(op, &mut model, &mut rig, &mut story);
        if let Some(x) = outcome.acts.iter().find_map(without_content) {
            // The endpoint does not count a 204 as activity of the session; the model does, and R12.
            step(Op::Flushed { x }, &mut model, &mut rig, &mut story);
        }
        lines.extend(outcome.acts.iter().filter_map(line_of));
    }
    drain(is_down, &mut model, &mut rig, &mut story);
}

fn rules(input: &mut Input<'_>) -> Rules {
    let mut secs = |most: usize| 1 + input.below(most) as u64;
    let (establish, confirm, idle) = (secs(6), secs(6), secs(9));
    let (evict_after, sse_commit_after, comment_every) = (secs(4), secs(4), secs(9));
    let of_streams = input.below(16);
    Rules {
        establish,
        confirm,
        idle,
        evict_after,
        sse_commit_after,
        comment_every,
        retention: 1 + of_streams as u64 / 2,
        shutdown: 10,
        sessions_max: 1 + input.below(3),
        calls_max: 1 + input.below(3),
        ring_frames_max: 1 + input.below(4),
        primes: of_streams % 2 == 0,
    }
}

/// A step in the life of sessions, one on a stream, or any that there is.
fn choose(input: &mut Input<'_>, model: &Model, lines: &[(Line, Sid)]) -> Op {
    let (kind, pick) = (usize::from(input.byte()), usize::from(input.byte()));
    let ops = match lines.len().checked_sub(1 + kind / 2 % lines.len().max(1)) {
        Some(line) if kind % 2 == 1 => model.stream_ops(lines[line].0, EXCHANGES_MAX),
        _ if kind % 4 == 2 => model.world_ops(SESSIONS_MAX, EXCHANGES_MAX),
        _ => model.session_ops(SESSIONS_MAX, EXCHANGES_MAX),
    };
    match ops[pick % ops.len()] {
        // The model forgets whose a stream was that is not kept any more, so that only its own session asks for it.
        Op::Get { after: after @ After::Event((line, _)), .. } => {
            Op::Get { s: session_of(line, lines), after }
        }
        op => op,
    }
}

fn without_content(act: &Act) -> Option<Xid> {
    match act {
        Act::NoContent(x) => Some(*x),
        _ => None,
    }
}

/// A stream that there is from here on, and its session.
fn line_of(act: &Act) -> Option<(Line, Sid)> {
    match act {
        Act::Json { offers: Some(s), .. } => Some((Line::Own(*s), *s)),
        Act::DeliverCall { s, c, .. } => Some((Line::Call(*c), *s)),
        _ => None,
    }
}

fn session_of(line: Line, lines: &[(Line, Sid)]) -> Sid {
    lines.iter().find(|(other, _)| *other == line).expect("only streams there were can be resumed").1
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
