//! A chunk's size line: `1*HEXDIG [ chunk-ext ]` (RFC 9112 7.1).
//!
//! `httparse::parse_chunk_size` is no help: it reads an empty line as size 0, which would end the body, and
//! takes LF and NUL inside an extension.

use crate::octets::{is_tchar, is_text, trim_ows_start};

/// Digits of a size. Sixteen fill 64 bits, so a size never overflows; more are refused, also leading zeros.
const DIGITS_MAX: usize = 16;

/// What a size line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SizeLine {
    /// Octets of data that follow; 0 in the last chunk.
    pub(super) size: u64,
    /// Octets of extensions, which are dropped.
    pub(super) extension: usize,
}

/// Reads a size line without its CRLF; `None` if it is malformed.
pub(super) fn size_line(line: &[u8]) -> Option<SizeLine> {
    let digits = line.iter().take_while(|octet| octet.is_ascii_hexdigit()).count();
    if digits == 0 || digits > DIGITS_MAX {
        return None;
    }
    let (digits, extension) = line.split_at_checked(digits)?;
    let size = u64::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()?;
    are_extensions(extension).then_some(SizeLine { size, extension: extension.len() })
}

/// `*( BWS ";" BWS name [ BWS "=" BWS value ] )` with `value` a token or quoted string (RFC 9112 7.1.1).
fn are_extensions(octets: &[u8]) -> bool {
    let mut rest = octets;
    while !rest.is_empty() {
        let Some(after) = after_extension(rest) else { return false };
        rest = after;
    }
    true
}

fn after_extension(octets: &[u8]) -> Option<&[u8]> {
    let after = trim_ows_start(octets).strip_prefix(b";")?;
    let after = after_token(trim_ows_start(after))?;
    let Some(value) = trim_ows_start(after).strip_prefix(b"=") else { return Some(after) };
    let value = trim_ows_start(value);
    match value.strip_prefix(b"\"") {
        Some(quoted) => after_quoted(quoted),
        None => after_token(value),
    }
}

fn after_token(octets: &[u8]) -> Option<&[u8]> {
    let token = octets.iter().take_while(|octet| is_tchar(**octet)).count();
    if token == 0 { None } else { octets.get(token..) }
}

/// What follows the closing quote (RFC 9110 5.6.4).
fn after_quoted(octets: &[u8]) -> Option<&[u8]> {
    let mut rest = octets;
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Some(after),
            [b'\\', escaped, after @ ..] if is_text(*escaped) => after,
            [octet, after @ ..] if is_text(*octet) && *octet != b'\\' => after,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SizeLine, size_line};

    #[test]
    fn sizes_and_extensions() {
        let line =
            |text: &str| size_line(text.as_bytes()).map(|SizeLine { size, extension }| (size, extension));
        assert_eq!(line("0"), Some((0, 0)));
        assert_eq!(line("00aF"), Some((0xAF, 0)));
        assert_eq!(line("FFFFFFFFFFFFFFFF"), Some((u64::MAX, 0)));
        assert_eq!(line("5;a=b;c"), Some((5, 6)));
        assert_eq!(line("5 ; a = \"x;\\\"y\" ;b"), Some((5, 17)));
    }

    #[test]
    fn everything_else_is_none() {
        for text in [
            "",
            " ",
            ";x",
            " 5",
            "+5",
            "-5",
            "0x5",
            "5h",
            "5,x",
            "5.0",
            "\"5\"",
            "5 ",
            "5\t",
            "5;",
            "5;;",
            "5; ",
            "5;a=",
            "5;a=\"",
            "5;a=\"\\",
            "5;a=b ",
            "5;a[x]",
            "5;a\0",
            "5;a\u{7F}",
            "5;a=\"\0\"",
            "5\r",
            "5;a\rb",
            "10000000000000000",
            "00000000000000000",
        ] {
            assert_eq!(size_line(text.as_bytes()), None, "{text:?}");
        }
    }
}
