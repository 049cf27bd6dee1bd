//! The way from the application back into the endpoints, free of the handler's and the runtime's types.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use mcp_http_core::endpoint::{CallId, Event, Outbound, SendError, SessionKey, Target, Topic};
use mcp_http_core::session_id::ShardId;

/// A server's endpoints, as calls and sessions see them.
pub(crate) trait Port: Send + Sync {
    fn send(&self, shard: ShardId, to: Target, message: Outbound) -> Result<(), SendError>;
    fn handle(&self, shard: ShardId, event: Event);
    /// Waits on the server's runtime.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
    fn publish(&self, topic: &Topic) -> usize;
    fn subscribe(&self, shard: ShardId, session: SessionKey, uri: &str) -> bool;
    fn unsubscribe(&self, shard: ShardId, session: SessionKey, uri: &str);
    /// The call was answered: nobody is to be told of it any more.
    fn forget(&self, shard: ShardId, call: CallId);
}
