//! Finds the CRLF-ended lines of octets that arrive in pieces, looking at each octet once.
//!
//! The outcome depends on the octets alone and never on how they were cut: each check is tied to a position,
//! and of two faults the one at the earlier position is found (H2).

use core::ops::Range;

/// Where the search stands, as offsets into octets that only grow at their end.
#[derive(Debug, Default)]
pub(super) struct Lines {
    start: usize,
    searched: usize,
}

/// Why a line is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// More than the room given, before its end was seen.
    TooLong,
    /// Ended by LF alone.
    BareLf,
}

impl Lines {
    /// The next line, without its CRLF, of at most `room` octets; `None` until its end has arrived.
    ///
    /// A CR inside the line is left for the line's own grammar to refuse; none admits it.
    pub(super) fn next(&mut self, octets: &[u8], room: usize) -> Result<Option<Range<usize>>, Broken> {
        let unsearched = octets.get(self.searched..).unwrap_or_default();
        let lf = find_lf(unsearched);
        let arrived = match lf {
            Some(at) => self.searched.saturating_add(at),
            None => octets.len(),
        };
        let line = octets.get(self.start..arrived).unwrap_or_default();
        let (content, has_cr) = match line {
            [content @ .., b'\r'] => (content.len(), true),
            _ => (line.len(), false),
        };
        if content > room {
            return Err(Broken::TooLong);
        }
        self.searched = arrived;
        if lf.is_none() {
            return Ok(None);
        }
        if !has_cr {
            return Err(Broken::BareLf);
        }
        let found = self.start..self.start.saturating_add(content);
        self.start = arrived.saturating_add(1);
        self.searched = self.start;
        Ok(Some(found))
    }

    /// Where the line under way starts; behind the last one found.
    pub(super) fn start(&self) -> usize {
        self.start
    }
}

/// Where the first LF is. Blocks without one are passed over whole, which compilers turn into few instructions.
fn find_lf(octets: &[u8]) -> Option<usize> {
    const BLOCK: usize = 32;
    let has_lf = |block: &[u8]| block.iter().fold(false, |found, octet| found | (*octet == b'\n'));
    let passed = octets.chunks(BLOCK).take_while(|block| !has_lf(block)).count().saturating_mul(BLOCK);
    let at = octets.get(passed..)?.iter().position(|octet| *octet == b'\n')?;
    Some(passed.saturating_add(at))
}
