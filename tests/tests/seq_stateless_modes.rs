//! The stateless era where there are no sessions, where there is nothing else, and where it is not served:
//! `SessionMode::Off`, `Eras::Stateless`, `Eras::Handshake`.

use std::time::Duration;

use mcp_http_core::answer::ErrorStatus;
use mcp_http_core::config::{Config, Eras, SessionMode};
use mcp_http_core::endpoint::{Action, CancelReason, Delivery, Outbound, Target, Topic};
use mcp_http_core::h1::Body;
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::code;
use mcp_http_core::reject::Reject;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{
    STATELESS, Script, accepted, ask, json, json_error, message, progress, question, stream, told,
};

const TOOLS: &str = r#"{"toolsListChanged":true}"#;

fn stateless_only(config: &mut Config) {
    config.eras = Eras::Stateless;
    config.publishes.tools = true;
}

fn sessions_off(config: &mut Config) {
    config.sessions = SessionMode::Off;
    config.publishes.tools = true;
}

/// The `error.data` of a refusal.
fn data(reject: Reject) -> serde_json::Value {
    let Body::Full(body) = reject.into_answer().body else { panic!("a body") };
    serde_json::from_slice::<serde_json::Value>(&body).unwrap()["error"]["data"].clone()
}

#[track_caller]
fn unsupported(reject: Reject, id: Option<&str>, requested: &str, supported: &[Version]) {
    // The code of the stateless era is for servers that serve it; elsewhere clients are to fall back.
    let stateless = supported.contains(&Version::V2026_07_28);
    let expected = if stateless { code::UNSUPPORTED_VERSION } else { code::INVALID_REQUEST };
    assert_eq!(told(&reject), (400, expected, id.map(Into::into)));
    let names: Vec<&str> = supported.iter().map(|version| version.name()).collect();
    assert_eq!(data(reject), serde_json::json!({ "supported": names, "requested": requested }));
}

#[track_caller]
fn not_allowed(reject: Reject) {
    assert_eq!(told(&reject).0, 405);
    let answer = reject.into_answer();
    let allow = answer.fields.iter().find(|(name, _)| name == "allow").expect("Allow");
    assert_eq!(allow.1, "POST, OPTIONS");
}

/// All that the stateless era has, in a server of this kind.
#[track_caller]
fn serves_it_all(change: fn(&mut Config)) {
    let mut s = Script::with(change);
    let (a, b, c) = (s.solo("1"), s.solo("1"), s.solo("1"));
    assert_eq!(s.answer(a, "{}"), [a.json(&ask::result_text("1", "{}"))]);
    let text = ask::error_text("1", code::METHOD_NOT_FOUND, "no");
    let answer = json_error(b.exchange, ErrorStatus::NotFound, &text);
    assert_eq!(s.fail(b, code::METHOD_NOT_FOUND, "no"), [answer]);
    assert!(s.try_send(c.target(), question(1)).is_err(), "Z8");
    assert_eq!(s.send(c.target(), progress(1)), c.stream());
    let said = s.pull(c.exchange).said();
    assert_eq!(said, [message(ask::progress_text(1))]);
    let cancel = Action::Cancel { call: c.call, reason: CancelReason::Disconnected };
    assert_eq!(s.gone(c.exchange), [cancel], "Z9");

    let notice = s.modern_notice("x").admit();
    let taken = s.solo_notice_of(&notice, "x");
    let taken = mcp_http_core::endpoint::Event::Taken { message: taken };
    assert_eq!(s.event(taken), [accepted(notice.exchange)]);

    let listener = s.listener("9", TOOLS, TOOLS);
    assert_eq!(s.publish(&Topic::Tools), (1, vec![Action::Pull { exchange: listener }]));
    assert_eq!(s.pull(listener).said(), [message(ask::list_changed_text("9", "tools"))]);
    assert_eq!(s.stats().total.created, 0);
    s.finish();
}

#[test]
fn z_every_server_of_the_era_serves_all_of_it() {
    for change in [
        sessions_off,
        stateless_only,
        |config: &mut Config| config.publishes.tools = true,
        |config: &mut Config| {
            stateless_only(config);
            sessions_off(config);
        },
    ] {
        serves_it_all(change);
    }
}

#[test]
fn s12_both_eras_share_the_cap_of_calls_that_stand_alone() {
    let mut s = Script::with(|config| {
        sessions_off(config);
        config.solo_calls_max = 2;
    });
    let modern = s.solo("1");
    let older = s.post(ask::request("1", "t")).admit();
    let older = s.call_of(None, &older, "1", "t");
    for refused in [s.modern("2", "tools/list", "").admit(), s.post(ask::request("2", "t")).admit()] {
        let [Action::Reject { reject, .. }] = &refused.actions[..] else { panic!("{refused:?}") };
        assert_eq!(told(reject), (503, code::REFUSED, Some("2".into())));
    }
    // The same id, and each has the error of its era.
    let text = ask::error_text("1", code::METHOD_NOT_FOUND, "no");
    assert_eq!(s.fail(older, code::METHOD_NOT_FOUND, "no"), [older.json(&text)], "R13");
    let answer = json_error(modern.exchange, ErrorStatus::NotFound, &text);
    assert_eq!(s.fail(modern, code::METHOD_NOT_FOUND, "no"), [answer]);
    s.finish();
}

#[test]
fn s12_the_version_tells_which_era_a_call_is_of() {
    let mut s = Script::with(sessions_off);
    for (body, version) in
        [(ask::request("1", "tools/list"), None), (ask::modern("1", "tools/list", ""), Some(STATELESS))]
    {
        let asked = s.post(body).field("mcp-method", "tools/list");
        let asked = version.into_iter().fold(asked, |asked, version| asked.version(version));
        let admission = asked.admit();
        let [Action::Deliver { delivery: Delivery::Call { version: told, .. }, .. }] = &admission.actions[..]
        else {
            panic!("{admission:?}")
        };
        assert_eq!(told.map(Version::name), version);
    }
    s.finish();
}

