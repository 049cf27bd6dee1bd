//! One connection as a client has it, TCP unless it is said otherwise: bytes out, and a reader that takes nothing but
//! well-formed HTTP/1.1. What is malformed fails the test on the spot; that the connection was lost is a result.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpSocket;

use super::ask::Ask;
use super::sse::{Event, Stream, parse_events};
use super::wait::PATIENCE;

pub(crate) struct Wire {
    link: Link,
    /// What was read and not yet used.
    got: Vec<u8>,
    /// How many reads brought something.
    pub(crate) reads: usize,
}

enum Link {
    Tcp(TcpStream),
    Other(Box<dyn Other>),
}

/// What carries bytes and is no socket. Dropping it closes.
pub(crate) trait Other: Send {
    /// Takes all of it.
    fn write(&mut self, bytes: &[u8]);
    /// As [`Read::read`].
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;
    fn reset(self: Box<Self>);
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The server closed, in good order.
    Closed,
    /// The connection was reset.
    Reset,
    /// Nothing came for as long as a test waits.
    Silent,
}

/// A response without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
}

/// A whole response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    #[track_caller]
    pub(crate) fn to(addr: SocketAddr) -> Wire {
        Wire::over(TcpStream::connect(addr).expect("the server accepts"))
    }

    /// A client whose system takes next to nothing for it: what is written to it stalls soon.
    pub(crate) fn narrow(addr: SocketAddr) -> Wire {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let stream = runtime.block_on(socket.connect(addr)).expect("the server accepts");
        let stream = stream.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        Wire::over(stream)
    }

    fn over(stream: TcpStream) -> Wire {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Wire { link: Link::Tcp(stream), got: Vec::new(), reads: 0 }
    }

    pub(crate) fn over_other(link: impl Other + 'static) -> Wire {
        Wire { link: Link::Other(Box::new(link)), got: Vec::new(), reads: 0 }
    }

    #[track_caller]
    fn tcp(&self) -> &TcpStream {
        match &self.link {
            Link::Tcp(stream) => stream,
            Link::Other(_) => panic!("only a socket has that"),
        }
    }

    #[track_caller]
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("the server reads");
    }

    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        match &mut self.link {
            Link::Tcp(stream) => stream.write_all(bytes.as_ref()),
            Link::Other(other) => {
                other.write(bytes.as_ref());
                Ok(())
            }
        }
    }

    /// Sends until the peer's side takes no more for a while.
    pub(crate) fn send_what_is_taken(&mut self, bytes: &[u8]) {
        self.tcp().set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        // What was not taken is not the point.
        _ = self.try_send(bytes);
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, ask: &Ask) -> Answer {
        match self.try_ask(ask) {
            Ok(answer) => answer,
            Err(lost) => panic!("no answer: {lost:?}; to {ask:?}"),
        }
    }

    pub(crate) fn try_ask(&mut self, ask: &Ask) -> Result<Answer, Lost> {
        self.try_send(ask.bytes()).map_err(|error| lost(&error))?;
        self.try_answer(ask.method == "HEAD")
    }

    /// The answer to a request that was sent by hand.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        match self.try_answer(false) {
            Ok(answer) => answer,
            Err(lost) => panic!("no answer: {lost:?}"),
        }
    }

    /// `to_head`: whether it answers a HEAD, which has no body whatever is announced.
    pub(crate) fn try_answer(&mut self, to_head: bool) -> Result<Answer, Lost> {
        let head = self.head()?;
        let body = self.body(&head, to_head)?;
        Ok(Answer { head, body })
    }

    /// Asks for an event stream and reads its head.
    #[track_caller]
    pub(crate) fn open(mut self, ask: &Ask) -> Stream {
        self.send(ask.bytes());
        let head = match self.head() {
            Ok(head) => head,
            Err(lost) => panic!("no answer: {lost:?}; to {ask:?}"),
        };
        assert_eq!(
            (head.status, head.field("content-type")),
            (200, Some("text/event-stream")),
            "{head:?} to {ask:?}"
        );
        Stream::new(self, head)
    }

    /// Reads a response's head.
    pub(crate) fn head(&mut self) -> Result<Head, Lost> {
        let line = self.line()?;
        let status = line.strip_prefix("HTTP/1.1 ").filter(|rest| rest.as_bytes().get(3) == Some(&b' '));
        let status = status.and_then(|rest| rest[..3].parse().ok()).unwrap_or_else(|| {
            panic!("no status line: {line:?}");
        });
        let mut fields = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("no field: {line:?}"));
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            assert!(!name.is_empty() && name.bytes().all(plain), "a strange field: {line:?}");
            assert_eq!(value.trim(), value, "blanks around a value: {line:?}");
            fields.push((name.to_owned(), value.to_owned()));
        }
        let head = Head { status, fields };
        assert!(status == 100 || head.field("date").is_some(), "no date: {head:?}");
        Ok(head)
    }

    fn body(&mut self, head: &Head, to_head: bool) -> Result<Vec<u8>, Lost> {
        let (length, coding) = (head.field("content-length"), head.field("transfer-encoding"));
        if head.status < 200 || head.status == 204 {
            assert_eq!((length, coding), (None, None), "a body is announced: {head:?}");
            return Ok(Vec::new());
        }
        match (length, coding) {
            (Some(length), None) => {
                let length = length.parse().unwrap_or_else(|_| panic!("no length: {head:?}"));
                if to_head { Ok(Vec::new()) } else { self.take(length) }
            }
            (None, Some("chunked")) => {
                let mut body = Vec::new();
                while let Some(chunk) = self.chunk()? {
                    body.extend(chunk);
                }
                Ok(body)
            }
            _ => panic!("where the body ends is not told: {head:?}"),
        }
    }

    /// One chunk of a chunked body; `None` is its proper end.
    pub(crate) fn chunk(&mut self) -> Result<Option<Vec<u8>>, Lost> {
        let line = self.line()?;
        let size = usize::from_str_radix(&line, 16).unwrap_or_else(|_| panic!("no chunk size: {line:?}"));
        let chunk = self.take(size)?;
        let end = self.line()?;
        assert!(end.is_empty(), "a chunk goes on past its size: {end:?}");
        Ok((size > 0).then_some(chunk))
    }

    fn line(&mut self) -> Result<String, Lost> {
        loop {
            if let Some(end) = self.got.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.got.drain(..=end).collect();
                assert!(line.ends_with(b"\r\n"), "a line without CR: {}", line.escape_ascii());
                line.truncate(line.len() - 2);
                let plain = line.iter().all(|byte| matches!(byte, b' '..=b'~'));
                assert!(plain, "a strange line: {}", line.escape_ascii());
                return Ok(String::from_utf8(line).unwrap());
            }
            self.read()?;
        }
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>, Lost> {
        while self.got.len() < count {
            self.read()?;
        }
        Ok(self.got.drain(..count).collect())
    }

    /// One read.
    pub(crate) fn read(&mut self) -> Result<usize, Lost> {
        let mut buffer = vec![0; 64 * 1024];
        let read = match &mut self.link {
            Link::Tcp(stream) => stream.read(&mut buffer),
            Link::Other(other) => other.read(&mut buffer),
        };
        match read {
            Ok(0) => Err(Lost::Closed),
            Ok(read) => {
                self.reads += 1;
                self.got.extend_from_slice(&buffer[..read]);
                Ok(read)
            }
            Err(error) => Err(lost(&error)),
        }
    }

    /// One read, which may be in vain.
    pub(crate) fn read_for(&mut self, time: Duration) -> Result<usize, Lost> {
        self.tcp().set_read_timeout(Some(time)).unwrap();
        let read = self.read();
        self.tcp().set_read_timeout(Some(PATIENCE)).unwrap();
        read
    }

    /// What was read and belongs to no response that was taken.
    pub(crate) fn unused(&self) -> &[u8] {
        &self.got
    }

    /// Waits until the server has closed; it must not say anything before.
    #[track_caller]
    pub(crate) fn expect_close(&mut self) {
        assert!(self.got.is_empty(), "more was said: {}", self.got.escape_ascii());
        match self.read() {
            Err(Lost::Closed | Lost::Reset) => {}
            Err(Lost::Silent) => panic!("the connection stays open"),
            Ok(_) => panic!("more was said: {}", self.got.escape_ascii()),
        }
    }

    /// Waits until the server has closed, whatever it says before. Returns how.
    pub(crate) fn drain(&mut self) -> Lost {
        loop {
            self.got.clear();
            if let Err(lost) = self.read() {
                return lost;
            }
        }
    }

    /// Shuts the write side: the server sees an end, and may still answer.
    pub(crate) fn half_close(&self) {
        // A server that has closed meanwhile is as good.
        _ = self.tcp().shutdown(Shutdown::Write);
    }

    /// Closes with a reset instead of a FIN.
    pub(crate) fn reset(self) {
        match self.link {
            Link::Tcp(stream) => {
                let same = stream.try_clone().unwrap();
                TcpSocket::from_std_stream(same).set_zero_linger().unwrap();
            }
            Link::Other(other) => other.reset(),
        }
    }

    /// The address of this end.
    pub(crate) fn local(&self) -> SocketAddr {
        self.tcp().local_addr().unwrap()
    }
}

