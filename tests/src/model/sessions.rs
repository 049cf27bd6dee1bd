//! How sessions come to be, are used, and end; and the requests that bear their ids. What happens on streams is
//! in `streams`.

use mcp_http_core::endpoint::{CancelReason, DiscardReason, EndReason};

use super::{
    Act, After, Call, Carries, Cid, Exchange, Flow, Frame, Line, Mid, Model, Outcome, Phase, Session, Shown,
    Sid, Stream, Text, What, Xid,
};

/// The JSON-RPC id of every `initialize`.
const OPENING_ID: u8 = 1;
pub(super) const SESSION_ENDED: i64 = -32001;
pub(super) const SHUTTING_DOWN: i64 = -32603;
const CANCELLED: i64 = -32800;
const REFUSED: i64 = -32602;

impl Model {
    pub(super) fn initialize(&mut self, lucky: bool, out: &mut Outcome) {
        let refuse = |why| (why, Some(OPENING_ID));
        let placed = self.sessions.values().filter(|session| session.victim.is_none()).count();
        let has_room = placed < self.rules.sessions_max;
        let victim = if has_room { None } else { self.victim() };
        // Choice: which reason is told when there are several.
        let refusal = match (self.shutdown, lucky, has_room || victim.is_some()) {
            (Some(_), _, _) => Some(refuse("shutting_down")),
            (None, false, _) => Some(refuse("no_entropy")),
            (None, true, false) => Some(refuse("too_many_sessions")),
            (None, true, true) => None,
        };
        if let Some((why, id)) = refusal {
            return self.refuse_request(why, id, out);
        }
        let (s, c) = (self.next.s, self.next.c);
        self.next.s += 1;
        self.next.c += 1;
        let opening = self.admit(Some(s), Carries::Opening(c), Flow::Waiting);
        let deadline = self.now + self.rules.establish;
        let session = Session { phase: Phase::Pending, opening, call: c, deadline, active: self.now, victim };
        self.sessions.insert(s, session);
        self.calls.insert(c, Call { s, id: OPENING_ID });
        self.lines.insert(Line::Own(s), Stream::new(s, None, self.now));
        self.totals.created += 1;
        out.acts.extend([Act::Create(s), Act::DeliverInitialize { x: opening, s, c }]);
    }

    /// Whom a new session could replace (S10): the oldest unconfirmed one, else the longest idle one.
    fn victim(&self) -> Option<Sid> {
        let taken: Vec<Sid> = self.sessions.values().filter_map(|session| session.victim).collect();
        let free = || self.sessions.iter().filter(|(s, _)| !taken.contains(s) && self.may_go(**s));
        let oldest = |phase| {
            let of_phase = free().filter(|(_, session)| session.phase == phase);
            of_phase.min_by_key(|(s, session)| (session.active, **s)).map(|(s, _)| *s)
        };
        oldest(Phase::Unconfirmed).or_else(|| oldest(Phase::Live))
    }

    fn may_go(&self, s: Sid) -> bool {
        let Some(session) = self.sessions.get(&s) else { return false };
        match session.phase {
            Phase::Pending | Phase::Offered => false,
            Phase::Unconfirmed => true,
            Phase::Live => !self.busy(s) && self.now - session.active >= self.rules.evict_after,
        }
    }

    /// The phase that requests find, or the refusal they get (S5).
    pub(super) fn routed(&self, s: Sid) -> Option<Phase> {
        let phase = self.sessions.get(&s)?.phase;
        (phase != Phase::Pending).then_some(phase)
    }

    /// Finds and uses a session, or refuses.
    pub(super) fn use_session(&mut self, s: Sid, id: Option<u8>, out: &mut Outcome) -> bool {
        let Some(phase) = self.routed(s) else {
            self.refuse_request("unknown_session", id, out);
            return false;
        };
        if phase == Phase::Offered {
            self.totals.committed += 1;
            out.acts.push(Act::Commit(s));
        }
        let now = self.now;
        if let Some(session) = self.sessions.get_mut(&s) {
            session.phase = Phase::Live;
            session.active = now;
        }
        true
    }

