//! mcp-http on tokio: sockets, sleep and spawn. Everything else is [`mcp_http_driver`], whose API for
//! applications is re-exported here.
//!
//! ```no_run
//! use mcp_http_tokio::{Call, Config, ErrorObject, Handler, Initialize, Initialized, Json, Server};
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
//! # async fn run() -> Result<(), mcp_http_tokio::ServeError> {
//! Server::bind("127.0.0.1:8000", Config::default()).await?.serve(Ping).await
//! # }
//! ```

mod io;
mod runtime;
mod server;

pub use io::TokioIo;
pub use runtime::TokioRuntime;
pub use server::{Server, Tcp};

pub use mcp_http_driver::*;
