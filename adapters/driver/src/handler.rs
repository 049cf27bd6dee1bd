//! The application's side: the trait it implements and what it is handed. The same on every runtime.

use std::future::Future;
use std::pin::Pin;

use http::HeaderValue;
use http::request::Parts;
use mcp_http_core::endpoint::{DiscardReason, EndReason, Principal};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{self, ErrorObject, RequestId};
use mcp_http_core::param_headers::ParamHeaders;
use mcp_http_core::version::Version;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::call::Call;
use crate::channels::Address;
use crate::origin::{Origin, origin_getters};
use crate::service::Publisher;
use crate::session::Session;

/// An MCP server's behaviour.
///
/// One value serves all sessions, on all threads. A method that panics hurts nobody else: the call it
/// belongs to is answered with an internal error, a session that was being opened is discarded.
pub trait Handler: Send + Sync + 'static {
    /// Judges who is asking, from the request's head, before anything exists and before the body is read.
    /// Everybody may pass unless this says otherwise; a [`Principal`] that an outer layer put into the head's
    /// extensions is who it is.
    fn authorize(&self, head: &Parts) -> Access {
        head.extensions.get::<Principal>().cloned().map_or_else(Access::anyone, Access::principal)
    }

    /// Which arguments of which tools clients mirror into `Mcp-Param-*` fields (Z5), derived from the tools'
    /// input schemas. Asked once, when the server starts.
    fn param_headers(&self) -> ParamHeaders {
        ParamHeaders::new()
    }

    /// Whether this peer may open one more session now: the place for a limit of rate (L3). Asked after
    /// [`authorize`](Handler::authorize), for each well-formed `initialize`, before anything exists; `false`
    /// answers that it is to come back later. `peer` is the address that the port gave.
    fn may_open_session(&self, peer: Option<&str>, head: &Parts, who: Option<&Principal>) -> bool {
        let _ = (peer, head, who);
        true
    }

    /// The server starts. With `publisher` the application tells clients of changes.
    fn started(&self, publisher: Publisher) {
        let _ = publisher;
    }

    /// Answers `initialize`. Returning `Err` refuses the session: the client gets the error and no id.
    fn initialize(
        &self,
        request: Initialize,
    ) -> impl Future<Output = Result<Initialized, ErrorObject>> + Send;

    /// Answers any other request. Whatever it sends by way of `call` before it returns goes to the client
    /// first, on the call's own stream.
    fn call(&self, call: Call) -> impl Future<Output = Result<Json, ErrorObject>> + Send;

    /// Takes a notice. The client's POST is answered with 202 when this returns, so a slow application slows
    /// its client down.
    fn notice(&self, notice: Notice) -> impl Future<Output = ()> + Send {
        let _ = notice;
        std::future::ready(())
    }

    /// A session was created; `initialize` is called next. It is not served yet, and either
    /// [`session_committed`](Handler::session_committed) or [`session_discarded`](Handler::session_discarded)
    /// follows. These four must be quick: they are called in order, one at a time for all sessions of a shard.
    ///
    /// # Errors
    /// The application cannot open its side; the client gets an error and no id.
    fn session_created(&self, session: &Session) -> Result<(), SessionRefused> {
        let _ = session;
        Ok(())
    }

    /// The client has the session's id. [`session_ended`](Handler::session_ended) follows.
    fn session_committed(&self, session: &Session) {
        let _ = session;
    }

    /// The session never came to be. Nothing names it after this.
    fn session_discarded(&self, session: &Session, reason: DiscardReason) {
        let _ = (session, reason);
    }

    /// The session is over. Nothing names it after this.
    fn session_ended(&self, session: &Session, reason: EndReason) {
        let _ = (session, reason);
    }
}

/// What an application says that cannot open its side of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the application could not open its side of the session")]
pub struct SessionRefused;

/// What the auth hook says.
pub struct Access(pub(crate) Judgement);

pub(crate) enum Judgement {
    Now(Result<Option<Principal>, Denied>),
    Later(AccessFuture),
}

pub(crate) type AccessFuture = Pin<Box<dyn Future<Output = Result<Option<Principal>, Denied>> + Send>>;

