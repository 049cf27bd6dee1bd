//! Event streams over a socket: the standalone one, and coming back to one that broke, with nothing lost or doubled.

mod socket_support;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use socket_support::ask::{Ask, get, request, tool_with_progress};
use socket_support::binary::Everything;
use socket_support::chance::Chance;
use socket_support::local::Local;
use socket_support::session::Session;
use socket_support::sse::Stream;
use socket_support::stats::Stats;
use socket_support::wait::until;
use socket_support::wire::{Lost, Wire};

/// The one with priming events.
const NEWEST: &str = "2025-11-25";

/// Sends a numbered notice on the session's standalone stream.
#[track_caller]
fn notify(server: &Local, session: &Session, number: u64) {
    server.notify(&session.id, "notifications/count", json!({ "number": number }));
}

fn number(message: &Value) -> u64 {
    message["params"]["number"].as_u64().unwrap_or_else(|| panic!("no number: {message}"))
}

/// C4: the head comes before there is anything to say.
#[test]
fn the_head_comes_at_once() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let mut wire = Wire::to(server.addr);
    wire.send(session.own(get()).bytes());
    let head = wire.head().unwrap();
    assert_eq!((head.status, wire.unused()), (200, &b""[..]));
    let mut stream = Stream::new(wire, head);
    notify(&server, &session, 1);
    assert_eq!(number(&stream.message()), 1);
    session.close();
    assert_eq!(stream.rest(), []);
}

/// C6: only the newest version has a priming event, and there it comes first.
#[test]
fn primed_only_where_the_version_says_so() {
    let server = Local::start(|_| ());
    for version in ["2025-03-26", "2025-06-18", NEWEST] {
        let session = Session::open_at(server.addr, version);
        notify(&server, &session, 1);
        let mut stream = session.listen();
        let first = stream.event();
        assert_eq!(first.is_priming(), version == NEWEST, "{first:?}");
        assert_eq!(first.retry.is_some(), version == NEWEST, "{first:?}");
        if version == NEWEST {
            assert_eq!(number(&stream.message()), 1);
        }
        session.close();
    }
}

/// What is said before anybody listens is kept for the first who does.
#[test]
fn notices_from_before_the_first_reader() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    (1..=3).for_each(|number| notify(&server, &session, number));
    let mut stream = session.listen();
    assert_eq!([1, 2, 3], [(); 3].map(|()| number(&stream.message())));
    session.close();
}

/// C9: the older stream ends in good order, and that it does changes nothing for the newer.
#[test]
fn the_newest_reader_wins() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let mut older = session.listen();
    notify(&server, &session, 1);
    assert_eq!(number(&older.message()), 1);
    let mut newer = session.listen();
    assert_eq!(older.rest(), []);
    notify(&server, &session, 2);
    assert_eq!(number(&newer.message()), 2);
    older.into_wire().reset();
    notify(&server, &session, 3);
    assert_eq!(number(&newer.message()), 3);
    assert_eq!(server.stats().tables.streams, 1);
    session.close();
    assert_eq!(newer.rest(), []);
}

/// C12: on a standalone stream, on a call's, and on one that was come back to.
#[test]
fn comments_in_silence() {
    let server = Everything::start(&["--comment-every", "0.05"]);
    let session = Session::open(server.addr);
    let comments = |stream: &mut Stream| {
        for _ in 0..3 {
            let event = stream.event();
            assert!(event.comment && event.data.is_none(), "{event:?}");
        }
    };
    comments(&mut session.listen());
    comments(&mut session.listen());
    let slow = tool_with_progress("7", "slow", &json!({ "ms": 600_000, "steps": 1 }));
    let mut stream = session.stream(tool_with_progress("8", "slow", &json!({ "ms": 100, "steps": 10 })));
    let last = stream.message();
    assert_eq!(last["method"], "notifications/progress");
    let mut silent = Wire::to(server.addr);
    silent.send(session.own(slow).bytes());
    let head = silent.head().unwrap();
    comments(&mut Stream::new(silent, head));
    session.close();
}

