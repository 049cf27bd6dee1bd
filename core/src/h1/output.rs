//! Octets that wait for the socket, in order. Holds no memory while it is empty.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;

/// A queue of octets: text that was written here first, then pieces.
///
/// The text is what interim responses, a head and a small body make together. A response starts only when
/// the one before it has left, so no text is ever written behind a piece.
#[derive(Debug, Default)]
pub(super) struct Output {
    text: Vec<u8>,
    pieces: VecDeque<Piece>,
    /// Octets of the text, or of the first piece if there is no text, that the socket has taken.
    taken: usize,
    unwritten: usize,
}

#[derive(Debug)]
enum Piece {
    /// The caller's own octets, not copied.
    Shared(Bytes),
    /// What stands between the data of two chunks.
    Framing(Framing),
}

/// CRLF, a size in sixteen digits and CRLF at most; or the end of the last chunk.
#[derive(Debug, Default)]
struct Framing {
    octets: [u8; 24],
    len: usize,
}

impl Output {
    pub(super) fn is_empty(&self) -> bool {
        self.unwritten == 0
    }

    /// Octets that wait.
    pub(super) fn unwritten(&self) -> usize {
        self.unwritten
    }

    /// Appends to the text.
    pub(super) fn push_text(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        let before = self.text.len();
        append(&mut self.text);
        self.unwritten = self.unwritten.saturating_add(self.text.len().saturating_sub(before));
    }

    /// Queues `data` without copying it.
    pub(super) fn push(&mut self, data: Bytes) {
        if data.is_empty() {
            return;
        }
        self.unwritten = self.unwritten.saturating_add(data.len());
        self.pieces.push_back(Piece::Shared(data));
    }

    /// Queues `data` as one chunk (RFC 9112 7.1). Empty data is left out: it would end the body.
    pub(super) fn push_chunk(&mut self, data: Bytes) {
        if data.is_empty() {
            return;
        }
        let mut size = Framing::default();
        size.append_hex(data.len());
        size.append(b"\r\n");
        self.push_framing(size.as_octets());
        self.push(data);
        self.push_framing(b"\r\n");
    }

    /// Queues the last chunk, with no trailers.
    pub(super) fn push_last_chunk(&mut self) {
        self.push_framing(b"0\r\n\r\n");
    }

    /// Fills `slices` in order; returns how many it filled.
    pub(super) fn fill<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut taken = self.taken;
        let text = core::iter::once(self.text.as_slice());
        let parts = text.chain(self.pieces.iter().map(Piece::octets)).filter(|octets| !octets.is_empty());
        let mut filled = 0_usize;
        for (slice, octets) in slices.iter_mut().zip(parts) {
            *slice = IoSlice::new(octets.get(taken..).unwrap_or_default());
            taken = 0;
            filled = filled.saturating_add(1);
        }
        filled
    }

    /// The socket took the first `n` octets, or all there are.
    pub(super) fn take(&mut self, n: usize) {
        if n >= self.unwritten {
            return self.clear();
        }
        self.unwritten = self.unwritten.saturating_sub(n);
        self.taken = self.taken.saturating_add(n);
        if !self.text.is_empty() {
            if self.taken < self.text.len() {
                return;
            }
            self.taken = self.taken.saturating_sub(self.text.len());
            self.text = Vec::new();
        }
        while let Some(front) = self.pieces.front().map(|piece| piece.octets().len()) {
            if self.taken < front {
                return;
            }
            self.taken = self.taken.saturating_sub(front);
            self.pieces.pop_front();
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Output::default();
    }

    /// Queues framing, joined to the framing that is last in the queue if there is some.
    fn push_framing(&mut self, octets: &[u8]) {
        self.unwritten = self.unwritten.saturating_add(octets.len());
        if let Some(Piece::Framing(last)) = self.pieces.back_mut()
            && last.append(octets)
        {
            return;
        }
        let mut framing = Framing::default();
        framing.append(octets);
        self.pieces.push_back(Piece::Framing(framing));
    }
}

impl Piece {
    fn octets(&self) -> &[u8] {
        match self {
            Piece::Shared(data) => data,
            Piece::Framing(framing) => framing.as_octets(),
        }
    }
}

impl Framing {
    fn as_octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }

    /// Whether there was room.
    fn append(&mut self, octets: &[u8]) -> bool {
        let end = self.len.saturating_add(octets.len());
        let Some(free) = self.octets.get_mut(self.len..end) else { return false };
        free.copy_from_slice(octets);
        self.len = end;
        true
    }

    fn append_hex(&mut self, number: usize) {
        let significant = usize::BITS.saturating_sub(number.leading_zeros()).max(1);
        for digit in (0..significant.div_ceil(4)).rev() {
            let nibble = number >> digit.saturating_mul(4) & 0xF;
            let octet = b"0123456789abcdef".get(nibble).copied().unwrap_or(b'0');
            self.append(&[octet]);
        }
    }
}
