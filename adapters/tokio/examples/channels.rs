//! A gateway: each session gets a process of its own, a server that speaks MCP by lines on its standard input
//! and output. `cargo run -p mcp-http-tokio --example channels -- PROGRAM [ARGUMENT...]`

use std::error::Error;
use std::io;
use std::process::Stdio;
use std::sync::Arc;

use mcp_http_tokio::channels::Channel;
use mcp_http_tokio::{Config, Eras, Json, Server};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Arc<[String]> = std::env::args().skip(1).collect();
    if words.is_empty() {
        return Err("usage: channels PROGRAM [ARGUMENT...]".into());
    }
    let mut config = Config::default();
    // A process is a session's: what such servers speak begins with a handshake.
    config.eras = Eras::Handshake;
    let server = Server::bind("127.0.0.1:8000", config).await?;
    println!("{}", server.url());
    let mut channels = server.channels();
    while let Some(channel) = channels.accept().await {
        let words = Arc::clone(&words);
        tokio::spawn(async move {
            let name = channel.id().map(ToString::to_string).unwrap_or_default();
            match forward(channel, &words).await {
                Ok(why) => println!("{name} {why}"),
                Err(error) => println!("{name} failed: {error}"),
            }
        });
    }
    Ok(())
}

/// Carries messages both ways until one side is over, which takes the other with it: dropping the channel ends
/// the session, dropping the child ends the process.
async fn forward(channel: Channel, words: &[String]) -> io::Result<String> {
    let Channel { mut recv, send, .. } = channel;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let to_process = async {
        // A message is one line.
        while let Some(message) = recv.recv().await {
            stdin.write_all(message.message().as_bytes()).await?;
            stdin.write_all(b"\n").await?;
        }
        Ok(format!("is over: {:?}", recv.ended()))
    };
    let to_client = async {
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next_line().await? {
            let Ok(message) = Json::from_text(line.into()) else { continue };
            // It finds its stream by its ids; what the client can't get any more is nobody's loss.
            if let Err(unsent) = send.send(message).await {
                println!("{unsent}");
            }
        }
        Ok(String::from("was left by its process"))
    };
    // Two loops: one that waits for a client to read must not keep the other from hearing it cancel.
    tokio::select! {
        why = to_process => why,
        why = to_client => why,
    }
}
