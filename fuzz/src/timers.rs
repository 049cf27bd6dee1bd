//! R9, R12, S2, S8, C12: deadlines. The endpoint's timers are its own; here they are seen from outside: what a deadline
//! does happens when the oracle says that it is due, not before and not later, however far time jumps. The oracle keeps
//! for each session and call when it began or was last busy, and works every deadline out from that at every step.

mod oracle;

use std::time::Duration;

use mcp_http_core::answer::Head;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{Action, CallId, Event, ExchangeId, Outbound, Pulled, SessionKey, Target};
use mcp_http_core::json::Json;
use mcp_http_core::session_id::SessionId;
use mcp_http_core::time::Timestamp;
use mcp_http_core::version::Version;
use mcp_http_tests::script::ask;

use crate::bench::{Bench, call_of};
use crate::input::Input;
use oracle::{Flow, Oracle, Periods, Phase, Stream};

/// Steps of one course.
const STEPS_MAX: usize = 80;
/// Sessions at a time; there is always room for one more.
const SESSIONS_MAX: usize = 3;
/// Calls and streams at a time.
const STREAMS_MAX: usize = 4;

/// Reads: the periods, then a byte or two for each step.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut course = Course::new(&mut input);
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        course.step(&mut input);
        course.check();
    }
    course.bench.finish();
}

/// What names a session outside.
struct Names {
    key: SessionKey,
    id: SessionId,
    call: CallId,
    exchange: ExchangeId,
}

/// What names a call or a standalone stream outside.
struct Line {
    call: Option<CallId>,
    exchange: Option<ExchangeId>,
}

struct Course {
    bench: Bench,
    oracle: Oracle<Names, Line>,
}

impl Course {
    fn new(input: &mut Input<'_>) -> Self {
        let mut period = || Duration::from_millis(100 * (1 + input.below(20) as u64));
        let periods = Periods {
            establish: period(),
            confirm: period(),
            idle: period(),
            commit: period(),
            comment: period(),
        };
        let mut config = Config::default();
        config.establish = periods.establish;
        config.confirm = periods.confirm;
        config.session_idle = Some(periods.idle);
        config.sse_commit_after = periods.commit;
        config.comment_every = periods.comment;
        config.stream_retention = period();
        let bench = Bench::new(config, Version::V2025_06_18);
        Course { bench, oracle: Oracle::new(periods) }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let now = self.bench.now;
        let what = input.byte();
        match what % 12 {
            0 => self.advance(now.after(Duration::from_millis(10 * u64::from(input.byte())))),
            1 => self.jump(what),
            2 => self.initialize(),
            3 => self.accept(input.byte()),
            4 => self.flush_opening(input.byte()),
            5 => self.call(input.byte()),
            6 => self.answer(input.byte()),
            7 => self.flush(input.byte()),
            8 => self.break_off(input.byte()),
            9 => self.open(input.byte()),
            10 => self.say(input.byte()),
            _ => self.advance(now.after(Duration::from_secs(u64::from(input.byte())))),
        }
    }

    /// To the next deadline, to just before it, or by nothing.
    fn jump(&mut self, what: u8) {
        let Some(next) = self.bench.endpoint.poll_timeout() else { return };
        let wait = next.since(self.bench.now);
        let by = if what < 128 { wait } else { wait.saturating_sub(Duration::from_nanos(1)) };
        self.advance(self.bench.now.after(by));
    }

    fn advance(&mut self, now: Timestamp) {
        self.bench.now = now;
        let actions = self.bench.handle_timeouts();
        let mut due = self.oracle.come(now);
        for action in &actions {
            match action {
                Action::Discard { session, .. } | Action::End { session, .. } => {
                    let at = due.sessions.iter().position(|names| names.key == *session);
                    let at = at.unwrap_or_else(|| panic!("early at {now:?}: {action:?}"));
                    due.sessions.swap_remove(at);
                }
                Action::Respond { exchange, response } => {
                    assert!(matches!(response.head, Head::EventStream { .. }), "{action:?}");
                    let at = due.commits.iter().position(|line| line == exchange);
                    let at = at.unwrap_or_else(|| panic!("C14: early at {now:?}: {action:?}"));
                    due.commits.swap_remove(at);
                    due.comments.push(*exchange);
                }
                Action::Pull { exchange } => {
                    let at = due.comments.iter().position(|line| line == exchange);
                    let at = at.unwrap_or_else(|| panic!("C12: early at {now:?}: {action:?}"));
                    due.comments.swap_remove(at);
                    self.pull(*exchange, true);
                }
                Action::Reject { exchange, .. } => {
                    let at = due.rejects.iter().position(|line| line == exchange);
                    due.rejects.swap_remove(at.unwrap_or_else(|| panic!("early at {now:?}: {action:?}")));
                }
                Action::Cancel { .. } | Action::Close { .. } => {}
                other => panic!("no deadline does this: {other:?}"),
            }
        }
        assert!(due.is_empty(), "R9: late at {now:?}: {} {due:?}", due.sessions.len());
    }

