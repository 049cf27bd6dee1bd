//! The rules I6 to I9, Z2 and Z3 as one reads them, over the parts that `json_text` found.

use crate::json_text::{Kind, Part, unescape};

/// Messages of a batch.
pub(super) const BATCH_MAX: usize = 3;

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

const NOT_JSON: i64 = -32700;
const BAD_SHAPE: i64 = -32600;
const BAD_PARAMS: i64 = -32602;
const NO_METHOD: i64 = -32601;
const MISMATCH: i64 = -32020;

/// A body, before any era has a say.
#[derive(Debug, PartialEq)]
pub(super) enum Shape<'a> {
    NotJson,
    /// Neither an object nor an array.
    Other,
    One(Result<Message<'a>, Bad<'a>>),
    Batch(Vec<Option<Message<'a>>>),
}

/// A bad message, with its id if that is a good one.
#[derive(Debug, PartialEq)]
pub(super) struct Bad<'a>(Option<&'a str>);

/// A message of a good shape. Ids and outcomes are as they were written.
#[derive(Debug, PartialEq)]
pub(super) enum Message<'a> {
    Request { id: &'a str, method: String, params: Option<Part<'a>> },
    Notice { method: String, params: Option<Part<'a>> },
    Reply { id: &'a str, outcome: Result<&'a str, &'a str> },
}

/// What must become of a body.
#[derive(Debug)]
pub(super) enum Expected<'a> {
    /// With one of these codes, and this id.
    Refused {
        codes: Vec<i64>,
        id: Option<&'a str>,
    },
    Taken {
        message: &'a Message<'a>,
        stateless: bool,
    },
    Batch(Vec<&'a Message<'a>>),
    /// Either.
    Unsaid,
}

pub(super) fn read(body: &[u8]) -> Shape<'_> {
    if body.starts_with(b"\xef\xbb\xbf") {
        return Shape::NotJson;
    }
    let whole = std::str::from_utf8(body).ok().and_then(Part::read);
    match whole {
        None => Shape::NotJson,
        Some(object) if object.kind == Kind::Object => Shape::One(message(object)),
        Some(array) if array.kind == Kind::Array => {
            let elements = array.elements().into_iter();
            let good = |part: Part<'_>| part.kind == Kind::Object;
            Shape::Batch(elements.map(|part| if good(part) { message(part).ok() } else { None }).collect())
        }
        Some(_) => Shape::Other,
    }
}

/// What the handshake era makes of it, with a session id in the head and no version.
pub(super) fn handshake<'a>(shape: &'a Shape<'a>) -> Expected<'a> {
    let message = match shape {
        Shape::One(Ok(message)) => message,
        Shape::Batch(messages) => return batch(messages),
        other => return misshapen(other),
    };
    if is_stateless(message) {
        // The head has nothing of that era.
        return match message {
            Message::Request { id, .. } => refused(&[MISMATCH, BAD_PARAMS], Some(id)),
            Message::Notice { .. } | Message::Reply { .. } => Expected::Taken { message, stateless: true },
        };
    }
    match message {
        Message::Request { id, method, params } if method == "initialize" => {
            let good = params.is_some_and(|params| wanted_version(params).is_some() && has_both(params));
            if good {
                Expected::Taken { message, stateless: false }
            } else {
                refused(&[BAD_PARAMS], Some(id))
            }
        }
        Message::Notice { method, .. } if method == "initialize" => refused(&[BAD_SHAPE], None),
        _ => Expected::Taken { message, stateless: false },
    }
}

/// What the stateless era makes of it, under a head of that era.
pub(super) fn stateless<'a>(shape: &'a Shape<'a>) -> Expected<'a> {
    const DROPPED: [&str; 5] =
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
    let message = match shape {
        Shape::One(Ok(message)) => message,
        Shape::Batch(_) => return refused(&[BAD_SHAPE], None),
        other => return misshapen(other),
    };
    let Message::Request { id, method, params } = message else {
        return match message {
            Message::Reply { .. } => refused(&[BAD_SHAPE], None),
            _ => Expected::Taken { message, stateless: true },
        };
    };
    let metas = params.map(|params| values(params, "_meta")).unwrap_or_default();
    let [meta] = metas[..] else { return refused(&[BAD_PARAMS], Some(id)) };
    let version = once(meta, META_VERSION).and_then(|version| version.says());
    let infos = if meta.kind == Kind::Object { values(meta, META_CLIENT_INFO) } else { Vec::new() };
    let capabilities = once(meta, META_CAPABILITIES);
    let is_object = |part: &Part<'_>| part.kind == Kind::Object;
    let good_info = infos.is_empty() || infos.len() == 1 && is_object(&infos[0]);
    let Some(version) = version.filter(|_| capabilities.is_some_and(|part| is_object(&part)) && good_info)
    else {
        return refused(&[BAD_PARAMS], Some(id));
    };
    if version != "2026-07-28" || mirrored(shape).is_none() {
        return refused(&[MISMATCH], Some(id));
    }
    match method.as_str() {
        "tools/call" | "prompts/get" | "resources/read" | "subscriptions/listen" => Expected::Unsaid,
        method if method.starts_with("tasks/") => Expected::Unsaid,
        method if DROPPED.contains(&method) => refused(&[NO_METHOD], Some(id)),
        _ => Expected::Taken { message, stateless: true },
    }
}

