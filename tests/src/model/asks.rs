//! Requests to clients and their replies (C13).

use super::{Act, Carries, Flow, Line, Model, Outcome, Qid, Sent, Sid};

impl Model {
    pub(super) fn ask(&mut self, to: Line, out: &mut Outcome) {
        let q = self.next.q;
        self.next.q += 1;
        let s = match to {
            Line::Call(c) => self.calls.get(&c).map(|call| call.s),
            Line::Own(s) => self.sessions.contains_key(&s).then_some(s),
        };
        let Some(s) = s.filter(|_| self.can_carry(to)) else {
            out.sent = Some(Sent::Gone);
            return;
        };
        if self.asked.values().filter(|(of, _)| *of == s).count() >= self.rules.calls_max {
            out.sent = Some(Sent::TooMany);
            return;
        }
        self.put(to, crate::script::ask::question_text(u64::from(q)), false, out);
        if out.sent == Some(Sent::Ok) {
            self.asked.insert(q, (s, to));
        }
    }

    /// Whether somebody reads the stream, or can come back to it.
    fn can_carry(&self, line: Line) -> bool {
        let Some(stream) = self.lines.get(&line) else { return false };
        match stream.carrier.and_then(|x| self.exchanges.get(&x)) {
            Some(exchange) => !exchange.json_only,
            None => !stream.abandoned && stream.broke.is_some(),
        }
    }

    pub(super) fn post_reply(&mut self, s: Sid, q: Qid, out: &mut Outcome) {
        if !self.use_session(s, None, out) {
            return;
        }
        if self.asked.get(&q).is_none_or(|(of, _)| *of != s) {
            // It answers nothing, and is ignored.
            let x = self.admit(Some(s), Carries::Nothing, Flow::Whole);
            out.acts.push(Act::Accepted(x));
            return;
        }
        self.asked.remove(&q);
        let m = self.next.m;
        self.next.m += 1;
        let x = self.admit(Some(s), Carries::Message(m), Flow::Waiting);
        self.messages.insert(m, x);
        out.acts.push(Act::DeliverReply { x, s, m, q });
    }

    /// Nobody waits any more for what was asked on this stream.
    pub(super) fn forget_asked(&mut self, line: Line) {
        self.asked.retain(|_, (_, on)| *on != line);
    }
}
