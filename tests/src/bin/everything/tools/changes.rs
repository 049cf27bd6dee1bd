//! Tools that tell clients of a change: whoever listens for it, and sessions on their standalone stream.

use mcp_http_tokio::Topic;
use serde_json::Value;

use super::one_text;
use crate::content::text;
use crate::context::Context;
use crate::given::Given;
use crate::outcome::{Failure, Outcome};
use crate::resources;

pub(super) fn of_list(context: &Context<'_>, topic: &Topic) -> Outcome {
    let told = context.server.publish(topic);
    Ok(vec![text(&format!("Clients that were told: {told}."))])
}

pub(super) fn resource_schema() -> Value {
    one_text("uri", "A resource that `resources/list` names.")
}

pub(super) fn of_resource(context: &Context<'_>, given: &Given) -> Outcome {
    let uri = resources::watched(given).map_err(|refused| Failure::Told(refused.message.into_owned()))?;
    of_list(context, &Topic::Resource(uri.into()))
}
