//! Streams: what is kept, who carries them, who is told to wait, and what a resume gets.

use std::collections::BTreeSet;

use super::{
    Act, After, Carries, Cid, Drew, Exchange, Flow, Frame, Line, Model, Outcome, Sent, Shown, Sid, Stream,
    Text, What, Xid,
};

impl Stream {
    pub(super) fn new(s: Sid, carrier: Option<Xid>, now: u64) -> Self {
        Stream {
            s,
            frames: Vec::new(),
            made: 0,
            lost: 0,
            taken: 0,
            carrier,
            finished: false,
            broke: carrier.map(|_| now),
            abandoned: false,
            full: false,
            shown: BTreeSet::new(),
        }
    }

    fn push(&mut self, text: Text, droppable: bool) {
        self.made += 1;
        self.frames.push(Frame { at: self.made, text, droppable });
    }

    /// Room for one more. What its reader took goes first, then a notice that nobody has to have, then, where nobody
    /// reads, the oldest.
    fn make_room(&mut self, frames_max: usize, droppable: bool, dropped: &mut u64) -> bool {
        while self.frames.len() >= frames_max {
            // Who comes back may have lost even what was taken.
            let taken = if self.carrier.is_some() { self.taken } else { 0 };
            let was_taken = self.frames.first().is_some_and(|first| first.at <= taken);
            let spare = self.frames.iter().position(|frame| frame.droppable && frame.at > taken);
            match (was_taken, spare, self.carrier) {
                // Choice: where nobody reads, the newer of two notices that nobody has to have is kept.
                (false, Some(spare), carrier) if !droppable || carrier.is_none() => {
                    self.frames.remove(spare);
                    *dropped += 1;
                }
                (false, _, _) if droppable => return false,
                (false, None, Some(_)) => return false,
                (true, _, _) | (false, _, _) => self.lost = self.frames.remove(0).at,
            }
        }
        true
    }

    /// Each stream keeps room for its final frame: only what its reader took goes for it.
    fn let_go_of_taken(&mut self, frames_max: usize) {
        while self.frames.len() >= frames_max
            && self.carrier.is_some()
            && self.frames.first().is_some_and(|first| first.at <= self.taken)
        {
            self.lost = self.frames.remove(0).at;
        }
    }

    /// Whether a sender that waits has room now.
    fn has_room(&self, frames_max: usize) -> bool {
        let mut copy = self.clone();
        copy.make_room(frames_max, false, &mut 0)
    }
}

impl Model {
    pub(super) fn say(&mut self, to: Line, droppable: bool, out: &mut Outcome) {
        let n = self.next.said;
        self.next.said += 1;
        let is_there = match to {
            Line::Call(c) => self.calls.contains_key(&c),
            Line::Own(s) => self.sessions.contains_key(&s),
        };
        if !is_there {
            out.sent = Some(Sent::Gone);
            return;
        }
        let text = match droppable {
            true => crate::script::ask::progress_text(n),
            false => crate::script::ask::note_text(n),
        };
        self.put(to, text, droppable, out);
    }

    /// Puts a notice, or a request to the client, onto a stream that is there.
    pub(super) fn put(&mut self, to: Line, text: String, droppable: bool, out: &mut Outcome) {
        let carrier = self.lines.get(&to).and_then(|stream| stream.carrier);
        if carrier.is_some_and(|x| self.exchanges.get(&x).is_some_and(|x| x.json_only)) {
            // D5: a client that accepts only JSON gets no notices.
            self.totals.dropped += 1;
            out.sent = Some(Sent::Ok);
            return;
        }
        if let Some(x) = carrier {
            self.commit_to_stream(x, out);
        }
        let Some(stream) = self.lines.get_mut(&to) else { return };
        out.sent = Some(Sent::Ok);
        if stream.abandoned && stream.carrier.is_none() {
            return;
        }
        if !stream.make_room(self.rules.ring_frames_max, droppable, &mut self.totals.dropped) {
            if droppable {
                self.totals.dropped += 1;
            } else {
                stream.full = true;
                out.sent = Some(Sent::Full);
            }
            return;
        }
        stream.push(Text::Exactly(text), droppable);
        self.wake(to, out);
    }

