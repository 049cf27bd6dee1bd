//! Reading request fields: how many lines there are, and which octets make a value well-formed. What a value
//! means is judged beside.

use http::{HeaderMap, HeaderName};

pub(crate) use crate::octets::{is_token, trim_ows as trim};
pub(crate) use crate::param_headers::FIELD_PREFIX as MCP_PARAM_PREFIX;

pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The lines of a field that must not be given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines<'a> {
    Absent,
    /// One, without the blanks around it.
    One(&'a [u8]),
    Several,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(fields: &'a HeaderMap, name: &HeaderName) -> Lines<'a> {
        let mut lines = fields.get_all(name).iter();
        match (lines.next(), lines.next()) {
            (None, _) => Lines::Absent,
            (Some(line), None) => Lines::One(trim(line.as_bytes())),
            (Some(_), Some(_)) => Lines::Several,
        }
    }
}

/// Whether all octets are from 0x21 to 0x7E, and there is at least one.
pub(crate) fn is_visible(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_graphic)
}

/// The pieces between `separator`s that stand outside quoted strings, without the blanks around them.
///
/// A quote opens a string only behind `=`, so a stray one spoils no more than its own piece. A string that is
/// never closed runs to the end of the line.
pub(crate) fn split_unquoted(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut in_string, mut escaped, mut before) = (false, false, 0);
    line.split(move |&byte| {
        let ends = byte == separator && !in_string;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' if in_string => in_string = false,
            b'"' if before == b'=' => in_string = true,
            _ => {}
        }
        before = byte;
        ends
    })
    .map(trim)
}
