//! A server on one runtime, with the lab as its handler.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_http_tests::serving::{Bound, Which};
use mcp_http_tokio::{Config, Publishes, ServerStats};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::lab::Lab;
use crate::socket_support::local::is_set;

pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    pub(crate) lab: Lab,
    stop: Arc<AtomicBool>,
    runtime: Runtime,
    serving: JoinHandle<ServerStats>,
}

impl Server {
    pub(crate) fn start(which: Which, configure: fn(&mut Config)) -> Server {
        let mut config = Config::default();
        config.publishes = Publishes { tools: true, prompts: true, resources: true, updates: true };
        config.shutdown_drain = Duration::from_millis(500);
        // No head goes out because a call was slow, on whatever machine.
        config.sse_commit_after = Duration::from_secs(600);
        configure(&mut config);
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

    /// What tells it to stop.
    pub(crate) fn stopper(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Stops it. Returns what the handler saw, and what the server has to say of sessions and refusals.
    pub(crate) fn stop(self) -> (Vec<String>, String) {
        self.stop.store(true, Ordering::SeqCst);
        let stats = self.runtime.block_on(self.serving).unwrap();
        let mut left = stats.endpoints;
        // The shutdown's own two per shard, if there was no need to wait for them (R14).
        left.deadlines = 0;
        assert!(left.is_drained(), "left after the shutdown: {stats:?}");
        let total = stats.endpoints.total;
        let lives = format!(
            "created {} committed {}\n{:?}\n{:?}\nrefusals {:?}",
            total.created, total.committed, total.discarded, total.ended, stats.refusals
        );
        (self.lab.subjects(), lives)
    }
}