    pub(super) fn initialize_again(&mut self, s: Sid, out: &mut Outcome) {
        // S4: the session is untouched.
        let why = if self.routed(s).is_some() { "invalid_request" } else { "unknown_session" };
        self.refuse_request(why, Some(OPENING_ID), out);
    }

    pub(super) fn post_call(&mut self, s: Sid, id: u8, json_only: bool, out: &mut Outcome) {
        if !self.use_session(s, Some(id), out) {
            return;
        }
        if self.shutdown.is_some() {
            return self.refuse_request("shutting_down", Some(id), out);
        }
        if self.calls.values().filter(|call| call.s == s).count() >= self.rules.calls_max {
            return self.refuse_request("too_many_calls", Some(id), out);
        }
        let c = self.next.c;
        self.next.c += 1;
        let x = self.admit(Some(s), Carries::Line(Line::Call(c)), Flow::Waiting);
        if let Some(exchange) = self.exchanges.get_mut(&x) {
            exchange.json_only = json_only;
        }
        self.calls.insert(c, Call { s, id });
        self.lines.insert(Line::Call(c), Stream::new(s, Some(x), self.now));
        out.acts.push(Act::DeliverCall { x, s, c });
    }

    pub(super) fn post_notice(&mut self, s: Sid, out: &mut Outcome) {
        if !self.use_session(s, None, out) {
            return;
        }
        let m = self.next.m;
        self.next.m += 1;
        let x = self.admit(Some(s), Carries::Message(m), Flow::Waiting);
        self.messages.insert(m, x);
        out.acts.push(Act::DeliverNotice { x, s, m });
    }

    pub(super) fn post_cancelled(&mut self, s: Sid, id: u8, out: &mut Outcome) {
        if !self.use_session(s, None, out) {
            return;
        }
        let named: Vec<Cid> =
            self.calls.iter().filter(|(_, call)| call.s == s && call.id == id).map(|(c, _)| *c).collect();
        // C2: an ambiguous one is ignored.
        if let [c] = named[..] {
            self.calls.remove(&c);
            out.acts.push(Act::Cancel(c, CancelReason::Client));
            self.finish_cancelled(Line::Call(c), Text::Error(id, CANCELLED), out);
        }
        // Choice: the endpoint takes this notice itself.
        let x = self.admit(Some(s), Carries::Nothing, Flow::Whole);
        out.acts.push(Act::Accepted(x));
    }

    pub(super) fn taken(&mut self, m: Mid, out: &mut Outcome) {
        let Some(x) = self.messages.remove(&m) else { return };
        if let Some(exchange) = self.exchanges.get_mut(&x) {
            exchange.flow = Flow::Whole;
            exchange.carries = Carries::Nothing;
            out.acts.push(Act::Accepted(x));
        }
    }

    pub(super) fn get(&mut self, s: Sid, after: After, out: &mut Outcome) {
        if !self.use_session(s, None, out) {
            return;
        }
        if self.shutdown.is_some() {
            return self.refuse_request("shutting_down", None, out);
        }
        self.open_stream(s, after, out);
    }

    pub(super) fn delete(&mut self, s: Sid, out: &mut Outcome) {
        if self.use_session(s, None, out) {
            let x = self.admit(None, Carries::Nothing, Flow::Whole);
            out.acts.push(Act::NoContent(x));
            self.end(s, EndReason::Deleted, out);
        }
    }

