//! An endpoint that is driven call by call, with one sink for all its calls and no books beside it: for what the
//! script hides, the sink and the budget.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::Arc;

use bytes::Bytes;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{
    Action, Actions, Budget, CallId, Delivery, Endpoint, Event, ExchangeId, Frames, Outbound, Pulled,
    SendError, SessionKey, Target,
};
use mcp_http_core::entropy::{Entropy, EntropyError};
use mcp_http_core::intake::{Admitted, Intake, Verdict};
use mcp_http_core::json::Json;
use mcp_http_core::session_id::{SessionId, ShardId};
use mcp_http_core::time::Timestamp;
use mcp_http_core::version::Version;
use mcp_http_tests::script::ask;

pub(crate) const NOW: Timestamp = Timestamp::ZERO;

pub(crate) struct Course {
    pub(crate) endpoint: Endpoint,
    pub(crate) budget: Arc<Budget>,
    pub(crate) out: Actions,
    intake: Intake,
    /// What was taken from the sink so far.
    taken: Vec<Action>,
    /// Whether the sink is emptied after each call.
    drains: bool,
}

/// The same bytes for everybody, large ones: ids differ by their place alone.
struct Same;

impl Entropy for Same {
    fn fill(&mut self, into: &mut [u8]) -> Result<(), EntropyError> {
        into.fill(0xA7);
        Ok(())
    }
}

impl Course {
    pub(crate) fn new(drains: bool, change: impl FnOnce(&mut Config)) -> Course {
        let mut config = Config::default();
        change(&mut config);
        config.check().expect("a possible configuration");
        let (config, budget) = (Arc::new(config), Arc::new(Budget::new()));
        Course {
            endpoint: Endpoint::new(config.clone(), budget.clone(), ShardId(0), Box::new(Same)),
            budget,
            intake: Intake::new(config),
            out: Actions::new(),
            taken: Vec::new(),
            drains,
        }
    }

    /// All actions so far, taken or not.
    pub(crate) fn all(&mut self) -> Vec<Action> {
        if self.drains {
            self.taken.extend(self.out.drain());
        }
        self.taken.iter().chain(self.out.as_slice()).cloned().collect()
    }

    pub(crate) fn admit(&mut self, method: &str, session: Option<&SessionId>, body: String) -> ExchangeId {
        let admitted = self.judged(method, session, body);
        self.endpoint.admit(admitted, None, NOW, &mut self.out)
    }

    fn judged(&self, method: &str, session: Option<&SessionId>, body: String) -> Admitted {
        let mut head = http::Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", "localhost")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(session) = session {
            head = head.header("mcp-session-id", session.as_bytes());
        }
        let (parts, ()) = head.body(()).expect("a head").into_parts();
        match self.intake.clone().head(&parts) {
            Verdict::Admit(admitted) => admitted,
            Verdict::Body(needs) => needs.body(Bytes::from(body)).expect("a good body"),
            other => panic!("{other:?}"),
        }
    }

    /// A session, taken to its commit.
    pub(crate) fn open(&mut self) -> (SessionKey, SessionId) {
        let exchange = self.admit("POST", None, ask::initialize("1", "2025-11-25"));
        let call = self.call();
        let created = self.all().iter().rev().find_map(|action| match action {
            Action::CreateSession { session, id } => Some((*session, id.clone())),
            _ => None,
        });
        self.send(call, Outbound::Initialized { version: Version::V2025_11_25, result: Json::EMPTY_OBJECT });
        self.happens(Event::Flushed { exchange });
        created.expect("a session")
    }

    pub(crate) fn send(&mut self, call: CallId, what: Outbound) {
        self.try_send(Target::Call(call), what).expect("it is taken");
    }

    pub(crate) fn try_send(&mut self, to: Target, what: Outbound) -> Result<(), SendError> {
        self.endpoint.send(to, what, NOW, &mut self.out)
    }

    pub(crate) fn happens(&mut self, event: Event) {
        self.endpoint.handle(event, NOW, &mut self.out);
    }

    /// The frames there are, and what the puller was told.
    pub(crate) fn pull(&mut self, exchange: ExchangeId) -> (Frames, Pulled) {
        let mut frames = Frames::new();
        let pulled = self.endpoint.pull(exchange, 65_536, &mut frames, NOW, &mut self.out);
        (frames, pulled)
    }

    /// The call that was delivered last.
    pub(crate) fn call(&mut self) -> CallId {
        let delivered = |action: &Action| match action {
            Action::Deliver {
                delivery: Delivery::Initialize { call, .. } | Delivery::Call { call, .. },
                ..
            } => Some(*call),
            _ => None,
        };
        self.all().iter().rev().find_map(delivered).expect("a call")
    }
}
