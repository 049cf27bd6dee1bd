//! Whole JSON-RPC messages: put together from the parts that came in, and taken apart into what goes out. Who
//! is meant by an id is `sender`'s to say.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::ErrorObject;
use serde_json::value::RawValue;

pub(super) const CANCELLED: &str = "notifications/cancelled";
pub(super) const PROGRESS: &str = "notifications/progress";

/// What a message to the application is made of. An id is a JSON literal.
pub(super) enum Parts {
    Request {
        id: Bytes,
        method: Box<str>,
        params: Option<Json>,
    },
    Notice {
        method: Box<str>,
        params: Option<Json>,
    },
    Reply {
        id: Bytes,
        outcome: Result<Json, Json>,
    },
    /// The client does not wait for the request of this id any more.
    Cancelled {
        id: Bytes,
    },
}

impl Parts {
    /// The text, on one line, so that it can be written to a pipe as it is.
    pub(super) fn text(&self) -> Json {
        let mut text = BytesMut::with_capacity(256);
        text.put_slice(br#"{"jsonrpc":"2.0""#);
        match self {
            Parts::Request { id, method, params } => {
                put_member(&mut text, "id", id);
                put_method(&mut text, method, params.as_ref());
            }
            Parts::Notice { method, params } => put_method(&mut text, method, params.as_ref()),
            Parts::Reply { id, outcome } => {
                put_member(&mut text, "id", id);
                match outcome {
                    Ok(result) => put_member(&mut text, "result", result.as_bytes()),
                    Err(error) => put_member(&mut text, "error", error.as_bytes()),
                }
            }
            Parts::Cancelled { id } => {
                put_method(&mut text, CANCELLED, Some(&request_id_alone(id)));
            }
        }
        text.put_u8(b'}');
        // Put together from JSON, it is JSON.
        Json::from_text(text.freeze()).unwrap_or(Json::EMPTY_OBJECT)
    }
}

fn put_method(text: &mut BytesMut, method: &str, params: Option<&Json>) {
    put_member(text, "method", &quoted(method));
    if let Some(params) = params {
        put_member(text, "params", params.as_bytes());
    }
}

/// In valid JSON a bare CR or LF stands between tokens only, so it can be left out.
fn put_member(text: &mut BytesMut, name: &str, value: &[u8]) {
    text.put_slice(b",\"");
    text.put_slice(name.as_bytes());
    text.put_slice(b"\":");
    value.split(|byte| matches!(byte, b'\n' | b'\r')).for_each(|piece| text.put_slice(piece));
}

/// The JSON literal of a string.
pub(super) fn quoted(text: &str) -> Bytes {
    Json::encode(&text).map(Json::into_bytes).unwrap_or_default()
}

fn request_id_alone(id: &[u8]) -> Json {
    let mut params = BytesMut::from(&br#"{"requestId":"#[..]);
    params.put_slice(id);
    params.put_u8(b'}');
    Json::from_text(params.freeze()).unwrap_or(Json::EMPTY_OBJECT)
}

/// What the application sends, taken apart.
pub(super) enum Outgoing {
    Answer { id: Option<Bytes>, outcome: Result<Json, ErrorObject> },
    Notice { method: Cow<'static, str>, params: Option<Json> },
    Request { id: Bytes, method: Cow<'static, str>, params: Option<Json> },
}

impl Outgoing {
    /// `None` if this is not one JSON-RPC message.
    pub(super) fn of(message: &Json) -> Option<Outgoing> {
        let members = Members::of(message)?;
        let id = members.get("id").filter(|id| !is_null(id));
        if let Some(method) = members.get("method") {
            let method = Cow::Owned(method.decode().ok()?);
            let params = members.get("params").filter(|params| !is_null(params));
            if params.as_ref().is_some_and(|params| !is_structure(params)) {
                return None;
            }
            return Some(match id {
                Some(id) => Outgoing::Request { id: id.into_bytes(), method, params },
                None => Outgoing::Notice { method, params },
            });
        }
        let outcome = match (members.get("result"), members.get("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(error_object(&error)?),
            (Some(_), Some(_)) | (None, None) => return None,
        };
        Some(Outgoing::Answer { id: id.map(Json::into_bytes), outcome })
    }
}

fn error_object(error: &Json) -> Option<ErrorObject> {
    let members = Members::of(error)?;
    let message: String = members.get("message")?.decode().ok()?;
    let error = ErrorObject::new(members.get("code")?.decode().ok()?, message);
    Some(ErrorObject { data: members.get("data"), ..error })
}

/// The members of a JSON object, as parts of its text.
pub(super) struct Members<'a> {
    text: Bytes,
    members: BTreeMap<String, &'a RawValue>,
}

impl<'a> Members<'a> {
    pub(super) fn of(object: &'a Json) -> Option<Members<'a>> {
        Some(Members { text: object.clone().into_bytes(), members: object.decode().ok()? })
    }

    pub(super) fn get(&self, name: &str) -> Option<Json> {
        let value = self.members.get(name)?.get();
        Json::from_text(self.text.slice_ref(value.as_bytes())).ok()
    }
}

/// The `progressToken` of a call's or a progress notice's parameters, as a JSON literal.
pub(super) fn progress_token(params: Option<&Json>, in_meta: bool) -> Option<Json> {
    let params = params?;
    let holder = if in_meta { Members::of(params)?.get("_meta")? } else { params.clone() };
    Members::of(&holder)?.get("progressToken")
}

/// The `requestId` of a cancellation.
pub(super) fn request_id(params: Option<&Json>) -> Option<Bytes> {
    Members::of(params?)?.get("requestId").map(Json::into_bytes)
}

/// The same cancellation of another id.
pub(super) fn with_request_id(params: &Json, id: &[u8]) -> Json {
    let mut members: serde_json::Map<String, serde_json::Value> = params.decode().unwrap_or_default();
    if let Ok(id) = serde_json::from_slice(id) {
        members.insert(String::from("requestId"), id);
    }
    Json::from_value(&serde_json::Value::Object(members))
}

/// Whether two literals, of ids or progress tokens, are the same: strings by their value, numbers as they are
/// written. `1` and `"1"` differ.
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one == other || !(one.contains(&b'\\') || other.contains(&b'\\')) {
        return one == other;
    }
    let string = |literal| serde_json::from_slice::<String>(literal).ok();
    string(one).is_some_and(|one| string(other) == Some(one))
}

fn is_null(value: &Json) -> bool {
    value.as_bytes() == b"null"
}

fn is_structure(value: &Json) -> bool {
    matches!(value.as_bytes().first(), Some(b'{' | b'['))
}