/// C10, C7: the call goes on without its reader; who comes back gets the rest, and once more if asked.
#[test]
fn a_call_whose_stream_is_cut() {
    let server = Everything::start(&[]);
    let session = Session::open(server.addr);
    let mut stream = session.stream(tool_with_progress("7", "slow", &json!({ "ms": 400, "steps": 8 })));
    let first = stream.message();
    assert_eq!(first["params"]["progress"], 1);
    let last_id = stream.last_id.clone().unwrap();
    stream.into_wire().reset();
    Stats::until(server.addr, "the loss to be seen", |stats| stats.tables.exchanges == 0);
    Stats::until(server.addr, "the call's end", |stats| stats.tables.calls == 0);
    for _ in 0..2 {
        let messages = session.resume(&last_id).messages();
        let (last, progress) = messages.split_last().unwrap();
        let reported: Vec<u64> =
            progress.iter().map(|message| message["params"]["progress"].as_u64().unwrap()).collect();
        assert_eq!(reported, [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(last["id"], 7);
        assert!(last["result"].is_object());
    }
    let mut again = session.resume(&last_id);
    again.rest();
    let answer = session.ask(get().with("last-event-id", again.last_id.as_deref().unwrap()));
    assert_eq!((answer.status(), answer.body.len()), (204, 0), "nothing is left");
    session.close();
}

/// A reader that is cut off at random: between events, within one, before any, with a reset or a FIN.
struct Cutting<'a> {
    session: &'a Session,
    chance: Chance,
    /// What came in whole events, in order.
    messages: Vec<Value>,
    last_id: Option<String>,
}

impl Cutting<'_> {
    /// Reads on from where it stands, with connections that break. The last one goes to the end, or until `enough`
    /// messages are there.
    fn read(&mut self, first: &Ask, cuts: usize, enough: usize) {
        for cut in 0..=cuts {
            let ask = match &self.last_id {
                Some(id) => get().with("last-event-id", id),
                None if cut == 0 => first.clone(),
                // A call that was cut off before its first event is lost; a standalone stream is not.
                None => get(),
            };
            let mut stream = self.session.stream(ask);
            let mut events = if cut == cuts { usize::MAX } else { self.chance.below(4) };
            if cut == 0 && first.method == "POST" {
                // Something to come back with.
                events = events.max(1);
            }
            while events > 0 && self.messages.len() < enough {
                let Some(event) = stream.next().expect("not cut by the server") else { break };
                self.messages.extend(event.message());
                events -= 1;
            }
            if stream.last_id.is_some() {
                self.last_id = stream.last_id.clone();
            }
            if cut == cuts {
                return;
            }
            if self.chance.below(2) == 0 { stream.into_wire().reset() } else { drop(stream) }
        }
    }
}

#[test]
fn a_standalone_stream_that_is_cut_again_and_again() {
    let server = Local::start(|_| ());
    for (seed, version) in [(1, NEWEST), (2, NEWEST), (3, "2025-06-18"), (4, "2025-06-18")] {
        let session = Session::open_at(server.addr, version);
        let mut reader =
            Cutting { session: &session, chance: Chance::new(seed), messages: Vec::new(), last_id: None };
        // A first event to come back with, where the version has none of its own.
        notify(&server, &session, 1);
        let mut stream = session.listen();
        reader.messages.push(stream.message());
        reader.last_id = stream.last_id.clone();
        drop(stream);
        for round in 0_u64..20 {
            let from = 2 + round * 5;
            (from..from + 5).for_each(|number| notify(&server, &session, number));
            reader.read(&get(), 3, usize::try_from(from + 4).unwrap());
        }
        let numbers: Vec<u64> = reader.messages.iter().map(number).collect();
        assert_eq!(numbers, (1..=101).collect::<Vec<u64>>(), "seed {seed}, {version}");
        session.close();
    }
    assert_eq!(server.stats().gaps, 0);
}

