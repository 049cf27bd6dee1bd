//! Which steps can be taken from a state: what a client, an application, a connection or the clock could do next.

use std::collections::BTreeSet;

use super::{After, Flow, Line, Model, Op, Phase, Place, Stream};

impl Stream {
    /// Where a client could come back to: after what is kept, and after the last that is not.
    fn places(&self, line: Line) -> Vec<Place> {
        let evicted = self.shown.iter().filter(|at| **at < self.lost).max();
        let kept = self.shown.iter().filter(|at| **at >= self.lost);
        evicted.into_iter().chain(kept).map(|at| (line, *at)).collect()
    }
}

impl Model {
    /// Steps in the life of sessions, while there are at most so many sessions and exchanges at a time. Streams
    /// are read whole.
    #[must_use]
    pub fn session_ops(&self, sessions_max: usize, exchanges_max: usize) -> Vec<Op> {
        let mut ops = vec![Op::Wait, Op::Tick];
        if self.shutdown.is_none() {
            ops.push(Op::Shutdown);
        }
        if self.exchanges.len() < exchanges_max {
            ops.push(Op::Initialize { lucky: false });
            if self.sessions.len() < sessions_max {
                ops.push(Op::Initialize { lucky: true });
            }
            self.requests(&mut ops);
        }
        for (c, call) in &self.calls {
            let c = *c;
            match self.sessions.get(&call.s).map(|session| session.call == c) {
                Some(true) => ops.extend([Op::Accept { c }, Op::Refuse { c }]),
                Some(false) | None => {
                    ops.extend([
                        Op::Answer { c },
                        Op::Say { to: Line::Call(c), droppable: false },
                        Op::Polling { c },
                    ]);
                }
            }
        }
        for (s, session) in &self.sessions {
            let s = *s;
            ops.push(Op::Fail { s });
            if session.phase != Phase::Pending {
                ops.extend([Op::EndSession { s }, Op::Say { to: Line::Own(s), droppable: false }]);
            }
        }
        ops.extend(self.messages.keys().map(|m| Op::Taken { m: *m }));
        self.connections(&mut ops);
        ops
    }

    /// All steps there are, in the life of sessions and on every stream.
    #[must_use]
    pub fn world_ops(&self, sessions_max: usize, exchanges_max: usize) -> Vec<Op> {
        let mut ops = self.session_ops(sessions_max, exchanges_max);
        let lines = self.lines.keys().copied().filter(|line| match line {
            Line::Call(c) => self.calls.contains_key(c),
            Line::Own(s) => self.routed(*s).is_some(),
        });
        for line in lines {
            ops.extend([Op::Say { to: line, droppable: true }, Op::Ask { to: line }]);
        }
        for (x, exchange) in &self.exchanges {
            if exchange.flow == (Flow::Open { idle: false }) {
                ops.push(Op::Pull { x: *x, all: false });
            }
        }
        if self.exchanges.len() < exchanges_max {
            self.more_requests(&mut ops);
        }
        ops
    }

    fn more_requests(&self, ops: &mut Vec<Op>) {
        for s in self.sessions.keys().copied() {
            ops.push(Op::CallJson { s, id: 2 });
            let answered = self.next.q.checked_sub(1).filter(|q| !self.asked.contains_key(q));
            ops.extend(self.asked.keys().copied().chain(answered).map(|q| Op::Reply { s, q }));
        }
        for (line, stream) in &self.lines {
            let after = |place| Op::Get { s: stream.s, after: After::Event(place) };
            ops.extend(stream.places(*line).into_iter().map(after));
        }
    }

    fn requests(&self, ops: &mut Vec<Op>) {
        let dead = self.next.s.checked_sub(1).filter(|s| !self.sessions.contains_key(s));
        for s in self.sessions.keys().copied().chain(dead) {
            let second = self.calls.values().any(|call| call.s == s && call.id == 2);
            let ids: &[u8] = if second { &[2, 3] } else { &[2] };
            for id in ids {
                ops.push(Op::Call { s, id: *id });
                if second {
                    ops.push(Op::Cancelled { s, id: *id });
                }
            }
            ops.extend([Op::Notice { s }, Op::Delete { s }, Op::Again { s }]);
            ops.extend([Op::Get { s, after: After::Nothing }, Op::Get { s, after: After::Bad }]);
        }
    }

