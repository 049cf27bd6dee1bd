//! I9, S4, S11 and R3: what an `initialize` must be, the only thing that can open a session.
mod intake_support;

use intake_support::{
    Ask, Judged, SESSION, delete, get, id, initialize, ping, post, sessions_off, sessions_on,
};
use mcp_http_core::intake::{Initialize, Kind};
use mcp_http_core::reject::Refusal;
use mcp_http_core::session_id::SessionRef;
use mcp_http_core::version::Version;

fn with_params(params: &str) -> Ask {
    initialize().body(format!(r#"{{"jsonrpc":"2.0","id":"i","method":"initialize","params":{params}}}"#))
}

#[track_caller]
fn negotiated(ask: &Ask) -> Version {
    match ask.kind(&sessions_on()) {
        Kind::Initialize(Initialize { negotiated, .. }) => negotiated,
        other => panic!("{other:?}"),
    }
}

#[test]
fn i9_a_valid_initialize_in_both_modes() {
    for intake in [sessions_on(), sessions_off()] {
        let admitted = initialize().admitted(&intake);
        let Kind::Initialize(Initialize { request, negotiated }) = admitted.kind() else {
            panic!("{admitted:?}")
        };
        assert_eq!((request.id.literal(), &*request.method), (&b"7"[..], "initialize"));
        assert_eq!(*negotiated, Version::V2025_06_18);
        assert!(
            request.params.as_ref().unwrap().as_bytes().starts_with(br#"{"protocolVersion":"2025-06-18""#)
        );
        assert_eq!(admitted.session(), None);
        assert!(admitted.opens_session());
    }
}

#[test]
fn r3_nothing_else_opens_a_session() {
    let others = [
        ping(),
        get(),
        delete(),
        post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        post(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}"#),
        post(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#),
        initialize().with("mcp-session-id", SESSION),
    ];
    for ask in others {
        assert!(!ask.admitted(&sessions_on()).opens_session(), "{ask:?}");
    }
    for method in
        ["Initialize", "INITIALIZE", "initialize ", "initialized", "server/initialize", "initialize\\u0000"]
    {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{}}}}}}"#
        );
        assert_eq!(
            initialize().body(body.clone()).refusal(&sessions_on()),
            Refusal::MissingSession,
            "{method}"
        );
        assert!(matches!(initialize().body(body).kind(&sessions_off()), Kind::Call(_)), "{method}");
    }
    // The same name in disguise is the same name.
    let escaped = r#"{"jsonrpc":"2.0","id":1,"method":"initiali\u007ae"}"#;
    assert!(matches!(initialize().body(escaped).refusal(&sessions_on()), Refusal::InvalidParams(_)));
}

#[test]
fn i9_without_an_id_it_is_a_notice_and_refused() {
    for params in ["", r#","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{}}"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"initialize"{params}}}"#);
        for ask in [initialize().body(body.clone()), ping().body(body)] {
            for intake in [sessions_on(), sessions_off()] {
                let reject = ask.reject(&intake);
                assert!(
                    matches!(reject.refusal, Refusal::InvalidRequest(why) if why.contains("id")),
                    "{reject:?}"
                );
                assert_eq!(id(&reject), None);
            }
        }
    }
    for literal in ["null", "1.5", "{}", "true"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{literal},"method":"initialize"}}"#);
        assert!(matches!(initialize().body(body).refusal(&sessions_on()), Refusal::InvalidRequest(_)));
    }
}

