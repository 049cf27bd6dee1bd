//! Judges one request before anything exists: pure, and without knowing any session. A judgement is a refusal,
//! an answer, or an [`Admitted`], which is all that an endpoint accepts.
//!
//! The head is judged in this order, and the first failure answers (RULES I):
//!
//! 1. path, octet by octet; the query does not count;
//! 2. `Host` and `Origin`, on every method (I1). The health path has neither rule: what it says is no secret,
//!    and load balancers address it as they like. The statistics path has both;
//! 3. method (I4), `OPTIONS` being answered here (I5). GET and DELETE are of the handshake era, so where that
//!    is not served, or the version field names the stateless revision, they are not offered (Z1);
//! 4. `Accept` (I2), `Content-Type` (I3) and the declared length (L1), where the method has use for them;
//! 5. `MCP-Protocol-Version` (I10), `Mcp-Session-Id` (I11) and `Last-Event-ID` (C5). On POST they depend on
//!    the body, so that [`NeedsBody`] judges them; but a malformed session id is refused here when the
//!    version field names a handshake revision: a message of the stateless era disagrees with such a field.
//!
//! Between head and body the caller asks its auth hook, and looks for [`NeedsBody::session`].

mod accept;
mod admitted;
mod body;
mod content_type;
mod cors;
mod era;
mod field;
mod host;
mod listen;
mod media;
mod members;
mod message;
mod mirror;
mod origin;
mod param_fields;
mod sentinel;
mod session_field;
mod stateless;
mod version_field;

use std::sync::Arc;

use http::Method;
use http::request::Parts;

pub use admitted::{Accept, Admitted, BatchItem, IncomingNotice, Initialize, Kind, ListenFilter, Stateless};
pub use body::NeedsBody;
use host::Hosts;
use mirror::Mirrors;
use origin::Origins;
use session_field::SessionField;
use version_field::VersionField;

use crate::answer::{Answer, Grant};
use crate::config::{Config, Eras, SessionMode};
use crate::param_headers::ParamHeaders;
use crate::reject::{Allow, Needs, Refusal, Reject};
use crate::version::Era;

/// The judge. Cloning shares what was derived from the configuration: make one, clone it as you like.
#[derive(Clone, Debug)]
pub struct Intake {
    rules: Arc<Rules>,
    tools: Arc<ParamHeaders>,
}

/// What a head led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The request is refused; its body need not be read.
    Reject(Reject),
    /// `OPTIONS`: the answer is complete, and comes before any auth hook.
    Answer(Box<Answer>),
    /// The health path; the answer is [`Answer::health`].
    Health,
    /// The statistics path; the answer is [`Answer::stats`].
    Stats,
    /// GET and DELETE: admitted. A body, if there is one, means nothing.
    Admit(Admitted),
    /// POST: judged so far; the body decides the rest.
    Body(NeedsBody),
}

/// The configuration, and what is derived from it once.
#[derive(Debug, PartialEq)]
pub(crate) struct Rules {
    pub(crate) config: Arc<Config>,
    hosts: Hosts,
    origins: Origins,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Endpoint,
    Health,
    Stats,
}

impl Intake {
    /// A judge by `config`, which [`Config::check`] has passed: entries of its allow-lists that cannot be
    /// parsed would match nothing.
    #[must_use]
    pub fn new(config: Arc<Config>) -> Self {
        let (hosts, origins) = (Hosts::new(&config.allowed_hosts), Origins::new(&config));
        Intake { rules: Arc::new(Rules { config, hosts, origins }), tools: Arc::default() }
    }

    /// The same judge for tools that mirror arguments into `Mcp-Param-*` fields (Z5). It is cheap, so that an
    /// application may change its tools: each request is judged by what was given before its head came.
    #[must_use]
    pub fn with_params(self, tools: Arc<ParamHeaders>) -> Self {
        Intake { tools, ..self }
    }

    /// Judges a request's head. Never fails: whatever is wrong is a [`Verdict::Reject`].
    #[must_use]
    pub fn head(&self, head: &Parts) -> Verdict {
        match self.judge(head) {
            Ok(verdict) => verdict,
            Err(reject) => Verdict::Reject(reject),
        }
    }

    /// A refusal that the caller has its own reason for, with the CORS grant of the request it answers.
    /// [`Admitted::refuse`] and [`NeedsBody::refuse`] do the same without judging the origin again.
    #[must_use]
    pub fn refuse(&self, head: &Parts, refusal: Refusal) -> Reject {
        let grant = self.identify(head).ok().flatten();
        Reject::new(refusal).with_grant(grant)
    }

    fn judge(&self, head: &Parts) -> Result<Verdict, Reject> {
        match self.place(head.uri.path()) {
            None => Err(Reject::new(Refusal::UnknownPath)),
            Some(Place::Health) => only_read(head, Verdict::Health).map_err(Reject::new),
            Some(Place::Stats) => self.identified(head, |_| only_read(head, Verdict::Stats)),
            Some(Place::Endpoint) => self.identified(head, |grant| self.endpoint(head, grant)),
        }
    }

