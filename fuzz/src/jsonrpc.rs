//! I6 to I9, Z2, Z3: what is taken for a JSON-RPC message, and as which. The oracle reads the body with `json_text`
//! and judges by the rules; what `serde_json::Value` can read as well must say the same. Parts that are kept, ids
//! above all, are kept byte for byte (R5).

mod judge;
mod words;

use std::cell::OnceCell;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use mcp_http_core::config::Config;
use mcp_http_core::intake::{Admitted, BatchItem, IncomingNotice, Intake, Kind, NeedsBody, Verdict};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{Notice, Reply, Request as Call, RequestId};
use mcp_http_core::reject::Reject;
use mcp_http_core::version::Version;
use serde_json::Value;

use crate::input::Input;
use crate::judge::refusal;
use judge::{BATCH_MAX, Expected, Message, Shape};

/// Parsed once: what a head led to.
struct Heads {
    handshake: NeedsBody,
    intake: Intake,
}

thread_local! {
    static HEADS: OnceCell<Heads> = const { OnceCell::new() };
}

/// The input is a body; behind a byte that begins no JSON text, it is put together out of `words`.
pub fn run(data: &[u8]) {
    match data.split_first() {
        Some((1, data)) => judge_body(words::compose(&mut Input::new(data)).as_bytes()),
        _ => judge_body(data),
    }
}

fn judge_body(data: &[u8]) {
    let expected = judge::read(data);
    check_value(data, &expected);
    let body = Bytes::copy_from_slice(data);
    HEADS.with(|heads| {
        let heads = heads.get_or_init(heads_of);
        check(heads.handshake.clone().body(body.clone()), &judge::handshake(&expected), data);
        let stateless = head(&heads.intake, &expected);
        check(stateless.body(body), &judge::stateless(&expected), data);
    });
}

fn heads_of() -> Heads {
    let mut config = Config::default();
    config.batch_max = BATCH_MAX;
    let intake = Intake::new(Arc::new(config));
    let request = request().header("mcp-session-id", "0".repeat(52));
    Heads { handshake: needs_body(&intake, request), intake }
}

/// A head of the stateless era that mirrors the method, if a field can.
fn head(intake: &Intake, expected: &Shape<'_>) -> NeedsBody {
    let mut request = request().header("mcp-protocol-version", "2026-07-28");
    if let Some(method) = judge::mirrored(expected) {
        request = request.header("mcp-method", method);
    }
    needs_body(intake, request)
}

fn request() -> http::request::Builder {
    let request = Request::builder().method("POST").uri("/mcp").header("host", "localhost");
    request.header("content-type", "application/json")
}

fn needs_body(intake: &Intake, request: http::request::Builder) -> NeedsBody {
    let parts = request.body(()).expect("a request").into_parts().0;
    match intake.head(&parts) {
        Verdict::Body(needs) => needs,
        other => panic!("a good head: {other:?}"),
    }
}

fn check(judged: Result<Admitted, Reject>, expected: &Expected<'_>, body: &[u8]) {
    match (judged, expected) {
        (Err(reject), Expected::Refused { codes, id }) => {
            let refused = refusal(reject, [body]);
            assert!(codes.contains(&refused.code), "{refused:?}, expected {expected:?}");
            let status = if refused.code == -32601 { 404 } else { 400 };
            assert_eq!(refused.status, status, "{refused:?}");
            assert_eq!(refused.id.as_deref(), *id, "I7: the id of {refused:?}");
        }
        (Ok(admitted), Expected::Taken { message, stateless }) => {
            assert!(!admitted.opens_session(), "R3: {admitted:?}");
            check_kind(admitted.kind(), message, *stateless);
        }
        (Ok(admitted), Expected::Batch(messages)) => match admitted.kind() {
            Kind::Batch(items) => {
                assert_eq!(items.len(), messages.len(), "I8");
                items.iter().zip(messages).for_each(|(item, message)| check_item(item, message));
            }
            other => panic!("I8: {other:?}"),
        },
        (judged, Expected::Unsaid) => {
            if let Err(reject) = judged {
                refusal(reject, [body]);
            }
        }
        (judged, expected) => panic!("I7: {judged:?}, expected {expected:?}"),
    }
}

