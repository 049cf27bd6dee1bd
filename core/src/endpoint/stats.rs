//! Counters of one endpoint: what there is now, and what has been (X3).

use super::Endpoint;
use super::action::{DiscardReason, EndReason};
use super::exchange::{Carries, Exchange};
use super::life::Phase;

/// A reading. Add those of all shards for the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sessions with a record, pending ones included.
    pub sessions: u64,
    /// Of these, sessions whose `initialize` is not answered.
    pub pending: u64,
    /// Of these, sessions whose answer has not reached the client.
    pub offered: u64,
    /// Of these, committed ones that were not used yet.
    pub unconfirmed: u64,
    /// Exchanges in flight.
    pub exchanges: u64,
    /// Calls without an answer.
    pub calls: u64,
    /// Streams with a record, in sessions and outside.
    pub streams: u64,
    /// Deadlines in the timers.
    pub deadlines: u64,
    /// Bytes in rings, and of answers on their way.
    pub buffered_bytes: u64,
    /// What has happened since the start.
    pub total: Totals,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sessions created. Equal to `committed` and `discarded` and those not yet either (R1).
    pub created: u64,
    /// Sessions committed.
    pub committed: u64,
    /// Sessions discarded, by reason.
    pub discarded: Discards,
    /// Sessions ended, by reason.
    pub ended: Ends,
    /// Exchanges refused by the endpoint.
    pub refused: u64,
    /// Notices left out because the client did not keep up, or reads no stream.
    pub dropped_notices: u64,
    /// Resumes of a standalone stream with frames missing.
    pub gaps: u64,
}

/// Discarded sessions by [`DiscardReason`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discards {
    /// [`DiscardReason::Refused`]
    pub refused: u64,
    /// [`DiscardReason::Failed`]
    pub failed: u64,
    /// [`DiscardReason::ClientGone`]
    pub client_gone: u64,
    /// [`DiscardReason::Undelivered`]
    pub undelivered: u64,
    /// [`DiscardReason::Timeout`]
    pub timeout: u64,
    /// [`DiscardReason::NoRoom`]
    pub no_room: u64,
    /// [`DiscardReason::Shutdown`]
    pub shutdown: u64,
}

/// Ended sessions by [`EndReason`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// [`EndReason::Deleted`]
    pub deleted: u64,
    /// [`EndReason::Idle`]
    pub idle: u64,
    /// [`EndReason::Unconfirmed`]
    pub unconfirmed: u64,
    /// [`EndReason::Evicted`]
    pub evicted: u64,
    /// [`EndReason::Application`]
    pub application: u64,
    /// [`EndReason::Shutdown`]
    pub shutdown: u64,
}

pub(super) type Counters = Totals;

impl Totals {
    pub(super) fn count_discard(&mut self, reason: DiscardReason) {
        let counter = match reason {
            DiscardReason::Refused => &mut self.discarded.refused,
            DiscardReason::Failed => &mut self.discarded.failed,
            DiscardReason::ClientGone => &mut self.discarded.client_gone,
            DiscardReason::Undelivered => &mut self.discarded.undelivered,
            DiscardReason::Timeout => &mut self.discarded.timeout,
            DiscardReason::NoRoom => &mut self.discarded.no_room,
            DiscardReason::Shutdown => &mut self.discarded.shutdown,
        };
        *counter = counter.saturating_add(1);
    }

    pub(super) fn count_end(&mut self, reason: EndReason) {
        let counter = match reason {
            EndReason::Deleted => &mut self.ended.deleted,
            EndReason::Idle => &mut self.ended.idle,
            EndReason::Unconfirmed => &mut self.ended.unconfirmed,
            EndReason::Evicted => &mut self.ended.evicted,
            EndReason::Application => &mut self.ended.application,
            EndReason::Shutdown => &mut self.ended.shutdown,
        };
        *counter = counter.saturating_add(1);
    }
}

