//! What all endpoints of one server count together, so that caps are exact for any number of shards (R8).
//! Atomic counters and nothing else; who may have a place is decided by `sessions`.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// The shared counts of one server. Give every endpoint the same one.
#[derive(Debug, Default)]
pub struct Budget {
    sessions: AtomicUsize,
    solo_calls: AtomicUsize,
    listens: AtomicUsize,
    buffered_bytes: AtomicUsize,
}

/// Bytes held outside the endpoints, given back when this is dropped.
#[derive(Debug)]
pub struct Lease {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Lease {
    /// Leases `bytes` more, if all together stay within `memory_max`. Returns whether it did.
    #[must_use]
    pub fn grow(&mut self, bytes: usize, memory_max: usize) -> bool {
        let grown = self.budget.take_bytes(bytes, memory_max);
        if grown {
            self.bytes = self.bytes.saturating_add(bytes);
        }
        grown
    }

    /// Keeps at most `bytes`, and gives the rest back.
    pub fn shrink_to(&mut self, bytes: usize) {
        if bytes < self.bytes {
            self.budget.bytes_changed(self.bytes, bytes);
            self.bytes = bytes;
        }
    }

    /// Bytes that are leased.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.budget.bytes_changed(self.bytes, 0);
    }
}

impl Budget {
    /// Nothing taken yet.
    #[must_use]
    pub fn new() -> Self {
        Budget::default()
    }

    /// Sessions that have a place, pending ones included.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Bytes of everything that counts against `memory_max`: frames in rings, answers on their way, and what
    /// was leased.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.buffered_bytes.load(Ordering::Relaxed)
    }

    /// Leases no bytes yet: for what a server holds outside its endpoints, such as requests that are being read.
    #[must_use]
    pub fn lease(self: &Arc<Self>) -> Lease {
        Lease { budget: Arc::clone(self), bytes: 0 }
    }

    pub(super) fn take_session(&self, max: usize) -> bool {
        take_one(&self.sessions, max)
    }

    pub(super) fn free_session(&self) {
        give_back(&self.sessions, 1);
    }

    pub(super) fn take_solo_call(&self, max: usize) -> bool {
        take_one(&self.solo_calls, max)
    }

    pub(super) fn free_solo_call(&self) {
        give_back(&self.solo_calls, 1);
    }

    pub(super) fn take_listen(&self, max: usize) -> bool {
        take_one(&self.listens, max)
    }

    pub(super) fn free_listen(&self) {
        give_back(&self.listens, 1);
    }

    pub(super) fn take_bytes(&self, number: usize, max: usize) -> bool {
        let taken = self.buffered_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            taken.checked_add(number).filter(|sum| *sum <= max)
        });
        taken.is_ok()
    }

    /// Follows what holds bytes from `before` to `after` of them.
    pub(super) fn bytes_changed(&self, before: usize, after: usize) {
        if after >= before {
            self.buffered_bytes.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
        } else {
            give_back(&self.buffered_bytes, before.saturating_sub(after));
        }
    }
}

// Relaxed is enough: each count is decided by one atomic operation, and no other memory hangs on it.
fn take_one(count: &AtomicUsize, max: usize) -> bool {
    let taken = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
        if taken < max { taken.checked_add(1) } else { None }
    });
    taken.is_ok()
}

fn give_back(count: &AtomicUsize, number: usize) {
    let given = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| taken.checked_sub(number));
    debug_assert!(given.is_ok(), "more given back than taken");
}
