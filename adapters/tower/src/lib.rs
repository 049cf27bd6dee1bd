//! mcp-http as a [`tower_service::Service`], for hyper 1, axum 0.8, and whatever else speaks [`http`] and
//! [`http_body`]. The HTTP stack is theirs: HTTP/2, TLS and mounting come with it. Everything of MCP is
//! [`mcp_http_driver`], whose API for applications is re-exported here.
//!
//! ```no_run
//! use axum::Router;
//! use mcp_http_tokio::TokioRuntime;
//! use mcp_http_tower::{Call, Config, ErrorObject, Handler, Initialize, Initialized, Json, McpService};
//!
//! struct Ping;
//!
//! impl Handler for Ping {
//!     async fn initialize(&self, _: Initialize) -> Result<Initialized, ErrorObject> {
//!         Ok(Initialized::new("ping", "1.0"))
//!     }
//!
//!     async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
//!         match call.method() {
//!             "ping" => Ok(Json::EMPTY_OBJECT),
//!             other => Err(ErrorObject::method_not_found(other)),
//!         }
//!     }
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mcp = McpService::new(Ping, Config::default(), TokioRuntime)?;
//! let app = Router::new().nest_service("/mcp", mcp);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
//! axum::serve(listener, app).await?;
//! # Ok(()) }
//! ```
//!
//! # What to know
//!
//! - **Paths.** A request comes to the endpoint if its path is [`Config::path`], with or without a slash at
//!   the end, or if a router has stripped it down to `/`. Whatever else reaches the service is refused.
//! - **Hosts.** [`Config::allowed_hosts`] stands for names of this machine alone unless it is set: who serves
//!   others has to list them. Over HTTP/2, `:authority` is the host.
//! - **Outer layers.** What they put into a request's extensions reaches the handler by `head()`, and a
//!   [`Principal`] among them is who the request is from, unless [`Handler::authorize`] says otherwise. A layer
//!   must neither buffer nor transform event streams, which say `no-transform`; the compression of `tower-http`
//!   leaves them alone by itself.
//! - **Limits.** Those for bodies and sessions are [`Config`]'s. Those for heads and connections, and the time
//!   a head may take, are the HTTP stack's. A stream whose peer reads nothing for [`Config::write_stall`], at
//!   most twice that, is given up.
//! - **Shutdown.** Call [`Service::shutdown`] of [`McpService::service`] next to the stack's own graceful
//!   shutdown, which waits for streams that only this one ends.

mod body;
mod path;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};

use body::RequestBody;
pub use body::ResponseBody;

pub use mcp_http_driver::*;

/// An MCP endpoint. Cheap to clone; all clones are one server.
pub struct McpService<H, R> {
    service: Service<H, R>,
    path: Arc<str>,
}

impl<H: Handler, R: Runtime> McpService<H, R> {
    /// A server in the runtime that the caller is in.
    ///
    /// # Errors
    /// What is wrong with `config`.
    pub fn new(handler: H, config: Config, runtime: R) -> Result<Self, ConfigError> {
        let shards = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(64));
        Service::new(handler, config, runtime, u16::try_from(shards).unwrap_or(1)).map(Self::from)
    }

    /// The server, for its counters and its shutdown. An exchange counts as a connection there.
    #[must_use]
    pub fn service(&self) -> &Service<H, R> {
        &self.service
    }
}

impl<H: Handler, R: Runtime> From<Service<H, R>> for McpService<H, R> {
    fn from(service: Service<H, R>) -> Self {
        let path = Arc::from(service.config().path.as_str());
        McpService { service, path }
    }
}

impl<H, R> Clone for McpService<H, R> {
    fn clone(&self) -> Self {
        McpService { service: self.service.clone(), path: Arc::clone(&self.path) }
    }
}

impl<H, R> std::fmt::Debug for McpService<H, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpService").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<H, R, B> tower_service::Service<Request<B>> for McpService<H, R>
where
    H: Handler,
    R: Runtime,
    B: http_body::Body + Send + 'static,
{
    type Response = Response<ResponseBody<H, R>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        path::unstrip(&mut head.uri, &self.path);
        let response = self.service.respond(head, RequestBody::new(body));
        Box::pin(async move { Ok(response.await.map(ResponseBody::new)) })
    }
}
