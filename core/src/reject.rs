//! Every refusal there is, and the one table that says how each is answered.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};

use crate::answer::{Answer, Fields, Grant};
use crate::h1;
use crate::json::Json;
use crate::jsonrpc::{self, ErrorObject, RequestId, code};
use crate::version::{Era, Version};

/// An answer that refuses: why, the request's id if it was read, and the CORS grant if there is one, since a
/// browser shows a refusal to its page only with it (I5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Why.
    pub refusal: Refusal,
    /// Echoed in the body; absent when none was read (I13).
    pub id: Option<Box<RequestId>>,
    /// What the CORS fields are made of.
    pub grant: Option<Grant>,
}

/// Why a request is refused. One row of the table each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The bytes were no HTTP, or broke a limit or a deadline (H1, H6).
    Http(h1::Fault),
    /// The path is not the endpoint's.
    UnknownPath,
    /// `Host` is not on the allow-list (I1).
    HostNotAllowed,
    /// `Origin` is present and not allowed (I1).
    OriginNotAllowed,
    /// The method is not offered here (I4).
    MethodNotAllowed(Allow),
    /// `Accept` excludes everything this request could be answered with (I2).
    NotAcceptable(Needs),
    /// `Content-Type` is not JSON (I3).
    UnsupportedMediaType,
    /// The body is larger than `limit` bytes (L1).
    BodyTooLarge {
        /// In bytes.
        limit: usize,
    },
    /// `MCP-Protocol-Version` is unknown, malformed or given twice with different values (I10).
    BadVersionField {
        /// What would be served.
        supported: &'static [Version],
    },
    /// The request belongs to a revision that this server does not serve, or not in this form (I12, Z6).
    UnsupportedVersion {
        /// What was asked for, at most 64 bytes of it.
        requested: Box<str>,
        /// What would be served.
        supported: &'static [Version],
    },
    /// `Mcp-Session-Id` is no session id (I11).
    BadSessionId,
    /// The request needs a session and bears no id (S5).
    MissingSession,
    /// There is no such session, any more or for this principal (S5, S6).
    UnknownSession,
    /// `Last-Event-ID` is not one of this session's (C5).
    BadEventId,
    /// What followed the event is not kept any more (C7).
    EventsLost,
    /// The body is not JSON in UTF-8 (I6).
    NotJson(&'static str),
    /// The JSON is no JSON-RPC message that may come here (I7, I8, I9, S4).
    InvalidRequest(&'static str),
    /// The parameters do not fit the method (I9, Z3).
    InvalidParams(&'static str),
    /// The revision has no such method (I12, Z7).
    MethodNotFound,
    /// A field and what it mirrors of the body disagree (Z4).
    HeaderMismatch(&'static str),
    /// The same of an `Mcp-Param-*` field (Z5).
    ParamHeaderMismatch {
        /// Which; it is one that the application registered.
        field: HeaderName,
        /// What is wrong with it, and what would be right.
        why: &'static str,
    },
    /// The auth hook wants other credentials; the value of `WWW-Authenticate`.
    Unauthorized(HeaderValue),
    /// The auth hook knows who it is and refuses.
    Forbidden,
    /// All sessions are taken and none may be evicted (S10).
    TooManySessions,
    /// The session has all the calls in flight it may have (L2).
    TooManyCalls,
    /// The application lets this peer open no more sessions for now (L3).
    TooFast,
    /// The server has no memory left for another body or call (R8).
    TooBusy,
    /// The server is shutting down (X1).
    ShuttingDown,
    /// No unpredictable bytes were to be had for a session id.
    NoEntropy,
    /// The application could not open its side of the session.
    SessionFailed,
    /// The application did not answer `initialize` in time.
    EstablishTimeout,
}

/// The methods a path offers: the value of `Allow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allow {
    /// The endpoint with sessions.
    PostGetDelete,
    /// The endpoint without, and what it offers to a stateless request (Z1).
    Post,
    /// Health and statistics.
    Get,
}

/// What `Accept` would have to admit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A POST can be answered with either.
    JsonOrEventStream,
    /// A GET and a `subscriptions/listen` open an event stream.
    EventStream,
}

/// How a refusal is answered.
struct Row {
    status: StatusCode,
    code: i64,
    message: Cow<'static, str>,
    field: Option<(HeaderName, HeaderValue)>,
    /// Whether the connection has to go with it.
    close: bool,
}

impl Reject {
    /// A refusal of a request whose id was not read.
    #[must_use]
    pub fn new(refusal: Refusal) -> Self {
        Reject { refusal, id: None, grant: None }
    }

    /// The same with the id of the refused request.
    #[must_use]
    pub fn with_id(mut self, id: Option<RequestId>) -> Self {
        self.id = id.map(Box::new);
        self
    }

    /// The same with a CORS grant.
    #[must_use]
    pub fn with_grant(mut self, grant: Option<Grant>) -> Self {
        self.grant = grant;
        self
    }

    /// The HTTP response: JSON-RPC in the body, whatever the status (I13).
    #[must_use]
    pub fn into_answer(self) -> Answer {
        let row = self.refusal.row();
        let mut error = ErrorObject::new(row.code, row.message);
        error.data = self.refusal.data();
        let body = jsonrpc::error_text(self.id.as_deref(), &error);
        let mut fields = Fields::new();
        fields.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
        fields.extend(row.field);
        if let Some(grant) = &self.grant {
            grant.append_to(&mut fields);
        }
        Answer { status: row.status, fields, body: h1::Body::Full(body), close: row.close }
    }
}

impl Refusal {
    /// A short, stable name for logs and counters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Refusal::Http(_) => "http",
            Refusal::UnknownPath => "unknown_path",
            Refusal::HostNotAllowed => "host_not_allowed",
            Refusal::OriginNotAllowed => "origin_not_allowed",
            Refusal::MethodNotAllowed(_) => "method_not_allowed",
            Refusal::NotAcceptable(_) => "not_acceptable",
            Refusal::UnsupportedMediaType => "unsupported_media_type",
            Refusal::BodyTooLarge { .. } => "body_too_large",
            Refusal::BadVersionField { .. } => "bad_version_field",
            Refusal::UnsupportedVersion { .. } => "unsupported_version",
            Refusal::BadSessionId => "bad_session_id",
            Refusal::MissingSession => "missing_session",
            Refusal::UnknownSession => "unknown_session",
            Refusal::BadEventId => "bad_event_id",
            Refusal::EventsLost => "events_lost",
            Refusal::NotJson(_) => "not_json",
            Refusal::InvalidRequest(_) => "invalid_request",
            Refusal::InvalidParams(_) => "invalid_params",
            Refusal::MethodNotFound => "method_not_found",
            Refusal::HeaderMismatch(_) => "header_mismatch",
            Refusal::ParamHeaderMismatch { .. } => "param_header_mismatch",
            Refusal::Unauthorized(_) => "unauthorized",
            Refusal::Forbidden => "forbidden",
            Refusal::TooManySessions => "too_many_sessions",
            Refusal::TooManyCalls => "too_many_calls",
            Refusal::TooFast => "too_fast",
            Refusal::TooBusy => "too_busy",
            Refusal::ShuttingDown => "shutting_down",
            Refusal::NoEntropy => "no_entropy",
            Refusal::SessionFailed => "session_failed",
            Refusal::EstablishTimeout => "establish_timeout",
        }
    }

    /// The table.
    fn row(&self) -> Row {
        use code::{
            HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR,
            REFUSED, SESSION_NOT_FOUND,
        };
        match self {
            Refusal::Http(fault) => row(fault.status(), REFUSED, fault.to_string()).closing(),
            Refusal::UnknownPath => row(StatusCode::NOT_FOUND, REFUSED, "no MCP endpoint at this path"),
            Refusal::HostNotAllowed => row(
                StatusCode::MISDIRECTED_REQUEST,
                REFUSED,
                "this Host is not served here; add it to the server's allowed hosts if it should be",
            ),
            Refusal::OriginNotAllowed => row(
                StatusCode::FORBIDDEN,
                REFUSED,
                "this Origin is not allowed; add it to the server's allowed origins if it should be",
            ),
            Refusal::MethodNotAllowed(allow) => row(
                StatusCode::METHOD_NOT_ALLOWED,
                REFUSED,
                "method not allowed here; the Allow field lists those that are",
            )
            .with(header::ALLOW, allow.value()),
            Refusal::NotAcceptable(needs) => row(StatusCode::NOT_ACCEPTABLE, REFUSED, needs.message()),
            Refusal::UnsupportedMediaType => row(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                REFUSED,
                "Content-Type must be application/json in UTF-8, without a Content-Encoding",
            ),
            Refusal::BodyTooLarge { limit } => row(
                StatusCode::PAYLOAD_TOO_LARGE,
                REFUSED,
                format!("the body is larger than the limit of {limit} bytes"),
            ),
            Refusal::BadVersionField { supported } => row(
                StatusCode::BAD_REQUEST,
                INVALID_REQUEST,
                format!("MCP-Protocol-Version must be {}, given once", any_of(supported)),
            ),
            Refusal::UnsupportedVersion { supported, .. } => row(
                StatusCode::BAD_REQUEST,
                // The code of the stateless era tells a client that it is served here, so that it does not fall
                // back to the handshake. Where it is not, it has to.
                if supported.iter().any(|version| version.era() == Era::Stateless) {
                    code::UNSUPPORTED_VERSION
                } else {
                    INVALID_REQUEST
                },
                "this protocol version is not served, or not in this form: data.supported lists those that are, \
                 and those before 2026-07-28 begin with initialize",
            ),
            Refusal::BadSessionId => row(
                StatusCode::BAD_REQUEST,
                INVALID_REQUEST,
                "Mcp-Session-Id must be given once, with 1 to 128 visible ASCII characters",
            ),
            Refusal::MissingSession => row(
                StatusCode::BAD_REQUEST,
                INVALID_REQUEST,
                "Mcp-Session-Id is missing; send initialize first and bear the id it returns",
            ),
            Refusal::UnknownSession => row(
                StatusCode::NOT_FOUND,
                SESSION_NOT_FOUND,
                "session not found; send initialize without Mcp-Session-Id to open a new one",
            ),
            Refusal::BadEventId => {
                row(StatusCode::BAD_REQUEST, INVALID_REQUEST, "Last-Event-ID is not an event of this session")
            }
            Refusal::EventsLost => row(
                StatusCode::BAD_REQUEST,
                INVALID_REQUEST,
                "the events that followed this Last-Event-ID are not kept any more; send the request again",
            ),
            Refusal::NotJson(why) => row(StatusCode::BAD_REQUEST, PARSE_ERROR, *why),
            Refusal::InvalidRequest(why) => row(StatusCode::BAD_REQUEST, INVALID_REQUEST, *why),
            Refusal::InvalidParams(why) => row(StatusCode::BAD_REQUEST, INVALID_PARAMS, *why),
            Refusal::MethodNotFound => row(
                StatusCode::NOT_FOUND,
                METHOD_NOT_FOUND,
                "this method is not part of 2026-07-28; it belongs to the sessions of earlier revisions",
            ),
            Refusal::HeaderMismatch(why) => row(StatusCode::BAD_REQUEST, HEADER_MISMATCH, *why),
            Refusal::ParamHeaderMismatch { field, why } => {
                row(StatusCode::BAD_REQUEST, HEADER_MISMATCH, format!("{field} {why}"))
            }
            Refusal::Unauthorized(challenge) => {
                row(StatusCode::UNAUTHORIZED, REFUSED, "credentials are missing or not accepted")
                    .with(header::WWW_AUTHENTICATE, challenge.clone())
            }
            Refusal::Forbidden => row(StatusCode::FORBIDDEN, REFUSED, "these credentials do not allow this"),
            Refusal::TooManySessions => {
                row(StatusCode::SERVICE_UNAVAILABLE, REFUSED, "all sessions are taken; try again later")
                    .retry_later()
            }
            Refusal::TooManyCalls => row(
                StatusCode::TOO_MANY_REQUESTS,
                REFUSED,
                "this session has as many calls in flight as it may have; wait for one to end",
            )
            .retry_later(),
            Refusal::TooFast => row(
                StatusCode::TOO_MANY_REQUESTS,
                REFUSED,
                "too many sessions are opened from here; try again later",
            )
            .retry_later(),
            Refusal::TooBusy => {
                row(StatusCode::SERVICE_UNAVAILABLE, REFUSED, "the server is busy; try again later")
                    .retry_later()
            }
            Refusal::ShuttingDown => {
                row(StatusCode::SERVICE_UNAVAILABLE, REFUSED, "the server is shutting down").closing()
            }
            Refusal::NoEntropy => row(
                StatusCode::SERVICE_UNAVAILABLE,
                INTERNAL_ERROR,
                "no session id could be made; try again later",
            )
            .retry_later(),
            Refusal::SessionFailed => {
                row(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_ERROR, "the server could not open a session")
            }
            Refusal::EstablishTimeout => row(
                StatusCode::SERVICE_UNAVAILABLE,
                INTERNAL_ERROR,
                "the server did not answer initialize in time; try again later",
            )
            .retry_later(),
        }
    }

    fn data(&self) -> Option<Json> {
        let Refusal::UnsupportedVersion { requested, supported } = self else { return None };
        let supported: Vec<&str> = supported.iter().map(|version| version.name()).collect();
        Json::encode(&serde_json::json!({ "supported": supported, "requested": requested })).ok()
    }
}