fn check_kind(kind: &Kind, message: &Message<'_>, stateless: bool) {
    match (kind, message) {
        (Kind::Initialize(initialize), Message::Request { method, params, .. }) => {
            assert!(method == "initialize" && !stateless, "R3: {kind:?}");
            check_call(&initialize.request, message);
            let wanted = judge::wanted_version(params.expect("it was judged"));
            let known =
                Version::HANDSHAKE.into_iter().find(|version| Some(version.name()) == wanted.as_deref());
            assert_eq!(initialize.negotiated, known.unwrap_or(Version::V2025_11_25), "S11");
        }
        (Kind::Call(call), Message::Request { method, .. }) => {
            assert!(method != "initialize" && !stateless, "I9: {kind:?}");
            check_call(call, message);
        }
        (Kind::Stateless(call), Message::Request { .. }) if stateless => check_call(&call.request, message),
        (Kind::Notice(notice), Message::Notice { .. }) if !stateless => check_notice(notice, message),
        (Kind::StatelessNotice(notice), Message::Notice { method, params }) if stateless => {
            check_said(notice, method, params.map(|params| params.text));
        }
        (Kind::Reply(reply), Message::Reply { .. }) if !stateless => check_reply(reply, message),
        _ => panic!("I7: {kind:?} of {message:?}"),
    }
}

fn check_item(item: &BatchItem, message: &Message<'_>) {
    match item {
        BatchItem::Request(call) => check_call(call, message),
        BatchItem::Notice(notice) => check_notice(notice, message),
        BatchItem::Reply(reply) => check_reply(reply, message),
    }
}

fn check_call(call: &Call, message: &Message<'_>) {
    let Message::Request { id, method, params } = message else { panic!("I7: {call:?} of {message:?}") };
    assert_eq!(literal(&call.id), *id, "R5");
    assert_eq!(&*call.method, method);
    assert_eq!(text(call.params.as_ref()), params.map(|params| params.text));
}

fn check_notice(notice: &IncomingNotice, message: &Message<'_>) {
    let Message::Notice { method, params } = message else { panic!("I7: {notice:?} of {message:?}") };
    check_said(&notice.notice, method, params.map(|params| params.text));
    let cancels = if method == "notifications/cancelled" { params.and_then(judge::cancels) } else { None };
    assert_eq!(notice.cancels.as_ref().map(literal), cancels, "C10");
}

fn check_said(notice: &Notice, method: &str, params: Option<&str>) {
    assert_eq!(&*notice.method, method);
    assert_eq!(text(notice.params.as_ref()), params);
}

fn check_reply(reply: &Reply, message: &Message<'_>) {
    let Message::Reply { id, outcome } = message else { panic!("I7: {reply:?} of {message:?}") };
    assert_eq!(literal(&reply.id), *id, "R5");
    let said = reply.outcome.as_ref().map(|json| text(Some(json))).map_err(|json| text(Some(json)));
    assert_eq!(said, outcome.map(Some).map_err(Some));
}

fn literal(id: &RequestId) -> &str {
    std::str::from_utf8(id.literal()).expect("an id is text")
}

fn text(json: Option<&Json>) -> Option<&str> {
    json.map(|json| std::str::from_utf8(json.as_bytes()).expect("JSON is text"))
}

/// `serde_json::Value` reads the same message, where it can read the text at all: it knows no deep nesting, no huge
/// numbers and no halves of surrogate pairs.
fn check_value(body: &[u8], expected: &Shape<'_>) {
    let value: Option<Value> = serde_json::from_slice(body).ok();
    let Some(value) = value else { return };
    let Shape::One(Ok(message)) = expected else {
        assert!(*expected != Shape::NotJson || body.starts_with(b"\xef\xbb\xbf"), "I6: {value}");
        return;
    };
    let same = |part: &str, name: &str| {
        assert_eq!(serde_json::from_str::<Value>(part).ok().as_ref(), value.get(name), "{name} of {value}");
    };
    match message {
        Message::Request { id, method, params } => {
            same(id, "id");
            assert_eq!(value.get("method").and_then(Value::as_str), Some(&**method));
            params.iter().for_each(|params| same(params.text, "params"));
        }
        Message::Notice { method, params } => {
            assert_eq!(value.get("method").and_then(Value::as_str), Some(&**method));
            params.iter().for_each(|params| same(params.text, "params"));
        }
        Message::Reply { id, outcome } => {
            same(id, "id");
            match outcome {
                Ok(result) => same(result, "result"),
                Err(error) => same(error, "error"),
            }
        }
    }
}
