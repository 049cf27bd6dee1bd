//! How a script ends: what is left is ended by rule, and then nothing is left.

use std::time::Duration;

use mcp_http_core::endpoint::{Event, ExchangeId, Outbound, Pulled, SendError, Target};
use mcp_http_core::json::Json;

use super::Script;
use super::ledger::Course;

impl Script {
    /// Ends what is left, by rule, and checks that nothing is left and that R1's sums are right: calls are
    /// answered, streams are read to their end and closed, then time goes by until no deadline remains.
    ///
    /// # Panics
    /// If anything is left.
    #[track_caller]
    pub fn finish(mut self) {
        for shard in 0..self.shards.len() {
            self.at = shard;
            self.finish_exchanges();
        }
        let mut steps = 0;
        while let Some(next) = self.any_deadline() {
            self.advance(next);
            steps += 1;
            assert!(steps < 100_000, "R14: deadlines without end");
        }
        self.check_drained();
    }

    /// Ends what is left by a shutdown, while nobody answers. Peers read what they are given until shortly
    /// before the last moment, or read nothing at all.
    ///
    /// # Panics
    /// If anything is left.
    #[track_caller]
    pub fn finish_by_shutdown(mut self, peers_read: bool) {
        let drain = self.config.shutdown_drain;
        self.shutdown(drain);
        if peers_read {
            // D3: the last tenth, at most a second, is for writing what failed.
            let spare = (drain / 10).min(Duration::from_secs(1));
            self.advance(drain - spare);
            for shard in 0..self.shards.len() {
                self.at = shard;
                self.read_to_the_end();
            }
            for shard in 0..self.shards.len() {
                self.at = shard;
                let left = self.open_exchanges();
                assert!(left.is_empty(), "R14: left before the last moment: {left:?}");
            }
        }
        self.advance(drain);
        assert_eq!(self.any_deadline(), None, "R14: a deadline remains");
        self.check_drained();
    }

    /// Every peer reads its complete answer.
    #[track_caller]
    fn read_to_the_end(&mut self) {
        for (exchange, course) in self.open_exchanges() {
            match course {
                Course::Streaming | Course::Idle => {
                    let drawn = self.pull(exchange);
                    assert_eq!(drawn.pulled, Pulled::End, "R14: {exchange:?} has no end");
                }
                Course::Whole | Course::Pulled => {}
                Course::Waiting | Course::Over => panic!("R14: {exchange:?} has no answer"),
            }
            self.flushed(exchange);
        }
    }

    fn any_deadline(&self) -> Option<Duration> {
        let next = self.shards.iter().filter_map(|shard| shard.endpoint.poll_timeout()).min();
        next.map(|at| at.since(self.now))
    }

    fn open_exchanges(&self) -> Vec<(ExchangeId, Course)> {
        let all = self.shards[self.at].ledger.exchanges.iter();
        all.map(|(id, course)| (*id, *course)).filter(|(_, course)| *course != Course::Over).collect()
    }

    #[track_caller]
    fn finish_exchanges(&mut self) {
        let calls: Vec<_> = self.shards[self.at].ledger.calls_open.iter().copied().collect();
        for call in calls {
            // Its answer may find a full ring; its reader comes below.
            let result = Outbound::Result { result: Json::EMPTY_OBJECT };
            if let Err(SendError::Full(answer) | SendError::Misplaced(answer)) =
                self.try_send(Target::Call(call), result)
            {
                self.drain_streams();
                let error = Outbound::Error { error: mcp_http_core::jsonrpc::ErrorObject::internal("over") };
                let again = if matches!(*answer, Outbound::Result { .. }) { error } else { *answer };
                if self.shards[self.at].ledger.calls_open.contains(&call) {
                    self.send(Target::Call(call), again);
                }
            }
        }
        let untaken: Vec<_> = self.shards[self.at].ledger.untaken.keys().copied().collect();
        for message in untaken {
            self.event(Event::Taken { message });
        }
        self.drain_streams();
        for (exchange, course) in self.open_exchanges() {
            match course {
                Course::Whole | Course::Pulled => self.flushed(exchange),
                Course::Waiting | Course::Streaming | Course::Idle => self.gone(exchange),
                Course::Over => Vec::new(),
            };
        }
    }

    #[track_caller]
    fn drain_streams(&mut self) {
        for (exchange, course) in self.open_exchanges() {
            if matches!(course, Course::Streaming | Course::Idle) {
                self.pull(exchange);
            }
        }
    }

    #[track_caller]
    fn check_drained(&self) {
        for (number, shard) in self.shards.iter().enumerate() {
            let stats = shard.endpoint.stats();
            assert!(stats.is_drained(), "shard {number} is not drained: {stats:?}");
            shard.ledger.check_closed(&stats);
        }
        assert_eq!(self.budget.sessions(), 0, "sessions have a place");
        assert_eq!(self.budget.buffered_bytes(), 0, "bytes are buffered");
    }
}