    /// Reads all there is; `comment` says that it is nothing but a sign of life.
    fn pull(&mut self, exchange: ExchangeId, comment: bool) {
        let (frames, pulled, _) = self.bench.pull(exchange, usize::MAX);
        assert!(!comment || frames == [": \n\n"], "C12: {frames:?}");
        if !frames.is_empty() {
            self.oracle.wrote(exchange, self.bench.now);
        }
        if pulled == Pulled::End {
            self.end_of(exchange, Event::Flushed { exchange });
        }
    }

    fn initialize(&mut self) {
        if self.oracle.sessions.len() >= SESSIONS_MAX {
            return;
        }
        let (exchange, actions) = self.bench.post(None, ask::initialize("1", self.bench.version.name()));
        let created = actions.iter().find_map(|action| match action {
            Action::CreateSession { session, id } => Some((*session, id.clone())),
            _ => None,
        });
        let ((key, id), call) = (created.expect("room"), call_of(&actions).expect("delivered"));
        self.oracle.open(Names { key, id, call, exchange }, self.bench.now);
    }

    fn accept(&mut self, pick: u8) {
        let Some(session) = self.oracle.pick(pick, &[Phase::Pending]) else { return };
        let (number, call) = (session.number, session.names.call);
        session.phase = Phase::Offered;
        let actions = self.bench.accept(call);
        assert!(matches!(actions[..], [Action::Respond { .. }]), "session {number}: {actions:?}");
    }

    fn flush_opening(&mut self, pick: u8) {
        let now = self.bench.now;
        let Some(session) = self.oracle.pick(pick, &[Phase::Offered]) else { return };
        let (key, exchange) = (session.names.key, session.names.exchange);
        let used = std::mem::replace(&mut session.opening_flushed, true);
        session.phase = Phase::Unconfirmed;
        session.since = now;
        assert!(!used, "flushed once");
        let actions = self.bench.tell(Event::Flushed { exchange });
        assert_eq!(actions, [Action::Commit { session: key }], "R1");
    }

    fn call(&mut self, pick: u8) {
        if self.oracle.streams.len() >= STREAMS_MAX {
            return;
        }
        let Some((number, id)) = self.use_session(pick) else { return };
        let (exchange, actions) = self.bench.post(Some(&id), ask::request("7", "slow"));
        let call = Some(call_of(&actions).expect("delivered"));
        let line = Line { call, exchange: Some(exchange) };
        self.oracle.streams.push(Stream {
            session: number,
            line,
            flow: Flow::Waiting,
            since: self.bench.now,
        });
    }

    fn open(&mut self, pick: u8) {
        if self.oracle.streams.len() >= STREAMS_MAX {
            return;
        }
        let Some((number, id)) = self.use_session(pick) else { return };
        let (exchange, _) = self.bench.get(&id, None);
        // Newest wins (C9).
        let is_own = |stream: &&Stream<Line>| {
            stream.session == number && stream.line.call.is_none() && stream.flow == Flow::Open
        };
        let older = self.oracle.streams.iter().find(is_own);
        if let Some(older) = older.and_then(|stream| stream.line.exchange) {
            self.pull(older, false);
        }
        let line = Line { call: None, exchange: Some(exchange) };
        self.oracle.streams.push(Stream { session: number, line, flow: Flow::Open, since: self.bench.now });
        self.pull(exchange, false);
    }

    /// A request that bears the session's id confirms it.
    fn use_session(&mut self, pick: u8) -> Option<(usize, SessionId)> {
        let now = self.bench.now;
        let session = self.oracle.pick(pick, &[Phase::Unconfirmed, Phase::Live, Phase::Offered])?;
        session.phase = Phase::Live;
        session.since = now;
        Some((session.number, session.names.id.clone()))
    }

