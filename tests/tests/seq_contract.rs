//! What the contract and the decisions say of the endpoint as a whole: R2, R4, R7, X3, and D1, D7, D8. What follows
//! from the contract for one kind of exchange is in the file of that kind.

mod seq_support;

use std::time::Duration;

use mcp_http_core::endpoint::{Action, EndReason, Event, ExchangeId, Outbound, Pulled};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::code;
use mcp_http_core::session_id::{SessionRef, ShardId};
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    Said, Script, ask, call_with, delete, end, error, json_offer, message, note, only_reject, progress,
    resume, resume_status, stream, streaming, told,
};
use seq_support::Course;

/// A session, a call of it that streams, one that is answered, a DELETE in the middle of a third.
fn play(drains: bool) -> Vec<Action> {
    let mut c = Course::new(drains, |_| {});
    let (_, id) = c.open();
    let streams = c.admit("POST", Some(&id), ask::request("2", "streams"));
    let call = c.call();
    c.send(call, progress(1));
    let answered = c.admit("POST", Some(&id), ask::request("3", "answered"));
    let second = c.call();
    c.send(second, Outbound::Result { result: Json::EMPTY_OBJECT });
    c.send(call, progress(2));
    let (frames, pulled) = c.pull(streams);
    assert_eq!((frames.as_slice().len(), pulled), (3, Pulled::Idle), "the priming event and progress");
    c.admit("POST", Some(&id), ask::request("4", "cut off"));
    c.admit("DELETE", Some(&id), String::new());
    c.happens(Event::Flushed { exchange: answered });
    c.happens(Event::Gone { exchange: streams });
    c.all()
}

/// R7: there is nothing to drain between calls, and what waits in the sink is what would have been taken from it.
#[test]
fn r7_the_sink_may_be_emptied_after_each_call_or_at_the_end() {
    let whole = play(false);
    assert_eq!(play(true), whole);
    let kinds: Vec<&str> = whole.iter().map(kind).collect();
    let expected = [
        "create", "deliver", "respond", "commit", // the session
        "deliver", "respond", "pull", // the call that streams
        "deliver", "respond", // the call that is answered
        "deliver", // the call that is cut off
        "cancel", "pull", "cancel", "reject", "end", "respond", // DELETE
    ];
    assert_eq!(kinds, expected);
}

fn kind(action: &Action) -> &'static str {
    match action {
        Action::CreateSession { .. } => "create",
        Action::Commit { .. } => "commit",
        Action::Discard { .. } => "discard",
        Action::End { .. } => "end",
        Action::Deliver { .. } => "deliver",
        Action::Cancel { .. } => "cancel",
        Action::Respond { .. } => "respond",
        Action::Reject { .. } => "reject",
        Action::Pull { .. } => "pull",
        Action::Writable { .. } => "writable",
        Action::Close { .. } => "close",
    }
}

/// R2: whatever is refused beside a session leaves it as it is, and no refusal bears a session id.
#[test]
fn r2_refusals_leave_no_session_and_end_nobodys() {
    let mut s = Script::with(|config| config.calls_per_session_max = 1);
    let session = s.open();
    let held = s.call(&session, "1", "slow");
    let mut refusals = Vec::new();
    for ask in [
        s.post(ask::request("2", "one too many")).with(&session.id).admit(),
        s.post(ask::initialize("3", "2025-11-25")).with(&session.id).admit(),
        s.post(ask::request("4", "ping")).with(&session.id).who("bob").admit(),
        s.get().with(&session.id).after("no-event").admit(),
        s.delete().with(&session.id).who("bob").admit(),
    ] {
        let reject = only_reject(&ask.actions, ask.exchange);
        refusals.push(told(reject).0);
        let answer = reject.clone().into_answer();
        assert!(answer.fields.iter().all(|(name, _)| name != "mcp-session-id"), "{answer:?}");
    }
    assert_eq!(refusals, [429, 400, 404, 400, 404]);
    assert_eq!((s.stats().total.created, s.stats().sessions, s.stats().exchanges), (1, 1, 1));
    assert_eq!(s.answer(held, "{}"), [held.json(&ask::result_text("1", "{}"))]);
    s.finish();
}

/// R4: what ends a call ends its exchange by a refusal before the response began, and within the response after.
#[test]
fn r4_no_refusal_comes_after_a_response_began() {
    for began in [false, true] {
        let mut s = Script::new();
        let session = s.open();
        let call = if began { streaming(&mut s, &session, "7") } else { s.call(&session, "7", "slow") };
        let actions = s.delete().with(&session.id).admit().actions;
        let of_the_call: Vec<&str> =
            actions.iter().filter(|action| names(action, call.exchange)).map(kind).collect();
        assert_eq!(of_the_call, if began { ["pull"] } else { ["reject"] });
        if began {
            let drawn = s.pull(call.exchange);
            assert_eq!((drawn.said().len(), drawn.pulled), (1, Pulled::End));
            assert_eq!(s.flushed(call.exchange), []);
        }
        // Nothing that is said of it afterwards ends it once more.
        assert_eq!(s.event(Event::Stalled { exchange: call.exchange }), []);
        s.finish();
    }
}

fn names(action: &Action, wanted: ExchangeId) -> bool {
    match action {
        Action::Pull { exchange } | Action::Reject { exchange, .. } | Action::Respond { exchange, .. } => {
            *exchange == wanted
        }
        _ => false,
    }
}

