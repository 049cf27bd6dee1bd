//! The frames of one stream: what was not sent yet, and behind the cursor what a resume may ask for again.
//! The ring *is* the send queue (R6, R8). It knows positions and bytes, not messages, exchanges or timers.

use std::collections::VecDeque;

use bytes::Bytes;

/// One encoded event.
#[derive(Clone, Debug)]
struct Frame {
    position: u64,
    bytes: Bytes,
    droppable: bool,
}

/// How much may wait in a ring, and for whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Frames, this ring's limit.
    pub(super) frames_max: usize,
    /// Bytes, this ring's limit.
    pub(super) bytes_max: usize,
}

/// What a frame is to the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// Progress and logs: the first to go.
    Droppable,
    /// Kept, or refused with `Full`.
    Kept,
    /// The last frame of the stream: there is always room for it (R14).
    Final,
}

/// What became of a pushed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It waits at this position; so many droppable frames went for it.
    Stored { dropped: u64 },
    /// It was droppable and there was no room.
    Dropped,
    /// There is no room until the carrier pulls.
    Full,
}

#[derive(Debug)]
pub(super) struct Ring {
    frames: VecDeque<Frame>,
    /// How many of `frames`, from the front, the carrier has pulled.
    pulled: usize,
    bytes: usize,
    /// The position of the newest frame ever stored; the first is 1.
    newest: u64,
    /// The newest position that was evicted; frames up to it are gone.
    evicted: u64,
}

impl Ring {
    pub(super) fn new() -> Self {
        Ring { frames: VecDeque::new(), pulled: 0, bytes: 0, newest: 0, evicted: 0 }
    }

    /// The position that the next stored frame will have.
    pub(super) fn next_position(&self) -> u64 {
        self.newest.saturating_add(1)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn has_pulled(&self) -> bool {
        self.pulled > 0
    }

    pub(super) fn has_unpulled(&self) -> bool {
        self.pulled < self.frames.len()
    }

    /// The position of the last frame pulled, or of the last evicted if there is none.
    pub(super) fn cursor(&self) -> u64 {
        let last_pulled = self.pulled.checked_sub(1).and_then(|index| self.frames.get(index));
        last_pulled.map_or(self.evicted, |frame| frame.position)
    }

    /// Stores a frame encoded for `next_position`. While a carrier is `attached`, what is behind the cursor
    /// makes room for it, then what is droppable; else what is droppable, then the oldest.
    pub(super) fn push(&mut self, bytes: Bytes, weight: Weight, attached: bool, room: Room) -> Pushed {
        let mut dropped: u64 = 0;
        while !self.fits(bytes.len(), room) {
            if attached && self.pulled > 0 {
                self.evict_oldest();
            } else if weight == Weight::Final {
                break;
            } else if attached && weight == Weight::Droppable {
                return Pushed::Dropped;
            } else if self.drop_one(attached) {
                dropped = dropped.saturating_add(1);
            } else if weight == Weight::Droppable {
                return Pushed::Dropped;
            } else if !attached {
                self.evict_oldest();
            } else {
                return Pushed::Full;
            }
        }
        let position = self.next_position();
        self.newest = position;
        self.bytes = self.bytes.saturating_add(bytes.len());
        self.frames.push_back(Frame { position, bytes, droppable: weight == Weight::Droppable });
        Pushed::Stored { dropped }
    }

    /// The next frame for the carrier. With `keep` it stays for a resume, else it is gone.
    pub(super) fn pull(&mut self, keep: bool) -> Option<Bytes> {
        let bytes = self.frames.get(self.pulled)?.bytes.clone();
        self.pulled = self.pulled.saturating_add(1);
        if !keep {
            self.evict_oldest();
        }
        Some(bytes)
    }

    /// Moves the cursor so that what followed `position` is pulled next. Returns whether that leaves more
    /// behind it, which can make room.
    pub(super) fn rewind(&mut self, position: u64) -> bool {
        let before = self.pulled;
        self.pulled = self.frames.partition_point(|frame| frame.position <= position);
        self.pulled > before
    }

    /// Whether a frame after `position` was evicted.
    pub(super) fn misses_after(&self, position: u64) -> bool {
        position < self.evicted
    }

    /// Whether a frame after `position` is here.
    pub(super) fn has_after(&self, position: u64) -> bool {
        self.frames.back().is_some_and(|frame| frame.position > position)
    }

    /// Whether `position` was given out by this ring.
    pub(super) fn knows(&self, position: u64) -> bool {
        position <= self.newest
    }

    /// Drops the oldest frame the carrier has pulled, for the sake of the session's other streams.
    pub(super) fn evict_pulled(&mut self) -> bool {
        self.pulled > 0 && self.evict_oldest()
    }

    /// Drops the oldest frame whoever has seen it; the caller knows that nobody is attached.
    pub(super) fn evict_oldest(&mut self) -> bool {
        let Some(frame) = self.frames.pop_front() else { return false };
        self.bytes = self.bytes.saturating_sub(frame.bytes.len());
        self.evicted = frame.position;
        self.pulled = self.pulled.saturating_sub(1);
        true
    }

    /// Drops every frame.
    pub(super) fn clear(&mut self) {
        while self.evict_oldest() {}
    }

    /// Takes out what was not pulled, for an exchange that outlives the stream's session.
    pub(super) fn into_unpulled(mut self) -> VecDeque<Bytes> {
        self.frames.drain(..self.pulled.min(self.frames.len()));
        self.frames.into_iter().map(|frame| frame.bytes).collect()
    }

    /// The sum that `bytes` must equal.
    #[cfg(debug_assertions)]
    pub(super) fn recomputed_bytes(&self) -> usize {
        self.frames.iter().map(|frame| frame.bytes.len()).sum()
    }

    /// An empty ring takes a frame of any size; `message_bytes_max` bounds it.
    fn fits(&self, len: usize, room: Room) -> bool {
        self.frames.is_empty()
            || (self.frames.len() < room.frames_max && self.bytes.saturating_add(len) <= room.bytes_max)
    }

    /// Drops the oldest droppable frame; while a carrier is attached, of those that were not pulled.
    fn drop_one(&mut self, attached: bool) -> bool {
        let from = if attached { self.pulled } else { 0 };
        let mut droppable = self.frames.iter().enumerate().skip(from).filter(|(_, frame)| frame.droppable);
        let Some((index, _)) = droppable.next() else { return false };
        if let Some(frame) = self.frames.remove(index) {
            self.bytes = self.bytes.saturating_sub(frame.bytes.len());
            if index < self.pulled {
                self.pulled = self.pulled.saturating_sub(1);
            }
        }
        true
    }
}
