//! What must hold between any two calls. Checked after each in debug builds; in release builds nothing.

use super::Endpoint;

impl Endpoint {
    #[cfg(not(debug_assertions))]
    pub(super) fn check_invariants(&mut self) {}

    /// Tables and indexes agree both ways, counters equal what they count, deadlines are where their records
    /// say, and ring bytes equal their sum. The check walks all tables; while they are large it is made at
    /// every 256th call only.
    #[cfg(debug_assertions)]
    pub(super) fn check_invariants(&mut self) {
        const LARGE: usize = 256;
        self.calls = self.calls.wrapping_add(1);
        let records = self.sessions.len().saturating_add(self.exchanges.len());
        if records < LARGE || self.calls.is_multiple_of(256) {
            self.check_sessions();
            self.check_exchanges();
            self.check_timers();
        }
    }
}

#[cfg(debug_assertions)]
mod checks {
    use std::collections::BTreeMap;

    use crate::endpoint::Endpoint;
    use crate::endpoint::exchange::Carries;
    use crate::endpoint::life::Phase;
    use crate::endpoint::session::{Place, Session};
    use crate::endpoint::timers::{Due, Kind};
    use crate::slab::Key;

    impl Endpoint {
        pub(super) fn check_sessions(&self) {
            let mut exchanges: BTreeMap<Key, u32> = BTreeMap::new();
            for session in self.exchanges.iter().filter_map(|(_, exchange)| exchange.session) {
                let count = exchanges.entry(session).or_default();
                *count = count.saturating_add(1);
            }
            for (key, session) in self.sessions.iter() {
                let counted = exchanges.get(&key).copied().unwrap_or_default();
                assert_eq!(session.exchanges, counted, "exchanges of {key:?}");
                let calls: usize = session.streams.iter().map(|stream| stream.waiting().count()).sum();
                assert_eq!(session.calls as usize, calls, "calls of {key:?}");
                let committed = matches!(session.phase, Phase::Unconfirmed | Phase::Live);
                assert!(!(committed && session.establishing.is_some()), "{key:?} still establishing");
                self.check_streams(key, session);
                self.check_place(key, session);
            }
        }

        fn check_streams(&self, key: Key, session: &Session) {
            let sum: usize = session.streams.iter().map(|stream| stream.ring.recomputed_bytes()).sum();
            assert_eq!(session.ring_bytes, sum, "ring bytes of {key:?}");
            for stream in &session.streams {
                assert_eq!(stream.ring.bytes(), stream.ring.recomputed_bytes());
                let Some(carrier) = stream.carrier else { continue };
                let carries = self.exchanges.get(carrier).is_some_and(|exchange| {
                    exchange.session == Some(key)
                        && matches!(exchange.carries, Carries::Stream { number } if number == stream.number)
                });
                assert!(carries, "stream {} of {key:?} and its carrier", stream.number);
                assert_eq!(stream.retained_until, None, "an attached stream is not retained");
            }
        }

        fn check_place(&self, key: Key, session: &Session) {
            if let Place::Of(victim) = session.place {
                let successor = self.sessions.get(victim).and_then(|victim| victim.successor);
                assert_eq!(successor, Some(key), "the place of {key:?}");
            }
            if let Some(successor) = session.successor {
                let place = self.sessions.get(successor).map(|successor| successor.place);
                assert_eq!(place, Some(Place::Of(key)), "the successor of {key:?}");
            }
        }

        pub(super) fn check_exchanges(&self) {
            let mut listens: usize = 0;
            for (key, exchange) in self.exchanges.iter() {
                if let Carries::Stream { number } = exchange.carries {
                    let session = exchange.session.and_then(|session| self.sessions.get(session));
                    let carrier = session.and_then(|session| session.stream(number)?.carrier);
                    assert_eq!(carrier, Some(key), "the stream of exchange {key:?}");
                }
                if matches!(exchange.carries, Carries::Listen(_)) {
                    listens = listens.saturating_add(1);
                    assert!(self.listens.contains(&key), "{key:?} listens");
                }
            }
            assert_eq!(self.listens.len(), listens, "nobody else listens");
        }

        pub(super) fn check_timers(&self) {
            let mut armed: usize = 0;
            let mut has = |kind: Kind, due: Due| {
                armed = armed.saturating_add(1);
                assert!(self.timers.has(kind, due), "{kind:?} {due:?} is armed");
            };
            for (key, session) in self.sessions.iter() {
                assert!(
                    session.armed.is_some() || self.config.session_idle.is_none(),
                    "{key:?} has a deadline"
                );
                if let Some((kind, at)) = session.armed {
                    has(kind, Due { at, key, part: 0 });
                }
                for stream in &session.streams {
                    if let Some(at) = stream.retained_until {
                        has(Kind::Retention, Due { at, key, part: stream.number });
                    }
                }
            }
            for (key, exchange) in self.exchanges.iter() {
                if let Some(at) = exchange.armed {
                    has(Kind::Exchange, Due { at, key, part: 0 });
                }
            }
            let of_no_record = self.timers.of(Kind::Shutdown).chain(self.timers.of(Kind::Memory));
            armed = armed.saturating_add(of_no_record.count());
            assert_eq!(self.timers.len(), armed, "no deadline without a record");
        }
    }
}
