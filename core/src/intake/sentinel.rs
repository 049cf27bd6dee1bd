//! The value of a field that mirrors a text of the body: the text itself, or `=?base64?...?=` (Z4, Z5). Which
//! fields mirror what is `mirror`'s and `param_fields`'.
//!
//! Base64 is read as RFC 4648 has it, padded and canonical: bits that encode nothing must be zero. So each
//! text has exactly one encoded form, and two readers of the field cannot take it for different texts.

use std::borrow::Cow;

const PREFIX: &[u8] = b"=?base64?";
const SUFFIX: &[u8] = b"?=";

/// What `value` stands for; `None` if it has octets that no text may have in a field, or base64 that is none.
///
/// The markers count only in lower case and only together, as every other value is a text that looks like
/// them.
pub(crate) fn decode(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !value.iter().all(|&octet| octet == b'\t' || octet == b' ' || octet.is_ascii_graphic()) {
        return None;
    }
    match value.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) {
        Some(encoded) => base64(encoded).map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

fn base64(encoded: &[u8]) -> Option<Vec<u8>> {
    let (groups, rest) = encoded.as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let mut decoded = Vec::with_capacity(groups.len().saturating_mul(3));
    let mut groups = groups.iter();
    while let Some(&[a, b, c, d]) = groups.next() {
        let is_last = groups.len() == 0;
        let (a, b) = (digit(a)?, digit(b)?);
        decoded.push(a << 2 | b >> 4);
        match (c, d) {
            (b'=', b'=') if is_last => return (b & 0b1111 == 0).then_some(decoded),
            (c, b'=') if is_last => {
                let c = digit(c)?;
                decoded.push(b << 4 | c >> 2);
                return (c & 0b11 == 0).then_some(decoded);
            }
            (c, d) => {
                let (c, d) = (digit(c)?, digit(d)?);
                decoded.push(b << 4 | c >> 2);
                decoded.push(c << 6 | d);
            }
        }
    }
    Some(decoded)
}

/// The six bits that a digit of the standard alphabet stands for.
fn digit(octet: u8) -> Option<u8> {
    match octet {
        b'A'..=b'Z' => octet.checked_sub(b'A'),
        b'a'..=b'z' => octet.checked_sub(b'a')?.checked_add(26),
        b'0'..=b'9' => octet.checked_sub(b'0')?.checked_add(52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}
