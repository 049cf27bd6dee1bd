//! Breadth-first over every sequence of steps: the model is copied for each step, the endpoint, which cannot be,
//! repeats the steps that led there. States that the model's key makes equal are taken once. Every step is followed
//! by an end, to see that nothing is left (R14), and, where it leads to a state that is known, that the endpoint is in
//! that state too. What is kept of a state is in `graph`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use mcp_http_core::intake::Intake;

use super::graph::Graph;
use super::{Model, Op, Outcome, Rig, Rules, Secs, config};

const WORKERS: usize = 2;
/// States between which the workers tell each other what they found.
const ROUND: usize = 4096;

/// What is searched.
pub struct Search<'a> {
    /// The limits and deadlines.
    pub rules: Rules,
    /// The steps that can be taken from here.
    pub ops: &'a (dyn Fn(&Model) -> Vec<Op> + Sync),
    /// Steps that lead to where the search begins.
    pub start: Vec<Op>,
    /// Steps from there.
    pub depth: usize,
    /// About so many states are looked at.
    pub states_max: usize,
}

/// How much was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Distinct states.
    pub states: usize,
    /// Steps that were compared, repetitions left out.
    pub steps: u64,
    /// Every sequence of at most so many steps was covered.
    pub depth: usize,
    /// How many sequences those are.
    pub sequences: u128,
    /// Whether longer ones lead to nothing new.
    pub complete: bool,
}

/// What came of some states.
struct Grown {
    /// For each of them in turn, where each step leads.
    edges: Vec<Vec<u128>>,
    /// States that were new to this worker, and the step to each.
    new: Vec<(u128, u32, Op)>,
}

/// A step, the time after it, and what must come of it.
type Step = (Op, Secs, Outcome);

impl Search<'_> {
    /// Searches, and panics at the first difference with the shortest sequence to it.
    ///
    /// # Panics
    /// If endpoint and model disagree.
    #[must_use]
    pub fn run(&self) -> Found {
        let settings = Arc::new(config(&self.rules));
        let rig = Rig::new(&self.rules, &Intake::new(settings.clone()), &settings);
        let mut graph = Graph::new(self.path(&[]).1.key());
        let (mut depth, mut layer) = (0, 1);
        while depth < self.depth && graph.expanded() < layer {
            while graph.expanded() < layer && graph.states() < self.states_max {
                let round = graph.expanded()..layer.min(graph.expanded() + ROUND);
                for Grown { edges, new } in self.grow_all(round, &graph, &rig) {
                    graph.take_in(&new, &edges);
                }
            }
            if graph.expanded() < layer {
                break;
            }
            depth += 1;
            layer = graph.states();
        }
        Found {
            states: graph.states(),
            steps: graph.steps(),
            depth,
            sequences: graph.sequences(depth),
            complete: graph.expanded() == graph.states(),
        }
    }

    fn grow_all(&self, round: Range<usize>, graph: &Graph, rig: &Rig) -> Vec<Grown> {
        let part = round.len().div_ceil(WORKERS);
        thread::scope(|scope| {
            let work = |part: Range<usize>| {
                let rig = rig.anew();
                scope.spawn(move || self.grow(part, graph, rig))
            };
            let parts = round.clone().step_by(part.max(1));
            let workers: Vec<_> = parts.map(|from| work(from..round.end.min(from + part))).collect();
            workers.into_iter().map(|worker| worker.join().expect("the worker says why")).collect()
        })
    }

    /// Takes every step from each of these states.
    fn grow(&self, states: Range<usize>, graph: &Graph, rig: Rig) -> Grown {
        let mut grown = Grown { edges: Vec::new(), new: Vec::new() };
        let mut here = BTreeSet::new();
        for number in states {
            let (path, model) = self.path(&graph.path(number));
            let start = Start { key: model.key(), path, model, rig: &rig };
            let mut at: Option<(Rig, Model)> = None;
            let mut to = Vec::new();
            for op in (self.ops)(&start.model) {
                let (mut rig, mut model) = at.take().unwrap_or_else(|| start.go());
                let outcome = model.step(op);
                if let Err(why) = rig.step(op, model.now(), &outcome).and_then(|()| rig.compare(&model)) {
                    panic!("{:?}\n{}\n{why}", self.rules, start.story(op));
                }
                let key = model.key();
                to.push(key);
                if key == start.key {
                    // Nothing has changed: the next step can be taken from here.
                    at = Some((rig, model));
                } else {
                    let is_new = !graph.has(key) && here.insert(key);
                    if is_new {
                        grown.new.push((key, number as u32, op));
                    }
                    if let Err(why) = end(&mut rig, model, !is_new) {
                        panic!("{:?}\n{}\nand then, to the end: {why}", self.rules, start.story(op));
                    }
                }
            }
            if let Some((mut rig, model)) = at
                && let Err(why) = end(&mut rig, model, true)
            {
                panic!(
                    "{:?}\n{}\nthen every step that changes nothing, and then, to the end: {why}",
                    self.rules,
                    start.story_of_all()
                );
            }
            grown.edges.push(to);
        }
        grown
    }

    /// The model after the start and these steps, and how it came there.
    fn path(&self, more: &[Op]) -> (Vec<Step>, Model) {
        let mut model = Model::new(self.rules.clone());
        let mut path = Vec::new();
        for op in self.start.iter().chain(more) {
            let outcome = model.step(*op);
            path.push((*op, model.now(), outcome));
        }
        (path, model)
    }
}

