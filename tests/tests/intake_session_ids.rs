//! I11, S5 and C5: the form of session ids and event ids, and who needs one.
mod intake_support;

use intake_support::{Ask, SESSION, delete, get, id, initialize, ping, post, sessions_off, sessions_on};
use mcp_http_core::intake::{Kind, Verdict};
use mcp_http_core::reject::Refusal;
use mcp_http_core::session_id::{SessionRef, ShardId};

fn malformed() -> Vec<Vec<u8>> {
    let mut ids: Vec<Vec<u8>> = vec![Vec::new(), vec![b'a'; 129], vec![b'a'; 10_000]];
    for byte in [b' ', b'\t', 0x80, 0xe9, 0xff] {
        ids.push([SESSION.as_bytes(), &[byte], b"x"].concat());
    }
    ids
}

fn notice() -> Ask {
    post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
}

fn reply() -> Ask {
    post(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#)
}

fn early(ask: &Ask) -> Option<SessionRef> {
    match ask.head(&sessions_on()) {
        Verdict::Body(needs) => needs.session().cloned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn i11_a_well_formed_id_is_handed_on_whether_it_is_ours_or_not() {
    let visible: String = (0x21..=0x7e_u8).map(char::from).collect();
    let longest = "a".repeat(128);
    for session in [SESSION, "x", &visible, &longest, &SESSION.to_uppercase(), "0", "a,b", "null"] {
        let expected = SessionRef::from_field(session.as_bytes());
        assert!(expected.is_some());
        for ask in [ping(), notice(), reply(), initialize(), get(), delete()] {
            let admitted = ask.set("mcp-session-id", session).admitted(&sessions_on());
            assert_eq!(admitted.session(), expected.as_ref());
        }
    }
    let admitted = ping().set("mcp-session-id", format!(" \t{SESSION} ")).admitted(&sessions_on());
    assert_eq!(admitted.session().and_then(SessionRef::shard), Some(ShardId(1)));
    assert_eq!(
        ping().set("mcp-session-id", "x").admitted(&sessions_on()).session().and_then(SessionRef::shard),
        None
    );
}

#[test]
fn i11_a_malformed_id_is_400_on_every_method() {
    for bad in malformed() {
        for ask in [ping(), notice(), reply(), initialize(), get(), delete()] {
            let refusal = ask.set("mcp-session-id", &bad).refusal(&sessions_on());
            assert_eq!(refusal, Refusal::BadSessionId, "{bad:?}");
        }
    }
}

#[test]
fn i11_two_lines_are_400_even_if_equal() {
    for second in [SESSION, "x", ""] {
        for ask in [ping(), notice(), initialize().with("mcp-session-id", SESSION), get(), delete()] {
            let refusal = ask.with("mcp-session-id", second).refusal(&sessions_on());
            assert_eq!(refusal, Refusal::BadSessionId, "{second}");
        }
    }
}

#[test]
fn i11_a_malformed_id_is_refused_before_the_body_where_the_body_cannot_matter() {
    let bad = ping().set("mcp-session-id", "a b").body("{");
    assert_eq!(bad.head_refusal(&sessions_on()), Some(Refusal::BadSessionId));
    for version in ["2026-07-28", "x", ""] {
        assert_eq!(bad.clone().set("mcp-protocol-version", version).head_refusal(&sessions_on()), None);
    }
    let waits = ping().set("mcp-session-id", "a b").without("mcp-protocol-version");
    assert_eq!(waits.head_refusal(&sessions_on()), None);
    let reject = waits.reject(&sessions_on());
    assert_eq!(reject.refusal, Refusal::BadSessionId);
    assert_eq!(id(&reject), Some("7"));
}

#[test]
fn s5_everything_but_initialize_needs_a_session() {
    for (ask, echoed) in
        [(ping(), Some("7")), (notice(), None), (reply(), None), (get(), None), (delete(), None)]
    {
        for ask in [ask.clone(), ask.without("mcp-protocol-version")] {
            let reject = ask.without("mcp-session-id").reject(&sessions_on());
            assert_eq!(reject.refusal, Refusal::MissingSession);
            assert_eq!(id(&reject), echoed);
            assert_eq!(reject.into_answer().status.as_u16(), 400);
        }
    }
    assert_eq!(initialize().admitted(&sessions_on()).session(), None);
}

#[test]
fn s12_without_sessions_the_field_means_nothing() {
    for ask in [ping(), notice(), reply(), initialize()] {
        for bad in malformed().iter().map(Vec::as_slice).chain([SESSION.as_bytes(), b"x"]) {
            for ask in [ask.clone().set("mcp-session-id", bad), ask.clone().with("mcp-session-id", bad)] {
                assert_eq!(ask.head_refusal(&sessions_off()), None, "{ask:?}");
                assert_eq!(ask.admitted(&sessions_off()).session(), None, "{ask:?}");
            }
        }
        assert_eq!(ask.without("mcp-session-id").admitted(&sessions_off()).session(), None);
    }
    let Verdict::Body(needs) = ping().head(&sessions_off()) else { panic!("refused") };
    assert_eq!(needs.session(), None);
}

#[test]
fn i12_the_session_is_looked_for_early_only_if_the_version_field_says_it_means_something() {
    let ours = SessionRef::from_field(SESSION.as_bytes());
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        assert_eq!(early(&ping().set("mcp-protocol-version", version)), ours);
    }
    for version in ["2026-07-28", "x", ""] {
        assert_eq!(early(&ping().set("mcp-protocol-version", version)), None);
    }
    assert_eq!(early(&ping().without("mcp-protocol-version")), None);
    assert_eq!(early(&ping().without("mcp-session-id")), None);
}

#[test]
fn c5_an_event_id_is_one_line_of_128_visible_ascii_characters_at_most() {
    let longest = "e".repeat(128);
    for (sent, taken) in [("1", "1"), ("!~", "!~"), (" a\t", "a"), (&longest, &longest), ("a,b", "a,b")] {
        let Kind::Open { last_event_id } = get().with("last-event-id", sent).kind(&sessions_on()) else {
            panic!("no GET")
        };
        assert_eq!(last_event_id.as_deref(), Some(taken.as_bytes()));
    }
    for empty in ["", " ", "\t "] {
        let kind = get().with("last-event-id", empty).kind(&sessions_on());
        assert_eq!(kind, Kind::Open { last_event_id: None });
    }
    for bad in
        [&b"a b"[..], b"a\tb", b"\xe9", b"\xff", "e".repeat(129).as_bytes(), "e".repeat(60_000).as_bytes()]
    {
        let refusal = get().with("last-event-id", bad).refusal(&sessions_on());
        assert_eq!(refusal, Refusal::BadEventId, "{bad:?}");
    }
    for second in ["1", "2", ""] {
        let two = get().with("last-event-id", "1").with("last-event-id", second);
        assert_eq!(two.refusal(&sessions_on()), Refusal::BadEventId);
    }
}

#[test]
fn c5_only_a_get_has_an_event_id() {
    for ask in [ping(), delete(), initialize()] {
        let _ = ask.with("last-event-id", "a b").admitted(&sessions_on());
    }
}
