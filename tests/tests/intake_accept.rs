//! I2: `Accept` is parsed as RFC 9110 has it, and only what the answer will use is asked for.
mod intake_support;

use intake_support::{delete, get, ping, sessions_off, sessions_on};
use mcp_http_core::intake::{Accept, Verdict};
use mcp_http_core::reject::{Needs, Refusal};

const BOTH: Accept = Accept { json: true, event_stream: true, prefers_event_stream: false };
const STREAM_FIRST: Accept = Accept { json: true, event_stream: true, prefers_event_stream: true };
const JSON: Accept = Accept { json: true, event_stream: false, prefers_event_stream: false };
const EVENT_STREAM: Accept = Accept { json: false, event_stream: true, prefers_event_stream: false };
const NEITHER: Accept = Accept { json: false, event_stream: false, prefers_event_stream: false };

/// Checks what `lines` of `Accept` admit, on POST and on GET.
#[track_caller]
fn check(lines: &[&str], expected: Accept) {
    let with_lines = |ask: intake_support::Ask| {
        lines.iter().fold(ask.without("accept"), |ask, line| ask.with("accept", line))
    };
    match with_lines(ping()).head(&sessions_on()) {
        Verdict::Reject(reject) => {
            assert_eq!(reject.refusal, Refusal::NotAcceptable(Needs::JsonOrEventStream), "{lines:?}");
            assert_eq!(expected, NEITHER, "{lines:?}");
        }
        verdict => {
            assert!(matches!(verdict, Verdict::Body(_)), "{lines:?} {verdict:?}");
            assert_eq!(with_lines(ping()).admitted(&sessions_on()).accept(), expected, "{lines:?}");
        }
    }
    let refusal = with_lines(get()).head_refusal(&sessions_on());
    let refused = Some(Refusal::NotAcceptable(Needs::EventStream));
    assert_eq!(refusal, if expected.event_stream { None } else { refused }, "{lines:?}");
}

#[test]
fn i2_absent_or_without_members_admits_everything() {
    check(&[], BOTH);
    for empty in ["", ",", " , ,\t,"] {
        check(&[empty], BOTH);
    }
}