/// How the auth hook refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Other credentials are wanted; the value of `WWW-Authenticate`.
    Challenge(HeaderValue),
    /// It is known who it is, and that they may not.
    Forbidden,
}

impl Access {
    /// Lets the request in without saying who it is.
    #[must_use]
    pub fn anyone() -> Access {
        Access(Judgement::Now(Ok(None)))
    }

    /// Lets the request in. Sessions belong to the principal that opened them.
    #[must_use]
    pub fn principal(principal: Principal) -> Access {
        Access(Judgement::Now(Ok(Some(principal))))
    }

    /// Refuses.
    #[must_use]
    pub fn denied(denied: Denied) -> Access {
        Access(Judgement::Now(Err(denied)))
    }

    /// Judges later: say, after asking another server. The body is not read before.
    #[must_use]
    pub fn later(
        judgement: impl Future<Output = Result<Option<Principal>, Denied>> + Send + 'static,
    ) -> Access {
        Access(Judgement::Later(Box::pin(judgement)))
    }
}

/// An `initialize` request.
#[derive(Clone, Debug)]
pub struct Initialize {
    pub(crate) id: RequestId,
    pub(crate) address: Address,
    pub(crate) params: Option<Json>,
    pub(crate) negotiated: Version,
    pub(crate) origin: Origin,
}

impl Initialize {
    /// The version that will be answered with, unless [`Initialized::version`] says otherwise.
    #[must_use]
    pub fn negotiated(&self) -> Version {
        self.negotiated
    }

    /// The parameters: `protocolVersion`, `capabilities`, `clientInfo`.
    ///
    /// # Errors
    /// The error for invalid parameters, if they do not fit `T`.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        decode_params(self.params.as_ref())
    }

    origin_getters!();
}

/// The answer that accepts an `initialize`.
#[derive(Clone, Debug)]
pub struct Initialized {
    version: Option<Version>,
    capabilities: Value,
    info: Value,
    instructions: Option<String>,
}

impl Initialized {
    /// A server of this name and version, without capabilities.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        Initialized {
            version: None,
            capabilities: Value::Object(serde_json::Map::new()),
            info: serde_json::json!({ "name": name, "version": version }),
            instructions: None,
        }
    }

    /// The same with a capability: `with("tools", json!({"listChanged": true}))`.
    #[must_use]
    pub fn with(mut self, capability: &str, value: Value) -> Self {
        if let Value::Object(capabilities) = &mut self.capabilities {
            capabilities.insert(capability.to_owned(), value);
        }
        self
    }

    /// The same with instructions for the model.
    #[must_use]
    pub fn instructions(mut self, text: &str) -> Self {
        self.instructions = Some(text.to_owned());
        self
    }

    /// The same with another version than the negotiated one.
    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    pub(crate) fn into_result(self, negotiated: Version) -> (Version, Json) {
        let version = self.version.unwrap_or(negotiated);
        let mut result = serde_json::json!({
            "protocolVersion": version.name(),
            "capabilities": self.capabilities,
            "serverInfo": self.info,
        });
        if let (Some(instructions), Value::Object(result)) = (self.instructions, &mut result) {
            result.insert(String::from("instructions"), Value::String(instructions));
        }
        (version, Json::from_value(&result))
    }
}

/// A notice from the client.
#[derive(Clone, Debug)]
pub struct Notice {
    pub(crate) notice: jsonrpc::Notice,
    pub(crate) origin: Origin,
}

impl Notice {
    /// The method's name.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.notice.method
    }

    /// The parameters.
    ///
    /// # Errors
    /// The error for invalid parameters, if they do not fit `T`.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        decode_params(self.notice.params.as_ref())
    }

    origin_getters!();
}

/// Absent parameters are `{}` to a type that can do without any.
pub(crate) fn decode_params<T: DeserializeOwned>(params: Option<&Json>) -> Result<T, ErrorObject> {
    let decoded = params.unwrap_or(&Json::EMPTY_OBJECT).decode();
    decoded.map_err(|error: serde_json::Error| ErrorObject::invalid_params(error.to_string()))
}
