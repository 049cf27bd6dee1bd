//! I4, I5 and X4: paths, methods, preflights, and the CORS grant on everything else.
mod intake_support;

use intake_support::{
    Ask, Judged, delete, get, initialize, intake, ping, post, sessions_off, sessions_on, values,
};
use mcp_http_core::answer::Answer;
use mcp_http_core::intake::{Intake, Kind, Verdict};
use mcp_http_core::reject::{Allow, Refusal};

const ORIGIN: &str = "http://localhost:3000";

fn preflight() -> Ask {
    ping()
        .method("OPTIONS")
        .without("content-type")
        .with("origin", ORIGIN)
        .with("access-control-request-method", "POST")
}

#[track_caller]
fn answer(ask: &Ask, intake: &Intake) -> Answer {
    match ask.judge(intake) {
        Judged::Answer(answer) => *answer,
        other => panic!("not answered: {ask:?}\n{other:?}"),
    }
}

#[test]
fn h8_the_path_is_matched_octet_by_octet_and_the_query_does_not_count() {
    for target in
        ["/mcp", "/mcp/", "/mcp?", "/mcp?a=/x", "/mcp/?a", "http://localhost/mcp", "http://localhost/mcp/?x"]
    {
        assert_eq!(ping().target(target).head_refusal(&sessions_on()), None, "{target}");
    }
    for target in [
        "/",
        "/mc",
        "/mcpx",
        "/MCP",
        "/mcp//",
        "//mcp",
        "/mcp/x",
        "/x/mcp",
        "/./mcp",
        "/mcp/.",
        "/x/../mcp",
        "/%6dcp",
        "/mcp%2f",
        "/mcp;a",
        "http://localhost",
        "*",
    ] {
        assert_eq!(
            ping().target(target).head_refusal(&sessions_on()),
            Some(Refusal::UnknownPath),
            "{target}"
        );
    }
    let answer = ping().target("/").reject(&sessions_on()).into_answer();
    assert_eq!(answer.status.as_u16(), 404);
}

#[test]
fn h8_any_path_can_be_the_endpoint_with_or_without_slash() {
    for (path, serves, refuses) in [
        ("/", ["/", "http://localhost", "/?x"], ["/mcp", "//", "*"]),
        ("/a/b", ["/a/b", "/a/b/", "/a/b?"], ["/a", "/a/b//", "/a/b/c"]),
        ("/a/b/", ["/a/b", "/a/b/", "/a/b?"], ["/a", "/a/b//", "/a/b/c"]),
    ] {
        let intake = intake(|config| config.path = path.into());
        for target in serves {
            assert_eq!(ping().target(target).head_refusal(&intake), None, "{path} {target}");
        }
        for target in refuses {
            let refusal = ping().target(target).head_refusal(&intake);
            assert_eq!(refusal, Some(Refusal::UnknownPath), "{path} {target}");
        }
    }
}

#[test]
fn i4_post_get_and_delete_with_sessions() {
    assert!(matches!(ping().kind(&sessions_on()), Kind::Call(_)));
    assert_eq!(get().kind(&sessions_on()), Kind::Open { last_event_id: None });
    assert_eq!(delete().kind(&sessions_on()), Kind::Delete);
}

#[test]
fn i4_other_methods_are_405_and_allow_tells_the_truth() {
    for method in ["HEAD", "PUT", "PATCH", "TRACE", "CONNECT", "BREW", "post", "Get"] {
        let reject = ping().method(method).reject(&sessions_on());
        assert_eq!(reject.refusal, Refusal::MethodNotAllowed(Allow::PostGetDelete), "{method}");
        let answer = reject.into_answer();
        assert_eq!(answer.status.as_u16(), 405);
        assert_eq!(values(&answer, "allow"), ["POST, GET, DELETE, OPTIONS"]);
    }
}

#[test]
fn s12_without_sessions_get_and_delete_are_405_too() {
    for ask in [get(), delete(), ping().method("HEAD"), ping().method("PUT")] {
        // Nothing that a GET would be refused for comes before it.
        for ask in [ask.clone(), ask.set("accept", "text/html").set("mcp-protocol-version", "x")] {
            let reject = ask.reject(&sessions_off());
            assert_eq!(reject.refusal, Refusal::MethodNotAllowed(Allow::Post), "{ask:?}");
            assert_eq!(values(&reject.into_answer(), "allow"), ["POST, OPTIONS"]);
        }
    }
    assert!(matches!(ping().kind(&sessions_off()), Kind::Call(_)));
}

