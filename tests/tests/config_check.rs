//! Which configurations are possible, and what follows from one: R8 says that everything has a limit, so no limit may
//! be nothing, and none may contradict another.

use std::time::Duration;

use mcp_http_core::config::{AllowedHosts, Config, ConfigError, SessionMode};

fn check(change: impl FnOnce(&mut Config)) -> Result<(), ConfigError> {
    let mut config = Config::default();
    change(&mut config);
    config.check()
}

#[test]
fn r8_every_limit_is_at_least_one() {
    type Nothing = (&'static str, fn(&mut Config));
    let nothings: [Nothing; 26] = [
        ("request_line_bytes_max", |c| c.request_line_bytes_max = 0),
        ("head_bytes_max", |c| c.head_bytes_max = 0),
        ("fields_max", |c| c.fields_max = 0),
        ("body_bytes_max", |c| c.body_bytes_max = 0),
        ("sessions_max", |c| c.sessions_max = 0),
        ("calls_per_session_max", |c| c.calls_per_session_max = 0),
        ("solo_calls_max", |c| c.solo_calls_max = 0),
        ("listens_max", |c| c.listens_max = 0),
        ("listen_uris_max", |c| c.listen_uris_max = 0),
        ("batch_max", |c| c.batch_max = 0),
        ("ring_frames_max", |c| c.ring_frames_max = 0),
        ("ring_bytes_max", |c| c.ring_bytes_max = 0),
        ("session_ring_bytes_max", |c| c.session_ring_bytes_max = 0),
        ("message_bytes_max", |c| c.message_bytes_max = 0),
        ("pull_bytes_max", |c| c.pull_bytes_max = 0),
        ("memory_max", |c| c.memory_max = 0),
        ("connections_max", |c| c.connections_max = 0),
        ("header_read", |c| c.header_read = Duration::ZERO),
        ("body_read", |c| c.body_read = Duration::ZERO),
        ("keep_alive_idle", |c| c.keep_alive_idle = Duration::ZERO),
        ("write_stall", |c| c.write_stall = Duration::ZERO),
        ("drain", |c| c.drain = Duration::ZERO),
        ("session_idle", |c| c.session_idle = Some(Duration::ZERO)),
        ("establish", |c| c.establish = Duration::ZERO),
        ("confirm", |c| c.confirm = Duration::ZERO),
        ("comment_every", |c| c.comment_every = Duration::ZERO),
    ];
    assert_eq!(Config::default().check(), Ok(()));
    for (name, change) in nothings {
        assert_eq!(check(change), Err(ConfigError::Zero(name)));
    }
}

#[test]
fn r8_what_fits_into_another_limit_may_fill_it_and_no_more() {
    type Pair = (&'static str, &'static str, fn(&mut Config, usize));
    let pairs: [Pair; 4] = [
        ("request_line_bytes_max", "head_bytes_max", |c, by| {
            c.request_line_bytes_max = c.head_bytes_max + by
        }),
        ("ring_bytes_max", "session_ring_bytes_max", |c, by| {
            c.ring_bytes_max = c.session_ring_bytes_max + by
        }),
        ("message_bytes_max", "memory_max", |c, by| c.message_bytes_max = c.memory_max + by),
        ("body_bytes_max", "memory_max", |c, by| c.body_bytes_max = c.memory_max + by),
    ];
    for (smaller, larger, set) in pairs {
        assert_eq!(check(|config| set(config, 0)), Ok(()), "{smaller}");
        assert_eq!(check(|config| set(config, 1)), Err(ConfigError::Order { smaller, larger }));
    }
}

#[test]
fn r8_sessions_that_are_never_idle_need_no_cap_only_where_there_are_none() {
    assert_eq!(check(|config| config.session_idle = None), Err(ConfigError::CapWithoutIdle));
    let off = |config: &mut Config| {
        config.session_idle = None;
        config.sessions = SessionMode::Off;
    };
    assert_eq!(check(off), Ok(()));
}

#[test]
fn h8_a_path_is_one_that_a_request_can_have_and_no_other_has() {
    for good in ["/", "/mcp", "/a/b-c.d~e_%20/"] {
        assert_eq!(check(|config| config.path = good.into()), Ok(()), "{good}");
    }
    let bad = |name, value: &str| Err(ConfigError::BadPath { name, value: value.into() });
    for path in
        ["", "mcp", "/a b", "/a\t", "/\u{e9}", "/a?b", "/a#b", "/{id}", "/a\\b", "/a\"b", "/<", "/\u{7f}"]
    {
        assert_eq!(check(|config| config.path = path.into()), bad("path", path));
        assert_eq!(check(|config| config.health_path = Some(path.into())), bad("health_path", path));
        assert_eq!(check(|config| config.stats_path = Some(path.into())), bad("stats_path", path));
    }
    let same = |config: &mut Config| {
        config.path = "/x".into();
        config.health_path = None;
        config.stats_path = Some("/x".into());
    };
    assert_eq!(check(same), bad("stats_path", "/x"));
    let twice = |config: &mut Config| {
        config.health_path = Some("/y".into());
        config.stats_path = Some("/y".into());
    };
    assert_eq!(check(twice), bad("stats_path", "/y"));
}

#[test]
fn i1_an_entry_of_an_allow_list_can_match() {
    let hosts = |host: &str| check(|config| config.allowed_hosts = AllowedHosts::Listed(vec![host.into()]));
    let origins = |origin: &str| check(|config| config.allowed_origins = vec![origin.into()]);
    for good in ["a.example", "a.example:8000", "[::1]", "[::1]:80", "127.0.0.1"] {
        assert_eq!(hosts(good), Ok(()), "{good}");
        assert_eq!(origins(&format!("https://{good}")), Ok(()), "{good}");
    }
    for bad in ["", "http://a.example", "a.example/", "a b", "[::1", "a.example:x"] {
        let (name, expected) = ("allowed_hosts", "`host` or `host:port`");
        assert_eq!(hosts(bad), Err(ConfigError::BadAllowed { name, value: bad.into(), expected }));
    }
    for bad in ["", "a.example", "http:a.example", "https://", "https://a.example/x"] {
        let (name, expected) = ("allowed_origins", "`scheme://host` or `scheme://host:port`");
        assert_eq!(origins(bad), Err(ConfigError::BadAllowed { name, value: bad.into(), expected }));
    }
}

/// D9: what each connection may have pulled is in it.
#[test]
fn r8_the_ceiling_is_the_sum_of_what_each_limit_allows() {
    let mut config = Config::default();
    config.memory_max = 1_000_000_000;
    (config.connections_max, config.pull_bytes_max) = (3, 1_000);
    (config.sessions_max, config.listen_uris_max) = (5, 10);
    let (connections, sessions) = (3 * (24 * 1024 + 1_000), 5 * (1024 + 10 * 128));
    assert_eq!(config.memory_ceiling(), 1_000_000_000 + connections + sessions);
}

/// H6, L4: the codec is given every limit that is its own.
#[test]
fn h6_the_limits_of_a_connection_are_those_of_the_configuration() {
    let mut config = Config::default();
    (config.request_line_bytes_max, config.head_bytes_max, config.fields_max) = (1, 2, 3);
    (config.body_bytes_max, config.drain_bytes_max) = (4, 5);
    let secs = Duration::from_secs;
    (config.header_read, config.body_read, config.keep_alive_idle) = (secs(6), secs(7), secs(8));
    (config.write_stall, config.drain) = (secs(9), secs(10));
    let limits = config.h1();
    let bytes = [limits.request_line_bytes_max, limits.head_bytes_max, limits.fields_max];
    assert_eq!((bytes, limits.body_bytes_max, limits.drain_bytes_max), ([1, 2, 3], 4, 5));
    let reads = [limits.header_read, limits.body_read, limits.keep_alive_idle];
    assert_eq!((reads, limits.write_stall, limits.drain), ([secs(6), secs(7), secs(8)], secs(9), secs(10)));
}
