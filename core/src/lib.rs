//! doc
#![forbid(unsafe_code)]
pub mod answer;
pub mod config;
pub mod entropy;
pub mod endpoint;
pub mod h1;
pub mod intake;
pub mod json;
pub mod jsonrpc;
pub mod reject;
pub mod session_id;
mod slab;
pub mod sse;
pub mod time;
pub mod version;
