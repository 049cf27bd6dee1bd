//! When each deadline is due, worked out from what has happened and from nothing that was stored for it.

use std::time::Duration;

use mcp_http_core::endpoint::ExchangeId;
use mcp_http_core::time::Timestamp;

/// The periods of a configuration.
#[derive(Debug)]
pub(super) struct Periods {
    pub(super) establish: Duration,
    pub(super) confirm: Duration,
    pub(super) idle: Duration,
    pub(super) commit: Duration,
    pub(super) comment: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Pending,
    Offered,
    Unconfirmed,
    Live,
}

pub(super) struct Session<N> {
    pub(super) number: usize,
    pub(super) names: N,
    pub(super) phase: Phase,
    /// When it was opened, committed or last busy, by its phase.
    pub(super) since: Timestamp,
    pub(super) opening_flushed: bool,
}

/// What a response is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// It has not begun.
    Waiting,
    /// It is an open stream.
    Open,
    /// It is given whole.
    Whole,
}

/// A call or a standalone stream, as long as it makes its session busy.
pub(super) struct Stream<L> {
    pub(super) session: usize,
    pub(super) line: L,
    pub(super) flow: Flow,
    /// When it began, or when something was last written to it.
    pub(super) since: Timestamp,
}

pub(super) trait Named {
    fn opening(&self) -> ExchangeId;
}

pub(super) trait Carried {
    fn exchange(&self) -> Option<ExchangeId>;
    fn has_call(&self) -> bool;
}

pub(super) struct Oracle<N, L> {
    periods: Periods,
    pub(super) sessions: Vec<Session<N>>,
    pub(super) streams: Vec<Stream<L>>,
    opened: usize,
}

/// What must happen now.
pub(super) struct Due<N> {
    /// These end.
    pub(super) sessions: Vec<N>,
    /// These requests to open one are refused.
    pub(super) rejects: Vec<ExchangeId>,
    /// These responses turn into event streams.
    pub(super) commits: Vec<ExchangeId>,
    /// These get a comment.
    pub(super) comments: Vec<ExchangeId>,
}

impl<N> Due<N> {
    pub(super) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
            && self.rejects.is_empty()
            && self.commits.is_empty()
            && self.comments.is_empty()
    }
}

impl<N> std::fmt::Debug for Due<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} {:?}", self.rejects, self.commits, self.comments)
    }
}

impl<N: Named, L: Carried> Oracle<N, L> {
    pub(super) fn new(periods: Periods) -> Self {
        Oracle { periods, sessions: Vec::new(), streams: Vec::new(), opened: 0 }
    }

    pub(super) fn open(&mut self, names: N, now: Timestamp) {
        let number = self.opened;
        self.opened += 1;
        let phase = Phase::Pending;
        self.sessions.push(Session { number, names, phase, since: now, opening_flushed: false });
    }

    pub(super) fn pick(&mut self, pick: u8, phases: &[Phase]) -> Option<&mut Session<N>> {
        let fits = |session: &&mut Session<N>| phases.contains(&session.phase);
        let mut found: Vec<&mut Session<N>> = self.sessions.iter_mut().filter(fits).collect();
        let at = usize::from(pick) % found.len().max(1);
        (at < found.len()).then(|| found.swap_remove(at))
    }

    /// The session was busy until now.
    pub(super) fn touch(&mut self, number: usize, now: Timestamp) {
        let session = self.sessions.iter_mut().find(|session| session.number == number);
        if let Some(session) = session.filter(|session| session.phase == Phase::Live) {
            session.since = now;
        }
    }

    /// Something was written to this stream.
    pub(super) fn wrote(&mut self, exchange: ExchangeId, now: Timestamp) {
        let mut streams = self.streams.iter_mut();
        if let Some(stream) = streams.find(|stream| stream.line.exchange() == Some(exchange)) {
            stream.since = now;
        }
    }

    /// The earliest deadline.
    pub(super) fn earliest(&self) -> Option<Timestamp> {
        let sessions = self.sessions.iter().filter_map(|session| self.end_of(session));
        sessions.chain(self.streams.iter().filter_map(|stream| self.sign_of(stream))).min()
    }

    /// Everything that is due by now happens.
    pub(super) fn come(&mut self, now: Timestamp) -> Due<N> {
        let mut due = Due { sessions: vec![], rejects: vec![], commits: vec![], comments: vec![] };
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        let over: Vec<bool> = self.sessions.iter().map(|session| is_due(self.end_of(session))).collect();
        let signs: Vec<bool> = self.streams.iter().map(|stream| is_due(self.sign_of(stream))).collect();
        let mut over = over.into_iter();
        for session in std::mem::take(&mut self.sessions) {
            if over.next() == Some(true) {
                due.rejects.extend((session.phase == Phase::Pending).then(|| session.names.opening()));
                due.sessions.push(session.names);
            } else {
                self.sessions.push(session);
            }
        }
        for (stream, _) in self.streams.iter_mut().zip(signs).filter(|(_, due)| *due) {
            let Some(exchange) = stream.line.exchange() else { continue };
            match stream.flow {
                Flow::Waiting => due.commits.push(exchange),
                Flow::Open => due.comments.push(exchange),
                Flow::Whole => {}
            }
            stream.flow = Flow::Open;
            stream.since = now;
        }
        due
    }

    /// When a session ends by itself (S2, S8, R12).
    fn end_of(&self, session: &Session<N>) -> Option<Timestamp> {
        let busy = self.streams.iter().any(|stream| stream.session == session.number);
        match session.phase {
            Phase::Pending | Phase::Offered => Some(session.since.after(self.periods.establish)),
            Phase::Unconfirmed => Some(session.since.after(self.periods.confirm.min(self.periods.idle))),
            Phase::Live if busy => None,
            Phase::Live => Some(session.since.after(self.periods.idle)),
        }
    }

    /// When a response must show a sign of life (C12, C14).
    fn sign_of(&self, stream: &Stream<L>) -> Option<Timestamp> {
        stream.line.exchange()?;
        debug_assert!(stream.line.has_call() || stream.flow != Flow::Waiting);
        match stream.flow {
            Flow::Waiting => Some(stream.since.after(self.periods.commit)),
            Flow::Open => Some(stream.since.after(self.periods.comment)),
            Flow::Whole => None,
        }
    }
}
