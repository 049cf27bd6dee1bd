//! I10 and I12: the version field as one of a closed list, and what a server of the handshake era alone says
//! to the stateless one. Both eras together are in `stateless_intake_era`.
mod intake_support;

use intake_support::{
    Ask, BAD_VERSION, HANDSHAKE_ONLY, delete, get, id, initialize, intake, message, ping, post, sessions_off,
    sessions_on,
};
use mcp_http_core::config::{Eras, SessionMode};
use mcp_http_core::intake::{Intake, Kind};
use mcp_http_core::reject::{Refusal, Reject};

const HANDSHAKE: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// Well-formed or not, none is a revision we know.
const UNKNOWN: [&str; 16] = [
    "2024-11-05",
    "2025-03-27",
    "2025-11-26",
    "2025-12-01",
    "2026-07-29",
    "2027-01-01",
    "9999-99-99",
    "1.0",
    "latest",
    "draft",
    "2025-11-25x",
    "2025-11-2",
    "2025-11-25,2025-11-25",
    "2025-06-18;q=1",
    "2025-06-18\u{e9}",
    "2025 06 18",
];

fn with_version(ask: Ask, lines: &[&str]) -> Ask {
    lines.iter().fold(ask.without("mcp-protocol-version"), |ask, line| ask.with("mcp-protocol-version", line))
}

fn notice() -> Ask {
    post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
}

fn reply() -> Ask {
    post(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#)
}

fn with_meta(meta: &str) -> Ask {
    post(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{meta}}}}}"#))
}

/// Refused by a server of the handshake era alone.
fn unsupported(requested: &str) -> Refusal {
    Refusal::UnsupportedVersion { requested: requested.into(), supported: &HANDSHAKE_ONLY }
}

fn handshake_only() -> [Intake; 2] {
    [SessionMode::On, SessionMode::Off]
        .map(|mode| intake(|config| (config.eras, config.sessions) = (Eras::Handshake, mode)))
}

#[test]
fn i10_handshake_revisions_and_no_field_pass_on_every_method() {
    for ask in [ping(), notice(), reply(), get(), delete()] {
        for lines in [&["2025-03-26"][..], &["2025-06-18"], &["2025-11-25"], &[], &[" \t2025-11-25 "]] {
            let _ = with_version(ask.clone(), lines).admitted(&sessions_on());
        }
    }
    for lines in [&["2025-03-26"][..], &["2025-11-25"], &[]] {
        for ask in [ping(), notice(), reply()] {
            let _ = with_version(ask, lines).admitted(&sessions_off());
        }
    }
}

#[test]
fn i10_the_same_value_twice_is_as_once_and_another_is_refused() {
    for ask in [ping(), get(), delete()] {
        for known in HANDSHAKE {
            let _ = with_version(ask.clone(), &[known, known, known]).admitted(&sessions_on());
            for other in ["2024-11-05", "", "2026-07-28", "2025-11-25x", "x"] {
                for lines in [[known, other], [other, known]] {
                    let refusal = with_version(ask.clone(), &lines).refusal(&sessions_on());
                    assert_eq!(refusal, BAD_VERSION, "{lines:?}");
                }
            }
        }
        let lines = ["2025-11-25", "2025-11-25", "2025-06-18"];
        assert_eq!(with_version(ask, &lines).refusal(&sessions_on()), BAD_VERSION);
    }
}

#[test]
fn i10_unknown_malformed_and_empty_are_400_on_post_get_and_delete() {
    for value in UNKNOWN.into_iter().chain(["", " ", "\t"]) {
        for ask in [ping(), notice(), reply(), get(), delete()] {
            let ask = ask.set("mcp-protocol-version", value);
            assert_eq!(ask.refusal(&sessions_on()), BAD_VERSION, "{ask:?}");
        }
        for ask in [ping(), notice(), reply()] {
            let ask = ask.set("mcp-protocol-version", value);
            assert_eq!(ask.refusal(&sessions_off()), BAD_VERSION, "{ask:?}");
        }
    }
    let answer = get().set("mcp-protocol-version", "1").reject(&sessions_on()).into_answer();
    assert_eq!(answer.status.as_u16(), 400);
}

