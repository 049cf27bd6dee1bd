//! At the cap of sessions: S10, L3.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, DiscardReason, EndReason, Event};
use mcp_http_tests::script::{
    Opening, Script, ask, assert_unknown, delete, end, error, only_reject, refused_at_the_cap, told,
};

const TICK: Duration = Duration::from_nanos(1);

#[test]
fn s10_without_a_victim_503_and_existing_sessions_are_served() {
    let mut s = Script::with(|config| config.sessions_max = 2);
    let (a, b) = (s.open(), s.open());
    for _ in 0..10 {
        refused_at_the_cap(&mut s);
    }
    assert_eq!((s.sessions(), s.stats().total.created), (2, 2));
    for session in [&a, &b] {
        let call = s.call(session, "2", "ping");
        assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("2", "{}"))]);
    }
    s.finish();
}

#[test]
fn s10_pending_sessions_count_and_are_no_victims() {
    let mut s = Script::with(|config| config.sessions_max = 2);
    let (a, b) = (s.opening(), s.offered());
    refused_at_the_cap(&mut s);
    s.gone(b.exchange);
    let c = s.opening();
    refused_at_the_cap(&mut s);
    s.commit(&a);
    s.commit(&c);
    s.finish();
}

#[test]
fn s10_the_oldest_unconfirmed_goes_first_and_only_when_the_new_one_is_offered() {
    let mut s = Script::with(|config| config.sessions_max = 3);
    let idle = s.open();
    s.advance(Duration::from_secs(1));
    let older = s.unconfirmed();
    s.advance(Duration::from_secs(1));
    let younger = s.unconfirmed();
    s.advance(Duration::from_secs(1));
    let new = s.opening();
    assert_eq!((s.stats().sessions, s.sessions()), (4, 3), "the place is reserved");
    let offer = s.accept(&new);
    assert_eq!(offer, [end(older.key, EndReason::Evicted), new.offer()]);
    assert_eq!(s.sessions(), 3);
    s.flushed(new.exchange);
    assert_unknown(&mut s, &older.id);
    s.initialized(&younger);
    s.initialized(&idle);
    s.finish();
}

#[test]
fn s10_then_the_longest_idle_beyond_evict_after() {
    let mut s = Script::with(|config| config.sessions_max = 2);
    let evict_after = s.config().evict_after;
    let (a, b) = (s.open(), s.open());
    s.advance(evict_after / 2);
    s.initialized(&a);
    s.advance(evict_after / 2 - TICK);
    refused_at_the_cap(&mut s);
    s.advance(TICK);
    let new = s.opening();
    assert_eq!(s.accept(&new), [end(b.key, EndReason::Evicted), new.offer()]);
    s.flushed(new.exchange);
    s.initialized(&a);
    s.finish();
}

#[test]
fn s10_longest_idle_by_last_use_not_by_age() {
    let mut s = Script::with(|config| config.sessions_max = 3);
    let (a, b, c) = (s.open(), s.open(), s.open());
    for session in [&c, &a, &b] {
        s.advance(Duration::from_secs(1));
        s.initialized(session);
    }
    s.advance(s.config().evict_after + Duration::from_secs(5));
    let mut new = Vec::new();
    for victim in [&c, &a, &b] {
        let opening = s.opening();
        assert_eq!(s.accept(&opening), [end(victim.key, EndReason::Evicted), opening.offer()]);
        s.flushed(opening.exchange);
        let session = opening.session();
        s.initialized(&session);
        new.push(session);
    }
    refused_at_the_cap(&mut s);
    s.finish();
}

#[test]
fn s10_a_session_with_a_call_or_an_open_stream_is_no_victim() {
    let mut s = Script::with(|config| config.sessions_max = 2);
    let (a, b) = (s.open(), s.open());
    let call = s.call(&a, "1", "slow");
    let get = s.listen(&b);
    s.pull(get);
    for _ in 0..20 {
        s.advance(s.config().comment_every);
        s.pull(get);
        s.pull(call.exchange);
    }
    refused_at_the_cap(&mut s);
    s.answer(call, "{}");
    s.finish();
}

#[test]
fn s10_a_failed_initialize_at_the_cap_throws_nobody_out() {
    type Fail = fn(&mut Script, &Opening);
    let fails: [Fail; 5] = [
        |s, new| {
            s.send(new.target(), error(-32602, "no"));
        },
        |s, new| {
            s.event(Event::SessionFailed { session: new.key });
        },
        |s, new| {
            s.gone(new.exchange);
        },
        |s, new| {
            s.event(Event::HalfClosed { exchange: new.exchange });
            s.gone(new.exchange);
        },
        |s, new| {
            s.event(Event::Stalled { exchange: new.exchange });
        },
    ];
    for fail in fails {
        let mut s = Script::with(|config| config.sessions_max = 1);
        let victim = s.unconfirmed();
        for _ in 0..3 {
            let new = s.opening();
            fail(&mut s, &new);
            assert_eq!((s.stats().sessions, s.sessions()), (1, 1));
        }
        s.initialized(&victim);
        s.finish();
    }
}

#[test]
fn s10_an_establish_timeout_at_the_cap_throws_nobody_out() {
    let mut s = Script::with(|config| config.sessions_max = 1);
    let victim = s.open();
    s.advance(s.config().evict_after);
    let new = s.opening();
    let actions = s.advance(s.config().establish);
    assert!(actions.contains(&Action::Discard { session: new.key, reason: DiscardReason::Timeout }));
    s.initialized(&victim);
    s.finish();
}

