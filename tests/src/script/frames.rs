//! Reads server-sent events back, by the text of the standard and not by the encoder's.

use bytes::Bytes;

/// One event or comment as it was pulled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// `id`.
    pub id: Option<String>,
    /// `event`.
    pub event: Option<String>,
    /// `retry`, in milliseconds.
    pub retry: Option<u64>,
    /// The `data` lines, joined.
    pub data: Option<String>,
    /// Whether it has a comment line.
    pub comment: bool,
}

/// What a frame is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A comment alone (C12).
    Comment,
    /// `id`, `retry` and empty `data` (C6).
    Priming,
    /// `retry` alone.
    Retry,
    /// `event: message` with this text (C4).
    Message(String),
}

impl Frame {
    /// Reads exactly one frame; anything but a whole one of known fields fails the test.
    ///
    /// # Panics
    /// If it is not one.
    #[must_use]
    #[track_caller]
    pub fn read(bytes: &Bytes) -> Frame {
        let text = std::str::from_utf8(bytes).expect("frames are UTF-8");
        let lines = text.strip_suffix("\n\n").unwrap_or_else(|| panic!("not a whole frame: {text:?}"));
        assert!(!lines.contains("\n\n"), "more than one frame: {text:?}");
        let mut frame = Frame::default();
        for line in lines.split('\n') {
            assert!(!line.contains('\r'), "a bare CR: {text:?}");
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "" => frame.comment = true,
                "id" => assert_eq!(frame.id.replace(value), None, "two ids: {text:?}"),
                "event" => assert_eq!(frame.event.replace(value), None, "two types: {text:?}"),
                "retry" => frame.retry = Some(value.parse().expect("retry is a number")),
                "data" => {
                    frame.data = Some(match frame.data.take() {
                        Some(before) => before + "\n" + &value,
                        None => value,
                    });
                }
                _ => panic!("an unknown field: {text:?}"),
            }
        }
        frame
    }

    /// What it is for; a mixture fails the test.
    ///
    /// # Panics
    /// If it has fields that do not belong together.
    #[must_use]
    #[track_caller]
    pub fn said(&self) -> Said {
        match (self.id.as_deref(), self.event.as_deref(), self.retry, self.data.as_deref(), self.comment) {
            (None, None, None, None, true) => Said::Comment,
            (Some(_), None, Some(_), Some(""), false) => Said::Priming,
            (None, None, Some(_), None, false) => Said::Retry,
            (_, Some("message"), None, Some(data), false) if !data.is_empty() => {
                Said::Message(data.to_owned())
            }
            _ => panic!("a frame of no known kind: {self:?}"),
        }
    }
}

/// A message as [`Frame::said`] tells it.
#[must_use]
pub fn message(text: impl Into<String>) -> Said {
    Said::Message(text.into())
}
