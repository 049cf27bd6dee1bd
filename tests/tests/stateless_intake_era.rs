//! I12, Z1 and Z2: which era a message belongs to, by every pair of body and field; what a server of one era
//! alone says to the other; and that nothing of a session is looked at.
mod intake_support;

use intake_support::stateless::{
    META, VERSION, call, check_admitted, list, listen, notice, refused_by, request, servers, stateless_only,
    status_and_code,
};
use intake_support::{
    Ask, BOTH_ERAS, Judged, SESSION, delete, get, id, initialize, intake, json, message, ping, post,
    sessions_off, sessions_on, values,
};
use mcp_http_core::config::Eras;
use mcp_http_core::intake::{Kind, Verdict};
use mcp_http_core::reject::{Allow, Refusal};
use mcp_http_core::version::Version;

const STATELESS_ONLY: [Version; 1] = [Version::V2026_07_28];

/// How the version field can be. A proxy that strips it makes the first one of any other.
const FIELDS: [&[&str]; 11] = [
    &[],
    &["2025-03-26"],
    &["2025-06-18"],
    &["2025-11-25"],
    &["2026-07-28"],
    &["2026-07-28", "2026-07-28"],
    &["2027-01-01"],
    &["x"],
    &[""],
    &["2026-07-28", "2025-11-25"],
    &["\u{e9}"],
];

fn with_version(ask: Ask, lines: &[&str]) -> Ask {
    lines.iter().fold(ask.without("mcp-protocol-version"), |ask, line| ask.with("mcp-protocol-version", line))
}

