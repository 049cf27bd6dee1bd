//! The real endpoint behind the model's words: takes the same steps, and says what came of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_http_core::answer::{Head, Response};
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{
    Action, Actions, Budget, CallId, Delivery, Endpoint, Event, ExchangeId, Frames, MessageId, Outbound,
    Pulled, SendError, SessionKey, Target,
};
use mcp_http_core::entropy::{Entropy, EntropyError};
use mcp_http_core::h1::Body;
use mcp_http_core::intake::Intake;
use mcp_http_core::json::Json;
use mcp_http_core::session_id::{SessionId, ShardId};
use mcp_http_core::time::Timestamp;
use mcp_http_core::version::Version;

use super::books::Books;
use super::requests::Judged;
use super::{Act, Drew, Line, Model, Op, Outcome, Place, Rules, Secs, Sent, Shown, Text, What, Xid};
use crate::script::{Frame, Said, note, progress, question, result};

/// The configuration that these rules are of.
#[must_use]
pub fn config(rules: &Rules) -> Config {
    let secs = Duration::from_secs;
    let mut config = Config::default();
    config.sessions_max = rules.sessions_max;
    config.calls_per_session_max = rules.calls_max;
    config.ring_frames_max = rules.ring_frames_max;
    config.establish = secs(rules.establish);
    config.confirm = secs(rules.confirm);
    config.session_idle = Some(secs(rules.idle));
    config.evict_after = secs(rules.evict_after);
    config.sse_commit_after = secs(rules.sse_commit_after);
    config.comment_every = secs(rules.comment_every);
    config.stream_retention = secs(rules.retention);
    config.shutdown_drain = secs(rules.shutdown);
    config
}

/// An endpoint under test.
pub struct Rig {
    rules: Rules,
    endpoint: Endpoint,
    budget: Arc<Budget>,
    config: Arc<Config>,
    pub(super) intake: Intake,
    pub(super) judged: Arc<Judged>,
    lucky: Arc<AtomicBool>,
    now: Secs,
    exchanges: Vec<ExchangeId>,
    pub(super) sessions: Vec<(SessionKey, SessionId)>,
    calls: Vec<CallId>,
    messages: Vec<MessageId>,
    said: u32,
    asked: u64,
    /// The latest id that stands for a place, and all that were seen.
    pub(super) ids: BTreeMap<Place, String>,
    places: BTreeMap<String, (Place, Option<Text>)>,
    books: Books,
}

struct Counting {
    lucky: Arc<AtomicBool>,
    drawn: u64,
}

impl Entropy for Counting {
    fn fill(&mut self, into: &mut [u8]) -> Result<(), EntropyError> {
        if !self.lucky.load(Ordering::Relaxed) {
            return Err(EntropyError);
        }
        self.drawn += 1;
        for stretch in into.chunks_mut(8) {
            stretch.copy_from_slice(&self.drawn.to_be_bytes()[8 - stretch.len()..]);
        }
        Ok(())
    }
}

impl Rig {
    /// An endpoint with nothing in it.
    #[must_use]
    pub fn new(rules: &Rules, intake: &Intake, config: &Arc<Config>) -> Self {
        Rig::with(rules, intake, config, Arc::default())
    }

    /// Another endpoint with nothing in it. What was judged once is not judged again, by either.
    #[must_use]
    pub fn anew(&self) -> Self {
        Rig::with(&self.rules, &self.intake, &self.config, self.judged.clone())
    }

    fn with(rules: &Rules, intake: &Intake, config: &Arc<Config>, judged: Arc<Judged>) -> Self {
        let (lucky, budget) = (Arc::new(AtomicBool::new(true)), Arc::new(Budget::new()));
        let entropy = Box::new(Counting { lucky: lucky.clone(), drawn: 0 });
        Rig {
            rules: rules.clone(),
            endpoint: Endpoint::new(config.clone(), budget.clone(), ShardId(0), entropy),
            budget,
            config: config.clone(),
            intake: intake.clone(),
            judged,
            lucky,
            now: 0,
            exchanges: Vec::new(),
            sessions: Vec::new(),
            calls: Vec::new(),
            messages: Vec::new(),
            said: 0,
            asked: 0,
            ids: BTreeMap::new(),
            places: BTreeMap::new(),
            books: Books::default(),
        }
    }