#[test]
fn i10_a_post_is_refused_with_its_id_and_a_reply_without() {
    let id_of = |ask: Ask| {
        let reject = ask.set("mcp-protocol-version", "1").reject(&sessions_on());
        id(&reject).map(String::from)
    };
    assert_eq!(id_of(ping()).as_deref(), Some("7"));
    assert_eq!(id_of(notice()), None);
    assert_eq!(id_of(reply()), None);
}

#[test]
fn i10_on_initialize_the_field_may_be_unknown_but_not_malformed() {
    let asking_for = |version: &str| {
        initialize().body(format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{}}}}}}"#
        ))
    };
    for version in ["2024-11-05", "2030-01-01", "1.0", "2025-06-18", "2025-11-25"] {
        for intake in [sessions_on(), sessions_off()] {
            let _ = with_version(asking_for(version), &[version]).admitted(&intake);
            let _ = with_version(asking_for(version), &[version, version]).admitted(&intake);
        }
    }
    for lines in [
        &[""][..],
        &["2025-06-18", "2025-11-25"],
        &["2025-06-18", "x"],
        &["x", "2025-06-18"],
        &["2025 06 18"],
    ] {
        for intake in [sessions_on(), sessions_off()] {
            let reject = with_version(asking_for("2025-06-18"), lines).reject(&intake);
            assert_eq!(reject.refusal, BAD_VERSION, "{lines:?}");
            assert_eq!(id(&reject), Some("7"));
        }
    }
    // Not even if the body says the same.
    let odd = asking_for("2025-06-18\u{e9}").set("mcp-protocol-version", "2025-06-18\u{e9}");
    assert_eq!(odd.refusal(&sessions_on()), BAD_VERSION);
}

#[test]
fn i10_on_initialize_the_field_must_say_what_the_body_says() {
    for lines in [
        &["2025-11-25"][..],
        &["2025-03-26"],
        &["2024-11-05"],
        &["2025-06-18x"],
        &["2025-11-25", "2025-11-25"],
    ] {
        for intake in [sessions_on(), sessions_off()] {
            let Reject { refusal, id: echoed, .. } = with_version(initialize(), lines).reject(&intake);
            assert!(
                matches!(refusal, Refusal::InvalidRequest(why) if why.contains("differs")),
                "{lines:?} {refusal:?}"
            );
            assert_eq!(echoed.unwrap().literal(), b"7");
        }
    }
}

