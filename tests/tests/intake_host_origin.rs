//! I1 and H8: which hosts and which web pages are served.
mod intake_support;

use intake_support::{Ask, Judged, delete, get, hosts, initialize, intake, ping, values};
use mcp_http_core::config::AllowedHosts;
use mcp_http_core::intake::Intake;
use mcp_http_core::reject::Refusal;

fn listed(entries: &[&str]) -> Intake {
    hosts(AllowedHosts::Listed(entries.iter().map(|entry| String::from(*entry)).collect()))
}

fn on_every_method() -> Vec<Ask> {
    let others = ["OPTIONS", "PUT", "PATCH", "HEAD", "TRACE", "BREW"].map(|method| ping().method(method));
    [ping(), initialize(), get(), delete()].into_iter().chain(others).collect()
}

#[track_caller]
fn check_host(intake: &Intake, host: &str, allowed: bool) {
    let refusal = ping().set("host", host).head_refusal(intake);
    let expected = if allowed { None } else { Some(Refusal::HostNotAllowed) };
    assert_eq!(refusal, expected, "Host: {host}");
}

#[track_caller]
fn check_origin(intake: &Intake, host: &str, origin: impl AsRef<[u8]>, allowed: bool) {
    let shown = String::from_utf8_lossy(origin.as_ref()).into_owned();
    let refusal = ping().set("host", host).with("origin", origin).head_refusal(intake);
    let expected = if allowed { None } else { Some(Refusal::OriginNotAllowed) };
    assert_eq!(refusal, expected, "Host: {host}, Origin: {shown}");
}

#[test]
fn i1_loopback_allows_three_names_on_any_port() {
    let intake = hosts(AllowedHosts::Loopback);
    for host in [
        "localhost",
        "localhost:8000",
        "LocalHost:1",
        "LOCALHOST",
        "localhost.",
        "localhost.:8000",
        "localhost:",
        "127.0.0.1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:8000",
        "[0:0:0:0:0:0:0:1]:8000",
        "[0000::0001]",
    ] {
        check_host(&intake, host, true);
    }
    for host in [
        "example.com",
        "localhost.example.com",
        "example.com.localhost",
        "notlocalhost",
        "localhost..",
        "local",
        "127.0.0.1.example.com",
        "127.0.0.2",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "[::]",
        "[::2]",
        "[::ffff:127.0.0.1]",
        "::1",
        "user@localhost",
        "localhost,example.com",
        "localhost:x",
        "localhost:65536",
        "localhost:80:80",
        "local host",
        "[::1",
        "[::1]x",
        "[localhost]",
        "localhost/",
        "",
        ":8000",
        ".",
    ] {
        check_host(&intake, host, false);
    }
}

#[test]
fn i1_a_listed_host_without_port_is_any_port_and_with_port_that_one() {
    let any_port = listed(&["Example.com", "[2001:DB8::1]"]);
    for host in ["example.com", "EXAMPLE.com:1", "example.com.", "[2001:db8::1]", "[2001:db8:0::0:1]:9"] {
        check_host(&any_port, host, true);
    }
    for host in ["www.example.com", "example.org", "localhost", "127.0.0.1", "[2001:db8::2]"] {
        check_host(&any_port, host, false);
    }
    let one_port = listed(&["example.com:8443", "[2001:db8::1]:8443"]);
    for host in ["example.com:8443", "example.COM.:8443", "[2001:DB8::1]:8443"] {
        check_host(&one_port, host, true);
    }
    for host in ["example.com", "example.com:844", "example.com:443", "example.com:80", "[2001:db8::1]"] {
        check_host(&one_port, host, false);
    }
}

#[test]
fn i1_a_default_port_may_be_left_out() {
    for (entry, host, allowed) in [
        ("example.com:80", "example.com", true),
        ("example.com:443", "example.com", true),
        ("example.com:8000", "example.com", false),
        ("example.com:80", "example.com:443", false),
        ("example.com:443", "example.com:443", true),
    ] {
        check_host(&listed(&[entry]), host, allowed);
    }
    // A target that names the scheme leaves no doubt which port is meant.
    for (entry, target, allowed) in [
        ("example.com:80", "http://example.com/mcp", true),
        ("example.com:443", "http://example.com/mcp", false),
        ("example.com:443", "https://example.com/mcp", true),
        ("example.com:80", "https://example.com/mcp", false),
        ("example.com:80", "https://example.com:80/mcp", true),
    ] {
        let refused = ping().target(target).head_refusal(&listed(&[entry])).is_some();
        assert_eq!(!refused, allowed, "{entry} {target}");
    }
}