/// C7, C8: the answer too, whether it came before the cut or after.
#[test]
fn a_calls_stream_that_is_cut_again_and_again() {
    let server = Local::start(|_| ());
    server.open_gate();
    for seed in 0..20 {
        let version = if seed % 2 == 0 { NEWEST } else { "2025-06-18" };
        let session = Session::open_at(server.addr, version);
        let mut reader =
            Cutting { session: &session, chance: Chance::new(seed), messages: Vec::new(), last_id: None };
        reader.read(&request("7", "counts", &json!({ "to": 40 })), 10, usize::MAX);
        let (last, notices) = reader.messages.split_last().unwrap();
        let numbers: Vec<u64> = notices.iter().map(number).collect();
        assert_eq!(numbers, (1..=40).collect::<Vec<u64>>(), "seed {seed}");
        assert_eq!((&last["id"], &last["result"]["counted"]), (&json!(7), &json!(40)), "seed {seed}");
        session.close();
    }
}

/// Within an event: a half that was read is no event, and comes again.
#[test]
fn cut_within_an_event() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let text = "x".repeat(100_000);
    let send = |number: u64| {
        server.notify(&session.id, "notifications/count", json!({ "number": number, "text": text }));
    };
    send(1);
    let mut stream = session.listen();
    assert_eq!(number(&stream.message()), 1);
    let last_id = stream.last_id.clone().unwrap();
    drop(stream);
    let mut wire = Wire::narrow(server.addr);
    wire.send(session.own(get()).with("last-event-id", &last_id).bytes());
    wire.head().unwrap();
    send(2);
    send(3);
    wire.read().unwrap();
    assert!(!wire.unused().ends_with(b"\n\n\r\n"), "a whole event was read");
    wire.reset();
    let mut stream = session.resume(&last_id);
    assert_eq!([2, 3], [(); 2].map(|()| number(&stream.message())));
    session.close();
}

/// Two streams of one session, and a resume of either: what belongs to one never shows on the other (R6).
#[test]
fn streams_of_one_session_do_not_mix() {
    let server = Local::start(|_| ());
    let session = Session::open_at(server.addr, NEWEST);
    let mut standalone = session.listen();
    let ask = |id: &str| request(id, "counts", &json!({ "to": 10, "gate": true }));
    let (mut one, mut other) = (session.stream(ask("1")), session.stream(ask("2")));
    for stream in [&mut one, &mut other] {
        assert_eq!([1, 2, 3, 4, 5], [(); 5].map(|()| number(&stream.message())));
    }
    (100..105).for_each(|number| notify(&server, &session, number));
    assert_eq!(number(&standalone.message()), 100);
    let ids: Vec<String> =
        [&standalone, &one, &other].iter().map(|stream| stream.last_id.clone().unwrap()).collect();
    [standalone, one, other].into_iter().for_each(|stream| stream.into_wire().reset());
    server.open_gate();
    for (id, call) in [(&ids[2], 2), (&ids[1], 1)] {
        let messages = session.resume(id).messages();
        let (last, notices) = messages.split_last().unwrap();
        assert_eq!(notices.iter().map(number).collect::<Vec<u64>>(), [6, 7, 8, 9, 10]);
        assert_eq!(last["id"], call);
    }
    let mut standalone = session.resume(&ids[0]);
    assert_eq!([101, 102, 103, 104], [(); 4].map(|()| number(&standalone.message())));
    // Another session's ids are nobody's here.
    let other = Session::open_at(server.addr, NEWEST);
    for id in &ids {
        assert_eq!(other.ask(get().with("last-event-id", id)).status(), 400);
    }
    session.close();
}

/// C7: who resumes a stream that is being read takes it over; the older reader's response ends.
#[test]
fn a_resume_takes_the_stream_over() {
    let server = Local::start(|_| ());
    let session = Session::open(server.addr);
    let mut older = session.stream(request("7", "counts", &json!({ "to": 4, "gate": true })));
    assert_eq!([1, 2], [(); 2].map(|()| number(&older.message())));
    let mut newer = session.resume(older.last_id.as_deref().unwrap());
    assert_eq!(older.rest(), []);
    server.open_gate();
    let messages = newer.messages();
    assert_eq!(messages[..2].iter().map(number).collect::<Vec<u64>>(), [3, 4]);
    assert_eq!(messages[2]["id"], 7);
    session.close();
}