    fn connections(&self, ops: &mut Vec<Op>) {
        for (x, exchange) in &self.exchanges {
            let x = *x;
            ops.push(Op::Gone { x });
            if !exchange.half {
                ops.push(Op::HalfClosed { x });
            }
            match exchange.flow {
                Flow::Waiting => {}
                Flow::Whole | Flow::Ended => ops.extend([Op::Flushed { x }, Op::Stalled { x }]),
                Flow::Open { idle: false } => ops.extend([Op::Pull { x, all: true }, Op::Stalled { x }]),
                Flow::Open { idle: true } => ops.push(Op::Stalled { x }),
            }
        }
        let gone = self.next.x.checked_sub(1).filter(|x| !self.exchanges.contains_key(x));
        if let Some(x) = gone {
            ops.extend([Op::Gone { x }, Op::Flushed { x }, Op::HalfClosed { x }, Op::Stalled { x }]);
        }
    }

    /// Steps on one stream: what is sent, read, broken and resumed, while there are at most so many exchanges.
    #[must_use]
    pub fn stream_ops(&self, line: Line, exchanges_max: usize) -> Vec<Op> {
        let mut ops = vec![Op::Wait];
        match line {
            Line::Call(c) if self.calls.contains_key(&c) => {
                ops.extend([true, false].map(|droppable| Op::Say { to: line, droppable }));
                ops.extend([Op::Answer { c }, Op::Polling { c }]);
            }
            Line::Call(_) => {}
            Line::Own(_) => ops.extend([true, false].map(|droppable| Op::Say { to: line, droppable })),
        }
        for (x, exchange) in &self.exchanges {
            let x = *x;
            match exchange.flow {
                Flow::Waiting => {}
                Flow::Whole | Flow::Ended => ops.push(Op::Flushed { x }),
                Flow::Open { idle } => {
                    if !idle {
                        ops.push(Op::Pull { x, all: false });
                    }
                }
            }
            ops.push(Op::Gone { x });
        }
        if self.exchanges.len() < exchanges_max {
            self.resumes(line, &mut ops);
        }
        ops
    }

    fn resumes(&self, line: Line, ops: &mut Vec<Op>) {
        let Some(s) = self.sessions.keys().next().copied() else { return };
        let mut places: Vec<Place> = Vec::new();
        match self.lines.get(&line) {
            Some(stream) => places.extend(stream.places(line)),
            None => places.extend(self.retired),
        }
        ops.extend(places.into_iter().map(|place| Op::Get { s, after: After::Event(place) }));
        ops.push(Op::Get { s, after: After::Bad });
        if matches!(line, Line::Own(_)) {
            ops.push(Op::Get { s, after: After::Nothing });
        }
    }

    /// What those do next who read all there is and come back, once, to each stream that broke.
    pub(super) fn reading(&self, came_back: &mut BTreeSet<Line>) -> Option<Op> {
        for (x, exchange) in &self.exchanges {
            match exchange.flow {
                Flow::Open { idle: false } => return Some(Op::Pull { x: *x, all: true }),
                Flow::Whole | Flow::Ended => return Some(Op::Flushed { x: *x }),
                Flow::Waiting | Flow::Open { idle: true } => {}
            }
        }
        let broken = self.lines.iter().filter(|(_, stream)| stream.carrier.is_none());
        for (line, stream) in broken.filter(|(_, stream)| self.routed(stream.s).is_some()) {
            let after = match line {
                Line::Own(_) => Some(After::Nothing),
                Line::Call(_) => stream.places(*line).last().map(|place| After::Event(*place)),
            };
            if let Some(after) = after.filter(|_| came_back.insert(*line)) {
                return Some(Op::Get { s: stream.s, after });
            }
        }
        None
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        self.shutdown.is_some()
    }
}
