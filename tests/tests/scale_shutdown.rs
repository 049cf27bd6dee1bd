//! A shutdown at every step of a scenario that has one of everything (R14, X1): whatever is under way, at the last
//! moment every table is empty, and every exchange has ended with a complete message, or was aborted because its
//! peer would not read.

#[path = "attack_support/world.rs"]
mod world;

use std::time::Duration;

use mcp_http_core::endpoint::Topic;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{ask, batch, note, progress, question};

use world::{Wants, World};

const DRAIN: Duration = Duration::from_secs(10);
/// D3: when calls without an answer are failed.
const FAIL_AT: Duration = Duration::from_secs(9);

/// One call of the endpoint each, or nearly so.
type Step = (&'static str, fn(&mut World));

const BOTH: &str = "application/json, text/event-stream";

/// A session's beginning and its first calls.
const FIRST: &[Step] = &[
    ("nothing", |_| {}),
    ("initialize", |w| w.opening("a", Version::V2025_11_25)),
    ("the application accepts", |w| w.accept("a")),
    ("the answer is flushed", |w| w.flush_opening("a")),
    ("a notice", |w| w.notice("a", "notifications/initialized")),
    ("the notice is taken", World::take),
    ("the 202 is flushed", World::flush_last),
    ("a call that is held", |w| w.call("a", "1", BOTH)),
    ("a call that only takes JSON", |w| w.call("a", "2", "application/json")),
    ("a call that streams", |w| w.call("a", "3", BOTH)),
    ("progress", |w| w.send("3", progress(1))),
    ("progress is pulled", |w| w.pull("3")),
    ("more progress, which is not", |w| w.send("3", progress(2))),
    ("a request to the client", |w| w.send("3", question(5))),
    ("its reply", |w| w.post("a", ask::reply("5"), Wants::Accepted)),
    ("a standalone stream", |w| w.get("a", None)),
    ("its head is pulled", World::pull_last),
    ("a note on it", |w| w.say("a", note(1))),
    ("another standalone stream", |w| w.get("a", None)),
    ("three more notes", |w| (2..5).for_each(|number| w.say("a", note(number)))),
    ("one too many", |w| w.say("a", note(5))),
];

/// Calls on their various ways to the end.
const CALLS: &[Step] = &[
    ("a call that will be cut off", |w| w.call("a", "4", BOTH)),
    ("what it says first", |w| w.send("4", note(1))),
    ("is pulled", |w| w.pull("4")),
    ("and its client goes", |w| w.gone("4")),
    ("it goes on", |w| w.send("4", note(2))),
    ("the client comes back", |w| w.resume("a", "4")),
    ("a call whose client goes before anything", |w| w.call("a", "5", BOTH)),
    ("and goes", |w| w.gone("5")),
    ("a call that is answered", |w| w.call("a", "6", BOTH)),
    ("its answer, not flushed", |w| w.answer("6")),
    ("a call that ends as a stream", |w| w.call("a", "7", BOTH)),
    ("its note", |w| w.send("7", note(1))),
    ("its answer, not pulled", |w| w.answer("7")),
    ("a call that is polled", |w| w.call("a", "8", BOTH)),
    ("its first words", |w| w.send("8", note(1))),
    ("its stream is closed for polling", |w| w.close_for_polling("8")),
    ("a call that is cancelled", |w| w.call("a", "9", BOTH)),
    ("the cancel", |w| w.post("a", ask::cancelled("9"), Wants::Accepted)),
    ("a call whose reader stalls", |w| w.call("a", "10", BOTH)),
    ("its words", |w| w.send("10", note(1))),
    ("the stall", |w| w.stalled("10")),
    ("a call whose ring fills", |w| w.call("a", "11", BOTH)),
    ("it is full", |w| (0..4).for_each(|number| w.send("11", note(number)))),
    ("a notice that is not taken", |w| w.notice("a", "x")),
    ("silence, until what is held is committed", |w| w.wait(Duration::from_millis(1_100))),
];

/// Other sessions, batches, and the stateless era.
const OTHERS: &[Step] = &[
    ("a session of 2025-03-26", |w| w.opening("b", Version::V2025_03_26)),
    ("accepted", |w| w.accept("b")),
    ("flushed", |w| w.flush_opening("b")),
    ("a batch", |w| {
        let body = batch(&[ask::request("21", "t"), ask::request("22", "t"), ask::notice("x")]);
        w.batch("b", body, &["21", "22"]);
    }),
    ("one of its calls is answered", |w| w.answer("22")),
    ("the other one says something", |w| w.send("21", note(1))),
    ("a session that is deleted", |w| w.opening("c", Version::V2025_06_18)),
    ("which was accepted", |w| w.accept("c")),
    ("and used", |w| w.call("c", "31", BOTH)),
    ("and listened to", |w| w.get("c", None)),
    ("the delete", |w| w.delete("c")),
    ("a session that is offered", |w| w.opening("d", Version::V2025_11_25)),
    ("and no more", |w| w.accept("d")),
    ("a session that is pending", |w| w.opening("e", Version::V2025_11_25)),
    ("a stateless call", |w| w.solo("41")),
    ("a stateless call that streams", |w| w.solo("42")),
    ("its words", |w| w.send("42", progress(1))),
    ("a stateless call whose client goes", |w| w.solo("43")),
    ("and goes", |w| w.gone("43")),
    ("a subscription", |w| w.listen("51")),
    ("its acknowledgement is pulled", World::pull_last),
    ("something to announce", |w| w.publish(&Topic::Tools)),
    ("silence, until comments are due", |w| w.wait(Duration::from_secs(20))),
    ("the end of what was pending", |w| w.wait(Duration::from_secs(20))),
];

fn steps() -> impl Iterator<Item = &'static Step> {
    FIRST.iter().chain(CALLS).chain(OTHERS)
}

