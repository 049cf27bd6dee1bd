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

/// The table. Slots are reused, last freed first; it never shrinks below its fullest, which the caller caps.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    len: usize,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Slab { slots: Vec::new(), free: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The key the next `insert` will give, so that a record can hold its own.
    pub(crate) fn next_key(&self) -> Key {
        match self.free.last() {
            Some(&index) => Key { index, generation: self.generation(index) },
            None => Key { index: u32::try_from(self.slots.len()).unwrap_or(u32::MAX), generation: 0 },
        }
    }

    /// Stores `record`. The caller's caps keep the table far below 2^32 records.
    pub(crate) fn insert(&mut self, record: T) -> Key {
        let key = self.next_key();
        self.free.pop();
        self.len = self.len.saturating_add(1);
        match self.slots.get_mut(key.index as usize) {
            Some(slot) => slot.record = Some(record),
            None => self.slots.push(Slot { generation: 0, record: Some(record) }),
        }
        key
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let slot = self.slots.get(key.index as usize)?;
        if slot.generation == key.generation { slot.record.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.index as usize)?;
        if slot.generation == key.generation { slot.record.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key.index as usize)?;
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
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let index = u32::try_from(index).ok()?;
            Some((Key { index, generation: slot.generation }, slot.record.as_ref()?))
        })
    }

    fn generation(&self, index: u32) -> u32 {
        self.slots.get(index as usize).map_or(0, |slot| slot.generation)
    }
}