#[test]
fn i12_the_stateless_version_key_decides_whatever_the_field_says() {
    for (meta, requested) in [
        (r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#, "2026-07-28"),
        (r#"{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}"#, "2027-01-01"),
        (r#"{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}"#, "2025-11-25"),
        (r#"{"a":1,"io.modelcontextprotocol/protocolVersion" : "2026-07-28" ,"b":{}}"#, "2026-07-28"),
        (r#"{"\u0069o.modelcontextprotocol\/protocolVersion":"2026-07-28"}"#, "2026-07-28"),
        (r#"{"io.modelcontextprotocol/protocolVersion":"2026\u002d07-28"}"#, "2026-07-28"),
        (r#"{"io.modelcontextprotocol/protocolVersion":""}"#, ""),
        (r#"{"io.modelcontextprotocol/protocolVersion":7}"#, "7"),
        (
            r#"{"io.modelcontextprotocol/protocolVersion":"a","io.modelcontextprotocol/protocolVersion":"b"}"#,
            "",
        ),
        (r#"{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#, "2026-07-28"),
        (r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"_meta":{}"#, "2026-07-28"),
    ] {
        for lines in [&[][..], &["2025-11-25"], &["2026-07-28"], &["x"], &[""], &["2025-06-18", "2025-11-25"]]
        {
            for intake in handshake_only() {
                let reject = with_version(with_meta(meta), lines).reject(&intake);
                assert_eq!(reject.refusal, unsupported(requested), "{meta} {lines:?}");
                assert_eq!(id(&reject), Some("7"));
            }
        }
    }
}

#[test]
fn i12_other_metadata_does_not_make_a_message_stateless() {
    for meta in [
        "{}",
        r#"{"progressToken":1}"#,
        r#"{"protocolVersion":"2026-07-28"}"#,
        "[]",
        "null",
        "1",
        r#""io.modelcontextprotocol/protocolVersion""#,
        r#"["io.modelcontextprotocol/protocolVersion"]"#,
        r#"{"a":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
        r#"{"io.modelcontextprotocol/clientCapabilities":{}}"#,
        r#"{"IO.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
        r#"{},"arguments":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
        r#"{},"io.modelcontextprotocol/protocolVersion":"2026-07-28""#,
    ] {
        assert!(matches!(with_meta(meta).kind(&sessions_on()), Kind::Call(_)), "{meta}");
    }
    let outside = post(
        r#"{"jsonrpc":"2.0","id":7,"method":"m","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"params":["_meta",{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}]}"#,
    );
    assert!(matches!(outside.kind(&sessions_on()), Kind::Call(_)));
}

#[test]
fn i12_a_stateless_field_makes_every_post_stateless() {
    for ask in [ping(), notice(), reply(), initialize()] {
        for intake in handshake_only() {
            let ask = ask.clone().set("mcp-protocol-version", "2026-07-28");
            assert_eq!(ask.refusal(&intake), unsupported("2026-07-28"), "{ask:?}");
        }
    }
}

#[test]
fn i12_initialize_with_stateless_metadata_opens_nothing() {
    let ask = initialize().body(
        r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    );
    for intake in handshake_only() {
        assert_eq!(ask.refusal(&intake), unsupported("2026-07-28"));
    }
}

#[test]
fn i12_where_the_stateless_era_is_not_served_its_get_and_delete_have_a_bad_version() {
    let [on, off] = handshake_only();
    for ask in [get(), delete()] {
        let ask = ask.set("mcp-protocol-version", "2026-07-28");
        assert_eq!(ask.refusal(&on), Refusal::BadVersionField { supported: &HANDSHAKE_ONLY });
        assert!(matches!(ask.refusal(&off), Refusal::MethodNotAllowed(_)));
    }
}

#[test]
fn i12_the_refusal_is_400_and_lists_what_is_served() {
    let [on, _] = handshake_only();
    let answer = ping().set("mcp-protocol-version", "2026-07-28").reject(&on).into_answer();
    assert_eq!(answer.status.as_u16(), 400);
    let body = intake_support::json(&answer);
    assert_eq!(body["id"], 7);
    assert_eq!(
        body["error"]["code"], -32600,
        "the code of an era that is not served would keep clients there"
    );
    assert_eq!(body["error"]["data"]["requested"], "2026-07-28");
    assert_eq!(body["error"]["data"]["supported"], serde_json::json!(HANDSHAKE));
}

#[test]
fn i10_the_refusal_names_what_is_served_and_nothing_else() {
    for (eras, says) in [
        (Eras::Both, "must be 2026-07-28, 2025-11-25, 2025-06-18 or 2025-03-26, given once"),
        (Eras::Handshake, "must be 2025-11-25, 2025-06-18 or 2025-03-26, given once"),
        (Eras::Stateless, "must be 2026-07-28, given once"),
    ] {
        let intake = intake(|config| config.eras = eras);
        let reject = with_version(ping(), &["2025-11-25", "x"]).reject(&intake);
        assert_eq!(message(&reject), format!("MCP-Protocol-Version {says}"));
    }
}

#[test]
fn i13_at_most_64_bytes_of_a_requested_version_are_reflected_in_whole_characters() {
    let [intake, _] = handshake_only();
    for (sent, reflected) in [
        ("x".repeat(64), "x".repeat(64)),
        ("x".repeat(65), "x".repeat(64)),
        ("x".repeat(100_000), "x".repeat(64)),
        ("\u{e9}".repeat(40), "\u{e9}".repeat(32)),
        (format!("x{}", "\u{e9}".repeat(40)), format!("x{}", "\u{e9}".repeat(31))),
        ("\u{1F600}".repeat(17), "\u{1F600}".repeat(16)),
    ] {
        let meta = format!(r#"{{"io.modelcontextprotocol/protocolVersion":"{sent}"}}"#);
        assert_eq!(with_meta(&meta).refusal(&intake), unsupported(&reflected));
    }
    let meta = format!(r#"{{"io.modelcontextprotocol/protocolVersion":[{}]}}"#, "[],".repeat(100) + "1");
    let Refusal::UnsupportedVersion { requested, .. } = with_meta(&meta).refusal(&intake) else {
        panic!("another refusal")
    };
    assert_eq!(requested.len(), 64);
}
