//! Every limit, deadline and switch, with its unit and its reason. No limit is written anywhere else.

use core::time::Duration;

use thiserror::Error;

use crate::h1;
use crate::version::Version;

/// Whether `initialize` opens a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionMode {
    /// It does, and later requests must bear its id.
    On,
    /// It is answered without an id and every exchange stands alone; GET and DELETE are not offered (S12).
    Off,
}

/// Which eras are served, on one and the same endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eras {
    /// Both: each request says which one it belongs to (I12).
    Both,
    /// 2025-03-26 to 2025-11-25.
    Handshake,
    /// 2026-07-28 alone: no sessions, no GET, no DELETE.
    Stateless,
}

/// The kinds of change that the application announces: what a `subscriptions/listen` can be granted (Z10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Publishes {
    /// `notifications/tools/list_changed`
    pub tools: bool,
    /// `notifications/prompts/list_changed`
    pub prompts: bool,
    /// `notifications/resources/list_changed`
    pub resources: bool,
    /// `notifications/resources/updated`, by URI
    pub updates: bool,
}

/// Which values of `Host` (and of `:authority`) are served (I1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedHosts {
    /// `localhost`, `127.0.0.1` and `[::1]` on any port: right for a server bound to loopback, and what
    /// keeps a web page from reaching it by DNS rebinding.
    Loopback,
    /// These hosts; each is `host` (any port) or `host:port`, an IPv6 address in brackets.
    Listed(Vec<String>),
    /// Every host. Only behind something that has checked it.
    Any,
}

/// What the machines of one server share. The defaults are fit for a server on loopback.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The endpoint's path; the same with a trailing slash is served too.
    pub path: String,
    /// A path that answers 200 without touching any table, for load balancers (X4).
    pub health_path: Option<String>,
    /// A path that answers the server's counters as JSON. Off by default: they tell about other clients.
    pub stats_path: Option<String>,
    /// Whether there are sessions.
    pub sessions: SessionMode,
    /// Which eras there are.
    pub eras: Eras,
    /// What the application announces.
    pub publishes: Publishes,
    /// Which hosts are served.
    pub allowed_hosts: AllowedHosts,
    /// Origins served besides those whose host is an allowed host, as `scheme://host[:port]` (I1).
    pub allowed_origins: Vec<String>,
    /// Whether allowed origins get CORS fields, so that a browser lets their pages read answers (I5).
    pub cors: bool,

    /// Request line, in bytes: longer ones get 414. RFC 9112 asks for at least 8000.
    pub request_line_bytes_max: usize,
    /// Request head, in bytes: larger ones get 431.
    pub head_bytes_max: usize,
    /// Fields in a request head: more get 431.
    pub fields_max: usize,
    /// Request body, in bytes: larger ones get 413.
    pub body_bytes_max: usize,
    /// From the first byte of a request to the end of its head.
    pub header_read: Duration,
    /// From the end of the head to the end of the body; not reset by each byte, so dripping does not help.
    pub body_read: Duration,
    /// Between two requests on one connection; then it is closed without a word.
    pub keep_alive_idle: Duration,
    /// How long one write may wait for the peer to read.
    pub write_stall: Duration,
    /// Unread body that is read and dropped after a refusal, in bytes, to keep the connection.
    pub drain_bytes_max: usize,
    /// How long that may take, and how long a closed connection lingers so that the answer can be read.
    pub drain: Duration,

    /// Sessions of the whole server, pending ones included.
    pub sessions_max: usize,
    /// How long an unused session lives; the clock starts when its last exchange and call ended (R12).
    pub session_idle: Option<Duration>,
    /// From `initialize` to the last byte of its answer.
    pub establish: Duration,
    /// From commit to the first use; probes that never come back are gone after this (S2).
    pub confirm: Duration,
    /// A session idle for less than this is never evicted for a new one.
    pub evict_after: Duration,
    /// Calls in flight in one session: more get 429.
    pub calls_per_session_max: usize,
    /// Calls in flight outside sessions, of the whole server: more get 503.
    pub solo_calls_max: usize,
    /// Open `subscriptions/listen` streams of the whole server: more get 503.
    pub listens_max: usize,
    /// Resource URIs that one `subscriptions/listen`, or one session, may ask to be told of.
    pub listen_uris_max: usize,
    /// Messages in a batch (2025-03-26 only).
    pub batch_max: usize,

    /// How long a call may be silent before its response turns into an event stream.
    pub sse_commit_after: Duration,
    /// Silence on an open event stream before a comment is sent, so that no proxy gives up.
    pub comment_every: Duration,
    /// The `retry` field of priming events: how long a client waits before it reconnects.
    pub retry: Duration,
    /// Frames kept for one stream.
    pub ring_frames_max: usize,
    /// Bytes kept for one stream.
    pub ring_bytes_max: usize,
    /// Bytes kept for all streams of one session.
    pub session_ring_bytes_max: usize,
    /// How long a stream that broke can be resumed.
    pub stream_retention: Duration,
    /// One outgoing message, in bytes; a larger answer becomes error -32603.
    pub message_bytes_max: usize,
    /// What one turn of a connection takes from its stream, in bytes.
    pub pull_bytes_max: usize,
    /// Heads and bodies, while they come in and for as long as their calls last, frames in rings, retained
    /// streams and answers on their way, of the whole server, in bytes (R8). At the bound what only a resume
    /// would ask for goes first; then requests are refused and senders wait. For what else a server holds see
    /// [`memory_ceiling`](Config::memory_ceiling).
    pub memory_max: usize,
    /// Connections of the whole server; at the bound, accepting pauses.
    pub connections_max: usize,
    /// How long calls in flight may take to finish once shutdown has begun.
    pub shutdown_drain: Duration,
}

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

