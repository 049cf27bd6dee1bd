//! `host [":" port]`, the grammar of `Host` and of an absolute target's authority (RFC 3986 3.2, RFC 9110 7.2).
//!
//! Syntax alone: which hosts are allowed is not judged here. `http::uri::Authority` is no help, it accepts
//! user information, empty hosts, ports that are no numbers and ports above 65535.

/// A well-formed authority, borrowed from the octets it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority<'a> {
    /// A registered name or IPv4 address as sent, in any case; an IPv6 address with its brackets. Never
    /// empty.
    pub host: &'a str,
    /// The port, if one is given.
    pub port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Reads `octets` whole; `None` if they are no authority.
    #[must_use]
    pub fn parse(octets: &'a [u8]) -> Option<Self> {
        let _ = octets;
        None
    }
}
