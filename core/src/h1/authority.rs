//! `host [":" port]`, the grammar of `Host` and of an absolute target's authority (RFC 9110 7.2, RFC 3986 3.2).
//!
//! Syntax alone: which hosts are allowed is not judged here. `http::uri::Authority` is no help: it accepts
//! user information, empty hosts, and ports that are not numbers or above 65535.

use core::net::Ipv6Addr;

use crate::octets::{all_escaped_or, is_sub_delim, is_unreserved};

/// A well-formed authority, borrowed from the octets it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority<'a> {
    /// A registered name or IPv4 address as sent, in any case; or an IPv6 address in its brackets. Never
    /// empty.
    pub host: &'a str,
    /// The port; `None` also for a colon with nothing behind it, which the grammar allows.
    pub port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Reads `octets` whole; `None` if they are no authority.
    ///
    /// Stricter than RFC 3986 in two points: no comma in a name, since it is the mark of two `Host` lines
    /// joined into one, and no address literals of a future version.
    #[must_use]
    pub fn parse(octets: &'a [u8]) -> Option<Self> {
        let text = core::str::from_utf8(octets).ok()?;
        let (host, after) = match text.strip_prefix('[') {
            Some(literal) => {
                let (address, after) = literal.split_once(']')?;
                address.parse::<Ipv6Addr>().ok()?;
                (text.strip_suffix(after)?, after)
            }
            None => {
                let (name, after) = text.split_at_checked(text.find(':').unwrap_or(text.len()))?;
                is_name(name.as_bytes()).then_some((name, after))?
            }
        };
        let port = match after.strip_prefix(':') {
            Some(digits) => port(digits)?,
            None if after.is_empty() => None,
            None => return None,
        };
        Some(Authority { host, port })
    }
}

/// `reg-name`, which takes in IPv4 addresses; not empty, as http wants (RFC 9110 4.2.1).
fn is_name(octets: &[u8]) -> bool {
    let allowed = |octet| is_unreserved(octet) || (is_sub_delim(octet) && octet != b',');
    !octets.is_empty() && all_escaped_or(octets, allowed)
}

/// `*DIGIT` up to 65535. The check for digits comes first because `parse` takes a sign.
fn port(digits: &str) -> Option<Option<u16>> {
    if digits.is_empty() {
        return Some(None);
    }
    if !digits.bytes().all(|octet| octet.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::Authority;

    fn parsed(text: &str) -> Option<(&str, Option<u16>)> {
        Authority::parse(text.as_bytes()).map(|authority| (authority.host, authority.port))
    }

    #[test]
    fn names_and_addresses_with_and_without_a_port() {
        assert_eq!(parsed("localhost"), Some(("localhost", None)));
        assert_eq!(parsed("127.0.0.1:0"), Some(("127.0.0.1", Some(0))));
        assert_eq!(parsed("A_b-c.~%41:65535"), Some(("A_b-c.~%41", Some(65535))));
        assert_eq!(parsed("a:"), Some(("a", None)));
        assert_eq!(parsed("a:00080"), Some(("a", Some(80))));
        assert_eq!(parsed("[::1]"), Some(("[::1]", None)));
        assert_eq!(parsed("[::ffff:127.0.0.1]:8000"), Some(("[::ffff:127.0.0.1]", Some(8000))));
    }

    #[test]
    fn everything_else_is_none() {
        for text in [
            "",
            ":80",
            "u@a",
            "a:x",
            "a:+1",
            "a:-1",
            "a:65536",
            "a:99999999999999999999",
            "a,b",
            "a b",
            "a/",
            "a?x",
            "a#x",
            "a\\",
            "<a>",
            "a:80:80",
            "é",
            "a\u{1}",
            "%4",
            "%zz",
            "[::1",
            "::1",
            "[::1]x",
            "[::1]:x",
            "[]",
            "[a]",
            "[1.2.3.4]",
            "[::1%25eth0]",
            "[v1.x]",
            "a:80 ",
            " a",
        ] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
        assert_eq!(Authority::parse(b"a\xFF"), None);
    }
}
