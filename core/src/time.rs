//! The machines' own clock reading: a point on a monotonic line that the caller draws.
//!
//! Not a wall clock and not a reader of one: time always comes in as an argument (R10).

use core::time::Duration;

/// A point in time, in nanoseconds since an origin of the caller's choice.
///
/// Arithmetic saturates at both ends (after about 584 years), so a hostile or broken clock can neither
/// overflow nor panic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin.
    pub const ZERO: Timestamp = Timestamp(0);

    /// The last representable point; a deadline here never comes.
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    /// The point `since_origin` after the origin.
    #[must_use]
    pub fn from_origin(since_origin: Duration) -> Self {
        Timestamp(nanos(since_origin))
    }

    /// Time since the origin.
    #[must_use]
    pub fn since_origin(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// Time from `earlier` until this point; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This point moved into the future by `by`.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Timestamp(self.0.saturating_add(nanos(by)))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
