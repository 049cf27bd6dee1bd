//! L6, on the bare core: a thousand idle sessions or a hundred thousand, one more does what one more does, nothing
//! is done while nothing is due, and when their time comes they go in steps of a bounded size. Counted in calls,
//! actions and deadlines, which are the same on every machine; `attack/flat.sh` counts instructions and
//! allocations as well.

#[path = "attack_support/bare.rs"]
mod bare;

use std::time::Duration;

use mcp_http_core::endpoint::{Action, DiscardReason, EndReason, Stats};
use mcp_http_core::session_id::SessionId;

use bare::Bare;

/// More than one call of `handle_timeout` may do; what it does at most is the same at every size.
const STEP_MAX: usize = 256;

/// The last one is for a release build: a debug build walks all tables at every 256th call, to check them.
fn sizes() -> &'static [usize] {
    if cfg!(debug_assertions) { &[500, 2_000] } else { &[1_000, 10_000, 100_000] }
}

const IDLE: Duration = Duration::from_secs(30 * 60);
const CONFIRM: Duration = Duration::from_secs(60);
const ESTABLISH: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_nanos(1);

/// So many sessions that were used, with room for one more.
fn filled(sessions: usize) -> (Bare, Vec<SessionId>) {
    let mut bare = Bare::with_room(sessions + 1);
    let ids = (0..sessions).map(|_| bare.used()).collect();
    (bare, ids)
}

/// Without what has been since the start.
fn now_held(stats: Stats) -> [u64; 9] {
    let Stats {
        sessions,
        pending,
        offered,
        unconfirmed,
        exchanges,
        calls,
        streams,
        deadlines,
        buffered_bytes,
        total: _,
    } = stats;
    [sessions, pending, offered, unconfirmed, exchanges, calls, streams, deadlines, buffered_bytes]
}

/// L6: whatever their number.
#[test]
fn idle_sessions_hold_one_record_and_one_deadline_each() {
    for &size in sizes() {
        let (bare, _) = filled(size);
        let size = size as u64;
        assert_eq!(now_held(bare.endpoint.stats()), [size, 0, 0, 0, 0, 0, 0, size, 0]);
    }
}

/// L6: one more costs what one costs.
#[test]
fn one_more_does_the_same_at_every_size() {
    let mut first: Option<(Vec<String>, [u64; 9])> = None;
    for &size in sizes() {
        let (mut bare, _) = filled(size);
        let before = now_held(bare.endpoint.stats());
        let initialize = bare.initialize();
        let pending = bare.open(initialize);
        bare.establish(&pending);
        let ping = bare.ping(&pending.id);
        bare.call(ping);
        let kinds: Vec<String> = bare.out.drain().map(|action| kind(&action)).collect();
        let after = now_held(bare.endpoint.stats());
        let more = std::array::from_fn(|at| after[at] - before[at]);
        let first = first.get_or_insert_with(|| (kinds.clone(), more));
        assert_eq!((&kinds, more), (&first.0, first.1), "at {size} sessions");
        assert_eq!(more, [1, 0, 0, 0, 0, 0, 0, 1, 0]);
    }
}

/// The name of an action's variant.
fn kind(action: &Action) -> String {
    let text = format!("{action:?}");
    text.split([' ', '{', '(']).next().unwrap_or_default().to_owned()
}

/// L6: idle sessions cost nothing before their time.
#[test]
fn nothing_is_done_while_nothing_is_due() {
    for &size in sizes() {
        let (mut bare, ids) = filled(size);
        let (due, held) = (bare.endpoint.poll_timeout(), now_held(bare.endpoint.stats()));
        assert_eq!(due, Some(bare.now.after(IDLE)));
        bare.wait(IDLE - TICK);
        bare.endpoint.handle_timeout(bare.now, &mut bare.out);
        assert_eq!(bare.out.as_slice(), []);
        assert_eq!((bare.endpoint.poll_timeout(), now_held(bare.endpoint.stats())), (due, held));
        // One that was used meanwhile is not moved before its old deadline comes.
        let ping = bare.ping(&ids[size / 2]);
        bare.call(ping);
        assert_eq!((bare.endpoint.poll_timeout(), now_held(bare.endpoint.stats())), (due, held));
    }
}