/// The method, if a field can bear it as it is.
pub(super) fn mirrored<'a>(shape: &'a Shape<'_>) -> Option<&'a str> {
    let Shape::One(Ok(Message::Request { method, .. })) = shape else { return None };
    let visible = !method.is_empty() && method.bytes().all(|octet| octet.is_ascii_graphic());
    (visible && !method.starts_with("=?")).then_some(method)
}

pub(super) fn wanted_version(params: Part<'_>) -> Option<String> {
    once(params, "protocolVersion")?.says()
}

pub(super) fn cancels(params: Part<'_>) -> Option<&str> {
    once(params, "requestId").filter(is_id).map(|id| id.text)
}

fn misshapen<'a>(shape: &'a Shape<'a>) -> Expected<'a> {
    match shape {
        Shape::One(Err(Bad(id))) => refused(&[BAD_SHAPE], *id),
        Shape::Other => refused(&[BAD_SHAPE], None),
        _ => refused(&[NOT_JSON], None),
    }
}

fn batch<'a>(messages: &'a [Option<Message<'a>>]) -> Expected<'a> {
    let good = |message: &&Message<'_>| {
        let opens = match message {
            Message::Request { method, .. } | Message::Notice { method, .. } => method == "initialize",
            Message::Reply { .. } => false,
        };
        !opens && !is_stateless(message)
    };
    let all: Vec<&Message<'_>> = messages.iter().flatten().filter(good).collect();
    if all.is_empty() || all.len() < messages.len() || all.len() > BATCH_MAX {
        return refused(&[BAD_SHAPE], None);
    }
    Expected::Batch(all)
}

fn refused<'a>(codes: &[i64], id: Option<&'a str>) -> Expected<'a> {
    Expected::Refused { codes: codes.to_vec(), id }
}

fn message(object: Part<'_>) -> Result<Message<'_>, Bad<'_>> {
    let [jsonrpc, id, method, params, result, error] =
        ["jsonrpc", "id", "method", "params", "result", "error"].map(|name| values(object, name));
    let good_id = match id[..] {
        [id] if is_id(&id) => Some(id.text),
        _ => None,
    };
    let bad = Err(Bad(good_id));
    let all = [&jsonrpc, &id, &method, &params, &result, &error];
    let version = jsonrpc.first().and_then(Part::says);
    if all.iter().any(|values| values.len() > 1) || version.as_deref() != Some("2.0") {
        return bad;
    }
    if good_id.is_none() && !id.is_empty() {
        return bad;
    }
    match (method.first(), result.first(), error.first()) {
        (Some(method), None, None) => {
            let params = params.first().copied();
            let structured = params.is_none_or(|part| matches!(part.kind, Kind::Object | Kind::Array));
            match (method.says().filter(|_| structured), good_id) {
                (Some(method), Some(id)) => Ok(Message::Request { id, method, params }),
                (Some(method), None) => Ok(Message::Notice { method, params }),
                (None, _) => bad,
            }
        }
        (None, Some(result), None) => {
            good_id.map(|id| Message::Reply { id, outcome: Ok(result.text) }).ok_or(Bad(None))
        }
        (None, None, Some(error)) if error.kind == Kind::Object => {
            good_id.map(|id| Message::Reply { id, outcome: Err(error.text) }).ok_or(Bad(None))
        }
        _ => bad,
    }
}

/// I12: whatever the head says.
fn is_stateless(message: &Message<'_>) -> bool {
    let params = match message {
        Message::Request { params, .. } | Message::Notice { params, .. } => *params,
        Message::Reply { .. } => None,
    };
    let metas = params.map(|params| values(params, "_meta")).unwrap_or_default();
    metas.iter().any(|meta| !values(*meta, META_VERSION).is_empty())
}

fn has_both(params: Part<'_>) -> bool {
    let is_object = |name| once(params, name).is_some_and(|part| part.kind == Kind::Object);
    is_object("capabilities") && is_object("clientInfo")
}

/// A string, or a number without fraction and exponent.
fn is_id(part: &Part<'_>) -> bool {
    matches!(part.kind, Kind::Text | Kind::Integer)
}

fn once<'a>(part: Part<'a>, name: &str) -> Option<Part<'a>> {
    match values(part, name)[..] {
        [value] => Some(value),
        _ => None,
    }
}

/// All members of this name; none of what is no object.
fn values<'a>(part: Part<'a>, name: &str) -> Vec<Part<'a>> {
    if part.kind != Kind::Object {
        return Vec::new();
    }
    let named = part.members().into_iter().filter(|(other, _)| unescape(other).as_deref() == Some(name));
    named.map(|(_, value)| value).collect()
}
