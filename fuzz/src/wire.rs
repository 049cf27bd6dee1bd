//! Several clients' bytes end to end, through `h1`, `Intake` and an endpoint, to an application, in virtual time and
//! with little memory. What the clients send is partly whole requests and partly whatever the fuzzer likes.
//!
//! The oracle: memory stays within its bound throughout (R8); what the endpoint says of sessions, calls and exchanges
//! keeps its order (`books`: R1, R4, R9, R11); what clients read is well-formed HTTP and bears messages of no session
//! but their own (`client`: R2, R5, R6); nothing is due after its time (R9), and behind a shutdown nothing is left (R14).

mod app;
mod books;
mod client;
mod memory;
mod server;

use std::time::Duration;

use mcp_http_core::config::{Config, Publishes};
use mcp_http_core::endpoint::Event;

use crate::input::Input;
use client::Client;
use server::Server;

/// Steps of one course.
const STEPS_MAX: usize = 60;
/// Clients, each with one connection at a time.
const CLIENTS: usize = 3;

/// Reads: the limits, then for each step a byte that says what, one that says who, and what these need.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut course = Course::new(&mut input);
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        course.step(&mut input);
    }
    course.finish();
}

struct Course {
    server: Server,
    clients: Vec<Client>,
}

impl Course {
    fn new(input: &mut Input<'_>) -> Self {
        let server = Server::new(config(input));
        Course { server, clients: (0..CLIENTS).map(Client::new).collect() }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let (what, who) = (input.byte(), input.below(CLIENTS));
        let (server, client) = (&mut self.server, &mut self.clients[who]);
        match what % 16 {
            0..=5 => client.send_request(input, server),
            6 => client.send(input.take(usize::from(what)), server),
            7 => client.half_close(server),
            8 => client.cut(server),
            9 => client.stall(what & 16 == 0, server),
            10 => server.advance_to_next(),
            11 => server.advance(Duration::from_millis(50 * u64::from(input.byte()))),
            12..=14 => app::act(input, server),
            _ if what == 255 => server.shut_down(Duration::from_secs(4)),
            _ => app::act(input, server),
        }
        self.server.settle();
        self.clients[who].read(&self.server);
    }

    fn finish(mut self) {
        for client in &mut self.clients {
            client.stall(false, &mut self.server);
        }
        self.server.shut_down(Duration::from_secs(4));
        self.server.drain();
        for client in &mut self.clients {
            client.read(&self.server);
        }
        self.server.check_drained();
    }
}

fn config(input: &mut Input<'_>) -> Config {
    let secs = Duration::from_secs;
    let mut config = Config::default();
    config.publishes = Publishes { tools: true, ..Publishes::default() };
    config.sessions_max = 1 + input.below(4);
    config.calls_per_session_max = 1 + input.below(3);
    config.solo_calls_max = 1 + input.below(3);
    config.listens_max = 1 + input.below(2);
    config.session_idle = Some(secs(8));
    config.establish = secs(3);
    config.confirm = secs(4);
    config.evict_after = secs(1);
    config.header_read = secs(2);
    config.body_read = secs(3);
    config.keep_alive_idle = secs(9);
    config.write_stall = secs(3);
    config.drain = secs(1);
    config.comment_every = secs(2);
    config.sse_commit_after = Duration::from_millis(500);
    config.stream_retention = secs(5);
    config.body_bytes_max = 700;
    config.message_bytes_max = 800;
    config.ring_frames_max = 1 + input.below(5);
    config.ring_bytes_max = 300 << input.below(3);
    config.session_ring_bytes_max = config.ring_bytes_max << input.below(2);
    config.pull_bytes_max = 1 << input.below(11);
    config.drain_bytes_max = 2048;
    config.memory_max = 800 << input.below(4);
    config
}

impl Server {
    /// Begins to shut down, once.
    fn shut_down(&mut self, within: Duration) {
        if self.until.is_none() {
            let until = self.now.after(within);
            self.until = Some(until);
            self.tell(Event::Shutdown { until });
            self.retire_all();
        }
    }
}
