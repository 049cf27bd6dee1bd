//! One script on each runtime, and on the bare core: servers that a script controls, a client that writes down what
//! it saw, and the comparison.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod bare;
pub(crate) mod calls;
pub(crate) mod client;
pub(crate) mod lab;
pub(crate) mod refusals;
pub(crate) mod server;
pub(crate) mod sessions;
pub(crate) mod shutdowns;
pub(crate) mod stateless;
pub(crate) mod streams;

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_http_core::endpoint::Stats;
use mcp_http_tests::serving::Which;
use mcp_http_tokio::{Config, Publishes, Topic};

use crate::socket_support::wire::Wire;
use bare::Bare;
use client::Client;
use server::Server;

/// A script, and the configuration it needs.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) play: fn(&mut Client),
    pub(crate) configure: fn(&mut Config),
}

pub(crate) const fn scenario(name: &'static str, play: fn(&mut Client)) -> Scenario {
    Scenario { name, play, configure: |_| () }
}

/// Calls are failed in the last second of it (D3), which is the most there can be for writing that, on however busy
/// a machine.
pub(crate) fn long_drain(config: &mut Config) {
    config.shutdown_drain = Duration::from_secs(10);
}

/// A server, and the application on it, as a script has them in hand.
pub(crate) trait Tested {
    fn connect(&self) -> Wire;
    /// Waits until the application has written this line, so many times.
    fn until(&self, line: &str, times: usize);
    /// The application lets go on what waits at this gate, now and later.
    fn open(&self, gate: &str);
    /// The application sends a notice on the standalone stream of the session that was created as the
    /// `session`th, from 1.
    fn notify(&self, session: usize, number: u64);
    fn end_session(&self, session: usize);
    /// Returns how many were told.
    fn publish(&self, topic: &Topic) -> usize;
    /// Begins the shutdown; does not wait.
    fn begin_stop(&self);
    /// Shuts down and waits.
    fn stop(self: Box<Self>) -> Seen;
}

/// What was seen behind the wire.
pub(crate) struct Seen {
    /// What the application wrote.
    pub(crate) handler: Vec<String>,
    /// What the server has to say of sessions and refusals.
    pub(crate) server: String,
}

/// What every server in a comparison is configured with.
pub(crate) fn config(configure: fn(&mut Config)) -> Config {
    let mut config = Config::default();
    config.publishes = Publishes { tools: true, prompts: true, resources: true, updates: true };
    config.shutdown_drain = Duration::from_millis(500);
    // No head goes out because a call was slow, on whatever machine.
    config.sse_commit_after = Duration::from_secs(600);
    configure(&mut config);
    config
}

fn lives(stats: &Stats, refusals: &BTreeMap<&'static str, u64>) -> String {
    let total = stats.total;
    format!(
        "created {} committed {}\n{:?}\n{:?}\nrefusals {refusals:?}",
        total.created, total.committed, total.discarded, total.ended
    )
}

/// The log by subject, which is a session's life or a call: in which order different ones come is open.
fn by_subject(mut log: Vec<String>) -> Vec<String> {
    log.sort_by_key(|line| {
        let mut words = line.split(' ');
        let is_call = matches!(words.next(), Some("call" | "done" | "cancelled"));
        (is_call, words.next().map(str::to_owned))
    });
    log
}

/// Starts what a script is played on.
type Start = fn(fn(&mut Config)) -> Box<dyn Tested>;

fn bare(configure: fn(&mut Config)) -> Box<dyn Tested> {
    Box::new(Bare::start(configure))
}

/// Plays a scenario; returns what the client saw, what the handler saw, and the server's last word.
fn transcript(scenario: &Scenario, start: Start) -> String {
    let mut client = Client::of(start(scenario.configure));
    (scenario.play)(&mut client);
    let (lines, server) = client.leave();
    let Seen { handler, server } = server.stop();
    let (client, handler) = (lines.join("\n"), by_subject(handler).join("\n"));
    format!("client:\n{client}\nhandler:\n{handler}\nserver:\n{server}\n")
}

/// Plays each scenario on the bare core and on each runtime. All must come to the same.
#[track_caller]
pub(crate) fn compare(scenarios: &[Scenario]) {
    compare_all(
        scenarios,
        &[
            ("tokio", |configure| Box::new(Server::start(Which::Tokio, configure))),
            ("smol", |configure| Box::new(Server::start(Which::Smol, configure))),
            ("axum", |configure| Box::new(Server::start(Which::Axum, configure))),
        ],
    );
}

/// The same with one other server.
#[track_caller]
pub(crate) fn compare_with(name: &str, scenarios: &[Scenario], start: Start) {
    compare_all(scenarios, &[(name, start)]);
}

/// All servers are played on at the same time.
#[track_caller]
fn compare_all(scenarios: &[Scenario], servers: &[(&str, Start)]) {
    let mut differ = Vec::new();
    for scenario in scenarios {
        let on_bare = transcript(scenario, bare);
        std::thread::scope(|scope| {
            let playing: Vec<_> = servers
                .iter()
                .map(|(name, start)| (name, scope.spawn(|| transcript(scenario, *start))))
                .collect();
            for (server, played) in playing {
                let played = played.join().unwrap_or_else(|_| panic!("in {:?} on {server}", scenario.name));
                if played != on_bare {
                    let name = scenario.name;
                    differ.push(format!(
                        "=== {name} on {server}:\n{played}\nnot as on the bare core:\n{on_bare}"
                    ));
                }
            }
        });
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
