//! Judges a POST's body, and what the head left to it.
//!
//! In this order, and the first failure answers: length (L1), UTF-8 and JSON (I6), JSON-RPC shape (I7), era
//! (I12). What follows in the stateless era is in `stateless`. In the handshake era it is: `initialize` without
//! id (I9), `MCP-Protocol-Version` (I10), `Mcp-Session-Id` (I11), then what the method needs: the parameters of
//! `initialize` and their agreement with the version field (I9, I10), or, for everything else, that there is a
//! session id at all (S5). A refusal from the shape on bears the id of the request. A response of the client is
//! not a request: if it is well-formed and refused for another reason, its id, which is one of ours, is not
//! sent back.

use std::sync::Arc;

use bytes::Bytes;

use super::admitted::{Accept, Admitted, BatchItem, IncomingNotice, Initialize, Kind};
use super::members::{self, Member};
use super::message::{self, Incoming, NOT_JSON, Params};
use super::mirror::Mirrors;
use super::session_field::SessionField;
use super::version_field::VersionField;
use super::{Rules, era, stateless};
use crate::answer::Grant;
use crate::config::{Eras, SessionMode};
use crate::jsonrpc::{Message, Notice, Request};
use crate::param_headers::ParamHeaders;
use crate::reject::{Refusal, Reject};
use crate::session_id::SessionRef;
use crate::version::{Era, Version};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A POST whose head passed, waiting for its body.
#[derive(Clone, Debug, PartialEq)]
pub struct NeedsBody {
    pub(super) rules: Arc<Rules>,
    pub(super) tools: Arc<ParamHeaders>,
    pub(super) grant: Option<Grant>,
    pub(super) accept: Accept,
    pub(super) version: VersionField,
    pub(super) session: SessionField,
    /// Empty unless `version` is the stateless revision: only then they are looked at.
    pub(super) mirrors: Mirrors,
}

impl NeedsBody {
    /// How long the body may be, in bytes (`body_bytes_max`). Count them as they come (L1).
    #[must_use]
    pub fn limit(&self) -> usize {
        self.rules.config.body_bytes_max
    }

    /// The session to look for before the body is read. `None` also where the body has to tell first whether
    /// the session id means anything: with a stateless version field, with none, and with sessions off.
    #[must_use]
    pub fn session(&self) -> Option<&SessionRef> {
        match (&self.session, self.version.era()) {
            (SessionField::One(session), Some(Era::Handshake)) => Some(session),
            (SessionField::One(_), Some(Era::Stateless) | None) => None,
            (SessionField::Absent | SessionField::Malformed, _) => None,
        }
    }

    /// The CORS grant, if there is one.
    #[must_use]
    pub fn grant(&self) -> Option<&Grant> {
        self.grant.as_ref()
    }

    /// A refusal that the caller has its own reason for, such as its auth hook or the end of a deadline, with
    /// the CORS grant of this request.
    #[must_use]
    pub fn refuse(&self, refusal: Refusal) -> Reject {
        Reject::new(refusal).with_grant(self.grant.clone())
    }

