//! One endpoint with very many sessions, driven without any bookkeeping beside it: what is counted here is the
//! core's own work. Requests go through the intake, as they do in a server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{
    Action, Actions, Budget, CallId, Delivery, Endpoint, Event, ExchangeId, Outbound, Target,
};
use mcp_http_core::entropy::{Entropy, EntropyError};
use mcp_http_core::intake::{Admitted, Intake, Verdict};
use mcp_http_core::json::Json;
use mcp_http_core::reject::Reject;
use mcp_http_core::session_id::{SessionId, ShardId};
use mcp_http_core::time::Timestamp;
use mcp_http_core::version::Version;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

pub(crate) struct Bare {
    pub(crate) endpoint: Endpoint,
    intake: Intake,
    pub(crate) now: Timestamp,
    pub(crate) out: Actions,
}

/// Counts up.
struct Counting(u64);

impl Entropy for Counting {
    fn fill(&mut self, into: &mut [u8]) -> Result<(), EntropyError> {
        self.0 += 1;
        for stretch in into.chunks_mut(8) {
            stretch.copy_from_slice(&self.0.to_le_bytes()[..stretch.len()]);
        }
        Ok(())
    }
}

impl Bare {
    /// Room for so many sessions.
    pub(crate) fn with_room(sessions_max: usize) -> Bare {
        let mut config = Config::default();
        config.sessions_max = sessions_max;
        config.check().expect("a possible configuration");
        let config = Arc::new(config);
        let endpoint =
            Endpoint::new(config.clone(), Arc::new(Budget::new()), ShardId(0), Box::new(Counting(0)));
        Bare {
            endpoint,
            intake: Intake::new(config),
            now: Timestamp::from_origin(Duration::from_secs(1_000)),
            out: Actions::new(),
        }
    }

    /// A judged request.
    pub(crate) fn judged(&self, session: Option<&SessionId>, body: &'static str) -> Admitted {
        self.judge(session, Bytes::from_static(body.as_bytes())).expect("a good body")
    }

    pub(crate) fn judge(&self, session: Option<&SessionId>, body: Bytes) -> Result<Admitted, Reject> {
        let mut head = http::Request::post("/mcp")
            .header("host", "localhost")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(session) = session {
            head = head.header("mcp-session-id", session.as_bytes());
        }
        let (parts, ()) = head.body(()).expect("a head").into_parts();
        let Verdict::Body(needs) = self.intake.head(&parts) else { panic!("refused by its head") };
        needs.body(body)
    }

    pub(crate) fn initialize(&self) -> Admitted {
        self.judged(None, INITIALIZE)
    }

    pub(crate) fn ping(&self, session: &SessionId) -> Admitted {
        self.judged(Some(session), PING)
    }

    /// Admits an `initialize` and no more: a pending session.
    pub(crate) fn open(&mut self, initialize: Admitted) -> Pending {
        let exchange = self.endpoint.admit(initialize, None, self.now, &mut self.out);
        let (mut session, mut asked) = (None, None);
        for action in self.out.drain() {
            match action {
                Action::CreateSession { id, .. } => session = Some(id),
                Action::Deliver { delivery: Delivery::Initialize { call, .. }, .. } => asked = Some(call),
                other => panic!("{other:?}"),
            }
        }
        Pending { exchange, call: asked.expect("a call"), id: session.expect("a session") }
    }

    /// The application accepts, and the answer reaches the client: an unconfirmed session.
    pub(crate) fn establish(&mut self, pending: &Pending) {
        let accept = Outbound::Initialized { version: Version::V2025_11_25, result: Json::EMPTY_OBJECT };
        let sent = self.endpoint.send(Target::Call(pending.call), accept, self.now, &mut self.out);
        sent.expect("an answer is taken");
        let flushed = Event::Flushed { exchange: pending.exchange };
        self.endpoint.handle(flushed, self.now, &mut self.out);
    }

    /// A call that is answered at once.
    pub(crate) fn call(&mut self, ping: Admitted) {
        let exchange = self.endpoint.admit(ping, None, self.now, &mut self.out);
        let call = self.out.as_slice().iter().rev().find_map(|action| match action {
            Action::Deliver { delivery: Delivery::Call { call, .. }, .. } => Some(*call),
            _ => None,
        });
        let target = Target::Call(call.expect("a call"));
        let result = Outbound::Result { result: Json::EMPTY_OBJECT };
        self.endpoint.send(target, result, self.now, &mut self.out).expect("an answer is taken");
        self.endpoint.handle(Event::Flushed { exchange }, self.now, &mut self.out);
    }

    /// A session that was used once.
    pub(crate) fn used(&mut self) -> SessionId {
        let initialize = self.initialize();
        let pending = self.open(initialize);
        self.establish(&pending);
        let ping = self.ping(&pending.id);
        self.call(ping);
        self.out.drain().for_each(drop);
        pending.id
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }
}

/// An `initialize` that is not answered.
pub(crate) struct Pending {
    exchange: ExchangeId,
    call: CallId,
    pub(crate) id: SessionId,
}