#[test]
fn h8_the_authority_of_the_target_wins_over_host() {
    let intake = hosts(AllowedHosts::Loopback);
    let foreign = Some(Refusal::HostNotAllowed);
    for (target, host, expected) in [
        ("http://localhost:8000/mcp", Some("example.com"), None),
        ("http://localhost:8000/mcp", None, None),
        ("http://[::1]:8000/mcp", Some("example.com"), None),
        ("http://example.com/mcp", Some("localhost"), foreign.clone()),
        ("http://localhost@example.com/mcp", Some("localhost"), foreign.clone()),
        ("http://example.com@localhost/mcp", Some("localhost"), foreign.clone()),
        ("/mcp", None, foreign),
    ] {
        let ask = ping().without("host").target(target);
        let ask = host.into_iter().fold(ask, |ask, host| ask.with("host", host));
        assert_eq!(ask.head_refusal(&intake), expected, "{target} {host:?}");
    }
}

#[test]
fn i1_two_hosts_are_no_host() {
    for intake in [hosts(AllowedHosts::Loopback), listed(&["localhost"])] {
        for second in ["localhost:8000", "localhost", "example.com"] {
            assert_eq!(ping().with("host", second).head_refusal(&intake), Some(Refusal::HostNotAllowed));
        }
    }
}

#[test]
fn i1_any_serves_every_host_and_none() {
    let intake = hosts(AllowedHosts::Any);
    for host in ["localhost", "example.com:1", "user@example.com", "a b"] {
        check_host(&intake, host, true);
    }
    assert_eq!(ping().without("host").head_refusal(&intake), None);
    assert_eq!(ping().with("host", "example.com").head_refusal(&intake), None);
}

#[test]
fn i1_host_and_origin_are_judged_on_every_method_before_the_body() {
    let intake = hosts(AllowedHosts::Loopback);
    for ask in on_every_method() {
        let refusal = ask.clone().set("host", "example.com").head_refusal(&intake);
        assert_eq!(refusal, Some(Refusal::HostNotAllowed), "{ask:?}");
        let refusal = ask.clone().with("origin", "http://example.com").head_refusal(&intake);
        assert_eq!(refusal, Some(Refusal::OriginNotAllowed), "{ask:?}");
    }
}

#[test]
fn i1_a_refused_host_is_421_and_a_refused_origin_403_without_a_grant() {
    let intake = hosts(AllowedHosts::Loopback);
    let refused =
        ping().set("host", "example.com").with("origin", "http://localhost").reject(&intake).into_answer();
    assert_eq!(refused.status.as_u16(), 421);
    assert_eq!(values(&refused, "access-control-allow-origin"), [""; 0]);
    let refused = ping().with("origin", "http://example.com").reject(&intake).into_answer();
    assert_eq!(refused.status.as_u16(), 403);
    assert_eq!(values(&refused, "access-control-allow-origin"), [""; 0]);
}

#[test]
fn i1_an_origin_of_an_allowed_host_passes_with_any_web_scheme_and_port() {
    let intake = hosts(AllowedHosts::Loopback);
    for origin in [
        "http://localhost",
        "https://localhost",
        "HTTP://LOCALHOST:3000",
        "http://127.0.0.1:1",
        "https://[::1]:8443",
        "http://[0:0:0:0:0:0:0:1]",
        "http://localhost.:3000",
    ] {
        check_origin(&intake, "127.0.0.1:8000", origin, true);
    }
}

#[test]
fn i1_an_origin_that_is_none_or_foreign_is_refused() {
    let intake = hosts(AllowedHosts::Loopback);
    for origin in [
        "",
        "null",
        "NULL",
        "*",
        "localhost",
        "localhost:8000",
        "//localhost",
        "http:localhost",
        "http:/localhost",
        "http://",
        "http://:80",
        "http:///localhost",
        "http://localhost/",
        "http://localhost/x",
        "http://localhost?",
        "http://localhost#",
        "http://localhost:x",
        "http://localhost:65536",
        "http://u@localhost",
        "http://localhost@example.com",
        "http://localhost.example.com",
        "http://example.com",
        "http://localhost http://localhost",
        "http://localhost,http://localhost",
        "ftp://localhost",
        "file://localhost",
        "httpx://localhost",
        "1http://localhost",
        "http\u{e9}://localhost",
        "://localhost",
        "http://localhost\\.example.com",
        "http://[::1",
        "http://[::2]",
        "http://127.0.0.2",
    ] {
        check_origin(&intake, "localhost:8000", origin, false);
    }
    check_origin(&intake, "localhost:8000", b"http://localhost\xff", false);
}