impl Default for Config {
    fn default() -> Self {
        Config {
            path: String::from("/mcp"),
            health_path: None,
            stats_path: None,
            sessions: SessionMode::On,
            eras: Eras::Both,
            publishes: Publishes::default(),
            allowed_hosts: AllowedHosts::Loopback,
            allowed_origins: Vec::new(),
            cors: true,
            request_line_bytes_max: 16 * KIB,
            head_bytes_max: 64 * KIB,
            fields_max: 100,
            body_bytes_max: 4 * MIB,
            header_read: Duration::from_secs(10),
            body_read: Duration::from_secs(30),
            keep_alive_idle: Duration::from_secs(75),
            write_stall: Duration::from_secs(30),
            drain_bytes_max: 256 * KIB,
            drain: Duration::from_secs(2),
            sessions_max: 10_000,
            session_idle: Some(Duration::from_secs(30 * 60)),
            establish: Duration::from_secs(30),
            confirm: Duration::from_secs(60),
            evict_after: Duration::from_secs(60),
            calls_per_session_max: 64,
            solo_calls_max: 4_096,
            listens_max: 16_384,
            listen_uris_max: 256,
            batch_max: 64,
            sse_commit_after: Duration::from_secs(1),
            comment_every: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            ring_frames_max: 256,
            ring_bytes_max: 256 * KIB,
            session_ring_bytes_max: MIB,
            stream_retention: Duration::from_secs(5 * 60),
            message_bytes_max: 16 * MIB,
            pull_bytes_max: 64 * KIB,
            memory_max: 512 * MIB,
            connections_max: 16_384,
            shutdown_drain: Duration::from_secs(10),
        }
    }
}

/// Why a configuration cannot work.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A limit of zero would refuse everything.
    #[error("`{0}` is zero; every limit and deadline must be at least 1")]
    Zero(&'static str),
    /// A path that no request can have.
    #[error(
        "`{name}` is {value:?}; a path starts with `/`, has no `?`, `#` or blank, and differs from the others"
    )]
    BadPath {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// Sessions that nobody deletes would fill the table for good.
    #[error(
        "`sessions_max` needs `session_idle`: without it, sessions that are never deleted fill the table"
    )]
    CapWithoutIdle,
    /// An entry of an allow-list that can never match.
    #[error("{name} entry {value:?} is not {expected}")]
    BadAllowed {
        /// The allow-list.
        name: &'static str,
        /// The entry.
        value: String,
        /// The form an entry has.
        expected: &'static str,
    },
    /// Two limits that contradict each other.
    #[error("`{smaller}` must not exceed `{larger}`")]
    Order {
        /// The setting that is too large.
        smaller: &'static str,
        /// The setting it has to fit into.
        larger: &'static str,
    },
}

