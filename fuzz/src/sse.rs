//! C4: an encoded event, read by `event_source`, is exactly that event, wherever it stands among others, and what
//! cannot be one is refused and leaves no trace.

use std::time::Duration;

use bytes::BytesMut;
use mcp_http_core::sse::{SseEvent, encode_comment};

use crate::event_source::{EventSource, Message};
use crate::input::Input;

/// The most events of one stream.
const EVENTS_MAX: usize = 8;

/// Reads events: a byte that says which fields there are, then each field as a length and its text.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut wire = BytesMut::new();
    let mut expected = Expected::default();
    for _ in 0..EVENTS_MAX {
        if input.is_empty() {
            break;
        }
        one(&mut input, &mut wire, &mut expected);
    }
    let mut source = EventSource::default();
    source.push(&wire);
    assert!(source.is_between_events(), "C4: the last event is not whole: {:?}", wire.escape_ascii());
    assert_eq!(source.messages, expected.messages, "C4: {:?}", wire.escape_ascii().to_string());
    assert_eq!(source.last_event_id, expected.last_event_id, "C4");
    assert_eq!(source.retry, expected.retry, "C4");
}

/// What a page must be given.
#[derive(Default)]
struct Expected {
    messages: Vec<Message>,
    last_event_id: String,
    retry: Option<u128>,
}

fn one(input: &mut Input<'_>, wire: &mut BytesMut, expected: &mut Expected) {
    let fields = input.byte();
    let mut text = |bit: u8| (fields & bit != 0).then(|| text(input)).flatten();
    let (id, kind, data, comment) = (text(1), text(2), text(4), text(8));
    let retry = (fields & 16 != 0).then(|| retry(input));
    if let Some(comment) = comment {
        return encode_comment(comment, wire);
    }
    let event = SseEvent { id, event: kind, retry, data };
    let before = wire.clone();
    let good_id = |id: &str| id.chars().all(|char| (' '..='~').contains(&char)) && id.chars().count() <= 128;
    let good_kind = |kind: &str| !kind.contains(['\r', '\n']);
    let good = id.is_none_or(good_id) && kind.is_none_or(good_kind);
    assert_eq!(event.encode(wire).is_ok(), good, "{event:?}");
    if !good {
        assert_eq!(*wire, before, "what is refused leaves no trace");
        return;
    }
    assert!(wire.starts_with(&before), "what was written stays");
    if let Some(id) = id {
        id.clone_into(&mut expected.last_event_id);
    }
    if let Some(retry) = retry {
        expected.retry = Some(retry.as_millis());
    }
    if let Some(data) = data {
        let kind = kind.filter(|kind| !kind.is_empty()).unwrap_or("message").to_owned();
        let data = data.replace("\r\n", "\n").replace('\r', "\n");
        let last_event_id = expected.last_event_id.clone();
        expected.messages.push(Message { kind, data, last_event_id });
    }
}

/// A text that is UTF-8 up to its end, or none.
fn text<'a>(input: &mut Input<'a>) -> Option<&'a str> {
    let length = input.below(160);
    std::str::from_utf8(input.take(length)).ok()
}

fn retry(input: &mut Input<'_>) -> Duration {
    match input.byte() {
        255 => Duration::MAX,
        number => Duration::from_micros(u64::from(number) * 300),
    }
}
