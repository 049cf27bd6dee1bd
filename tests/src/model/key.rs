//! The state of a model as a number that is equal for states with the same futures: names by their rank, times
//! from now, texts left out.

use std::hash::Hasher;

use super::{Carries, Flow, Line, Model, Next, Phase, Secs, Stream, What};

impl Model {
    /// The number. Two states with the same number lead to the same, step by step.
    #[must_use]
    pub fn key(&self) -> u128 {
        let mut words: Vec<u64> = vec![
            u64::from(self.retired.is_some()) << 3 | self.stale(),
            self.sessions.len() as u64,
            self.exchanges.len() as u64,
            self.calls.len() as u64,
            self.lines.len() as u64,
            self.shutdown.map_or(0, |shutdown| {
                let left = |at: Option<Secs>| at.map_or(0, |at| 1 + self.until(at));
                1 + (left(shutdown.fail) << 8 | left(shutdown.until))
            }),
        ];
        self.write_sessions(&mut words);
        self.write_exchanges(&mut words);
        for (c, call) in &self.calls {
            words.extend([
                self.rank_of_line(Line::Call(*c)),
                self.rank_of_session(call.s),
                u64::from(call.id),
            ]);
        }
        for (s, line) in self.asked.values() {
            words.extend([self.rank_of_session(*s), self.rank_of_line(*line)]);
        }
        words.push(u64::MAX);
        for (line, stream) in &self.lines {
            self.write_stream(*line, stream, &mut words);
        }
        digest(&words)
    }

    /// Whether there are names of what is over, for those who use them too late.
    fn stale(&self) -> u64 {
        let is_over = |next: u32, is_there: bool| u64::from(next > 0 && !is_there);
        let last = |next: u32| next.wrapping_sub(1);
        let Next { x, s, q, .. } = self.next;
        is_over(x, self.exchanges.contains_key(&last(x)))
            | is_over(s, self.sessions.contains_key(&last(s))) << 1
            | is_over(q, self.asked.contains_key(&last(q))) << 2
    }

    fn write_sessions(&self, words: &mut Vec<u64>) {
        for (s, session) in &self.sessions {
            let age = (self.now - session.active).min(self.rules.idle.max(self.rules.evict_after));
            let time = match session.phase {
                Phase::Pending | Phase::Offered => self.until(session.deadline),
                Phase::Unconfirmed => self.until(session.deadline) << 8 | age,
                Phase::Live if self.busy(*s) => 0,
                Phase::Live => age,
            };
            let victim = session.victim.map_or(0, |victim| 1 + self.rank_of_session(victim));
            words.extend([session.phase as u64, time, victim, self.rank_of_exchange(session.opening)]);
        }
    }

    fn write_exchanges(&self, words: &mut Vec<u64>) {
        for exchange in self.exchanges.values() {
            let (carries, of) = match exchange.carries {
                Carries::Opening(c) => (1, u64::from(self.calls.contains_key(&c))),
                Carries::Line(line) => (2, self.rank_of_line(line)),
                Carries::Message(_) => (3, 0),
                Carries::Nothing => (4, 0),
            };
            let flow = match exchange.flow {
                Flow::Waiting => 0,
                Flow::Whole => 1,
                Flow::Open { idle } => 2 + u64::from(idle),
                Flow::Ended => 4,
            };
            let waits = match (exchange.flow, exchange.carries) {
                (Flow::Waiting | Flow::Open { .. }, Carries::Line(_)) => self.until(exchange.at),
                _ => 0,
            };
            let s = exchange.s.map_or(0, |s| 1 + self.rank_of_session(s));
            words.extend([carries, of, flow, waits, s]);
            words.push(u64::from(exchange.json_only) << 1 | u64::from(exchange.half));
            words.extend(exchange.own.iter().map(|frame| match frame.what {
                What::Priming => 1,
                What::Message(_) => 2,
                What::Retry => 3,
                What::Comment => 4,
            }));
            words.push(u64::MAX);
        }
    }

    fn write_stream(&self, line: Line, stream: &Stream, words: &mut Vec<u64>) {
        let kind = match line {
            Line::Call(_) => 1,
            Line::Own(_) => 2,
        };
        let broke = Self::retires(stream).map_or(u64::from(stream.abandoned), |broke| 2 + self.now - broke);
        words.extend([
            kind,
            self.rank_of_session(stream.s),
            stream.made - stream.taken,
            stream.made - stream.lost,
            stream.carrier.map_or(0, |x| 1 + self.rank_of_exchange(x)),
            u64::from(stream.finished) << 1 | u64::from(stream.full),
            broke,
        ]);
        words.extend(
            stream.frames.iter().map(|frame| (stream.made - frame.at) << 1 | u64::from(frame.droppable)),
        );
        words.push(u64::MAX);
        // Places that a client can name; those before the last frame that was thrown out are all alike.
        let is_lost_known = stream.shown.iter().any(|at| *at < stream.lost);
        words.extend(stream.shown.iter().filter(|at| **at >= stream.lost).map(|at| stream.made - at));
        words.extend([u64::from(is_lost_known), u64::MAX]);
    }

    fn until(&self, deadline: Secs) -> Secs {
        deadline.saturating_sub(self.now)
    }

    fn rank_of_session(&self, s: u32) -> u64 {
        self.sessions.range(..s).count() as u64
    }

    fn rank_of_exchange(&self, x: u32) -> u64 {
        if self.exchanges.contains_key(&x) {
            self.exchanges.range(..x).count() as u64
        } else {
            u64::from(u32::MAX)
        }
    }

    fn rank_of_line(&self, line: Line) -> u64 {
        if self.lines.contains_key(&line) {
            self.lines.range(..line).count() as u64
        } else {
            u64::from(u32::MAX)
        }
    }
}

fn digest(words: &[u64]) -> u128 {
    let mut mix = Mix::default();
    words.iter().for_each(|word| mix.write_u64(*word));
    mix.state
}

/// A fast hash of whole words. Each step is reversible, so that what differs goes on to differ.
pub(super) struct Mix {
    state: u128,
}

impl Default for Mix {
    fn default() -> Self {
        Mix { state: 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d }
    }
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.state as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(8) {
            self.write_u64(bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.state = (self.state ^ u128::from(word)).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
        self.state ^= self.state >> 67;
    }
}
