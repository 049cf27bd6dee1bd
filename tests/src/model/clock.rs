//! Deadlines, each worked out from what there is, and what happens at them; shutdown.

use mcp_http_core::endpoint::{CancelReason, DiscardReason, EndReason};

use super::sessions::SHUTTING_DOWN;
use super::{
    Act, Carries, Cid, Flow, Line, Model, Outcome, Phase, Secs, Shown, Shutdown, Sid, Stream, What, Xid,
};

/// What is due.
#[derive(Clone, Copy, Debug)]
enum Due {
    Session(Sid),
    Commit(Xid),
    Comment(Xid),
    Retire(Line),
    FailCalls,
    LastMoment,
}

impl Model {
    fn dues(&self) -> Vec<(Secs, Due)> {
        let mut dues = Vec::new();
        for (s, session) in &self.sessions {
            match session.phase {
                Phase::Pending | Phase::Offered | Phase::Unconfirmed => {
                    dues.push((session.deadline, Due::Session(*s)))
                }
                Phase::Live if !self.busy(*s) => {
                    dues.push((session.active + self.rules.idle, Due::Session(*s)))
                }
                Phase::Live => {}
            }
        }
        for (x, exchange) in &self.exchanges {
            match (exchange.flow, exchange.carries) {
                (Flow::Waiting, Carries::Line(_)) if !exchange.json_only => {
                    dues.push((exchange.at, Due::Commit(*x)))
                }
                (Flow::Open { .. }, Carries::Line(_)) => dues.push((exchange.at, Due::Comment(*x))),
                _ => {}
            }
        }
        for (line, stream) in &self.lines {
            if let Some(broke) = Self::retires(stream) {
                dues.push((broke + self.rules.retention, Due::Retire(*line)));
            }
        }
        if let Some(Shutdown { fail, until }) = self.shutdown {
            dues.extend(fail.map(|at| (at, Due::FailCalls)));
            dues.extend(until.map(|at| (at, Due::LastMoment)));
        }
        dues
    }

    /// Since when the stream is kept only for a resume.
    pub(super) fn retires(stream: &Stream) -> Option<Secs> {
        stream.broke.filter(|_| stream.carrier.is_none() && !stream.abandoned)
    }

