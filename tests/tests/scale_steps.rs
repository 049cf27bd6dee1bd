//! R8, R9, R14, S10, on the bare core with many sessions: what walks whole tables goes in steps of a bounded size,
//! and a place to give up is found without a search. Counted in calls and actions.

#[path = "attack_support/bare.rs"]
mod bare;

use std::time::Duration;

use mcp_http_core::endpoint::{Action, DiscardReason, EndReason, Event};
use mcp_http_core::time::Timestamp;

use bare::Bare;

/// Records that one step may look at.
const STEP_MAX: usize = 256;

const SESSIONS: usize = 1_000;
/// Short, so that no call is silent for long enough to be given a stream.
const DRAIN: Duration = Duration::from_millis(500);
/// What is left of it when calls are failed (D3).
const MARGIN: Duration = Duration::from_millis(50);

/// What comes of the shutdown's beginning, and of the steps that follow at once.
fn shut_down(bare: &mut Bare, until: Timestamp) -> Vec<Vec<Action>> {
    bare.endpoint.handle(Event::Shutdown { until }, bare.now, &mut bare.out);
    let mut steps = vec![bare.out.drain().collect()];
    steps.extend(due_now(bare));
    steps
}

/// What each call of `handle_timeout` does, until nothing is due.
fn due_now(bare: &mut Bare) -> Vec<Vec<Action>> {
    let mut steps = Vec::new();
    while bare.endpoint.poll_timeout().is_some_and(|due| due <= bare.now) {
        bare.endpoint.handle_timeout(bare.now, &mut bare.out);
        steps.push(bare.out.drain().collect());
        assert!(steps.len() < 1_000, "R9: it never ends");
    }
    steps
}

#[track_caller]
fn expect_bounded(steps: &[Vec<Action>], actions_each: usize) {
    let longest = steps.iter().map(Vec::len).max().unwrap_or_default();
    assert!(longest <= STEP_MAX * actions_each, "{longest} actions in one step");
}

fn count(steps: &[Vec<Action>], such: impl Fn(&Action) -> bool) -> usize {
    steps.iter().flatten().filter(|action| such(action)).count()
}

fn ended(action: &Action) -> bool {
    matches!(action, Action::End { reason: EndReason::Shutdown, .. })
}

#[test]
fn r14_a_shutdown_ends_many_idle_sessions_in_bounded_steps() {
    let mut bare = Bare::with_room(SESSIONS);
    for _ in 0..SESSIONS {
        bare.used();
    }
    let until = bare.now.after(DRAIN);
    let steps = shut_down(&mut bare, until);
    expect_bounded(&steps, 1);
    assert_eq!(count(&steps, ended), SESSIONS);
    assert_eq!(bare.endpoint.stats().sessions, 0);
    assert_eq!(bare.endpoint.poll_timeout(), Some(bare.now.after(DRAIN - MARGIN)));
}

#[test]
fn r14_a_shutdown_fails_many_calls_in_bounded_steps() {
    let mut bare = Bare::with_room(SESSIONS);
    for _ in 0..SESSIONS {
        let id = bare.used();
        let ping = bare.ping(&id);
        bare.endpoint.admit(ping, None, bare.now, &mut bare.out);
        bare.out.drain().for_each(drop);
    }
    let until = bare.now.after(DRAIN);
    assert_eq!(count(&shut_down(&mut bare, until), |_| true), 0, "calls may finish");
    bare.wait(DRAIN - MARGIN);
    let steps = due_now(&mut bare);
    // A word to the handler, a refusal, the end.
    expect_bounded(&steps, 3);
    assert_eq!(count(&steps, ended), SESSIONS);
    let refused = |action: &Action| matches!(action, Action::Reject { .. });
    assert_eq!(count(&steps, refused), SESSIONS);
    assert_eq!(bare.endpoint.stats().exchanges, 0);
    bare.wait(MARGIN);
    assert_eq!(count(&due_now(&mut bare), |_| true), 0);
    assert!(bare.endpoint.stats().is_drained());
    assert_eq!(bare.endpoint.poll_timeout(), None);
}

/// At once, and with the end brought forward while the beginning is still under way.
#[test]
fn r14_a_shutdown_brought_forward_between_its_steps_ends_everything() {
    let mut bare = Bare::with_room(SESSIONS);
    for number in 0..SESSIONS {
        let initialize = bare.initialize();
        let pending = bare.open(initialize);
        if number % 2 == 0 {
            bare.establish(&pending);
        }
        bare.out.drain().for_each(drop);
    }
    let mut steps = Vec::new();
    for until in [bare.now.after(DRAIN), bare.now] {
        bare.endpoint.handle(Event::Shutdown { until }, bare.now, &mut bare.out);
        steps.push(bare.out.drain().collect());
    }
    steps.extend(due_now(&mut bare));
    // The discard of a pending session has a refusal and a word to the handler with it.
    expect_bounded(&steps, 3);
    let discarded =
        |action: &Action| matches!(action, Action::Discard { reason: DiscardReason::Shutdown, .. });
    assert_eq!((count(&steps, ended), count(&steps, discarded)), (SESSIONS / 2, SESSIONS / 2));
    assert!(bare.endpoint.stats().is_drained());
    assert_eq!(bare.endpoint.poll_timeout(), None);
}

/// Every pending session has a victim of its own, however many have one already.
#[test]
fn s10_a_victim_is_found_behind_any_number_of_promised_ones() {
    let mut bare = Bare::with_room(SESSIONS);
    for _ in 0..SESSIONS {
        let initialize = bare.initialize();
        let pending = bare.open(initialize);
        bare.establish(&pending);
        bare.out.drain().for_each(drop);
        bare.wait(Duration::from_millis(1));
    }
    let mut pending: Vec<_> = Vec::new();
    for _ in 0..SESSIONS {
        let initialize = bare.initialize();
        pending.push(bare.open(initialize));
    }
    let initialize = bare.initialize();
    bare.endpoint.admit(initialize, None, bare.now, &mut bare.out);
    let actions: Vec<Action> = bare.out.drain().collect();
    assert!(matches!(actions[..], [Action::Reject { .. }]), "every place is promised: {actions:?}");
    // The last of them is answered first, and takes the place that it was promised.
    for pending in pending.iter().rev() {
        bare.establish(pending);
        let actions: Vec<Action> = bare.out.drain().collect();
        let evicted =
            actions.iter().filter(|action| matches!(action, Action::End { reason: EndReason::Evicted, .. }));
        assert_eq!(evicted.count(), 1, "{actions:?}");
    }
    let stats = bare.endpoint.stats();
    assert_eq!((stats.sessions, stats.total.ended.evicted), (SESSIONS as u64, SESSIONS as u64));
}
