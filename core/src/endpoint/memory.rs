//! The memory of the whole server (R8): frames that wait in rings never exceed `memory_max` together, but for
//! the last frames of calls, which always have room (R14). The count is shared by all shards; what makes room
//! is this shard's.

use core::time::Duration;

use crate::slab::Key;
use crate::time::Timestamp;

use super::Endpoint;
use super::action::{Actions, Home};
use super::timers::{Due, Kind};

/// How often a shard with senders that wait for memory looks whether another shard has given some back.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The key of a deadline that belongs to no record.
const NO_KEY: Key = Key { index: 0, generation: 0 };

impl Endpoint {
    /// Takes `len` bytes of the server's memory. Streams that are retained for a resume go for it, those that
    /// broke first going first.
    pub(super) fn take_memory(&mut self, len: usize) -> bool {
        while !self.budget.take_bytes(len, self.config.memory_max) {
            if !self.give_up_retained() {
                return false;
            }
        }
        true
    }

    /// Whether there are `len` bytes of memory now, or can be made.
    pub(super) fn has_memory(&mut self, len: usize) -> bool {
        let has = self.take_memory(len);
        if has {
            self.budget.ring_changed(len, 0);
        }
        has
    }

    /// A sender was refused for want of memory: it is told when there may be some.
    pub(super) fn wait_for_memory(&mut self, now: Timestamp) {
        if self.timers.of(Kind::Memory).next().is_none() {
            self.timers.add(Kind::Memory, Due { at: now.after(LOOK_AGAIN), key: NO_KEY, part: 0 });
        }
    }

    /// Time to look again.
    pub(super) fn handle_memory(&mut self, now: Timestamp, out: &mut Actions) {
        if self.budget.buffered_bytes() >= self.config.memory_max {
            return self.wait_for_memory(now);
        }
        let blocked = self.sessions.iter().flat_map(|(session, record)| {
            record.streams.iter().map(move |stream| Home::Session { session, stream: stream.number })
        });
        let homes: Vec<Home> = blocked.collect();
        let solo: Vec<Key> = self.exchanges.iter().map(|(key, _)| key).collect();
        for home in homes.into_iter().chain(solo.into_iter().map(Home::Exchange)) {
            self.unblock(home, out);
        }
    }

    fn give_up_retained(&mut self) -> bool {
        let Some(due) = self.timers.of(Kind::Retention).next().copied() else { return false };
        self.timers.remove(Kind::Retention, due);
        let home = Home::Session { session: due.key, stream: due.part };
        let Some(stream) = self.stream_mut(home) else { return true };
        stream.retained_until = None;
        self.let_go(due.key, due.part);
        true
    }
}
