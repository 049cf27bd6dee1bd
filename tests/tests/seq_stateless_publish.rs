//! One announcement for both eras: what sessions are told of a change, and that listeners and sessions do not
//! meet (Z10, R6, R8, C11). What a listener is told is in `seq_listen`.

use std::time::Duration;

use mcp_http_core::config::Publishes;
use mcp_http_core::endpoint::{Action, EndReason, Event, Pulled, Topic};
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Said, Script, Session, ask, assert_full, delete, end, message, messages, note, notes, resume, session_of,
};

const TOOLS: &str = r#"{"toolsListChanged":true}"#;
const EVERYTHING: Publishes = Publishes { tools: true, prompts: true, resources: true, updates: true };

fn everything() -> Script {
    Script::with(|config| config.publishes = EVERYTHING)
}

fn resource(uri: &str) -> Topic {
    Topic::Resource(uri.into())
}

/// The text of a list's change in a session.
fn changed(what: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{what}/list_changed"}}"#)
}

/// The text of a resource's change in a session.
fn updated(uri: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{uri}"}}}}"#)
}

/// A session whose standalone stream is read and idle.
#[track_caller]
fn reading(s: &mut Script) -> (Session, mcp_http_core::endpoint::ExchangeId) {
    let session = s.open();
    let get = s.listen(&session);
    assert_eq!(s.pull(get).pulled, Pulled::Idle);
    (session, get)
}

#[test]
fn z10_changes_of_lists_go_to_sessions_whose_standalone_stream_was_opened() {
    for version in Version::HANDSHAKE {
        let mut s = everything();
        let never = s.open_at(version);
        let opened = s.open_at(version);
        let get = s.listen(&opened);
        s.pull(get);
        for (topic, what) in
            [(Topic::Tools, "tools"), (Topic::Prompts, "prompts"), (Topic::Resources, "resources")]
        {
            assert_eq!(s.publish(&topic), (1, vec![Action::Pull { exchange: get }]), "{version:?}");
            let drawn = s.pull(get);
            assert_eq!(drawn.said(), [message(changed(what))], "no subscription id: there is none");
            assert!(drawn.frames[0].id.is_some(), "C4: it can be resumed");
        }
        let late = s.listen(&never);
        assert_eq!(messages(&s.pull(late)), Vec::<String>::new(), "it was told nothing");
        assert_eq!(s.publish(&Topic::Tools).0, 2);
        s.finish();
    }
}

#[test]
fn z10_what_was_told_to_nobody_who_reads_waits_for_the_next_get() {
    let mut s = everything();
    let (session, get) = reading(&mut s);
    s.send(session_of(&session), note(1));
    let last = s.pull(get).last_id();
    s.gone(get);
    assert_eq!(s.publish(&Topic::Tools), (1, vec![]), "it is kept");
    let again = resume(&mut s, &session, &last);
    assert_eq!(messages(&s.pull(again)), [changed("tools")]);
    s.finish();
}

#[test]
fn z10_sessions_that_are_not_there_are_not_told() {
    let mut s = everything();
    let opening = s.opening();
    assert_eq!(s.publish(&Topic::Tools), (0, vec![]), "pending");
    s.accept(&opening);
    assert_eq!(s.publish(&Topic::Tools), (0, vec![]), "offered");
    s.gone(opening.exchange);
    let (session, get) = reading(&mut s);
    assert!(s.subscribe(&session, "a:b"));
    delete(&mut s, &session, &[Action::Pull { exchange: get }]);
    for topic in [Topic::Tools, resource("a:b")] {
        assert_eq!(s.publish(&topic), (0, vec![]), "deleted");
    }
    assert!(!s.subscribe(&session, "a:b"), "it is over");
    s.unsubscribe(&session, "a:b");
    assert_eq!(messages(&s.pull(get)), Vec::<String>::new());
    // Its successor in the same place inherits nothing.
    let (_, get) = reading(&mut s);
    assert_eq!(s.publish(&resource("a:b")), (0, vec![]));
    assert_eq!(s.pull(get).pulled, Pulled::Idle);
    s.finish();
}

