//! The peer's octets that arrived and were not yet used. Holds no memory while it is empty.

use bytes::{Buf, Bytes, BytesMut};

#[derive(Debug, Default)]
pub(super) struct Input(BytesMut);

impl Input {
    pub(super) fn push(&mut self, octets: &[u8]) {
        self.0.extend_from_slice(octets);
    }

    pub(super) fn octets(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first `n` octets, or all there are, without copying.
    pub(super) fn take(&mut self, n: usize) -> Bytes {
        if n >= self.0.len() {
            return core::mem::take(&mut self.0).freeze();
        }
        self.0.split_to(n).freeze()
    }

    /// Drops the first `n` octets, or all there are.
    pub(super) fn skip(&mut self, n: usize) {
        if n >= self.0.len() {
            return self.clear();
        }
        self.0.advance(n);
    }

    pub(super) fn clear(&mut self) {
        self.0 = BytesMut::new();
    }
}