#[test]
fn i2_what_real_clients_send() {
    check(&["application/json, text/event-stream"], BOTH);
    check(&["text/event-stream, application/json"], STREAM_FIRST);
    check(&["application/json,text/event-stream"], BOTH);
    check(&["*/*"], BOTH);
    check(&["text/event-stream"], EVENT_STREAM);
    check(&["application/json"], JSON);
    check(&["application/json, text/plain, */*"], BOTH);
    check(&["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], BOTH);
}

#[test]
fn i2_several_lines_are_one_list_and_case_does_not_matter() {
    check(&["application/json", "text/event-stream"], BOTH);
    check(&["text/html", "TEXT/Event-Stream"], EVENT_STREAM);
    check(&["Application/JSON;Q=0.5"], JSON);
    check(&["text/html", "APPLICATION/*"], JSON);
}

/// D7: this is how a client says that it would rather have an event stream.
#[test]
fn i2_a_preference_is_by_weight_then_by_order() {
    check(&["text/event-stream;q=0.9, application/json;q=0.8"], STREAM_FIRST);
    check(&["application/json;q=0.8, text/event-stream;q=0.9"], STREAM_FIRST);
    check(&["application/json;q=0.899, text/event-stream;q=0.9"], STREAM_FIRST);
    check(&["text/event-stream;q=0.1, application/json"], BOTH);
    check(&["text/event-stream;q=0.5, application/json;q=0.500"], STREAM_FIRST);
    check(&["text/event-stream", "application/json"], STREAM_FIRST);
    check(&["text/event-stream, */*"], BOTH);
    check(&["text/event-stream, */*;q=0.5"], STREAM_FIRST);
    check(&["*/*, text/event-stream"], BOTH);
}

#[test]
fn i2_wildcards() {
    check(&["application/*"], JSON);
    check(&["text/*"], EVENT_STREAM);
    check(&["application/*, text/*"], BOTH);
    for none in ["image/*", "*/json", "*/event-stream", "*", "app*/json", "application/js*", "text/*+x"] {
        check(&[none], NEITHER);
    }
}

#[test]
fn i2_accept_is_parsed_not_searched() {
    for near in [
        "application/jsonx",
        "xapplication/json",
        "application/json-seq",
        "application/vnd.api+json",
        "text/event",
        "text/event-streams",
        "application/x;a=application/json",
        "image/png;x=\"application/json\"",
        "image/png;x=\",application/json,\"",
        "image/png;x=\"\\\",application/json\"",
        "application",
        "json",
        "application/json/x",
        "/json",
        "application/",
        "text/html;text/event-stream",
        "application/json text/event-stream",
    ] {
        check(&[near], NEITHER);
    }
}

#[test]
fn i2_quality_zero_excludes_and_the_closest_range_decides() {
    for zero in ["0", "0.", "0.0", "0.00", "0.000"] {
        check(&[&format!("application/json;q={zero}, text/event-stream")], EVENT_STREAM);
        check(&[&format!("application/json ; q={zero}")], NEITHER);
        check(&[&format!("*/*;q={zero}")], NEITHER);
    }
    for more in ["1", "1.", "1.000", "0.001", "0.1", "0.999"] {
        check(&[&format!("application/json;q={more}")], JSON);
        check(&[&format!("*/*;q={more}")], BOTH);
    }
    check(&["*/*, application/json;q=0"], EVENT_STREAM);
    check(&["application/json;q=0, */*"], EVENT_STREAM);
    check(&["application/json;q=0", "*/*"], EVENT_STREAM);
    check(&["*/*;q=0, application/json"], JSON);
    check(&["text/*;q=0, text/event-stream"], EVENT_STREAM);
    check(&["text/*, text/event-stream;q=0"], NEITHER);
    check(&["*/*;q=0, text/*"], EVENT_STREAM);
    check(&["*/*, text/*;q=0"], JSON);
    check(&["*/*, application/*;q=0, application/json"], BOTH);
    check(&["*/*;q=0, application/*, application/json;q=0"], NEITHER);
    // Of two that are equally close, the one that wants it.
    check(&["application/json;q=0, application/json"], JSON);
    check(&["application/json, application/json;q=0"], JSON);
}

#[test]
fn i2_parameters_other_than_q_do_not_matter() {
    for parameters in [
        ";version=1",
        ";charset=utf-8",
        ";a=\"b;q=0\"",
        ";a=\"b,c\"",
        ";a=\"\\\"\";q=1",
        ";a=\"\\\",b\"",
        " ; ; a=b",
        ";",
    ] {
        check(&[&format!("application/json{parameters}")], JSON);
        check(&[&format!("application/json{parameters}, text/event-stream")], BOTH);
    }
    check(&["application/json;version=1;q=0"], NEITHER);
    check(&["application/json;q=0;version=1"], NEITHER);
}

#[test]
fn i2_a_malformed_member_is_passed_over_alone() {
    for malformed in [
        "application/json;q=",
        "application/json;q=2",
        "application/json;q=-1",
        "application/json;q=1.001",
        "application/json;q=0.0001",
        "application/json;q=.5",
        "application/json;q=\"1\"",
        "application/json;q",
        "application/json;q = 1",
        "application/json;=1",
        "application/json;a",
        "application/json;a=",
        "appl ication/json",
        "application /json",
        "application/json x",
        "application/json;a=b c",
        "application/json;a=b\"c",
        "application/json;a=\"b\"c",
        "application/json;a=\"b\"c\"",
        "{application}/json",
        "application/json;a=\u{e9}",
    ] {
        check(&[malformed], NEITHER);
        check(&[&format!("{malformed}, text/event-stream")], EVENT_STREAM);
        check(&[&format!("text/event-stream, {malformed}")], EVENT_STREAM);
        check(&[malformed, "text/event-stream"], EVENT_STREAM);
    }
    // A string that is never closed takes the rest of its line with it, and no other line.
    check(&["application/json;a=\"b, text/event-stream"], NEITHER);
    check(&["application/json;a=\"b", "text/event-stream"], EVENT_STREAM);
    check(&["application/json;a=\"b\\", "text/event-stream"], EVENT_STREAM);
}

#[test]
fn i2_a_refused_accept_is_406_and_names_what_would_do() {
    let answer = ping().set("accept", "text/html").reject(&sessions_on()).into_answer();
    assert_eq!(answer.status.as_u16(), 406);
    let refusal = ping().set("accept", "text/html").refusal(&sessions_off());
    assert_eq!(refusal, Refusal::NotAcceptable(Needs::JsonOrEventStream));
}

#[test]
fn i2_delete_has_no_accept_check() {
    for accept in ["text/html", "*/*", "application/json;q=0, text/event-stream;q=0", "\u{e9}"] {
        let _ = delete().set("accept", accept).admitted(&sessions_on());
    }
    let _ = delete().admitted(&sessions_on());
}
