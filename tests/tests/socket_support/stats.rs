//! The server's counters, read as anybody reads them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::Value;

use super::ask::Ask;
use super::wait::until;
use super::wire::Wire;

pub(crate) const PATH: &str = "/__stats";

/// A reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) tables: Tables,
    pub(crate) lives: Lives,
    /// Open connections, the one that asks included.
    pub(crate) connections: u64,
    pub(crate) dropped_notices: u64,
    pub(crate) gaps: u64,
    pub(crate) refusals: BTreeMap<String, u64>,
}

/// What there is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    pub(crate) sessions: u64,
    pub(crate) pending: u64,
    pub(crate) exchanges: u64,
    pub(crate) calls: u64,
    pub(crate) streams: u64,
    pub(crate) deadlines: u64,
    pub(crate) buffered_bytes: u64,
}

/// What has become of sessions since the start; reasons without a count are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lives {
    pub(crate) created: u64,
    pub(crate) committed: u64,
    pub(crate) discarded: BTreeMap<String, u64>,
    pub(crate) ended: BTreeMap<String, u64>,
}

impl Stats {
    #[track_caller]
    pub(crate) fn of(addr: SocketAddr) -> Stats {
        let answer = Wire::to(addr).ask(&Ask::new("GET", PATH));
        assert_eq!(answer.status(), 200);
        Stats::read(&answer.json())
    }

    fn read(json: &Value) -> Stats {
        let count = |name: &str| json[name].as_u64().unwrap_or_else(|| panic!("no {name}: {json}"));
        let counts = |name: &str| {
            let all = json[name].as_object().unwrap_or_else(|| panic!("no {name}: {json}"));
            let all = all.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap()));
            all.filter(|(_, count)| *count > 0).collect()
        };
        Stats {
            tables: Tables {
                sessions: count("sessions"),
                pending: count("pending"),
                exchanges: count("exchanges"),
                calls: count("calls"),
                streams: count("streams"),
                deadlines: count("deadlines"),
                buffered_bytes: count("buffered_bytes"),
            },
            lives: Lives {
                created: count("created"),
                committed: count("committed"),
                discarded: counts("discarded"),
                ended: counts("ended"),
            },
            connections: count("connections"),
            dropped_notices: count("dropped_notices"),
            gaps: count("gaps"),
            refusals: counts("refusals"),
        }
    }

    /// Reads until `good` holds.
    #[track_caller]
    pub(crate) fn until(addr: SocketAddr, what: &str, good: impl Fn(&Stats) -> bool) -> Stats {
        until(what, || Stats::of(addr), good)
    }

    pub(crate) fn refused(&self, reason: &str) -> u64 {
        self.refusals.get(reason).copied().unwrap_or_default()
    }
}

impl Tables {
    pub(crate) const EMPTY: Tables = Tables {
        sessions: 0,
        pending: 0,
        exchanges: 0,
        calls: 0,
        streams: 0,
        deadlines: 0,
        buffered_bytes: 0,
    };
}

impl Lives {
    /// These and one more session, of which became what is said.
    pub(crate) fn and_one(&self, became: Became) -> Lives {
        let mut lives = self.clone();
        lives.created += 1;
        let mut end = |reason: &str| *lives.ended.entry(reason.into()).or_default() += 1;
        match became {
            Became::Pending | Became::Discarded(_) => {}
            Became::Committed => lives.committed += 1,
            Became::Ended(reason) => {
                end(reason);
                lives.committed += 1;
            }
        }
        if let Became::Discarded(reason) = became {
            *lives.discarded.entry(reason.into()).or_default() += 1;
        }
        lives
    }
}

/// What a session came to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Became {
    Pending,
    Discarded(&'static str),
    Committed,
    Ended(&'static str),
}
