//! Ways to cut octets into pieces, each the same at every run.

/// A small generator of numbers: the same seed gives the same numbers (SplitMix64).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn seeded(seed: u64) -> Self {
        Numbers(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((number ^ (number >> 31)) % bound.max(1) as u64) as usize
    }
}

/// How a piece of input is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    Whole,
    Octets,
    /// At a few random points.
    Random {
        seed: u64,
    },
}

impl Cut {
    pub(crate) fn apply(self, octets: &[u8]) -> Vec<&[u8]> {
        match self {
            Cut::Whole => vec![octets],
            Cut::Octets => octets.chunks(1).collect(),
            Cut::Random { seed } => random(seed, octets),
        }
    }
}

/// Short pieces where heads and size lines are, long ones behind them.
fn random(seed: u64, octets: &[u8]) -> Vec<&[u8]> {
    const SHORT_UNTIL: usize = 4096;
    let mut numbers = Numbers::seeded(seed);
    let short = if numbers.below(2) == 0 { 8 } else { 256 };
    let mut pieces = Vec::new();
    let mut rest = octets;
    while !rest.is_empty() {
        let is_early = octets.len() - rest.len() < SHORT_UNTIL;
        let longest = if is_early { short } else { 64 * 1024 };
        let (piece, after) = rest.split_at((1 + numbers.below(longest)).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