/// Calls `handle_timeout` until nothing is due; returns what each call did.
fn steps(bare: &mut Bare) -> Vec<Vec<Action>> {
    let mut steps = Vec::new();
    while bare.endpoint.poll_timeout().is_some_and(|due| due <= bare.now) {
        bare.endpoint.handle_timeout(bare.now, &mut bare.out);
        steps.push(bare.out.drain().collect());
        assert!(steps.len() < 1_000_000, "R9: it never ends");
    }
    steps
}

#[track_caller]
fn expect_bounded(steps: &[Vec<Action>], size: usize, actions_each: usize) {
    assert_eq!(steps.len(), size.div_ceil(STEP_MAX), "steps for {size} sessions");
    let longest = steps.iter().map(Vec::len).max().unwrap_or_default();
    assert!(longest <= STEP_MAX * actions_each, "{longest} actions in one step");
}

#[test]
fn all_idle_at_once_end_in_bounded_steps() {
    for &size in sizes() {
        let (mut bare, _) = filled(size);
        bare.wait(IDLE);
        let steps = steps(&mut bare);
        expect_bounded(&steps, size, 1);
        let idle = |action: &&Action| matches!(action, Action::End { reason: EndReason::Idle, .. });
        assert_eq!(steps.iter().flatten().filter(idle).count(), size);
        assert!(bare.endpoint.stats().is_drained());
        assert_eq!(bare.endpoint.poll_timeout(), None);
    }
}

/// The deadlines of sessions that were used are found outdated in bounded steps, too, and none ends.
#[test]
fn all_used_meanwhile_stay_in_bounded_steps() {
    for &size in sizes() {
        let (mut bare, ids) = filled(size);
        bare.wait(IDLE - TICK);
        for id in &ids {
            let ping = bare.ping(id);
            bare.call(ping);
        }
        bare.out.drain().for_each(drop);
        bare.wait(TICK);
        let steps = steps(&mut bare);
        expect_bounded(&steps, size, 0);
        assert_eq!(bare.endpoint.stats().sessions, size as u64);
        assert_eq!(bare.endpoint.poll_timeout(), Some(bare.now.after(IDLE - TICK)));
    }
}

#[test]
fn all_unconfirmed_at_once_end_in_bounded_steps() {
    for &size in sizes() {
        let mut bare = Bare::with_room(size);
        for _ in 0..size {
            let initialize = bare.initialize();
            let pending = bare.open(initialize);
            bare.establish(&pending);
            bare.out.drain().for_each(drop);
        }
        assert_eq!(bare.endpoint.poll_timeout(), Some(bare.now.after(CONFIRM)));
        bare.wait(CONFIRM);
        let steps = steps(&mut bare);
        expect_bounded(&steps, size, 1);
        let unconfirmed =
            |action: &&Action| matches!(action, Action::End { reason: EndReason::Unconfirmed, .. });
        assert_eq!(steps.iter().flatten().filter(unconfirmed).count(), size);
        assert!(bare.endpoint.stats().is_drained());
    }
}

#[test]
fn all_pending_at_once_are_discarded_in_bounded_steps() {
    for &size in sizes() {
        let mut bare = Bare::with_room(size);
        for _ in 0..size {
            let initialize = bare.initialize();
            bare.open(initialize);
        }
        bare.wait(ESTABLISH);
        let steps = steps(&mut bare);
        // A discard, a refusal, and a word to the handler.
        expect_bounded(&steps, size, 3);
        let timeout =
            |action: &&Action| matches!(action, Action::Discard { reason: DiscardReason::Timeout, .. });
        assert_eq!(steps.iter().flatten().filter(timeout).count(), size);
        assert!(bare.endpoint.stats().is_drained());
    }
}
