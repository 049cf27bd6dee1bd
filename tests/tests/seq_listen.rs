//! `subscriptions/listen`: Z10, and what C12, C11, L2, R8 and X1 mean for it. What sessions are told of the same
//! changes is in `seq_stateless_publish`.

use std::time::Duration;

use mcp_http_core::config::Publishes;
use mcp_http_core::endpoint::{Action, Event, Pulled, Topic};
use mcp_http_core::jsonrpc::code;
use mcp_http_tests::script::{Said, Script, ask, last_message, message, messages, only_reject, stream, told};

const TICK: Duration = Duration::from_nanos(1);
const DRAIN: Duration = Duration::from_secs(10);
const TOOLS: &str = r#"{"toolsListChanged":true}"#;
const ALL: &str = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:b"]}"#;
const NAMES: [&str; 3] = ["tools", "prompts", "resources"];

const EVERYTHING: Publishes = Publishes { tools: true, prompts: true, resources: true, updates: true };

/// Every literal form an id can have.
const IDS: [&str; 12] = [
    "0",
    "-0",
    "7",
    "-1",
    "9007199254740993",
    "123456789012345678901234567890",
    r#""""#,
    r#""0""#,
    r#""a\"b\\\n""#,
    r#""\u00e9""#,
    r#""é""#,
    r#"" } ""#,
];

fn publishing(publishes: Publishes) -> Script {
    Script::with(|config| config.publishes = publishes)
}

fn everything() -> Script {
    publishing(EVERYTHING)
}

fn resource(uri: &str) -> Topic {
    Topic::Resource(uri.into())
}

fn topics() -> [Topic; 3] {
    [Topic::Tools, Topic::Prompts, Topic::Resources]
}

