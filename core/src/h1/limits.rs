//! The bounds of one connection. Each is a number with a unit; none is optional.

use core::time::Duration;

/// What one peer may cost: octets held and time waited.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Octets of a request line, without its CRLF. RFC 9112 3 wants at least 8000. Over it: 414.
    /// Default 16 KiB.
    pub request_line_bytes_max: usize,
    /// Octets of a head from the request line to the empty line; also of a trailer section. Over it: 431.
    /// Default 64 KiB.
    pub head_bytes_max: usize,
    /// Field lines of a head; also of a trailer section. Over it: 431. Above 16 384 it counts as that, since
    /// a header map holds no more. Default 100.
    pub fields_max: usize,
    /// Octets of a request body after decoding; the smaller of it and what
    /// [`read_body`](super::Connection::read_body) is given holds. Over it: 413. Default 4 MiB.
    pub body_bytes_max: usize,
    /// From the first octet of a request, or from accept, until the head is complete. After it: 408, or
    /// silence when no octet of a request line came. Default 10 s.
    pub header_read: Duration,
    /// From `read_body` until the body is complete, not prolonged by progress. After it: 408. Default 30 s.
    pub body_read: Duration,
    /// From one exchange's end to the next request's first octet. After it: silence. Default 75 s.
    pub keep_alive_idle: Duration,
    /// How long the socket may take no octet of the output that waits. After it: `Gone`. Default 30 s.
    pub write_stall: Duration,
    /// Octets dropped of a body that nobody wanted, before the connection counts as lost to reuse; also
    /// octets dropped on a connection that is closing, before no more are read. Default 256 KiB.
    pub drain_bytes_max: usize,
    /// Time for that dropping, once the response is out. After it: `Close`. Default 2 s.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            request_line_bytes_max: 16 * 1024,
            head_bytes_max: 64 * 1024,
            fields_max: 100,
            body_bytes_max: 4 * 1024 * 1024,
            header_read: Duration::from_secs(10),
            body_read: Duration::from_secs(30),
            keep_alive_idle: Duration::from_secs(75),
            write_stall: Duration::from_secs(30),
            drain_bytes_max: 256 * 1024,
            drain: Duration::from_secs(2),
        }
    }
}
