//! What must hold between any two calls. Checked after each in debug builds; in release builds nothing.

use super::Endpoint;

impl Endpoint {
    #[cfg(not(debug_assertions))]
    pub(super) fn check_invariants(&self) {}

    /// Tables and indexes agree both ways, counters equal what they count, deadlines are where their records
    /// say, and ring bytes equal their sum.
    #[cfg(debug_assertions)]
    pub(super) fn check_invariants(&self) {
        self.check_sessions();
        self.check_exchanges();
        self.check_timers();
    }
}

#[cfg(debug_assertions)]
mod checks {
    use crate::slab::Key;

    use super::Endpoint;
    use crate::endpoint::exchange::Carries;
    use crate::endpoint::life::Phase;
    use crate::endpoint::session::{Place, Session};
    use crate::endpoint::timers::{Due, Kind};

    impl Endpoint {
        pub(super) fn check_sessions(&self) {
            for (key, session) in self.sessions.iter() {
                let exchanges = self.exchanges.iter().filter(|(_, exchange)| exchange.session == Some(key));
                assert_eq!(session.exchanges as usize, exchanges.count(), "exchanges of {key:?}");
                let calls: usize = session.streams.iter().map(|stream| stream.waiting().count()).sum();
                let held = session
                    .streams
                    .iter()
                    .flat_map(|stream| &stream.calls)
                    .filter(|call| matches!(call.state, crate::endpoint::stream::CallState::Held(_)));
                assert_eq!(session.calls as usize, calls, "calls of {key:?}, {} held", held.count());
                self.check_streams(key, session);
                let committed = matches!(session.phase, Phase::Unconfirmed | Phase::Live);
                assert!(!(committed && session.establishing.is_some()), "{key:?} still establishing");
                if let Place::Of(victim) = session.place {
                    let successor = self.sessions.get(victim).and_then(|victim| victim.successor);
                    assert_eq!(successor, Some(key), "the place of {key:?}");
                }
                if let Some(successor) = session.successor {
                    let place = self.sessions.get(successor).map(|successor| successor.place);
                    assert_eq!(place, Some(Place::Of(key)), "the successor of {key:?}");
                }
            }
        }

        fn check_streams(&self, key: Key, session: &Session) {
            let sum: usize = session.streams.iter().map(|stream| stream.ring.recomputed_bytes()).sum();
            assert_eq!(session.ring_bytes, sum, "ring bytes of {key:?}");
            for stream in &session.streams {
                assert_eq!(stream.ring.bytes(), stream.ring.recomputed_bytes());
                if let Some(carrier) = stream.carrier {
                    let exchange = self.exchanges.get(carrier);
                    let carries = exchange.is_some_and(|exchange| {
                        exchange.session == Some(key)
                            && matches!(exchange.carries, Carries::Stream { number } if number == stream.number)
                    });
                    assert!(carries, "stream {} of {key:?} and its carrier", stream.number);
                    assert_eq!(stream.retained_until, None, "an attached stream is not retained");
                }
            }
        }

        pub(super) fn check_exchanges(&self) {
            for (key, exchange) in self.exchanges.iter() {
                if let Carries::Stream { number } = exchange.carries {
                    let session = exchange.session.and_then(|session| self.sessions.get(session));
                    let carrier = session.and_then(|session| session.stream(number)?.carrier);
                    assert_eq!(carrier, Some(key), "the stream of exchange {key:?}");
                }
            }
        }

        pub(super) fn check_timers(&self) {
            let mut expected: usize = 0;
            let mut has = |kind: Kind, due: Due| {
                expected = expected.saturating_add(1);
                assert!(self.timers.of(kind).any(|other| *other == due), "{kind:?} {due:?} is armed");
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
            expected = expected.saturating_add(self.timers.of(Kind::Shutdown).count());
            assert_eq!(self.timers.len(), expected, "no deadline without a record");
        }
    }
}
