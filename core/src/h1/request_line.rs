//! The request line: `method SP request-target SP HTTP-version` (RFC 9112 3), and what its parts may be.
//!
//! Its shape is judged as soon as the line is complete, so that other protocols are refused at once; method
//! and target are judged later, when the framing is known to be sound.

use core::ops::Range;

use bytes::Bytes;
use http::{Method, Uri};

use super::{Authority, Fault};
use crate::octets::{all_escaped_or, is_sub_delim, is_token, is_unreserved};

/// A request line of the right shape, as offsets into the head that it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestLine {
    method_end: usize,
    target_end: usize,
    /// Where the fields start.
    pub(super) end: usize,
    /// HTTP/1.0; every later minor version counts as HTTP/1.1 (RFC 9110 2.5).
    pub(super) http10: bool,
    /// The method is HEAD.
    pub(super) is_head: bool,
}

impl RequestLine {
    /// Reads the first line of a head, without its CRLF.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Fault> {
        let mut parts = line.split(|octet| *octet == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Fault::RequestLine);
        };
        if !is_token(method) || target.is_empty() {
            return Err(Fault::RequestLine);
        }
        let target_end = line.len().saturating_sub(version.len()).saturating_sub(1);
        Ok(RequestLine {
            method_end: method.len(),
            target_end,
            end: line.len().saturating_add(2),
            http10: is_http10(version)?,
            is_head: method == b"HEAD",
        })
    }

    /// The method's octets, as a range of the head.
    pub(super) fn method(self) -> Range<usize> {
        0..self.method_end
    }

    /// The target's octets, as a range of the head.
    pub(super) fn target(self) -> Range<usize> {
        self.method_end.saturating_add(1)..self.target_end
    }
}

/// `"HTTP/" DIGIT "." DIGIT`, in capitals (RFC 9112 2.3).
fn is_http10(version: &[u8]) -> Result<bool, Fault> {
    match version {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9'] => Ok(*minor == b'0'),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(Fault::Version),
        _ => Err(Fault::RequestLine),
    }
}

/// The methods of RFC 9110 and RFC 5789, without CONNECT, which asks for a tunnel.
pub(super) fn method(octets: &[u8]) -> Result<Method, Fault> {
    Ok(match octets {
        b"POST" => Method::POST,
        b"GET" => Method::GET,
        b"DELETE" => Method::DELETE,
        b"OPTIONS" => Method::OPTIONS,
        b"HEAD" => Method::HEAD,
        b"PUT" => Method::PUT,
        b"PATCH" => Method::PATCH,
        b"TRACE" => Method::TRACE,
        _ => return Err(Fault::Method),
    })
}

/// The four forms of a target, each with the methods that may use it (RFC 9112 3.2).
pub(super) fn target(method: &[u8], target: Bytes) -> Result<Uri, Fault> {
    let fits = match (method, &*target) {
        (b"CONNECT", authority) => {
            Authority::parse(authority).is_some_and(|authority| authority.port.is_some())
        }
        (_, b"*") => method == b"OPTIONS",
        (_, [b'/', ..]) => is_path_and_query(&target),
        (_, absolute) => is_absolute(absolute),
    };
    // `Uri` alone would take a fragment, a missing slash, and most octets that no URI has.
    if fits { Uri::from_maybe_shared(target).map_err(|_| Fault::Target) } else { Err(Fault::Target) }
}

/// `("http" / "https") "://" authority [ path ] [ "?" query ]`, where the authority is as strict as `Host`.
fn is_absolute(target: &[u8]) -> bool {
    let Some(colon) = target.iter().position(|octet| *octet == b':') else { return false };
    let Some((scheme, after)) = target.split_at_checked(colon) else { return false };
    let Some(after) = after.strip_prefix(b"://") else { return false };
    let end = after.iter().position(|octet| matches!(octet, b'/' | b'?')).unwrap_or(after.len());
    let Some((authority, path_and_query)) = after.split_at_checked(end) else { return false };
    (scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https"))
        && Authority::parse(authority).is_some()
        && is_path_and_query(path_and_query)
}

/// Octets of RFC 3986 3.3 and 3.4; and brackets in a query, which browsers send there as they are.
fn is_path_and_query(octets: &[u8]) -> bool {
    let mut in_query = false;
    all_escaped_or(octets, |octet| {
        in_query = in_query || octet == b'?';
        match octet {
            b'/' | b'?' | b':' | b'@' => true,
            b'[' | b']' => in_query,
            _ => is_unreserved(octet) || is_sub_delim(octet),
        }
    })
}