/// A standalone stream whose old frames had to go is still served from what is kept; the gap is counted.
#[test]
fn a_gap_is_counted_and_not_refused() {
    let server = Local::start(|config| config.ring_frames_max = 4);
    let session = Session::open(server.addr);
    notify(&server, &session, 1);
    let mut stream = session.listen();
    assert_eq!(number(&stream.message()), 1);
    let last_id = stream.last_id.clone().unwrap();
    stream.into_wire().reset();
    Stats::until(server.addr, "the loss to be seen", |stats| stats.tables.exchanges == 0);
    (2..=10).for_each(|number| notify(&server, &session, number));
    let mut stream = session.resume(&last_id);
    assert_eq!([7, 8, 9, 10], [(); 4].map(|()| number(&stream.message())));
    assert_eq!(server.stats().gaps, 1);
    session.close();
}

/// R9: many that wait for the same room all get it, one after the other.
#[test]
fn r9_all_who_wait_for_the_same_room_get_it() {
    const SENDERS: usize = 16;
    let server = Local::start(|config| config.ring_frames_max = 1);
    let session = Session::open(server.addr);
    let mut stream = session.listen();
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (server, session) = (&server, &session);
            // More than the socket takes, so that the later ones have to wait.
            let text = json!({ "sender": sender, "text": "x".repeat(64 * 1024) });
            scope.spawn(move || server.notify(&session.id, "notifications/long", text));
        }
        let mut senders: Vec<u64> =
            (0..SENDERS).map(|_| stream.message()["params"]["sender"].as_u64().unwrap()).collect();
        senders.sort_unstable();
        assert_eq!(senders, (0..SENDERS as u64).collect::<Vec<_>>());
    });
    session.close();
}

/// A stream that nobody comes back to is forgotten; the session is not.
#[test]
fn retention_ends() {
    let server = Local::start(|config| config.stream_retention = Duration::from_millis(100));
    let session = Session::open(server.addr);
    let counts = || request("7", "counts", &json!({ "to": 4, "gate": true }));
    let sent = session.own(counts()).bytes().len() as u64;
    let mut stream = session.stream(counts());
    assert_eq!(number(&stream.message()), 1);
    let last_id = stream.last_id.clone().unwrap();
    stream.into_wire().reset();
    // What is left is the request of the call that is still running.
    Stats::until(server.addr, "the ring to be empty", |stats| {
        stats.tables.exchanges == 0 && stats.tables.buffered_bytes <= sent
    });
    assert_eq!(session.ask(get().with("last-event-id", &last_id)).status(), 400);
    server.open_gate();
    until("the call's end", || server.over(), |over| *over == 1);
    Stats::until(server.addr, "nothing but the session", |stats| stats.tables.streams == 0);
    assert_eq!(session.ping().status(), 200);
    assert_eq!(server.stats().refusals, BTreeMap::from([("events_lost".into(), 1)]));
    session.close();
}

/// C11, L4: a reader that does not read loses its stream at the write stall, and nothing else.
#[test]
fn a_reader_that_does_not_read_loses_its_stream() {
    let server = Local::start(|config| config.write_stall = Duration::from_millis(200));
    let session = Session::open(server.addr);
    let mut wire = Wire::narrow(server.addr);
    wire.send(session.own(request("7", "flood", &json!({}))).bytes());
    until("the call", || server.begun(), |begun| *begun == 1);
    Stats::until(server.addr, "the stream to be closed", |stats| stats.tables.exchanges == 0);
    assert_ne!(wire.drain(), Lost::Silent);
    assert_eq!(session.ping().status(), 200);
    server.open_gate();
    until("the call's end", || server.over(), |over| *over == 1);
    session.close();
}