    /// Takes the step; `Err` says how what came of it differs from what must.
    ///
    /// # Errors
    /// The difference.
    pub fn step(&mut self, op: Op, until: Secs, expected: &Outcome) -> Result<(), String> {
        let outcome =
            self.take(op, until, expected).map_err(|why| format!("{why}\n  expected {expected:?}"))?;
        self.books.told(op, &outcome);
        let order = self.books.enter(&outcome.acts);
        if !outcome.agrees(expected) {
            return Err(format!("the endpoint says {outcome:?}\n  the model says {expected:?}"));
        }
        order
    }

    /// Compares counters and tables with the model's.
    ///
    /// # Errors
    /// The difference.
    pub fn compare(&self, model: &Model) -> Result<(), String> {
        let stats = self.endpoint.stats();
        let totals = super::Totals {
            created: stats.total.created,
            committed: stats.total.committed,
            discarded: stats.total.discarded.sum(),
            ended: stats.total.ended.sum(),
            refused: stats.total.refused,
            dropped: stats.total.dropped_notices,
            gaps: stats.total.gaps,
        };
        let counts = [stats.sessions, stats.pending, stats.exchanges, stats.calls];
        if totals != model.totals() {
            return Err(format!("the endpoint counts {totals:?}\n  the model counts {:?}", model.totals()));
        }
        if counts != model.counts() {
            return Err(format!(
                "sessions, pending, exchanges, calls: the endpoint has {counts:?}\n  the model has {:?}",
                model.counts()
            ));
        }
        Ok(())
    }

