//! The books of one endpoint: what the contract says of the order of actions (R1, R4, R7, R9), which the model,
//! being a set of what must come, leaves open.

use super::{Act, Cid, Drew, Line, Mid, Op, Outcome, Sent, Sid, Xid};

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Created,
    Committed,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Waiting,
    Whole,
    Streaming,
    Idle,
    Pulled,
    Over,
}

#[derive(Debug, Default)]
pub(super) struct Books {
    sessions: BTreeMap<Sid, Life>,
    exchanges: BTreeMap<Xid, Course>,
    /// Calls that wait, with their session.
    calls: BTreeMap<Cid, Sid>,
    full: BTreeSet<Line>,
    messages: BTreeSet<Mid>,
}

type Entered = Result<(), String>;

impl Books {
    pub(super) fn admitted(&mut self, x: Xid) {
        self.exchanges.insert(x, Course::Waiting);
    }

    /// What the driver itself did, before its actions are entered.
    pub(super) fn told(&mut self, op: Op, outcome: &Outcome) {
        match op {
            Op::Flushed { x } => {
                if matches!(self.exchanges.get(&x), Some(Course::Whole | Course::Pulled)) {
                    self.exchanges.insert(x, Course::Over);
                }
            }
            Op::Gone { x } => {
                self.exchanges.insert(x, Course::Over);
            }
            Op::Accept { c } | Op::Refuse { c } | Op::Answer { c } if outcome.sent == Some(Sent::Ok) => {
                self.calls.remove(&c);
                self.full.remove(&Line::Call(c));
            }
            Op::Say { to, .. } | Op::Ask { to } if outcome.sent == Some(Sent::Full) => {
                self.full.insert(to);
            }
            Op::Pull { x, .. } => {
                if let Some((_, drew)) = &outcome.drawn {
                    let course = match drew {
                        Drew::More => Course::Streaming,
                        Drew::Idle => Course::Idle,
                        Drew::End => Course::Pulled,
                        Drew::Gone => return,
                    };
                    self.exchanges.insert(x, course);
                }
            }
            _ => {}
        }
    }

    pub(super) fn enter(&mut self, acts: &[Act]) -> Entered {
        acts.iter().try_for_each(|act| self.enter_one(act).map_err(|why| format!("{act:?}: {why}")))
    }

    fn enter_one(&mut self, act: &Act) -> Entered {
        match act {
            Act::Create(s) => self.live(*s, None, Life::Created),
            Act::Commit(s) => self.live(*s, Some(Life::Created), Life::Committed),
            Act::Discard(s, _) => self.live(*s, Some(Life::Created), Life::Over),
            Act::End(s, _) => self.live(*s, Some(Life::Committed), Life::Over),
            Act::DeliverInitialize { x, s, c } | Act::DeliverCall { x, s, c } => {
                self.calls.insert(*c, *s);
                self.named(*s).and(self.moved(*x, &[Course::Waiting], Course::Waiting))
            }
            Act::DeliverNotice { x, s, m } | Act::DeliverReply { x, s, m, .. } => {
                self.messages.insert(*m);
                self.named(*s).and(self.moved(*x, &[Course::Waiting], Course::Waiting))
            }
            Act::Cancel(c, _) => match self.calls.remove(c) {
                Some(s) => {
                    self.full.remove(&Line::Call(*c));
                    self.named(s)
                }
                None => Err(String::from("this call waits for nothing")),
            },
            Act::Json { x, .. } | Act::Accepted(x) | Act::NoContent(x) => {
                self.moved(*x, &[Course::Waiting], Course::Whole)
            }
            Act::Stream(x) => self.moved(*x, &[Course::Waiting], Course::Idle),
            Act::Reject { x, .. } => self.moved(*x, &[Course::Waiting], Course::Over),
            Act::Pull(x) => self.moved(*x, &[Course::Idle], Course::Streaming),
            Act::Writable(line) => {
                let s = match line {
                    Line::Own(s) => Some(*s),
                    Line::Call(c) => self.calls.get(c).copied(),
                };
                let named = s.map_or(Err(String::from("this call waits for nothing")), |s| self.named(s));
                if self.full.remove(line) { named } else { Err(String::from("R9: nobody was told to wait")) }
            }
            Act::Close(x) => {
                self.exchanges.insert(*x, Course::Over);
                Ok(())
            }
        }
    }

    fn live(&mut self, s: Sid, from: Option<Life>, to: Life) -> Entered {
        let before = self.sessions.insert(s, to);
        if before == from { Ok(()) } else { Err(format!("R1: after {before:?}")) }
    }

    fn named(&self, s: Sid) -> Entered {
        match self.sessions.get(&s) {
            Some(Life::Created | Life::Committed) => Ok(()),
            life @ (Some(Life::Over) | None) => Err(format!("R1: names session {s}, which is {life:?}")),
        }
    }

    fn moved(&mut self, x: Xid, from: &[Course], to: Course) -> Entered {
        match self.exchanges.insert(x, to) {
            Some(before) if from.contains(&before) => Ok(()),
            before => Err(format!("R4: after {before:?}")),
        }
    }
}
