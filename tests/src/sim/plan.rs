//! What may happen under one seed. Each seed leaves a random part of all operations out, so that those that hide
//! each other's faults are also seen alone.

use std::time::Duration;

use mcp_http_core::config::{Config, Publishes};

use super::dice::Dice;

/// What can happen beside sessions that are opened and calls that are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Can {
    // Clients.
    SameId,
    Standalone,
    Delete,
    Cancel,
    Batch,
    Again,
    Foreign,
    Junk,
    Solo,
    Listen,
    Notice,
    Replay,
    Steal,
    JsonOnly,
    StreamOnly,
    // Connections.
    Chop,
    Pipeline,
    Cut,
    Stall,
    Vanish,
    HalfClose,
    LateTurns,
    // The application.
    Silent,
    Late,
    Wrong,
    Refuse,
    Polling,
    Ask,
    Droppable,
    Big,
    EndSession,
    FailSession,
    Talk,
    Publish,
    // The rest.
    Entropy,
    Jump,
    Skew,
    Shutdown,
    Tight,
    Memory,
    Shards,
}

const ALL: [Can; 41] = [
    Can::SameId,
    Can::Standalone,
    Can::Delete,
    Can::Cancel,
    Can::Batch,
    Can::Again,
    Can::Foreign,
    Can::Junk,
    Can::Solo,
    Can::Listen,
    Can::Notice,
    Can::Replay,
    Can::Steal,
    Can::JsonOnly,
    Can::StreamOnly,
    Can::Chop,
    Can::Pipeline,
    Can::Cut,
    Can::Stall,
    Can::Vanish,
    Can::HalfClose,
    Can::LateTurns,
    Can::Silent,
    Can::Late,
    Can::Wrong,
    Can::Refuse,
    Can::Polling,
    Can::Ask,
    Can::Droppable,
    Can::Big,
    Can::EndSession,
    Can::FailSession,
    Can::Talk,
    Can::Publish,
    Can::Entropy,
    Can::Jump,
    Can::Skew,
    Can::Shutdown,
    Can::Tight,
    Can::Memory,
    Can::Shards,
];

/// One seed's swarm.
#[derive(Clone, Debug)]
pub struct Plan {
    able: u64,
    /// Clients at work.
    pub clients: usize,
    /// Endpoints of the server.
    pub shards: usize,
    /// When all faults end, in microseconds.
    pub heal: u64,
}

impl Plan {
    pub(super) fn new(dice: &mut Dice) -> Self {
        let mut able = 0;
        for can in ALL {
            // What takes the strictness out of the checks is left out more often.
            let keep = match can {
                Can::Tight | Can::Memory | Can::Jump | Can::Shutdown => dice.one_in(3),
                _ => !dice.one_in(3),
            };
            able |= u64::from(keep) << can as u64;
        }
        let mut plan = Plan { able, clients: 0, shards: 1, heal: 0 };
        plan.clients = 1 + dice.below(4);
        plan.shards = if plan.can(Can::Shards) { 2 + dice.below(2) } else { 1 };
        plan.heal = dice.between(2, 8) * 1_000_000;
        plan
    }

    /// Whether this may happen.
    #[must_use]
    pub fn can(&self, what: Can) -> bool {
        self.able & (1 << what as u64) != 0
    }

    /// All that may happen.
    pub fn able(&self) -> impl Iterator<Item = Can> + '_ {
        ALL.into_iter().filter(|can| self.can(*can))
    }

    /// All that may not.
    pub fn left_out(&self) -> impl Iterator<Item = Can> + '_ {
        ALL.into_iter().filter(|can| !self.can(*can))
    }

    /// Limits that are never reached, or limits that always are.
    pub(super) fn config(&self, dice: &mut Dice) -> Config {
        let secs = Duration::from_secs;
        let mut config = Config::default();
        config.publishes = Publishes { tools: true, prompts: false, resources: false, updates: false };
        config.sessions_max = 64;
        config.session_idle = Some(secs(40));
        config.establish = secs(4);
        config.confirm = secs(10);
        config.evict_after = secs(3);
        config.header_read = secs(5);
        config.body_read = secs(5);
        config.keep_alive_idle = secs(20);
        config.write_stall = secs(5);
        config.comment_every = secs(4);
        config.sse_commit_after = Duration::from_millis(dice.between(50, 900));
        config.stream_retention = secs(60);
        config.shutdown_drain = secs(dice.between(1, 6));
        config.body_bytes_max = 4096;
        config.message_bytes_max = 8192;
        config.memory_max = 8 * 1024 * 1024;
        if self.can(Can::Tight) {
            config.sessions_max = 1 + dice.below(3);
            config.calls_per_session_max = 1 + dice.below(3);
            config.solo_calls_max = 1 + dice.below(3);
            config.listens_max = 1;
            config.ring_frames_max = 1 + dice.below(5);
            config.ring_bytes_max = 256 << dice.below(5);
            config.session_ring_bytes_max = config.ring_bytes_max << dice.below(2);
            config.stream_retention = secs(dice.between(1, 4));
            config.pull_bytes_max = 1 << dice.below(12);
        }
        if self.can(Can::Memory) {
            config.memory_max = 8192 << dice.below(3);
        }
        config
    }
}