    /// Looks that nothing is left (R14).
    ///
    /// # Errors
    /// What is left.
    pub fn check_drained(&self) -> Result<(), String> {
        let stats = self.endpoint.stats();
        let places = (self.budget.sessions(), self.budget.buffered_bytes());
        match (stats.is_drained(), self.endpoint.poll_timeout(), places) {
            (true, None, (0, 0)) => Ok(()),
            (_, next, places) => Err(format!("R14: {stats:?}, next deadline {next:?}, budget {places:?}")),
        }
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs(1000 + self.now))
    }

    fn take(&mut self, op: Op, until: Secs, expected: &Outcome) -> Result<Outcome, String> {
        let (mut out, mut outcome) = (Actions::new(), Outcome::default());
        let now = self.time();
        match op {
            Op::Initialize { .. }
            | Op::Call { .. }
            | Op::CallJson { .. }
            | Op::Reply { .. }
            | Op::Notice { .. }
            | Op::Cancelled { .. }
            | Op::Get { .. }
            | Op::Delete { .. }
            | Op::Again { .. } => {
                self.lucky.store(op != Op::Initialize { lucky: false }, Ordering::Relaxed);
                let admitted = self.request(op)?;
                let exchange = self.endpoint.admit(admitted, None, now, &mut out);
                self.books.admitted(self.exchanges.len() as Xid);
                self.exchanges.push(exchange);
            }
            Op::Accept { .. } | Op::Refuse { .. } | Op::Answer { .. } | Op::Say { .. } | Op::Ask { .. } => {
                let (target, message) = self.outbound(op);
                outcome.sent = Some(sent(&self.endpoint.send(target, message, now, &mut out))?);
            }
            Op::Pull { x, all } => {
                let (mut frames, budget) = (Frames::new(), if all { usize::MAX } else { 1 });
                let pulled =
                    self.endpoint.pull(self.exchanges[x as usize], budget, &mut frames, now, &mut out);
                let frames: Vec<Frame> = frames.drain().map(|bytes| Frame::read(&bytes)).collect();
                outcome.drawn = Some((self.shown(frames, expected)?, drew(pulled)));
            }
            Op::Wait | Op::Tick => return self.wait(until),
            Op::Fail { .. }
            | Op::EndSession { .. }
            | Op::Taken { .. }
            | Op::Flushed { .. }
            | Op::HalfClosed { .. }
            | Op::Stalled { .. }
            | Op::Gone { .. }
            | Op::Polling { .. }
            | Op::Shutdown => {
                let event = self.event(op, now);
                self.endpoint.handle(event, now, &mut out);
            }
        }
        self.translate(&mut out, &mut outcome)?;
        Ok(outcome)
    }

    fn event(&self, op: Op, now: Timestamp) -> Event {
        match op {
            Op::Fail { s } => Event::SessionFailed { session: self.sessions[s as usize].0 },
            Op::EndSession { s } => Event::EndSession { session: self.sessions[s as usize].0 },
            Op::Taken { m } => Event::Taken { message: self.messages[m as usize] },
            Op::Flushed { x } => Event::Flushed { exchange: self.exchanges[x as usize] },
            Op::HalfClosed { x } => Event::HalfClosed { exchange: self.exchanges[x as usize] },
            Op::Stalled { x } => Event::Stalled { exchange: self.exchanges[x as usize] },
            Op::Gone { x } => Event::Gone { exchange: self.exchanges[x as usize] },
            Op::Polling { c } => Event::CloseStream { call: self.calls[c as usize] },
            _ => Event::Shutdown { until: now.after(Duration::from_secs(self.rules.shutdown)) },
        }
    }

    fn outbound(&mut self, op: Op) -> (Target, Outbound) {
        let n = self.said;
        let call = |c: u32| Target::Call(self.calls[c as usize]);
        match op {
            Op::Accept { c } => {
                (call(c), Outbound::Initialized { version: self.version(), result: Json::EMPTY_OBJECT })
            }
            Op::Refuse { c } => (call(c), crate::script::error(-32602, "no")),
            Op::Answer { c } => {
                let target = call(c);
                self.said += 1;
                (target, result(&format!(r#"{{"n":{n}}}"#)))
            }
            Op::Say { to, droppable } => {
                self.said += 1;
                (self.target(to), if droppable { progress(n) } else { note(n) })
            }
            Op::Ask { to } => {
                let q = self.asked;
                self.asked += 1;
                (self.target(to), question(q))
            }
            other => panic!("nothing to send: {other:?}"),
        }
    }

    fn target(&self, line: Line) -> Target {
        match line {
            Line::Call(c) => Target::Call(self.calls[c as usize]),
            Line::Own(s) => Target::Session(self.sessions[s as usize].0),
        }
    }

    pub(super) fn version(&self) -> Version {
        if self.rules.primes { Version::V2025_11_25 } else { Version::V2025_06_18 }
    }

    /// Lets time go by; what is due at the end must be due then and not before.
    fn wait(&mut self, until: Secs) -> Result<Outcome, String> {
        let (mut out, mut outcome) = (Actions::new(), Outcome::default());
        let end = Timestamp::from_origin(Duration::from_secs(1000 + until));
        for _ in 0..1000 {
            let Some(due) = self.endpoint.poll_timeout().filter(|due| *due <= end) else {
                self.now = until;
                return Ok(outcome);
            };
            self.endpoint.handle_timeout(due, &mut out);
            if self.endpoint.poll_timeout().is_some_and(|next| next <= due) {
                return Err(format!("R9: still due at {due:?}"));
            }
            if due < end && !out.is_empty() {
                return Err(format!("at {due:?}, before {end:?}: {:?}", out.as_slice()));
            }
            self.translate(&mut out, &mut outcome)?;
        }
        Err(String::from("R9: time does not go by"))
    }

    /// Frames in the model's words. An id stands for the place where the model expects it, and may then never
    /// stand for another.
    fn shown(&mut self, frames: Vec<Frame>, expected: &Outcome) -> Result<Vec<Shown>, String> {
        let places = expected.drawn.iter().flat_map(|(shown, _)| shown).map(|shown| shown.id);
        let mut shown = Vec::new();
        for (frame, place) in frames.into_iter().zip(places.chain(std::iter::repeat(None))) {
            let what = match frame.said() {
                Said::Comment => What::Comment,
                Said::Priming => What::Priming,
                Said::Retry => What::Retry,
                Said::Message(text) => What::Message(words_of(&text)),
            };
            let text = match &what {
                What::Message(text) => Some(text.clone()),
                What::Priming | What::Retry | What::Comment => None,
            };
            let id = match (frame.id, place) {
                (Some(id), Some(place)) => {
                    let bound = self.places.entry(id.clone()).or_insert((place, text.clone()));
                    if *bound != (place, text) {
                        return Err(format!("C5: {id} at {place:?} stood for {bound:?}"));
                    }
                    self.ids.insert(place, id);
                    Some(place)
                }
                (Some(id), None) => {
                    return Err(format!("an id {id} that the model does not expect on {what:?}"));
                }
                (None, _) => None,
            };
            shown.push(Shown { id, what });
        }
        Ok(shown)
    }

    fn translate(&mut self, out: &mut Actions, outcome: &mut Outcome) -> Result<(), String> {
        let actions: Vec<Action> = out.drain().collect();
        for action in actions {
            let act = self.act(&action).ok_or_else(|| format!("names what was never named: {action:?}"))?;
            outcome.acts.push(act);
        }
        Ok(())
    }

    fn act(&mut self, action: &Action) -> Option<Act> {
        Some(match action {
            Action::CreateSession { session, id } => {
                self.sessions.push((*session, id.clone()));
                Act::Create(self.s(session)?)
            }
            Action::Commit { session } => Act::Commit(self.s(session)?),
            Action::Discard { session, reason } => Act::Discard(self.s(session)?, *reason),
            Action::End { session, reason } => Act::End(self.s(session)?, *reason),
            Action::Deliver { exchange, session, delivery } => {
                let (x, s) = (self.x(exchange)?, self.s(session.as_ref()?)?);
                match delivery {
                    Delivery::Initialize { call, .. } => {
                        self.calls.push(*call);
                        Act::DeliverInitialize { x, s, c: self.c(call)? }
                    }
                    Delivery::Call { call, .. } => {
                        self.calls.push(*call);
                        Act::DeliverCall { x, s, c: self.c(call)? }
                    }
                    Delivery::Notice { message, .. } => {
                        Act::DeliverNotice { x, s, m: self.message(*message) }
                    }
                    Delivery::Reply { message, reply } => {
                        let q = std::str::from_utf8(reply.id.literal()).ok()?.parse().ok()?;
                        Act::DeliverReply { x, s, m: self.message(*message), q }
                    }
                }
            }
            Action::Cancel { call, reason } => Act::Cancel(self.c(call)?, *reason),
            Action::Respond { exchange, response } => self.respond(self.x(exchange)?, response)?,
            Action::Reject { exchange, reject } => {
                let id =
                    reject.id.as_ref().and_then(|id| std::str::from_utf8(id.literal()).ok()?.parse().ok());
                Act::Reject { x: self.x(exchange)?, why: reject.refusal.name(), id }
            }
            Action::Pull { exchange } => Act::Pull(self.x(exchange)?),
            Action::Writable { target: Target::Call(call) } => Act::Writable(Line::Call(self.c(call)?)),
            Action::Writable { target: Target::Session(session) } => {
                Act::Writable(Line::Own(self.s(session)?))
            }
            Action::Close { exchange } => Act::Close(self.x(exchange)?),
        })
    }

    fn message(&mut self, message: MessageId) -> u32 {
        self.messages.push(message);
        self.messages.len() as u32 - 1
    }

    fn respond(&self, x: Xid, response: &Response) -> Option<Act> {
        match (&response.head, &response.body) {
            (Head::Json { session }, Body::Full(text)) => {
                let offers = match session {
                    Some(id) => Some(self.sessions.iter().position(|(_, of)| of == id)? as u32),
                    None => None,
                };
                Some(Act::Json { x, offers, text: words_of(std::str::from_utf8(text).ok()?) })
            }
            (Head::EventStream { session: None }, Body::Stream) => Some(Act::Stream(x)),
            (Head::Accepted, Body::Empty) => Some(Act::Accepted(x)),
            (Head::NoContent, Body::Empty) => Some(Act::NoContent(x)),
            _ => None,
        }
    }

    fn x(&self, exchange: &ExchangeId) -> Option<u32> {
        self.exchanges.iter().rposition(|other| other == exchange).map(|at| at as u32)
    }

    fn s(&self, session: &SessionKey) -> Option<u32> {
        self.sessions.iter().rposition(|(other, _)| other == session).map(|at| at as u32)
    }

    fn c(&self, call: &CallId) -> Option<u32> {
        self.calls.iter().rposition(|other| other == call).map(|at| at as u32)
    }
}

/// A JSON-RPC error by its id and code, anything else as it is.
fn words_of(text: &str) -> Text {
    let error = || {
        let rest = text.strip_prefix(r#"{"jsonrpc":"2.0","id":"#)?;
        let (id, rest) = rest.split_once(r#","error":{"code":"#)?;
        let (code, _) = rest.split_once(',')?;
        Some(Text::Error(id.parse().ok()?, code.parse().ok()?))
    };
    error().unwrap_or_else(|| Text::Exactly(text.to_owned()))
}

fn sent(result: &Result<(), SendError>) -> Result<Sent, String> {
    match result {
        Ok(()) => Ok(Sent::Ok),
        Err(SendError::Full(_)) => Ok(Sent::Full),
        Err(SendError::Gone(_)) => Ok(Sent::Gone),
        Err(SendError::TooMany(_)) => Ok(Sent::TooMany),
        Err(error) => Err(format!("{error:?}")),
    }
}

fn drew(pulled: Pulled) -> Drew {
    match pulled {
        Pulled::More => Drew::More,
        Pulled::Idle => Drew::Idle,
        Pulled::End => Drew::End,
        Pulled::Gone => Drew::Gone,
    }
}
