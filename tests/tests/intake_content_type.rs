//! I3 and L1: what a POST says its body is, and how long it may be.
mod intake_support;

use intake_support::{delete, get, intake, ping, post, sessions_off, sessions_on};
use mcp_http_core::intake::Verdict;
use mcp_http_core::reject::Refusal;

#[test]
fn i3_application_json_in_any_case_with_any_parameters() {
    for value in [
        "application/json",
        "Application/JSON",
        "application/json;charset=utf-8",
        "application/json; charset=UTF-8",
        "application/json ;\tcharset=\"Utf-8\"",
        "application/json; charset=utf8",
        "application/json;",
        "application/json;;",
        "application/json; version=1",
        "application/json; a=\"b;c,d\\\"e\"; charset=utf-8",
        " application/json ",
    ] {
        for intake in [sessions_on(), sessions_off()] {
            assert_eq!(ping().set("content-type", value).head_refusal(&intake), None, "{value}");
        }
    }
}

#[test]
fn i3_everything_else_is_415() {
    for value in [
        "",
        "text/plain",
        "text/plain; a=application/json",
        "text/plain;application/json",
        "application/jsonx",
        "application/json-rpc",
        "application/json-seq",
        "application/vnd.api+json",
        "application/*",
        "*/*",
        "xapplication/json",
        "application",
        "application/",
        "/json",
        "application/json/json",
        "text/json",
        "application/json, application/json",
        "application/json,text/plain",
        "application/json x",
        "application / json",
        "application/json; charset",
        "application/json; charset=",
        "application/json; =utf-8",
        "application/json; charset = utf-8",
        "application/json; a=\"b",
        "application/json; a=b\"c\"",
        "application/json; charset=utf-16",
        "application/json; charset=iso-8859-1",
        "application/json; charset=\"latin1\"",
        "application/json; charset=utf-8; charset=utf-16",
        "application/json; charset=\"utf-8",
        "\u{e9}",
        "multipart/form-data; boundary=application/json",
        "application/x-www-form-urlencoded",
    ] {
        for intake in [sessions_on(), sessions_off()] {
            let refusal = ping().set("content-type", value).head_refusal(&intake);
            assert_eq!(refusal, Some(Refusal::UnsupportedMediaType), "{value}");
        }
    }
}

#[test]
fn i3_missing_or_several_is_415() {
    let refused = Some(Refusal::UnsupportedMediaType);
    assert_eq!(ping().without("content-type").head_refusal(&sessions_on()), refused);
    for second in ["application/json", "text/plain"] {
        assert_eq!(ping().with("content-type", second).head_refusal(&sessions_on()), refused);
    }
    let answer = ping().without("content-type").reject(&sessions_on()).into_answer();
    assert_eq!(answer.status.as_u16(), 415);
}

#[test]
fn i3_a_content_coding_is_415_unless_it_is_none() {
    for coding in ["gzip", "GZIP", "br", "identity, gzip", "", "x"] {
        let refusal = ping().with("content-encoding", coding).head_refusal(&sessions_on());
        assert_eq!(refusal, Some(Refusal::UnsupportedMediaType), "{coding}");
    }
    for coding in ["identity", "Identity"] {
        assert_eq!(ping().with("content-encoding", coding).head_refusal(&sessions_on()), None);
    }
}

#[test]
fn i3_only_a_post_needs_it() {
    for content_type in ["text/plain", ""] {
        let _ = get().with("content-type", content_type).admitted(&sessions_on());
        let _ = delete().with("content-type", content_type).admitted(&sessions_on());
    }
}

#[test]
fn l1_a_declared_length_over_the_limit_is_refused_before_the_body() {
    let intake = intake(|config| config.body_bytes_max = 100);
    let refused = Some(Refusal::BodyTooLarge { limit: 100 });
    for (declared, expected) in [
        ("0", None),
        ("99", None),
        ("100", None),
        ("0100", None),
        ("101", refused.clone()),
        ("0101", refused.clone()),
        ("18446744073709551615", refused.clone()),
        ("18446744073709551616", refused.clone()),
        ("999999999999999999999999999999", refused.clone()),
        // What is no number is a fault of framing, which is not judged here.
        ("+101", None),
        ("-1", None),
        ("101, 101", None),
        ("", None),
    ] {
        assert_eq!(ping().with("content-length", declared).head_refusal(&intake), expected, "{declared}");
    }
    let two = ping().with("content-length", "1").with("content-length", "101");
    assert_eq!(two.head_refusal(&intake), refused);
}

#[test]
fn l1_the_body_itself_is_counted_whatever_was_declared() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let limit = 100;
    let intake = intake(|config| config.body_bytes_max = limit);
    for (length, fits) in [(text.len(), true), (limit, true), (limit + 1, false), (limit * 10, false)] {
        let ask = post(format!("{text:length$}")).with("content-length", "1");
        let Verdict::Body(needs) = ask.head(&intake) else { panic!("refused") };
        assert_eq!(needs.limit(), limit);
        if fits {
            let _ = ask.admitted(&intake);
        } else {
            let reject = ask.reject(&intake);
            assert_eq!(reject.refusal, Refusal::BodyTooLarge { limit });
            let answer = reject.into_answer();
            assert_eq!(answer.status.as_u16(), 413);
            assert_eq!(intake_support::values(&answer, "content-type"), ["application/json"]);
        }
    }
}
