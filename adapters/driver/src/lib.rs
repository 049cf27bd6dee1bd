//! The runtime-neutral driver of [`mcp_http_core`]: the loop of a connection, the shards behind their locks,
//! and the [`Handler`] that an application implements.
//!
//! It holds no protocol decisions: which status, which field, which code is the core's to say. A port to a
//! runtime implements [`Runtime`] and [`Io`] and accepts connections; everything else is here.

mod admission;
mod call;
pub mod channels;
mod connection;
mod date;
mod entropy;
mod exchange;
pub mod foreign;
mod handler;
pub mod listen;
mod mailbox;
mod origin;
mod port;
mod request;
mod route;
mod running;
mod runtime;
mod server;
mod service;
mod session;
mod shard;
mod signal;
mod stamp;
mod stats_json;

pub use call::Call;
pub use handler::{Access, Denied, Handler, Initialize, Initialized, Notice, SessionRefused};
pub use listen::ServeError;
pub use request::RequestError;
pub use runtime::{Io, Runtime};
pub use service::{Publisher, ServerStats, Service};
pub use session::Session;
pub use stamp::{CacheScope, Stamp};

pub use mcp_http_core::config::{AllowedHosts, Config, ConfigError, Eras, Publishes, SessionMode};
pub use mcp_http_core::endpoint::{DiscardReason, EndReason, Principal, SendError, Topic};
pub use mcp_http_core::json::Json;
pub use mcp_http_core::jsonrpc::{ErrorObject, code};
pub use mcp_http_core::param_headers::{ParamHeaderError, ParamHeaders};
pub use mcp_http_core::version::Version;
