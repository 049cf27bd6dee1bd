//! Server-sent events as they are read: strictly, with nothing that this server has no reason to send.

use serde_json::Value;

use super::wait::{PATIENCE, now};
use super::wire::{Head, Lost, Wire};

/// One event, or one comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) retry: Option<u64>,
    pub(crate) data: Option<String>,
    pub(crate) comment: bool,
}

/// A response that is an event stream, while it is read.
pub(crate) struct Stream {
    wire: Wire,
    pub(crate) head: Head,
    text: Vec<u8>,
    over: bool,
    /// What a client would come back with.
    pub(crate) last_id: Option<String>,
}

impl Event {
    /// The JSON-RPC message it carries; `None` for comments, priming events and the like.
    pub(crate) fn message(&self) -> Option<Value> {
        let data = self.data.as_deref().filter(|data| !data.is_empty())?;
        assert_eq!(self.event.as_deref(), Some("message"), "{self:?}");
        Some(serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {self:?}")))
    }

    pub(crate) fn is_priming(&self) -> bool {
        self.id.is_some() && self.data.as_deref() == Some("")
    }
}

impl Stream {
    pub(crate) fn new(wire: Wire, head: Head) -> Stream {
        assert_eq!(head.field("cache-control"), Some("no-cache, no-transform"), "{head:?}");
        assert_eq!(head.field("x-accel-buffering"), Some("no"), "{head:?}");
        assert_eq!(head.field("transfer-encoding"), Some("chunked"), "{head:?}");
        Stream { wire, head, text: Vec::new(), over: false, last_id: None }
    }

    /// The next event; `None` is the response's proper end.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, Lost> {
        loop {
            if let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let text: Vec<u8> = self.text.drain(..end + 2).collect();
                let event = parse_event(&text);
                if event.id.is_some() {
                    self.last_id.clone_from(&event.id);
                }
                return Ok(Some(event));
            }
            if self.over {
                assert!(self.text.is_empty(), "the stream ends within an event");
                return Ok(None);
            }
            match self.wire.chunk()? {
                Some(chunk) => self.text.extend(chunk),
                None => self.over = true,
            }
        }
    }

    /// The next event, which must come.
    #[track_caller]
    pub(crate) fn event(&mut self) -> Event {
        match self.next() {
            Ok(Some(event)) => event,
            other => panic!("no event: {other:?}"),
        }
    }

    /// The next JSON-RPC message, which must come.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        loop {
            if let Some(message) = self.event().message() {
                return message;
            }
        }
    }

    /// Everything up to the proper end, which must come.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<Event> {
        let (mut events, start) = (Vec::new(), now());
        loop {
            // Comments keep coming on a stream that nobody ends.
            assert!(start.elapsed() < 2 * PATIENCE, "it does not end: {events:?}");
            match self.next() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return events,
                Err(lost) => panic!("cut off: {lost:?}, after {events:?}"),
            }
        }
    }

    /// The messages up to the proper end, which must come.
    #[track_caller]
    pub(crate) fn messages(&mut self) -> Vec<Value> {
        self.rest().iter().filter_map(Event::message).collect()
    }

    /// The connection.
    pub(crate) fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    pub(crate) fn into_wire(self) -> Wire {
        self.wire
    }
}

/// The events of a whole body.
#[track_caller]
pub(crate) fn parse_events(body: &[u8]) -> Vec<Event> {
    let text = std::str::from_utf8(body).unwrap();
    assert!(text.is_empty() || text.ends_with("\n\n"), "ends within an event: {text:?}");
    text.split_inclusive("\n\n").map(|event| parse_event(event.as_bytes())).collect()
}

fn parse_event(text: &[u8]) -> Event {
    let text = std::str::from_utf8(text).unwrap();
    let mut event = Event::default();
    for line in text.trim_end_matches('\n').split('\n') {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("no field: {text:?}"));
        let value = String::from(value);
        let old = match name {
            "id" => event.id.replace(value).is_some(),
            "event" => event.event.replace(value).is_some(),
            "retry" => event.retry.replace(value.parse().unwrap()).is_some(),
            "data" => event.data.replace(value).is_some(),
            "" => std::mem::replace(&mut event.comment, true),
            _ => panic!("an unknown field: {text:?}"),
        };
        assert!(!old, "a field is given twice: {text:?}");
    }
    event
}
