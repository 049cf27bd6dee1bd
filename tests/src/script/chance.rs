//! Entropy that is the same at every run, and that can be told to fail or to repeat itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use mcp_http_core::entropy::{Entropy, EntropyError};

/// What the source gives from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// Another number at each draw.
    Counts,
    /// The same bytes at each draw.
    Repeats,
    /// Nothing.
    Fails,
}

/// A source whose behaviour its switch decides.
#[derive(Debug)]
pub(super) struct Source {
    switch: Switch,
    drawn: u64,
}

/// The hand on the switch of all sources of a script.
#[derive(Clone, Debug, Default)]
pub(super) struct Switch(Arc<AtomicU8>);

impl Switch {
    pub(super) fn set(&self, chance: Chance) {
        self.0.store(chance as u8, Ordering::Relaxed);
    }

    /// Sources of different shards start far apart.
    pub(super) fn source(&self, shard: u16) -> Source {
        Source { switch: self.clone(), drawn: u64::from(shard) << 24 }
    }
}

impl Entropy for Source {
    fn fill(&mut self, into: &mut [u8]) -> Result<(), EntropyError> {
        match self.switch.0.load(Ordering::Relaxed) {
            mode if mode == Chance::Fails as u8 => return Err(EntropyError),
            mode if mode == Chance::Repeats as u8 => {
                into.fill(0xa5);
                return Ok(());
            }
            _ => {}
        }
        self.drawn += 1;
        // The number stands in every stretch of eight bytes, so that any part of a draw differs from draw to draw.
        for stretch in into.chunks_mut(8) {
            let bytes = self.drawn.to_le_bytes();
            stretch.copy_from_slice(&bytes[..stretch.len()]);
        }
        Ok(())
    }
}
