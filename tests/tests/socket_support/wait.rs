//! Waiting for what must come. A bound is only how long a broken server is waited for: what a test decides on is
//! a condition, never how long something took.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// How long something that must happen may take on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(3);

#[expect(clippy::disallowed_methods, reason = "tests run against the real clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "tests wait on other processes and threads by polling")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Looks again and again until `good` holds; returns what was seen then.
#[track_caller]
pub(crate) fn until<T: Debug>(what: &str, mut look: impl FnMut() -> T, good: impl Fn(&T) -> bool) -> T {
    let start = now();
    loop {
        let seen = look();
        if good(&seen) {
            return seen;
        }
        assert!(start.elapsed() < PATIENCE, "never came: {what}; last seen: {seen:#?}");
        pause(PAUSE);
    }
}
