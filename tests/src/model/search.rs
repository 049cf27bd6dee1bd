//! Breadth-first over every sequence of steps: the model is copied from state to state, the endpoint, which cannot
//! be, repeats the steps that led there. States that the model's key makes equal are taken once, and each is also
//! shut down, to see that nothing is left (R14).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use mcp_http_core::config::Config;
use mcp_http_core::intake::Intake;

use super::{Model, Op, Outcome, Rig, Rules, config};

const WORKERS: usize = 2;

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

/// How a state was reached.
struct Node {
    before: Option<Arc<Node>>,
    /// The step, the time after it, and what must come of it.
    step: (Op, u64, Outcome),
}

struct State {
    model: Model,
    key: u128,
    path: Option<Arc<Node>>,
}

/// What came of some states of the frontier.
struct Grown {
    new: Vec<State>,
    /// For each state that was looked at, where each step leads.
    edges: Vec<(u128, Vec<u128>)>,
    /// Whether all states were looked at.
    whole: bool,
}

/// What every worker needs.
struct Tools {
    settings: Arc<Config>,
    intake: Intake,
}

impl Search<'_> {
    /// Searches, and panics at the first difference with the shortest sequence to it.
    ///
    /// # Panics
    /// If endpoint and model disagree.
    #[must_use]
    pub fn run(&self) -> Found {
        let settings = Arc::new(config(&self.rules));
        let tools = Tools { intake: Intake::new(settings.clone()), settings };
        let first = self.first();
        let start = first.key;
        let mut graph: BTreeMap<u128, Vec<u128>> = BTreeMap::from([(start, Vec::new())]);
        let mut frontier = vec![first];
        let (mut depth, mut whole, mut steps) = (0, true, 0);
        while depth < self.depth && whole && !frontier.is_empty() {
            let part = frontier.len().div_ceil(WORKERS);
            let room = self.states_max.saturating_sub(graph.len()) / WORKERS;
            let grown: Vec<Grown> = thread::scope(|scope| {
                let (graph, tools) = (&graph, &tools);
                let work = |states| scope.spawn(move || self.grow(states, graph, room, tools));
                let workers: Vec<_> = frontier.chunks(part).map(work).collect();
                workers.into_iter().map(|worker| worker.join().expect("the worker says why")).collect()
            });
            frontier.clear();
            for Grown { new, edges, whole: all } in grown {
                whole &= all;
                steps += edges.iter().map(|(_, to)| to.len() as u64).sum::<u64>();
                graph.extend(edges);
                for state in new {
                    if let std::collections::btree_map::Entry::Vacant(entry) = graph.entry(state.key) {
                        entry.insert(Vec::new());
                        frontier.push(state);
                    }
                }
            }
            depth += usize::from(whole);
        }
        let sequences = count(&graph, start, depth);
        Found { states: graph.len(), steps, depth, sequences, complete: whole && frontier.is_empty() }
    }

    fn first(&self) -> State {
        let mut model = Model::new(self.rules.clone());
        let mut path = None;
        for op in &self.start {
            let outcome = model.step(*op);
            path = Some(Arc::new(Node { before: path, step: (*op, model.now(), outcome) }));
        }
        State { key: model.key(), model, path }
    }

    /// Takes every step from each of these states, until there are `room` new ones.
    fn grow(&self, states: &[State], seen: &BTreeMap<u128, Vec<u128>>, room: usize, tools: &Tools) -> Grown {
        let mut grown = Grown { new: Vec::new(), edges: Vec::new(), whole: true };
        let mut here = BTreeSet::new();
        for state in states {
            if grown.new.len() > room {
                grown.whole = false;
                return grown;
            }
            let mut at: Option<(Rig, Model)> = None;
            let mut to = Vec::new();
            for op in (self.ops)(&state.model) {
                let fresh = || (self.replay(state, tools), state.model.clone());
                let (mut rig, mut model) = at.take().unwrap_or_else(fresh);
                let outcome = model.step(op);
                if let Err(why) = rig.step(op, model.now(), &outcome).and_then(|()| rig.compare(&model)) {
                    panic!("{}\n{why}", self.story(state, op));
                }
                let key = model.key();
                to.push(key);
                if key == state.key {
                    // Nothing has changed: the next step can be taken from here.
                    at = Some((rig, model));
                } else if !seen.contains_key(&key) && here.insert(key) {
                    grown.new.push(after(state, op));
                    if let Err(why) = drain(&mut rig, model) {
                        panic!("{}\nand then, draining: {why}", self.story(state, op));
                    }
                }
            }
            grown.edges.push((state.key, to));
        }
        grown
    }

    fn replay(&self, state: &State, tools: &Tools) -> Rig {
        let mut rig = Rig::new(&self.rules, &tools.intake, &tools.settings);
        for node in steps(state) {
            let (op, now, outcome) = &node.step;
            if let Err(why) = rig.step(*op, *now, outcome) {
                panic!("{}\nR10, at {op:?}: {why}", self.story(state, *op));
            }
        }
        rig
    }

    fn story(&self, state: &State, last: Op) -> String {
        let mut story = format!("{:?}\n", self.rules);
        for node in steps(state) {
            let (op, now, outcome) = &node.step;
            story.push_str(&format!("  {op:?} -> {now} s, {outcome:?}\n"));
        }
        format!("{story}  {last:?} -> ?")
    }
}