/// Kinds as bits: what is asked for, and what is published.
fn filter(bits: u8, uris: &str) -> String {
    let kinds = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"];
    let mut members: Vec<String> = Vec::new();
    for (bit, kind) in kinds.iter().enumerate() {
        if bits & 1 << bit != 0 {
            members.push(format!(r#""{kind}":true"#));
        }
    }
    if bits & 8 != 0 {
        members.push(format!(r#""resourceSubscriptions":{uris}"#));
    }
    format!("{{{}}}", members.join(","))
}

fn published(bits: u8) -> Publishes {
    let has = |bit: u8| bits & bit != 0;
    Publishes { tools: has(1), prompts: has(2), resources: has(4), updates: has(8) }
}

#[test]
fn z10_the_acknowledgement_comes_first_and_grants_exactly_what_is_asked_for_and_published() {
    for publishes in 0..16 {
        for asked in 0..16 {
            let mut s = publishing(published(publishes));
            let admission = s.listening("1", &filter(asked, r#"["a:b","c:d"]"#)).admit();
            assert_eq!(admission.actions, stream(admission.exchange));
            let granted = asked & publishes;
            let said = message(ask::acknowledged_text("1", &filter(granted, r#"["a:b","c:d"]"#)));
            let drawn = s.pull(admission.exchange);
            if granted == 0 {
                assert_eq!(drawn.said(), [said, message(ask::completed_text("1"))], "{asked} {publishes}");
                assert_eq!(drawn.pulled, Pulled::End);
                assert_eq!(s.flushed(admission.exchange), []);
                assert!(s.stats().is_drained());
            } else {
                assert_eq!((drawn.said(), drawn.pulled), (vec![said], Pulled::Idle), "{asked} {publishes}");
            }
            for (bit, topic) in topics().iter().chain([&resource("a:b")]).enumerate() {
                let wanted = granted & 1 << bit != 0;
                assert_eq!(s.publish(topic).0, usize::from(wanted), "{asked} {publishes} {topic:?}");
            }
            s.finish();
        }
    }
}

#[test]
fn z10_what_is_false_absent_or_unknown_is_not_granted() {
    let mut s = everything();
    for (asked, granted) in [
        (r#"{"toolsListChanged":false,"promptsListChanged":true}"#, r#"{"promptsListChanged":true}"#),
        (r#"{"toolsListChanged":true,"somethingElse":true}"#, TOOLS),
        (r#"{"resourceSubscriptions":[],"toolsListChanged":true}"#, TOOLS),
        (r#"{"resourceSubscriptions":["a:b","a:b"]}"#, r#"{"resourceSubscriptions":["a:b"]}"#),
    ] {
        s.listener("1", asked, granted);
    }
    for nothing in ["{}", r#"{"resourceSubscriptions":[]}"#, r#"{"toolsListChanged":false,"logs":true}"#] {
        let admission = s.listening("1", nothing).admit();
        let drawn = s.pull(admission.exchange);
        let said = [ask::acknowledged_text("1", "{}"), ask::completed_text("1")].map(message);
        assert_eq!((drawn.said(), drawn.pulled), (said.to_vec(), Pulled::End), "{nothing}");
    }
    s.finish();
}

#[test]
fn z10_every_message_bears_the_id_as_it_was_written() {
    for id in IDS {
        let mut s = everything();
        let listener = s.listener(id, ALL, ALL);
        for (topic, name) in topics().iter().zip(NAMES) {
            assert_eq!(s.publish(topic), (1, vec![Action::Pull { exchange: listener }]));
            assert_eq!(s.pull(listener).said(), [message(ask::list_changed_text(id, name))]);
        }
        s.publish(&resource("a:b"));
        assert_eq!(s.pull(listener).said(), [message(ask::updated_text(id, r#""a:b""#))]);
        s.shutdown(DRAIN);
        let drawn = s.pull(listener);
        assert_eq!((drawn.said(), drawn.pulled), (vec![message(ask::completed_text(id))], Pulled::End));
        s.flushed(listener);
        s.finish();
    }
}

#[test]
fn z10_z11_the_same_id_twice_is_two_subscriptions() {
    let mut s = everything();
    let all: Vec<_> = IDS.iter().chain(&IDS).map(|id| (s.listener(id, TOOLS, TOOLS), id)).collect();
    let (told, actions) = s.publish(&Topic::Tools);
    assert_eq!((told, actions.len()), (all.len(), all.len()));
    assert_eq!(s.publish(&Topic::Prompts), (0, vec![]));
    for (listener, id) in all {
        let drawn = s.pull(listener);
        assert_eq!(drawn.said(), [message(ask::list_changed_text(id, "tools"))]);
        assert!(drawn.frames[0].id.is_none() && drawn.frames[0].retry.is_none(), "nobody can resume it");
    }
    s.finish();
}

#[test]
fn z10_resources_are_told_apart_exactly() {
    let mut s = everything();
    let uris = ["a:b", "a:b/", "A:b", "a:%62", "a:b?", "", "é", "\u{1F600}", "a\"\\\n\u{1}"];
    let all: Vec<_> = uris
        .iter()
        .enumerate()
        .map(|(number, uri)| {
            let (id, uri) = (number.to_string(), serde_json::to_string(uri).unwrap());
            let asked = format!(r#"{{"resourceSubscriptions":[{uri}]}}"#);
            s.listener(&id, &asked, &asked)
        })
        .collect();
    for (number, uri) in uris.iter().enumerate() {
        let pull = Action::Pull { exchange: all[number] };
        assert_eq!(s.publish(&resource(uri)), (1, vec![pull]), "{uri:?}");
        let text = ask::updated_text(&number.to_string(), &serde_json::to_string(uri).unwrap());
        assert_eq!(s.pull(all[number]).said(), [message(text)]);
    }
    assert_eq!(s.publish(&resource("a")), (0, vec![]));
    assert_eq!(s.publish(&Topic::Resources), (0, vec![]), "a list is no resource");
    // However it was written, it is the same URI.
    let written = r#"{"resourceSubscriptions":["\u0061:\u0062"]}"#;
    s.listener("9", written, r#"{"resourceSubscriptions":["a:b"]}"#);
    assert_eq!(s.publish(&resource("a:b")).0, 2);
    s.finish();
}

#[test]
fn z10_406_for_who_reads_no_events() {
    let mut s = everything();
    for accept in
        ["application/json", "application/*", "text/event-stream;q=0, */*", "text/event-streams, */json"]
    {
        let refused = s.listening("1", ALL).accept(accept).refused();
        assert_eq!(told(&refused).0, 406, "{accept}");
    }
    for accept in ["text/event-stream", "*/*", "text/*", "application/json, text/event-stream"] {
        let admission = s.listening("1", ALL).accept(accept).admit();
        assert_eq!(admission.actions, stream(admission.exchange), "{accept}");
    }
    let admission = s.listening("1", ALL).without("accept").admit();
    assert_eq!(admission.actions, stream(admission.exchange), "I2: absent is anything");
    s.finish();
}

#[test]
fn z10_it_stays_open_until_the_client_leaves_and_gives_its_place_back() {
    for event in [
        |exchange| Event::Gone { exchange },
        |exchange| Event::HalfClosed { exchange },
        |exchange| Event::Stalled { exchange },
    ] {
        let mut s = Script::with(|config| {
            config.publishes = EVERYTHING;
            config.listens_max = 2;
            config.session_idle = Some(Duration::from_secs(60));
        });
        let (a, _b) = (s.listener("1", TOOLS, TOOLS), s.listener("2", TOOLS, TOOLS));
        s.advance(Duration::from_secs(3600));
        let refused = s.listening("3", TOOLS).admit();
        let reject = only_reject(&refused.actions, refused.exchange).clone();
        assert_eq!(told(&reject), (503, code::REFUSED, Some("3".into())));
        assert!(reject.into_answer().fields.iter().any(|(name, _)| name == "retry-after"), "L2");
        let close = !matches!(event(a), Event::Gone { .. });
        let closed = if close { vec![Action::Close { exchange: a }] } else { vec![] };
        assert_eq!(s.event(event(a)), closed, "nobody has to be told");
        assert_eq!(s.pull(a).pulled, Pulled::Gone);
        s.listener("3", TOOLS, TOOLS);
        let refused = s.listening("4", TOOLS).admit();
        assert_eq!(told(only_reject(&refused.actions, refused.exchange)).0, 503);
        assert_eq!(s.publish(&Topic::Tools).0, 2);
        s.finish();
    }
}

#[test]
fn r8_the_cap_is_the_whole_servers() {
    let mut s = Script::sharded(8, |config| {
        config.publishes = EVERYTHING;
        config.listens_max = 9;
    });
    let all: Vec<_> = (0..9).map(|number| s.on(number % 8).listener("1", TOOLS, TOOLS)).collect();
    for shard in 0..8 {
        let refused = s.on(shard).listening("1", TOOLS).admit();
        assert_eq!(told(only_reject(&refused.actions, refused.exchange)).0, 503);
        let (told, actions) = s.publish(&Topic::Tools);
        assert_eq!((told, actions.len()), if shard == 0 { (2, 2) } else { (1, 1) }, "each shard its own");
    }
    s.on(3);
    s.gone(all[3]);
    // One that can deliver nothing has a place until its end, and no longer.
    let empty = s.on(5).listening("1", "{}").admit();
    s.pull(empty.exchange);
    s.flushed(empty.exchange);
    s.on(7).listener("1", TOOLS, TOOLS);
    let refused = s.on(3).listening("1", TOOLS).admit();
    assert_eq!(told(only_reject(&refused.actions, refused.exchange)).0, 503);
    s.finish();
}

#[test]
fn c12_comments_come_in_every_interval_of_silence() {
    let mut s = everything();
    let listener = s.listener("1", TOOLS, TOOLS);
    let every = s.config().comment_every;
    let pull = Action::Pull { exchange: listener };
    for _ in 0..3 {
        assert_eq!(s.advance(every - TICK), []);
        assert_eq!(s.advance(TICK), std::slice::from_ref(&pull));
        assert_eq!(s.pull(listener).said(), [Said::Comment]);
    }
    s.advance(every / 2);
    assert_eq!(s.publish(&Topic::Tools), (1, vec![pull.clone()]));
    s.pull(listener);
    assert_eq!(s.advance(every - TICK), [], "it was not silent");
    assert_eq!(s.advance(TICK), [pull]);
    // Who reads nothing gets no heap of them.
    assert_eq!(s.advance(every * 10), []);
    assert_eq!(s.pull(listener).said(), [Said::Comment]);
    s.gone(listener);
    assert_eq!(s.next_deadline(), None, "its timer died with it");
    s.finish();
}

#[test]
fn c11_one_that_does_not_read_loses_announcements_and_nothing_else() {
    let mut s = Script::with(|config| {
        config.publishes = EVERYTHING;
        config.ring_frames_max = 4;
    });
    let reads = s.listener("1", ALL, ALL);
    let sleeps = s.listening("2", ALL).admit().exchange;
    let call = s.solo("3");
    for round in 0..20 {
        let topic = &topics()[round % 3];
        let (told, actions) = s.publish(topic);
        assert_eq!(told, if round < 3 { 2 } else { 1 }, "only who will read it was told");
        assert_eq!(actions, [Action::Pull { exchange: reads }], "it has its order to pull already");
        assert_eq!(messages(&s.pull(reads)), [ask::list_changed_text("1", NAMES[round % 3])]);
    }
    assert_eq!(s.stats().total.dropped_notices, 17, "counted");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("3", "{}"))]);
    let drawn = s.pull(sleeps);
    let said = messages(&drawn);
    assert_eq!(said[0], ask::acknowledged_text("2", ALL), "Z10: first, and never lost");
    assert_eq!(said[1..], NAMES.map(|name| ask::list_changed_text("2", name)));
    // It has caught up.
    assert_eq!(s.publish(&Topic::Tools).0, 2);
    assert_eq!(messages(&s.pull(sleeps)), [ask::list_changed_text("2", "tools")]);
    s.finish();
}

#[test]
fn r14_one_that_does_not_read_has_room_for_its_end() {
    for (frames, bytes) in [(1, 1 << 20), (3, 1 << 20), (256, 1), (256, 400)] {
        let mut s = Script::with(|config| {
            config.publishes = EVERYTHING;
            (config.ring_frames_max, config.ring_bytes_max) = (frames, bytes);
        });
        let listener = s.listening("1", ALL).admit().exchange;
        for topic in topics().iter().cycle().take(10) {
            s.publish(topic);
        }
        assert_eq!(s.shutdown(DRAIN), []);
        let drawn = s.pull(listener);
        assert_eq!(messages(&drawn)[0], ask::acknowledged_text("1", ALL));
        assert_eq!(last_message(&drawn.said()), ask::completed_text("1"));
        assert_eq!(drawn.pulled, Pulled::End);
        s.flushed(listener);
        s.finish();
    }
}

#[test]
fn x1_it_ends_at_once_with_its_result_and_none_is_opened_after() {
    let mut s = everything();
    let (idle, unread) = (s.listener("1", TOOLS, TOOLS), s.listening("2", TOOLS).admit().exchange);
    s.publish(&Topic::Tools);
    s.pull(idle);
    let actions = s.shutdown(DRAIN);
    assert_eq!(actions, [Action::Pull { exchange: idle }], "one that is not idle has its order");
    assert_eq!(s.publish(&Topic::Tools), (0, vec![]), "nothing after the result");
    assert_eq!(s.pull(idle).said(), [message(ask::completed_text("1"))]);
    let said = s.pull(unread).said();
    let texts =
        [ask::acknowledged_text("2", TOOLS), ask::list_changed_text("2", "tools"), ask::completed_text("2")];
    assert_eq!(said, texts.map(message), "complete messages");
    for listener in [idle, unread] {
        assert_eq!(s.pull(listener).pulled, Pulled::End);
        assert_eq!(s.flushed(listener), []);
    }
    assert_eq!(s.stats().exchanges, 0);
    for asked in [TOOLS, "{}"] {
        let refused = s.listening("3", asked).admit();
        let reject = only_reject(&refused.actions, refused.exchange).clone();
        assert_eq!(told(&reject), (503, code::REFUSED, Some("3".into())));
        assert!(reject.into_answer().close);
    }
    s.finish();
}

#[test]
fn r14_a_shutdown_leaves_no_listener() {
    for peers_read in [true, false] {
        let mut s = Script::sharded(8, |config| config.publishes = EVERYTHING);
        for shard in 0..8 {
            s.on(shard).listener("1", ALL, ALL);
            s.publish(&Topic::Tools);
            let unread = s.listening("1", ALL).admit();
            assert_eq!(unread.actions, stream(unread.exchange));
        }
        s.finish_by_shutdown(peers_read);
    }
}

#[test]
fn l2_as_many_uris_as_may_be() {
    let mut s = Script::with(|config| {
        config.publishes = EVERYTHING;
        config.listen_uris_max = 2;
    });
    let two = r#"{"resourceSubscriptions":["a","b"]}"#;
    s.listener("1", two, two);
    s.listener("1", r#"{"resourceSubscriptions":["a","b","a","b"]}"#, two);
    let refused = s.listening("1", r#"{"resourceSubscriptions":["a","b","c"]}"#).refused();
    assert_eq!(told(&refused), (400, code::INVALID_PARAMS, Some("1".into())));
    s.finish();
}

#[test]
fn x2_what_is_said_twice_or_too_late_is_ignored() {
    let mut s = everything();
    let listener = s.listener("1", TOOLS, TOOLS);
    for late in [Event::Gone { exchange: listener }, Event::Stalled { exchange: listener }] {
        assert_eq!(s.event(late), []);
    }
    assert_eq!(s.publish(&Topic::Tools), (0, vec![]));
    let next = s.listener("2", TOOLS, TOOLS);
    assert_eq!(s.event(Event::Gone { exchange: listener }), [], "its place is another's");
    assert_eq!(s.publish(&Topic::Tools), (1, vec![Action::Pull { exchange: next }]));
    s.finish();
}

#[test]
fn c5_cors_reaches_it() {
    let mut s = everything();
    let admission = s.listening("1", TOOLS).field("origin", "http://localhost:6274").admit();
    let [Action::Respond { response, .. }, _] = &admission.actions[..] else { panic!("{admission:?}") };
    let answer = response.clone().into_answer();
    let field = |name: &str| answer.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value);
    assert_eq!(field("access-control-allow-origin").unwrap(), "http://localhost:6274");
    assert_eq!(field("content-type").unwrap(), "text/event-stream");
    assert_eq!(field("cache-control").unwrap(), "no-cache, no-transform");
    assert_eq!(field("x-accel-buffering").unwrap(), "no");
    s.finish();
}
