//! What the tests of message channels share: a server on one runtime, and an application by hand, which takes and
//! says one message after another in the test's own thread. The client is `socket_support`'s.
#![allow(dead_code, reason = "each test file uses a part")]

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use mcp_http_tests::serving::{Bound, Which};
use mcp_http_tokio::channels::{self, CallHandle, Channel, ChannelEnd, ChannelHandler, Channels, Incoming};
use mcp_http_tokio::channels::{Unsent, Why};
use mcp_http_tokio::{Config, Json, ServerStats};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::socket_support::ask::{self, Ask};
use crate::socket_support::session::Session;
use crate::socket_support::wait::PATIENCE;
use crate::socket_support::wire::Wire;

pub(crate) const RUNTIMES: [Which; 3] = [Which::Tokio, Which::Smol, Which::Axum];

/// What the application answers to `initialize`.
pub(crate) const INITIALIZED: &str =
    r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"by hand","version":"1"}}"#;

pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    pub(crate) channels: Channels,
    runtime: Runtime,
    serving: JoinHandle<ServerStats>,
}

/// The application's end of one channel.
pub(crate) struct App(pub(crate) Channel);

impl Server {
    pub(crate) fn start(which: Which, configure: impl FnOnce(&mut Config)) -> Server {
        Server::start_with(which, configure, |handler| handler)
    }

    pub(crate) fn start_with(
        which: Which,
        configure: impl FnOnce(&mut Config),
        with: impl FnOnce(ChannelHandler) -> ChannelHandler,
    ) -> Server {
        let mut config = Config::default();
        config.stats_path = Some(crate::socket_support::stats::PATH.into());
        config.shutdown_drain = Duration::from_millis(500);
        // No head goes out because a call was slow, on whatever machine.
        config.sse_commit_after = Duration::from_secs(600);
        configure(&mut config);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (handler, channels) = channels::open();
        let (handler, closed) = (with(handler), channels.closed());
        let bound = runtime.block_on(Bound::bind(which, "127.0.0.1:0", config)).unwrap();
        let addr = bound.local_addr().unwrap();
        let serving = runtime
            .spawn(async move { bound.serve_until(handler, closed, std::future::pending()).await.unwrap() });
        Server { addr, channels, runtime, serving }
    }

    /// The next channel.
    #[track_caller]
    pub(crate) fn accept(&mut self) -> App {
        App(wait(self.channels.accept()).expect("the server is there"))
    }

    /// A session as the client has it, and as the application has it, past `notifications/initialized`.
    #[track_caller]
    pub(crate) fn session(&mut self) -> (Session, App) {
        let mut wire = Wire::to(self.addr);
        wire.send(ask::initialize().bytes());
        let mut app = self.accept();
        app.take();
        app.answer("0", INITIALIZED);
        let id = wire.answer().session_id().expect("a session is offered").to_owned();
        let session = Session { addr: self.addr, id, version: "2025-06-18" };
        let mut wire = session.send(ask::notice("notifications/initialized", &json!({})));
        app.take();
        assert_eq!(wire.answer().status(), 202);
        (session, app)
    }

    /// Runs a part of the application beside the test.
    pub(crate) fn spawn(&self, part: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(part);
    }

    /// Shuts down, and returns the last counters. Nothing is left, and nothing more is accepted.
    pub(crate) fn stop(mut self) -> ServerStats {
        self.channels.close();
        assert!(wait(self.channels.accept()).is_none());
        self.down()
    }

    /// Nobody accepts any more.
    pub(crate) fn desert(&mut self) {
        let (_, nobody) = channels::open();
        drop(std::mem::replace(&mut self.channels, nobody));
    }

    /// Waits for the end of a shutdown that was begun.
    pub(crate) fn down(self) -> ServerStats {
        let stats = self.runtime.block_on(self.serving).unwrap();
        let mut left = stats.endpoints;
        // The shutdown's own two per shard, if there was no need to wait for them (R14).
        left.deadlines = 0;
        assert!(left.is_drained(), "left after the shutdown: {stats:?}");
        stats
    }
}

impl App {
    /// The next message, which must come.
    #[track_caller]
    pub(crate) fn recv(&mut self) -> Incoming {
        wait(self.0.recv.recv()).expect("a message")
    }

    /// Its text.
    #[track_caller]
    pub(crate) fn take(&mut self) -> String {
        text(&self.recv())
    }

    /// Waits for the end, before which there may be no message. Says why.
    #[track_caller]
    pub(crate) fn end(&mut self) -> ChannelEnd {
        let none = wait(self.0.recv.recv());
        assert!(none.is_none(), "{none:?}");
        self.0.recv.ended().expect("an end has a reason")
    }

    /// The same, when a session took its calls with it: they may be reported cancelled first.
    #[track_caller]
    pub(crate) fn end_with_calls(&mut self) -> ChannelEnd {
        while let Some(message) = wait(self.0.recv.recv()) {
            assert!(text(&message).contains("notifications/cancelled"), "{message:?}");
        }
        self.0.recv.ended().expect("an end has a reason")
    }

    #[track_caller]
    pub(crate) fn say(&self, message: &str) {
        self.try_say(message).unwrap();
    }

    pub(crate) fn try_say(&self, message: &str) -> Result<(), Why> {
        why(wait(self.0.send.send(json_of(message))), message)
    }

    #[track_caller]
    pub(crate) fn answer(&self, id: &str, result: &str) {
        self.say(&result_of(id, result));
    }

    #[track_caller]
    pub(crate) fn say_for(&self, call: &CallHandle, message: &str) {
        self.try_say_for(call, message).unwrap();
    }

    pub(crate) fn try_say_for(&self, call: &CallHandle, message: &str) -> Result<(), Why> {
        why(wait(self.0.send.send_for(call, json_of(message))), message)
    }

    pub(crate) fn try_say_standalone(&self, message: &str) -> Result<(), Why> {
        why(wait(self.0.send.send_standalone(json_of(message))), message)
    }
}

impl Session {
    /// Sends and does not wait.
    #[track_caller]
    pub(crate) fn send(&self, ask: Ask) -> Wire {
        let mut wire = Wire::to(self.addr);
        wire.send(self.own(ask).bytes());
        wire
    }
}

/// What is not sent comes back as it was (R11).
fn why(sent: Result<(), Unsent>, message: &str) -> Result<(), Why> {
    sent.map_err(|unsent| {
        assert_eq!(unsent.message, json_of(message));
        unsent.why
    })
}

pub(crate) fn json_of(text: &str) -> Json {
    Json::from_text(text.to_owned().into()).unwrap()
}

pub(crate) fn text(message: &Incoming) -> String {
    String::from_utf8(message.message().as_bytes().to_vec()).unwrap()
}

pub(crate) fn result_of(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The same as the client reads it.
pub(crate) fn result(id: Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// Waits for what must come.
#[track_caller]
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let late = async {
        smol::Timer::after(PATIENCE).await;
        None
    };
    let came = smol::block_on(smol::future::or(async { Some(future.await) }, late));
    came.expect("it must come")
}