#[test]
fn i5_a_preflight_names_the_origin_the_methods_and_the_fields() {
    for (intake, methods) in
        [(sessions_on(), "POST, GET, DELETE, OPTIONS"), (sessions_off(), "POST, OPTIONS")]
    {
        let answer = answer(&preflight(), &intake);
        assert_eq!(answer.status.as_u16(), 204);
        assert_eq!(values(&answer, "access-control-allow-origin"), [ORIGIN]);
        assert_eq!(values(&answer, "access-control-allow-methods"), [methods]);
        assert_eq!(
            values(&answer, "access-control-allow-headers"),
            ["content-type, accept, authorization, mcp-protocol-version, mcp-session-id, last-event-id, \
              mcp-method, mcp-name"]
        );
        assert_eq!(values(&answer, "access-control-expose-headers"), ["mcp-session-id"]);
        assert_eq!(values(&answer, "vary"), ["origin"]);
    }
}

#[test]
fn i5_a_preflight_is_judged_by_nothing_but_path_host_and_origin() {
    let ask =
        preflight().set("accept", "text/html").set("mcp-protocol-version", "").set("mcp-session-id", "a b");
    assert_eq!(answer(&ask, &sessions_on()).status.as_u16(), 204);
    for origin in ["null", "http://example.com", ""] {
        let reject = preflight().set("origin", origin).reject(&sessions_on());
        assert_eq!(reject.refusal, Refusal::OriginNotAllowed);
        assert_eq!(reject.grant, None);
    }
    assert_eq!(preflight().target("/x").refusal(&sessions_on()), Refusal::UnknownPath);
}

#[test]
fn i5_only_well_formed_mcp_param_fields_are_granted_beside() {
    let long = format!("mcp-param-{}", "x".repeat(54));
    let too_long = format!("{long}x");
    for (asked, granted) in [
        ("mcp-param-region", vec!["mcp-param-region"]),
        ("Mcp-Param-Region,MCP-PARAM-B", vec!["mcp-param-region", "mcp-param-b"]),
        ("x-other, mcp-param-a , content-type", vec!["mcp-param-a"]),
        ("mcp-param-", vec![]),
        ("mcp-param-a b", vec![]),
        ("mcp-param-a:b", vec![]),
        ("mcp-param-\u{e9}", vec![]),
        ("mcp-params-a,xmcp-param-a,mcp_param_a", vec![]),
        (&long, vec![&*long]),
        (&too_long, vec![]),
        (", ,", vec![]),
    ] {
        let ask = preflight().with("access-control-request-headers", asked);
        let answer = answer(&ask, &sessions_on());
        let fields = values(&answer, "access-control-allow-headers");
        let granted_fields: Vec<&str> = fields[0].split(", ").skip(8).collect();
        assert_eq!(granted_fields, granted, "{asked}");
    }
}

#[test]
fn i5_how_many_mcp_param_fields_are_granted_is_bounded() {
    for (asked, granted) in [(31, 31), (32, 32), (33, 32), (4000, 32)] {
        let names: Vec<String> = (0..asked).map(|number| format!("mcp-param-{number}")).collect();
        let (first, second) = names.split_at(asked / 2);
        let ask = preflight()
            .with("access-control-request-headers", first.join(","))
            .with("access-control-request-headers", second.join(", "));
        let answer = answer(&ask, &sessions_on());
        assert_eq!(values(&answer, "access-control-allow-headers")[0].matches("mcp-param-").count(), granted);
    }
}

#[test]
fn i5_options_that_is_no_preflight_gets_allow() {
    let plain = preflight().without("access-control-request-method");
    for (ask, origin) in [
        (plain.clone(), vec![ORIGIN]),
        (plain.without("origin"), vec![]),
        (preflight().without("origin"), vec![]),
    ] {
        let answer = answer(&ask, &sessions_on());
        assert_eq!(answer.status.as_u16(), 204);
        assert_eq!(values(&answer, "allow"), ["POST, GET, DELETE, OPTIONS"]);
        assert_eq!(values(&answer, "access-control-allow-origin"), origin);
        assert_eq!(values(&answer, "access-control-allow-methods"), [""; 0]);
    }
}

