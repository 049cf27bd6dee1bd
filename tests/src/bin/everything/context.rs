//! One request, as a tool or a prompt sees it.

use mcp_http_core::version::Era;
use mcp_http_tokio::{Call, ErrorObject, SendError};
use serde_json::json;

use crate::client::Client;
use crate::given::Given;
use crate::server::Everything;
use crate::sessions::LogLevel;

pub(crate) struct Context<'a> {
    pub(crate) call: &'a Call,
    pub(crate) params: Given,
    /// Whether it is of the stateless era.
    pub(crate) stateless: bool,
    /// Who asks: in the stateless era this comes with the request, before it with the session.
    pub(crate) client: Client,
    /// What the request itself says about log messages.
    log_level: Option<LogLevel>,
    pub(crate) server: &'a Everything,
}

impl<'a> Context<'a> {
    pub(crate) fn of(call: &'a Call, server: &'a Everything) -> Result<Context<'a>, ErrorObject> {
        let params = Given::params(call)?;
        let stateless = call.version().is_some_and(|version| version.era() == Era::Stateless);
        let mut context =
            Context { call, params, stateless, client: Client::default(), log_level: None, server };
        if stateless {
            let meta = context.params.optional_object("_meta")?.unwrap_or_default();
            let declared = meta.optional_object("io.modelcontextprotocol/clientCapabilities")?;
            context.client = Client::of_request(&declared.unwrap_or_default());
            context.log_level = LogLevel::optional(&meta, "io.modelcontextprotocol/logLevel")?;
        } else if let Some(session) = call.session() {
            context.client = server.sessions.client(session).unwrap_or_default();
        }
        Ok(context)
    }

    /// Sends a log message on the call's stream, if the client wants those of this level.
    pub(crate) async fn log(&self, level: LogLevel, message: &str) -> Result<(), SendError> {
        // A session's level is read anew: the client may change it during the call.
        let of_session = || self.call.session().and_then(|session| self.server.sessions.log_level(session));
        if self.log_level.or_else(of_session).is_none_or(|wanted| level < wanted) {
            return Ok(());
        }
        let params = json!({ "level": level.name(), "logger": "everything", "data": message });
        self.call.notify("notifications/message", Some(params.into())).await
    }
}