impl Config {
    /// Checks that the settings are possible and fit together. A server calls this before it binds.
    ///
    /// # Errors
    /// The first setting that is wrong, and what would be right.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_nonzero()?;
        self.check_paths()?;
        self.check_allow_lists()?;
        if self.sessions == SessionMode::On && self.session_idle.is_none() {
            return Err(ConfigError::CapWithoutIdle);
        }
        for (smaller, a, larger, b) in [
            ("request_line_bytes_max", self.request_line_bytes_max, "head_bytes_max", self.head_bytes_max),
            ("ring_bytes_max", self.ring_bytes_max, "session_ring_bytes_max", self.session_ring_bytes_max),
            ("message_bytes_max", self.message_bytes_max, "memory_max", self.memory_max),
            ("body_bytes_max", self.body_bytes_max, "memory_max", self.memory_max),
        ] {
            if a > b {
                return Err(ConfigError::Order { smaller, larger });
            }
        }
        Ok(())
    }

    /// What the whole server can hold at most, in bytes, if every limit is reached at once: an upper bound to
    /// plan a machine by, not a forecast. `memory_max`; for each connection its record, what may come before a
    /// body is asked for, and the frames that are on their way out; for each session its record.
    #[must_use]
    pub fn memory_ceiling(&self) -> usize {
        const CONNECTION_BYTES: usize = 8 * KIB;
        const SESSION_BYTES: usize = KIB;
        const URI_BYTES: usize = 128;
        let connection = CONNECTION_BYTES.saturating_add(16 * KIB).saturating_add(self.pull_bytes_max);
        let session = SESSION_BYTES.saturating_add(self.listen_uris_max.saturating_mul(URI_BYTES));
        self.memory_max
            .saturating_add(self.connections_max.saturating_mul(connection))
            .saturating_add(self.sessions_max.saturating_mul(session))
    }

    /// The versions that are served, newest first.
    #[must_use]
    pub fn versions(&self) -> &'static [Version] {
        const BOTH: [Version; 4] =
            [Version::V2026_07_28, Version::V2025_11_25, Version::V2025_06_18, Version::V2025_03_26];
        let [stateless @ .., _, _, _] = &BOTH;
        let [_, handshake @ ..] = &BOTH;
        match self.eras {
            Eras::Both => &BOTH,
            Eras::Handshake => handshake,
            Eras::Stateless => stateless,
        }
    }

    /// The part of the configuration that `h1::Connection` knows.
    #[must_use]
    pub fn h1(&self) -> h1::Limits {
        h1::Limits {
            request_line_bytes_max: self.request_line_bytes_max,
            head_bytes_max: self.head_bytes_max,
            fields_max: self.fields_max,
            body_bytes_max: self.body_bytes_max,
            header_read: self.header_read,
            body_read: self.body_read,
            keep_alive_idle: self.keep_alive_idle,
            write_stall: self.write_stall,
            drain_bytes_max: self.drain_bytes_max,
            drain: self.drain,
        }
    }

    fn check_nonzero(&self) -> Result<(), ConfigError> {
        let counts = [
            ("request_line_bytes_max", self.request_line_bytes_max),
            ("head_bytes_max", self.head_bytes_max),
            ("fields_max", self.fields_max),
            ("body_bytes_max", self.body_bytes_max),
            ("sessions_max", self.sessions_max),
            ("calls_per_session_max", self.calls_per_session_max),
            ("solo_calls_max", self.solo_calls_max),
            ("listens_max", self.listens_max),
            ("listen_uris_max", self.listen_uris_max),
            ("batch_max", self.batch_max),
            ("ring_frames_max", self.ring_frames_max),
            ("ring_bytes_max", self.ring_bytes_max),
            ("session_ring_bytes_max", self.session_ring_bytes_max),
            ("message_bytes_max", self.message_bytes_max),
            ("pull_bytes_max", self.pull_bytes_max),
            ("memory_max", self.memory_max),
            ("connections_max", self.connections_max),
        ];
        let times = [
            ("header_read", self.header_read),
            ("body_read", self.body_read),
            ("keep_alive_idle", self.keep_alive_idle),
            ("write_stall", self.write_stall),
            ("drain", self.drain),
            ("session_idle", self.session_idle.unwrap_or(Duration::MAX)),
            ("establish", self.establish),
            ("confirm", self.confirm),
            ("comment_every", self.comment_every),
        ];
        let zero_count = counts.iter().find(|(_, count)| *count == 0).map(|(name, _)| *name);
        let zero_time = times.iter().find(|(_, time)| time.is_zero()).map(|(name, _)| *name);
        match zero_count.or(zero_time) {
            Some(name) => Err(ConfigError::Zero(name)),
            None => Ok(()),
        }
    }

    fn check_paths(&self) -> Result<(), ConfigError> {
        let mut seen: Vec<&str> = Vec::new();
        for (name, path) in [
            ("path", Some(&self.path)),
            ("health_path", self.health_path.as_ref()),
            ("stats_path", self.stats_path.as_ref()),
        ] {
            let Some(path) = path else { continue };
            let bad_byte =
                path.bytes().any(|byte| !byte.is_ascii_graphic() || b"?#\"<>\\^`{|}".contains(&byte));
            if !path.starts_with('/') || bad_byte || seen.contains(&path.as_str()) {
                return Err(ConfigError::BadPath { name, value: path.clone() });
            }
            seen.push(path);
        }
        Ok(())
    }

    fn check_allow_lists(&self) -> Result<(), ConfigError> {
        if let AllowedHosts::Listed(hosts) = &self.allowed_hosts {
            for host in hosts {
                if h1::authority::Authority::parse(host.as_bytes()).is_none() {
                    return Err(ConfigError::BadAllowed {
                        name: "allowed_hosts",
                        value: host.clone(),
                        expected: "`host` or `host:port`",
                    });
                }
            }
        }
        for origin in &self.allowed_origins {
            let authority = origin.split_once("://").map(|(_, authority)| authority.as_bytes());
            if authority.and_then(h1::authority::Authority::parse).is_none() {
                return Err(ConfigError::BadAllowed {
                    name: "allowed_origins",
                    value: origin.clone(),
                    expected: "`scheme://host` or `scheme://host:port`",
                });
            }
        }
        Ok(())
    }
}
