//! The server's behaviour: which method is answered by whom. What the answers are is in `tools`, `prompts`,
//! `resources`, `completion` and `tasks`.

use std::sync::OnceLock;

use mcp_http_tokio::{
    Call, Config, DiscardReason, EndReason, ErrorObject, Handler, Initialize, Initialized, Json, Notice,
    ParamHeaderError, ParamHeaders, Publisher, Session, SessionRefused, Stamp, Topic, Version,
};
use serde_json::{Value, json};

use crate::client::Client;
use crate::context::Context;
use crate::given::{Given, no_cursor};
use crate::offers::Audience;
use crate::secret::Secret;
use crate::sessions::{LogLevel, Sessions};
use crate::tasks::Tasks;
use crate::{completion, offers, prompts, resources, tasks, tools};

/// The demo server.
#[derive(Debug)]
pub(crate) struct Everything {
    /// The protocol's revisions that are served.
    versions: &'static [Version],
    pub(crate) secret: Secret,
    pub(crate) sessions: Sessions,
    pub(crate) tasks: Tasks,
    publisher: OnceLock<Publisher>,
    stamp: Stamp,
    param_headers: ParamHeaders,
}

impl Everything {
    /// # Errors
    /// What is wrong with a tool's schema.
    pub(crate) fn new(config: &Config, secret: Secret) -> Result<Everything, ParamHeaderError> {
        Ok(Everything {
            param_headers: tools::param_headers()?,
            versions: config.versions(),
            secret,
            sessions: Sessions::default(),
            tasks: Tasks::default(),
            publisher: OnceLock::new(),
            stamp: offers::stamp(),
        })
    }

    /// Tells clients of a change; returns how many were told.
    pub(crate) fn publish(&self, topic: &Topic) -> usize {
        self.publisher.get().map_or(0, |publisher| publisher.publish(topic))
    }

    async fn answer(&self, call: &Call) -> Result<Value, ErrorObject> {
        // A method that is not known is not known, whatever its parameters: so these are judged by each arm.
        let context = Context::of(call, self);
        let params = context.as_ref().map(|context| &context.params).map_err(Clone::clone);
        let stateless = context.as_ref().is_ok_and(|context| context.stateless);
        match (call.method(), call.session()) {
            ("ping", _) => Ok(json!({})),
            ("server/discover", _) if stateless => Ok(offers::discovered(self.versions)),
            ("tools/list", _) => no_cursor(params?).map(|()| tools::list(stateless)),
            ("tools/call", _) => tools::call(&context?).await,
            ("prompts/list", _) => no_cursor(params?).map(|()| prompts::list()),
            ("prompts/get", _) => prompts::get(&context?).await,
            ("resources/list", _) => no_cursor(params?).map(|()| resources::list()),
            ("resources/templates/list", _) => no_cursor(params?).map(|()| resources::list_templates()),
            ("resources/read", _) => resources::read(params?, stateless),
            ("completion/complete", _) => completion::complete(params?),
            ("tasks/get", _) if stateless => tasks::get(&context?),
            ("tasks/update", _) if stateless => tasks::update(&context?),
            ("tasks/cancel", _) if stateless => tasks::cancel(&context?),
            ("resources/subscribe", Some(session)) => {
                if !session.subscribe(resources::watched(params?)?) {
                    return Err(ErrorObject::internal("no more subscriptions fit into this session"));
                }
                Ok(json!({}))
            }
            ("resources/unsubscribe", Some(session)) => {
                session.unsubscribe(resources::watched(params?)?);
                Ok(json!({}))
            }
            ("logging/setLevel", Some(session)) => {
                let level = LogLevel::given(params?, "level")?;
                self.sessions.change(session, |kept| kept.log_level = level);
                Ok(json!({}))
            }
            (other, _) => Err(ErrorObject::method_not_found(other)),
        }
    }
}

impl Handler for Everything {
    fn param_headers(&self) -> ParamHeaders {
        self.param_headers.clone()
    }

    fn started(&self, publisher: Publisher) {
        // It is called once.
        _ = self.publisher.set(publisher);
    }

    async fn initialize(&self, request: Initialize) -> Result<Initialized, ErrorObject> {
        let Some(session) = request.session() else { return Ok(offers::initialized(Audience::Anyone)) };
        let declared = Given::from(request.params::<Value>()?).optional_object("capabilities")?;
        let client = Client::of_session(&declared.unwrap_or_default());
        self.sessions.change(session, |kept| kept.client = client);
        Ok(offers::initialized(Audience::Session))
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        self.answer(&call).await.map(|result| self.stamp.result(&call, result))
    }

    async fn notice(&self, notice: Notice) {
        tracing::debug!(method = notice.method(), session = ?notice.session(), "notice");
    }

    fn session_created(&self, session: &Session) -> Result<(), SessionRefused> {
        self.sessions.open(session);
        Ok(())
    }

    fn session_discarded(&self, session: &Session, reason: DiscardReason) {
        let kept = self.sessions.close(session);
        tracing::info!(?session, ?reason, ?kept, "session discarded");
    }

    fn session_ended(&self, session: &Session, reason: EndReason) {
        let kept = self.sessions.close(session);
        tracing::info!(?session, ?reason, ?kept, "session ended");
    }
}