/// A state from which every step is taken.
struct Start<'a> {
    key: u128,
    path: Vec<Step>,
    model: Model,
    rig: &'a Rig,
}

impl Start<'_> {
    fn go(&self) -> (Rig, Model) {
        let mut rig = self.rig.anew();
        for (op, now, outcome) in &self.path {
            if let Err(why) = rig.step(*op, *now, outcome) {
                panic!("{}\nR10, at {op:?}: {why}", self.story(*op));
            }
        }
        (rig, self.model.clone())
    }

    fn story(&self, last: Op) -> String {
        format!("{}  {last:?} -> ?", self.story_of_all())
    }

    fn story_of_all(&self) -> String {
        let line = |(op, now, outcome): &Step| format!("  {op:?} -> {now} s, {outcome:?}\n");
        self.path.iter().map(line).collect()
    }
}

/// Shuts down, lets all time go by, and looks that nothing is left (R14). A state that is new is left so that nobody
/// reads any more; what it holds shows when it is gone on from. Of a state that is known, only this shows whether the
/// endpoint too came to the same: everybody reads, and comes back to what broke.
fn end(rig: &mut Rig, mut model: Model, read: bool) -> Result<(), String> {
    let mut trace = String::new();
    let mut asked = BTreeSet::new();
    for _ in 0..200 {
        let reading = if read { model.reading(&mut asked) } else { None };
        let op = match reading {
            Some(op) => op,
            None if !model.is_shutting_down() => Op::Shutdown,
            None if model.next_deadline().is_some() => Op::Wait,
            None => return rig.check_drained().map_err(|why| format!("{trace}\n{why}")),
        };
        let outcome = model.step(op);
        trace.push_str(&format!("\n  {op:?} -> {} s", model.now()));
        let taken = rig.step(op, model.now(), &outcome).and_then(|()| rig.compare(&model));
        taken.map_err(|why| format!("{trace}: {why}"))?;
    }
    Err(format!("{trace}\nR14: it does not end"))
}

/// How far a search goes: what the environment says, else `usual`.
#[must_use]
pub fn bound(name: &str, usual: usize) -> usize {
    #[expect(clippy::disallowed_methods, reason = "a longer run of the same test")]
    let said = std::env::var(name).ok().and_then(|number| number.parse().ok());
    said.unwrap_or(usual)
}
