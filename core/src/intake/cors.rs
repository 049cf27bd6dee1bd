//! `OPTIONS`: the preflight by which a browser asks what its page may send (I5). Answered before the auth
//! hook, since browsers send preflights without credentials.

use http::request::Parts;
use http::{HeaderValue, header};

use super::field::{MCP_PARAM_PREFIX, is_token, trim};
use crate::answer::{Answer, Grant};
use crate::reject::Allow;

/// Every request field that has a meaning here.
const REQUEST_FIELDS: &str = "content-type, accept, authorization, mcp-protocol-version, mcp-session-id, \
     last-event-id, mcp-method, mcp-name";

/// How many `mcp-param-*` fields one preflight may ask for; the rest is not granted.
const PARAM_FIELDS_MAX: usize = 32;
/// A longer field name, in bytes, is not reflected (I13).
const PARAM_FIELD_BYTES_MAX: usize = 64;

/// The answer to an `OPTIONS` whose host and origin are allowed. It is a preflight if it says so and has a
/// grant; any other learns the methods.
pub(crate) fn options(head: &Parts, allow: Allow, grant: Option<&Grant>) -> Answer {
    let is_preflight = head.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    match grant {
        Some(grant) if is_preflight => Answer::preflight(grant, allow.value(), request_fields(head)),
        Some(_) | None => {
            let mut answer = Answer::options(allow.value());
            if let Some(grant) = grant {
                grant.append_to(&mut answer.fields);
            }
            answer
        }
    }
}

/// The fields a page may send: the ones of the protocol, and the `mcp-param-*` it asks for.
fn request_fields(head: &Parts) -> HeaderValue {
    let mut granted = String::from(REQUEST_FIELDS);
    let lines = head.headers.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let names = lines.flat_map(|line| line.as_bytes().split(|&byte| byte == b',')).map(trim);
    for name in names.filter(|name| is_param_field(name)).take(PARAM_FIELDS_MAX) {
        granted.push_str(", ");
        granted.extend(name.iter().map(|&byte| char::from(byte.to_ascii_lowercase())));
    }
    HeaderValue::try_from(granted).unwrap_or(HeaderValue::from_static(REQUEST_FIELDS))
}

fn is_param_field(name: &[u8]) -> bool {
    let Some((prefix, rest)) = name.split_at_checked(MCP_PARAM_PREFIX.len()) else { return false };
    name.len() <= PARAM_FIELD_BYTES_MAX
        && prefix.eq_ignore_ascii_case(MCP_PARAM_PREFIX.as_bytes())
        && is_token(rest)
}
