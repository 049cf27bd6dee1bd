//! The command line: what can be set, and the configuration that comes of it. Whether the settings fit
//! together is the configuration's own to say.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use mcp_http_tests::serving::Which;
use mcp_http_tokio::{AllowedHosts, Config, Eras, Publishes, SessionMode};

/// What applies to whoever sets nothing.
static DEFAULTS: LazyLock<Config> = LazyLock::new(Config::default);

/// An MCP server that shows all that the protocol has to offer. Durations are in seconds, decimals allowed.
#[derive(Debug, Parser)]
#[command(name = "everything", version)]
pub(crate) struct Flags {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8000", value_parser = address)]
    pub(crate) addr: String,

    /// What to serve with
    #[arg(long, value_name = "WHICH", default_value = "tokio")]
    pub(crate) runtime: Which,

    /// Bytes of a request's body; larger ones get 413
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULTS.body_bytes_max, value_parser = at_least_one)]
    body_max: usize,

    /// From a request's first byte to the end of its head
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(DEFAULTS.header_read))]
    header_timeout: Seconds,

    /// From the end of the head to the end of the body
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(DEFAULTS.body_read))]
    body_timeout: Seconds,

    /// How long a connection may idle between requests
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(DEFAULTS.keep_alive_idle))]
    keep_alive: Seconds,

    /// How long an unused session lives
    #[arg(long, value_name = "SECONDS", default_value_t = default_session_idle())]
    session_idle: Seconds,

    /// From `initialize` to the last byte of its answer
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(DEFAULTS.establish))]
    establish_timeout: Seconds,

    /// From that answer to the first use of the session
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(DEFAULTS.confirm))]
    confirm_timeout: Seconds,

    /// Silence on an event stream before a comment is sent
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(DEFAULTS.comment_every))]
    comment_every: Seconds,

    /// How long a stream that broke can be resumed
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(DEFAULTS.stream_retention))]
    stream_retention: Seconds,

    /// How long calls in flight may take once the server stops
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(DEFAULTS.shutdown_drain))]
    shutdown_drain: Seconds,

    /// Sessions at a time
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULTS.sessions_max, value_parser = at_least_one)]
    max_sessions: usize,

    /// Host to serve, with or without a port, or `any`; repeatable [default: loopback's names]
    #[arg(long, value_name = "HOST")]
    allowed_host: Vec<String>,

    /// Origin to serve besides those on an allowed host; repeatable [default: none]
    #[arg(long, value_name = "ORIGIN")]
    allowed_origin: Vec<String>,

    /// Protocol revisions to serve: `handshake` is 2025-03-26 to 2025-11-25, `stateless` is 2026-07-28
    #[arg(long, value_name = "WHICH", default_value = "both")]
    eras: Served,

    /// Answer `initialize` without a session; every request stands alone [default: with sessions]
    #[arg(long)]
    no_sessions: bool,

    /// Answer GET /__stats with the server's counters as JSON [default: off]
    #[arg(long)]
    stats: bool,

    /// Answer this path with 200 as long as the server runs, for load balancers [default: off]
    #[arg(long, value_name = "PATH")]
    health: Option<String>,
}

impl Flags {
    pub(crate) fn config(&self) -> Config {
        let mut config = Config::default();
        config.publishes = Publishes { tools: true, prompts: true, resources: true, updates: true };
        config.body_bytes_max = self.body_max;
        config.header_read = self.header_timeout.0;
        config.body_read = self.body_timeout.0;
        config.keep_alive_idle = self.keep_alive.0;
        config.session_idle = Some(self.session_idle.0);
        config.establish = self.establish_timeout.0;
        config.confirm = self.confirm_timeout.0;
        config.comment_every = self.comment_every.0;
        config.stream_retention = self.stream_retention.0;
        config.shutdown_drain = self.shutdown_drain.0;
        config.sessions_max = self.max_sessions;
        config.allowed_origins.clone_from(&self.allowed_origin);
        if self.allowed_host.iter().any(|host| host == "any") {
            config.allowed_hosts = AllowedHosts::Any;
        } else if !self.allowed_host.is_empty() {
            config.allowed_hosts = AllowedHosts::Listed(self.allowed_host.clone());
        }
        config.eras = match self.eras {
            Served::Both => Eras::Both,
            Served::Handshake => Eras::Handshake,
            Served::Stateless => Eras::Stateless,
        };
        if self.no_sessions {
            config.sessions = SessionMode::Off;
        }
        if self.stats {
            config.stats_path = Some(String::from("/__stats"));
        }
        config.health_path.clone_from(&self.health);
        config
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Served {
    Both,
    Handshake,
    Stateless,
}

/// A duration as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seconds(Duration);

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.parse().ok().filter(|seconds: &f64| !seconds.is_nan());
        let seconds = parsed.ok_or("not a number of seconds, like 2 or 0.5")?;
        match Duration::try_from_secs_f64(seconds) {
            Ok(duration) if !duration.is_zero() => Ok(Seconds(duration)),
            Ok(_) => Err("must be more than zero seconds"),
            Err(_) if seconds <= 0.0 => Err("must be more than zero seconds"),
            Err(_) => Err("too many seconds"),
        }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_secs_f64().fmt(f)
    }
}

