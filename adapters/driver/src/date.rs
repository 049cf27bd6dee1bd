//! The `Date` field, made once a second at most. The one place where wall time comes in.

use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;

#[derive(Debug, Default)]
pub(crate) struct DateField {
    second: u64,
    value: Option<HeaderValue>,
}

impl DateField {
    #[expect(clippy::disallowed_methods, reason = "wall time comes in here, for this field alone")]
    pub(crate) fn value(&mut self) -> Option<HeaderValue> {
        let now = SystemTime::now();
        let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.value.is_none() || self.second != second {
            self.second = second;
            self.value =
                HeaderValue::from_maybe_shared(bytes::Bytes::from(httpdate::fmt_http_date(now))).ok();
        }
        self.value.clone()
    }
}
