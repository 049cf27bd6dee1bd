//! The operating system's entropy.

use mcp_http_core::entropy::{Entropy, EntropyError};

/// What session ids are drawn from in a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "this is where chance comes in")]
    fn fill(&mut self, into: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(into).map_err(|_| EntropyError)
    }
}
