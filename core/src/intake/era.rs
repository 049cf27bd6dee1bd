//! Which era a POST belongs to (I12), and what a message gets whose era is not served. What each era asks of
//! a message is `body`'s and `stateless`'.

use super::members::{self, Member};
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
    match params.meta.version {
        Member::Once(_) | Member::Twice => Era::Stateless,
        Member::Absent => version.era().unwrap_or(Era::Handshake),
    }
}

/// The refusal of a message whose era is not served, `initialize` included. It names what is: a client that
/// cannot serve itself with that shows it to a person at least.
pub(crate) fn unserved(
    version: &VersionField,
    params: &Params<'_>,
    supported: &'static [Version],
) -> Refusal {
    let text = |literal| members::string(literal).unwrap_or(literal.into());
    match (params.meta.version, version) {
        (Member::Once(literal), _) => unsupported(&text(literal), supported),
        (Member::Twice, _) => unsupported("", supported),
        (Member::Absent, VersionField::Known(version)) => unsupported(version.name(), supported),
        (Member::Absent, VersionField::Unknown(value)) => {
            unsupported(value.to_str().unwrap_or_default().trim_ascii(), supported)
        }
        (Member::Absent, VersionField::Malformed) => Refusal::BadVersionField { supported },
        (Member::Absent, VersionField::Absent) => match params.protocol_version {
            Member::Once(literal) => unsupported(&text(literal), supported),
            Member::Absent | Member::Twice => unsupported("", supported),
        },
    }
}

/// The refusal of a request for a version that is not served, as long as what may be reflected of it.
pub(crate) fn unsupported(requested: &str, supported: &'static [Version]) -> Refusal {
    Refusal::UnsupportedVersion { requested: shortened(requested), supported }
}

/// As many whole characters from the start as fit.
fn shortened(text: &str) -> Box<str> {
    let fits = |(start, c): &(usize, char)| start.saturating_add(c.len_utf8()) <= REQUESTED_BYTES_MAX;
    text.char_indices().take_while(fits).map(|(_, c)| c).collect::<String>().into()
}
