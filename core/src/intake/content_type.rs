//! `Content-Type` of a POST (I3), and its declared length (L1). The body itself is judged in `body`.

use http::{HeaderMap, header};

use super::field::{Lines, trim};
use super::media::MediaType;
use crate::reject::Refusal;

/// Refuses what is not declared to be JSON: one line, `application/json` in any case, with any well-formed
/// parameters. A `charset` must be UTF-8: JSON has no other (RFC 8259 8.1), and who declares another one
/// would be misread. Nor is a content coding decoded here (415 by RFC 9110 8.4).
pub(crate) fn judge(fields: &HeaderMap) -> Result<(), Refusal> {
    match Lines::of(fields, &header::CONTENT_ENCODING) {
        Lines::Absent => {}
        Lines::One(coding) if coding.eq_ignore_ascii_case(b"identity") => {}
        Lines::One(_) | Lines::Several => return Err(Refusal::UnsupportedMediaType),
    }
    let Lines::One(value) = Lines::of(fields, &header::CONTENT_TYPE) else {
        return Err(Refusal::UnsupportedMediaType);
    };
    match MediaType::parse(value, is_utf8_if_charset) {
        Some(media_type) if media_type.is("application", "json") => Ok(()),
        Some(_) | None => Err(Refusal::UnsupportedMediaType),
    }
}

/// Refuses a body that is declared to be larger than `limit`, before any of it is read. What is no number is
/// the codec's to refuse.
pub(crate) fn judge_length(fields: &HeaderMap, limit: usize) -> Result<(), Refusal> {
    for value in fields.get_all(header::CONTENT_LENGTH) {
        let digits = trim(value.as_bytes());
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            continue;
        }
        // Digits that do not fit are a number that is too large.
        let length = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<usize>().ok());
        if length.is_none_or(|length| length > limit) {
            return Err(Refusal::BodyTooLarge { limit });
        }
    }
    Ok(())
}

fn is_utf8_if_charset(name: &[u8], value: &[u8]) -> bool {
    let bare = match value {
        [b'"', inside @ .., b'"'] => inside,
        _ => value,
    };
    !name.eq_ignore_ascii_case(b"charset")
        || bare.eq_ignore_ascii_case(b"utf-8")
        || bare.eq_ignore_ascii_case(b"utf8")
}