    pub(super) fn accept(&mut self, c: Cid, out: &mut Outcome) {
        let Some(s) = self.calls.get(&c).map(|call| call.s) else {
            out.sent = Some(super::Sent::Gone);
            return;
        };
        out.sent = Some(super::Sent::Ok);
        self.calls.remove(&c);
        let Some(opening) = self.sessions.get(&s).map(|session| session.opening) else { return };
        if !self.take_place(s, out) {
            self.exchanges.remove(&opening);
            self.totals.refused += 1;
            out.acts.push(Act::Reject { x: opening, why: "too_many_sessions", id: Some(OPENING_ID) });
            return self.discard(s, DiscardReason::NoRoom, out);
        }
        if let Some(session) = self.sessions.get_mut(&s) {
            session.phase = Phase::Offered;
        }
        let text = Text::Exactly(String::from(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        self.answer_whole(opening, Some(s), text, out);
    }

    /// The new session's place: the one it reserved, a free one, or one that another session gives up (D6).
    fn take_place(&mut self, s: Sid, out: &mut Outcome) -> bool {
        let Some(victim) = self.sessions.get(&s).and_then(|session| session.victim) else { return true };
        let placed = self.sessions.values().filter(|session| session.victim.is_none()).count();
        let gives_way = if self.may_go(victim) { Some(victim) } else { self.victim() };
        if let Some(session) = self.sessions.get_mut(&s) {
            session.victim = None;
        }
        if placed < self.rules.sessions_max {
            return true;
        }
        match gives_way {
            Some(victim) => {
                self.end(victim, EndReason::Evicted, out);
                true
            }
            None => false,
        }
    }

    pub(super) fn refuse(&mut self, c: Cid, out: &mut Outcome) {
        let Some(call) = self.calls.remove(&c) else {
            out.sent = Some(super::Sent::Gone);
            return;
        };
        out.sent = Some(super::Sent::Ok);
        let opening =
            self.sessions.get(&call.s).filter(|session| session.call == c).map(|session| session.opening);
        let error = Text::Error(call.id, REFUSED);
        match opening {
            Some(x) => {
                self.answer_whole(x, None, error, out);
                self.discard(call.s, DiscardReason::Refused, out);
            }
            None => self.finish_line(Line::Call(c), Some(error), out),
        }
    }

    pub(super) fn end_by_application(&mut self, s: Sid, out: &mut Outcome) {
        match self.sessions.get(&s).map(|session| session.phase) {
            Some(Phase::Pending | Phase::Offered) => {
                self.fail_opening(s, DiscardReason::Failed, "session_failed", out)
            }
            Some(Phase::Unconfirmed | Phase::Live) => self.end(s, EndReason::Application, out),
            None => {}
        }
    }

    /// Discards a session whose client still waits for, or reads, the answer to `initialize`.
    pub(super) fn fail_opening(
        &mut self,
        s: Sid,
        reason: DiscardReason,
        why: &'static str,
        out: &mut Outcome,
    ) {
        let Some((phase, opening, c)) = self.sessions.get(&s).map(|it| (it.phase, it.opening, it.call))
        else {
            return;
        };
        if phase == Phase::Pending && self.exchanges.remove(&opening).is_some() {
            self.calls.remove(&c);
            self.totals.refused += 1;
            out.acts.push(Act::Cancel(c, CancelReason::Discarded));
            out.acts.push(Act::Reject { x: opening, why, id: Some(OPENING_ID) });
        }
        // Choice: an answer that was not taken in time is cut off; one whose session fails is still given.
        if phase == Phase::Offered
            && reason == DiscardReason::Timeout
            && self.exchanges.remove(&opening).is_some()
        {
            out.acts.push(Act::Close(opening));
        }
        self.discard(s, reason, out);
    }

    pub(super) fn discard(&mut self, s: Sid, reason: DiscardReason, out: &mut Outcome) {
        self.totals.discarded += 1;
        out.acts.push(Act::Discard(s, reason));
        self.forget(s);
    }

    /// The end of a committed session: its calls end with an error, its streams end.
    pub(super) fn end(&mut self, s: Sid, reason: EndReason, out: &mut Outcome) {
        self.totals.ended += 1;
        out.acts.push(Act::End(s, reason));
        let calls: Vec<Cid> = self.calls.iter().filter(|(_, call)| call.s == s).map(|(c, _)| *c).collect();
        for c in calls {
            let Some(call) = self.calls.remove(&c) else { continue };
            out.acts.push(Act::Cancel(c, CancelReason::SessionEnded));
            self.fail_call(c, call.id, "unknown_session", SESSION_ENDED, out);
        }
        // R1: who waits to send learns of it by the end.
        if let Some(own) = self.lines.get_mut(&Line::Own(s)) {
            own.full = false;
        }
        self.end_own_stream(Line::Own(s), false, out);
        self.forget(s);
    }

    /// A call that gets no answer is refused while its response was not begun, else its stream ends with an error.
    pub(super) fn fail_call(&mut self, c: Cid, id: u8, why: &'static str, code: i64, out: &mut Outcome) {
        let line = Line::Call(c);
        let carrier = self.lines.get(&line).and_then(|stream| stream.carrier);
        if let Some(x) = carrier.filter(|x| self.exchanges.get(x).is_some_and(|x| x.flow == Flow::Waiting)) {
            self.exchanges.remove(&x);
            self.lines.remove(&line);
            self.totals.refused += 1;
            out.acts.push(Act::Reject { x, why, id: Some(id) });
        } else {
            self.finish_line(line, Some(Text::Error(id, code)), out);
        }
    }

    /// Removes a session; exchanges that are still to be written keep what they have to say.
    fn forget(&mut self, s: Sid) {
        self.sessions.remove(&s);
        // Whom it was to replace is free again; who was to replace it has its place.
        for session in self.sessions.values_mut().filter(|session| session.victim == Some(s)) {
            session.victim = None;
        }
        for exchange in self.exchanges.values_mut().filter(|exchange| exchange.s == Some(s)) {
            exchange.s = None;
            if let Carries::Line(line) = exchange.carries {
                exchange.carries = Carries::Nothing;
                let stream = self.lines.remove(&line);
                exchange.own.extend(stream.iter().flat_map(|stream| stream.untaken(line)));
            }
        }
        self.lines.retain(|_, stream| stream.s != s);
        self.asked.retain(|_, (of, _)| *of != s);
    }

    pub(super) fn flushed(&mut self, x: Xid, out: &mut Outcome) {
        let Some(exchange) = self.exchanges.get(&x).cloned() else { return };
        if !matches!(exchange.flow, Flow::Whole | Flow::Ended) {
            return;
        }
        self.exchanges.remove(&x);
        self.detach_from(&exchange, out);
        let Some(s) = exchange.s else { return };
        let now = self.now;
        let confirm = now + self.rules.confirm.min(self.rules.idle);
        let Some(session) = self.sessions.get_mut(&s) else { return };
        if session.opening == x && session.phase == Phase::Offered {
            session.deadline = confirm;
            // D2: bytes in a socket that nobody reads prove nothing.
            if !exchange.half {
                session.phase = Phase::Unconfirmed;
                session.active = now;
                self.totals.committed += 1;
                out.acts.push(Act::Commit(s));
            }
        }
    }

    pub(super) fn gone(&mut self, x: Xid, out: &mut Outcome) {
        let Some(exchange) = self.exchanges.remove(&x) else { return };
        self.detach_from(&exchange, out);
        let Some((s, session)) = exchange.s.and_then(|s| Some((s, self.sessions.get(&s)?))) else { return };
        if session.opening != x {
            return;
        }
        match session.phase {
            Phase::Pending => {
                let c = session.call;
                self.calls.remove(&c);
                out.acts.push(Act::Cancel(c, CancelReason::Disconnected));
                self.discard(s, DiscardReason::ClientGone, out);
            }
            Phase::Offered => self.discard(s, DiscardReason::Undelivered, out),
            Phase::Unconfirmed | Phase::Live => {}
        }
    }

    pub(super) fn answer_whole(&mut self, x: Xid, offers: Option<Sid>, text: Text, out: &mut Outcome) {
        if let Some(Exchange { flow, carries, .. }) = self.exchanges.get_mut(&x) {
            *flow = Flow::Whole;
            *carries = Carries::Nothing;
            out.acts.push(Act::Json { x, offers, text });
        }
    }
}

impl Stream {
    /// What its carrier did not take.
    pub(super) fn untaken(&self, line: Line) -> Vec<Shown> {
        let rest = self.frames.iter().filter(|frame| frame.at > self.taken);
        let shown = |frame: &Frame| {
            // Choice: the error that tells of the end of all cannot be resumed after, and has no id.
            let is_last = matches!(frame.text, Text::Error(_, SESSION_ENDED | SHUTTING_DOWN));
            Shown { id: (!is_last).then_some((line, frame.at)), what: What::Message(frame.text.clone()) }
        };
        rest.map(shown).collect()
    }
}
