//! A table whose keys outlive their records safely. A key names one slot *and* one generation of it, so a
//! late event about an old record can never hit the newer one in the same slot (DESIGN: the life of a session).

/// Names one record of one [`Slab`], for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    record: Option<T>,
}

/// Slots of one chunk.
const CHUNK: usize = 256;

/// The table. Slots are reused, last freed first; it never shrinks below its fullest, which the caller caps.
/// It grows by a chunk at a time, and no record ever moves: one more costs the same in a large table (L6).
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<Slot<T>>>,
    free: Vec<u32>,
    len: usize,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Slab { chunks: Vec::new(), free: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The key the next `insert` will give, so that a record can hold its own.
    pub(crate) fn next_key(&self) -> Key {
        match self.free.last() {
            Some(&index) => Key { index, generation: self.generation(index) },
            None => Key { index: u32::try_from(self.slots()).unwrap_or(u32::MAX), generation: 0 },
        }
    }

    /// Stores `record`. The caller's caps keep the table far below 2^32 records.
    pub(crate) fn insert(&mut self, record: T) -> Key {
        let key = self.next_key();
        self.free.pop();
        self.len = self.len.saturating_add(1);
        match self.slot_mut(key.index) {
            Some(slot) => slot.record = Some(record),
            None => self.add_slot(Slot { generation: 0, record: Some(record) }),
        }
        key
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let slot = self.slot(key.index)?;
        if slot.generation == key.generation { slot.record.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slot_mut(key.index)?;
        if slot.generation == key.generation { slot.record.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slot_mut(key.index)?;
        if slot.generation != key.generation {
            return None;
        }
        let record = slot.record.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.index);
        self.len = self.len.saturating_sub(1);
        Some(record)
    }

    /// All records, in the order of their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        (0_u32..).zip(self.chunks.iter().flatten()).filter_map(|(index, slot)| {
            Some((Key { index, generation: slot.generation }, slot.record.as_ref()?))
        })
    }

    /// How many slots there are, free ones included: indexes are below this.
    pub(crate) fn slots(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1).saturating_mul(CHUNK);
        full.saturating_add(self.chunks.last().map_or(0, Vec::len))
    }

    /// The key of the record in a slot, if there is one.
    pub(crate) fn key_at(&self, index: u32) -> Option<Key> {
        let slot = self.slot(index)?;
        slot.record.as_ref().map(|_| Key { index, generation: slot.generation })
    }

    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let index = index as usize;
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<T>> {
        let index = index as usize;
        self.chunks.get_mut(index / CHUNK)?.get_mut(index % CHUNK)
    }

    fn add_slot(&mut self, slot: Slot<T>) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(slot),
            // The first chunk grows to its size, so that a small table stays small.
            first_or_full => {
                let room = if first_or_full.is_some() { CHUNK } else { 0 };
                let mut chunk = Vec::with_capacity(room);
                chunk.push(slot);
                self.chunks.push(chunk);
            }
        }
    }

    fn generation(&self, index: u32) -> u32 {
        self.slot(index).map_or(0, |slot| slot.generation)
    }
}
