//! `MCP-Protocol-Version` as one of a closed list (I10), and against the body (I10, Z4). Which era a request belongs to is `era`'s.

use http::{HeaderMap, HeaderValue};

use super::field::{PROTOCOL_VERSION, is_visible, trim};
use crate::reject::Refusal;
use crate::version::{Era, Version};

/// What the field says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VersionField {
    /// The session's negotiated version holds.
    Absent,
    Known(Version),
    /// Well-formed, and no revision of ours.
    Unknown(HeaderValue),
    /// Empty, not of visible ASCII, or given again with another value.
    Malformed,
}

impl VersionField {
    /// The same value given again is as given once.
    pub(crate) fn of(fields: &HeaderMap) -> VersionField {
        let mut lines = fields.get_all(PROTOCOL_VERSION).iter();
        let Some(line) = lines.next() else { return VersionField::Absent };
        let value = trim(line.as_bytes());
        if !is_visible(value) || lines.any(|other| trim(other.as_bytes()) != value) {
            return VersionField::Malformed;
        }
        match Version::from_name(value) {
            Some(version) => VersionField::Known(version),
            None => VersionField::Unknown(line.clone()),
        }
    }

    /// The era the field alone tells; `None` if it tells none.
    pub(crate) fn era(&self) -> Option<Era> {
        match self {
            VersionField::Known(version) => Some(version.era()),
            VersionField::Absent | VersionField::Unknown(_) | VersionField::Malformed => None,
        }
    }

    /// Refuses everything but a handshake revision or no field: the rule for the handshake era, except for
    /// `initialize`. The refusal names what is `supported`.
    pub(crate) fn judge(&self, supported: &'static [Version]) -> Result<(), Refusal> {
        match self {
            VersionField::Absent => Ok(()),
            VersionField::Known(version) => match version.era() {
                Era::Handshake => Ok(()),
                Era::Stateless => Err(Refusal::BadVersionField { supported }),
            },
            VersionField::Unknown(_) | VersionField::Malformed => Err(Refusal::BadVersionField { supported }),
        }
    }

    /// The rule for `initialize`, whose body says which version is wanted: the field may be unknown, since
    /// negotiation is how such a client recovers, but if it is there it must say the same as the body.
    pub(crate) fn judge_against(&self, wanted: &str, supported: &'static [Version]) -> Result<(), Refusal> {
        let says = match self {
            VersionField::Absent => return Ok(()),
            VersionField::Known(_) | VersionField::Unknown(_) => self.says(),
            VersionField::Malformed => return Err(Refusal::BadVersionField { supported }),
        };
        if says == wanted.as_bytes() {
            return Ok(());
        }
        Err(Refusal::InvalidRequest(
            "MCP-Protocol-Version differs from params.protocolVersion; send the same, or leave the field out",
        ))
    }

    /// The rule for a request of the stateless era: the field must be there and say what `_meta` says (Z4).
    /// That it may not be missing is what a proxy which strips it cannot get around.
    pub(crate) fn judge_mirror(&self, version: &str) -> Result<(), Refusal> {
        Err(Refusal::HeaderMismatch(match self {
            VersionField::Known(_) | VersionField::Unknown(_) if self.says() == version.as_bytes() => {
                return Ok(());
            }
            VersionField::Known(_) | VersionField::Unknown(_) => {
                "MCP-Protocol-Version differs from io.modelcontextprotocol/protocolVersion of params._meta; \
                 send the same"
            }
            VersionField::Absent => {
                "MCP-Protocol-Version is missing; send io.modelcontextprotocol/protocolVersion of params._meta"
            }
            VersionField::Malformed => {
                "MCP-Protocol-Version is empty, not of visible ASCII or given twice with different values; send \
                 io.modelcontextprotocol/protocolVersion of params._meta"
            }
        }))
    }

    /// The value; empty if there is no usable one.
    fn says(&self) -> &[u8] {
        match self {
            VersionField::Known(version) => version.name().as_bytes(),
            VersionField::Unknown(value) => trim(value.as_bytes()),
            VersionField::Absent | VersionField::Malformed => &[],
        }
    }
}
