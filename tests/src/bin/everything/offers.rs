//! What this server says of itself: in the answer to `initialize`, to `server/discover`, and in every result of
//! the stateless era.

use std::time::Duration;

use mcp_http_tokio::{CacheScope, Initialized, Stamp, Version};
use serde_json::{Map, Value, json};

use crate::client::TASKS;

const NAME: &str = "everything";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const INSTRUCTIONS: &str = "A server to try clients with. `echo` gives back a text, `slow` takes its time; the \
    tools named `test_...` each show one kind of answer.";

/// The lists are the same for everybody, and for as long as the server runs.
const KEPT: Duration = Duration::from_secs(60);

/// To whom the server offers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Of the handshake era, with a session.
    Session,
    /// Of the handshake era, without one.
    Anyone,
    /// Of the stateless era.
    Stateless,
}

/// The answer to `initialize`.
pub(crate) fn initialized(to: Audience) -> Initialized {
    let answer = Initialized::new(NAME, VERSION).instructions(INSTRUCTIONS);
    let with = |answer: Initialized, (name, value): (String, Value)| answer.with(&name, value);
    capabilities(to).into_iter().fold(answer, with)
}

/// The result of `server/discover`.
pub(crate) fn discovered(versions: &[Version]) -> Value {
    let names: Vec<&str> = versions.iter().map(|version| version.name()).collect();
    json!({
        "supportedVersions": names,
        "capabilities": capabilities(Audience::Stateless),
        "instructions": INSTRUCTIONS,
    })
}

pub(crate) fn stamp() -> Stamp {
    Stamp::new(NAME, VERSION).kept(KEPT, CacheScope::Public)
}

fn capabilities(to: Audience) -> Map<String, Value> {
    // Without a session there is nothing to remember a level or a subscription by, and no stream to announce a
    // change on. In the stateless era the request says what it wants.
    let announces = to != Audience::Anyone;
    let mut offered = Map::new();
    let mut offer = |name: &str, value| _ = offered.insert(String::from(name), value);
    offer("tools", json!({ "listChanged": announces }));
    offer("prompts", json!({ "listChanged": announces }));
    offer("resources", json!({ "listChanged": announces, "subscribe": announces }));
    offer("completions", json!({}));
    if announces {
        offer("logging", json!({}));
    }
    if to == Audience::Stateless {
        offer("extensions", json!({ TASKS: {} }));
    }
    offered
}