#[test]
fn i1_two_origins_are_refused_even_if_equal() {
    let intake = hosts(AllowedHosts::Loopback);
    for second in ["http://localhost", "http://localhost:8000", "null"] {
        let ask = ping().with("origin", "http://localhost").with("origin", second);
        assert_eq!(ask.head_refusal(&intake), Some(Refusal::OriginNotAllowed), "{second}");
    }
}

#[test]
fn i1_an_origin_must_have_the_port_that_the_allowed_host_has() {
    let intake = listed(&["example.com:443", "other.example:8000"]);
    for (origin, allowed) in [
        ("https://example.com", true),
        ("https://example.com:443", true),
        ("http://example.com", false),
        ("https://example.com:8443", false),
        ("http://other.example:8000", true),
        ("http://other.example", false),
    ] {
        check_origin(&intake, "example.com", origin, allowed);
    }
}

#[test]
fn i1_listed_origins_match_whole_and_in_any_case() {
    let intake = intake(|config| {
        config.allowed_origins = [
            "https://App.Example",
            "http://dev.example:3000",
            "vscode-webview://abc",
            "https://[2001:db8::1]:444",
        ]
        .map(String::from)
        .into();
    });
    for (origin, allowed) in [
        ("https://app.example", true),
        ("HTTPS://APP.EXAMPLE:443", true),
        ("https://app.example:444", false),
        ("http://app.example", false),
        ("http://app.example:443", false),
        ("https://sub.app.example", false),
        ("http://dev.example:3000", true),
        ("http://dev.example", false),
        ("http://dev.example:80", false),
        ("vscode-webview://abc", true),
        ("VSCode-WebView://ABC", true),
        ("vscode-webview://abcd", false),
        ("vscode-webview://abc:80", false),
        ("https://[2001:0DB8::1]:444", true),
        ("https://[2001:db8::1]", false),
        // A listed origin does not open its host to other schemes, nor is a custom scheme on an allowed host
        // a page of the web.
        ("vscode-webview://localhost", false),
    ] {
        check_origin(&intake, "localhost", origin, allowed);
    }
}

#[test]
fn i1_with_any_host_a_page_must_come_from_where_the_request_goes() {
    let intake = intake(|config| {
        config.allowed_hosts = AllowedHosts::Any;
        config.allowed_origins = vec![String::from("https://app.example")];
    });
    for (host, origin, allowed) in [
        ("example.com", "http://example.com", true),
        ("example.com", "https://example.com", true),
        ("example.com", "https://EXAMPLE.com:443", true),
        ("example.com", "http://example.com:8000", false),
        ("example.com", "http://example.com:443", false),
        ("example.com:8000", "http://example.com:8000", true),
        ("example.com:8000", "http://example.com", false),
        ("example.com:80", "http://example.com", true),
        ("example.com:80", "https://example.com", false),
        ("example.com", "http://evil.example", false),
        ("[::1]:8000", "http://[0:0::1]:8000", true),
        ("example.com", "null", false),
        ("example.com", "https://app.example", true),
        ("a b", "http://a", false),
        ("a b", "https://app.example", true),
    ] {
        check_origin(&intake, host, origin, allowed);
    }
    let ask = ping().without("host").with("origin", "http://localhost");
    assert_eq!(ask.head_refusal(&intake), Some(Refusal::OriginNotAllowed));
    let ask = ask.target("https://localhost/mcp");
    assert_eq!(ask.head_refusal(&intake), Some(Refusal::OriginNotAllowed));
    let ask = ask.set("origin", "https://localhost");
    assert_eq!(ask.head_refusal(&intake), None);
}

#[test]
fn i1_no_origin_is_no_browser_and_gets_no_cors_fields() {
    let admitted = ping().admitted(&hosts(AllowedHosts::Loopback));
    assert_eq!(admitted.grant(), None);
    let Judged::Answer(answer) = ping().method("OPTIONS").judge(&hosts(AllowedHosts::Loopback)) else {
        panic!("not answered")
    };
    assert_eq!(values(&answer, "access-control-allow-origin"), [""; 0]);
}
