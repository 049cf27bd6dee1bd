//! Tools that answer at once and never speak to the client before.

use serde_json::{Value, json};

use super::{Failure, Outcome, one_text};
use crate::content::{audio, embedded, image, text};
use crate::given::Given;

pub(super) fn simple_text(_: &Given) -> Outcome {
    Ok(vec![text("This is a simple text response for testing.")])
}

pub(super) fn image_content(_: &Given) -> Outcome {
    Ok(vec![image()])
}

pub(super) fn audio_content(_: &Given) -> Outcome {
    Ok(vec![audio()])
}

pub(super) fn embedded_resource(_: &Given) -> Outcome {
    Ok(vec![embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")])
}

pub(super) fn multiple_content_types(_: &Given) -> Outcome {
    Ok(vec![
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
    ])
}

pub(super) fn error_handling(_: &Given) -> Outcome {
    Err(Failure::Told(String::from("This tool intentionally returns an error for testing")))
}

pub(super) fn x_mcp_header_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "region": {
                "type": "string",
                "description": "A region; also sent as `Mcp-Param-Region`.",
                "x-mcp-header": "Region",
            },
        },
    })
}

pub(super) fn x_mcp_header(given: &Given) -> Outcome {
    let region = given.optional_text("region")?;
    Ok(vec![text(region.unwrap_or("No region was given."))])
}

pub(super) fn echo_schema() -> Value {
    one_text("text", "What to answer with.")
}

pub(super) fn echo(given: &Given) -> Outcome {
    Ok(vec![text(given.text("text")?)])
}

pub(super) fn greet_schema() -> Value {
    one_text("name", "Whom to greet.")
}

pub(super) fn greet(given: &Given) -> Outcome {
    Ok(vec![text(&format!("Hello, {}!", given.text("name")?))])
}
