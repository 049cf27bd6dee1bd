//! The shape of one JSON-RPC message (I7), and what of its parameters a judgement looks at. Nothing here
//! knows a method's meaning, an era or a header.

use bytes::Bytes;

use super::members::{self, Member};
use crate::json::Json;
use crate::jsonrpc::{Message, Notice, Reply, Request, RequestId};
use crate::reject::{Refusal, Reject};

/// A body larger than this, in bytes, is not kept alive by an id that is a slice of it: an id lives as long as
/// its call, which is long after the body was used.
const SHARED_ID_BODY_BYTES_MAX: usize = 4096;

/// The keys in `params._meta` by which a request of the stateless era says what the handshake said.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// A well-formed message.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) message: Message,
    pub(crate) params: Params<'a>,
}

/// The members of `params` that a judgement looks at; empty if `params` is absent or an array.
#[derive(Debug, Default)]
pub(crate) struct Params<'a> {
    pub(crate) meta: Meta<'a>,
    /// For `initialize`.
    pub(crate) protocol_version: Member<'a>,
    /// For `initialize`.
    pub(crate) capabilities: Member<'a>,
    /// For `initialize`.
    pub(crate) client_info: Member<'a>,
    /// For `notifications/cancelled`.
    pub(crate) request_id: Member<'a>,
    /// For `tools/call` and `prompts/get`.
    pub(crate) name: Member<'a>,
    /// For `tools/call`.
    pub(crate) arguments: Member<'a>,
    /// For `resources/read`.
    pub(crate) uri: Member<'a>,
    /// For `tasks/get` and its like.
    pub(crate) task_id: Member<'a>,
    /// For `subscriptions/listen`.
    pub(crate) notifications: Member<'a>,
}

/// `_meta`, and the members of it that are the protocol's. If `_meta` is given twice, each may be in either.
#[derive(Debug, Default)]
pub(crate) struct Meta<'a> {
    pub(crate) whole: Member<'a>,
    pub(crate) version: Member<'a>,
    pub(crate) capabilities: Member<'a>,
    pub(crate) client_info: Member<'a>,
}

/// The members that JSON-RPC knows. Others are passed over.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Member<'a>,
    id: Member<'a>,
    method: Member<'a>,
    params: Member<'a>,
    result: Member<'a>,
    error: Member<'a>,
}

/// Reads the object that `text` is, a part of `body`. A refusal bears the id if there was one, wherever it
/// stands in the object.
pub(crate) fn parse<'a>(text: &'a str, body: &Bytes) -> Result<Incoming<'a>, Reject> {
    let Ok(envelope) = Envelope::read(text) else { return Err(Reject::new(NOT_JSON)) };
    let id = match envelope.id {
        Member::Once(literal) if members::is_id(literal) => Some(id(literal, body)),
        Member::Once(_) | Member::Absent | Member::Twice => None,
    };
    envelope.judge(id.clone(), body).map_err(|refusal| Reject::new(refusal).with_id(id))
}

/// The refusal of a text that is UTF-8 and not JSON.
pub(crate) const NOT_JSON: Refusal = Refusal::NotJson("the body is not one valid JSON text");

/// An id that outlives its message.
pub(crate) fn id(literal: &str, body: &Bytes) -> RequestId {
    if body.len() > SHARED_ID_BODY_BYTES_MAX {
        return RequestId::from_literal(Bytes::copy_from_slice(literal.as_bytes()));
    }
    RequestId::from_literal(part(literal, body))
}