    fn place(&self, path: &str) -> Option<Place> {
        let config = &self.rules.config;
        if config.health_path.as_deref() == Some(path) {
            return Some(Place::Health);
        }
        if config.stats_path.as_deref() == Some(path) {
            return Some(Place::Stats);
        }
        let without_slash = path.strip_suffix('/').unwrap_or(path);
        let endpoint = config.path.strip_suffix('/').unwrap_or(&config.path);
        (without_slash == endpoint).then_some(Place::Endpoint)
    }

    /// Goes on with the grant once Host and Origin are allowed; a refusal from there on bears it.
    fn identified(
        &self,
        head: &Parts,
        then: impl FnOnce(Option<&Grant>) -> Result<Verdict, Refusal>,
    ) -> Result<Verdict, Reject> {
        let grant = self.identify(head).map_err(Reject::new)?;
        then(grant.as_ref()).map_err(|refusal| Reject::new(refusal).with_grant(grant))
    }

    /// Host and Origin: who the request says it is for and from.
    fn identify(&self, head: &Parts) -> Result<Option<Grant>, Refusal> {
        let target = self.rules.hosts.judge(head)?;
        self.rules.origins.judge(head, &self.rules.hosts, target)
    }

    fn endpoint(&self, head: &Parts, grant: Option<&Grant>) -> Result<Verdict, Refusal> {
        if head.method == Method::POST {
            return self.post(head, grant).map(Verdict::Body);
        }
        let allow = self.rules.allow(head);
        match (&head.method, allow) {
            (&Method::OPTIONS, _) => Ok(Verdict::Answer(Box::new(cors::options(head, allow, grant)))),
            (&Method::GET, Allow::PostGetDelete) => self.get(head, grant).map(Verdict::Admit),
            (&Method::DELETE, Allow::PostGetDelete) => self.delete(head, grant).map(Verdict::Admit),
            _ => Err(Refusal::MethodNotAllowed(allow)),
        }
    }

    fn post(&self, head: &Parts, grant: Option<&Grant>) -> Result<NeedsBody, Refusal> {
        let accept = Accept::of(&head.headers);
        if !accept.json && !accept.event_stream {
            return Err(Refusal::NotAcceptable(Needs::JsonOrEventStream));
        }
        content_type::judge(&head.headers)?;
        content_type::judge_length(&head.headers, self.rules.config.body_bytes_max)?;
        let version = VersionField::of(&head.headers);
        let session = SessionField::of(&head.headers, self.rules.session_mode());
        if session == SessionField::Malformed && version.era() == Some(Era::Handshake) {
            return Err(Refusal::BadSessionId);
        }
        let mirrors = match version.era() {
            Some(Era::Stateless) => Mirrors::of(&head.headers, !self.tools.is_empty()),
            Some(Era::Handshake) | None => Mirrors::default(),
        };
        let (rules, tools) = (Arc::clone(&self.rules), Arc::clone(&self.tools));
        Ok(NeedsBody { rules, tools, grant: grant.cloned(), accept, version, session, mirrors })
    }

    fn get(&self, head: &Parts, grant: Option<&Grant>) -> Result<Admitted, Refusal> {
        let accept = Accept::of(&head.headers);
        if !accept.event_stream {
            return Err(Refusal::NotAcceptable(Needs::EventStream));
        }
        VersionField::of(&head.headers).judge(self.rules.config.versions())?;
        let session = SessionField::of(&head.headers, self.rules.session_mode()).required()?;
        let last_event_id = session_field::last_event_id(&head.headers)?;
        let kind = Kind::Open { last_event_id };
        Ok(Admitted { kind, session: Some(session), accept, grant: grant.cloned() })
    }

    fn delete(&self, head: &Parts, grant: Option<&Grant>) -> Result<Admitted, Refusal> {
        VersionField::of(&head.headers).judge(self.rules.config.versions())?;
        let session = SessionField::of(&head.headers, self.rules.session_mode()).required()?;
        // The answer has no content that a client could be unable to read.
        let accept = Accept { json: true, event_stream: true, prefers_event_stream: false };
        Ok(Admitted { kind: Kind::Delete, session: Some(session), accept, grant: grant.cloned() })
    }
}

impl Rules {
    /// Whether there are sessions; the stateless era has none.
    pub(crate) fn session_mode(&self) -> SessionMode {
        match self.config.eras {
            Eras::Both | Eras::Handshake => self.config.sessions,
            Eras::Stateless => SessionMode::Off,
        }
    }

    /// What the endpoint offers to whoever sends this head.
    fn allow(&self, head: &Parts) -> Allow {
        match (self.session_mode(), self.config.eras) {
            (SessionMode::Off, _) => Allow::Post,
            (SessionMode::On, Eras::Both)
                if VersionField::of(&head.headers).era() == Some(Era::Stateless) =>
            {
                Allow::Post
            }
            (SessionMode::On, Eras::Both | Eras::Handshake | Eras::Stateless) => Allow::PostGetDelete,
        }
    }
}

/// The rule for health and statistics.
fn only_read(head: &Parts, verdict: Verdict) -> Result<Verdict, Refusal> {
    match head.method {
        Method::GET | Method::HEAD => Ok(verdict),
        _ => Err(Refusal::MethodNotAllowed(Allow::Get)),
    }
}
