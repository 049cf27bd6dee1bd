//! The words that pass between a connection and its caller: events out, the shape of a body in.

use bytes::Bytes;
use http::request::Parts;

use super::Fault;

/// What [`Connection::next_event`](super::Connection::next_event) reports, one at a time.
///
/// Each `Request`, and each `Fault` that comes without one, opens an exchange, and each exchange ends with
/// exactly one `Flushed` or `Gone`.
#[derive(Debug)]
pub enum Event {
    /// A head is complete and well-formed. The body waits for
    /// [`read_body`](super::Connection::read_body).
    Request(Box<Request>),
    /// A piece of the body that was asked for, never empty.
    Data(Bytes),
    /// The body that was asked for has ended; also given for an empty one.
    BodyEnd,
    /// The peer broke the rules. Answer with [`Fault::status`]; that response is the last.
    Fault(Fault),
    /// The socket took the last octet of the response: the exchange is complete.
    Flushed,
    /// The peer shut its write side while an exchange is in progress; the response can still be written.
    /// Given at most once per connection.
    HalfClosed,
    /// The exchange in progress can no longer complete. `Close` follows.
    Gone,
    /// Shut the socket's write side now, and keep feeding what the peer sends: it is counted and dropped, so
    /// that a peer still sending can read its answer instead of a reset (RFC 9112 9.6). `Close` follows,
    /// after at most [`Limits::drain`](super::Limits::drain).
    ShutdownWrite,
    /// Close the socket now. Nothing follows.
    Close,
}

/// A request's head.
#[derive(Debug)]
pub struct Request {
    /// Method, target, version and fields. `uri` is path and query for the origin form, and the whole URI
    /// for the absolute form, whose authority then outranks `Host` (RFC 9112 3.2.2). `version` is HTTP/1.0 or
    /// HTTP/1.1, which also stands for higher minor versions. `Host` is in the fields as sent; it is
    /// well-formed, and present in HTTP/1.1.
    pub parts: Parts,
    /// What the head says of the body.
    pub body: Announced,
}

/// What a request's head says of its body (RFC 9112 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announced {
    /// Neither `Content-Length` nor `Transfer-Encoding`: the body is empty.
    None,
    /// `Content-Length`, in octets.
    Length(u64),
    /// `Transfer-Encoding: chunked`; the length shows only as it comes.
    Chunked,
}

/// The shape of a response's body.
///
/// A response to HEAD, and one with status 204 or 304, has no body octets whatever is given here (RFC 9112
/// 6.3); its fields are the same as with them, except that a 204 announces no length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// No octets: `Content-Length: 0`.
    Empty,
    /// All of it; its length is announced.
    Full(Bytes),
    /// Pieces follow by [`send`](super::Connection::send) and end by
    /// [`finish`](super::Connection::finish): chunked in HTTP/1.1, ended by closing in HTTP/1.0.
    Stream,
}
