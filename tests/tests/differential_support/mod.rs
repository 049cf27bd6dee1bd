//! One script on each runtime: a server with a handler that a script controls, a client that writes down what it
//! saw, and the comparison.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod calls;
pub(crate) mod client;
pub(crate) mod lab;
pub(crate) mod refusals;
pub(crate) mod server;
pub(crate) mod sessions;
pub(crate) mod shutdowns;
pub(crate) mod stateless;
pub(crate) mod streams;

use mcp_http_tests::serving::Which;
use mcp_http_tokio::Config;

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

/// Calls are failed in the last tenth of it (D3): long enough to be written on a busy machine.
pub(crate) fn long_drain(config: &mut Config) {
    config.shutdown_drain = std::time::Duration::from_secs(4);
}

/// Plays a scenario; returns what the client saw, what the handler saw, and the server's last word.
fn transcript(scenario: &Scenario, which: Which) -> String {
    let server = Server::start(which, scenario.configure);
    let mut client = Client::of(&server);
    (scenario.play)(&mut client);
    let client = client.into_lines();
    let (handler, lives) = server.stop();
    format!("client:\n{}\nhandler:\n{}\nserver:\n{lives}\n", client.join("\n"), handler.join("\n"))
}

/// Plays each scenario on each runtime, all at the same time. All must come to the same.
#[track_caller]
pub(crate) fn compare(scenarios: &[Scenario]) {
    let mut differ = Vec::new();
    for scenario in scenarios {
        let [first, others @ ..] = std::thread::scope(|scope| {
            let play = |which| scope.spawn(move || transcript(scenario, which));
            let playing = [Which::Tokio, Which::Smol, Which::Axum].map(play);
            playing.map(|played| played.join().unwrap_or_else(|_| panic!("in {:?}", scenario.name)))
        });
        for (which, other) in [Which::Smol, Which::Axum].into_iter().zip(others) {
            if other != first {
                differ
                    .push(format!("=== {} on {which:?}:\n{other}\nnot as on tokio:\n{first}", scenario.name));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
