//! HTTP/1.1 on the server's side of one socket, as a machine that does no I/O (RFC 9110, RFC 9112).

pub mod authority;
mod body;
mod chunk;
mod connection;
mod event;
mod fault;
mod head;
mod input;
mod limits;
mod lines;
mod names;
mod octets;
mod output;
mod request;
mod request_line;
mod response;
mod state;
mod turn;

pub use authority::Authority;
pub use connection::Connection;
pub use event::{Announced, Body, Event, Request};
pub use fault::{Fault, Misuse};
pub use limits::Limits;
