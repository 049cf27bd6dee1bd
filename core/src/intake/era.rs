//! Which era a POST belongs to (I12), and what a stateless one gets: this server does not serve that era yet.

use super::members;
use super::message::Params;
use super::version_field::VersionField;
use crate::reject::Refusal;
use crate::version::{Era, Version};

/// What is reflected of a version that is not ours, in bytes (I13).
const REQUESTED_BYTES_MAX: usize = 64;

/// The era of a message: stateless if its `_meta` has the stateless version key, whatever the header says, so
/// that a proxy which strips or sets the header cannot change what a message means; else what the header
/// tells; else handshake.
pub(crate) fn of(version: &VersionField, params: &Params<'_>) -> Era {
    match params.meta_version {
        Some(_) => Era::Stateless,
        None => version.era().unwrap_or(Era::Handshake),
    }
}

/// The refusal of a stateless message, `initialize` included.
pub(crate) fn refusal(version: &VersionField, params: &Params<'_>) -> Refusal {
    let requested = match (params.meta_version, version) {
        (Some(literal), _) => shortened(&members::string(literal).unwrap_or(literal.into())),
        (None, VersionField::Known(version)) => version.name().into(),
        (None, VersionField::Absent | VersionField::Unknown(_) | VersionField::Malformed) => Box::default(),
    };
    Refusal::UnsupportedVersion { requested, supported: &Version::HANDSHAKE }
}

/// As many whole characters from the start as fit.
fn shortened(text: &str) -> Box<str> {
    let fits = |(start, c): &(usize, char)| start.saturating_add(c.len_utf8()) <= REQUESTED_BYTES_MAX;
    text.char_indices().take_while(fits).map(|(_, c)| c).collect::<String>().into()
}
