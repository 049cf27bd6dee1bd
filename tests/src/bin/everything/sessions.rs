//! What this server keeps for each session: from the moment it is created to its end, and not longer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_http_tokio::Session;

use crate::client::Client;
use crate::given::{Given, Misfit};

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<Session, Kept>>);

/// One session.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) log_level: LogLevel,
    pub(crate) client: Client,
}

/// How grave a message must be to be sent to the client, by the names of syslog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogLevel {
    Debug,
    #[default]
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Sessions {
    pub(crate) fn open(&self, session: &Session) {
        self.lock().insert(session.clone(), Kept::default());
    }

    pub(crate) fn close(&self, session: &Session) -> Option<Kept> {
        self.lock().remove(session)
    }

    /// Changes what is kept; does nothing if the session has ended meanwhile.
    pub(crate) fn change(&self, session: &Session, change: impl FnOnce(&mut Kept)) {
        if let Some(kept) = self.lock().get_mut(session) {
            change(kept);
        }
    }

    /// `None` once the session is over.
    pub(crate) fn log_level(&self, session: &Session) -> Option<LogLevel> {
        self.lock().get(session).map(|kept| kept.log_level)
    }

    /// `None` once the session is over.
    pub(crate) fn client(&self, session: &Session) -> Option<Client> {
        self.lock().get(session).map(|kept| kept.client.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Session, Kept>> {
        // Whoever panicked under the lock had changed nothing by halves: each change is one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogLevel {
    const ALL: [LogLevel; 8] = [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Notice,
        LogLevel::Warning,
        LogLevel::Error,
        LogLevel::Critical,
        LogLevel::Alert,
        LogLevel::Emergency,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Critical => "critical",
            LogLevel::Alert => "alert",
            LogLevel::Emergency => "emergency",
        }
    }

    /// The level that the member `name` names, which must be there.
    pub(crate) fn given(given: &Given, name: &str) -> Result<LogLevel, Misfit> {
        LogLevel::named(name, given.text(name)?)
    }

    /// The level that the member `name` names, if it is there.
    pub(crate) fn optional(given: &Given, name: &str) -> Result<Option<LogLevel>, Misfit> {
        given.optional_text(name)?.map(|level| LogLevel::named(name, level)).transpose()
    }

    fn named(member: &str, level: &str) -> Result<LogLevel, Misfit> {
        let known = LogLevel::ALL.into_iter().find(|known| known.name() == level);
        known.ok_or_else(|| {
            let names = LogLevel::ALL.map(LogLevel::name).join(", ");
            Misfit(format!("`{member}` must be one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LogLevel;

    #[test]
    fn knows_the_eight_names_exactly() {
        for level in LogLevel::ALL {
            assert_eq!(LogLevel::named("level", level.name()), Ok(level));
            assert!(LogLevel::named("level", &level.name().to_uppercase()).is_err());
        }
        assert!(LogLevel::named("level", "").unwrap_err().0.contains("`level` must be one of debug, info, "));
        assert!(LogLevel::ALL.is_sorted());
    }
}