fn notice_with_meta() -> Ask {
    notice().body(format!(r#"{{"jsonrpc":"2.0","method":"initialize","params":{{"_meta":{{{META}}}}}}}"#))
}

fn unsupported(requested: &str, supported: &'static [Version]) -> Refusal {
    Refusal::UnsupportedVersion { requested: requested.into(), supported }
}

#[test]
fn i12_a_request_with_the_version_key_is_stateless_whatever_the_field_says() {
    for ask in [
        list(),
        call("t", "{}"),
        request("initialize", r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}"#),
    ] {
        for lines in FIELDS {
            for session in [None, Some(SESSION)] {
                let ask = session.map_or(ask.clone(), |session| ask.clone().with("mcp-session-id", session));
                let ask = with_version(ask, lines);
                for intake in servers() {
                    let says_the_same = lines.first() == Some(&VERSION) && lines.last() == Some(&VERSION);
                    match ask.judge(&intake) {
                        Judged::Admit(admitted) => {
                            assert!(says_the_same, "{ask:?}");
                            assert!(matches!(admitted.kind(), Kind::Stateless(_)), "{ask:?}");
                        }
                        Judged::Reject(reject) => {
                            let expected = if says_the_same { (404, -32601) } else { (400, -32020) };
                            assert_eq!(status_and_code(reject.refusal), expected, "{ask:?}");
                        }
                        other => panic!("{ask:?} {other:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn i12_a_notice_with_the_version_key_is_stateless_whatever_the_field_says() {
    for lines in FIELDS {
        for intake in servers() {
            let admitted = with_version(notice_with_meta(), lines).admitted(&intake);
            assert!(matches!(admitted.kind(), Kind::StatelessNotice(_)), "{lines:?}");
            assert_eq!(admitted.session(), None);
        }
    }
}

#[test]
fn i12_without_the_key_the_field_decides() {
    for ask in [ping(), initialize(), post(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[]}"#)] {
        for intake in [sessions_on(), sessions_off()] {
            let ask = with_version(ask.clone(), &[VERSION]);
            assert_eq!(status_and_code(ask.refusal(&intake)), (400, -32602), "{ask:?}");
        }
    }
    for lines in [&[][..], &["2025-03-26"], &["2025-11-25"]] {
        assert!(matches!(with_version(ping(), lines).kind(&sessions_on()), Kind::Call(_)));
        assert!(matches!(with_version(ping(), lines).kind(&sessions_off()), Kind::Call(_)));
    }
    for lines in [&["2027-01-01"][..], &["x"], &[""], &[VERSION, "2025-11-25"]] {
        let refusal = with_version(ping(), lines).refusal(&sessions_on());
        assert_eq!(refusal, Refusal::BadVersionField { supported: &BOTH_ERAS }, "{lines:?}");
    }
}

#[test]
fn i12_however_the_key_is_written_it_is_the_key() {
    let with = |meta: &str| {
        list()
            .body(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{meta}}}}}"#))
    };
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    for meta in [
        format!(r#"{{"\u0069o.modelcontextprotocol\/protocolVersion":"2026-07-28",{capabilities}}}"#),
        format!(r#"{{"a":1,{capabilities},"io.modelcontextprotocol/protocolVersion" : "2026\u002d07-28" }}"#),
    ] {
        let _ = check_admitted(&with(&meta));
    }
    // None of these says which era it is, so that the field alone does.
    for meta in ["{}", "[]", "1", r#"{"a":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#] {
        let ask = with(meta).set("mcp-protocol-version", "2025-11-25").with("mcp-session-id", SESSION);
        assert!(matches!(ask.kind(&sessions_on()), Kind::Call(_)), "{meta}");
        assert_eq!(status_and_code(with(meta).refusal(&sessions_on())), (400, -32602), "{meta}");
    }
}

#[test]
fn i12_initialize_is_a_handshake_unless_it_is_stateless_and_then_unknown() {
    assert!(initialize().admitted(&sessions_on()).opens_session());
    let ask = request("initialize", r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}"#);
    for intake in servers() {
        assert_eq!(refused_by(&intake, &ask), Refusal::MethodNotFound);
    }
}

#[test]
fn i12_methods_that_the_revision_dropped_are_404() {
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        for intake in servers() {
            let reject = request(method, r#""uri":"a:b","level":"debug""#).reject(&intake);
            assert_eq!(reject.refusal, Refusal::MethodNotFound, "{method}");
            let answer = reject.into_answer();
            assert_eq!(answer.status.as_u16(), 404);
            let body = json(&answer);
            assert_eq!((&body["id"], &body["error"]["code"]), (&7.into(), &(-32601).into()));
        }
    }
    // Which others there are, the application knows.
    for method in ["unknown/method", "Ping", "pings", "initialized", "", "tasks/list", "server/discover"] {
        let _ = check_admitted(&request(method, ""));
    }
}

#[test]
fn z1_get_and_delete_of_the_stateless_era_are_405_before_anything_of_a_session() {
    for ask in [get(), delete(), ping().method("PUT"), get().method("HEAD")] {
        for ask in [
            ask.clone(),
            ask.clone().without("mcp-session-id"),
            ask.clone().set("mcp-session-id", "a b"),
            ask.with("last-event-id", "a b").set("accept", "text/html"),
        ] {
            for lines in [&[VERSION][..], &[VERSION, VERSION], &[" 2026-07-28\t"]] {
                let reject = with_version(ask.clone(), lines).reject(&sessions_on());
                assert_eq!(reject.refusal, Refusal::MethodNotAllowed(Allow::Post), "{ask:?}");
                let answer = reject.into_answer();
                assert_eq!(answer.status.as_u16(), 405);
                assert_eq!(values(&answer, "allow"), ["POST, OPTIONS"]);
            }
        }
    }
    // A field that names no era, or the other one, makes no difference.
    for lines in [&[][..], &["2025-11-25"]] {
        assert!(matches!(with_version(get(), lines).kind(&sessions_on()), Kind::Open { .. }));
        assert!(matches!(with_version(delete(), lines).kind(&sessions_on()), Kind::Delete));
    }
    for lines in [&["2027-01-01"][..], &[VERSION, "2025-11-25"]] {
        for ask in [get(), delete()] {
            let refusal = with_version(ask, lines).refusal(&sessions_on());
            assert_eq!(refusal, Refusal::BadVersionField { supported: &BOTH_ERAS });
        }
    }
}

#[test]
fn z1_session_and_event_ids_are_ignored_in_whatever_state() {
    let long = "a".repeat(10_000);
    let ids: [&[&[u8]]; 8] = [
        &[SESSION.as_bytes()],
        &[b"unknown"],
        &[b""],
        &[b"a b"],
        &[b"\xff"],
        &[long.as_bytes()],
        &[SESSION.as_bytes(), SESSION.as_bytes()],
        &[SESSION.as_bytes(), b"x", b"\xe9"],
    ];
    for lines in ids {
        for name in ["mcp-session-id", "last-event-id"] {
            for ask in [list(), listen("{}"), notice(), notice_with_meta(), call("t", "{}")] {
                let bare = ask.clone().without("mcp-session-id");
                let ask = lines.iter().fold(ask, |ask, line| ask.with(name, line));
                for intake in servers() {
                    let Verdict::Body(needs) = ask.head(&intake) else { panic!("refused: {ask:?}") };
                    assert_eq!(needs.session(), None, "{ask:?}");
                    let admitted = ask.admitted(&intake);
                    assert_eq!(admitted.session(), None, "{ask:?}");
                    assert_eq!(admitted, bare.admitted(&intake));
                }
            }
        }
    }
}

#[test]
fn z2_a_reply_or_a_batch_is_400_invalid_request() {
    let (request, notice, reply) = (
        r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
    );
    let with_meta = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"_meta":{{{META}}}}}}}"#);
    let error = r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m"}}"#;
    for body in [
        reply.to_string(),
        error.to_string(),
        "[]".to_string(),
        format!("[{request}]"),
        format!("[{with_meta}]"),
        format!("[{notice},{reply}]"),
        format!("[{request},1]"),
    ] {
        for session in [None, Some(SESSION)] {
            let ask = list().body(body.clone());
            let ask = session.map_or(ask.clone(), |session| ask.with("mcp-session-id", session));
            for intake in servers() {
                let reject = ask.reject(&intake);
                assert_eq!(id(&reject), None, "{ask:?}");
                assert_eq!(status_and_code(reject.refusal), (400, -32600), "{ask:?}");
            }
        }
    }
    // Also where the field is not there, if there is no other era.
    for body in [reply.to_string(), format!("[{request}]")] {
        for lines in [&[][..], &["2025-11-25"], &["x"]] {
            let reject = with_version(list().body(body.clone()), lines).reject(&stateless_only());
            assert_eq!(status_and_code(reject.refusal), (400, -32600), "{body}");
        }
    }
}

#[test]
fn z2_a_batch_with_a_stateless_message_is_refused_whatever_the_field_says() {
    let with_meta = format!(r#"[{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"_meta":{{{META}}}}}}}]"#);
    for lines in FIELDS {
        let ask = with_version(post(with_meta.clone()), lines);
        assert_eq!(status_and_code(ask.refusal(&sessions_on())), (400, -32600), "{lines:?}");
    }
}

#[test]
fn z2_a_notice_needs_neither_metadata_nor_fields() {
    for ask in
        [notice(), notice().with("mcp-method", "other").with("mcp-name", "=?base64?x?="), notice_with_meta()]
    {
        for intake in servers() {
            assert!(matches!(ask.kind(&intake), Kind::StatelessNotice(_)), "{ask:?}");
        }
    }
}

#[test]
fn i7_the_shape_is_judged_before_the_era() {
    for (body, echoed) in [
        (format!(r#"{{"jsonrpc":"1.0","id":7,"method":"m","params":{{"_meta":{{{META}}}}}}}"#), Some("7")),
        (format!(r#"{{"jsonrpc":"2.0","id":7.5,"method":"m","params":{{"_meta":{{{META}}}}}}}"#), None),
        (format!(r#"{{"jsonrpc":"2.0","id":null,"method":"m","params":{{"_meta":{{{META}}}}}}}"#), None),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":1}"#.to_string(), Some("7")),
        (r#"{"jsonrpc":"2.0","id":7,"method":1}"#.to_string(), Some("7")),
    ] {
        for intake in servers() {
            let reject = list().body(body.clone()).reject(&intake);
            assert_eq!(id(&reject), echoed, "{body}");
            assert_eq!(status_and_code(reject.refusal), (400, -32600), "{body}");
        }
    }
}

#[test]
fn i12_a_server_of_the_stateless_era_alone_names_what_it_serves() {
    let tools = || post(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
    for (ask, lines, requested) in [
        (initialize(), &[][..], "2025-06-18"),
        (initialize(), &["2025-11-25"], "2025-11-25"),
        (initialize(), &["2024-11-05"], "2024-11-05"),
        (initialize().body(r#"{"jsonrpc":"2.0","id":7,"method":"initialize"}"#), &[], ""),
        (
            initialize()
                .body(r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}"#),
            &[],
            "1",
        ),
        (tools(), &[], ""),
        (tools(), &["2025-03-26"], "2025-03-26"),
        (tools(), &["2025-11-25", "2025-11-25"], "2025-11-25"),
        (tools(), &[" 2027-01-01 "], "2027-01-01"),
        (tools(), &["draft"], "draft"),
    ] {
        for session in ["unknown", SESSION, "a b"] {
            let ask = with_version(ask.clone(), lines).set("mcp-session-id", session);
            let Verdict::Body(needs) = ask.head(&stateless_only()) else { panic!("refused: {ask:?}") };
            assert_eq!(needs.session(), None);
            let refusal = refused_by(&stateless_only(), &ask);
            assert_eq!(refusal, unsupported(requested, &STATELESS_ONLY), "{ask:?}");
            assert_eq!(status_and_code(refusal), (400, -32022));
        }
    }
    let notice = with_version(notice(), &["2025-11-25"]).reject(&stateless_only());
    assert_eq!((id(&notice), notice.refusal.clone()), (None, unsupported("2025-11-25", &STATELESS_ONLY)));
    let body = json(&initialize().reject(&stateless_only()).into_answer());
    assert_eq!(
        body["error"]["data"],
        serde_json::json!({"supported": ["2026-07-28"], "requested": "2025-06-18"})
    );
    for lines in [&["2025-11-25", "2025-06-18"][..], &[""], &["a b"]] {
        let reject = with_version(ping(), lines).reject(&stateless_only());
        assert_eq!(reject.refusal, Refusal::BadVersionField { supported: &STATELESS_ONLY });
        assert_eq!(message(&reject), "MCP-Protocol-Version must be 2026-07-28, given once");
    }
}

#[test]
fn i12_a_server_of_the_stateless_era_alone_has_no_get_and_no_delete() {
    for ask in [get(), delete(), ping().method("PUT")] {
        for lines in FIELDS {
            let reject = with_version(ask.clone(), lines).reject(&stateless_only());
            assert_eq!(reject.refusal, Refusal::MethodNotAllowed(Allow::Post), "{lines:?}");
            assert_eq!(values(&reject.into_answer(), "allow"), ["POST, OPTIONS"]);
        }
    }
    let Judged::Answer(answer) = ping().method("OPTIONS").judge(&stateless_only()) else { panic!("refused") };
    assert_eq!(values(&answer, "allow"), ["POST, OPTIONS"]);
}

#[test]
fn i12_a_server_of_the_handshake_era_alone_refuses_the_other_with_what_it_serves() {
    let server = intake(|config| config.eras = Eras::Handshake);
    for ask in [list(), listen("{}"), call("t", "{}"), request("ping", "")] {
        let refusal = refused_by(&server, &ask);
        assert_eq!(refusal, unsupported(VERSION, &intake_support::HANDSHAKE_ONLY));
    }
    for ask in [notice(), notice_with_meta()] {
        assert_eq!(ask.refusal(&server), unsupported(VERSION, &intake_support::HANDSHAKE_ONLY));
    }
}
