//! Writes the head of a final response (RFC 9112 4, 6). Which framing it has is decided by the connection.

use http::header::{CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue, StatusCode};

use super::Misuse;

/// The interim response that lets a body come (RFC 9110 15.2.1).
pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Everything that goes into a head.
#[derive(Debug)]
pub(super) struct ResponseHead<'a> {
    pub(super) status: StatusCode,
    pub(super) fields: &'a [(HeaderName, HeaderValue)],
    pub(super) date: Option<&'a HeaderValue>,
    pub(super) length: Length,
    pub(super) persistence: Persistence,
}

/// How the head says where the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// Nothing is said: there is no body, or closing ends it.
    Unsaid,
    /// `content-length`, in octets.
    Octets(usize),
    /// `transfer-encoding: chunked`.
    Chunked,
}

/// What the head says of the connection (RFC 9112 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    /// HTTP/1.1 persists unless it says otherwise.
    Unsaid,
    /// `connection: keep-alive`, the answer to an HTTP/1.0 peer that asked for it.
    KeepAlive,
    /// `connection: close`.
    Close,
}

/// Refuses fields that only the connection may write.
pub(super) fn check_fields(fields: &[(HeaderName, HeaderValue)]) -> Result<(), Misuse> {
    let own = |name: &HeaderName| {
        [CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING].contains(name) || name.as_str() == "keep-alive"
    };
    if fields.iter().any(|(name, _)| own(name)) { Err(Misuse::FramingField) } else { Ok(()) }
}

impl ResponseHead<'_> {
    /// Appends the head, with room for `body` octets behind it.
    pub(super) fn write(&self, body: usize, into: &mut Vec<u8>) {
        into.reserve(self.size().saturating_add(body));
        into.extend_from_slice(b"HTTP/1.1 ");
        into.extend_from_slice(self.status.as_str().as_bytes());
        into.push(b' ');
        into.extend_from_slice(self.status.canonical_reason().unwrap_or_default().as_bytes());
        into.extend_from_slice(b"\r\n");
        if let Some(date) = self.date {
            write_field(&DATE, date.as_bytes(), into);
        }
        for (name, value) in self.fields {
            write_field(name, value.as_bytes(), into);
        }
        match self.length {
            Length::Unsaid => {}
            Length::Octets(octets) => write_length(octets, into),
            Length::Chunked => write_field(&TRANSFER_ENCODING, b"chunked", into),
        }
        match self.persistence {
            Persistence::Unsaid => {}
            Persistence::KeepAlive => write_field(&CONNECTION, b"keep-alive", into),
            Persistence::Close => write_field(&CONNECTION, b"close", into),
        }
        into.extend_from_slice(b"\r\n");
    }

    /// Octets of the head, or a little more, so that it is written into memory asked for once.
    fn size(&self) -> usize {
        /// Status line, date, length and persistence at their longest.
        const OWN: usize = 192;
        let of = |(name, value): &(HeaderName, HeaderValue)| {
            name.as_str().len().saturating_add(value.len()).saturating_add(4)
        };
        self.fields.iter().map(of).fold(OWN, usize::saturating_add)
    }
}

fn write_field(name: &HeaderName, value: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(name.as_str().as_bytes());
    into.extend_from_slice(b": ");
    into.extend_from_slice(value);
    into.extend_from_slice(b"\r\n");
}

fn write_length(octets: usize, into: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut rest = octets;
    let mut used = 0_usize;
    for digit in digits.iter_mut().rev() {
        if rest == 0 && used > 0 {
            break;
        }
        *digit = b'0'.saturating_add(u8::try_from(rest % 10).unwrap_or_default());
        rest /= 10;
        used = used.saturating_add(1);
    }
    let start = digits.len().saturating_sub(used);
    write_field(&CONTENT_LENGTH, digits.get(start..).unwrap_or_default(), into);
}