#[test]
fn z10_changes_of_resources_go_to_subscribers_and_to_no_others() {
    let mut s = everything();
    let (a, get_a) = reading(&mut s);
    let (b, get_b) = reading(&mut s);
    assert!(s.subscribe(&a, "a:b") && s.subscribe(&a, "a:b"), "twice is once");
    assert!(s.subscribe(&b, "c:d") && s.subscribe(&b, ""));
    assert_eq!(s.publish(&resource("a:b")), (1, vec![Action::Pull { exchange: get_a }]));
    assert_eq!(s.pull(get_a).said(), [message(updated("a:b"))]);
    assert_eq!(s.publish(&resource("c:d")), (1, vec![Action::Pull { exchange: get_b }]));
    assert_eq!(s.pull(get_b).said(), [message(updated("c:d"))]);
    assert_eq!(s.publish(&resource("")).0, 1);
    for other in ["a", "A:b", "a:b/", "a:b ", "c"] {
        assert_eq!(s.publish(&resource(other)), (0, vec![]), "{other}");
    }
    s.unsubscribe(&b, "a:b");
    assert_eq!(s.publish(&resource("a:b")).0, 1, "each its own");
    s.unsubscribe(&a, "a:b");
    assert_eq!(s.publish(&resource("a:b")), (0, vec![]), "also where it was asked for twice");
    s.finish();
}

#[test]
fn z10_a_subscriber_is_told_also_before_its_first_get() {
    let mut s = everything();
    let session = s.open();
    assert!(s.subscribe(&session, "a:b"));
    assert_eq!(s.publish(&resource("a:b")), (1, vec![]));
    let get = s.listen(&session);
    assert_eq!(messages(&s.pull(get)), [updated("a:b")]);
    s.finish();
}

#[test]
fn l2_a_session_subscribes_to_as_many_as_it_may() {
    let mut s = Script::with(|config| {
        config.publishes = EVERYTHING;
        config.listen_uris_max = 2;
    });
    let (session, other) = (s.open(), s.open());
    assert!(s.subscribe(&session, "a") && s.subscribe(&session, "b"));
    assert!(!s.subscribe(&session, "c"));
    assert!(s.subscribe(&session, "a"), "it has that one");
    assert!(s.subscribe(&other, "c"), "others have their own");
    assert_eq!(s.publish(&resource("c")).0, 1);
    s.unsubscribe(&session, "a");
    assert!(s.subscribe(&session, "c"));
    assert_eq!(s.publish(&resource("c")).0, 2);
    assert_eq!(s.publish(&resource("a")).0, 0);
    s.finish();
}

#[test]
fn r8_subscribing_keeps_no_session_alive() {
    let mut s = everything();
    let session = s.open();
    assert!(s.subscribe(&session, "a"));
    let idle = s.config().session_idle.unwrap();
    s.advance(idle / 2);
    assert!(s.subscribe(&session, "b"));
    assert_eq!(s.publish(&resource("a")).0, 1);
    assert_eq!(s.advance(idle / 2), [end(session.key, EndReason::Idle)], "R12: the server's word is no use");
    assert_eq!(s.publish(&resource("a")), (0, vec![]));
    s.finish();
}

