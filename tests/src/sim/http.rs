//! A client's side of HTTP/1.1: writes requests, and reads responses back by the text of the RFC.

/// What was read.
#[derive(Debug)]
pub(super) enum Read {
    Head(Head),
    Body(Vec<u8>),
    End,
}

/// The head of a final response, with field names in lower case.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) fields: Vec<(String, String)>,
}

impl Head {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(field, _)| field == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is there twice: {self:?}");
        value
    }

    pub(super) fn closes(&self) -> bool {
        self.field("connection") == Some("close")
    }

    pub(super) fn is_stream(&self) -> bool {
        self.field("content-type") == Some("text/event-stream")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Head,
    Counted(usize),
    ChunkLine,
    Chunk(usize),
    ChunkEnd,
    Trailer,
}

/// Reads the responses of one connection, one after the other.
#[derive(Debug)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    place: Place,
}

impl Reader {
    pub(super) fn new() -> Self {
        Reader { bytes: Vec::new(), place: Place::Head }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether a response, or the beginning of one, is there and not whole.
    pub(super) fn is_within(&self) -> bool {
        self.place != Place::Head || !self.bytes.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<Read> {
        loop {
            match self.place {
                Place::Head => {
                    let end = find(&self.bytes, b"\r\n\r\n")?;
                    let head = read_head(&self.take(end + 4));
                    if head.status == 100 {
                        continue;
                    }
                    self.place = match (head.field("transfer-encoding"), head.field("content-length")) {
                        (Some("chunked"), None) => Place::ChunkLine,
                        (None, Some(length)) => Place::Counted(length.parse().expect("a length")),
                        (None, None) if head.status == 204 => Place::Counted(0),
                        _ => panic!("no framing: {head:?}"),
                    };
                    return Some(Read::Head(head));
                }
                Place::Counted(0) => {
                    self.place = Place::Head;
                    return Some(Read::End);
                }
                Place::Counted(length) => {
                    let here = length.min(self.bytes.len());
                    if here == 0 {
                        return None;
                    }
                    self.place = Place::Counted(length - here);
                    return Some(Read::Body(self.take(here)));
                }
                Place::ChunkLine => {
                    let end = find(&self.bytes, b"\r\n")?;
                    let line = self.take(end + 2);
                    let digits = std::str::from_utf8(&line[..end]).expect("ASCII");
                    let size = usize::from_str_radix(digits, 16).expect("a chunk's size");
                    self.place = if size == 0 { Place::Trailer } else { Place::Chunk(size) };
                }
                Place::Chunk(0) => self.place = Place::ChunkEnd,
                Place::Chunk(size) => {
                    let here = size.min(self.bytes.len());
                    if here == 0 {
                        return None;
                    }
                    self.place = Place::Chunk(size - here);
                    return Some(Read::Body(self.take(here)));
                }
                Place::ChunkEnd | Place::Trailer => {
                    if self.bytes.len() < 2 {
                        return None;
                    }
                    assert_eq!(self.take(2), b"\r\n", "a chunk or a body ends with CRLF");
                    if self.place == Place::Trailer {
                        self.place = Place::Head;
                        return Some(Read::End);
                    }
                    self.place = Place::ChunkLine;
                }
            }
        }
    }

    fn take(&mut self, n: usize) -> Vec<u8> {
        self.bytes.drain(..n).collect()
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn read_head(bytes: &[u8]) -> Head {
    let text = std::str::from_utf8(bytes).expect("heads are ASCII");
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).expect("a status line");
    let fields = lines.map(|line| {
        let (name, value) = line.split_once(": ").expect("a field");
        (name.to_ascii_lowercase(), value.to_owned())
    });
    Head { status: status[..3].parse().expect("a status"), fields: fields.collect() }
}

/// A request on the wire.
pub(super) fn request(method: &str, fields: &[(&str, String)], body: &str, chunked: bool) -> Vec<u8> {
    let mut text = format!("{method} /mcp HTTP/1.1\r\nhost: localhost\r\n");
    for (name, value) in fields {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if method != "POST" {
        text.push_str("\r\n");
    } else if chunked {
        let (first, rest) = body.split_at(body.len() / 2);
        text.push_str("transfer-encoding: chunked\r\n\r\n");
        for part in [first, rest].into_iter().filter(|part| !part.is_empty()) {
            text.push_str(&format!("{:x}\r\n{part}\r\n", part.len()));
        }
        text.push_str("0\r\n\r\n");
    } else {
        text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    }
    text.into_bytes()
}
