//! Tools that take their time, and what they send meanwhile. A client that asked for no progress gets none, and
//! one that wants no log messages neither; `Call::progress` and `Context::log` see to that.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use mcp_http_tokio::Call;
use serde_json::{Value, json};

use crate::clock::Moment;
use crate::content::text;
use crate::context::Context;
use crate::given::Given;
use crate::outcome::{Failure, Outcome};
use crate::questions::Answers;
use crate::sessions::LogLevel;
use crate::tasks::Job;

const SLOW_MS_MAX: u32 = 600_000;
const SLOW_MS_DEFAULT: u32 = 1_000;
const SLOW_STEPS_MAX: u32 = 1_000;
const SLOW_STEPS_DEFAULT: u32 = 4;

const STEP: Duration = Duration::from_millis(50);

pub(super) async fn tool_with_progress(call: &Call) -> Outcome {
    for (percent, pause) in [(0.0, Duration::ZERO), (50.0, STEP), (100.0, STEP)] {
        wait(call, pause).await?;
        call.progress(percent, Some(100.0), None).await?;
    }
    Ok(vec![text("Progress was reported at 0, 50 and 100.")])
}

pub(super) async fn tool_with_logging(context: &Context<'_>) -> Outcome {
    context.log(LogLevel::Info, "Tool execution started").await?;
    wait(context.call, STEP).await?;
    context.log(LogLevel::Info, "Tool processing data").await?;
    wait(context.call, STEP).await?;
    context.log(LogLevel::Info, "Tool execution completed").await?;
    Ok(vec![text("Three messages were logged, for those who want them.")])
}

pub(super) async fn logging_tool(context: &Context<'_>) -> Outcome {
    context.log(LogLevel::Info, "This tool was called.").await?;
    Ok(vec![text("One message was logged, for those who want any.")])
}

pub(super) async fn reconnection(call: &Call) -> Outcome {
    call.close_stream();
    wait(call, 3 * STEP).await?;
    Ok(vec![text("The response was ended before this was known.")])
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
    let (start, whole) = (Moment::now(), Duration::from_millis(u64::from(ms)));
    for step in 1..=steps {
        // By the clock, so that what sending takes does not add up.
        let due = start.after(whole * step / steps);
        wait(call, due.since(Moment::now())).await?;
        let said = format!("step {step} of {steps}");
        call.progress(f64::from(step), Some(f64::from(steps)), Some(&said)).await?;
    }
    Ok(vec![text(&format!("Waited {ms} ms; steps: {steps}."))])
}

/// Does in one go what others come back for.
pub(super) async fn wait_for(call: &Call, job: Job) -> Outcome {
    wait(call, job.takes).await?;
    (job.finish)(&job.given, &Answers::default())
}

/// Waits, or fails as soon as nobody waits for the answer any more.
async fn wait(call: &Call, time: Duration) -> Result<(), Failure> {
    let (mut cancelled, mut over) = (pin!(call.cancelled()), pin!(call.sleep(time)));
    poll_fn(|cx| match cancelled.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(Err(Failure::unheard())),
        Poll::Pending => over.as_mut().poll(cx).map(Ok),
    })
    .await
}
