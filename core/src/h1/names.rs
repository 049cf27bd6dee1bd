//! Field names by their octets, without an allocation for those that MCP clients and proxies send with each
//! request. No meaning is given to them here.

use http::HeaderName;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
const MCP_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The name in lower case; `None` if `octets` are no field name.
pub(super) fn field_name(octets: &[u8]) -> Option<HeaderName> {
    let is = |name: &str| octets.eq_ignore_ascii_case(name.as_bytes());
    // Told apart by length first, so that the names which `http` knows itself cost next to nothing here.
    Some(match octets.len() {
        8 if is("mcp-name") => MCP_NAME,
        10 if is("mcp-method") => MCP_METHOD,
        10 if is("keep-alive") => KEEP_ALIVE,
        13 if is("last-event-id") => LAST_EVENT_ID,
        14 if is("mcp-session-id") => MCP_SESSION_ID,
        14 if is("sec-fetch-mode") => SEC_FETCH_MODE,
        15 if is("x-forwarded-for") => X_FORWARDED_FOR,
        17 if is("x-forwarded-proto") => X_FORWARDED_PROTO,
        20 if is("mcp-protocol-version") => MCP_PROTOCOL_VERSION,
        _ => return HeaderName::from_bytes(octets).ok(),
    })
}