/// The state after this step, told without the steps between that changed nothing.
fn after(state: &State, op: Op) -> State {
    let mut model = state.model.clone();
    let outcome = model.step(op);
    let node = Node { before: state.path.clone(), step: (op, model.now(), outcome) };
    State { key: model.key(), model, path: Some(Arc::new(node)) }
}

fn steps(state: &State) -> Vec<Arc<Node>> {
    let mut nodes = Vec::new();
    let mut next = state.path.clone();
    while let Some(node) = next {
        next = node.before.clone();
        nodes.push(node);
    }
    nodes.reverse();
    nodes
}

/// How many sequences of one to `depth` steps there are from `start`.
fn count(graph: &BTreeMap<u128, Vec<u128>>, start: u128, depth: usize) -> u128 {
    let mut ways = BTreeMap::from([(start, 1_u128)]);
    let mut sequences = 0_u128;
    for _ in 0..depth {
        let mut next: BTreeMap<u128, u128> = BTreeMap::new();
        for (key, ways) in &ways {
            for to in &graph[key] {
                let sum = next.entry(*to).or_default();
                *sum = sum.saturating_add(*ways);
            }
        }
        sequences = next.values().fold(sequences, |sum, ways| sum.saturating_add(*ways));
        ways = next;
    }
    sequences
}

/// Shuts down, lets all time go by, and looks that nothing is left (R14).
fn drain(rig: &mut Rig, mut model: Model) -> Result<(), String> {
    let mut trace = String::new();
    let mut op = Op::Shutdown;
    for _ in 0..100 {
        let outcome = model.step(op);
        trace.push_str(&format!("\n  {op:?} -> {} s", model.now()));
        let taken = rig.step(op, model.now(), &outcome).and_then(|()| rig.compare(&model));
        taken.map_err(|why| format!("{trace}: {why}"))?;
        if model.next_deadline().is_none() {
            break;
        }
        op = Op::Wait;
    }
    rig.check_drained().map_err(|why| format!("{trace}: {why}"))
}

/// How far a search goes: what the environment says, else one number for debug builds and one for release.
#[must_use]
pub fn bound(name: &str, debug: usize, release: usize) -> usize {
    #[expect(clippy::disallowed_methods, reason = "a longer run of the same test")]
    let said = std::env::var(name).ok().and_then(|number| number.parse().ok());
    said.unwrap_or(if cfg!(debug_assertions) { debug } else { release })
}