fn default_session_idle() -> Seconds {
    Seconds(DEFAULTS.session_idle.unwrap_or(Duration::MAX))
}

fn at_least_one(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(0) => Err("must be at least 1"),
        Ok(count) => Ok(count),
        Err(_) => Err("not a whole number"),
    }
}

fn address(text: &str) -> Result<String, &'static str> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(text.to_owned()),
        Some(_) | None => Err("an address is HOST:PORT, like 127.0.0.1:8000"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::{CommandFactory, Parser};
    use mcp_http_tokio::{AllowedHosts, Config, Eras, Publishes, SessionMode};

    use super::{Flags, Which};

    fn parse(flags: &[&str]) -> Result<Flags, String> {
        let args = std::iter::once("everything").chain(flags.iter().copied());
        Flags::try_parse_from(args).map_err(|error| error.to_string())
    }

    /// What applies to whoever sets nothing.
    fn plain() -> Config {
        let mut plain = Config::default();
        plain.publishes = Publishes { tools: true, prompts: true, resources: true, updates: true };
        plain
    }

    #[test]
    fn nothing_set_is_the_default() {
        Flags::command().debug_assert();
        let flags = parse(&[]).unwrap();
        assert_eq!(flags.addr, "127.0.0.1:8000");
        assert_eq!(flags.config(), plain());
    }

    #[test]
    fn each_flag_sets_its_own() {
        let flags = "--addr [::1]:0 --body-max 1 --header-timeout 0.2 --body-timeout 3 --keep-alive 4 \
            --session-idle 5 --establish-timeout 6 --confirm-timeout 7 --comment-every 8 --stream-retention 9 \
            --shutdown-drain 10.5 --max-sessions 11 --allowed-host a --allowed-host b:1 \
            --allowed-origin http://c --eras stateless --no-sessions --stats --health /up \
            --runtime smol";
        let flags = parse(&flags.split_whitespace().collect::<Vec<_>>()).unwrap();
        let mut expected = plain();
        expected.body_bytes_max = 1;
        expected.header_read = Duration::from_millis(200);
        expected.body_read = Duration::from_secs(3);
        expected.keep_alive_idle = Duration::from_secs(4);
        expected.session_idle = Some(Duration::from_secs(5));
        expected.establish = Duration::from_secs(6);
        expected.confirm = Duration::from_secs(7);
        expected.comment_every = Duration::from_secs(8);
        expected.stream_retention = Duration::from_secs(9);
        expected.shutdown_drain = Duration::from_millis(10_500);
        expected.sessions_max = 11;
        expected.allowed_hosts = AllowedHosts::Listed(vec!["a".into(), "b:1".into()]);
        expected.allowed_origins = vec!["http://c".into()];
        expected.eras = Eras::Stateless;
        expected.sessions = SessionMode::Off;
        expected.stats_path = Some("/__stats".into());
        expected.health_path = Some("/up".into());
        assert_eq!(flags.config(), expected);
        assert_eq!(flags.addr, "[::1]:0");
        assert_eq!(flags.runtime, Which::Smol);
    }

    #[test]
    fn any_host_has_to_be_said() {
        let hosts = |flags| parse(flags).map(|flags| flags.config().allowed_hosts);
        assert_eq!(hosts(&[]), Ok(AllowedHosts::Loopback));
        assert_eq!(hosts(&["--allowed-host", "a", "--allowed-host", "any"]), Ok(AllowedHosts::Any));
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_reason() {
        for (flags, reason) in [
            (["--keep-alive", "0"], "more than zero"),
            (["--keep-alive", "0.0000000001"], "more than zero"),
            (["--keep-alive=-1", "--stats"], "more than zero"),
            (["--keep-alive", "NaN"], "not a number"),
            (["--keep-alive", "inf"], "too many"),
            (["--keep-alive", "1e300"], "too many"),
            (["--keep-alive", "2s"], "not a number of seconds"),
            (["--keep-alive", ""], "value"),
            (["--body-max", "0"], "at least 1"),
            (["--max-sessions", "many"], "not a whole number"),
            (["--eras", "2025"], "both, handshake, stateless"),
            (["--addr", "localhost"], "HOST:PORT"),
            (["--addr", ":8000"], "HOST:PORT"),
            (["--addr", "a:99999"], "HOST:PORT"),
            (["--loud", "--stats"], "unexpected argument"),
        ] {
            let refused = parse(&flags).unwrap_err();
            assert!(refused.contains(reason), "{flags:?}: {refused}");
        }
    }

    #[test]
    fn every_flag_is_described() {
        let command = Flags::command();
        assert!(command.get_arguments().all(|flag| flag.get_help().is_some() || flag.get_id() == "help"));
    }
}
