//! Reads a complete head: the fields, the framing they announce, and whether the request may be served at
//! all. The faults come in a fixed order: field syntax, framing, `Host` and target, method, expectation.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Version};
use smallvec::SmallVec;

use super::head::Head;
use super::names::field_name;
use super::request_line::{method, target};
use super::{Announced, Authority, Fault, Request};
use crate::octets::{is_token, trim_ows};

/// More fields than a header map can hold would be refused by it; this is well below.
const FIELDS_MAX: usize = 16_384;

/// A request, and what its head says that only the connection needs to know.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) request: Box<Request>,
    /// The peer would send further requests on this connection.
    pub(super) persistent: bool,
    /// The peer holds the body back until it is told to go on.
    pub(super) expects: bool,
}

/// Judges a head whose request line has the right shape.
pub(super) fn parse(head: Head) -> Result<Parsed, Fault> {
    let Head { octets, request_line: line, fields } = head;
    let headers = read_fields(&octets, line.end, fields)?;
    let body = framing(&headers, line.http10)?;
    host(&headers, line.http10)?;
    let method_octets = octets.get(line.method()).unwrap_or_default();
    let uri = target(method_octets, share(&octets, octets.get(line.target()).unwrap_or_default()))?;
    let method = method(method_octets)?;
    let expects = expects_continue(&headers)? && !line.http10 && body != Announced::None;
    let persistent = is_persistent(&headers, line.http10);

    let (mut parts, ()) = http::Request::new(()).into_parts();
    parts.method = method;
    parts.uri = uri;
    parts.version = if line.http10 { Version::HTTP_10 } else { Version::HTTP_11 };
    parts.headers = headers;
    Ok(Parsed { request: Box::new(Request { parts, body }), persistent, expects })
}

fn read_fields(head: &Bytes, start: usize, count: usize) -> Result<HeaderMap, Fault> {
    if count > FIELDS_MAX {
        return Err(Fault::TooManyFields);
    }
    let octets = head.get(start..).unwrap_or_default();
    let mut lines: SmallVec<[httparse::Header<'_>; 24]> = SmallVec::from_elem(httparse::EMPTY_HEADER, count);
    let parsed = match httparse::parse_headers(octets, &mut lines) {
        Ok(httparse::Status::Complete((end, parsed))) if end == octets.len() => parsed,
        Ok(_) | Err(_) => return Err(Fault::Field),
    };
    let mut headers = HeaderMap::try_with_capacity(count).map_err(|_| Fault::TooManyFields)?;
    for line in parsed {
        let name = field_name(line.name.as_bytes()).ok_or(Fault::Field)?;
        let value = HeaderValue::from_maybe_shared(share(head, line.value)).map_err(|_| Fault::Field)?;
        headers.try_append(name, value).map_err(|_| Fault::TooManyFields)?;
    }
    Ok(headers)
}

/// `part` of `head`, sharing its memory instead of copying.
fn share(head: &Bytes, part: &[u8]) -> Bytes {
    let start = part.as_ptr().addr().saturating_sub(head.as_ptr().addr());
    let end = start.saturating_add(part.len());
    let is_part = head.get(start..end).is_some_and(|octets| core::ptr::eq(octets, part));
    if is_part { head.slice(start..end) } else { Bytes::copy_from_slice(part) }
}

/// How the body ends (RFC 9112 6.3). Whatever two readers could read in two ways is refused.
fn framing(headers: &HeaderMap, http10: bool) -> Result<Announced, Fault> {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let length = (lengths.next(), lengths.next());
    if headers.contains_key(TRANSFER_ENCODING) {
        if length.0.is_some() {
            return Err(Fault::LengthAndCoding);
        }
        if http10 {
            return Err(Fault::CodingInHttp10);
        }
        return chunked(headers);
    }
    match length {
        (None, _) => Ok(Announced::None),
        (Some(value), None) => content_length(value.as_bytes()).map(Announced::Length),
        (Some(_), Some(_)) => Err(Fault::ContentLength),
    }
}

/// `1*DIGIT` below 2^64. The check for digits comes first because `parse` takes a sign.
fn content_length(value: &[u8]) -> Result<u64, Fault> {
    if !value.iter().all(u8::is_ascii_digit) {
        return Err(Fault::ContentLength);
    }
    core::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()).ok_or(Fault::ContentLength)
}

/// Exactly one `chunked`. Anything else is refused; which refusal says whether it could be right elsewhere.
fn chunked(headers: &HeaderMap) -> Result<Announced, Fault> {
    let mut known = 0_usize;
    let mut unknown = 0_usize;
    for coding in list(headers, TRANSFER_ENCODING) {
        let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
        if !is_token(coding) || known > 0 {
            return Err(Fault::Coding);
        }
        let seen = if is_chunked { &mut known } else { &mut unknown };
        *seen = seen.saturating_add(1);
    }
    match (known, unknown) {
        (1, 0) => Ok(Announced::Chunked),
        _ => Err(Fault::CodingUnknown),
    }
}

/// One well-formed `Host` in HTTP/1.1, at most one in HTTP/1.0 (RFC 9112 3.2).
fn host(headers: &HeaderMap, http10: bool) -> Result<(), Fault> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if http10 => Ok(()),
        (None, _) => Err(Fault::HostMissing),
        (Some(_), Some(_)) => Err(Fault::HostRepeated),
        (Some(host), None) => Authority::parse(host.as_bytes()).map(|_| ()).ok_or(Fault::HostMalformed),
    }
}

/// Whether `100-continue` is among the expectations; it may be the only one (RFC 9110 10.1.1).
fn expects_continue(headers: &HeaderMap) -> Result<bool, Fault> {
    let mut expects = false;
    for expectation in list(headers, EXPECT).filter(|element| !element.is_empty()) {
        if !expectation.eq_ignore_ascii_case(b"100-continue") {
            return Err(Fault::Expectation);
        }
        expects = true;
    }
    Ok(expects)
}

/// Whether the connection outlives this exchange (RFC 9112 9.3): `close` outranks all else, and HTTP/1.0
/// has to ask.
fn is_persistent(headers: &HeaderMap, http10: bool) -> bool {
    let has = |option: &[u8]| list(headers, CONNECTION).any(|element| element.eq_ignore_ascii_case(option));
    !has(b"close") && (!http10 || has(b"keep-alive"))
}

/// The elements of a list field over all its lines, empty ones included (RFC 9110 5.6.1).
fn list(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &[u8]> {
    let values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    values.flat_map(|value| value.split(|octet| *octet == b',').map(trim_ows))
}