    fn answer(&mut self, pick: u8) {
        let calls = self.oracle.streams.iter().enumerate().filter(|(_, stream)| stream.line.call.is_some());
        let calls: Vec<usize> = calls.map(|(at, _)| at).collect();
        let Some(at) = calls.get(usize::from(pick) % calls.len().max(1)).copied() else { return };
        let stream = &mut self.oracle.streams[at];
        let call = stream.line.call.take().expect("it is a call");
        let (exchange, flow) = (stream.line.exchange, stream.flow);
        let number = stream.session;
        let (sent, actions) =
            self.bench.send(Target::Call(call), Outbound::Result { result: Json::EMPTY_OBJECT });
        assert_eq!(sent, Ok(()), "a call that waits is answered");
        self.oracle.touch(number, self.bench.now);
        match (flow, exchange) {
            (Flow::Waiting, Some(_)) => {
                assert!(matches!(actions[..], [Action::Respond { .. }]), "C14: {actions:?}");
                self.oracle.streams[at].flow = Flow::Whole;
            }
            (_, Some(exchange)) => self.pull(exchange, false),
            (_, None) => {
                self.oracle.streams.swap_remove(at);
            }
        }
    }

    /// Something on a standalone stream: a sign of life that is no comment.
    fn say(&mut self, pick: u8) {
        let open = self.oracle.streams.iter().filter(|stream| stream.flow == Flow::Open);
        let open: Vec<ExchangeId> = open.filter_map(|stream| stream.line.exchange).collect();
        let Some(exchange) = open.get(usize::from(pick) % open.len().max(1)).copied() else { return };
        let stream = self.oracle.streams.iter().find(|stream| stream.line.exchange == Some(exchange));
        let (number, call) = stream.map(|stream| (stream.session, stream.line.call)).expect("it is open");
        let key =
            self.oracle.sessions.iter().find(|session| session.number == number).expect("alive").names.key;
        let target = call.map_or(Target::Session(key), Target::Call);
        let message = Outbound::Notice { method: "note".into(), params: None, droppable: false };
        let (sent, _) = self.bench.send(target, message);
        assert_eq!(sent, Ok(()), "all is read at once");
        self.pull(exchange, false);
    }

    fn flush(&mut self, pick: u8) {
        let whole = self.oracle.streams.iter().filter(|stream| stream.flow == Flow::Whole);
        let whole: Vec<ExchangeId> = whole.filter_map(|stream| stream.line.exchange).collect();
        let Some(exchange) = whole.get(usize::from(pick) % whole.len().max(1)).copied() else { return };
        self.end_of(exchange, Event::Flushed { exchange });
    }

    fn break_off(&mut self, pick: u8) {
        let open: Vec<ExchangeId> =
            self.oracle.streams.iter().filter_map(|stream| stream.line.exchange).collect();
        let Some(exchange) = open.get(usize::from(pick) % open.len().max(1)).copied() else { return };
        self.end_of(exchange, Event::Gone { exchange });
    }

    /// The end of an exchange is the end of its part in the session's activity.
    fn end_of(&mut self, exchange: ExchangeId, event: Event) {
        self.bench.tell(event);
        let of = |stream: &Stream<Line>| stream.line.exchange == Some(exchange);
        let Some(at) = self.oracle.streams.iter().position(of) else { return };
        let number = self.oracle.streams[at].session;
        self.oracle.streams[at].line.exchange = None;
        if self.oracle.streams[at].line.call.is_none() {
            self.oracle.streams.swap_remove(at);
        }
        self.oracle.touch(number, self.bench.now);
    }

    /// R9: what is due later is known, and what is not due does not happen, whoever asks.
    fn check(&mut self) {
        let next = self.bench.endpoint.poll_timeout();
        assert!(next.is_none_or(|next| next > self.bench.now), "R9: {next:?} is due");
        if let Some(earliest) = self.oracle.earliest() {
            assert!(
                next.is_some_and(|next| next <= earliest),
                "R9: {next:?}, and {earliest:?} is waited for"
            );
        }
        assert_eq!(self.bench.handle_timeouts(), [], "R9: early");
        assert_eq!(self.bench.endpoint.poll_timeout(), next, "R9: nothing happened");
        let sessions = self.bench.endpoint.stats().sessions;
        assert_eq!(sessions, self.oracle.sessions.len() as u64, "R12");
    }
}

impl oracle::Named for Names {
    fn opening(&self) -> ExchangeId {
        self.exchange
    }
}

impl oracle::Carried for Line {
    fn exchange(&self) -> Option<ExchangeId> {
        self.exchange
    }

    fn has_call(&self) -> bool {
        self.call.is_some()
    }
}
