//! One request, as a tool or a prompt sees it.

use mcp_http_tokio::{Call, ErrorObject, SendError};
use serde_json::json;

use crate::client::Client;
use crate::given::Given;
use crate::server::Everything;
use crate::sessions::LogLevel;

pub(crate) struct Context<'a> {
    pub(crate) call: &'a Call,
    pub(crate) params: Given,
    /// Who asks.
    pub(crate) client: Client,
    pub(crate) server: &'a Everything,
}

impl<'a> Context<'a> {
    pub(crate) fn of(call: &'a Call, server: &'a Everything) -> Result<Context<'a>, ErrorObject> {
        let params = Given::params(call)?;
        let client = call.session().and_then(|session| server.sessions.client(session));
        Ok(Context { call, params, client: client.unwrap_or_default(), server })
    }

    /// Sends a log message on the call's stream, if the client wants those of this level.
    pub(crate) async fn log(&self, level: LogLevel, message: &str) -> Result<(), SendError> {
        if self.log_level().is_none_or(|wanted| level < wanted) {
            return Ok(());
        }
        let params = json!({ "level": level.name(), "logger": "everything", "data": message });
        self.call.notify("notifications/message", Some(params.into())).await
    }

    /// The session's level as it is now: the client may change it during the call.
    fn log_level(&self) -> Option<LogLevel> {
        self.call.session().and_then(|session| self.server.sessions.log_level(session))
    }
}