#[test]
fn z10_both_eras_are_told_each_in_its_own_way() {
    for shards in [1, 8] {
        let mut s = Script::sharded(shards, |config| config.publishes = EVERYTHING);
        let mut all = Vec::new();
        for shard in 0..usize::from(shards) {
            s.on(shard);
            let (session, get) = reading(&mut s);
            assert_eq!(session.shard, shard);
            let listener = s.on(shard).listener(r#""x""#, TOOLS, TOOLS);
            all.push((get, listener));
        }
        for (shard, (get, listener)) in all.into_iter().enumerate() {
            let (told, mut actions) = s.on(shard).publish(&Topic::Tools);
            let mut pulls = [get, listener].map(|exchange| Action::Pull { exchange });
            actions.sort_by_key(|action| format!("{action:?}"));
            pulls.sort_by_key(|action| format!("{action:?}"));
            assert_eq!((told, actions), (2, pulls.to_vec()));
            assert_eq!(s.pull(get).said(), [message(changed("tools"))]);
            assert_eq!(s.pull(listener).said(), [message(ask::list_changed_text(r#""x""#, "tools"))]);
        }
        s.finish();
    }
}

#[test]
fn c11_a_session_that_does_not_read_keeps_nobody_from_being_told() {
    let mut s = Script::with(|config| {
        config.publishes = EVERYTHING;
        config.ring_frames_max = 3;
    });
    let (stuck, stuck_get) = reading(&mut s);
    let (_, get) = reading(&mut s);
    for number in 0..3 {
        s.send(session_of(&stuck), note(number));
    }
    assert_full(&mut s, session_of(&stuck), note(3));
    let listener = s.listener("1", TOOLS, TOOLS);
    for _ in 0..5 {
        let (told, actions) = s.publish(&Topic::Tools);
        assert_eq!((told, actions.len()), (2, 2), "{actions:?}");
        assert_eq!(messages(&s.pull(get)), [changed("tools")]);
        assert_eq!(messages(&s.pull(listener)), [ask::list_changed_text("1", "tools")]);
    }
    assert_eq!(s.stats().total.dropped_notices, 5);
    let drawn = s.pull(stuck_get);
    assert_eq!(messages(&drawn), notes(0..3), "what must arrive does");
    assert_eq!(drawn.actions, [Action::Writable { target: session_of(&stuck) }], "R9");
    assert_eq!(s.publish(&Topic::Tools).0, 3);
    s.finish();
}

#[test]
fn r6_calls_hear_nothing_of_changes() {
    let mut s = everything();
    let session = s.open();
    let (in_session, alone) = (s.call(&session, "1", "t"), s.solo("2"));
    for call in [in_session, alone] {
        s.send(call.target(), note(1));
        s.pull(call.exchange);
    }
    assert_eq!(s.publish(&Topic::Tools), (0, vec![]));
    for (call, id) in [(in_session, "1"), (alone, "2")] {
        assert_eq!(s.answer(call, "{}"), [call.pull()]);
        assert_eq!(s.pull(call.exchange).said(), [message(ask::result_text(id, "{}"))]);
    }
    s.finish();
}

#[test]
fn r6_a_listener_hears_nothing_of_calls_and_sessions() {
    let mut s = everything();
    let listener = s.listener("1", TOOLS, TOOLS);
    let session = s.open();
    let (in_session, alone) = (s.call(&session, "1", "t"), s.solo("1"));
    for call in [in_session, alone] {
        assert_eq!(s.send(call.target(), note(1)), call.stream());
        s.answer(call, "{}");
    }
    let notice = s.post(ask::cancelled("1")).version("2026-07-28").admit();
    let [Action::Deliver { .. }] = notice.actions[..] else { panic!("{notice:?}") };
    assert_eq!(s.pull(listener).pulled, Pulled::Idle);
    assert_eq!(s.publish(&Topic::Tools), (1, vec![Action::Pull { exchange: listener }]), "it is still open");
    assert_eq!(s.send(session_of(&session), note(2)), []);
    assert_eq!(s.pull(listener).said(), [message(ask::list_changed_text("1", "tools"))]);
    s.finish();
}

#[test]
fn x1_a_shutdown_ends_both_kinds_of_streams() {
    let mut s = everything();
    let (session, get) = reading(&mut s);
    let call = s.call(&session, "1", "slow");
    let listener = s.listener("2", TOOLS, TOOLS);
    assert_eq!(s.publish(&Topic::Tools).0, 2);
    s.shutdown(Duration::from_secs(10));
    assert!(!s.publish(&Topic::Tools).1.contains(&Action::Pull { exchange: listener }));
    assert_eq!(s.pull(get).said(), [message(changed("tools")), Said::Retry]);
    let texts = [ask::list_changed_text("2", "tools"), ask::completed_text("2")];
    assert_eq!(s.pull(listener).said(), texts.map(message));
    for exchange in [get, listener] {
        assert_eq!(s.event(Event::Flushed { exchange }), []);
    }
    let ended = s.answer(call, "{}");
    assert_eq!(ended, [call.json(&ask::result_text("1", "{}")), end(session.key, EndReason::Shutdown)], "D4");
    s.finish();
}
