//! One endpoint in virtual time with an intake in front of it: what the targets that look at one part of it share.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{
    Action, Actions, Budget, CallId, Delivery, Endpoint, Event, ExchangeId, Frames, Outbound, Pulled,
    SendError, SessionKey, Target,
};
use mcp_http_core::entropy::{Entropy, EntropyError};
use mcp_http_core::intake::{Intake, Verdict};
use mcp_http_core::json::Json;
use mcp_http_core::session_id::{SessionId, ShardId};
use mcp_http_core::time::Timestamp;
use mcp_http_core::version::Version;
use mcp_http_tests::script::ask;

/// Entropy that never fails and never repeats itself.
#[derive(Debug, Default)]
pub(crate) struct Counting(u64);

impl Entropy for Counting {
    fn fill(&mut self, into: &mut [u8]) -> Result<(), EntropyError> {
        self.0 += 1;
        for stretch in into.chunks_mut(8) {
            stretch.copy_from_slice(&self.0.to_be_bytes()[8 - stretch.len()..]);
        }
        Ok(())
    }
}

pub(crate) struct Bench {
    pub(crate) endpoint: Endpoint,
    pub(crate) budget: Arc<Budget>,
    pub(crate) now: Timestamp,
    pub(crate) version: Version,
    intake: Intake,
}

impl Bench {
    pub(crate) fn new(config: Config, version: Version) -> Self {
        config.check().expect("a possible configuration");
        let (config, budget) = (Arc::new(config), Arc::new(Budget::new()));
        let endpoint =
            Endpoint::new(config.clone(), budget.clone(), ShardId(0), Box::new(Counting::default()));
        let now = Timestamp::from_origin(Duration::from_secs(1000));
        Bench { endpoint, budget, now, version, intake: Intake::new(config) }
    }

    /// POSTs this body; `session` is borne by it.
    pub(crate) fn post(&mut self, session: Option<&SessionId>, body: String) -> (ExchangeId, Vec<Action>) {
        let request = Request::builder().method("POST").header("content-type", "application/json");
        self.request(request, session, body)
    }

    /// GETs a stream.
    pub(crate) fn get(&mut self, session: &SessionId, after: Option<&str>) -> (ExchangeId, Vec<Action>) {
        let mut request = Request::builder().method("GET").header("accept", "text/event-stream");
        if let Some(id) = after {
            request = request.header("last-event-id", id);
        }
        self.request(request, Some(session), String::new())
    }

    fn request(
        &mut self,
        mut request: http::request::Builder,
        session: Option<&SessionId>,
        body: String,
    ) -> (ExchangeId, Vec<Action>) {
        if let Some(id) = session {
            request = request.header("mcp-session-id", id.as_bytes());
        }
        let parts =
            request.uri("/mcp").header("host", "localhost").body(()).expect("a request").into_parts().0;
        let admitted = match self.intake.head(&parts) {
            Verdict::Admit(admitted) => admitted,
            Verdict::Body(needs) => needs.body(body.into()).expect("a good body"),
            other => panic!("a good head: {other:?}"),
        };
        let mut out = Actions::new();
        let exchange = self.endpoint.admit(admitted, None, self.now, &mut out);
        (exchange, out.drain().collect())
    }

    pub(crate) fn tell(&mut self, event: Event) -> Vec<Action> {
        let mut out = Actions::new();
        self.endpoint.handle(event, self.now, &mut out);
        out.drain().collect()
    }

    pub(crate) fn send(&mut self, to: Target, message: Outbound) -> (Result<(), SendError>, Vec<Action>) {
        let mut out = Actions::new();
        let sent = self.endpoint.send(to, message, self.now, &mut out);
        (sent, out.drain().collect())
    }

    pub(crate) fn pull(&mut self, exchange: ExchangeId, budget: usize) -> (Vec<String>, Pulled, Vec<Action>) {
        let (mut frames, mut out) = (Frames::new(), Actions::new());
        let pulled = self.endpoint.pull(exchange, budget, &mut frames, self.now, &mut out);
        let text = |frame: bytes::Bytes| String::from_utf8(frame.to_vec()).expect("frames are text");
        (frames.drain().map(text).collect(), pulled, out.drain().collect())
    }

    /// Opens a session whose client has the answer.
    pub(crate) fn open(&mut self) -> (SessionKey, SessionId) {
        let (exchange, actions) = self.post(None, ask::initialize("1", self.version.name()));
        let created = actions.iter().find_map(|action| match action {
            Action::CreateSession { session, id } => Some((*session, id.clone())),
            _ => None,
        });
        let call = call_of(&actions).expect("initialize is delivered");
        self.accept(call);
        self.tell(Event::Flushed { exchange });
        created.expect("a session is created")
    }

    pub(crate) fn accept(&mut self, call: CallId) -> Vec<Action> {
        let message = Outbound::Initialized { version: self.version, result: Json::EMPTY_OBJECT };
        let (sent, actions) = self.send(Target::Call(call), message);
        assert_eq!(sent, Ok(()));
        actions
    }

    /// Does what is due now. R9: then nothing is.
    pub(crate) fn handle_timeouts(&mut self) -> Vec<Action> {
        let mut out = Actions::new();
        for _ in 0..64 {
            self.endpoint.handle_timeout(self.now, &mut out);
            if self.endpoint.poll_timeout().is_none_or(|next| next > self.now) {
                return out.drain().collect();
            }
        }
        panic!("R9: {:?} is still due at {:?}", self.endpoint.poll_timeout(), self.now);
    }

    /// R14: shuts down, lets the time go by and looks that nothing is left.
    pub(crate) fn finish(mut self) {
        let until = self.now.after(Duration::from_secs(3));
        self.tell(Event::Shutdown { until });
        while let Some(next) = self.endpoint.poll_timeout() {
            assert!(next <= until, "R14: {next:?} is due after {until:?}");
            self.now = self.now.after(next.since(self.now));
            self.handle_timeouts();
        }
        let stats = self.endpoint.stats();
        assert!(stats.is_drained(), "R14: {stats:?}");
        assert_eq!((self.budget.sessions(), self.budget.buffered_bytes()), (0, 0), "R14");
        let total = stats.total;
        assert_eq!(total.created, total.committed + total.discarded.sum(), "R1: {total:?}");
        assert_eq!(total.committed, total.ended.sum(), "R1: {total:?}");
    }
}

/// The call that was delivered.
pub(crate) fn call_of(actions: &[Action]) -> Option<CallId> {
    actions.iter().find_map(|action| match action {
        Action::Deliver {
            delivery: Delivery::Initialize { call, .. } | Delivery::Call { call, .. }, ..
        } => Some(*call),
        _ => None,
    })
}