#[test]
fn i9_each_parameter_must_be_there_once_and_of_its_type() {
    let good = [r#""protocolVersion":"2025-06-18""#, r#""capabilities":{}"#, r#""clientInfo":{}"#];
    let names = ["protocolVersion", "capabilities", "clientInfo"];
    let bad_values = [
        ["1", "null", "{}", "[\"2025-06-18\"]", "true", "\"\\ud800\""],
        ["[]", "null", "\"{}\"", "1", "true", "[{}]"],
        ["[]", "null", "\"{}\"", "1", "false", "[{}]"],
    ];
    for (at, name) in names.iter().enumerate() {
        let others: Vec<&str> =
            good.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, text)| *text).collect();
        let others = others.join(",");
        let mut broken = vec![format!("{{{others}}}"), format!("{{{others},{},{}}}", good[at], good[at])];
        broken.extend(bad_values[at].iter().map(|value| format!(r#"{{"{name}":{value},{others}}}"#)));
        broken.push(format!(r#"{{{others},"{}":"2025-06-18"}}"#, name.to_lowercase()));
        broken.push(format!(r#"{{{others},"nested":{{{}}}}}"#, good[at]));
        for params in broken {
            for intake in [sessions_on(), sessions_off()] {
                let reject = with_params(&params).reject(&intake);
                assert!(
                    matches!(reject.refusal, Refusal::InvalidParams(why) if why.contains(name)),
                    "{params} {reject:?}"
                );
                assert_eq!(id(&reject), Some("\"i\""));
                assert_eq!(reject.into_answer().status.as_u16(), 400);
            }
        }
    }
}

#[test]
fn i9_parameters_of_another_shape_or_none_are_refused() {
    for body in [
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":["2025-06-18",{},{}]}"#,
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}"#,
    ] {
        let reject = initialize().body(body).reject(&sessions_on());
        assert!(matches!(reject.refusal, Refusal::InvalidParams(_)), "{reject:?}");
        assert_eq!(id(&reject), Some("\"i\""));
    }
}

#[test]
fn i9_parameters_may_come_in_any_order_with_others_between_and_in_disguise() {
    let ask = with_params(
        r#"{ "clientInfo" : {"name":"x","protocolVersion":"1"}, "_meta":{"progressToken":1},"x":[{"capabilities":1}],
             "\u0063apabilities":{"roots":{}} , "protocolVersion":"2025\u002d03-26" }"#,
    );
    assert_eq!(negotiated(&ask), Version::V2025_03_26);
}

#[test]
fn s11_a_handshake_revision_is_what_was_asked_for_and_anything_else_the_newest() {
    for (wanted, expected) in [
        ("2025-03-26", Version::V2025_03_26),
        ("2025-06-18", Version::V2025_06_18),
        ("2025-11-25", Version::V2025_11_25),
        ("2024-11-05", Version::V2025_11_25),
        ("2026-07-28", Version::V2025_11_25),
        ("2099-01-01", Version::V2025_11_25),
        ("2025-06-18 ", Version::V2025_11_25),
        ("1.0", Version::V2025_11_25),
        ("", Version::V2025_11_25),
    ] {
        let params = format!(r#"{{"protocolVersion":"{wanted}","capabilities":{{}},"clientInfo":{{}}}}"#);
        assert_eq!(negotiated(&with_params(&params)), expected, "{wanted}");
    }
}

#[test]
fn s4_with_a_session_id_it_is_handed_on_and_opens_nothing() {
    for session in [SESSION, "x"] {
        for lines in [&[][..], &["2025-06-18"]] {
            let ask = lines.iter().fold(initialize().with("mcp-session-id", session), |ask, line| {
                ask.with("mcp-protocol-version", line)
            });
            let admitted = ask.admitted(&sessions_on());
            assert!(matches!(admitted.kind(), Kind::Initialize(_)));
            assert_eq!(admitted.session(), SessionRef::from_field(session.as_bytes()).as_ref());
            assert!(!admitted.opens_session());
        }
    }
    assert!(initialize().with("mcp-session-id", SESSION).admitted(&sessions_off()).opens_session());
}

#[test]
fn r2_a_cut_initialize_is_refused_at_every_byte() {
    let Kind::Initialize(Initialize { request, .. }) = initialize().kind(&sessions_on()) else {
        panic!("refused")
    };
    let params = request.params.unwrap();
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}}"#,
        std::str::from_utf8(params.as_bytes()).unwrap()
    );
    assert!(matches!(initialize().body(text.clone()).judge(&sessions_on()), Judged::Admit(_)));
    for cut in 0..text.len() {
        let refusal = initialize().body(String::from(&text[..cut])).refusal(&sessions_on());
        assert!(matches!(refusal, Refusal::NotJson(_)), "{cut} {refusal:?}");
    }
}
