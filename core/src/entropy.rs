//! Where the machines' chance comes from. Not a generator: the caller brings one (R10).

use thiserror::Error;

/// A source of unpredictable bytes for session ids.
///
/// The operating system's source is right for a server; a counter is right for a test that wants the same
/// ids at each run. A source may fail: the request that needed it is refused and nothing else is touched.
pub trait Entropy: Send {
    /// Fills `into` whole, or fails and leaves it in any state.
    ///
    /// # Errors
    /// [`EntropyError`] when no unpredictable bytes can be had now.
    fn fill(&mut self, into: &mut [u8]) -> Result<(), EntropyError>;
}

/// The source has no bytes to give.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("no entropy to be had")]
pub struct EntropyError;
