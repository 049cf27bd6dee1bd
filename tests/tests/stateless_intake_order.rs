//! Z3 and Z6, and the order of judgement of the stateless era.
mod intake_support;

use intake_support::stateless::{
    META, VERSION, check_admitted, check_invalid_params, check_mismatch, list, refused, request, servers,
    stateless_only, status_and_code, with_meta,
};
use intake_support::{Ask, BOTH_ERAS, ping, sessions_on};
use mcp_http_core::reject::Refusal;
use mcp_http_core::version::Version;
use proptest::prelude::*;

const PROTOCOL: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;

fn meta(meta: &str) -> Ask {
    with_meta("server/discover", meta, "")
}

fn params(params: &str) -> Ask {
    meta("").body(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{params}}}"#))
}

/// Both say `version`.
fn of_version(version: &str) -> Ask {
    meta(&META.replace(VERSION, version)).set("mcp-protocol-version", version)
}

#[test]
fn z3_a_request_must_name_its_version_once_as_a_string() {
    for ask in [
        params("{}"),
        params("[]"),
        params("[1]"),
        params(r#"{"_meta":null}"#),
        params(r#"{"_meta":[]}"#),
        params(r#"{"_meta":"x"}"#),
        params(r#"{"_meta":{}}"#),
        params(&format!(r#"{{{PROTOCOL},{CAPABILITIES}}}"#)),
        ping().set("mcp-protocol-version", VERSION),
        meta(CAPABILITIES),
        meta(&format!(r#""protocolVersion":"2026-07-28",{CAPABILITIES}"#)),
    ] {
        check_invalid_params(&ask, "protocolVersion, a string");
    }
    for value in ["null", "1", "true", "[]", "{}", r#"["2026-07-28"]"#, r#""\ud800""#] {
        let ask = meta(&format!(r#""io.modelcontextprotocol/protocolVersion":{value},{CAPABILITIES}"#));
        check_invalid_params(&ask, "protocolVersion, a string");
        // Whatever the field says about it.
        check_invalid_params(&ask.without("mcp-protocol-version"), "protocolVersion, a string");
    }
    check_invalid_params(&meta(&format!("{PROTOCOL},{PROTOCOL},{CAPABILITIES}")), "given once");
}

#[test]
fn z3_a_request_must_say_once_what_the_client_can_do() {
    check_invalid_params(&meta(PROTOCOL), "clientCapabilities, an object");
    check_invalid_params(&meta(&format!(r#"{PROTOCOL},"clientCapabilities":{{}}"#)), "clientCapabilities");
    for value in ["null", "1", "true", "[]", r#""{}""#, "[{}]"] {
        let ask = meta(&format!(r#"{PROTOCOL},"io.modelcontextprotocol/clientCapabilities":{value}"#));
        check_invalid_params(&ask, "clientCapabilities, an object");
    }
    check_invalid_params(&meta(&format!("{PROTOCOL},{CAPABILITIES},{CAPABILITIES}")), "given once");
    for value in ["{}", " { } ", r#"{"sampling":{},"x":[1]}"#] {
        let ask = meta(&format!(r#"{PROTOCOL},"io.modelcontextprotocol/clientCapabilities":{value}"#));
        let _ = check_admitted(&ask);
    }
}

#[test]
fn z3_who_the_client_is_may_be_left_out_but_not_be_something_else() {
    let base = format!("{PROTOCOL},{CAPABILITIES}");
    let _ = check_admitted(&meta(&base));
    for value in ["{}", r#"{"name":"c","version":"1"}"#] {
        let _ = check_admitted(&meta(&format!(r#"{base},"io.modelcontextprotocol/clientInfo":{value}"#)));
    }
    for value in ["null", "1", "[]", r#""c""#, r#"{},"io.modelcontextprotocol/clientInfo":{}"#] {
        let ask = meta(&format!(r#"{base},"io.modelcontextprotocol/clientInfo":{value}"#));
        check_invalid_params(&ask, "clientInfo");
    }
}

#[test]
fn z3_metadata_given_twice_is_refused_as_readers_would_disagree() {
    let whole = format!(r#""_meta":{{{META}}}"#);
    for params_ in [
        format!("{{{whole},{whole}}}"),
        format!(r#"{{{whole},"_meta":{{}}}}"#),
        format!(r#"{{"_meta":{{}},{whole}}}"#),
        format!(r#"{{"_meta":1,{whole}}}"#),
    ] {
        check_invalid_params(&params(&params_), "twice");
    }
}

#[test]
fn z6_a_version_that_is_not_served_is_named_with_those_that_are() {
    for version in [
        "v999.0.0",
        "1900-01-01",
        "2027-01-01",
        "2026-07-29",
        "2026-07-28x",
        "draft",
        "2025-11-25",
        "2025-03-26",
    ] {
        for (intake, supported) in
            servers().into_iter().zip([&BOTH_ERAS[..], &BOTH_ERAS, &[Version::V2026_07_28]])
        {
            let reject = of_version(version).reject(&intake);
            assert!(
                matches!(&reject.refusal, Refusal::UnsupportedVersion { requested, supported: listed }
                    if **requested == *version && *listed == supported),
                "{reject:?}"
            );
            let body = intake_support::json(&reject.into_answer());
            let supported: Vec<&str> = supported.iter().map(|version| version.name()).collect();
            assert_eq!(body["id"], 7);
            assert_eq!(body["error"]["code"], -32022);
            let data = serde_json::json!({"supported": supported, "requested": version});
            assert_eq!(body["error"]["data"], data);
        }
    }
}

#[test]
fn z6_who_disagrees_with_itself_learns_that_first() {
    for version in ["v999.0.0", "2025-11-25", "", "2026-07-28 "] {
        check_mismatch(
            &of_version(version).set("mcp-protocol-version", VERSION),
            "MCP-Protocol-Version",
            "differs",
        );
    }
    for field in ["v999.0.0", "2025-11-25"] {
        check_mismatch(&list().set("mcp-protocol-version", field), "MCP-Protocol-Version", "differs");
    }
    check_mismatch(&of_version("v999").without("mcp-protocol-version"), "MCP-Protocol-Version", "missing");
}

#[test]
fn i13_at_most_64_bytes_of_a_requested_version_are_reflected() {
    for length in [64, 65, 5_000] {
        let Refusal::UnsupportedVersion { requested, .. } = refused(&of_version(&"x".repeat(length))) else {
            panic!("another refusal")
        };
        assert_eq!(&*requested, "x".repeat(64));
    }
    let unserved = ping().set("mcp-protocol-version", "x".repeat(5_000)).refusal(&stateless_only());
    assert!(matches!(unserved, Refusal::UnsupportedVersion { requested, .. } if requested.len() == 64));
}

/// One way to break a request, and the code by which that is known.
type Fault = (i64, fn(Ask) -> Ask);

/// In the order in which they are judged. Each takes the body before the next one, so that all can be had at
/// once.
const FAULTS: [Fault; 6] = [
    (-32602, |ask| replaced(ask, "clientCapabilities", "capabilities")),
    (-32020, |ask| ask.without("mcp-protocol-version")),
    (-32022, |ask| replaced(ask, VERSION, "2030-01-01").set("mcp-protocol-version", "2030-01-01")),
    (-32020, |ask| ask.set("mcp-method", "other")),
    (-32020, |ask| ask.set("mcp-name", "other")),
    (-32601, |ask| replaced(ask, "tools/call", "ping").set("mcp-method", "ping")),
];

fn replaced(ask: Ask, from: &str, to: &str) -> Ask {
    let text = String::from_utf8(ask.text().to_vec()).unwrap().replace(from, to);
    ask.body(text)
}

#[test]
fn z_the_first_failure_answers() {
    let good = || request("tools/call", r#""name":"t""#).with("mcp-name", "t");
    let _ = check_admitted(&good());
    for (at, (code, fault)) in FAULTS.into_iter().enumerate() {
        assert_eq!(status_and_code(refused(&fault(good()))).1, code, "{at}");
        for (later_at, (_, later)) in FAULTS.into_iter().enumerate().skip(at + 1) {
            // What names a version again cannot be had together with having none; a dropped method has no name.
            if (at, later_at) == (1, 2) || (later_at == 5 && at >= 3) {
                continue;
            }
            assert_eq!(status_and_code(refused(&fault(later(good())))).1, code, "{at} and {later_at}");
        }
    }
}

#[test]
fn z_a_stripped_request_is_refused_for_that_whatever_it_asks_for() {
    for method in ["initialize", "ping", "logging/setLevel", "subscriptions/listen", "unknown"] {
        let ask = request(method, "");
        check_mismatch(&ask.clone().without("mcp-method"), "Mcp-Method", "missing");
        check_mismatch(&ask.without("mcp-protocol-version"), "MCP-Protocol-Version", "missing");
    }
    // Another revision may have other fields.
    assert!(matches!(
        refused(&of_version("2030-01-01").without("mcp-method")),
        Refusal::UnsupportedVersion { .. }
    ));
}

proptest! {
    #[test]
    fn z_random_fields_never_panic(
        lines in proptest::collection::vec((
            proptest::sample::select(vec!["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-a", "mcp-session-id"]),
            prop_oneof![
                Just(Vec::from(*b"2026-07-28")),
                Just(Vec::from(*b"tools/call")),
                "=[?]base64[?][A-Za-z0-9+/=]{0,12}[?]=".prop_map(String::into_bytes),
                proptest::collection::vec(prop_oneof![Just(b'\t'), 0x20..=0x7e_u8, 0x80..=0xff_u8], 0..24),
            ],
        ), 0..8),
        name in any::<String>(),
    ) {
        let name = serde_json::to_string(&name).unwrap();
        let ask = request("tools/call", &format!(r#""name":{name},"arguments":{{"a":{name}}}"#));
        let ask = lines.iter().fold(ask, |ask, (name, value)| ask.with(name, value));
        let schema = serde_json::json!({"properties": {"a": {"type": "string", "x-mcp-header": "a"}}});
        let tools = mcp_http_core::param_headers::ParamHeaders::new().with_tool("t", &schema).unwrap();
        let _ = ask.judge(&intake_support::stateless::with_tools(tools));
        let _ = ask.judge(&sessions_on());
    }
}