impl<'a> Envelope<'a> {
    fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        let mut envelope = Envelope::default();
        members::of_object(text, |name, value| match name {
            "jsonrpc" => envelope.jsonrpc.put(value),
            "id" => envelope.id.put(value),
            "method" => envelope.method.put(value),
            "params" => envelope.params.put(value),
            "result" => envelope.result.put(value),
            "error" => envelope.error.put(value),
            _ => {}
        })?;
        Ok(envelope)
    }

    /// `id` is the one in the envelope, if it is well-formed.
    fn judge(&self, id: Option<RequestId>, body: &Bytes) -> Result<Incoming<'a>, Refusal> {
        let all = [self.jsonrpc, self.id, self.method, self.params, self.result, self.error];
        if all.contains(&Member::Twice) {
            return invalid("jsonrpc, id, method, params, result and error must not be given twice");
        }
        let Member::Once(jsonrpc) = self.jsonrpc else { return invalid(NEEDS_JSONRPC) };
        if members::string(jsonrpc).as_deref() != Some("2.0") {
            return invalid(NEEDS_JSONRPC);
        }
        if id.is_none() && self.id != Member::Absent {
            return invalid("id must be a string or an integer");
        }
        match (self.method, self.result, self.error) {
            (Member::Once(method), Member::Absent, Member::Absent) => self.call_or_notice(method, id, body),
            (Member::Absent, Member::Once(result), Member::Absent) => {
                reply(id, Ok(Json::trusted(part(result, body))))
            }
            (Member::Absent, Member::Absent, Member::Once(error)) => {
                if !error.starts_with('{') {
                    return invalid("error must be an object");
                }
                reply(id, Err(Json::trusted(part(error, body))))
            }
            _ => invalid("a message must have exactly one of method, result and error"),
        }
    }

    fn call_or_notice(
        &self,
        method: &str,
        id: Option<RequestId>,
        body: &Bytes,
    ) -> Result<Incoming<'a>, Refusal> {
        let Some(method) = members::string(method) else { return invalid("method must be a string") };
        let method = Box::from(method);
        let (raw, params) = match self.params {
            Member::Once(text) if text.starts_with('{') => (Some(text), Params::read(text)),
            Member::Once(text) if text.starts_with('[') => (Some(text), Params::default()),
            Member::Absent => (None, Params::default()),
            Member::Once(_) | Member::Twice => {
                return invalid("params must be an object or an array, or be left out");
            }
        };
        let raw = raw.map(|text| Json::trusted(part(text, body)));
        let message = match id {
            Some(id) => Message::Request(Request { id, method, params: raw }),
            None => Message::Notice(Notice { method, params: raw }),
        };
        Ok(Incoming { message, params })
    }
}

impl<'a> Params<'a> {
    /// Reads the object that `text` is, which is known to be valid JSON.
    fn read(text: &'a str) -> Params<'a> {
        let mut params = Params::default();
        let read = members::of_object(text, |name, value| match name {
            "_meta" => params.meta.read(value),
            "protocolVersion" => params.protocol_version.put(value),
            "capabilities" => params.capabilities.put(value),
            "clientInfo" => params.client_info.put(value),
            "requestId" => params.request_id.put(value),
            "name" => params.name.put(value),
            "arguments" => params.arguments.put(value),
            "uri" => params.uri.put(value),
            "taskId" => params.task_id.put(value),
            "notifications" => params.notifications.put(value),
            _ => {}
        });
        debug_assert!(read.is_ok(), "the parameters were checked with the message");
        params
    }
}

impl<'a> Meta<'a> {
    /// Reads `text`, which is known to be valid JSON.
    fn read(&mut self, text: &'a str) {
        self.whole.put(text);
        if !text.starts_with('{') {
            return;
        }
        let read = members::of_object(text, |name, value| match name {
            META_VERSION => self.version.put(value),
            META_CAPABILITIES => self.capabilities.put(value),
            META_CLIENT_INFO => self.client_info.put(value),
            _ => {}
        });
        debug_assert!(read.is_ok(), "_meta was checked with the message");
    }
}

const NEEDS_JSONRPC: &str = "jsonrpc must be \"2.0\"";

fn reply<'a>(id: Option<RequestId>, outcome: Result<Json, Json>) -> Result<Incoming<'a>, Refusal> {
    let Some(id) = id else { return invalid("a response must have the id of the request it answers") };
    Ok(Incoming { message: Message::Reply(Reply { id, outcome }), params: Params::default() })
}

/// The bytes of `text`, shared with the `body` it is a slice of.
fn part(text: &str, body: &Bytes) -> Bytes {
    let start = text.as_ptr().addr().checked_sub(body.as_ptr().addr());
    let range = start.and_then(|start| Some(start..start.checked_add(text.len())?));
    match range {
        Some(range) if range.end <= body.len() => body.slice(range),
        // Never so; a copy would be as good.
        Some(_) | None => Bytes::copy_from_slice(text.as_bytes()),
    }
}

fn invalid<T>(why: &'static str) -> Result<T, Refusal> {
    Err(Refusal::InvalidRequest(why))
}
