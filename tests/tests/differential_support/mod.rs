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

/// Plays a scenario; returns what the client saw, what the handler saw, and the server's last word.
fn transcript(scenario: &Scenario, which: Which) -> String {
    let server = Server::start(which, scenario.configure);
    let mut client = Client::of(&server);
    (scenario.play)(&mut client);
    let client = client.into_lines();
    let (handler, lives) = server.stop();
    format!("client:\n{}\nhandler:\n{}\nserver:\n{lives}\n", client.join("\n"), handler.join("\n"))
}

/// Plays each scenario on each runtime. All must come to the same.
#[track_caller]
pub(crate) fn compare(scenarios: &[Scenario]) {
    let mut differ = Vec::new();
    for scenario in scenarios {
        let first = transcript(scenario, Which::Tokio);
        if std::env::args().any(|argument| argument == "--nocapture") {
            println!("=== {}\n{first}", scenario.name);
        }
        for which in [Which::Smol, Which::Axum] {
            let other = transcript(scenario, which);
            if other != first {
                differ
                    .push(format!("=== {} on {which:?}:\n{other}\nnot as on tokio:\n{first}", scenario.name));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
