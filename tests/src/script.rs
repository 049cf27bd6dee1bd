//! The bare core as a script: real requests through the intake into endpoints, virtual time, entropy that is
//! the same at each run. Every step returns the exact actions, and enters them into books that hold the
//! contract; [`Script::finish`] ends what is left by rule and looks that nothing is.
//!
//! ```
//! use mcp_http_tests::script::{Script, ask};
//!
//! let mut s = Script::new();
//! let session = s.open();
//! let call = s.call(&session, "7", "tools/list");
//! let actions = s.answer(call, "{}");
//! assert_eq!(actions, [call.json(&ask::result_text("7", "{}"))]);
//! s.finish();
//! ```

pub mod ask;
mod chance;
mod common;
mod finish;
mod frames;
mod ledger;
mod stateless;
mod steps;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp_http_core::config::{Config, SessionMode};
use mcp_http_core::endpoint::{
    Action, Actions, Budget, Endpoint, Event, ExchangeId, Frames, Outbound, Principal, Pulled, SendError,
    Stats, Target,
};
use mcp_http_core::h1::Body;
use mcp_http_core::intake::{Admitted, Intake};
use mcp_http_core::reject::Reject;
use mcp_http_core::session_id::{SessionRef, ShardId};
use mcp_http_core::time::Timestamp;

pub use ask::{Admission, Ask};
pub use chance::Chance;
pub use common::{
    assert_full, assert_unknown, batch, batch_calls, call_with, cancel, delete, end, last_message, messages,
    notes, primed, refused_at_the_cap, resume, resume_status, session_of, streaming,
};
pub use frames::{Frame, Said, message};
pub use stateless::{Listening, STATELESS, json_error};
pub use steps::{
    Call, Opening, Session, Told, accepted, error, error_code, json, json_offer, no_content, note,
    only_reject, progress, question, result, stream, told,
};

use ledger::Ledger;

/// One server's core under test.
pub struct Script {
    intake: Intake,
    config: Arc<Config>,
    budget: Arc<Budget>,
    shards: Vec<Shard>,
    /// The shard that events are for, and requests that name no session.
    at: usize,
    now: Timestamp,
    chance: chance::Switch,
    /// Every event id seen, with what it stood for (C5).
    event_ids: std::collections::BTreeMap<String, Frame>,
    session_ids: std::collections::BTreeSet<Vec<u8>>,
}

struct Shard {
    endpoint: Endpoint,
    ledger: Ledger,
}

/// What came of a pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The frames, read back.
    pub frames: Vec<Frame>,
    /// What the puller was told.
    pub pulled: Pulled,
    /// What is to be done.
    pub actions: Vec<Action>,
}

impl Drawn {
    /// What each frame is for.
    #[must_use]
    #[track_caller]
    pub fn said(&self) -> Vec<Said> {
        self.frames.iter().map(Frame::said).collect()
    }

    /// The id of the last frame that has one.
    #[must_use]
    #[track_caller]
    pub fn last_id(&self) -> String {
        self.frames.iter().rev().find_map(|frame| frame.id.clone()).expect("a frame with an id")
    }

    /// The id of the frame at this place.
    #[must_use]
    #[track_caller]
    pub fn id(&self, place: usize) -> String {
        self.frames[place].id.clone().expect("a frame with an id")
    }
}

impl Script {
    /// One shard, the default configuration.
    #[must_use]
    pub fn new() -> Self {
        Script::with(|_| {})
    }

    /// One shard, sessions off.
    #[must_use]
    pub fn off() -> Self {
        Script::with(|config| config.sessions = SessionMode::Off)
    }