#[test]
fn z1_get_and_delete_are_405() {
    for change in [stateless_only, sessions_off] {
        let mut s = Script::with(change);
        for version in [None, Some(STATELESS), Some("2025-11-25"), Some("x")] {
            for method in ["GET", "DELETE", "HEAD", "PUT"] {
                let asked = s.get().method(method).field("mcp-session-id", "x");
                not_allowed(
                    version.into_iter().fold(asked, |asked, version| asked.version(version)).refused(),
                );
            }
        }
        s.finish();
    }
}

#[test]
fn i12_a_stateless_server_refuses_the_handshake_and_names_what_it_serves() {
    let mut s = Script::with(stateless_only);
    for version in ["2025-03-26", "2025-06-18", "2025-11-25", "2024-11-05", "x"] {
        for field in [None, Some("2025-11-25"), Some("2025-03-26")] {
            let asked = s.post(ask::initialize("1", version)).field("mcp-session-id", "x");
            let refused = field.into_iter().fold(asked, |asked, field| asked.version(field)).refused();
            unsupported(refused, Some("1"), field.unwrap_or(version), &[Version::V2026_07_28]);
        }
    }
    for (body, id) in [(ask::request("1", "t"), Some("1")), (ask::request(r#""a""#, "ping"), Some(r#""a""#))]
    {
        unsupported(
            s.post(body.clone()).version("2025-06-18").refused(),
            id,
            "2025-06-18",
            &[Version::V2026_07_28],
        );
        unsupported(s.post(body).refused(), id, "", &[Version::V2026_07_28]);
    }
    let notice = s.post(ask::notice("notifications/initialized")).version("2025-06-18").refused();
    unsupported(notice, None, "2025-06-18", &[Version::V2026_07_28]);
    assert_eq!(told(&s.post(ask::reply("1")).refused()).0, 400);
    assert_eq!(s.stats(), Script::with(stateless_only).stats(), "R2: nothing is left");
    s.finish();
}

#[test]
fn i12_a_handshake_server_refuses_the_stateless_era_and_names_what_it_serves() {
    let newest_first = [Version::V2025_11_25, Version::V2025_06_18, Version::V2025_03_26];
    for mode in [SessionMode::On, SessionMode::Off] {
        let mut s = Script::with(|config| {
            config.eras = Eras::Handshake;
            config.sessions = mode;
            config.publishes.tools = true;
        });
        for method in ["tools/list", "server/discover", "ping", "initialize"] {
            let refused = s.modern("1", method, "").refused();
            unsupported(refused, Some("1"), STATELESS, &newest_first);
            let stripped = s.modern("1", method, "").without("mcp-protocol-version").refused();
            unsupported(stripped, Some("1"), STATELESS, &newest_first);
        }
        unsupported(s.listening("1", TOOLS).refused(), Some("1"), STATELESS, &newest_first);
        unsupported(s.modern_notice("x").refused(), None, STATELESS, &newest_first);
        let field_alone = s.post(ask::request("1", "t")).version(STATELESS).refused();
        unsupported(field_alone, Some("1"), STATELESS, &newest_first);
        assert_eq!(s.stats(), Script::new().stats(), "R2: nothing is left");
        s.finish();
    }
}

#[test]
fn i12_a_handshake_server_goes_on_as_ever() {
    let mut s = Script::with(|config| config.eras = Eras::Handshake);
    for version in Version::HANDSHAKE {
        let session = s.open_at(version);
        s.modern("1", "tools/list", "").with(&session.id).refused();
        let call = s.call(&session, "1", "t");
        assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("1", "{}"))]);
        let get = s.listen(&session);
        s.pull(get);
    }
    s.finish();
}

#[test]
fn s12_initialize_and_the_stateless_era_side_by_side() {
    let mut s = Script::with(sessions_off);
    let opening = s.post(ask::initialize("1", "2025-11-25")).admit();
    let [Action::Deliver { session: None, delivery: Delivery::Initialize { call, .. }, .. }] =
        &opening.actions[..]
    else {
        panic!("{opening:?}")
    };
    let alone = s.solo("1");
    let refused = s
        .modern("1", "initialize", r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}"#)
        .refused();
    assert_eq!(told(&refused), (404, code::METHOD_NOT_FOUND, Some("1".into())));
    let answer = Outbound::Initialized { version: Version::V2025_11_25, result: Json::EMPTY_OBJECT };
    let text = ask::result_text("1", "{}");
    assert_eq!(s.send(Target::Call(*call), answer), [json(opening.exchange, &text)]);
    assert_eq!(s.answer(alone, "{}"), [alone.json(&text)]);
    s.finish();
}

#[test]
fn z10_a_listen_is_served_and_ended_without_sessions_too() {
    for change in [stateless_only, sessions_off] {
        let mut s = Script::with(change);
        let listener = s.listener("1", TOOLS, TOOLS);
        assert_eq!(s.shutdown(Duration::from_secs(10)), [Action::Pull { exchange: listener }]);
        assert_eq!(s.pull(listener).said(), [message(ask::completed_text("1"))]);
        let nothing = s.flushed(listener);
        assert_eq!(nothing, []);
        s.finish_by_shutdown(true);
        let mut s = Script::with(change);
        let open = s.listening("1", TOOLS).admit();
        assert_eq!(open.actions, stream(open.exchange));
        s.finish_by_shutdown(false);
    }
}
