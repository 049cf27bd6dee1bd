//! HTTP responses: what the machines decide (`Response`) and what a codec writes (`Answer`). This file and
//! `reject` are the only places that know a status code or a response field.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use smallvec::SmallVec;

use crate::h1::Body;
use crate::jsonrpc::code;
use crate::session_id::SessionId;

/// `Mcp-Session-Id`.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Response fields in the order they are written. Values are validated by their type, so none can split a
/// response (H9).
pub type Fields = SmallVec<[(HeaderName, HeaderValue); 6]>;

/// A response that serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status and fields.
    pub head: Head,
    /// What follows; a stream's frames are pulled.
    pub body: Body,
    /// What the CORS fields are made of.
    pub grant: Option<Grant>,
}

/// The heads there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// 200 with one JSON-RPC message, or an array of them for a batch; with the id if a session is offered.
    Json {
        /// The new session's id, in the answer to `initialize` only.
        session: Option<SessionId>,
    },
    /// 200 with an event stream (C4).
    EventStream {
        /// The new session's id, in the answer to `initialize` only.
        session: Option<SessionId>,
    },
    /// An error answer of the stateless era that has a status of its own (Z7).
    Error(ErrorStatus),
    /// 202: notices and replies were taken (C1).
    Accepted,
    /// 204: the session is deleted, or a finished stream has nothing left.
    NoContent,
}

/// The statuses that error answers of the stateless era have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorStatus {
    /// 400: the request does not fit.
    BadRequest,
    /// 404: the method is not known.
    NotFound,
}

impl ErrorStatus {
    /// The status of an error with this code; `None` is 200.
    pub(crate) fn of(error: i64) -> Option<ErrorStatus> {
        match error {
            code::METHOD_NOT_FOUND => Some(ErrorStatus::NotFound),
            code::INVALID_PARAMS
            | code::HEADER_MISMATCH
            | code::MISSING_CAPABILITY
            | code::UNSUPPORTED_VERSION => Some(ErrorStatus::BadRequest),
            _ => None,
        }
    }
}

/// A response as a codec writes it. Framing and `Date` are the codec's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// All fields but those of framing.
    pub fields: Fields,
    /// The content, or that it will come in pieces.
    pub body: Body,
    /// Whether this must be the connection's last response.
    pub close: bool,
}

/// An origin that may read the answer (I5). It is named, never `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    origin: HeaderValue,
}

impl Response {
    /// The response for a codec.
    #[must_use]
    pub fn into_answer(self) -> Answer {
        let mut fields = Fields::new();
        let status = match self.head {
            Head::Json { session } => {
                fields.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
                push_session(session, &mut fields);
                StatusCode::OK
            }
            Head::EventStream { session } => {
                fields.push((header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")));
                fields.push((header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")));
                fields.push((ACCEL_BUFFERING, HeaderValue::from_static("no")));
                push_session(session, &mut fields);
                StatusCode::OK
            }
            Head::Error(status) => {
                fields.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
                match status {
                    ErrorStatus::BadRequest => StatusCode::BAD_REQUEST,
                    ErrorStatus::NotFound => StatusCode::NOT_FOUND,
                }
            }
            Head::Accepted => StatusCode::ACCEPTED,
            Head::NoContent => StatusCode::NO_CONTENT,
        };
        if let Some(grant) = &self.grant {
            grant.append_to(&mut fields);
        }
        Answer { status, fields, body: self.body, close: false }
    }
}

impl Answer {
    /// The answer of the health path (X4).
    #[must_use]
    pub fn health() -> Answer {
        Answer::text("text/plain", Bytes::from_static(b"ok\n"))
    }

    /// The answer of the statistics path: `json` as it is.
    #[must_use]
    pub fn stats(json: Bytes) -> Answer {
        Answer::text("application/json", json)
    }

    /// The answer to a preflight that was granted: `methods` and `headers` are the values of the two
    /// `Access-Control-Allow-*` fields.
    pub(crate) fn preflight(grant: &Grant, methods: HeaderValue, headers: HeaderValue) -> Answer {
        let mut fields = Fields::new();
        grant.append_to(&mut fields);
        fields.push((header::ACCESS_CONTROL_ALLOW_METHODS, methods));
        fields.push((header::ACCESS_CONTROL_ALLOW_HEADERS, headers));
        fields.push((header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600")));
        Answer { status: StatusCode::NO_CONTENT, fields, body: Body::Empty, close: false }
    }

    /// The answer to an `OPTIONS` that is no preflight: which methods there are.
    pub(crate) fn options(allow: HeaderValue) -> Answer {
        let mut fields = Fields::new();
        fields.push((header::ALLOW, allow));
        Answer { status: StatusCode::NO_CONTENT, fields, body: Body::Empty, close: false }
    }

    fn text(content_type: &'static str, body: Bytes) -> Answer {
        let mut fields = Fields::new();
        fields.push((header::CONTENT_TYPE, HeaderValue::from_static(content_type)));
        fields.push((header::CACHE_CONTROL, HeaderValue::from_static("no-store")));
        Answer { status: StatusCode::OK, fields, body: Body::Full(body), close: false }
    }
}

impl Grant {
    /// A grant for the origin of this `Origin` field, which the caller has judged.
    pub(crate) fn new(origin: HeaderValue) -> Self {
        Grant { origin }
    }

    pub(crate) fn append_to(&self, fields: &mut Fields) {
        fields.push((header::ACCESS_CONTROL_ALLOW_ORIGIN, self.origin.clone()));
        fields.push((header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id")));
        fields.push((header::VARY, HeaderValue::from_static("origin")));
    }
}

fn push_session(session: Option<SessionId>, fields: &mut Fields) {
    let value = session.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok());
    fields.extend(value.map(|value| (SESSION_ID, value)));
}
