//! The classes of octets that the grammars of RFC 9110 and RFC 3986 are made of, and nothing larger.

/// `1*tchar` (RFC 9110 5.6.2).
pub(crate) fn is_token(octets: &[u8]) -> bool {
    !octets.is_empty() && octets.iter().copied().all(is_tchar)
}

/// `tchar` (RFC 9110 5.6.2).
pub(crate) fn is_tchar(octet: u8) -> bool {
    octet.is_ascii_alphanumeric()
        || matches!(
            octet,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// What may stand in a field value: HTAB, SP, VCHAR, obs-text (RFC 9110 5.5).
pub(crate) fn is_text(octet: u8) -> bool {
    octet == b'\t' || (octet >= b' ' && octet != 0x7F)
}

/// `unreserved` (RFC 3986 2.3).
pub(crate) fn is_unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~')
}

/// `sub-delims` (RFC 3986 2.2).
pub(crate) fn is_sub_delim(octet: u8) -> bool {
    matches!(octet, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=')
}

/// Whether every octet fits `allowed`, once well-formed percent-escapes are set aside (RFC 3986 2.1).
pub(crate) fn all_escaped_or(octets: &[u8], mut allowed: impl FnMut(u8) -> bool) -> bool {
    let mut octets = octets.iter().copied();
    while let Some(octet) = octets.next() {
        let fits = match octet {
            b'%' => (0..2).all(|_| octets.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            _ => allowed(octet),
        };
        if !fits {
            return false;
        }
    }
    true
}

/// Without the SP and HTAB around it. `trim_ascii` would also take CR, LF and FF (RFC 9110 5.6.3).
pub(crate) fn trim_ows(octets: &[u8]) -> &[u8] {
    let mut rest = trim_ows_start(octets);
    while let [before @ .., b' ' | b'\t'] = rest {
        rest = before;
    }
    rest
}

/// Without the SP and HTAB before it.
pub(crate) fn trim_ows_start(octets: &[u8]) -> &[u8] {
    let mut rest = octets;
    while let [b' ' | b'\t', after @ ..] = rest {
        rest = after;
    }
    rest
}
