//! A dull reference model of one endpoint in the handshake era: maps and vectors, no ring, no timer index, every
//! deadline worked out anew from what there is. It says what each step must lead to (`step`), and what then
//! exists. Written from the rules and not from the endpoint, so that the two can disagree.
//!
//! What it is not: it knows no bytes but the texts of messages, no memory limits, no batches, no other era. `rig` puts the real endpoint through the same steps and speaks the same words.
//!
//! Where the rules leave a choice it follows the endpoint; each such place says `Choice`.

mod asks;
mod books;
mod clock;
mod graph;
mod key;
mod ops;
mod requests;
mod rig;
mod search;
mod sessions;
mod streams;
mod words;

use std::collections::{BTreeMap, BTreeSet};

pub use rig::{Rig, config};
pub use search::{Found, Search, bound};
pub use words::{
    Act, After, Cid, Drew, Line, Mid, Op, Outcome, Place, Qid, Rules, Secs, Sent, Shown, Sid, Text, What, Xid,
};

/// Everything there is.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) rules: Rules,
    now: Secs,
    sessions: BTreeMap<Sid, Session>,
    exchanges: BTreeMap<Xid, Exchange>,
    /// Calls without an answer.
    calls: BTreeMap<Cid, Call>,
    lines: BTreeMap<Line, Stream>,
    /// Notices that the application did not take yet.
    messages: BTreeMap<Mid, Xid>,
    /// Requests to clients that were not replied to, and the streams they went on.
    asked: BTreeMap<Qid, (Sid, Line)>,
    /// A place that a client could name on a call's stream that is not kept any more.
    retired: Option<Place>,
    shutdown: Option<Shutdown>,
    next: Next,
    totals: Totals,
}

/// A session and where it is in its life.
#[derive(Clone, Debug)]
struct Session {
    phase: Phase,
    /// The exchange of its `initialize`.
    opening: Xid,
    call: Cid,
    /// When the phase ends by itself; of a live session it is worked out.
    deadline: Secs,
    /// When it was last used or busy; of an unconfirmed one, when it was committed.
    active: Secs,
    /// Whom it will replace. It then has no place of its own.
    victim: Option<Sid>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Pending,
    Offered,
    Unconfirmed,
    Live,
}

/// A request whose response is not out.
#[derive(Clone, Debug)]
struct Exchange {
    s: Option<Sid>,
    carries: Carries,
    flow: Flow,
    /// The client reads nothing but JSON.
    json_only: bool,
    /// The peer shut its write side.
    half: bool,
    /// Frames of this exchange alone, which go before those of its stream.
    own: Vec<Shown>,
    /// When a response that was not begun turns into a stream, or when a stream gets a comment.
    at: Secs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    /// An `initialize`.
    Opening(Cid),
    /// A stream; it may not have begun.
    Line(Line),
    /// A notice.
    Message(Mid),
    /// Its answer, or what is left of a stream that is over.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// No response yet.
    Waiting,
    /// The response is given whole.
    Whole,
    /// The response is a stream; whether its puller was told to wait.
    Open { idle: bool },
    /// The puller was told that this was all.
    Ended,
}

#[derive(Clone, Debug)]
struct Call {
    s: Sid,
    id: u8,
}

/// A stream with all that is kept of it.
#[derive(Clone, Debug)]
struct Stream {
    s: Sid,
    frames: Vec<Frame>,
    /// How many frames there have been.
    made: u64,
    /// The last frame that was thrown out to make room.
    lost: u64,
    /// The last frame that its carrier took.
    taken: u64,
    carrier: Option<Xid>,
    /// There will be no more frames.
    finished: bool,
    /// When it lost its carrier; `None` before it had one, and of a standalone one when its retention is over.
    broke: Option<Secs>,
    /// No client can come back to it: it broke before it bore an id, or its retention is over.
    abandoned: bool,
    /// A sender was told `Full`.
    full: bool,
    /// Places that a client could name.
    shown: BTreeSet<u64>,
}

#[derive(Clone, Debug)]
struct Frame {
    at: u64,
    text: Text,
    droppable: bool,
}

#[derive(Clone, Copy, Debug)]
struct Shutdown {
    /// When calls without an answer are failed (D3); `None` once they are.
    fail: Option<Secs>,
    /// `None` once that is past.
    until: Option<Secs>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Next {
    x: Xid,
    s: Sid,
    c: Cid,
    m: Mid,
    q: Qid,
    said: u32,
}

/// What has been, as in the endpoint's own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sessions created.
    pub created: u64,
    /// Sessions committed.
    pub committed: u64,
    /// Sessions discarded.
    pub discarded: u64,
    /// Sessions ended.
    pub ended: u64,
    /// Requests refused.
    pub refused: u64,
    /// Notices left out.
    pub dropped: u64,
    /// Resumes of a standalone stream with frames missing.
    pub gaps: u64,
}

