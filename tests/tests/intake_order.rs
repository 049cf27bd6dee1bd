//! The order of judgement, and I13: what a refusal says.
mod intake_support;

use intake_support::{Ask, delete, get, initialize, intake, ping, sessions_on, values};
use mcp_http_core::h1::Body;
use mcp_http_core::intake::Intake;
use proptest::prelude::*;

/// One way to break a request: what it is called in the table of refusals, and how it is done.
type Fault = (&'static str, fn(Ask) -> Ask);

/// Faults of a POST's head and of its body, in the order in which they are judged. Each can be had together
/// with each other one.
const POST_FAULTS: [Fault; 11] = [
    ("unknown_path", |ask| ask.target("/nowhere")),
    ("host_not_allowed", |ask| ask.set("host", "example.com")),
    ("origin_not_allowed", |ask| ask.with("origin", "null")),
    ("method_not_allowed", |ask| ask.method("PUT")),
    ("not_acceptable", |ask| ask.set("accept", "text/html")),
    ("unsupported_media_type", |ask| ask.set("content-type", "text/plain")),
    ("body_too_large", |ask| ask.with("content-length", "99999999")),
    ("not_json", |ask| ask.body("{")),
    // Of the stateless era, whose own order is in `stateless_intake_order`.
    ("invalid_params", |ask| {
        ask.body(
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        )
    }),
    ("bad_version_field", |ask| ask.set("mcp-protocol-version", "x")),
    ("bad_session_id", |ask| ask.set("mcp-session-id", "a b")),
];

const GET_FAULTS: [Fault; 8] = [
    ("unknown_path", |ask| ask.target("/nowhere")),
    ("host_not_allowed", |ask| ask.set("host", "example.com")),
    ("origin_not_allowed", |ask| ask.with("origin", "null")),
    ("method_not_allowed", |ask| ask.method("PUT")),
    ("not_acceptable", |ask| ask.set("accept", "text/html")),
    ("bad_version_field", |ask| ask.set("mcp-protocol-version", "x")),
    ("bad_session_id", |ask| ask.set("mcp-session-id", "a b")),
    ("bad_event_id", |ask| ask.with("last-event-id", "a b")),
];

/// Breaks `ask` by every pair of faults; the later one is put in first, so that the order of the
/// request's parts is no help.
fn check_pairs(ask: &Ask, faults: &[Fault]) {
    for (at, (first, break_first)) in faults.iter().enumerate() {
        assert_eq!(break_first(ask.clone()).refusal(&sessions_on()).name(), *first);
        for (second, break_second) in faults.iter().skip(at + 1) {
            let broken = break_first(break_second(ask.clone()));
            assert_eq!(broken.refusal(&sessions_on()).name(), *first, "{first} and {second}");
        }
    }
}

#[test]
fn i_the_first_failure_answers_on_post() {
    // With a version field, the two faults of the session id and the body change places: see below.
    check_pairs(&ping().without("mcp-protocol-version"), &POST_FAULTS);
}

#[test]
fn i_the_first_failure_answers_on_get_and_delete() {
    check_pairs(&get(), &GET_FAULTS);
    let of_delete: Vec<Fault> = GET_FAULTS
        .into_iter()
        .filter(|(name, _)| !["not_acceptable", "bad_event_id"].contains(name))
        .collect();
    check_pairs(&delete(), &of_delete);
}

#[test]
fn i_a_session_id_that_surely_means_something_is_judged_before_the_body() {
    let bad_session = |ask: Ask| ask.set("mcp-session-id", "a b").body("{");
    assert_eq!(bad_session(ping()).refusal(&sessions_on()).name(), "bad_session_id");
    let unsure = bad_session(ping().without("mcp-protocol-version"));
    assert_eq!(unsure.refusal(&sessions_on()).name(), "not_json");
}

#[test]
fn i_missing_sessions_come_after_everything_else_in_a_post_and_before_the_event_id_in_a_get() {
    for (name, fault) in POST_FAULTS.iter().filter(|(name, _)| *name != "bad_session_id") {
        let ask = fault(ping().without("mcp-protocol-version").without("mcp-session-id"));
        assert_eq!(ask.refusal(&sessions_on()).name(), *name);
    }
    let shape = ping().without("mcp-session-id").body("{}");
    assert_eq!(shape.refusal(&sessions_on()).name(), "invalid_request");
    let event = get().without("mcp-session-id").with("last-event-id", "a b");
    assert_eq!(event.refusal(&sessions_on()).name(), "missing_session");
}

#[test]
fn i_of_initialize_the_fields_come_before_the_parameters_and_these_before_their_agreement() {
    let params = |ask: Ask| {
        ask.body(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
        )
    };
    let name = |ask: Ask| ask.refusal(&sessions_on()).name();
    assert_eq!(name(params(initialize())), "invalid_params");
    assert_eq!(name(params(initialize().with("mcp-protocol-version", ""))), "bad_version_field");
    assert_eq!(name(params(initialize().with("mcp-session-id", "a b"))), "bad_session_id");
    assert_eq!(
        name(initialize().with("mcp-protocol-version", "").with("mcp-session-id", "a b")),
        "bad_version_field"
    );
    assert_eq!(name(params(initialize().with("mcp-protocol-version", "2025-11-25"))), "invalid_params");
    assert_eq!(name(initialize().with("mcp-protocol-version", "2025-11-25")), "invalid_request");
}

/// As long as what may be reflected, and one more.
const MARK: &str = "MARKMARKMARKMARKMARKMARKMARKMARKMARKMARKMARKMARKMARKMARKMARKMARKX";

fn refused_with_a_mark() -> Vec<Ask> {
    let field = |ask: Ask, name: &str| ask.set(name, MARK);
    vec![
        ping().target(&format!("/{MARK}?{MARK}")),
        field(ping(), "host"),
        ping().with("origin", format!("http://{MARK}")),
        ping().method(MARK),
        field(ping(), "accept"),
        field(ping(), "content-type"),
        field(ping(), "mcp-protocol-version"),
        field(initialize(), "mcp-protocol-version"),
        ping().set("mcp-session-id", format!("{MARK} {MARK}")),
        get().with("last-event-id", format!("{MARK} {MARK}")),
        ping().body(MARK),
        ping().body(format!("\"{MARK}\"")),
        ping().body(format!(r#"{{"jsonrpc":"{MARK}","method":"{MARK}"}}"#)),
        ping().body(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{MARK}","{MARK}":1,"params":"{MARK}"}}"#)),
        ping().body(format!(r#"{{"jsonrpc":"2.0","id":["{MARK}"],"method":"m"}}"#)),
        ping().body(format!(r#"[{{"jsonrpc":"2.0","id":"{MARK}"}}]"#)),
        ping().body(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{MARK}"}}}}}}"#
        )),
        initialize().body(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":["{MARK}"]}}}}"#)),
    ]
}

#[track_caller]
fn check_body(ask: &Ask, intake: &Intake) {
    let answer = ask.reject(intake).into_answer();
    assert!(answer.status.is_client_error(), "{answer:?}");
    assert_eq!(values(&answer, "content-type"), ["application/json"]);
    assert_eq!(values(&answer, "mcp-session-id"), [""; 0]);
    let Body::Full(body) = &answer.body else { panic!("no body: {answer:?}") };
    let shown = String::from_utf8(body.to_vec()).unwrap();
    let body: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(body["jsonrpc"], "2.0");
    assert!(
        body["error"]["code"].is_i64() && body["error"]["message"].as_str().unwrap().len() > 10,
        "{shown}"
    );
    assert_ne!(body.get("id"), Some(&serde_json::Value::Null), "absent, never null");
    let fields = answer.fields.iter().map(|(_, value)| format!("{value:?}")).collect::<String>();
    assert!(!shown.contains(MARK) && !fields.contains(MARK), "{shown} {fields}");
}

#[test]
fn i13_every_refusal_is_json_rpc_and_reflects_no_more_than_64_bytes() {
    for ask in refused_with_a_mark() {
        check_body(&ask, &sessions_on());
    }
    for (_, fault) in POST_FAULTS {
        check_body(&fault(ping()), &sessions_on());
    }
    for (_, fault) in GET_FAULTS {
        check_body(&fault(get()), &sessions_on());
    }
    check_body(
        &ping().method("PUT").target("/health"),
        &intake(|config| config.health_path = Some("/health".into())),
    );
}

proptest! {
    #[test]
    fn i_random_heads_never_panic(
        method in proptest::sample::select(vec!["POST", "GET", "DELETE", "OPTIONS", "HEAD", "X"]),
        target in proptest::sample::select(vec!["/mcp", "/mcp/", "/", "*", "http://localhost/mcp", "https://[::1]:1/mcp?x"]),
        lines in proptest::collection::vec((
            proptest::sample::select(vec![
                "host", "origin", "accept", "content-type", "content-length", "content-encoding", "mcp-session-id",
                "mcp-protocol-version", "last-event-id", "access-control-request-method",
                "access-control-request-headers",
            ]),
            prop_oneof![
                r#"[a-z*/;=,"\\ :\[\]0-9.-]{0,24}"#.prop_map(String::into_bytes),
                proptest::collection::vec(prop_oneof![Just(b'\t'), 0x20..=0x7e_u8, 0x80..=0xff_u8], 0..24),
            ],
        ), 0..6),
        body in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let ask = lines.iter().fold(ping().method(method).target(target).body(body), |ask, (name, value)| {
            ask.set(name, value)
        });
        for allowed in [mcp_http_core::config::AllowedHosts::Loopback, mcp_http_core::config::AllowedHosts::Any] {
            let _ = ask.judge(&intake_support::hosts(allowed.clone()));
        }
    }
}