/// X3: each session is counted where it was created and committed, and under the reason it went for.
#[test]
fn x3_every_session_is_counted_under_the_reason_it_went_for() {
    let mut s = Script::with(|config| config.sessions_max = 2);
    let refused = s.opening();
    s.send(refused.target(), error(code::INVALID_PARAMS, "no"));
    s.flushed(refused.exchange);
    let failed = s.opening();
    s.event(Event::SessionFailed { session: failed.key });
    let gone = s.opening();
    s.gone(gone.exchange);
    for _ in 0..2 {
        let undelivered = s.offered();
        s.gone(undelivered.exchange);
    }
    s.opening();
    s.advance(s.config().establish);
    let deleted = s.open();
    delete(&mut s, &deleted, &[]);
    for _ in 0..2 {
        s.open();
    }
    s.advance(s.config().session_idle.expect("an idle time"));
    s.unconfirmed();
    s.advance(s.config().confirm);
    let finished = s.open();
    assert_eq!(
        s.event(Event::EndSession { session: finished.key })[0],
        end(finished.key, EndReason::Application)
    );
    let evicted = (s.unconfirmed(), s.open());
    let opening = s.opening();
    s.commit_over(&opening, &evicted.0);
    s.opening();
    s.shutdown(Duration::from_secs(10));
    let total = s.stats().total;
    let discarded = total.discarded;
    assert_eq!(
        [
            discarded.refused,
            discarded.failed,
            discarded.client_gone,
            discarded.undelivered,
            discarded.timeout
        ],
        [1, 1, 1, 2, 1]
    );
    assert_eq!([discarded.no_room, discarded.shutdown, discarded.sum()], [0, 1, 7]);
    let ended = total.ended;
    assert_eq!(
        [ended.deleted, ended.idle, ended.unconfirmed, ended.application, ended.evicted, ended.shutdown],
        [1, 2, 1, 1, 1, 2]
    );
    assert_eq!((total.created, total.committed, ended.sum()), (15, 8, 8));
    s.finish();
}

/// X3: how many sessions there are is known without the whole reading.
#[test]
fn x3_sessions_are_counted_as_they_come_and_go() {
    let mut c = Course::new(true, |_| {});
    let mut counts = vec![c.endpoint.sessions()];
    let (_, id) = c.open();
    counts.push(c.endpoint.sessions());
    c.admit("POST", None, ask::initialize("1", "2025-11-25"));
    counts.push(c.endpoint.sessions());
    c.admit("DELETE", Some(&id), String::new());
    counts.push(c.endpoint.sessions());
    assert_eq!(counts, [0, 1, 2, 1]);
    assert_eq!(c.endpoint.stats().deadlines, 1, "to establish what is pending");
}

/// D1: the shard can be read from an id, and only that shard knows the session.
#[test]
fn d1_an_id_names_the_shard_that_knows_it() {
    let mut s = Script::sharded(3, |_| {});
    for shard in 0..3 {
        let session = s.on(shard).open();
        let id = SessionRef::from_field(session.id.as_bytes()).expect("an id");
        assert_eq!(id.shard(), Some(ShardId(u16::try_from(shard).expect("few"))));
        assert_eq!(session.id.as_bytes().len(), 52);
        assert_eq!(s.get().with(&session.id).glance(), Ok(()));
        delete(&mut s, &session, &[]);
        let refused = s.get().with(&session.id).glance().expect_err("it is over");
        assert_eq!(told(&refused), (404, -32001, None));
    }
    s.finish();
}

/// D7: who names event streams first, or weighs them more, gets a lone answer as an event; `initialize` is JSON.
#[test]
fn d7_a_preference_for_event_streams_is_followed_but_for_initialize() {
    for (accept, streams) in [
        ("text/event-stream, application/json", true),
        ("application/json;q=0.1, text/event-stream", true),
        ("application/json, text/event-stream", false),
        ("text/event-stream;q=0.1, application/json", false),
    ] {
        let mut s = Script::new();
        let initialize = s.post(ask::initialize("1", "2025-11-25")).accept(accept).admit();
        let opening = s.opened(&initialize, Version::V2025_11_25);
        let text = ask::result_text("1", "{}");
        assert_eq!(s.accept(&opening), [json_offer(opening.exchange, &opening.id, &text)], "{accept}");
        s.flushed(opening.exchange);
        let session = opening.session();
        let call = call_with(&mut s, &session, accept);
        let answer = s.answer(call, "{}");
        let text = ask::result_text("7", "{}");
        if streams {
            assert_eq!(answer, stream(call.exchange), "{accept}");
            let drawn = s.pull(call.exchange);
            assert_eq!((drawn.said(), drawn.pulled), (vec![Said::Priming, message(text)], Pulled::End));
        } else {
            assert_eq!(answer, [call.json(&text)], "{accept}");
        }
        s.flushed(call.exchange);
        s.finish();
    }
}

/// D8: when the retention of a call's stream is over, its last event is answered as any other is: 400.
#[test]
fn d8_every_event_of_a_stream_past_its_retention_is_400() {
    let mut s = Script::new();
    let session = s.open();
    let call = streaming(&mut s, &session, "7");
    s.send(call.target(), note(1));
    s.answer(call, "{}");
    let drawn = s.pull(call.exchange);
    s.gone(call.exchange);
    let ids = [drawn.id(0), drawn.last_id()];
    let again = resume(&mut s, &session, &ids[0]);
    s.pull(again);
    s.flushed(again);
    assert_eq!(resume_status(&mut s, &session, &ids[1]), 204, "kept, and nothing left");
    s.advance(s.config().stream_retention);
    for id in &ids {
        assert_eq!(resume_status(&mut s, &session, id), 400);
    }
    s.finish();
}