fn lost(error: &io::Error) -> Lost {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Lost::Silent,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => Lost::Reset,
        _ => panic!("the socket failed: {error}"),
    }
}

impl Head {
    /// The value of a field, which must not be there twice.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values =
            self.fields.iter().filter(|(field, _)| field == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert!(values.next().is_none(), "{name} is given twice: {self:?}");
        value
    }

    pub(crate) fn closes(&self) -> bool {
        self.field("connection") == Some("close")
    }
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.field(name)
    }

    pub(crate) fn session_id(&self) -> Option<&str> {
        self.field("mcp-session-id")
    }

    /// The body, which must be JSON by its type and by its text, on one line.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.field("content-type"), Some("application/json"), "{self:?}");
        assert!(!self.body.trim_ascii_end().contains(&b'\n'), "more than one line: {self:?}");
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The result of the one call it answers.
    #[track_caller]
    pub(crate) fn result(&self) -> Value {
        let message = self.json();
        assert_eq!(self.status(), 200, "{message}");
        message.get("result").cloned().unwrap_or_else(|| panic!("no result: {message}"))
    }

    /// The code of the JSON-RPC error it is.
    #[track_caller]
    pub(crate) fn error_code(&self) -> i64 {
        let message = self.json();
        message["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {message}"))
    }

    /// The events of a stream that was read to its end.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Event> {
        assert_eq!(self.field("content-type"), Some("text/event-stream"), "{self:?}");
        parse_events(&self.body)
    }
}
