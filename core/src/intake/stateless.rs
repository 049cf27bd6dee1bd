//! Judges a POST of the stateless era (Z1 to Z6, Z10). Which messages belong to it is `era`'s, and their shape
//! was judged before.
//!
//! A notice and a posted reply are done with at once (Z2). A request is judged in this order:
//!
//! 1. `params._meta`: the version, the client's capabilities, and who it is (Z3);
//! 2. `MCP-Protocol-Version` against the version in it (Z4), so that who disagrees with itself learns that,
//!    and not what is supported;
//! 3. that version is served (Z6);
//! 4. `Mcp-Method` and `Mcp-Name` against the body (Z4): behind the version, as another revision may have
//!    other fields, and a client of it has to learn first which one is spoken here;
//! 5. the methods that this revision dropped (I12). Behind the fields, as for every other unknown method,
//!    which only the application can tell: a request that a proxy stripped of its fields is refused for that,
//!    whatever it asks for, and opens nothing either way;
//! 6. what the method needs: `subscriptions/listen` a reader of event streams and a filter (Z10), `tools/call`
//!    fields for its arguments (Z5).
//!
//! `Mcp-Session-Id` and `Last-Event-ID` are not looked at, in whatever state they are (Z1).

use std::borrow::Cow;

use super::admitted::{Admitted, Kind, ListenFilter, Stateless};
use super::body::NeedsBody;
use super::members::{self, Member};
use super::message::{Meta, Params};
use super::{era, listen, param_fields};
use crate::jsonrpc::Message;
use crate::reject::{Needs, Refusal};
use crate::version::{Era, Version};

/// What earlier revisions had and this one has not.
const DROPPED: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// A client has nothing to reply to here (Z8).
pub(crate) const NO_REPLY: Refusal =
    Refusal::InvalidRequest("2026-07-28 has no replies of the client; send requests and notifications only");

impl NeedsBody {
    pub(super) fn stateless(self, message: Message, params: &Params<'_>) -> Result<Admitted, Refusal> {
        let kind = match message {
            Message::Reply(_) => return Err(NO_REPLY),
            Message::Notice(notice) => Kind::StatelessNotice(notice),
            Message::Request(request) => {
                let listen = self.stateless_request(&request.method, params)?;
                Kind::Stateless(Stateless { request, listen })
            }
        };
        Ok(Admitted { kind, session: None, accept: self.accept, grant: self.grant })
    }

    fn stateless_request(&self, method: &str, params: &Params<'_>) -> Result<Option<ListenFilter>, Refusal> {
        let config = &self.rules.config;
        let version = judge_meta(&params.meta)?;
        self.version.judge_mirror(&version)?;
        if Version::from_name(version.as_bytes()).is_none_or(|version| version.era() != Era::Stateless) {
            return Err(era::unsupported(&version, config.versions()));
        }
        self.mirrors.judge_method(method)?;
        let name = self.mirrors.judge_name(method, params)?;
        if DROPPED.contains(&method) {
            return Err(Refusal::MethodNotFound);
        }
        match (method, name) {
            ("subscriptions/listen", _) if !self.accept.event_stream => {
                Err(Refusal::NotAcceptable(Needs::EventStream))
            }
            ("subscriptions/listen", _) => listen::filter(params, config.listen_uris_max).map(Some),
            ("tools/call", Some(name)) => {
                param_fields::judge(&self.tools, &name, params.arguments, &self.mirrors).map(|()| None)
            }
            _ => Ok(None),
        }
    }
}

/// Z3: the version that the request names.
fn judge_meta<'a>(meta: &Meta<'a>) -> Result<Cow<'a, str>, Refusal> {
    if meta.whole == Member::Twice {
        return Err(Refusal::InvalidParams("params._meta must not be given twice"));
    }
    let version = match meta.version {
        Member::Once(literal) => members::string(literal),
        Member::Absent | Member::Twice => None,
    };
    let version = version.ok_or(Refusal::InvalidParams(
        "params._meta must have io.modelcontextprotocol/protocolVersion, a string such as \"2026-07-28\", given \
         once",
    ))?;
    if !is_object(meta.capabilities) {
        return Err(Refusal::InvalidParams(
            "params._meta must have io.modelcontextprotocol/clientCapabilities, an object such as {}, given once",
        ));
    }
    if meta.client_info != Member::Absent && !is_object(meta.client_info) {
        return Err(Refusal::InvalidParams(
            "io.modelcontextprotocol/clientInfo of params._meta must be an object, given once, or be left out",
        ));
    }
    Ok(version)
}

fn is_object(member: Member<'_>) -> bool {
    match member {
        Member::Once(text) => text.starts_with('{'),
        Member::Absent | Member::Twice => false,
    }
}