impl Totals {
    fn add(&mut self, other: &Totals) {
        let Totals { created, committed, discarded, ended, refused, dropped_notices, gaps } = other;
        for (sum, more) in [
            (&mut self.created, created),
            (&mut self.committed, committed),
            (&mut self.refused, refused),
            (&mut self.dropped_notices, dropped_notices),
            (&mut self.gaps, gaps),
            (&mut self.discarded.refused, &discarded.refused),
            (&mut self.discarded.failed, &discarded.failed),
            (&mut self.discarded.client_gone, &discarded.client_gone),
            (&mut self.discarded.undelivered, &discarded.undelivered),
            (&mut self.discarded.timeout, &discarded.timeout),
            (&mut self.discarded.no_room, &discarded.no_room),
            (&mut self.discarded.shutdown, &discarded.shutdown),
            (&mut self.ended.deleted, &ended.deleted),
            (&mut self.ended.idle, &ended.idle),
            (&mut self.ended.unconfirmed, &ended.unconfirmed),
            (&mut self.ended.evicted, &ended.evicted),
            (&mut self.ended.application, &ended.application),
            (&mut self.ended.shutdown, &ended.shutdown),
        ] {
            *sum = sum.saturating_add(*more);
        }
    }
}

impl Discards {
    /// All together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let Discards { refused, failed, client_gone, undelivered, timeout, no_room, shutdown } = *self;
        [refused, failed, client_gone, undelivered, timeout, no_room, shutdown].iter().sum()
    }
}

impl Ends {
    /// All together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let Ends { deleted, idle, unconfirmed, evicted, application, shutdown } = *self;
        [deleted, idle, unconfirmed, evicted, application, shutdown].iter().sum()
    }
}

impl Stats {
    /// Adds the reading of another shard.
    pub fn add(&mut self, other: &Stats) {
        let Stats {
            sessions,
            pending,
            offered,
            unconfirmed,
            exchanges,
            calls,
            streams,
            deadlines,
            buffered_bytes,
            total,
        } = other;
        for (sum, more) in [
            (&mut self.sessions, sessions),
            (&mut self.pending, pending),
            (&mut self.offered, offered),
            (&mut self.unconfirmed, unconfirmed),
            (&mut self.exchanges, exchanges),
            (&mut self.calls, calls),
            (&mut self.streams, streams),
            (&mut self.deadlines, deadlines),
            (&mut self.buffered_bytes, buffered_bytes),
        ] {
            *sum = sum.saturating_add(*more);
        }
        self.total.add(total);
    }

    /// Whether nothing is left: no session, exchange, call, stream, deadline or buffered byte (R14).
    #[must_use]
    pub fn is_drained(&self) -> bool {
        let parts = [self.sessions, self.exchanges, self.calls, self.streams, self.deadlines];
        parts == [0; 5] && self.buffered_bytes == 0
    }
}

impl Endpoint {
    /// Counts what there is. Walks the tables: for tests and statistics, not for each request.
    pub(super) fn count(&self) -> Stats {
        let mut stats = Stats {
            sessions: len(self.sessions.len()),
            exchanges: len(self.exchanges.len()),
            deadlines: len(self.timers.len()),
            total: self.counters,
            ..Stats::default()
        };
        for (_, session) in self.sessions.iter() {
            let phase = match session.phase {
                Phase::Pending => Some(&mut stats.pending),
                Phase::Offered => Some(&mut stats.offered),
                Phase::Unconfirmed => Some(&mut stats.unconfirmed),
                Phase::Live => None,
            };
            if let Some(count) = phase {
                *count = count.saturating_add(1);
            }
            stats.calls = stats.calls.saturating_add(u64::from(session.calls));
            stats.streams = stats.streams.saturating_add(len(session.streams.len()));
            stats.buffered_bytes = stats.buffered_bytes.saturating_add(len(session.ring_bytes));
        }
        let unopened = |exchange: &&Exchange| {
            exchange.establishes.is_none() && matches!(exchange.carries, Carries::Establish { .. })
        };
        let exchanges = self.exchanges.iter().map(|(_, exchange)| exchange);
        stats.calls = stats.calls.saturating_add(len(exchanges.filter(unopened).count()));
        let held: usize = self.exchanges.iter().map(|(_, exchange)| exchange.held).sum();
        stats.buffered_bytes = stats.buffered_bytes.saturating_add(len(held));
        for stream in self.exchanges.iter().filter_map(|(_, exchange)| exchange.carries.solo()) {
            stats.calls = stats.calls.saturating_add(len(stream.waiting().count()));
            stats.streams = stats.streams.saturating_add(1);
            stats.buffered_bytes = stats.buffered_bytes.saturating_add(len(stream.ring.bytes()));
        }
        stats
    }
}

fn len(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
