//! The way of what an application sends: to one target, waiting for room.

use mcp_http_core::endpoint::{Outbound, SendError, Target};
use mcp_http_core::session_id::ShardId;

use crate::port::Port;
use crate::signal::{Flag, Permit};

/// A call's or a session's stream, as its sender sees it.
pub(crate) struct Route<'a> {
    pub(crate) port: &'a dyn Port,
    pub(crate) shard: ShardId,
    pub(crate) target: Target,
    /// Given when there is room again.
    pub(crate) writable: &'a Permit,
    /// Set when the call is cancelled or the session is over.
    pub(crate) over: &'a Flag,
}

impl Route<'_> {
    /// Sends, and waits while the client does not keep up. Never returns `Full`.
    pub(crate) async fn send(&self, mut message: Outbound) -> Result<(), SendError> {
        let mut waited = false;
        loop {
            match self.port.send(self.shard, self.target, message) {
                Err(SendError::Full(back)) => message = *back,
                sent => {
                    // There may be room for others that wait; the endpoint tells of it once.
                    if waited {
                        self.writable.give();
                    }
                    return sent;
                }
            }
            self.writable.take().await;
            waited = true;
        }
    }
}