    /// One shard, the default configuration changed.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        Script::sharded(1, change)
    }

    /// Several shards that share a budget.
    ///
    /// # Panics
    /// If the configuration is impossible.
    #[must_use]
    pub fn sharded(shards: u16, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        change(&mut config);
        config.check().expect("a possible configuration");
        let config = Arc::new(config);
        let budget = Arc::new(Budget::new());
        let chance = chance::Switch::default();
        let shard = |number| {
            let source = Box::new(chance.source(number));
            let endpoint = Endpoint::new(config.clone(), budget.clone(), ShardId(number), source);
            Shard { endpoint, ledger: Ledger::default() }
        };
        Script {
            shards: (0..shards).map(shard).collect(),
            intake: Intake::new(config.clone()),
            config,
            budget,
            at: 0,
            // Not the origin, so that nothing works only because zero is special.
            now: Timestamp::from_origin(Duration::from_secs(1000)),
            chance,
            event_ids: std::collections::BTreeMap::new(),
            session_ids: std::collections::BTreeSet::new(),
        }
    }

    /// What follows is for this shard.
    pub fn on(&mut self, shard: usize) -> &mut Self {
        assert!(shard < self.shards.len(), "there is no shard {shard}");
        self.at = shard;
        self
    }

    /// What follows is for the shard whose session would go for a new one.
    ///
    /// # Panics
    /// If there is none.
    pub fn on_victim(&mut self) -> &mut Self {
        let now = self.now;
        let victims = self.shards.iter_mut().enumerate();
        let victims = victims.filter_map(|(number, shard)| Some((shard.endpoint.victim(now)?, number)));
        let (_, shard) = victims.min().expect("a session to give up");
        self.on(shard)
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Switches what entropy there is.
    pub fn chance(&mut self, chance: Chance) {
        self.chance.set(chance);
    }

    /// A POST.
    pub fn post(&mut self, body: impl Into<Bytes>) -> Ask<'_> {
        Ask::post(self, body.into())
    }

    /// A GET.
    pub fn get(&mut self) -> Ask<'_> {
        Ask::get(self)
    }

    /// A DELETE.
    pub fn delete(&mut self) -> Ask<'_> {
        Ask::delete(self)
    }

    /// Tells the endpoint what happened.
    #[track_caller]
    pub fn event(&mut self, event: Event) -> Vec<Action> {
        let now = self.now;
        let shard = &mut self.shards[self.at];
        let mut out = Actions::new();
        shard.ledger.told(&event);
        shard.endpoint.handle(event, now, &mut out);
        self.enter(&mut out)
    }

    /// The socket took the last byte of this response.
    #[track_caller]
    pub fn flushed(&mut self, exchange: ExchangeId) -> Vec<Action> {
        self.event(Event::Flushed { exchange })
    }

    /// The connection of this exchange is gone.
    #[track_caller]
    pub fn gone(&mut self, exchange: ExchangeId) -> Vec<Action> {
        self.event(Event::Gone { exchange })
    }

    /// The server begins to shut down: every shard is told.
    #[track_caller]
    pub fn shutdown(&mut self, within: Duration) -> Vec<Action> {
        let until = self.now.after(within);
        let at = self.at;
        let mut actions = Vec::new();
        for shard in 0..self.shards.len() {
            self.at = shard;
            actions.extend(self.event(Event::Shutdown { until }));
        }
        self.at = at;
        actions
    }

    /// Sends what must be taken.
    ///
    /// # Panics
    /// If it is not.
    #[track_caller]
    pub fn send(&mut self, to: Target, what: Outbound) -> Vec<Action> {
        match self.try_send(to, what) {
            Ok(actions) => actions,
            Err(error) => panic!("not sent: {error:?}"),
        }
    }

    /// Sends, or gets the message back; then nothing else may happen.
    ///
    /// # Errors
    /// As the endpoint says.
    ///
    /// # Panics
    /// If the message that comes back is another one.
    #[track_caller]
    pub fn try_send(&mut self, to: Target, what: Outbound) -> Result<Vec<Action>, SendError> {
        let now = self.now;
        let answers = match what {
            Outbound::Initialized { .. } | Outbound::Result { .. } | Outbound::Error { .. } => true,
            Outbound::Notice { .. } | Outbound::Request { .. } => false,
        };
        let shard = &mut self.shards[self.at];
        let mut out = Actions::new();
        let sent = shard.endpoint.send(to, what.clone(), now, &mut out);
        match sent {
            Ok(()) => {
                if let (true, Target::Call(call)) = (answers, to) {
                    shard.ledger.answered(call);
                }
                Ok(self.enter(&mut out))
            }
            Err(error) => {
                let (SendError::Full(back)
                | SendError::Gone(back)
                | SendError::TooMany(back)
                | SendError::Misplaced(back)
                | SendError::TooLarge(back)) = &error;
                assert_eq!(**back, what, "R11: the message comes back");
                assert_eq!(out.as_slice(), [], "what was not sent does nothing");
                if let SendError::Full(_) = error {
                    shard.ledger.full(to);
                }
                self.enter(&mut out);
                Err(error)
            }
        }
    }

    /// Pulls all there is.
    #[track_caller]
    pub fn pull(&mut self, exchange: ExchangeId) -> Drawn {
        self.pull_upto(exchange, usize::MAX)
    }

    /// Pulls one frame, if there is any.
    #[track_caller]
    pub fn pull_one(&mut self, exchange: ExchangeId) -> Drawn {
        self.pull_upto(exchange, 1)
    }

    /// Pulls within a budget of bytes.
    #[track_caller]
    pub fn pull_upto(&mut self, exchange: ExchangeId, budget: usize) -> Drawn {
        let now = self.now;
        let shard = &mut self.shards[self.at];
        let (mut out, mut into) = (Actions::new(), Frames::new());
        let pulled = shard.endpoint.pull(exchange, budget, &mut into, now, &mut out);
        shard.ledger.pulled(exchange, pulled);
        let frames: Vec<Frame> = into.drain().map(|bytes| Frame::read(&bytes)).collect();
        assert!(pulled != Pulled::Gone || frames.is_empty(), "frames of an exchange that is gone");
        let actions = self.enter(&mut out);
        for frame in &frames {
            if let Some(id) = &frame.id {
                assert!(!id.is_empty() && id.len() <= 128, "C5: {id:?}");
                let before = self.event_ids.insert(id.clone(), frame.clone());
                assert!(before.is_none_or(|before| before == *frame), "C5: {id:?} stands for two events");
            }
        }
        Drawn { frames, pulled, actions }
    }

    /// Lets time go by. Every deadline on the way is handled when it comes, on every shard.
    #[track_caller]
    pub fn advance(&mut self, by: Duration) -> Vec<Action> {
        let until = self.now.after(by);
        let at = self.at;
        let mut actions = Vec::new();
        // A deadline that leads to another in no time would never end.
        for _ in 0..10_000 {
            let next = (0..self.shards.len())
                .filter_map(|shard| Some((self.shards[shard].endpoint.poll_timeout()?, shard)))
                .min();
            match next {
                Some((due, shard)) if due <= until => {
                    self.now = self.now.max(due);
                    self.at = shard;
                    actions.extend(self.handle_timeout());
                }
                Some(_) | None => {
                    self.now = until;
                    self.at = at;
                    return actions;
                }
            }
        }
        panic!("R9: time does not go by");
    }

    /// Lets time jump: deadlines on the way are handled late, at the end of the jump.
    #[track_caller]
    pub fn jump(&mut self, by: Duration) -> Vec<Action> {
        self.now = self.now.after(by);
        self.advance(Duration::ZERO)
    }

    /// Calls `handle_timeout` of the current shard now, due or not.
    #[track_caller]
    pub fn handle_timeout(&mut self) -> Vec<Action> {
        let now = self.now;
        let mut out = Actions::new();
        let shard = &mut self.shards[self.at];
        shard.endpoint.handle_timeout(now, &mut out);
        let next = shard.endpoint.poll_timeout();
        assert!(next.is_none_or(|next| next > now), "R9: {next:?} is still due at {now:?}");
        self.enter(&mut out)
    }

    /// The next deadline of the current shard, from now.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.shards[self.at].endpoint.poll_timeout().map(|at| at.since(self.now))
    }

    /// The counters of the current shard.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shards[self.at].endpoint.stats()
    }

    /// Sessions that have a place in the whole server.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.budget.sessions()
    }

    #[track_caller]
    fn take_in(&mut self, admitted: Admitted, who: Option<Principal>) -> Admission {
        let shard_of = admitted.session().and_then(SessionRef::shard).map(|shard| usize::from(shard.0));
        if let Some(shard) = shard_of.filter(|shard| *shard < self.shards.len()) {
            self.at = shard;
        }
        let glanced = admitted.session().map(|session| self.glance(session, who.as_ref()));
        let stays_open = self.stays_open(admitted.kind());
        let now = self.now;
        let shard = &mut self.shards[self.at];
        let mut out = Actions::new();
        let exchange = shard.endpoint.admit(admitted, who, now, &mut out);
        shard.ledger.admitted(exchange, stays_open);
        if let Some(Err(early)) = glanced {
            // The early refusal has read no id and no origin; else it must be the same.
            let late = only_reject(out.as_slice(), exchange);
            assert_eq!(early.refusal, late.refusal, "glance and admit disagree");
        }
        let actions = self.enter(&mut out);
        Admission { exchange, actions }
    }

    fn glance(&self, session: &SessionRef, who: Option<&Principal>) -> Result<(), Reject> {
        let shard = session.shard().map_or(self.at, |shard| usize::from(shard.0));
        self.shards[shard.min(self.shards.len() - 1)].endpoint.glance(session, who)
    }

    #[track_caller]
    fn enter(&mut self, out: &mut Actions) -> Vec<Action> {
        let actions: Vec<Action> = out.drain().collect();
        for action in &actions {
            if let Action::CreateSession { id, .. } = action {
                let new = self.session_ids.insert(id.as_bytes().to_vec());
                assert!(new, "a session id was given twice");
            }
        }
        let shard = &mut self.shards[self.at];
        shard.ledger.enter(&actions);
        shard.ledger.check_against(&shard.endpoint.stats());
        actions
    }
}

impl Default for Script {
    fn default() -> Self {
        Script::new()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("now", &self.now).field("at", &self.at).finish_non_exhaustive()
    }
}

/// Only what a whole answer holds.
fn whole(text: &str) -> Body {
    Body::Full(Bytes::copy_from_slice(text.as_bytes()))
}
