//! `Mcp-Session-Id` and `Last-Event-ID`: their form (I11, C5). Whose they are, only the endpoint knows.

use bytes::Bytes;
use http::HeaderMap;

use super::field::{LAST_EVENT_ID, Lines, is_visible};
use crate::answer::SESSION_ID;
use crate::config::SessionMode;
use crate::reject::Refusal;
use crate::session_id::SessionRef;

/// Event ids longer than this, in bytes, are refused unread; ours are shorter.
const EVENT_ID_BYTES_MAX: usize = 128;

/// What `Mcp-Session-Id` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionField {
    /// Also when there are no sessions: then the field means nothing, whatever is in it (S12, Z1).
    Absent,
    One(SessionRef),
    /// No session id at all, or more than one line.
    Malformed,
}

impl SessionField {
    pub(crate) fn of(fields: &HeaderMap, mode: SessionMode) -> SessionField {
        match (mode, Lines::of(fields, &SESSION_ID)) {
            (SessionMode::Off, _) | (SessionMode::On, Lines::Absent) => SessionField::Absent,
            (SessionMode::On, Lines::One(value)) => {
                SessionRef::from_field(value).map_or(SessionField::Malformed, SessionField::One)
            }
            (SessionMode::On, Lines::Several) => SessionField::Malformed,
        }
    }

    /// The session, for a request that may do without.
    pub(crate) fn optional(self) -> Result<Option<SessionRef>, Refusal> {
        match self {
            SessionField::Absent => Ok(None),
            SessionField::One(session) => Ok(Some(session)),
            SessionField::Malformed => Err(Refusal::BadSessionId),
        }
    }

    /// The session, for a request that needs one (S5).
    pub(crate) fn required(self) -> Result<SessionRef, Refusal> {
        self.optional()?.ok_or(Refusal::MissingSession)
    }
}

/// The event a GET wants to resume after. An empty field is as none: in server-sent events, the
/// empty id is the one of a client that has none.
pub(crate) fn last_event_id(fields: &HeaderMap) -> Result<Option<Bytes>, Refusal> {
    match Lines::of(fields, &LAST_EVENT_ID) {
        Lines::Absent | Lines::One([]) => Ok(None),
        Lines::One(id) if id.len() <= EVENT_ID_BYTES_MAX && is_visible(id) => {
            Ok(Some(Bytes::copy_from_slice(id)))
        }
        Lines::One(_) | Lines::Several => Err(Refusal::BadEventId),
    }
}
