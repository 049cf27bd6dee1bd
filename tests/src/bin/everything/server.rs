//! The server's behaviour: which method is answered by whom. What the answers are is in `tools`, `prompts`,
//! `resources` and `completion`.

use mcp_http_tokio::{
    Call, DiscardReason, EndReason, ErrorObject, Handler, Initialize, Initialized, Json, Notice, Session,
    SessionRefused,
};
use serde_json::json;

use crate::given::{Given, no_cursor};
use crate::sessions::{LogLevel, Sessions};
use crate::{completion, prompts, resources, tools};

const INSTRUCTIONS: &str = "A server to try clients with. `echo` gives back a text, `slow` takes its time; the \
    tools named `test_...` each show one kind of answer.";

/// The demo server.
#[derive(Debug, Default)]
pub(crate) struct Everything {
    sessions: Sessions,
}

impl Handler for Everything {
    async fn initialize(&self, request: Initialize) -> Result<Initialized, ErrorObject> {
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
        let params = Given::params(&call);
        match (call.method(), call.session()) {
            ("ping", _) => Ok(Json::EMPTY_OBJECT),
            ("tools/list", _) => no_cursor(&params?).map(|()| tools::list()),
            ("tools/call", _) => tools::call(&call, &params?).await,
            ("prompts/list", _) => no_cursor(&params?).map(|()| prompts::list()),
            ("prompts/get", _) => prompts::get(&params?),
            ("resources/list", _) => no_cursor(&params?).map(|()| resources::list()),
            ("resources/templates/list", _) => no_cursor(&params?).map(|()| resources::list_templates()),
            ("resources/read", _) => resources::read(&params?),
            ("completion/complete", _) => completion::complete(&params?),
            ("resources/subscribe", Some(session)) => {
                let uri = resources::watched(&params?)?;
                self.sessions.change(session, |kept| _ = kept.watched.insert(uri));
                Ok(Json::EMPTY_OBJECT)
            }
            ("resources/unsubscribe", Some(session)) => {
                let uri = resources::watched(&params?)?;
                self.sessions.change(session, |kept| _ = kept.watched.remove(uri));
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