#[test]
fn s10_one_victim_for_each_pending_session() {
    let mut s = Script::with(|config| config.sessions_max = 2);
    let (a, b) = (s.unconfirmed(), s.unconfirmed());
    let (first, second) = (s.opening(), s.opening());
    refused_at_the_cap(&mut s);
    assert_eq!(s.accept(&second), [end(b.key, EndReason::Evicted), second.offer()]);
    assert_eq!(s.accept(&first), [end(a.key, EndReason::Evicted), first.offer()]);
    assert_eq!(s.sessions(), 2);
    s.finish();
}

#[test]
fn s10_a_victim_that_became_active_again_is_replaced_by_another() {
    let mut s = Script::with(|config| config.sessions_max = 2);
    let (a, b) = (s.unconfirmed(), s.unconfirmed());
    let new = s.opening();
    s.initialized(&a);
    assert_eq!(s.accept(&new), [end(b.key, EndReason::Evicted), new.offer()]);
    s.initialized(&a);
    s.finish();
}

#[test]
fn s10_a_victim_that_became_active_again_without_another_is_a_refusal() {
    let mut s = Script::with(|config| config.sessions_max = 1);
    let a = s.unconfirmed();
    let new = s.opening();
    s.initialized(&a);
    let actions = s.accept(&new);
    let discard = Action::Discard { session: new.key, reason: DiscardReason::NoRoom };
    let rejects: Vec<_> =
        actions.iter().filter(|action| matches!(action, Action::Reject { .. })).cloned().collect();
    assert_eq!(told(only_reject(&rejects, new.exchange)), (503, -32000, Some("1".into())));
    assert!(actions.contains(&discard), "{actions:?}");
    assert_eq!(actions.len(), 2, "{actions:?}");
    assert_eq!((s.stats().sessions, s.sessions()), (1, 1));
    s.initialized(&a);
    s.finish();
}

#[test]
fn s10_a_victim_that_ended_meanwhile_leaves_its_place() {
    let mut s = Script::with(|config| config.sessions_max = 1);
    let a = s.unconfirmed();
    let new = s.opening();
    delete(&mut s, &a, &[]);
    assert_eq!(s.accept(&new), [new.offer()]);
    assert_eq!(s.sessions(), 1);
    refused_at_the_cap(&mut s);
    s.finish();
}

#[test]
fn s10_the_cap_is_exact_for_any_number_of_shards() {
    for shards in [1_u16, 8] {
        let mut s = Script::sharded(shards, |config| config.sessions_max = 11);
        let mut sessions = Vec::new();
        for number in 0..11 {
            sessions.push(s.on(number % usize::from(shards)).open());
        }
        assert_eq!(s.sessions(), 11);
        for shard in 0..usize::from(shards) {
            s.on(shard);
            refused_at_the_cap(&mut s);
        }
        let gone = sessions.remove(3);
        delete(&mut s, &gone, &[]);
        sessions.push(s.on(usize::from(shards) - 1).open());
        for shard in 0..usize::from(shards) {
            s.on(shard);
            refused_at_the_cap(&mut s);
        }
        for session in &sessions {
            s.initialized(session);
        }
        s.finish();
    }
}

#[test]
fn l3_a_flood_of_initialize_that_never_returns_keeps_the_table_flat() {
    let mut s = Script::with(|config| config.sessions_max = 10);
    let kept = s.open();
    for _ in 0..100 {
        let new = s.opening();
        let actions = s.accept(&new);
        assert_eq!(actions.last(), Some(&new.offer()));
        assert_eq!(s.flushed(new.exchange), [Action::Commit { session: new.key }]);
        assert!(s.sessions() <= 10, "{}", s.sessions());
        s.advance(Duration::from_millis(1));
    }
    s.initialized(&kept);
    s.finish();
}

#[test]
fn r12_a_victim_is_idle_and_a_call_whose_client_left_is_not() {
    let mut s = Script::with(|config| config.sessions_max = 1);
    let session = s.open();
    let call = s.call(&session, "1", "t");
    s.gone(call.exchange);
    s.advance(s.config().evict_after * 3);
    let refused = s.post(ask::initialize("1", "2025-11-25")).admit();
    assert!(matches!(refused.actions[..], [Action::Reject { .. }]), "{:?}", refused.actions);
    s.answer(call, "{}");
    s.advance(s.config().evict_after);
    let opening = s.opening();
    s.commit_over(&opening, &session);
    s.finish();
}

#[test]
fn s10_the_right_victim_is_found_on_whichever_shard_it_is() {
    let mut s = Script::sharded(8, |config| config.sessions_max = 5);
    let open = |s: &mut Script, shard: usize, confirmed: bool| {
        s.advance(Duration::from_secs(1));
        if confirmed { s.on(shard).open() } else { s.on(shard).unconfirmed() }
    };
    let old = open(&mut s, 2, true);
    let older = open(&mut s, 6, false);
    let younger = open(&mut s, 1, false);
    let new = open(&mut s, 7, true);
    let newest = open(&mut s, 2, true);
    // The clock to confirm runs for the two that nobody used.
    s.advance(Duration::from_secs(10));
    for victim in [&older, &younger] {
        let opening = s.on_victim().opening();
        assert_eq!(opening.shard, victim.shard);
        let session = s.commit_over(&opening, victim);
        s.initialized(&session);
    }
    s.advance(s.config().evict_after);
    for victim in [&old, &new, &newest] {
        let opening = s.on_victim().opening();
        let session = s.commit_over(&opening, victim);
        s.initialized(&session);
    }
    assert_eq!(s.sessions(), 5);
    s.finish();
}
