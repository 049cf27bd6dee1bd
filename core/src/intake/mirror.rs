//! The fields that repeat a part of the body, so that what stands before the server can route without reading
//! it: how they are kept until the body is there, and whether `Mcp-Method` and `Mcp-Name` agree with it (Z4).
//! `Mcp-Param-*` is judged in `param_fields`, `MCP-Protocol-Version` in `version_field`.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::field::{MCP_METHOD, MCP_NAME, MCP_PARAM_PREFIX, trim};
use super::members::{self, Member};
use super::message::Params;
use super::sentinel;
use crate::reject::Refusal;

/// What a head says of its body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mirrors {
    method: Mirror,
    name: Mirror,
    /// Every `Mcp-Param-*` line.
    pub(crate) params: Vec<(HeaderName, HeaderValue)>,
}

/// A field that may be repeated only with the same value: whoever reads the first line and whoever reads the
/// last one must see the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Mirror {
    #[default]
    Absent,
    Is(HeaderValue),
    Differing,
}

/// How a field fails to repeat the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Missing,
    /// Repeated with another value, of octets that may not be, or not decodable.
    Malformed,
    Different,
}

impl Mirrors {
    /// The `Mcp-Param-*` lines are kept only if some tool could ask for them.
    pub(crate) fn of(fields: &HeaderMap, with_params: bool) -> Mirrors {
        let is_param = |name: &HeaderName| with_params && name.as_str().starts_with(MCP_PARAM_PREFIX);
        let params = fields.iter().filter(|(name, _)| is_param(name));
        Mirrors {
            method: Mirror::of(fields.get_all(MCP_METHOD).iter()),
            name: Mirror::of(fields.get_all(MCP_NAME).iter()),
            params: params.map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }

    /// Judges `Mcp-Method`. It has no encoded form.
    pub(crate) fn judge_method(&self, method: &str) -> Result<(), Refusal> {
        let fault = match &self.method {
            Mirror::Absent => Fault::Missing,
            Mirror::Differing => Fault::Malformed,
            Mirror::Is(value) if trim(value.as_bytes()) == method.as_bytes() && method.is_ascii() => {
                return Ok(());
            }
            Mirror::Is(_) => Fault::Different,
        };
        Err(Refusal::HeaderMismatch(match fault {
            Fault::Missing => "Mcp-Method is missing; send the method of the body",
            Fault::Malformed => {
                "Mcp-Method is given twice with different values; send the method of the body"
            }
            Fault::Different => {
                "Mcp-Method differs from the method of the body; send the same, in the same case"
            }
        }))
    }

    /// Judges `Mcp-Name`, where the method has a name, and gives it back. On other methods the field mirrors
    /// nothing and means nothing.
    pub(crate) fn judge_name<'a>(
        &self,
        method: &str,
        params: &Params<'a>,
    ) -> Result<Option<Cow<'a, str>>, Refusal> {
        let Some(name) = name(method, params)? else { return Ok(None) };
        match self.name.judge(|value| value == name.as_bytes()) {
            Ok(()) => Ok(Some(name)),
            Err(fault) => Err(Refusal::HeaderMismatch(match fault {
                Fault::Missing => {
                    "Mcp-Name is missing; send the name, uri or taskId of the params, as =?base64?...?= if \
                     it is not of visible ASCII"
                }
                Fault::Malformed => {
                    "Mcp-Name cannot be read; send it with one value, of visible ASCII or =?base64?...?= by \
                     RFC 4648 with padding"
                }
                Fault::Different => {
                    "Mcp-Name differs from the name, uri or taskId of the params; send the same"
                }
            })),
        }
    }
}

impl Mirror {
    pub(crate) fn of<'a>(mut lines: impl Iterator<Item = &'a HeaderValue>) -> Mirror {
        let Some(first) = lines.next() else { return Mirror::Absent };
        let value = trim(first.as_bytes());
        if lines.any(|other| trim(other.as_bytes()) != value) {
            return Mirror::Differing;
        }
        Mirror::Is(first.clone())
    }

    /// Whether the field is there and what it stands for `is_right`.
    pub(crate) fn judge(&self, is_right: impl FnOnce(&[u8]) -> bool) -> Result<(), Fault> {
        let value = match self {
            Mirror::Absent => return Err(Fault::Missing),
            Mirror::Differing => return Err(Fault::Malformed),
            Mirror::Is(value) => sentinel::decode(trim(value.as_bytes())).ok_or(Fault::Malformed)?,
        };
        if is_right(&value) { Ok(()) } else { Err(Fault::Different) }
    }
}

/// What `Mcp-Name` mirrors. Where there has to be something and is not, no field would be right, so that it
/// is the parameters which are refused.
fn name<'a>(method: &str, params: &Params<'a>) -> Result<Option<Cow<'a, str>>, Refusal> {
    let (member, message) = match method {
        "tools/call" => (params.name, "tools/call needs params.name, a string, given once"),
        "prompts/get" => (params.name, "prompts/get needs params.name, a string, given once"),
        "resources/read" => (params.uri, "resources/read needs params.uri, a string, given once"),
        "tasks/get" => (params.task_id, "tasks/get needs params.taskId, a string, given once"),
        "tasks/update" => (params.task_id, "tasks/update needs params.taskId, a string, given once"),
        "tasks/cancel" => (params.task_id, "tasks/cancel needs params.taskId, a string, given once"),
        _ => return Ok(None),
    };
    let name = match member {
        Member::Once(literal) => members::string(literal),
        Member::Absent | Member::Twice => None,
    };
    name.map(Some).ok_or(Refusal::InvalidParams(message))
}
