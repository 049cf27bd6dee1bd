//! A reader of server-sent events after WHATWG HTML 9.2.6, as a browser is one.

/// What a page is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: String,
    pub(crate) data: String,
    pub(crate) last_event_id: String,
}

/// One stream being read.
#[derive(Debug, Default)]
pub(crate) struct EventSource {
    text: String,
    at: usize,
    data: String,
    kind: String,
    id_buffer: String,
    /// What the page was given so far.
    pub(crate) messages: Vec<Message>,
    /// What would be sent as `Last-Event-ID`.
    pub(crate) last_event_id: String,
    /// The reconnection time, in milliseconds.
    pub(crate) retry: Option<u128>,
}

impl EventSource {
    pub(crate) fn push(&mut self, octets: &[u8]) {
        self.text.push_str(std::str::from_utf8(octets).expect("events are UTF-8"));
        while let Some((line, next)) = next_line(&self.text, self.at) {
            let line = line.to_owned();
            self.at = next;
            self.read(&line);
        }
    }

    /// Whether the stream ends behind an event, so that nothing of it is lost.
    pub(crate) fn is_between_events(&self) -> bool {
        self.at == self.text.len() && self.data.is_empty() && self.kind.is_empty()
    }

    fn read(&mut self, line: &str) {
        if line.is_empty() {
            return self.dispatch();
        }
        if line.starts_with(':') {
            return;
        }
        let (field, value) = match line.find(':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, ""),
        };
        let value = if let Some(rest) = value.strip_prefix(' ') { rest } else { value };
        match field {
            "event" => self.kind = value.to_owned(),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => self.id_buffer = value.to_owned(),
            "retry" if !value.is_empty() && value.bytes().all(|octet| octet.is_ascii_digit()) => {
                self.retry = value.parse().ok();
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        self.last_event_id.clone_from(&self.id_buffer);
        let (kind, mut data) = (std::mem::take(&mut self.kind), std::mem::take(&mut self.data));
        if data.is_empty() {
            return;
        }
        data.pop();
        let kind = if kind.is_empty() { String::from("message") } else { kind };
        self.messages.push(Message { kind, data, last_event_id: self.last_event_id.clone() });
    }
}

/// The line at `at`, and where the next one begins: CR LF, LF and CR end a line. A CR that is the last octet so far
/// does, too; these streams are never cut between the two.
fn next_line(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = &text[at..];
    let end = rest.find(['\r', '\n'])?;
    let ending = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
    Some((&rest[..end], at + end + ending))
}