    pub(super) fn answer(&mut self, c: Cid, out: &mut Outcome) {
        let n = self.next.said;
        self.next.said += 1;
        let Some(call) = self.calls.remove(&c) else {
            out.sent = Some(Sent::Gone);
            return;
        };
        out.sent = Some(Sent::Ok);
        let text = crate::script::ask::result_text(&call.id.to_string(), &format!(r#"{{"n":{n}}}"#));
        self.finish_line(Line::Call(c), Some(Text::Exactly(text)), out);
    }

    /// The last message of a stream, if there is one; as JSON where no response was begun.
    pub(super) fn finish_line(&mut self, line: Line, last: Option<Text>, out: &mut Outcome) {
        self.forget_asked(line);
        let Some(stream) = self.lines.get_mut(&line) else { return };
        let carrier = stream.carrier;
        if let Some(x) = carrier.filter(|x| self.exchanges.get(x).is_some_and(|x| x.flow == Flow::Waiting)) {
            self.lines.remove(&line);
            if let Some(text) = last {
                self.answer_whole(x, None, text, out);
            }
            return;
        }
        if stream.abandoned && carrier.is_none() {
            self.lines.remove(&line);
            return;
        }
        if let Some(text) = last {
            stream.let_go_of_taken(self.rules.ring_frames_max);
            stream.push(text, false);
        }
        stream.finished = true;
        stream.full = false;
        self.wake(line, out);
    }

    /// A cancelled call: its stream ends without an answer; where nothing was sent yet, there is an error.
    pub(super) fn finish_cancelled(&mut self, line: Line, error: Text, out: &mut Outcome) {
        let carrier = self.lines.get(&line).and_then(|stream| stream.carrier);
        let is_held =
            carrier.is_some_and(|x| self.exchanges.get(&x).is_some_and(|x| x.flow == Flow::Waiting));
        self.finish_line(line, is_held.then_some(error), out);
    }

    /// The exchange of a standalone stream says what is queued, and ends.
    pub(super) fn end_own_stream(&mut self, line: Line, retry: bool, out: &mut Outcome) {
        let Some(x) = self.lines.get(&line).and_then(|stream| stream.carrier) else { return };
        self.take_all(line, x);
        // In a shutdown nobody can come back to it.
        if let Some(stream) = self.lines.get_mut(&line).filter(|_| retry) {
            stream.lost = stream.made;
            stream.frames.clear();
        }
        self.release(line, x, out);
        if let Some(exchange) = self.exchanges.get_mut(&x).filter(|_| retry) {
            exchange.own.push(Shown { id: None, what: What::Retry });
        }
    }

    /// A response that was not begun becomes a stream, with a priming event where there is one (C6).
    pub(super) fn commit_to_stream(&mut self, x: Xid, out: &mut Outcome) {
        let (now, primes, every) = (self.now, self.rules.primes, self.rules.comment_every);
        let Some(exchange) = self.exchanges.get_mut(&x).filter(|x| x.flow == Flow::Waiting) else { return };
        let Carries::Line(line) = exchange.carries else { return };
        if exchange.json_only {
            return;
        }
        exchange.flow = Flow::Open { idle: true };
        exchange.at = now + every;
        out.acts.push(Act::Stream(x));
        let taken = self.lines.get(&line).map_or(0, |stream| stream.taken);
        if primes {
            exchange.own.push(Shown { id: Some((line, taken)), what: What::Priming });
        }
        self.wake_exchange(x, out);
    }

    fn wake(&mut self, line: Line, out: &mut Outcome) {
        let Some(x) = self.lines.get(&line).and_then(|stream| stream.carrier) else { return };
        self.wake_exchange(x, out);
    }

    fn wake_exchange(&mut self, x: Xid, out: &mut Outcome) {
        let Some(exchange) = self.exchanges.get_mut(&x) else { return };
        if exchange.flow == (Flow::Open { idle: true }) {
            exchange.flow = Flow::Open { idle: false };
            out.acts.push(Act::Pull(x));
        }
    }

    pub(super) fn pull(&mut self, x: Xid, all: bool, out: &mut Outcome) {
        let (now, every) = (self.now, self.rules.comment_every);
        let Some(exchange) =
            self.exchanges.get_mut(&x).filter(|x| matches!(x.flow, Flow::Open { .. } | Flow::Ended))
        else {
            out.drawn = Some((Vec::new(), Drew::Gone));
            return;
        };
        let budget = if all { usize::MAX } else { 1 };
        let mut shown: Vec<Shown> = Vec::new();
        while shown.len() < budget && !exchange.own.is_empty() {
            shown.push(exchange.own.remove(0));
        }
        let line = match exchange.carries {
            Carries::Line(line) => Some(line),
            Carries::Opening(_) | Carries::Message(_) | Carries::Nothing => None,
        };
        let stream = line.and_then(|line| self.lines.get_mut(&line));
        let (mut left, mut ended, mut writable) = (exchange.own.len(), true, None);
        if let (Some(stream), Some(line)) = (stream, line) {
            let rest = stream.untaken(line);
            let take = rest.len().min(budget - shown.len());
            left += rest.len() - take;
            for frame in rest.into_iter().take(take) {
                stream.taken = frame.id.map_or(stream.taken, |(_, at)| at);
                shown.push(frame);
            }
            ended = stream.finished;
            if stream.full && stream.has_room(self.rules.ring_frames_max) {
                stream.full = false;
                writable = Some(line);
            }
        }
        if !shown.is_empty() {
            exchange.at = now + every;
        }
        // Choice: a puller whose budget is spent is told of the end of a live stream when it asks again.
        let drew = match (left, ended) {
            (0, true) if shown.len() < budget || line.is_none() => Drew::End,
            (1.., _) | (0, true) => Drew::More,
            (0, false) => Drew::Idle,
        };
        exchange.flow = match drew {
            Drew::End => Flow::Ended,
            Drew::Idle => Flow::Open { idle: true },
            Drew::More | Drew::Gone => Flow::Open { idle: false },
        };
        for (line, at) in shown.iter().filter_map(|frame| frame.id) {
            if let Some(stream) = self.lines.get_mut(&line) {
                stream.shown.insert(at);
            }
        }
        out.acts.extend(writable.map(Act::Writable));
        out.drawn = Some((shown, drew));
    }

    /// An exchange is over: its stream has no carrier any more.
    pub(super) fn detach_from(&mut self, exchange: &Exchange, out: &mut Outcome) {
        let Carries::Line(line) = exchange.carries else { return };
        let now = self.now;
        let Some(stream) = self.lines.get_mut(&line) else { return };
        stream.carrier = None;
        stream.broke = Some(now);
        if std::mem::take(&mut stream.full) {
            out.acts.push(Act::Writable(line));
        }
        if exchange.flow == Flow::Waiting {
            // No client has an id to come back with.
            stream.abandoned = true;
        }
        self.keep_few(line);
    }

    /// Of a session's finished streams that nobody carries, only so many are kept. Choice: counted when one breaks.
    fn keep_few(&mut self, line: Line) {
        let Some(s) = self.lines.get(&line).map(|stream| stream.s) else { return };
        let kept = self.lines.iter().filter(|(line, stream)| {
            matches!(line, Line::Call(_)) && stream.s == s && stream.finished && stream.carrier.is_none()
        });
        let kept: Vec<Line> = kept.map(|(line, _)| *line).collect();
        if kept.len() > self.rules.calls_max {
            self.drop_line(kept[0]);
        }
    }

    pub(super) fn drop_line(&mut self, line: Line) {
        let stream = self.lines.remove(&line);
        let place = stream.and_then(|stream| Some((line, *stream.shown.last()?)));
        self.retired = place.or(self.retired);
    }

    /// The peer shut its write side (D2): an answer that was not begun is given to it, a stream that is open has
    /// lost its reader.
    pub(super) fn half_closed(&mut self, x: Xid, out: &mut Outcome) {
        let Some(exchange) = self.exchanges.get_mut(&x) else { return };
        match (exchange.flow, exchange.carries) {
            (Flow::Waiting | Flow::Whole, _) => exchange.half = true,
            // Choice: what is left of a stream that is over is still given.
            (Flow::Open { .. } | Flow::Ended, Carries::Nothing) => {}
            (Flow::Open { .. } | Flow::Ended, _) => {
                self.gone(x, out);
                out.acts.push(Act::Close(x));
            }
        }
    }

    pub(super) fn close_for_polling(&mut self, c: Cid, out: &mut Outcome) {
        let line = Line::Call(c);
        let Some(x) = self.lines.get(&line).and_then(|stream| stream.carrier) else { return };
        if !self.rules.primes || !self.calls.contains_key(&c) {
            return;
        }
        if self.exchanges.get(&x).is_some_and(|exchange| exchange.json_only) {
            return;
        }
        self.commit_to_stream(x, out);
        self.take_all(line, x);
        self.release(line, x, out);
    }

    /// What is there now is this exchange's to give.
    fn take_all(&mut self, line: Line, x: Xid) {
        let Some(stream) = self.lines.get_mut(&line) else { return };
        let rest = stream.untaken(line);
        stream.taken = stream.made;
        if let Some(exchange) = self.exchanges.get_mut(&x) {
            exchange.own.extend(rest);
        }
    }

    /// A stream leaves its carrier, which ends in order; frames that it did not take stay with the stream.
    fn release(&mut self, line: Line, x: Xid, out: &mut Outcome) {
        if let Some(exchange) = self.exchanges.get_mut(&x) {
            let over = Exchange { carries: Carries::Line(line), ..exchange.clone() };
            exchange.carries = Carries::Nothing;
            // Choice: what it still has to give does not keep the session busy (R12).
            exchange.s = None;
            self.detach_from(&over, out);
        }
        self.wake_exchange(x, out);
    }

    /// GET on a session that was found (DESIGN 6).
    pub(super) fn open_stream(&mut self, s: Sid, after: After, out: &mut Outcome) {
        let (line, from) = match after {
            After::Nothing => (Line::Own(s), None),
            After::Event((line, at)) if self.is_of(line, s) => (line, Some(at)),
            After::Event(_) | After::Bad => return self.refuse_request("bad_event_id", None, out),
        };
        let Some(stream) = self.lines.get(&line) else {
            // Choice: a stream that is not kept any more.
            return self.refuse_request("events_lost", None, out);
        };
        let from = from.unwrap_or(stream.taken.max(stream.lost));
        let is_missing = stream.lost > from;
        let has_more = stream.frames.iter().any(|frame| frame.at > from);
        match line {
            Line::Call(_) if is_missing || stream.abandoned => {
                return self.refuse_request("events_lost", None, out);
            }
            Line::Call(_) if stream.finished && !has_more => {
                let x = self.admit(Some(s), Carries::Nothing, Flow::Whole);
                out.acts.push(Act::NoContent(x));
                return;
            }
            Line::Call(_) => {}
            Line::Own(_) => self.totals.gaps += u64::from(is_missing && after != After::Nothing),
        }
        self.move_to_new_exchange(s, line, from, out);
    }

    fn is_of(&self, line: Line, s: Sid) -> bool {
        match line {
            Line::Own(own) => own == s,
            // A stream that is gone was of this session, or the test does not ask.
            Line::Call(_) => self.lines.get(&line).is_none_or(|stream| stream.s == s),
        }
    }

    fn move_to_new_exchange(&mut self, s: Sid, line: Line, from: u64, out: &mut Outcome) {
        let old = self.lines.get(&line).and_then(|stream| stream.carrier);
        // The stream moves; who waits to send goes on waiting unless there is room now.
        let full = self.lines.get_mut(&line).is_some_and(|stream| std::mem::take(&mut stream.full));
        if let Some(old) = old {
            self.release(line, old, out);
        }
        let x = self.admit(Some(s), Carries::Line(line), Flow::Waiting);
        if let Some(stream) = self.lines.get_mut(&line) {
            stream.taken = from;
            stream.carrier = Some(x);
            stream.full = full && !stream.has_room(self.rules.ring_frames_max);
            if full && !stream.full {
                out.acts.push(Act::Writable(line));
            }
        }
        self.commit_to_stream(x, out);
        // Choice: who gets the rest of a finished stream need not come back.
        let finished = self.lines.get(&line).is_some_and(|stream| stream.finished);
        if let Some(exchange) = self.exchanges.get_mut(&x).filter(|_| finished) {
            exchange.own.clear();
        }
    }
}
