//! The official Rust SDK's client against the `everything` server, through a proxy that cuts connections.
//!
//! usage: rmcp-client URL                             in the handshake era
//!        rmcp-client URL both|handshake|stateless    in automatic mode; the server has --eras as said
//!        rmcp-client channels                        against the SDK's own server on message channels
//!
//! The URL is proxy.py's, of a server of its own, started with --stats.

#![allow(deprecated, reason = "the handshake era's logging and sampling are still spoken")]

mod automatic;
mod channels;
mod checks;
mod handshake;

use std::time::Duration;

use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(120);

#[tokio::main]
async fn main() {
    let said: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match said.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["channels"] => timeout(LIMIT, channels::run()).await,
        [url] => timeout(LIMIT, handshake::run(url)).await,
        [url, eras @ ("both" | "handshake" | "stateless")] => timeout(LIMIT, automatic::run(url, eras)).await,
        _ => {
            eprintln!("usage: rmcp-client URL [both|handshake|stateless], or: rmcp-client channels");
            std::process::exit(2);
        }
    };
    checks::end(outcome);
}
