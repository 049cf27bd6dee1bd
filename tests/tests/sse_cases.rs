//! Every case of `data/sse-cases.json` against the encoder of events: exact bytes, or a refusal that writes nothing
//! (C4, C5, C12).

use std::time::Duration;

use bytes::BytesMut;
use mcp_http_core::sse::{EVENT_ID_BYTES_MAX, SseError, SseEvent, encode_comment};
use serde_json::Value;

const FILE: &str = include_str!("../data/sse-cases.json");

/// What was there before stays, whatever comes of an event.
const BEFORE: &[u8] = b"before";

fn encode(event: &SseEvent<'_>) -> Result<String, SseError> {
    let mut out = BytesMut::from(BEFORE);
    let encoded = event.encode(&mut out);
    let written = out.strip_prefix(BEFORE).expect("what was there");
    let text = String::from_utf8(written.to_vec()).expect("text");
    assert!(encoded.is_ok() || text.is_empty(), "a refusal wrote {text:?}");
    encoded.map(|()| text)
}

fn comment(text: &str) -> String {
    let mut out = BytesMut::from(BEFORE);
    encode_comment(text, &mut out);
    String::from_utf8(out.strip_prefix(BEFORE).expect("what was there").to_vec()).expect("text")
}

#[test]
fn c4_cases_come_out_as_expected() {
    let file: Value = serde_json::from_str(FILE).expect("JSON");
    let cases = file["cases"].as_array().expect("cases");
    let mut played = 0;
    for case in cases {
        let event = &case["event"];
        if let Some(text) = event["comment"].as_str() {
            assert_eq!(comment(text), case["wire"].as_str().expect("a text"), "{}", case["id"]);
            played += 1;
            continue;
        }
        let Ok(retry) = event["retry"].as_i64().map(u64::try_from).transpose() else {
            continue; // Below zero, which the type does not have.
        };
        let repeated = event["data_repeat"][0].as_str().map(|text| text.repeat(1_048_576));
        let encoded = encode(&SseEvent {
            id: event["id"].as_str(),
            event: event["event"].as_str(),
            retry: retry.map(Duration::from_millis),
            data: repeated.as_deref().or(event["data"].as_str()),
        });
        match (&repeated, case["wire"].as_str()) {
            (Some(data), _) => assert_eq!(encoded, Ok(format!("data: {data}\n\n"))),
            (None, Some(wire)) => assert_eq!(encoded.as_deref(), Ok(wire), "{}", case["id"]),
            (None, None) => {
                assert_eq!(case["reject"], true, "{}", case["id"]);
                let why = if event["id"].is_string() { SseError::BadId } else { SseError::BadType };
                assert_eq!(encoded, Err(why), "{}", case["id"]);
            }
        }
        played += 1;
    }
    assert_eq!(played, cases.len() - 1, "all but one");
}

#[test]
fn c5_an_event_id_has_at_most_128_bytes_of_visible_text_and_blanks() {
    let longest = "x".repeat(EVENT_ID_BYTES_MAX);
    for id in ["", " ", "~", &longest] {
        let event = SseEvent { id: Some(id), ..SseEvent::default() };
        assert_eq!(encode(&event), Ok(format!("id: {id}\n\n")));
    }
    for id in ["\u{1f}", "\u{7f}", "a\tb", &format!("{longest}x")] {
        let event = SseEvent { id: Some(id), ..SseEvent::default() };
        assert_eq!(encode(&event), Err(SseError::BadId), "{id:?}");
    }
}

#[test]
fn c4_a_type_with_either_line_break_is_refused() {
    for event in ["a\rb", "a\nb", "\r\n"] {
        let event = SseEvent { event: Some(event), data: Some("x"), ..SseEvent::default() };
        assert_eq!(encode(&event), Err(SseError::BadType));
    }
    let all = SseEvent {
        id: Some("7"),
        event: Some("ping"),
        retry: Some(Duration::from_micros(2_500)),
        data: Some("x\r\ny"),
    };
    assert_eq!(encode(&all), Ok("id: 7\nevent: ping\nretry: 2\ndata: x\ndata: y\n\n".into()));
}

#[test]
fn c12_a_comment_has_a_line_for_each_of_its_lines() {
    assert_eq!(comment("a\nb\r\nc"), ": a\n: b\n: c\n\n");
    assert_eq!(comment(""), ": \n\n");
}
