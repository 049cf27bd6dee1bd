//! The one place that reads a clock.

use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "this is where time comes in")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
