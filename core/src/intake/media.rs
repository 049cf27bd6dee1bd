//! The grammar of media types and ranges: `type/subtype *( ";" name "=" value )` (RFC 9110 8.3.1, 12.5.1).
//! `*` is a token character, so a range is read as a type; `accept` tells them apart.

use super::field::{is_token, split_unquoted};

/// Type and subtype, in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MediaType<'a> {
    pub(crate) main: &'a [u8],
    pub(crate) sub: &'a [u8],
}

impl<'a> MediaType<'a> {
    /// Reads `text` whole and shows each parameter to `parameter`: its name and its value, quotes included.
    /// `None` if the text is malformed or `parameter` says `false`.
    pub(crate) fn parse(
        text: &'a [u8],
        mut parameter: impl FnMut(&'a [u8], &'a [u8]) -> bool,
    ) -> Option<MediaType<'a>> {
        let mut pieces = split_unquoted(text, b';');
        let (main, sub) = split_once(pieces.next()?, b'/')?;
        if !is_token(main) || !is_token(sub) {
            return None;
        }
        // Nothing between two semicolons is allowed (RFC 9110 5.6.6).
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            let (name, value) = split_once(piece, b'=')?;
            let well_formed = is_token(name) && (is_token(value) || is_quoted_string(value));
            if !well_formed || !parameter(name, value) {
                return None;
            }
        }
        Some(MediaType { main, sub })
    }

    pub(crate) fn is(&self, main: &str, sub: &str) -> bool {
        self.main.eq_ignore_ascii_case(main.as_bytes()) && self.sub.eq_ignore_ascii_case(sub.as_bytes())
    }
}

fn split_once(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == separator)?;
    Some((text.get(..at)?, text.get(at.checked_add(1)?..)?))
}

/// Whether this is one `quoted-string` (RFC 9110 5.6.4): the quote that closes it is the last octet.
fn is_quoted_string(value: &[u8]) -> bool {
    let [b'"', inside @ .., b'"'] = value else { return false };
    let mut escaped = false;
    for byte in inside {
        match byte {
            b'"' if !escaped => return false,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    !escaped
}