impl Model {
    /// Nothing, at the beginning of time.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Model {
            rules,
            now: 0,
            sessions: BTreeMap::new(),
            exchanges: BTreeMap::new(),
            calls: BTreeMap::new(),
            lines: BTreeMap::new(),
            messages: BTreeMap::new(),
            asked: BTreeMap::new(),
            retired: None,
            shutdown: None,
            next: Next::default(),
            totals: Totals::default(),
        }
    }

    /// Takes one step and says what must come of it.
    pub fn step(&mut self, op: Op) -> Outcome {
        let busy_before: Vec<Sid> = self.sessions.keys().copied().filter(|s| self.busy(*s)).collect();
        let mut out = Outcome::default();
        match op {
            Op::Initialize { lucky } => self.initialize(lucky, &mut out),
            Op::Call { s, id } => self.post_call(s, id, false, &mut out),
            Op::CallJson { s, id } => self.post_call(s, id, true, &mut out),
            Op::Reply { s, q } => self.post_reply(s, q, &mut out),
            Op::Notice { s } => self.post_notice(s, &mut out),
            Op::Cancelled { s, id } => self.post_cancelled(s, id, &mut out),
            Op::Get { s, after } => self.get(s, after, &mut out),
            Op::Delete { s } => self.delete(s, &mut out),
            Op::Again { s } => self.initialize_again(s, &mut out),
            Op::Accept { c } => self.accept(c, &mut out),
            Op::Refuse { c } => self.refuse(c, &mut out),
            Op::Answer { c } => self.answer(c, &mut out),
            Op::Say { to, droppable } => self.say(to, droppable, &mut out),
            Op::Ask { to } => self.ask(to, &mut out),
            Op::Polling { c } => self.close_for_polling(c, &mut out),
            Op::Fail { s } | Op::EndSession { s } => self.end_by_application(s, &mut out),
            Op::Taken { m } => self.taken(m, &mut out),
            Op::Flushed { x } => self.flushed(x, &mut out),
            Op::HalfClosed { x } => self.half_closed(x, &mut out),
            Op::Stalled { x } => {
                if self.exchanges.contains_key(&x) {
                    self.gone(x, &mut out);
                    out.acts.push(Act::Close(x));
                }
            }
            Op::Gone { x } => self.gone(x, &mut out),
            Op::Pull { x, all } => self.pull(x, all, &mut out),
            Op::Shutdown => self.begin_shutdown(&mut out),
            Op::Wait => {
                if let Some(until) = self.next_deadline() {
                    self.go_on(until, &mut out);
                }
            }
            Op::Tick => self.go_on(self.now + 1, &mut out),
        }
        self.end_sessions_of_shutdown(&mut out);
        // R12: the clock of a session runs from when it was last busy.
        let busy_after: Vec<Sid> = self.sessions.keys().copied().filter(|s| self.busy(*s)).collect();
        for s in busy_before.into_iter().chain(busy_after) {
            if let Some(session) = self.sessions.get_mut(&s).filter(|session| session.phase == Phase::Live) {
                session.active = self.now;
            }
        }
        out
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Secs {
        self.now
    }

    /// What has been.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Sessions, those of them that are not answered, exchanges, and calls there are.
    #[must_use]
    pub fn counts(&self) -> [u64; 4] {
        let pending = self.sessions.values().filter(|session| session.phase == Phase::Pending).count();
        // Choice: an `initialize` is counted as a pending session and not as a call.
        [self.sessions.len(), pending, self.exchanges.len(), self.calls.len() - pending]
            .map(|count| count as u64)
    }

    /// Whether an exchange or a call of the session is in flight (R12). Choice: the answer to its `initialize`,
    /// when the client has used the id already, counts no more.
    fn busy(&self, s: Sid) -> bool {
        let opening = self.sessions.get(&s).map(|session| session.opening);
        let exchanges = || self.exchanges.iter().filter(|(x, _)| Some(**x) != opening);
        self.calls.values().any(|call| call.s == s) || exchanges().any(|(_, x)| x.s == Some(s))
    }

    fn admit(&mut self, s: Option<Sid>, carries: Carries, flow: Flow) -> Xid {
        let x = self.next.x;
        self.next.x += 1;
        let at = self.now + self.rules.sse_commit_after;
        self.exchanges
            .insert(x, Exchange { s, carries, flow, json_only: false, half: false, own: Vec::new(), at });
        x
    }

    /// A request that is refused: its exchange never is.
    fn refuse_request(&mut self, why: &'static str, id: Option<u8>, out: &mut Outcome) {
        let x = self.next.x;
        self.next.x += 1;
        self.totals.refused += 1;
        out.acts.push(Act::Reject { x, why, id });
    }
}
