//! A server within the test's process, with a handler that does what a test wants.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use mcp_http_tokio::{Config, Server, ServerStats};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::rig::Rig;
use super::stats::{PATH, Stats, Tables};
use super::wait::PATIENCE;

/// A running server and its handler. When it goes, it has stopped in good order and nothing was left.
pub(crate) struct Local {
    pub(crate) addr: SocketAddr,
    rig: Rig,
    stop: Arc<AtomicBool>,
    runtime: Option<Runtime>,
    serving: Option<JoinHandle<ServerStats>>,
}

const THREADS: &str = "served";

/// Panics on any server's threads. A handler's own are not among them: those do not call the hook.
static PANICS: AtomicUsize = AtomicUsize::new(0);

impl Local {
    pub(crate) fn start(configure: impl FnOnce(&mut Config)) -> Local {
        count_panics();
        let mut config = Config::default();
        config.stats_path = Some(PATH.into());
        config.shutdown_drain = Duration::from_millis(200);
        // However busy the machine is: no head goes out because a call was slow, unless a test asks for it.
        config.sse_commit_after = Duration::from_secs(600);
        configure(&mut config);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(THREADS)
            .enable_all()
            .build()
            .unwrap();
        let rig = Rig::default();
        let stop = Arc::new(AtomicBool::new(false));
        let server = runtime.block_on(Server::bind("127.0.0.1:0", config)).unwrap();
        let addr = server.local_addr();
        let (handler, stopped) = (rig.clone(), is_set(Arc::clone(&stop)));
        let serving = runtime.spawn(async move {
            server.serve_until(handler, stopped, std::future::pending()).await.unwrap()
        });
        Local { addr, rig, stop, runtime: Some(runtime), serving: Some(serving) }
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats::of(self.addr)
    }

    /// Waits until the tables are as given; returns the reading.
    #[track_caller]
    pub(crate) fn settle(&self, tables: Tables) -> Stats {
        Stats::until(self.addr, &format!("tables as {tables:?}"), |stats| stats.tables == tables)
    }

    /// Sends a notice on a session's standalone stream, from the application's side.
    #[track_caller]
    pub(crate) fn notify(&self, session: &str, method: &str, params: Value) {
        let session = self.rig.session(session);
        let runtime = self.runtime.as_ref().expect("it runs");
        let notify = session.notify(method, Some(params.into()));
        let sent = runtime.block_on(async { tokio::time::timeout(PATIENCE, notify).await });
        sent.expect("there is room in time").expect("the session is there");
    }

    /// Begins to shut down; does not wait.
    pub(crate) fn begin_stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Ends the runtime under the server, as a program does that returns from `main`.
    pub(crate) fn drop_runtime(mut self) {
        self.serving = None;
        drop(self.runtime.take());
        assert_eq!(PANICS.load(Ordering::SeqCst), 0, "a server panicked");
    }

    /// Shuts down; returns the last counters.
    fn stop(&mut self) -> Option<ServerStats> {
        self.begin_stop();
        let (runtime, serving) = (self.runtime.as_ref()?, self.serving.take()?);
        Some(runtime.block_on(serving).unwrap())
    }
}

impl Deref for Local {
    type Target = Rig;

    fn deref(&self) -> &Rig {
        &self.rig
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if let Some(stats) = self.stop() {
            let mut left = stats.endpoints;
            // The shutdown's own two per shard, since there was no need to wait for them (R14).
            left.deadlines = 0;
            assert!(left.is_drained(), "left after the shutdown: {stats:?}");
            self.rig.check_lives();
        }
        assert_eq!(PANICS.load(Ordering::SeqCst), 0, "a server panicked");
    }
}

/// Ready when somebody has set `flag`.
pub(crate) async fn is_set(flag: Arc<AtomicBool>) {
    while !flag.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn count_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() == Some(THREADS) {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            before(panic);
        }));
    });
}
