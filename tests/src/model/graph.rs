//! What a search keeps of the states it has reached: a number of 16 octets for each, the step that led there, and
//! where the steps from there lead. No state itself is kept, so that ten million of them fit into memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use super::Op;

/// States by their keys, in the order in which they were reached, which is by depth.
pub(super) struct Graph {
    numbers: HashMap<u128, u32, BuildHasherDefault<Half>>,
    /// The state before, and the step from there; the first state has none.
    reached: Vec<(u32, Option<Op>)>,
    /// Where the steps lead, state by state.
    edges: Vec<u32>,
    /// Where the edges of each state end.
    ends: Vec<usize>,
}

impl Graph {
    pub(super) fn new(first: u128) -> Self {
        Graph {
            numbers: HashMap::from_iter([(first, 0)]),
            reached: vec![(0, None)],
            edges: Vec::new(),
            ends: Vec::new(),
        }
    }

    pub(super) fn states(&self) -> usize {
        self.reached.len()
    }

    /// States from which every step was taken; they are the first ones.
    pub(super) fn expanded(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn steps(&self) -> u64 {
        self.edges.len() as u64
    }

    pub(super) fn has(&self, key: u128) -> bool {
        self.numbers.contains_key(&key)
    }

    /// The steps from the first state to this one.
    pub(super) fn path(&self, mut number: usize) -> Vec<Op> {
        let mut path = Vec::new();
        while let (before, Some(op)) = self.reached[number] {
            path.push(op);
            number = before as usize;
        }
        path.reverse();
        path
    }

    /// What came of the next states to expand.
    pub(super) fn take_in(&mut self, new: &[(u128, u32, Op)], edges: &[Vec<u128>]) {
        for (key, before, op) in new {
            if let Entry::Vacant(entry) = self.numbers.entry(*key) {
                entry.insert(u32::try_from(self.reached.len()).expect("fewer states"));
                self.reached.push((*before, Some(*op)));
            }
        }
        for to in edges {
            self.edges.extend(to.iter().map(|key| self.numbers[key]));
            self.ends.push(self.edges.len());
        }
    }

    /// How many sequences of one to `depth` steps there are.
    pub(super) fn sequences(&self, depth: usize) -> u128 {
        let mut ways = vec![0_u128; self.states()];
        ways[0] = 1;
        let mut sequences = 0_u128;
        for _ in 0..depth {
            let mut next = vec![0_u128; self.states()];
            for (number, end) in self.ends.iter().enumerate().filter(|(number, _)| ways[*number] > 0) {
                let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
                for to in &self.edges[begin..*end] {
                    let sum = &mut next[*to as usize];
                    *sum = sum.saturating_add(ways[number]);
                }
            }
            sequences = next.iter().fold(sequences, |sum, ways| sum.saturating_add(*ways));
            ways = next;
        }
        sequences
    }
}

/// A key is a hash already; half of it will do to find it by.
#[derive(Default)]
struct Half(u64);

impl Hasher for Half {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for (at, byte) in bytes.iter().take(8).enumerate() {
            self.0 |= u64::from(*byte) << (8 * at);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}
