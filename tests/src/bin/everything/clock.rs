//! The one place that reads a clock.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A point in time, counted from the start of 1970. It never runs backwards, whatever the system's date does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    #[expect(clippy::disallowed_methods, reason = "this is where time comes in")]
    pub(crate) fn now() -> Moment {
        static START: LazyLock<(Instant, Duration)> = LazyLock::new(|| {
            let date = SystemTime::now().duration_since(UNIX_EPOCH);
            (Instant::now(), date.unwrap_or_default())
        });
        let (start, date) = &*START;
        Moment(date.saturating_add(start.elapsed()))
    }

    pub(crate) const fn from_ms(ms: u64) -> Moment {
        Moment(Duration::from_millis(ms))
    }

    pub(crate) fn ms(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn after(self, time: Duration) -> Moment {
        Moment(self.0.saturating_add(time))
    }

    /// How much later this is than `earlier`; zero if it is not.
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}