impl Allow {
    pub(crate) fn value(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Allow::PostGetDelete => "POST, GET, DELETE, OPTIONS",
            Allow::Post => "POST, OPTIONS",
            Allow::Get => "GET, HEAD",
        })
    }
}

impl Needs {
    fn message(self) -> &'static str {
        match self {
            Needs::JsonOrEventStream => "Accept must allow application/json or text/event-stream",
            Needs::EventStream => "Accept must allow text/event-stream",
        }
    }
}

/// The names of `versions`, as a sentence has them.
fn any_of(versions: &[Version]) -> String {
    let mut text = String::new();
    for (left, version) in (0..versions.len()).rev().zip(versions) {
        text.push_str(version.name());
        text.push_str(match left {
            0 => "",
            1 => " or ",
            _ => ", ",
        });
    }
    text
}

fn row(status: StatusCode, code: i64, message: impl Into<Cow<'static, str>>) -> Row {
    Row { status, code, message: message.into(), field: None, close: false }
}

impl Row {
    fn with(mut self, name: HeaderName, value: HeaderValue) -> Row {
        self.field = Some((name, value));
        self
    }

    fn retry_later(self) -> Row {
        self.with(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    fn closing(mut self) -> Row {
        self.close = true;
        self
    }
}

/// The body of a refusal alone, for a caller that has its own HTTP (a test, a gateway).
impl From<&Reject> for Bytes {
    fn from(reject: &Reject) -> Bytes {
        match reject.clone().into_answer().body {
            h1::Body::Full(body) => body,
            h1::Body::Empty | h1::Body::Stream => Bytes::new(),
        }
    }
}