    /// Judges the body, which is whole and without its transfer coding. Time and memory are linear in its
    /// length; parameters and ids are slices of it.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn body(self, body: Bytes) -> Result<Admitted, Reject> {
        let grant = self.grant.clone();
        self.judge(&body).map_err(|reject| reject.with_grant(grant))
    }

    fn judge(self, body: &Bytes) -> Result<Admitted, Reject> {
        let text = self.text(body).map_err(Reject::new)?;
        match members::first_byte(text) {
            Some(b'{') => {
                let Incoming { message, params } = message::parse(text, body)?;
                let id = match &message {
                    Message::Request(request) => Some(request.id.clone()),
                    Message::Notice(_) | Message::Reply(_) => None,
                };
                self.single(message, &params, body).map_err(|refusal| Reject::new(refusal).with_id(id))
            }
            Some(b'[') => self.batch(text, body).map_err(Reject::new),
            Some(_) | None => Err(Reject::new(match members::check(text) {
                Ok(()) => Refusal::InvalidRequest("the body must be a JSON-RPC message, a JSON object"),
                Err(_) => NOT_JSON,
            })),
        }
    }

    fn text<'a>(&self, body: &'a Bytes) -> Result<&'a str, Refusal> {
        let limit = self.limit();
        if body.len() > limit {
            return Err(Refusal::BodyTooLarge { limit });
        }
        if body.starts_with(BOM) {
            return Err(Refusal::NotJson("the body starts with a byte order mark; leave it out"));
        }
        core::str::from_utf8(body).map_err(|_| Refusal::NotJson("the body is not UTF-8"))
    }

    fn single(self, message: Message, params: &Params<'_>, body: &Bytes) -> Result<Admitted, Refusal> {
        let config = &self.rules.config;
        match (era::of(&self.version, params), config.eras) {
            (Era::Stateless, Eras::Both | Eras::Stateless) => self.stateless(message, params),
            (Era::Handshake, Eras::Both | Eras::Handshake) => self.handshake(message, params, body),
            (Era::Handshake, Eras::Stateless) if matches!(message, Message::Reply(_)) => {
                Err(stateless::NO_REPLY)
            }
            (Era::Stateless, Eras::Handshake) | (Era::Handshake, Eras::Stateless) => {
                Err(era::unserved(&self.version, params, config.versions()))
            }
        }
    }

    fn handshake(self, message: Message, params: &Params<'_>, body: &Bytes) -> Result<Admitted, Refusal> {
        match message {
            Message::Request(request) if is_initialize(&request.method) => self.initialize(request, params),
            Message::Request(request) => self.within_session(Kind::Call(request)),
            Message::Notice(notice) => {
                let notice = incoming_notice(notice, params, body)?;
                self.within_session(Kind::Notice(notice))
            }
            Message::Reply(reply) => self.within_session(Kind::Reply(reply)),
        }
    }

    fn initialize(self, request: Request, params: &Params<'_>) -> Result<Admitted, Refusal> {
        let supported = self.rules.config.versions();
        if self.version == VersionField::Malformed {
            return Err(Refusal::BadVersionField { supported });
        }
        let session = self.session.optional()?;
        let wanted = match params.protocol_version {
            Member::Once(literal) => members::string(literal),
            Member::Absent | Member::Twice => None,
        };
        let wanted = wanted.ok_or(Refusal::InvalidParams(
            "initialize needs params.protocolVersion, a string such as \"2025-11-25\", given once",
        ))?;
        for (member, message) in [
            (params.capabilities, "initialize needs params.capabilities, an object, given once"),
            (params.client_info, "initialize needs params.clientInfo, an object, given once"),
        ] {
            match member {
                Member::Once(text) if text.starts_with('{') => {}
                Member::Once(_) | Member::Absent | Member::Twice => {
                    return Err(Refusal::InvalidParams(message));
                }
            }
        }
        self.version.judge_against(&wanted, supported)?;
        let kind = Kind::Initialize(Initialize { request, negotiated: Version::negotiate(&wanted) });
        Ok(Admitted { kind, session, accept: self.accept, grant: self.grant })
    }

    /// The rule for everything but `initialize`.
    fn within_session(self, kind: Kind) -> Result<Admitted, Refusal> {
        self.version.judge(self.rules.config.versions())?;
        let session = match self.rules.session_mode() {
            SessionMode::On => Some(self.session.required()?),
            SessionMode::Off => None,
        };
        Ok(Admitted { kind, session, accept: self.accept, grant: self.grant })
    }

    /// Whether the session's version has batches at all is for the endpoint to say (I8).
    fn batch(self, text: &str, body: &Bytes) -> Result<Admitted, Refusal> {
        let limit = self.rules.config.batch_max;
        let (mut elements, mut too_many) = (Vec::new(), false);
        let read = members::of_array(text, |element| {
            if elements.len() < limit { elements.push(element) } else { too_many = true }
        });
        if read.is_err() {
            return Err(NOT_JSON);
        }
        if elements.is_empty() {
            return Err(Refusal::InvalidRequest("a batch must not be empty"));
        }
        if too_many {
            return Err(Refusal::InvalidRequest("the batch has too many messages; send fewer at a time"));
        }
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            items.push(self.batch_item(element, body)?);
        }
        if self.session == SessionField::Absent {
            return Err(NO_BATCH);
        }
        self.within_session(Kind::Batch(items))
    }

    fn batch_item(&self, text: &str, body: &Bytes) -> Result<BatchItem, Refusal> {
        let parsed = if text.starts_with('{') { message::parse(text, body).ok() } else { None };
        let Some(Incoming { message, params }) = parsed else {
            return Err(Refusal::InvalidRequest(
                "a message of the batch is no JSON-RPC message; send it alone to learn what is wrong",
            ));
        };
        match era::of(&self.version, &params) {
            Era::Stateless => return Err(NO_BATCH),
            Era::Handshake => {}
        }
        match message {
            Message::Request(request) if is_initialize(&request.method) => {
                Err(Refusal::InvalidRequest("initialize must not be in a batch; send it alone"))
            }
            Message::Request(request) => Ok(BatchItem::Request(request)),
            Message::Notice(notice) => incoming_notice(notice, &params, body).map(BatchItem::Notice),
            Message::Reply(reply) => Ok(BatchItem::Reply(reply)),
        }
    }
}

const NO_BATCH: Refusal =
    Refusal::InvalidRequest("only sessions of 2025-03-26 have batches; send one message at a time");

fn is_initialize(method: &str) -> bool {
    method == "initialize"
}

fn incoming_notice(notice: Notice, params: &Params<'_>, body: &Bytes) -> Result<IncomingNotice, Refusal> {
    if is_initialize(&notice.method) {
        return Err(Refusal::InvalidRequest("initialize must have an id, as it is a request"));
    }
    let cancels = match (&*notice.method, params.request_id) {
        ("notifications/cancelled", Member::Once(literal)) if members::is_id(literal) => {
            Some(message::id(literal, body))
        }
        _ => None,
    };
    Ok(IncomingNotice { notice, cancels })
}
