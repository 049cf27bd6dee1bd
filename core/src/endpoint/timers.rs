//! Deadlines in order. Says which are due, not what they mean.

use std::collections::BTreeSet;

use crate::slab::Key;
use crate::time::Timestamp;

/// What a deadline is about. Kinds are kept apart, so that the oldest of one kind is found without a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A session that is pending or offered must be committed.
    Establish,
    /// A committed session must be used.
    Confirm,
    /// A session that was used must be used again.
    Idle,
    /// Either of the two, for a session whose place is promised to a new one: kept apart, so that who looks for
    /// another to give up need not pass by those.
    Promised,
    /// An exchange must show a sign of life: its head, or a comment.
    Exchange,
    /// A detached stream is let go.
    Retention,
    /// Memory may have been given back.
    Memory,
    /// Everything ends.
    Shutdown,
}

const KINDS: [Kind; 8] = [
    Kind::Establish,
    Kind::Confirm,
    Kind::Idle,
    Kind::Promised,
    Kind::Exchange,
    Kind::Retention,
    Kind::Memory,
    Kind::Shutdown,
];

/// One deadline: of a record, and of a part of it where it has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: Timestamp,
    pub(super) key: Key,
    pub(super) part: u32,
}

impl Due {
    /// A deadline that belongs to no record.
    pub(super) fn of_none(at: Timestamp, part: u32) -> Self {
        Due { at, key: Key { index: 0, generation: 0 }, part }
    }
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    sets: [BTreeSet<Due>; KINDS.len()],
    /// The earliest of all, so that asking for it is O(1).
    next: Option<(Timestamp, Kind)>,
}

impl Timers {
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next.map(|(at, _)| at)
    }

    pub(super) fn add(&mut self, kind: Kind, due: Due) {
        if let Some(set) = self.sets.get_mut(kind as usize) {
            set.insert(due);
        }
        if self.next.is_none_or(|next| (due.at, kind) < next) {
            self.next = Some((due.at, kind));
        }
    }

    pub(super) fn remove(&mut self, kind: Kind, due: Due) {
        let removed = self.sets.get_mut(kind as usize).is_some_and(|set| set.remove(&due));
        if removed && self.next == Some((due.at, kind)) {
            self.next = self.earliest();
        }
    }

    /// Takes out all deadlines of one kind.
    pub(super) fn clear(&mut self, kind: Kind) {
        if let Some(set) = self.sets.get_mut(kind as usize) {
            set.clear();
        }
        self.next = self.earliest();
    }

    /// Takes the earliest deadline that is not later than `now`.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<(Kind, Due)> {
        let (at, kind) = self.next?;
        if at > now {
            return None;
        }
        let due = self.sets.get_mut(kind as usize)?.pop_first();
        self.next = self.earliest();
        due.map(|due| (kind, due))
    }

    /// The deadlines of one kind, earliest first.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = &Due> {
        self.sets.get(kind as usize).into_iter().flatten()
    }

    #[cfg(debug_assertions)]
    pub(super) fn has(&self, kind: Kind, due: Due) -> bool {
        self.sets.get(kind as usize).is_some_and(|set| set.contains(&due))
    }

    pub(super) fn len(&self) -> usize {
        self.sets.iter().map(BTreeSet::len).sum()
    }

    fn earliest(&self) -> Option<(Timestamp, Kind)> {
        let firsts = KINDS.iter().zip(&self.sets).filter_map(|(kind, set)| Some((set.first()?.at, *kind)));
        firsts.min()
    }
}
