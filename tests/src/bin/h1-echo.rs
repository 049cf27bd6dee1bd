//! An echo server on the bare codec, for public HTTP test suites. Test-only: a thread per connection, no cap
//! on their number.
//!
//! Every path answers with the body it got; `/echo` answers with the fields it got, as text.

use std::io::{IoSlice, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use clap::Parser;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use mcp_http_core::h1::{Body, Connection, Event, Limits};
use mcp_http_core::time::Timestamp;

#[derive(Parser)]
#[command(about = "An HTTP/1.1 echo server on the bare codec, for public HTTP test suites")]
struct Args {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1:8080")]
    addr: String,
    /// Seconds for a request's head.
    #[arg(long, default_value_t = 10.0)]
    header_timeout: f64,
    /// Seconds for a request's body.
    #[arg(long, default_value_t = 30.0)]
    body_timeout: f64,
    /// Seconds between two requests.
    #[arg(long, default_value_t = 75.0)]
    keep_alive: f64,
    /// Octets of a request's body.
    #[arg(long, default_value_t = 4 * 1024 * 1024)]
    body_max: usize,
}

fn main() -> std::io::Result<()> {
    let args = Args::parse();
    let limits = Limits {
        header_read: Duration::from_secs_f64(args.header_timeout),
        body_read: Duration::from_secs_f64(args.body_timeout),
        keep_alive_idle: Duration::from_secs_f64(args.keep_alive),
        body_bytes_max: args.body_max,
        ..Limits::default()
    };
    let listener = TcpListener::bind(&args.addr)?;
    println!("http://{}", listener.local_addr()?);
    for socket in listener.incoming() {
        let limits = limits.clone();
        // A connection's errors are its own; the peer is gone, and so is the thread.
        std::thread::spawn(move || socket.and_then(|socket| Peer::new(socket, limits).serve()));
    }
    Ok(())
}

/// One connection and what its exchange has gathered.
struct Peer {
    socket: TcpStream,
    connection: Connection,
    asked: Option<Parts>,
    body: Vec<u8>,
}

impl Peer {
    fn new(socket: TcpStream, limits: Limits) -> Self {
        Peer { socket, connection: Connection::new(limits, now()), asked: None, body: Vec::new() }
    }

    fn serve(mut self) -> std::io::Result<()> {
        self.socket.set_nodelay(true)?;
        loop {
            while let Some(event) = self.connection.next_event() {
                if matches!(event, Event::Close) {
                    return Ok(());
                }
                self.act(event)?;
            }
            if self.connection.has_output() {
                self.write()?;
            } else {
                self.read()?;
            }
        }
    }

    fn act(&mut self, event: Event) -> std::io::Result<()> {
        match event {
            Event::Request(request) => {
                self.asked = Some(request.parts);
                self.connection.read_body(usize::MAX, now());
            }
            Event::Data(data) => self.body.extend_from_slice(&data),
            Event::BodyEnd => self.echo(),
            Event::Fault(fault) => {
                self.body.clear();
                self.respond(fault.status(), format!("{fault}\n").into());
            }
            Event::ShutdownWrite => self.socket.shutdown(Shutdown::Write)?,
            Event::Flushed | Event::HalfClosed | Event::Gone | Event::Close => {}
        }
        Ok(())
    }

    fn echo(&mut self) {
        let body = std::mem::take(&mut self.body);
        match self.asked.take() {
            Some(parts) if parts.uri.path() == "/echo" => self.respond(StatusCode::OK, fields(&parts)),
            Some(_) | None => self.respond(StatusCode::OK, body.into()),
        }
    }

    fn respond(&mut self, status: StatusCode, body: Bytes) {
        let fields = [(CONTENT_TYPE, HeaderValue::from_static("text/plain"))];
        let date = HeaderValue::from_str(&date()).ok();
        if self.connection.respond(status, &fields, Body::Full(body), date.as_ref(), now()).is_err() {
            self.connection.abort();
        }
    }

    fn write(&mut self) -> std::io::Result<()> {
        let mut slices = [IoSlice::new(&[]); 16];
        let filled = self.connection.output(&mut slices);
        self.socket.set_write_timeout(self.patience())?;
        match self.socket.write_vectored(slices.get(..filled).unwrap_or_default()) {
            Ok(written) => self.connection.wrote(written, now()),
            Err(error) => self.waited(error)?,
        }
        Ok(())
    }

    fn read(&mut self) -> std::io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        if !self.connection.wants_read() {
            std::thread::park_timeout(self.patience().unwrap_or(Duration::from_millis(10)));
            self.connection.handle_timeout(now());
            return Ok(());
        }
        self.socket.set_read_timeout(self.patience())?;
        match self.socket.read(&mut buffer) {
            Ok(0) => self.connection.receive_eof(now()),
            Ok(read) => self.connection.receive(buffer.get(..read).unwrap_or_default(), now()),
            Err(error) => self.waited(error)?,
        }
        Ok(())
    }

    /// Time until the next deadline; never zero, which the socket would refuse.
    fn patience(&self) -> Option<Duration> {
        let until = self.connection.poll_timeout()?;
        Some(until.since(now()).max(Duration::from_millis(1)))
    }

    fn waited(&mut self, error: std::io::Error) -> std::io::Result<()> {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                self.connection.handle_timeout(now());
                Ok(())
            }
            _ => Err(error),
        }
    }
}

/// The fields as text, one a line.
fn fields(parts: &Parts) -> Bytes {
    let mut text = Vec::new();
    for (name, value) in &parts.headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.push(b'\n');
    }
    text.into()
}

#[expect(clippy::disallowed_methods, reason = "a server has a clock")]
fn now() -> Timestamp {
    static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let origin = *ORIGIN;
    Timestamp::from_origin(Instant::now().saturating_duration_since(origin))
}

/// The time of day as the `Date` field has it (RFC 9110 5.6.7).
fn date() -> String {
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [(&str, u64); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let seconds = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    let weekday = WEEKDAYS[(seconds / 86_400 % 7) as usize];
    let (mut day, mut year) = (seconds / 86_400, 1970);
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut months =
        MONTHS.into_iter().map(|(name, days)| (name, days + u64::from(name == "Feb" && is_leap(year))));
    let month = months.find(|(_, days)| day.checked_sub(*days).map(|left| day = left).is_none());
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let month = month.map_or("Dec", |(name, _)| name);
    format!("{weekday}, {:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT", day + 1)
}
