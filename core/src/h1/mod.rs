//! HTTP/1.1 on the server's side of one socket, as a machine that does no I/O (RFC 9110, RFC 9112).
//!
//! [`Connection`] knows framing, keep-alive, pipelining, limits and its own deadlines. It knows nothing of
//! MCP, JSON, paths or sockets, and reads no clock.
//!
//! ```
//! use mcp_http_core::h1::{Body, Connection, Event, Limits};
//! use mcp_http_core::time::Timestamp;
//!
//! let now = Timestamp::ZERO;
//! let mut connection = Connection::new(Limits::default(), now);
//! connection.receive(b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", now);
//! let Some(Event::Request(request)) = connection.next_event() else { panic!("a request came") };
//! assert_eq!(request.parts.uri.path(), "/hello");
//!
//! connection.respond(http::StatusCode::OK, &[], Body::Full("hi".into()), None, now)?;
//! let mut slices = [std::io::IoSlice::new(&[]); 8];
//! assert_eq!(connection.output(&mut slices), 1);
//! assert_eq!(&*slices[0], b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
//! connection.wrote(connection.unwritten(), now);
//! assert!(matches!(connection.next_event(), Some(Event::Flushed)));
//! # Ok::<(), mcp_http_core::h1::Misuse>(())
//! ```
//!
//! # Decisions
//!
//! Where the RFCs leave a choice, the stricter reading is taken: what two readers could read in two ways is
//! refused, so that nothing can be smuggled past one of them.
//!
//! 1. Lines end in CRLF. LF alone and CR alone are refused everywhere.
//! 2. Up to 8 empty lines before a request are skipped; they do not put off the header deadline.
//! 3. `Content-Length` is one line of digits. `Transfer-Encoding` is one `chunked`, and only in HTTP/1.1.
//!    Both together are refused.
//! 4. Chunk size lines, their extensions and trailers are checked against their grammar and dropped.
//! 5. `Host` is there exactly once in HTTP/1.1, and well-formed. An absolute target's authority outranks it.
//! 6. Targets are an absolute path, or `http` and `https` URIs; `*` with OPTIONS. They are not decoded and
//!    not normalised.
//! 7. `HTTP/1.x` with x above 1 is HTTP/1.1. Another major version is 505.
//! 8. Unknown methods, and CONNECT, are 501. Which known ones a resource offers is the application's word.
//! 9. Faults come in the order syntax, version, framing, host, target, method, expectation; before the end of
//!    a head is seen, the one at the earlier octet. The order never depends on how the octets were cut.
//! 10. A declared length over the limit is a fault when the body is asked for, so that the application's own
//!     refusals come first.
//! 11. After a fault, and after a response that closes, nothing more is parsed. The write side is shut, and
//!     what the peer still sends is dropped for a while, so that it can read its answer. Beyond
//!     [`Limits::drain_bytes_max`] no more is read, but the socket stays open for the rest of
//!     [`Limits::drain`], since closing it then would reset the peer.
//! 12. The body of a request that was answered without it is dropped if it is small, and the connection kept;
//!     else it closes. It also closes if `100 Continue` was expected and not sent: whether the body comes
//!     cannot be known.
//! 13. `100 Continue` is sent when the application asks for the body and none of it has come.
//! 14. A timeout is answered with 408 once an octet of a request line has come, and is silent before.
//! 15. HTTP/1.0 is kept alive only if it asks, and gets streamed bodies ended by closing.
//! 16. `Upgrade` is ignored.
//!
//! # Inside
//!
//! `connection.rs` is the surface and `turn.rs` what happens behind it; `state.rs` is the table of all moves.
//! Requests come through `head.rs`, `request_line.rs`, `request.rs` and `body.rs`; responses leave through
//! `response.rs` and `output.rs`.

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
