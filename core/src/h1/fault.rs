//! What can go wrong, told apart by who is to blame: the peer ([`Fault`]) or the caller ([`Misuse`]).
//!
//! Each fault carries the status to answer with. The text of that answer is not here: who writes the
//! response body decides it.

use http::StatusCode;
use thiserror::Error;

/// The peer broke the framing, a limit or a read deadline (RFC 9112, RFC 9110).
///
/// Each message says what was wrong and what would be right. After a fault nothing more of the connection
/// is parsed, and the response that answers it is the last.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Fault {
    /// The first octet cannot start a method: a TLS record, another protocol, a blank (RFC 9112 3).
    #[error(
        "the first octet starts no HTTP request; a request line starts with a method, and TLS is not spoken here"
    )]
    NotHttp,
    /// More empty lines before a request than are skipped (RFC 9112 2.2).
    #[error("too many empty lines before the request line; send none")]
    EmptyLines,
    /// A line ended by LF alone, or a CR that no LF follows (RFC 9112 2.2).
    #[error("a line of the head is not ended by CRLF; CR and LF come only as that pair")]
    LineEnd,
    /// The request line is not `method SP target SP HTTP/d.d` (RFC 9112 3).
    #[error("the request line is malformed; it is a method, one space, a target, one space, HTTP/1.1")]
    RequestLine,
    /// The request line is over its limit (RFC 9112 3).
    #[error("the request line is too long; shorten the target")]
    RequestLineTooLong,
    /// A major version other than 1 (RFC 9110 15.6.6).
    #[error("this HTTP version is not spoken here; HTTP/1.1 and HTTP/1.0 are")]
    Version,
    /// A field line that is not `token ":" OWS value OWS` (RFC 9112 5).
    #[error(
        "a field line is malformed; it is a name, a colon without a blank before it, and a value on one line"
    )]
    Field,
    /// More field lines than the limit (RFC 6585 5).
    #[error("too many header fields; send fewer")]
    TooManyFields,
    /// The head, from request line to empty line, is over its limit (RFC 6585 5).
    #[error("the request head is too large; send fewer or shorter header fields")]
    HeadTooLarge,
    /// Both `Content-Length` and `Transfer-Encoding` (RFC 9112 6.3).
    #[error("both Content-Length and Transfer-Encoding are given; send one")]
    LengthAndCoding,
    /// `Content-Length` is repeated, a list, not digits, or 2^64 and more (RFC 9112 6.3).
    #[error("Content-Length is malformed; send it once, as decimal digits")]
    ContentLength,
    /// `Transfer-Encoding` is malformed, or names `chunked` twice or not last (RFC 9112 6.1).
    #[error("Transfer-Encoding is malformed; the one value understood is chunked, given once")]
    Coding,
    /// `Transfer-Encoding` names a coding that is not known here (RFC 9112 6.1).
    #[error("a transfer coding is not supported; the one understood is chunked")]
    CodingUnknown,
    /// `Transfer-Encoding` in an HTTP/1.0 request (RFC 9112 6.1).
    #[error("HTTP/1.0 has no Transfer-Encoding; send Content-Length")]
    CodingInHttp10,
    /// An HTTP/1.1 request without `Host` (RFC 9112 3.2).
    #[error("the Host field is missing; send it once")]
    HostMissing,
    /// More than one `Host` (RFC 9112 3.2).
    #[error("the Host field is repeated; send it once")]
    HostRepeated,
    /// `Host` is not a host with an optional port (RFC 9110 7.2).
    #[error("the Host field is malformed; it is a name or address, optionally a colon and a port")]
    HostMalformed,
    /// The target is in no form that fits the method (RFC 9112 3.2).
    #[error("the request target is malformed; it is a path starting with a slash, or an http URI")]
    Target,
    /// The method is not known, or is CONNECT (RFC 9110 9.1).
    #[error("the method is not implemented here")]
    Method,
    /// `Expect` asks for something other than `100-continue` (RFC 9110 10.1.1).
    #[error("the expectation cannot be met; the one understood is 100-continue")]
    Expectation,
    /// The body is over its limit: by its declared length, by a chunk's size line or by its sum (RFC 9110 15.5.14).
    #[error("the request body is too large")]
    BodyTooLarge,
    /// A chunk size line is malformed or over its limit (RFC 9112 7.1).
    #[error("a chunk's size line is malformed; it is hexadecimal digits, optionally short extensions, CRLF")]
    ChunkLine,
    /// The data of a chunk does not end in CRLF (RFC 9112 7.1).
    #[error("a chunk does not end where its size says; CRLF follows its data")]
    ChunkEnd,
    /// A malformed trailer field line (RFC 9112 7.1.2).
    #[error("a trailer field line is malformed; it is a name, a colon and a value, ended by CRLF")]
    Trailer,
    /// The trailer section is over the limits of a head (RFC 6585 5).
    #[error("the trailer section is too large; send fewer or shorter trailer fields")]
    TrailersTooLarge,
    /// The head did not arrive in time (RFC 9110 15.5.9).
    #[error("the request head did not arrive in time")]
    HeadTimeout,
    /// The body did not arrive in time (RFC 9110 15.5.9).
    #[error("the request body did not arrive in time")]
    BodyTimeout,
    /// The peer shut its write side inside a head (RFC 9112 8).
    #[error("the request head was cut short; it ends with an empty line")]
    HeadTruncated,
    /// The peer shut its write side inside a body (RFC 9112 8).
    #[error("the request body was cut short; send all of what was announced")]
    BodyTruncated,
}

impl Fault {
    /// The status that answers this fault.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Fault::NotHttp
            | Fault::EmptyLines
            | Fault::LineEnd
            | Fault::RequestLine
            | Fault::Field
            | Fault::LengthAndCoding
            | Fault::ContentLength
            | Fault::Coding
            | Fault::CodingInHttp10
            | Fault::HostMissing
            | Fault::HostRepeated
            | Fault::HostMalformed
            | Fault::Target
            | Fault::ChunkLine
            | Fault::ChunkEnd
            | Fault::Trailer
            | Fault::HeadTruncated
            | Fault::BodyTruncated => StatusCode::BAD_REQUEST,
            Fault::HeadTimeout | Fault::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Fault::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Fault::RequestLineTooLong => StatusCode::URI_TOO_LONG,
            Fault::Expectation => StatusCode::EXPECTATION_FAILED,
            Fault::TooManyFields | Fault::HeadTooLarge | Fault::TrailersTooLarge => {
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
            }
            Fault::Method | Fault::CodingUnknown => StatusCode::NOT_IMPLEMENTED,
            Fault::Version => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
        }
    }
}

/// The caller used the connection out of turn. Nothing was queued and nothing changed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Misuse {
    /// `respond` without a request or fault that waits for a response.
    #[error("no request waits for a response")]
    NothingToAnswer,
    /// `respond` after the response began.
    #[error("the response has already begun")]
    AlreadyAnswered,
    /// `respond` with a status below 200; interim responses are the connection's own business.
    #[error("a final response has a status of 200 or above")]
    InterimStatus,
    /// A field that the connection writes itself: `Connection`, `Content-Length`, `Date`, `Keep-Alive` or
    /// `Transfer-Encoding`.
    #[error("a field that describes the framing is written by the connection alone")]
    FramingField,
    /// `send` or `finish` without a [`Body::Stream`](super::Body::Stream) under way.
    #[error("no streamed body is under way")]
    NoStream,
    /// The connection is given up; its peer is out of reach.
    #[error("the connection is closed")]
    Closed,
}
