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

/// A stream that there is or was.
struct Stream {
    line: Line,
    session: Sid,
    /// The exchange that carried it last.
    carrier: Option<Xid>,
}

/// Reads: the rules, then two bytes for each step.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let rules = rules(&mut input);
    let settings = Arc::new(config(&rules));
    let intake = Intake::new(settings.clone());
    let (mut model, mut rig) = (Model::new(rules.clone()), Rig::new(&rules, &intake, &settings));
    let mut story = format!("{rules:?}");
    let mut streams: Vec<Stream> = Vec::new();
    let mut is_down = false;
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        let op = choose(&mut input, &model, &streams);
        if let Some(x) = moved_from(op, &streams, rules.calls_max) {
            step(Op::Gone { x }, &mut model, &mut rig, &mut story);
        }
        is_down |= op == Op::Shutdown;
        let outcome = step(op, &mut model, &mut rig, &mut story);
        follow(op, &outcome, &mut streams);
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
        primes: of_streams.is_multiple_of(2),
    }
}

/// A step in the life of sessions, one on a stream, or any that there is.
fn choose(input: &mut Input<'_>, model: &Model, streams: &[Stream]) -> Op {
    let (kind, pick) = (usize::from(input.byte()), usize::from(input.byte()));
    let ops = match streams.len().checked_sub(1 + kind / 2 % streams.len().max(1)) {
        Some(at) if kind % 2 == 1 => model.stream_ops(streams[at].line, EXCHANGES_MAX),
        _ if kind % 4 == 2 => model.world_ops(SESSIONS_MAX, EXCHANGES_MAX),
        _ => model.session_ops(SESSIONS_MAX, EXCHANGES_MAX),
    };
    let op = ops[pick % ops.len()];
    match (op, resumed(op, streams)) {
        // The model forgets whose a stream was that is not kept any more, so that only its own session asks for it.
        (Op::Get { after, .. }, Some(stream)) => Op::Get { s: stream.session, after },
        (op, _) => op,
    }
}

/// The stream that a GET asks for.
fn resumed(op: Op, streams: &[Stream]) -> Option<&Stream> {
    let line = match op {
        Op::Get { s, after: After::Nothing } => Line::Own(s),
        Op::Get { after: After::Event((line, _)), .. } => line,
        _ => return None,
    };
    streams.iter().find(|stream| stream.line == line)
}

/// Who carried a stream that a GET moves. To the model the move is a break, at which only so many finished streams are
/// kept, and to the endpoint it is none; so where there may be more, the stream breaks first.
fn moved_from(op: Op, streams: &[Stream], calls_max: usize) -> Option<Xid> {
    let stream = resumed(op, streams)?;
    let is_call = |other: &&Stream| other.session == stream.session && matches!(other.line, Line::Call(_));
    stream.carrier.filter(|_| streams.iter().filter(is_call).count() > calls_max)
}

/// Which streams there are after a step, and who carries them.
fn follow(op: Op, outcome: &Outcome, streams: &mut Vec<Stream>) {
    let line = resumed(op, streams).map(|stream| stream.line);
    for act in &outcome.acts {
        match act {
            Act::Json { offers: Some(s), .. } => {
                streams.push(Stream { line: Line::Own(*s), session: *s, carrier: None });
            }
            Act::DeliverCall { s, c, x } => {
                streams.push(Stream { line: Line::Call(*c), session: *s, carrier: Some(*x) });
            }
            Act::Stream(x) => {
                for stream in streams.iter_mut().filter(|stream| Some(stream.line) == line) {
                    stream.carrier = Some(*x);
                }
            }
            _ => {}
        }
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
