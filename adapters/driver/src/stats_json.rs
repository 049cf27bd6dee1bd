//! The counters as JSON, for the statistics path.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::service::ServerStats;

impl ServerStats {
    /// One JSON object, one line.
    #[must_use]
    pub fn to_json(&self) -> Bytes {
        let now = &self.endpoints;
        let total = &now.total;
        let refusals: serde_json::Map<String, Value> =
            self.refusals.iter().map(|(name, count)| ((*name).to_owned(), Value::from(*count))).collect();
        let stats = json!({
            "sessions": now.sessions,
            "pending": now.pending,
            "offered": now.offered,
            "unconfirmed": now.unconfirmed,
            "exchanges": now.exchanges,
            "calls": now.calls,
            "streams": now.streams,
            "deadlines": now.deadlines,
            "buffered_bytes": now.buffered_bytes,
            "connections": self.connections,
            "accepted": self.accepted,
            "created": total.created,
            "committed": total.committed,
            "discarded": {
                "refused": total.discarded.refused,
                "failed": total.discarded.failed,
                "client_gone": total.discarded.client_gone,
                "undelivered": total.discarded.undelivered,
                "timeout": total.discarded.timeout,
                "no_room": total.discarded.no_room,
                "shutdown": total.discarded.shutdown,
            },
            "ended": {
                "deleted": total.ended.deleted,
                "idle": total.ended.idle,
                "unconfirmed": total.ended.unconfirmed,
                "evicted": total.ended.evicted,
                "application": total.ended.application,
                "shutdown": total.ended.shutdown,
            },
            "dropped_notices": total.dropped_notices,
            "gaps": total.gaps,
            "refusals": refusals,
        });
        Bytes::from(format!("{stats}\n"))
    }
}