    /// When something happens by itself.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Secs> {
        self.dues().iter().map(|(at, _)| *at).min()
    }

    pub(super) fn go_on(&mut self, until: Secs, out: &mut Outcome) {
        while let Some((at, due)) =
            self.dues().into_iter().min_by_key(|(at, _)| *at).filter(|(at, _)| *at <= until)
        {
            self.now = self.now.max(at);
            match due {
                Due::Session(s) => self.session_is_due(s, out),
                Due::Commit(x) => self.commit_in_silence(x, out),
                Due::Comment(x) => self.comment(x, out),
                Due::Retire(line) => self.retire(line),
                Due::FailCalls => self.fail_calls(out),
                Due::LastMoment => self.last_moment(out),
            }
            self.end_sessions_of_shutdown(out);
        }
        self.now = self.now.max(until);
    }

    fn session_is_due(&mut self, s: Sid, out: &mut Outcome) {
        match self.sessions.get(&s).map(|session| session.phase) {
            Some(Phase::Pending | Phase::Offered) => {
                self.fail_opening(s, DiscardReason::Timeout, "establish_timeout", out);
            }
            Some(Phase::Unconfirmed) => self.end(s, EndReason::Unconfirmed, out),
            Some(Phase::Live) => self.end(s, EndReason::Idle, out),
            None => {}
        }
    }

    /// Silence turned a response into a stream: something has to show that somebody is there.
    fn commit_in_silence(&mut self, x: Xid, out: &mut Outcome) {
        self.commit_to_stream(x, out);
        if let Some(exchange) = self.exchanges.get_mut(&x).filter(|exchange| exchange.own.is_empty()) {
            exchange.own.push(Shown { id: None, what: What::Comment });
        }
    }

    fn comment(&mut self, x: Xid, out: &mut Outcome) {
        let next = self.now + self.rules.comment_every;
        let Some(exchange) = self.exchanges.get_mut(&x) else { return };
        exchange.at = next;
        if exchange.flow == (Flow::Open { idle: true }) {
            exchange.own.push(Shown { id: None, what: What::Comment });
            exchange.flow = Flow::Open { idle: false };
            out.acts.push(Act::Pull(x));
        }
    }

    fn retire(&mut self, line: Line) {
        match line {
            Line::Call(_) if self.lines.get(&line).is_some_and(|stream| stream.finished) => {
                self.drop_line(line)
            }
            Line::Call(_) | Line::Own(_) => {
                if let Some(stream) = self.lines.get_mut(&line) {
                    stream.lost = stream.made;
                    stream.frames.clear();
                    // The call goes on; what it sends goes nowhere.
                    stream.abandoned = matches!(line, Line::Call(_));
                    stream.broke = None;
                }
            }
        }
    }

    pub(super) fn begin_shutdown(&mut self, out: &mut Outcome) {
        let until = self.now + self.rules.shutdown;
        // Said again, the earlier one holds. D3: the last tenth, at most one second.
        if self.shutdown.is_none() {
            self.shutdown = Some(Shutdown { fail: Some(until - 1), until: Some(until) });
        }
        let pending: Vec<Sid> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.phase == Phase::Pending)
            .map(|(s, _)| *s)
            .collect();
        for s in pending {
            self.fail_opening(s, DiscardReason::Shutdown, "shutting_down", out);
        }
        // X1: standalone streams end at once, with the time after which to come back.
        let own: Vec<Line> = self.lines.keys().copied().filter(|line| matches!(line, Line::Own(_))).collect();
        for line in own {
            self.end_own_stream(line, true, out);
        }
    }

    /// D4: a session ends in a shutdown as soon as it has no call left.
    pub(super) fn end_sessions_of_shutdown(&mut self, out: &mut Outcome) {
        if self.shutdown.is_none() {
            return;
        }
        let over: Vec<Sid> = self
            .sessions
            .iter()
            .filter(|(s, session)| {
                matches!(session.phase, Phase::Unconfirmed | Phase::Live)
                    && self.calls.values().all(|call| call.s != **s)
            })
            .map(|(s, _)| *s)
            .collect();
        for s in over {
            self.end(s, EndReason::Shutdown, out);
        }
    }

    fn fail_calls(&mut self, out: &mut Outcome) {
        if let Some(shutdown) = &mut self.shutdown {
            shutdown.fail = None;
        }
        let calls: Vec<Cid> = self.calls.keys().copied().collect();
        for c in calls {
            let Some(call) = self.calls.remove(&c) else { continue };
            out.acts.push(Act::Cancel(c, CancelReason::Shutdown));
            self.fail_call(c, call.id, "shutting_down", SHUTTING_DOWN, out);
        }
        // Choice: so is a notice that nobody took.
        for x in std::mem::take(&mut self.messages).into_values() {
            if self.exchanges.remove(&x).is_some() {
                self.totals.refused += 1;
                out.acts.push(Act::Reject { x, why: "shutting_down", id: None });
            }
        }
    }

    fn last_moment(&mut self, out: &mut Outcome) {
        if let Some(shutdown) = &mut self.shutdown {
            shutdown.until = None;
        }
        let sessions: Vec<Sid> = self.sessions.keys().copied().collect();
        for s in sessions {
            match self.sessions.get(&s).map(|session| session.phase) {
                Some(Phase::Pending | Phase::Offered) => {
                    self.fail_opening(s, DiscardReason::Shutdown, "shutting_down", out);
                }
                Some(Phase::Unconfirmed | Phase::Live) => self.end(s, EndReason::Shutdown, out),
                None => {}
            }
        }
        let left: Vec<Xid> = self.exchanges.keys().copied().collect();
        for x in left {
            self.exchanges.remove(&x);
            out.acts.push(Act::Close(x));
        }
    }
}
