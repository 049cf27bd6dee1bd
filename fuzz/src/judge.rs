//! What every refusal is, whatever it refuses (I13, R2): JSON-RPC, complete, and no mirror of its request.

use http::header;
use mcp_http_core::h1::Body;
use mcp_http_core::reject::Reject;

use crate::json_text::{Kind, Part};

/// Bytes of a request that may come back.
const REFLECTED_MAX: usize = 64;

/// A refusal as a client reads it.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) code: i64,
    /// The literal.
    pub(crate) id: Option<String>,
}

/// Reads a refusal back and holds it against the rules; `request` is all that came from outside.
pub(crate) fn refusal<'a>(reject: Reject, request: impl IntoIterator<Item = &'a [u8]>) -> Refused {
    let name = reject.refusal.name();
    let answer = reject.into_answer();
    let status = answer.status.as_u16();
    assert!((400..600).contains(&status), "R2: {name} is answered with {status}");
    let values = |wanted: header::HeaderName| {
        let found = answer.fields.iter().filter(move |(name, _)| *name == wanted);
        found.map(|(_, value)| value.as_bytes()).collect::<Vec<_>>()
    };
    assert_eq!(values(header::CONTENT_TYPE), [b"application/json"], "I13: {name}");
    assert_eq!(values(header::HeaderName::from_static("mcp-session-id")), [b""; 0], "R2: {name}");
    assert_eq!(values(header::ALLOW).len(), usize::from(status == 405), "I4: {name}");
    for (at, (field, _)) in answer.fields.iter().enumerate() {
        assert!(!answer.fields[..at].iter().any(|(other, _)| other == field), "{field} is given twice");
    }
    let Body::Full(body) = answer.body else { panic!("I13: {name} has no body") };
    let text = std::str::from_utf8(&body).expect("I13: the body is text");
    let read = read(text);
    let (code, id) = read.unwrap_or_else(|| panic!("I13: {name} is no JSON-RPC error: {text}"));
    // The id is the one thing that comes back whole: its text is left out of the search.
    let outside = id.as_ref().map_or_else(|| text.to_owned(), |id| text.replacen(id.as_str(), "", 1));
    for part in request {
        assert!(!reflects(outside.as_bytes(), part), "I13: {name} reflects {:?}", part.escape_ascii());
    }
    Refused { status, code, id }
}

/// Code and id of a well-formed error.
fn read(text: &str) -> Option<(i64, Option<String>)> {
    let whole = Part::read(text).filter(|part| part.kind == Kind::Object)?;
    assert_eq!(whole.text.len(), text.len(), "C14: blanks around {text}");
    assert!(!text.contains(['\r', '\n']), "C14: {text:?} is not one line");
    let members = whole.members();
    let get = |members: &[(&str, Part<'_>)], name: &str| {
        let mut found = members.iter().filter(|(other, _)| *other == name);
        let value = found.next().map(|(_, value)| value.text.to_owned());
        assert!(found.next().is_none(), "{name} is given twice: {text}");
        value
    };
    let error = members.iter().find(|(name, _)| *name == "error")?.1;
    let detail = Some(error).filter(|error| error.kind == Kind::Object)?.members();
    let message = get(&detail, "message")?;
    let sound = get(&members, "jsonrpc")? == "\"2.0\""
        && message.starts_with('"')
        && message.len() > 2
        && members.iter().all(|(name, _)| ["jsonrpc", "id", "error"].contains(name))
        && detail.iter().all(|(name, _)| ["code", "message", "data"].contains(name));
    let id = get(&members, "id");
    assert_ne!(id.as_deref(), Some("null"), "I13: an id is absent or real");
    sound.then_some((get(&detail, "code")?.parse().ok()?, id))
}

/// Whether more of `part` than may be stands in `text`. Stretches are compared by a hash, which does not show the
/// fuzzer what to copy: it would bring the text of our own messages along, and they would come back.
fn reflects(text: &[u8], part: &[u8]) -> bool {
    if part.len() <= REFLECTED_MAX {
        return false;
    }
    let mut in_text = stretches(text);
    in_text.sort_unstable();
    stretches(part).iter().any(|hash| in_text.binary_search(hash).is_ok())
}

/// The hash of each stretch that is one byte longer than what may come back.
fn stretches(bytes: &[u8]) -> Vec<u64> {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    let long = REFLECTED_MAX + 1;
    let leaves = (1..long).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut hash = 0_u64;
    let mut hashes = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        if at >= long {
            hash = hash.wrapping_sub(leaves.wrapping_mul(u64::from(bytes[at - long]) + 1));
        }
        hash = hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1);
        if at + 1 >= long {
            hashes.push(hash);
        }
    }
    hashes
}
