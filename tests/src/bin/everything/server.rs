//! The server's behaviour: which method is answered by whom. What the answers are is in `tools`, `prompts`,
//! `resources` and `completion`.

use std::sync::OnceLock;

use mcp_http_tokio::{
    Call, DiscardReason, EndReason, ErrorObject, Handler, Initialize, Initialized, Json, Notice, Publisher,
    Session, SessionRefused, Topic,
};
use serde_json::{Value, json};

use crate::client::Client;
use crate::context::Context;
use crate::given::{Given, no_cursor};
use crate::sessions::{LogLevel, Sessions};
use crate::{completion, prompts, resources, tools};

const INSTRUCTIONS: &str = "A server to try clients with. `echo` gives back a text, `slow` takes its time; the \
    tools named `test_...` each show one kind of answer.";

/// The demo server.
#[derive(Debug, Default)]
pub(crate) struct Everything {
    pub(crate) sessions: Sessions,
    publisher: OnceLock<Publisher>,
}

impl Everything {
    /// Tells clients of a change; returns how many were told.
    pub(crate) fn publish(&self, topic: &Topic) -> usize {
        self.publisher.get().map_or(0, |publisher| publisher.publish(topic))
    }
}

impl Handler for Everything {
    fn started(&self, publisher: Publisher) {
        // It is called once.
        _ = self.publisher.set(publisher);
    }

    async fn initialize(&self, request: Initialize) -> Result<Initialized, ErrorObject> {
        if let Some(session) = request.session() {
            let declared = Given::from(request.params::<Value>()?).optional_object("capabilities")?;
            let client = Client::declaring(&declared.unwrap_or_default());
            self.sessions.change(session, |kept| kept.client = client);
        }
        // Without a session there is nothing to remember a level or a subscription by, and no stream to
        // announce a change on.
        let remembers = request.session().is_some();
        let answer = Initialized::new("everything", env!("CARGO_PKG_VERSION"))
            .instructions(INSTRUCTIONS)
            .with("tools", json!({ "listChanged": remembers }))
            .with("prompts", json!({ "listChanged": remembers }))
            .with("resources", json!({ "listChanged": remembers, "subscribe": remembers }))
            .with("completions", json!({}));
        Ok(if remembers { answer.with("logging", json!({})) } else { answer })
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        // A method that is not known is not known, whatever its parameters: so these are judged by each arm.
        let context = Context::of(&call, self);
        let params = context.as_ref().map(|context| &context.params).map_err(Clone::clone);
        match (call.method(), call.session()) {
            ("ping", _) => Ok(Json::EMPTY_OBJECT),
            ("tools/list", _) => no_cursor(params?).map(|()| tools::list()),
            ("tools/call", _) => tools::call(&context?).await,
            ("prompts/list", _) => no_cursor(params?).map(|()| prompts::list()),
            ("prompts/get", _) => prompts::get(params?),
            ("resources/list", _) => no_cursor(params?).map(|()| resources::list()),
            ("resources/templates/list", _) => no_cursor(params?).map(|()| resources::list_templates()),
            ("resources/read", _) => resources::read(params?),
            ("completion/complete", _) => completion::complete(params?),
            ("resources/subscribe", Some(session)) => {
                if !session.subscribe(resources::watched(params?)?) {
                    return Err(ErrorObject::internal("no more subscriptions fit into this session"));
                }
                Ok(Json::EMPTY_OBJECT)
            }
            ("resources/unsubscribe", Some(session)) => {
                session.unsubscribe(resources::watched(params?)?);
                Ok(Json::EMPTY_OBJECT)
            }
            ("logging/setLevel", Some(session)) => {
                let level = LogLevel::named(params?.text("level")?)?;
                self.sessions.change(session, |kept| kept.log_level = level);
                Ok(Json::EMPTY_OBJECT)
            }
            (other, _) => Err(ErrorObject::method_not_found(other)),
        }
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
