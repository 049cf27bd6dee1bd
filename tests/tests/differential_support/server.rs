//! A server on one runtime, with the lab as its handler, and what a script may do with it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use mcp_http_tests::serving::{Bound, Which};
use mcp_http_tokio::{Config, ServerStats, Session, Topic};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::lab::Lab;
use super::{Seen, Tested, config, lives};
use crate::socket_support::local::is_set;
use crate::socket_support::wire::Wire;

pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    pub(crate) lab: Lab,
    stop: Arc<AtomicBool>,
    runtime: Runtime,
    serving: JoinHandle<ServerStats>,
}

impl Server {
    pub(crate) fn start(which: Which, configure: fn(&mut Config)) -> Server {
        let config = config(configure);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (lab, stop) = (Lab::default(), Arc::new(AtomicBool::new(false)));
        let bound = runtime.block_on(Bound::bind(which, "127.0.0.1:0", config)).unwrap();
        let addr = bound.local_addr().unwrap();
        let (handler, stopped) = (lab.clone(), is_set(Arc::clone(&stop)));
        let serving = runtime
            .spawn(async move { bound.serve_until(handler, stopped, std::future::pending()).await.unwrap() });
        Server { addr, lab, stop, runtime, serving }
    }

    /// Stops it. Returns what the handler saw, and what the server has to say of sessions and refusals.
    pub(crate) fn stop(self) -> Seen {
        self.stop.store(true, Ordering::SeqCst);
        let stats = self.runtime.block_on(self.serving).unwrap();
        seen(&self.lab, &stats)
    }
}

/// What is to be said of a server that has stopped.
pub(crate) fn seen(lab: &Lab, stats: &ServerStats) -> Seen {
    let mut left = stats.endpoints;
    // The shutdown's own two per shard, if there was no need to wait for them (R14).
    left.deadlines = 0;
    assert!(left.is_drained(), "left after the shutdown: {stats:?}");
    Seen { handler: lab.log(), server: lives(&stats.endpoints, &stats.refusals) }
}

/// Sends a notice on the session's standalone stream.
pub(crate) fn notify_now(session: &Session, number: u64) {
    let params = json!({ "number": number });
    let mut sent = std::pin::pin!(session.notify("notifications/count", Some(params.into())));
    // There is room: it is sent at once.
    let polled = sent.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(()))), "{polled:?}");
}

impl Tested for Server {
    fn connect(&self) -> Wire {
        Wire::to(self.addr)
    }

    fn until(&self, line: &str, times: usize) {
        self.lab.until(line, times);
    }

    fn open(&self, gate: &str) {
        self.lab.open(gate);
    }

    fn notify(&self, session: usize, number: u64) {
        notify_now(&self.lab.session(session), number);
    }

    fn end_session(&self, session: usize) {
        self.lab.session(session).end();
    }

    fn publish(&self, topic: &Topic) -> usize {
        self.lab.publish(topic)
    }

    fn begin_stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    fn stop(self: Box<Self>) -> Seen {
        Server::stop(*self)
    }
}
