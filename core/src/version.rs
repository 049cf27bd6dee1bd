//! The protocol revisions this server knows, as a closed list, and the two eras they fall into.
//!
//! Revisions look like dates but are never compared as strings or by order of text (I10).

/// A protocol revision of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// 2025-03-26: the first with Streamable HTTP; the only one with batches.
    V2025_03_26,
    /// 2025-06-18: brought the `MCP-Protocol-Version` field.
    V2025_06_18,
    /// 2025-11-25: brought the priming event and early close for polling.
    V2025_11_25,
    /// 2026-07-28: stateless; no handshake, no session.
    V2026_07_28,
}

/// What a disconnect, an unknown method and a session id mean (R13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2025-03-26 to 2025-11-25: `initialize` opens a session.
    Handshake,
    /// 2026-07-28: every request stands alone.
    Stateless,
}

impl Version {
    /// The handshake revisions, oldest first.
    pub const HANDSHAKE: [Version; 3] = [Version::V2025_03_26, Version::V2025_06_18, Version::V2025_11_25];

    /// The newest handshake revision: what an unknown request is negotiated to (S11).
    pub const NEWEST_HANDSHAKE: Version = Version::V2025_11_25;

    /// The revision of exactly this name, if it is one we know.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Version> {
        match name {
            b"2025-03-26" => Some(Version::V2025_03_26),
            b"2025-06-18" => Some(Version::V2025_06_18),
            b"2025-11-25" => Some(Version::V2025_11_25),
            b"2026-07-28" => Some(Version::V2026_07_28),
            _ => None,
        }
    }

    /// The revision's name as it stands in `protocolVersion` and in `MCP-Protocol-Version`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Version::V2025_03_26 => "2025-03-26",
            Version::V2025_06_18 => "2025-06-18",
            Version::V2025_11_25 => "2025-11-25",
            Version::V2026_07_28 => "2026-07-28",
        }
    }

    /// The era this revision belongs to.
    #[must_use]
    pub fn era(self) -> Era {
        match self {
            Version::V2025_03_26 | Version::V2025_06_18 | Version::V2025_11_25 => Era::Handshake,
            Version::V2026_07_28 => Era::Stateless,
        }
    }

    /// What an `initialize` that asks for `requested` gets: the same if it is a handshake revision we know,
    /// else our newest one (S11).
    #[must_use]
    pub fn negotiate(requested: &str) -> Version {
        match Version::from_name(requested.as_bytes()) {
            Some(version) if version.era() == Era::Handshake => version,
            Some(_) | None => Version::NEWEST_HANDSHAKE,
        }
    }

    /// Whether sessions of this revision get a priming event and may have a stream closed early for
    /// polling (C6).
    #[must_use]
    pub fn primes(self) -> bool {
        self == Version::V2025_11_25
    }

    /// Whether sessions of this revision may send batches (I8).
    #[must_use]
    pub fn batches(self) -> bool {
        self == Version::V2025_03_26
    }
}
