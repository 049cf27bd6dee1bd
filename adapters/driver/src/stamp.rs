//! One handler for both eras: what results of the stateless era must carry is stamped on here, and handshake
//! results stay as they are.

use std::time::Duration;

use mcp_http_core::json::Json;
use mcp_http_core::version::Era;
use serde_json::{Value, json};

use crate::call::Call;

/// Completes results. Make one for the whole server.
#[derive(Clone, Debug)]
pub struct Stamp {
    server: Value,
    ttl: Duration,
    scope: CacheScope,
}

/// Who may keep a result that can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheScope {
    /// Anybody.
    Public,
    /// The client that asked.
    Private,
}

/// The methods whose results say how long they may be kept.
const KEPT: [&str; 6] = [
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

impl Stamp {
    /// For a server of this name and version. Results are not to be kept.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        let server = json!({ "name": name, "version": version });
        Stamp { server, ttl: Duration::ZERO, scope: CacheScope::Private }
    }

    /// The same, and lists and resources may be kept for `ttl`, in whole milliseconds.
    #[must_use]
    pub fn kept(mut self, ttl: Duration, scope: CacheScope) -> Self {
        (self.ttl, self.scope) = (ttl, scope);
        self
    }

    /// The result of `call`, with what its era wants; what is there already stays.
    #[must_use]
    pub fn result(&self, call: &Call, result: Value) -> Json {
        let stateless = call.version().is_some_and(|version| version.era() == Era::Stateless);
        if stateless { self.stamped(call.method(), result).into() } else { result.into() }
    }

    fn stamped(&self, method: &str, mut result: Value) -> Value {
        let Value::Object(members) = &mut result else { return result };
        let kind = members.entry("resultType").or_insert_with(|| json!("complete"));
        if *kind == "complete" && KEPT.contains(&method) {
            let ttl_ms = u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX);
            members.entry("ttlMs").or_insert_with(|| json!(ttl_ms));
            members.entry("cacheScope").or_insert_with(|| json!(self.scope.name()));
        }
        if let Value::Object(meta) = members.entry("_meta").or_insert_with(|| json!({})) {
            meta.entry("io.modelcontextprotocol/serverInfo").or_insert_with(|| self.server.clone());
        }
        result
    }
}

impl CacheScope {
    fn name(self) -> &'static str {
        match self {
            CacheScope::Public => "public",
            CacheScope::Private => "private",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_how_long_it_may_be_kept_and_who_made_it() {
        let stamp = Stamp::new("s", "1").kept(Duration::from_secs(2), CacheScope::Public);
        assert_eq!(
            stamp.stamped("tools/list", json!({ "tools": [] })),
            json!({
                "tools": [], "resultType": "complete", "ttlMs": 2000, "cacheScope": "public",
                "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "1" } },
            })
        );
    }

    #[test]
    fn what_is_there_stays() {
        let stamp = Stamp::new("s", "1");
        let stamped =
            stamp.stamped("tools/call", json!({ "resultType": "input_required", "_meta": { "a": 1 } }));
        assert_eq!(stamped["resultType"], "input_required");
        assert_eq!(stamped["_meta"]["a"], 1);
        assert_eq!(stamped.get("ttlMs"), None);
    }

    #[test]
    fn what_is_no_final_result_is_not_kept() {
        let stamp = Stamp::new("s", "1");
        let stamped = stamp.stamped("resources/read", json!({ "resultType": "input_required" }));
        assert_eq!(stamped.get("ttlMs"), None);
    }
}
