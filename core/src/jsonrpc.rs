//! JSON-RPC 2.0 messages in both directions: the typed form of what came in, and the text of what goes out.
//! Parsing is `intake`'s; who is answered is `endpoint`'s.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};

use crate::json::Json;

/// The id of a JSON-RPC request: a string or an integer, kept as the literal that was sent, so that it is
/// echoed byte for byte (R5). `1` and `"1"` are different ids; `0` and `""` are ids.
#[derive(Clone, Debug)]
pub struct RequestId(Bytes);

impl RequestId {
    /// An id from its JSON literal. The caller has checked that it is a string or an integer.
    pub(crate) fn from_literal(literal: Bytes) -> Self {
        RequestId(literal)
    }

    /// An integer id, as the server's own requests bear.
    #[must_use]
    pub fn from_number(number: u64) -> Self {
        RequestId(Bytes::from(number.to_string()))
    }

    /// The JSON literal, quotes included.
    #[must_use]
    pub fn literal(&self) -> &[u8] {
        &self.0
    }
}

/// Two ids are equal when their values are: a string may be written with or without escapes.
impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        if self.0 == other.0 {
            return true;
        }
        if !self.0.contains(&b'\\') && !other.0.contains(&b'\\') {
            return false;
        }
        let decoded = |literal: &Bytes| serde_json::from_slice::<String>(literal).ok();
        match (decoded(&self.0), decoded(&other.0)) {
            (Some(a), Some(b)) => a == b,
            (Some(_), None) | (None, Some(_)) | (None, None) => false,
        }
    }
}

impl Eq for RequestId {}

/// A request: it has an id and waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the answer will be addressed with.
    pub id: RequestId,
    /// The method's name.
    pub method: Box<str>,
    /// An object or an array, if present.
    pub params: Option<Json>,
}

/// A notice (JSON-RPC: notification): it has no id and gets no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The method's name.
    pub method: Box<str>,
    /// An object or an array, if present.
    pub params: Option<Json>,
}

/// The client's answer to a request of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The id of the request that is answered.
    pub id: RequestId,
    /// The `result`, or the `error` object.
    pub outcome: Result<Json, Json>,
}

/// One incoming message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Waits for an answer.
    Request(Request),
    /// Needs none.
    Notice(Notice),
    /// Is one.
    Reply(Reply),
}

/// A JSON-RPC error object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorObject {
    /// The code; see [`code`].
    pub code: i64,
    /// One sentence for a person.
    pub message: Cow<'static, str>,
    /// More, for a program.
    pub data: Option<Json>,
}

impl ErrorObject {
    /// An error without data.
    #[must_use]
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        ErrorObject { code, message: message.into(), data: None }
    }
}

impl ErrorObject {
    /// The parameters do not fit the method (-32602).
    #[must_use]
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        ErrorObject::new(code::INVALID_PARAMS, message)
    }

    /// The method is not known (-32601).
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        let shown: String = method.chars().take(64).collect();
        ErrorObject::new(code::METHOD_NOT_FOUND, format!("method not found: {shown}"))
    }

    /// The server failed (-32603).
    #[must_use]
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        ErrorObject::new(code::INTERNAL_ERROR, message)
    }

    /// The same with data for a program.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Json>) -> Self {
        self.data = Some(data.into());
        self
    }
}

/// The error codes that have a meaning here.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is no JSON-RPC request, or not one that may come now.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method is not known.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// HTTP refused the request before it was read as JSON-RPC.
    pub const REFUSED: i64 = -32000;
    /// The session is not known (any more).
    pub const SESSION_NOT_FOUND: i64 = -32001;
    /// A resource is not known (handshake era).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// The call was cancelled before it was answered.
    pub const CANCELLED: i64 = -32800;
    /// A header field and the body disagree (stateless era).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client lacks a capability that the request needs (stateless era).
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The protocol revision is not served (stateless era).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}

/// The text of a successful answer.
pub(crate) fn result_text(id: &RequestId, result: &Json) -> Bytes {
    const BEFORE_ID: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
    const BEFORE_RESULT: &[u8] = br#","result":"#;
    const AFTER: &[u8] = b"}";
    let parts = [BEFORE_ID, id.literal(), BEFORE_RESULT, result.as_bytes(), AFTER];
    // Room for exactly this: a buffer that is full freezes without a further allocation.
    let mut text = BytesMut::with_capacity(parts.iter().map(|part| part.len()).sum());
    text.put_slice(BEFORE_ID);
    text.put_slice(id.literal());
    text.put_slice(BEFORE_RESULT);
    result.append_on_one_line(&mut text);
    text.put_slice(AFTER);
    text.freeze()
}

/// The text of an error answer; without `id` when none was read, never with `null` (MCP's schemas).
pub(crate) fn error_text(id: Option<&RequestId>, error: &ErrorObject) -> Bytes {
    let mut text = BytesMut::with_capacity(256);
    let out = &mut text;
    out.put_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.put_slice(br#""id":"#);
        out.put_slice(id.literal());
        out.put_u8(b',');
    }
    out.put_slice(br#""error":{"code":"#);
    out.put_slice(error.code.to_string().as_bytes());
    out.put_slice(br#","message":"#);
    write_string(&error.message, out);
    if let Some(data) = &error.data {
        out.put_slice(br#","data":"#);
        data.append_on_one_line(out);
    }
    out.put_slice(b"}}");
    text.freeze()
}

/// The text of a notice.
pub(crate) fn write_notice(method: &str, params: Option<&Json>, out: &mut BytesMut) {
    out.put_slice(br#"{"jsonrpc":"2.0","#);
    write_method_and_params(method, params, out);
}

/// The text of a request to the client.
pub(crate) fn write_request(id: &RequestId, method: &str, params: Option<&Json>, out: &mut BytesMut) {
    out.put_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.put_slice(id.literal());
    out.put_u8(b',');
    write_method_and_params(method, params, out);
}

fn write_method_and_params(method: &str, params: Option<&Json>, out: &mut BytesMut) {
    out.put_slice(br#""method":"#);
    write_string(method, out);
    if let Some(params) = params {
        out.put_slice(br#","params":"#);
        params.append_on_one_line(out);
    }
    out.put_u8(b'}');
}

/// A JSON string.
pub(crate) fn write_string(text: &str, out: &mut BytesMut) {
    // A string always encodes; were it not so, an empty one would still be valid JSON.
    let quoted = serde_json::to_string(text).unwrap_or_else(|_| String::from("\"\""));
    out.put_slice(quoted.as_bytes());
}
