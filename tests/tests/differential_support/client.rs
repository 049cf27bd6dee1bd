//! A client that writes down what it sees. What cannot be the same twice, such as ids, is given a name in the
//! order in which it is met.

use super::Tested;
use crate::socket_support::ask::{self, Ask};
use crate::socket_support::sse::{Event, Stream, parse_events};
use crate::socket_support::wire::{Answer, Head, Lost, Wire};

pub(crate) const OLDEST: &str = "2025-03-26";
pub(crate) const MIDDLE: &str = "2025-06-18";
pub(crate) const NEWEST: &str = "2025-11-25";

/// The fields that are the machines' to say. Framing, `Date` and keep-alive are the HTTP stack's.
const FIELDS: [&str; 11] = [
    "content-type",
    "mcp-session-id",
    "cache-control",
    "x-accel-buffering",
    "allow",
    "www-authenticate",
    "retry-after",
    "vary",
    "access-control-allow-origin",
    "access-control-allow-headers",
    "access-control-expose-headers",
];

pub(crate) struct Client {
    pub(crate) server: Box<dyn Tested>,
    lines: Vec<String>,
    /// What was met, in its order: sessions, and the tags of event ids.
    ids: Vec<String>,
    tags: Vec<String>,
}

/// A session as the client has it.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) id: String,
    version: &'static str,
}

impl Open {
    /// The request, bearing this session's id and version.
    pub(crate) fn own(&self, ask: Ask) -> Ask {
        ask.with("mcp-session-id", &self.id).with("mcp-protocol-version", self.version)
    }
}

impl Client {
    pub(crate) fn of(server: Box<dyn Tested>) -> Client {
        Client { server, lines: Vec::new(), ids: Vec::new(), tags: Vec::new() }
    }

    /// It has seen enough.
    pub(crate) fn leave(self) -> (Vec<String>, Box<dyn Tested>) {
        (self.lines, self.server)
    }

    pub(crate) fn write(&mut self, line: impl Into<String>) {
        let line = self.named(line.into());
        self.lines.push(line);
    }

    /// Sends and does not wait.
    pub(crate) fn send(&self, ask: &Ask) -> Wire {
        let mut wire = self.server.connect();
        wire.send(ask.bytes());
        wire
    }

    /// Asks, and writes down the answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, what: &str, ask: &Ask) -> Answer {
        let mut wire = self.send(ask);
        self.answer(what, &mut wire, ask.method == "HEAD")
    }

    /// Reads and writes down the answer to what was sent.
    #[track_caller]
    pub(crate) fn answer(&mut self, what: &str, wire: &mut Wire, to_head: bool) -> Answer {
        let answer = match wire.try_answer(to_head) {
            Ok(answer) => answer,
            Err(lost) => panic!("{what}: no answer: {lost:?}"),
        };
        self.meet(&answer.head);
        self.write(format!("{what}: {}", head_line(&answer.head)));
        if answer.head.field("content-type") == Some("text/event-stream") {
            parse_events(&answer.body).iter().for_each(|event| self.event_line(event));
        } else if !answer.body.is_empty() {
            self.write(format!("  {}", shortened(&String::from_utf8_lossy(&answer.body))));
        }
        answer
    }

    /// Opens a session and says that it did.
    #[track_caller]
    pub(crate) fn open(&mut self, version: &'static str) -> Open {
        self.open_with(version, |ask| ask)
    }

    #[track_caller]
    pub(crate) fn open_with(&mut self, version: &'static str, with: impl Fn(Ask) -> Ask) -> Open {
        let answer = self.ask("initialize", &with(ask::initialize_as("test", version)));
        let id = answer.session_id().expect("a session is offered").to_owned();
        let open = Open { id, version };
        let initialized = ask::notice("notifications/initialized", &serde_json::json!({}));
        self.ask("initialized", &with(open.own(initialized)));
        open
    }

    /// Opens an event stream; its head is written down.
    #[track_caller]
    pub(crate) fn stream(&mut self, what: &str, ask: &Ask) -> Stream {
        let mut wire = self.send(ask);
        let head = self.head(what, &mut wire);
        assert_eq!(head.field("content-type"), Some("text/event-stream"), "{head:?}");
        Stream::new(wire, head)
    }

    #[track_caller]
    fn head(&mut self, what: &str, wire: &mut Wire) -> Head {
        let head = wire.head().unwrap_or_else(|lost| panic!("{what}: no answer: {lost:?}"));
        self.meet(&head);
        self.write(format!("{what}: {}", head_line(&head)));
        head
    }

    #[track_caller]
    pub(crate) fn listen(&mut self, open: &Open) -> Stream {
        self.stream("listen", &open.own(ask::get()))
    }

    /// Comes back to where a stream broke.
    #[track_caller]
    pub(crate) fn resume(&mut self, open: &Open, last: &str) -> Stream {
        self.stream("resume", &open.own(ask::get().with("last-event-id", last)))
    }

    /// Reads events until one of them carries a message.
    #[track_caller]
    pub(crate) fn message(&mut self, stream: &mut Stream) {
        loop {
            let event = stream.event();
            self.event_line(&event);
            if event.message().is_some() {
                return;
            }
        }
    }

    /// Reads one event.
    #[track_caller]
    pub(crate) fn event(&mut self, stream: &mut Stream) {
        let event = stream.event();
        self.event_line(&event);
    }

    /// Reads up to the proper end.
    #[track_caller]
    pub(crate) fn rest(&mut self, stream: &mut Stream) {
        for event in stream.rest() {
            self.event_line(&event);
        }
        self.write("  end");
    }

    /// Waits for a stream that does not end properly.
    pub(crate) fn cut_off(&mut self, stream: &mut Stream) {
        loop {
            match stream.next() {
                Ok(Some(event)) => self.event_line(&event),
                Ok(None) => return self.write("  end"),
                Err(Lost::Silent) => panic!("neither an end nor a cut"),
                Err(_) => return self.write("  cut off"),
            }
        }
    }

    #[track_caller]
    pub(crate) fn delete(&mut self, open: &Open) {
        self.ask("delete", &open.own(ask::delete()));
    }

    fn event_line(&mut self, event: &Event) {
        if let Some(id) = &event.id {
            let tag = id.split('-').next().unwrap_or(id).to_owned();
            if !self.tags.contains(&tag) {
                self.tags.push(tag);
            }
        }
        let Event { id, event, retry, data, comment } = event;
        let data = data.as_deref().map(shortened);
        self.write(format!(
            "  event {id:?} {event:?} {retry:?} {data:?}{}",
            if *comment { " comment" } else { "" }
        ));
    }

    fn meet(&mut self, head: &Head) {
        let id = head.field("mcp-session-id").map(str::to_owned);
        self.ids.extend(id.filter(|id| !self.ids.contains(id)));
    }

    fn named(&self, mut line: String) -> String {
        for (index, id) in self.ids.iter().enumerate() {
            line = line.replace(id, &format!("s{}", index + 1));
        }
        for (index, tag) in self.tags.iter().enumerate() {
            line = line.replace(tag, &format!("tag{}", index + 1));
        }
        line
    }
}

fn head_line(head: &Head) -> String {
    let mut line = head.status.to_string();
    for name in FIELDS {
        if let Some(value) = head.field(name) {
            line.push_str(&format!(" {name}={value}"));
        }
    }
    line
}

/// What is long is told by its length and its end.
fn shortened(text: &str) -> String {
    const MAX: usize = 400;
    if text.len() <= MAX { text.to_owned() } else { format!("{} bytes", text.len()) }
}
