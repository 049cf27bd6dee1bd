//! The memory of the whole server (R8): frames in rings, answers on their way, and requests from their first octet
//! on, stay within `memory_max` together, but for answers of at most a kibibyte, which always have room (R14). The count
//! is shared by all shards; what makes room is this shard's.

use core::time::Duration;

use crate::slab::Key;
use crate::time::Timestamp;

use super::Endpoint;
use super::action::{Action, Actions, CallId, Home, SessionKey, Target};
use super::budget::Budget;
use super::ring::{Ring, Weight};
use super::stream::Stream;
use super::timers::{Due, Kind};

/// How often a shard with senders that wait for memory looks whether another shard has given some back.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Answers up to this, in bytes, always have room.
const ALWAYS: usize = 1024;

/// Sessions looked at for one frame to drop.
const LOOKED_AT_MAX: usize = 4096;

impl Endpoint {
    /// Takes `len` bytes of the server's memory. Streams that are retained for a resume go for it, those that
    /// broke first going first, then what nobody is about to read; but not for what can be left out.
    pub(super) fn take_memory(&mut self, len: usize, weight: Weight) -> bool {
        if weight == Weight::Droppable {
            return self.budget.take_bytes(len, self.config.memory_max);
        }
        while !self.budget.take_bytes(len, self.config.memory_max) {
            if !self.free_one_retained() && !self.free_one_unread() {
                return false;
            }
        }
        true
    }

    /// Whether there are `len` bytes of memory now, or can be made.
    pub(super) fn has_memory(&mut self, len: usize, weight: Weight) -> bool {
        let has = self.take_memory(len, weight);
        if has {
            self.budget.bytes_changed(len, 0);
        }
        has
    }

    /// Why an answer of `len` bytes cannot be given, if it cannot.
    pub(super) fn cannot_hold(&mut self, len: usize) -> Option<&'static str> {
        if len > self.config.message_bytes_max {
            return Some("the answer is larger than the limit");
        }
        let room = len <= ALWAYS || self.has_memory(len, Weight::Kept);
        if room { None } else { Some("the server has no memory left for the answer") }
    }

    /// A sender was refused for want of memory: it is told when there may be some.
    pub(super) fn wait_for_memory(&mut self, home: Home, call: Option<CallId>, now: Timestamp) {
        self.starving.insert((home, call.map(|call| call.index)));
        self.look_again_at(now.after(LOOK_AGAIN));
    }

    /// Time to look again: one sender is told, and the next in its turn, as long as there is memory.
    pub(super) fn handle_memory(&mut self, now: Timestamp, out: &mut Actions) {
        if self.budget.buffered_bytes() >= self.config.memory_max {
            return self.look_again_at(now.after(LOOK_AGAIN));
        }
        let Some((home, index)) = self.starving.pop_first() else { return };
        if !self.starving.is_empty() {
            self.look_again_at(now);
        }
        let Some(stream) = self.stream_mut(home) else { return };
        match (index, home) {
            (Some(index), _) => {
                let blocked =
                    stream.waiting_mut(index).is_some_and(|call| core::mem::take(&mut call.blocked));
                if blocked {
                    out.push(Action::Writable { target: Target::Call(CallId { home, index }) });
                }
            }
            (None, Home::Session { session, .. }) if core::mem::take(&mut stream.blocked) => {
                out.push(Action::Writable { target: Target::Session(SessionKey(session)) });
            }
            (None, Home::Session { .. } | Home::Exchange(_)) => {}
        }
    }

    fn look_again_at(&mut self, at: Timestamp) {
        if self.timers.of(Kind::Memory).next().is_none() {
            self.timers.add(Kind::Memory, Due::of_none(at, 0));
        }
    }

    pub(super) fn free_retained(&mut self, bytes: usize) -> usize {
        let before = self.budget.buffered_bytes();
        let freed = |budget: &Budget| before.saturating_sub(budget.buffered_bytes());
        while freed(&self.budget) < bytes && (self.free_one_retained() || self.free_one_unread()) {}
        freed(&self.budget)
    }

    /// An exchange holds so many bytes more, until it ends.
    pub(super) fn hold(&mut self, key: Key, bytes: usize) {
        if let Some(exchange) = self.exchanges.get_mut(key) {
            exchange.held = exchange.held.saturating_add(bytes);
            self.budget.bytes_changed(0, bytes);
        }
    }

    /// Gives back what an exchange holds: it is somewhere else now.
    pub(super) fn unhold(&mut self, key: Key) {
        if let Some(exchange) = self.exchanges.get_mut(key) {
            self.budget.bytes_changed(core::mem::take(&mut exchange.held), 0);
        }
    }

    /// Drops a frame that nobody is about to read: a reader has taken it, or there is none. Looks at so many
    /// sessions, from where the last look ended, so that no sender holds the lock for long.
    fn free_one_unread(&mut self) -> bool {
        let spare = |stream: &&Stream| stream.ring.has_pulled() || stream.is_left();
        for _ in 0..LOOKED_AT_MAX.min(self.sessions.slots()) {
            let found = self.sessions.key_at(self.spare_slot).and_then(|session| {
                let stream = self.sessions.get(session)?.streams.iter().find(spare)?;
                Some((Home::Session { session, stream: stream.number }, stream.is_left()))
            });
            if let Some((home, left)) = found {
                let evict = |ring: &mut Ring| if left { ring.evict_oldest() } else { ring.evict_pulled() };
                return self.with_ring(home, evict) == Some(true);
            }
            let next = self.spare_slot.saturating_add(1);
            self.spare_slot = if (next as usize) < self.sessions.slots() { next } else { 0 };
        }
        false
    }

    fn free_one_retained(&mut self) -> bool {
        let Some(due) = self.timers.of(Kind::Retention).next().copied() else { return false };
        self.timers.remove(Kind::Retention, due);
        let home = Home::Session { session: due.key, stream: due.part };
        let Some(stream) = self.stream_mut(home) else { return true };
        stream.retained_until = None;
        self.let_go(due.key, due.part);
        true
    }
}
