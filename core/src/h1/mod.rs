//! HTTP/1.1 on the server's side of one socket, as a machine that does no I/O (RFC 9110, RFC 9112).

pub mod authority;
mod connection;
mod event;
mod fault;
mod limits;

pub use authority::Authority;
pub use connection::Connection;
pub use event::{Announced, Body, Event, Request};
pub use fault::{Fault, Misuse};
pub use limits::Limits;