/// What goes on while the server shuts down.
#[derive(Clone, Copy, Debug)]
struct Meanwhile {
    peers_read: bool,
    application_answers: bool,
    /// New requests keep coming.
    requests_come: bool,
    drain: Duration,
}

fn all_ways() -> Vec<Meanwhile> {
    let mut all = Vec::new();
    for way in 0..8 {
        let (peers_read, application_answers, requests_come) = (way & 1 > 0, way & 2 > 0, way & 4 > 0);
        all.push(Meanwhile { peers_read, application_answers, requests_come, drain: DRAIN });
    }
    // No time at all.
    let none = Meanwhile {
        peers_read: false,
        application_answers: false,
        requests_come: false,
        drain: Duration::ZERO,
    };
    all.extend([none, Meanwhile { requests_come: true, ..none }]);
    all
}

#[test]
fn r14_a_shutdown_at_every_step() {
    let last = steps().count();
    for at in 0..last {
        for way in all_ways() {
            let mut world = World::new();
            let mut name = "";
            for (step, act) in steps().take(at + 1) {
                name = *step;
                act(&mut world);
            }
            println!("shutdown after step {at}, {name:?}; {way:?}");
            end(world, way);
        }
    }
}

fn end(mut world: World, way: Meanwhile) {
    world.begin_shutdown(way.drain);
    let started = world.script.now();
    if way.requests_come {
        world.late_requests();
    }
    if way.application_answers {
        world.answer_all();
    }
    if way.peers_read {
        world.read_all();
    }
    if !way.drain.is_zero() {
        // Calls without an answer have one now, or an error.
        world.wait(FAIL_AT);
        if way.requests_come {
            world.late_requests();
        }
        if way.peers_read {
            world.read_all();
            let unread = world.open();
            assert!(unread.is_empty(), "R14: not ended before the last moment: {unread:?}");
        }
    }
    world.wait(way.drain.saturating_sub(world.script.now().since(started)));
    assert!(world.open().is_empty(), "R14: neither a complete message nor a close: {:?}", world.open());
    let stats = world.script.stats();
    assert!(stats.is_drained(), "R14: {stats:?}");
    assert_eq!(world.script.next_deadline(), None, "R14: a deadline remains");
    if way.peers_read {
        assert_eq!(world.closed_in_shutdown, [], "R14: a peer that reads was cut off");
    }
    world.check_endings();
    world.script.finish();
}

/// The scenario has what it is meant to have; else a shutdown would find nothing to do.
#[test]
fn the_scenario_has_everything() {
    let mut world = World::new();
    for (_, act) in steps().take(steps().count() - 2) {
        act(&mut world);
    }
    let stats = world.script.stats();
    assert!(stats.sessions >= 4 && stats.pending == 1, "{stats:?}");
    assert!(stats.calls >= 9 && stats.streams >= 9 && stats.exchanges >= 12, "{stats:?}");
    assert!(stats.buffered_bytes > 0 && stats.deadlines > 9, "{stats:?}");
}
