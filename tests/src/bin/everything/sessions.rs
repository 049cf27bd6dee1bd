//! What this server keeps for each session: from the moment it is created to its end, and not longer.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_http_tokio::Session;

use crate::given::Misfit;

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<Session, Kept>>);

/// One session.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) log_level: LogLevel,
    /// URIs of listed resources that the client subscribed to.
    pub(crate) watched: BTreeSet<&'static str>,
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

    fn lock(&self) -> MutexGuard<'_, HashMap<Session, Kept>> {
        // Whoever panicked under the lock had changed nothing by halves: each change is one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogLevel {
    const NAMES: [(&'static str, LogLevel); 8] = [
        ("debug", LogLevel::Debug),
        ("info", LogLevel::Info),
        ("notice", LogLevel::Notice),
        ("warning", LogLevel::Warning),
        ("error", LogLevel::Error),
        ("critical", LogLevel::Critical),
        ("alert", LogLevel::Alert),
        ("emergency", LogLevel::Emergency),
    ];

    /// The level `name`.
    pub(crate) fn named(name: &str) -> Result<LogLevel, Misfit> {
        let found = LogLevel::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, level)| *level).ok_or_else(|| {
            let names = LogLevel::NAMES.map(|(known, _)| known).join(", ");
            Misfit(format!("`level` must be one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LogLevel;

    #[test]
    fn knows_the_eight_names_exactly() {
        for (name, level) in LogLevel::NAMES {
            assert_eq!(LogLevel::named(name), Ok(level));
            assert!(LogLevel::named(&name.to_uppercase()).is_err());
        }
        assert!(LogLevel::named("").is_err());
        assert!(LogLevel::NAMES.is_sorted_by_key(|(_, level)| *level));
    }
}