#[test]
fn i5_every_refusal_and_every_admission_of_an_allowed_origin_bears_the_grant() {
    let refused = [
        ping().method("PUT"),
        ping().set("accept", "text/html"),
        ping().set("content-type", "text/plain"),
        ping().with("content-length", "99999999"),
        get().without("mcp-session-id"),
        get().set("mcp-protocol-version", "1"),
        get().with("last-event-id", "a b"),
        delete().set("mcp-session-id", "a b"),
        ping().set("mcp-session-id", "a b"),
        ping().set("mcp-protocol-version", "1"),
        ping().without("mcp-session-id"),
        post("{"),
        post("[]"),
        post("{}"),
        post("x".repeat(5_000_000)),
        initialize().body(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#),
    ];
    for ask in refused {
        let ask = ask.with("origin", ORIGIN);
        let answer = ask.reject(&sessions_on()).into_answer();
        assert_eq!(values(&answer, "access-control-allow-origin"), [ORIGIN], "{answer:?}");
        assert_eq!(values(&answer, "access-control-expose-headers"), ["mcp-session-id"]);
        assert_eq!(values(&answer, "vary"), ["origin"]);
        let silent = ask.reject(&intake(|config| config.cors = false));
        assert_eq!(silent.grant, None, "{silent:?}");
    }
    for ask in [ping(), initialize(), get(), delete()] {
        let ask = ask.with("origin", ORIGIN);
        assert!(ask.admitted(&sessions_on()).grant().is_some());
        assert_eq!(ask.admitted(&intake(|config| config.cors = false)).grant(), None);
    }
}

#[test]
fn i5_refusals_of_the_auth_hook_bear_the_grant_too() {
    let with_origin = |ask: Ask| ask.with("origin", ORIGIN);
    let expected = |refusal: mcp_http_core::reject::Reject| {
        values(&refusal.into_answer(), "access-control-allow-origin").len()
    };
    for (ask, grants) in
        [(with_origin(ping()), 1), (ping(), 0), (ping().with("origin", "http://example.com"), 0)]
    {
        let reject = sessions_on().refuse(&ask.parts(), Refusal::Forbidden);
        assert_eq!(reject.refusal, Refusal::Forbidden);
        assert_eq!(expected(reject), grants);
    }
    let Verdict::Body(needs) = with_origin(ping()).head(&sessions_on()) else { panic!("refused") };
    assert!(needs.grant().is_some());
    assert_eq!(expected(needs.refuse(Refusal::Forbidden)), 1);
    let reject = with_origin(get()).admitted(&sessions_on()).refuse(Refusal::Forbidden);
    assert_eq!(reject.id, None);
    assert_eq!(expected(reject), 1);
    let reject = with_origin(ping()).admitted(&sessions_on()).refuse(Refusal::TooBusy);
    assert_eq!(intake_support::id(&reject), Some("7"));
    assert_eq!(expected(reject), 1);
}

#[test]
fn i5_with_cors_off_origins_are_judged_and_nothing_is_granted() {
    let intake = intake(|config| config.cors = false);
    assert_eq!(preflight().set("origin", "null").refusal(&intake), Refusal::OriginNotAllowed);
    let answer = answer(&preflight(), &intake);
    assert_eq!(values(&answer, "allow"), ["POST, GET, DELETE, OPTIONS"]);
    assert!(answer.fields.iter().all(|(name, _)| !name.as_str().starts_with("access-control")), "{answer:?}");
}

#[test]
fn x4_health_answers_whoever_asks_and_statistics_only_allowed_hosts_and_origins() {
    let intake = intake(|config| {
        config.health_path = Some("/health".into());
        config.stats_path = Some("/__stats".into());
    });
    let foreign_host = |ask: Ask| ask.set("host", "10.0.0.7:80");
    let foreign_origin = |ask: Ask| ask.with("origin", "http://example.com");
    for method in ["GET", "HEAD"] {
        let health = ping().method(method).target("/health?x");
        for ask in [
            health.clone(),
            foreign_host(health.clone()),
            foreign_origin(health.clone()),
            health.without("host"),
        ] {
            assert_eq!(ask.judge(&intake), Judged::Health, "{ask:?}");
        }
        let stats = ping().method(method).target("/__stats");
        assert_eq!(stats.judge(&intake), Judged::Stats);
        assert_eq!(foreign_host(stats.clone()).refusal(&intake), Refusal::HostNotAllowed);
        assert_eq!(foreign_origin(stats.clone()).refusal(&intake), Refusal::OriginNotAllowed);
        assert_eq!(stats.without("host").refusal(&intake), Refusal::HostNotAllowed);
    }
    for target in ["/health", "/__stats"] {
        for method in ["POST", "DELETE", "OPTIONS", "PUT"] {
            let reject = ping().method(method).target(target).reject(&intake);
            assert_eq!(reject.refusal, Refusal::MethodNotAllowed(Allow::Get), "{method} {target}");
            assert_eq!(values(&reject.into_answer(), "allow"), ["GET, HEAD"]);
        }
    }
    for target in ["/health/", "/__stats/", "/healthx"] {
        assert_eq!(get().target(target).refusal(&intake), Refusal::UnknownPath, "{target}");
    }
    for target in ["/health", "/__stats"] {
        assert_eq!(get().target(target).refusal(&sessions_on()), Refusal::UnknownPath, "off by default");
    }
}

#[test]
fn x4_a_path_of_its_own_wins_over_the_endpoints_slash() {
    let intake = intake(|config| config.health_path = Some("/mcp/".into()));
    assert_eq!(get().target("/mcp/").judge(&intake), Judged::Health);
    assert_eq!(get().kind(&intake), Kind::Open { last_event_id: None });
}
