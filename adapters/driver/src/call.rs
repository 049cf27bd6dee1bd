//! One call in the application's hands: what was asked, and what can be sent before it is answered.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_http_core::endpoint::{CallId, Event, Outbound, SendError, Target};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{ErrorObject, Request, RequestId};
use mcp_http_core::session_id::ShardId;
use mcp_http_core::version::Version;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::handler::decode_params;
use crate::origin::{Origin, origin_getters};
use crate::port::Port;
use crate::request::RequestError;
use crate::route::Route;
use crate::signal::{Flag, Permit};

/// A request that waits for its answer. Its HTTP request counts against `memory_max` for as long as this is kept,
/// also when nobody waits any more.
pub struct Call {
    pub(crate) request: Request,
    pub(crate) version: Option<Version>,
    pub(crate) origin: Origin,
    pub(crate) line: Line,
}

/// The connection of one call to its endpoint.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) port: Arc<dyn Port>,
    pub(crate) shard: ShardId,
    pub(crate) call: CallId,
    pub(crate) state: Arc<LineState>,
}

/// What the endpoint tells a call.
#[derive(Debug, Default)]
pub(crate) struct LineState {
    pub(crate) cancelled: Flag,
    pub(crate) writable: Permit,
}

impl Call {
    /// The method's name.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.request.method
    }

    /// The client's id for this request. Other calls may bear the same.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.request.id
    }

    /// The parameters, decoded.
    ///
    /// # Errors
    /// The error for invalid parameters, if they do not fit `T`.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        decode_params(self.request.params.as_ref())
    }

    /// The parameters as they came.
    #[must_use]
    pub fn raw_params(&self) -> Option<&Json> {
        self.request.params.as_ref()
    }

    /// The version that the session negotiated, or that the request names in the stateless era; `None` with
    /// sessions off.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    origin_getters!();

    /// Sends a progress notification, if the client asked for progress. It may be left out when the client
    /// does not keep up.
    ///
    /// # Errors
    /// [`SendError::Gone`] when nobody waits for this call any more.
    pub async fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> Result<(), SendError> {
        let Some(token) = self.progress_token() else { return Ok(()) };
        let mut params = json!({ "progressToken": token, "progress": number(progress) });
        if let Value::Object(params) = &mut params {
            params.extend(total.map(|total| (String::from("total"), number(total))));
            params.extend(message.map(|message| (String::from("message"), Value::from(message))));
        }
        self.line.notify(Cow::Borrowed("notifications/progress"), Some(params.into()), true).await
    }

    /// Sends a notice that belongs to this call, on its stream. Waits for room if the client does not keep
    /// up.
    ///
    /// # Errors
    /// [`SendError::Gone`] when nobody waits for this call any more, [`SendError::TooLarge`] past
    /// `message_bytes_max`.
    pub async fn notify(&self, method: &str, params: Option<Json>) -> Result<(), SendError> {
        self.line.notify(Cow::Owned(method.to_owned()), params, false).await
    }

    /// Asks the client something, on this call's stream, and waits for its reply, at most `timeout`. Returns
    /// early when nobody waits for the call any more.
    ///
    /// # Errors
    /// [`RequestError`]; at once outside sessions, and if the client reads no stream.
    pub async fn request(
        &self,
        method: &str,
        params: Option<Json>,
        timeout: Duration,
    ) -> Result<Json, RequestError> {
        let Some(session) = self.session() else { return Err(RequestError::Gone) };
        session.0.line().requests.ask(self.line.route(), method, params, timeout).await
    }

    /// Whether nobody waits for the answer any more: the client cancelled it, the session ended, or, where a
    /// disconnect cancels, the client is gone.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.line.state.cancelled.is_set()
    }

    /// Returns when [`is_cancelled`](Call::is_cancelled) becomes true.
    pub async fn cancelled(&self) {
        self.line.state.cancelled.wait().await;
    }

    /// Waits, on the server's runtime.
    pub async fn sleep(&self, time: Duration) {
        self.line.port.sleep(time).await;
    }

    /// Lets the client poll for the answer: the response ends now, and the client comes back for what
    /// follows. Does nothing where the version does not allow it.
    pub fn close_stream(&self) {
        self.line.port.handle(self.line.shard, Event::CloseStream { call: self.line.call });
    }

    fn progress_token(&self) -> Option<Value> {
        let params: Value = self.request.params.as_ref()?.decode().ok()?;
        let token = params.get("_meta")?.get("progressToken")?;
        (token.is_string() || token.is_number()).then(|| token.clone())
    }
}

impl Line {
    async fn notify(
        &self,
        method: Cow<'static, str>,
        params: Option<Json>,
        droppable: bool,
    ) -> Result<(), SendError> {
        self.route().send(Outbound::Notice { method, params, droppable }).await
    }

    fn route(&self) -> Route<'_> {
        Route {
            port: &*self.port,
            shard: self.shard,
            target: Target::Call(self.call),
            writable: &self.state.writable,
            over: &self.state.cancelled,
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("method", &self.request.method).field("call", &self.line.call).finish()
    }
}

/// Whole numbers without a fraction, as clients expect a count to look.
fn number(value: f64) -> Value {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within i64")]
        return Value::from(value as i64);
    }
    Value::from(value)
}
