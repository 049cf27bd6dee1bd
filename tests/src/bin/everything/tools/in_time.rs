//! Tools that take their time and report progress meanwhile. A client that asked for no progress gets none;
//! `Call::progress` sees to that.

use std::time::Duration;

use mcp_http_tokio::{Call, ErrorObject};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::{Failure, Outcome};
use crate::content::text;
use crate::given::Given;

const SLOW_MS_MAX: u32 = 600_000;
const SLOW_MS_DEFAULT: u32 = 1_000;
const SLOW_STEPS_MAX: u32 = 1_000;
const SLOW_STEPS_DEFAULT: u32 = 4;

pub(super) async fn tool_with_progress(call: &Call) -> Outcome {
    let start = Instant::now();
    for (percent, after_ms) in [(0.0, 0), (50.0, 50), (100.0, 100)] {
        wait(call, start + Duration::from_millis(after_ms)).await?;
        call.progress(percent, Some(100.0), None).await?;
    }
    Ok(vec![text("Progress was reported at 0, 50 and 100.")])
}

pub(super) fn slow_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "ms": {
                "type": "integer",
                "minimum": 0,
                "maximum": SLOW_MS_MAX,
                "default": SLOW_MS_DEFAULT,
                "description": "How long it takes in all, in milliseconds.",
            },
            "steps": {
                "type": "integer",
                "minimum": 1,
                "maximum": SLOW_STEPS_MAX,
                "default": SLOW_STEPS_DEFAULT,
                "description": "How many steps that is; each ends with a progress notification.",
            },
        },
    })
}

pub(super) async fn slow(call: &Call, given: &Given) -> Outcome {
    let ms = given.count("ms", 0..=SLOW_MS_MAX, SLOW_MS_DEFAULT)?;
    let steps = given.count("steps", 1..=SLOW_STEPS_MAX, SLOW_STEPS_DEFAULT)?;
    let (start, whole) = (Instant::now(), Duration::from_millis(u64::from(ms)));
    for step in 1..=steps {
        wait(call, start + whole * step / steps).await?;
        let said = format!("step {step} of {steps}");
        call.progress(f64::from(step), Some(f64::from(steps)), Some(&said)).await?;
    }
    Ok(vec![text(&format!("Waited {ms} ms; steps: {steps}."))])
}

/// Waits until `at`, or fails as soon as nobody waits for the answer any more.
async fn wait(call: &Call, at: Instant) -> Result<(), Failure> {
    tokio::select! {
        biased;
        () = call.cancelled() => Err(Failure::Refused(ErrorObject::internal("cancelled"))),
        () = sleep_until(at) => Ok(()),
    }
}
