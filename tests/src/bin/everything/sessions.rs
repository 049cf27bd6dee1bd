//! What this server keeps for each session: from the moment it is created to its end, and not longer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_http_tokio::Session;

use crate::client::Client;
use crate::given::Misfit;

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

    /// The level `name`.
    pub(crate) fn named(name: &str) -> Result<LogLevel, Misfit> {
        let known = LogLevel::ALL.into_iter().find(|level| level.name() == name);
        known.ok_or_else(|| {
            let names = LogLevel::ALL.map(LogLevel::name).join(", ");
            Misfit(format!("`level` must be one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LogLevel;

    #[test]
    fn knows_the_eight_names_exactly() {
        for level in LogLevel::ALL {
            assert_eq!(LogLevel::named(level.name()), Ok(level));
            assert!(LogLevel::named(&level.name().to_uppercase()).is_err());
        }
        assert!(LogLevel::named("").is_err());
        assert!(LogLevel::ALL.is_sorted());
    }
}
