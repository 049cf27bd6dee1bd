//! `everything`: a server that shows all that MCP has to offer, for trying clients and for test suites.
//!
//! Start reading at [`server`]. Here it is only started and stopped.

mod client;
mod clock;
mod completion;
mod content;
mod context;
mod flags;
mod given;
mod offers;
mod outcome;
mod prompts;
mod questions;
mod resources;
mod rounds;
mod secret;
mod server;
mod sessions;
mod signals;
mod tasks;
mod tools;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use mcp_http_tests::serving::Bound;
use mcp_http_tokio::{AllowedHosts, Eras, ServeError, ServerStats};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use flags::Flags;
use secret::Secret;
use server::Everything;
use signals::Signals;

const INITIALIZE: &str = r#"-d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}'"#;
const DISCOVER: &str = r#"-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: server/discover' -d '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'"#;

#[tokio::main]
async fn main() -> ExitCode {
    let flags = Flags::parse();
    trace_to_stderr();
    match run(flags).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // If even that cannot be written, the exit code still says it.
            _ = writeln!(io::stderr(), "everything: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn run(flags: Flags) -> Result<(), String> {
    let signals = Signals::listen().map_err(|error| format!("cannot listen for signals: {error}"))?;
    let heard = signals.count();

    let secret = Secret::draw().map_err(|error| format!("the system gives no random bytes: {error}"))?;
    let config = flags.config();
    let everything = Everything::new(&config, secret).map_err(|wrong| wrong.to_string())?;
    let first = if config.eras == Eras::Stateless { DISCOVER } else { INITIALIZE };
    let (hosts, drain_s) = (config.allowed_hosts.clone(), config.shutdown_drain.as_secs_f64());
    let path = config.path.clone();
    let bound = Bound::bind(flags.runtime, &flags.addr, config).await;
    let server = bound.map_err(|error| explain(&flags.addr, &error))?;
    let bound_to = server.local_addr().map_err(|error| error.to_string())?;
    let url = format!("http://{bound_to}{path}");
    say(&format!("listening on {url}"));
    say(&format!("try: {}", curl_line(&url, &hosts, first)));

    let stop = async {
        signals::reaches(heard.clone(), 1).await;
        say(&format!("stopping: calls in flight have {drain_s} s to finish; once more stops at once"));
    };
    let stop_now = signals::reaches(heard.clone(), 2);
    let stats = server.serve_until(everything, stop, stop_now).await;
    say(&farewell(&stats.map_err(|error| error.to_string())?));
    Ok(())
}

/// What is traced follows `RUST_LOG`; without it, warnings.
fn trace_to_stderr() {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
}

/// A server does not stop because nobody reads its words.
fn say(line: &str) {
    _ = writeln!(io::stdout(), "{line}");
}

fn explain(addr: &str, error: &ServeError) -> String {
    match error {
        ServeError::HostsUnknown(bound) => format!(
            "{bound} can be reached from other machines: name each host it is called by with \
             `--allowed-host HOST`, or say `--allowed-host any`"
        ),
        ServeError::Config(wrong) => wrong.to_string(),
        other => format!("{addr}: {other}"),
    }
}

/// A command to paste, for this first request. It bears a host that is served, whatever the bound address is.
fn curl_line(url: &str, hosts: &AllowedHosts, request: &str) -> String {
    let host = match hosts {
        AllowedHosts::Listed(hosts) => hosts.first().map(|host| format!(" -H 'Host: {host}'")),
        AllowedHosts::Loopback | AllowedHosts::Any => None,
    };
    format!(
        "curl -i '{url}'{} -H 'Content-Type: application/json' \
         -H 'Accept: application/json, text/event-stream' {request}",
        host.unwrap_or_default()
    )
}

fn farewell(stats: &ServerStats) -> String {
    let (now, total) = (&stats.endpoints, &stats.endpoints.total);
    let left = [(now.sessions, "sessions"), (now.calls, "calls"), (now.exchanges, "exchanges")];
    let left = left.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let left: Vec<String> = left.collect();
    format!(
        "stopped: ended {} sessions and discarded {}, of {} since the start; left: {}",
        total.ended.shutdown,
        total.discarded.shutdown,
        total.created,
        if left.is_empty() { String::from("nothing") } else { left.join(", ") }
    )
}

#[cfg(test)]
mod tests {
    use super::{AllowedHosts, INITIALIZE, curl_line};

    #[test]
    fn the_command_bears_a_host_that_is_served() {
        let listed = AllowedHosts::Listed(vec![String::from("a.example"), String::from("b.example")]);
        for (hosts, field) in [(listed, true), (AllowedHosts::Loopback, false), (AllowedHosts::Any, false)] {
            let line = curl_line("http://0.0.0.0:8000/mcp", &hosts, INITIALIZE);
            assert_eq!(line.contains("-H 'Host: a.example'"), field, "{line}");
            assert!(line.starts_with("curl -i 'http://0.0.0.0:8000/mcp' ") && !line.contains('\n'));
        }
    }
}
