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

    /// As ISO 8601 has it, in UTC.
    pub(crate) fn iso8601(self) -> String {
        let (second, ms) = (self.0.as_secs(), self.0.subsec_millis());
        let (year, month, day) = civil(second / SECONDS_A_DAY);
        let (hour, minute, second) = (second / 3600 % 24, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }

    /// How much later this is than `earlier`; zero if it is not.
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

const SECONDS_A_DAY: u64 = 24 * 60 * 60;

/// Year, month and day of the Gregorian calendar, from the days since the start of 1970. The years begin in March
/// here, so that a leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    // The days from 1 March of the year 0 to the start of 1970.
    let days = days + 719_468;
    let (era, day) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (400 * era + year, month, day)
}

#[cfg(test)]
mod tests {
    use super::Moment;

    #[test]
    fn a_moment_is_a_date() {
        for (ms, date) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (86_399_999, "1970-01-01T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_785_196_799_001, "2026-07-27T23:59:59.001Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Moment::from_ms(ms).iso8601(), date);
        }
    }

    #[test]
    fn time_goes_on() {
        let (earlier, later) = (Moment::now(), Moment::now());
        assert!(earlier <= later);
        // This was written after 2026.
        assert!(earlier.ms() > 1_767_225_600_000);
    }
}
