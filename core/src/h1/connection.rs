//! The machine's surface: what the caller feeds in, and what it takes out. What happens between the two is
//! in `turn.rs`, and where a connection may stand in `state.rs`.

use std::io::IoSlice;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode};

use super::body::Decoder;
use super::head::HeadScan;
use super::input::Input;
use super::output::Output;
use super::response::{self, CONTINUE, Length, Persistence, ResponseHead};
use super::state::{Cause, Reader, State, Writer};
use super::{Body, Limits, Misuse};
use crate::time::Timestamp;

/// Octets of input that may wait while nobody uses them: a body not asked for, or pipelined requests.
const WAITING_BYTES_MAX: usize = 16 * 1024;

/// Octets of a body that are copied behind the head, so that both leave in one piece.
const COPIED_BYTES_MAX: usize = 16 * 1024;

/// One socket's HTTP/1.1 exchanges, one after the other.
///
/// Feed it with [`receive`](Self::receive), [`receive_eof`](Self::receive_eof), [`wrote`](Self::wrote) and
/// [`handle_timeout`](Self::handle_timeout). After each of them, and after each call that answers, take
/// [`next_event`](Self::next_event) until it gives `None`; then write what [`output`](Self::output) has, and
/// wait for the socket or [`poll_timeout`](Self::poll_timeout), whichever is first.
///
/// `now` never runs backwards for the machine: an earlier point counts as the latest one seen.
#[derive(Debug)]
pub struct Connection {
    pub(super) limits: Limits,
    /// The latest time seen.
    pub(super) now: Timestamp,
    pub(super) state: State,
    pub(super) input: Input,
    pub(super) output: Output,
    /// The head being collected.
    pub(super) scan: HeadScan,
    /// The exchange in progress.
    pub(super) exchange: Exchange,
    /// When what the reader waits for is overdue.
    pub(super) read_deadline: Option<Timestamp>,
    /// When the output that waits counts as stalled.
    pub(super) write_deadline: Option<Timestamp>,
    /// The reader's deadline has passed; what has arrived until then still counts.
    pub(super) overdue: bool,
    /// The peer shut its write side.
    pub(super) eof: bool,
    /// `HalfClosed`, or a fault that says as much, was given.
    pub(super) eof_told: bool,
    /// The application wants no further exchange.
    pub(super) retiring: bool,
    /// Octets dropped since the last exchange that was read in full.
    pub(super) dropped: usize,
}

/// What is known of the request being answered.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// The request is in HTTP/1.0.
    pub(super) http10: bool,
    /// The request is HEAD: its response has no body.
    pub(super) is_head: bool,
    /// The peer would go on with this connection.
    pub(super) persistent: bool,
    /// The peer holds its body back and was not told to go on.
    pub(super) expects: bool,
    pub(super) body: Decoder,
    pub(super) coding: Coding,
}

/// What becomes of a streamed response body's pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Coding {
    /// Each is one chunk.
    #[default]
    Chunked,
    /// They leave as they are, and closing ends them: HTTP/1.0.
    Raw,
    /// They are dropped: this response has no body.
    Bodiless,
}

/// Input: what the socket and the clock say.
impl Connection {
    /// A connection just accepted.
    #[must_use]
    pub fn new(limits: Limits, now: Timestamp) -> Self {
        Connection {
            read_deadline: Some(now.after(limits.header_read)),
            limits,
            now,
            state: State::ACCEPTED,
            input: Input::default(),
            output: Output::default(),
            scan: HeadScan::default(),
            exchange: Exchange::default(),
            write_deadline: None,
            overdue: false,
            eof: false,
            eof_told: false,
            retiring: false,
            dropped: 0,
        }
    }

    /// The peer's next octets. On a connection that is closing they are counted and dropped.
    pub fn receive(&mut self, bytes: &[u8], now: Timestamp) {
        self.see(now);
        match self.state.reader {
            Reader::Head | Reader::Held | Reader::Body | Reader::Skip | Reader::Done => {
                self.input.push(bytes)
            }
            Reader::Shut => self.drop_octets(bytes.len()),
        }
    }

    /// The peer shut its write side: no more octets will come.
    pub fn receive_eof(&mut self, now: Timestamp) {
        self.see(now);
        self.eof = true;
    }

    /// The socket took the first `n` octets of the output. Progress puts the write deadline off; more than
    /// was there counts as all of it.
    pub fn wrote(&mut self, n: usize, now: Timestamp) {
        self.see(now);
        if n == 0 {
            return;
        }
        self.output.take(n);
        self.write_deadline = (!self.output.is_empty()).then(|| self.now.after(self.limits.write_stall));
    }

    /// Judges the deadlines. Call it when [`poll_timeout`](Self::poll_timeout) has come; earlier does no harm.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.see(now);
        if self.read_deadline.is_some_and(|at| at <= self.now) {
            self.read_deadline = None;
            self.overdue = true;
        }
        if self.write_deadline.is_some_and(|at| at <= self.now) {
            self.turn(Cause::Ended);
        }
    }
}

/// Output: what the caller does with the socket and the clock. Events are in `turn.rs`.
impl Connection {
    /// When [`handle_timeout`](Self::handle_timeout) is due; `None` while nothing is waited for.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        match (self.read_deadline, self.write_deadline) {
            (Some(read), Some(write)) => Some(read.min(write)),
            (read, write) => read.or(write),
        }
    }

    /// Whether more of the peer's octets are of use now. `false` pushes back: leave them in the socket.
    #[must_use]
    pub fn wants_read(&self) -> bool {
        let is_over = matches!(self.state.writer, Writer::Lost | Writer::Closing | Writer::Closed);
        let has_room = match self.state.reader {
            // These use up what comes, and bound what they cannot use yet.
            Reader::Head | Reader::Body | Reader::Skip => true,
            Reader::Held | Reader::Done => self.input.len() < WAITING_BYTES_MAX,
            Reader::Shut => self.dropped < self.limits.drain_bytes_max,
        };
        !self.eof && !is_over && has_room
    }

    /// Whether octets wait to be written.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Fills `slices` with the output in order, for one vectored write; returns how many it filled. Tell
    /// [`wrote`](Self::wrote) what the socket took.
    pub fn output<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.output.fill(slices)
    }

    /// Octets that wait to be written.
    #[must_use]
    pub fn unwritten(&self) -> usize {
        self.output.unwritten()
    }

    /// Octets held of a head that has not ended; at most [`Limits::head_bytes_max`] and one `receive`.
    #[must_use]
    pub fn head_octets(&self) -> usize {
        if self.state.reader == Reader::Head { self.input.len() } else { 0 }
    }

    /// Octets held, of input and output together.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.input.len().saturating_add(self.output.unwritten())
    }
}

/// The answering side.
impl Connection {
    /// The application wants the body, at most `limit` octets of it: `Data` events and one `BodyEnd` follow,
    /// or a fault. A peer that waits to be told gets `100 Continue`, unless its body is refused or was
    /// already on its way (RFC 9110 10.1.1).
    ///
    /// Does nothing unless a request's body waits and no response to it has begun.
    pub fn read_body(&mut self, limit: usize, now: Timestamp) {
        self.see(now);
        if self.state.after(Cause::BodyAsked).is_none() {
            return;
        }
        self.turn(Cause::BodyAsked);
        let limit = limit.min(self.limits.body_bytes_max);
        self.exchange.body.limit(u64::try_from(limit).unwrap_or(u64::MAX));
        if core::mem::take(&mut self.exchange.expects)
            && self.input.is_empty()
            && self.exchange.body.owed() != Some(0)
            && !self.exchange.body.is_too_large()
        {
            self.output.push_text(|text| text.extend_from_slice(CONTINUE));
            self.output_grew();
        }
    }

    /// The application cannot hold the head that is arriving. As after a fault, nothing more is parsed and the
    /// response is the last; the caller gives it with [`respond`](Self::respond), and no event asks for it.
    /// Returns whether there is such a head.
    pub fn refuse_head(&mut self) -> bool {
        let begun = self.head_octets() > 0 && self.state.after(Cause::Faulted).is_some();
        if begun {
            self.give_up_request();
        }
        begun
    }

    /// Queues the response to the request or fault at hand: its head, and its body unless that is streamed.
    ///
    /// Framing, persistence and `date` are written here; `fields` go out in their order. The connection
    /// closes after it if the peer or [`close_after_response`](Self::close_after_response) asked for that,
    /// after a fault, if only closing can end the body, or if more of the request's body is unread than may
    /// be dropped.
    ///
    /// # Errors
    /// [`Misuse`]; nothing was queued.
    pub fn respond(
        &mut self,
        status: StatusCode,
        fields: &[(HeaderName, HeaderValue)],
        body: Body,
        date: Option<&HeaderValue>,
        now: Timestamp,
    ) -> Result<(), Misuse> {
        self.see(now);
        match self.state.writer {
            Writer::Idle => return Err(Misuse::NothingToAnswer),
            Writer::Due => {}
            Writer::Body | Writer::Sent => return Err(Misuse::AlreadyAnswered),
            Writer::HalfClosing | Writer::Lingering | Writer::Lost | Writer::Closing | Writer::Closed => {
                return Err(Misuse::Closed);
            }
        }
        if status.is_informational() {
            return Err(Misuse::InterimStatus);
        }
        response::check_fields(fields)?;

        let (length, coding) = self.framing(status, &body);
        self.exchange.coding = coding;
        let reuse = self.may_be_reused(coding);
        let persistence = match (reuse, self.exchange.http10) {
            (false, _) => Persistence::Close,
            (true, true) => Persistence::KeepAlive,
            (true, false) => Persistence::Unsaid,
        };
        let head = ResponseHead { status, fields, date, length, persistence };
        self.turn(Cause::Answered { reuse });
        self.queue_response(&head, body);
        Ok(())
    }

    /// Queues a piece of a streamed body, without copying it. Empty data is ignored. Pieces that are queued
    /// before a write leave together.
    ///
    /// # Errors
    /// [`Misuse`]; nothing was queued.
    pub fn send(&mut self, data: Bytes, now: Timestamp) -> Result<(), Misuse> {
        self.see(now);
        self.check_stream()?;
        match self.exchange.coding {
            Coding::Chunked => self.output.push_chunk(data),
            Coding::Raw => self.output.push(data),
            Coding::Bodiless => {}
        }
        self.output_grew();
        Ok(())
    }

    /// Ends a streamed body.
    ///
    /// # Errors
    /// [`Misuse`]; nothing was queued.
    pub fn finish(&mut self, now: Timestamp) -> Result<(), Misuse> {
        self.see(now);
        self.check_stream()?;
        match self.exchange.coding {
            Coding::Chunked => self.output.push_last_chunk(),
            Coding::Raw | Coding::Bodiless => {}
        }
        self.output_grew();
        self.turn(Cause::Finished);
        Ok(())
    }

    /// Gives the connection up: what was queued is dropped, and `Close` is the next event, after `Gone` if an
    /// exchange is in progress. Again does nothing.
    pub fn abort(&mut self) {
        self.turn(Cause::Ended);
    }

    /// Makes the exchange at hand, or the one whose head is arriving, the last; a connection that waits for
    /// a request closes at once. Before [`respond`](Self::respond) it is announced as `Connection: close`.
    pub fn close_after_response(&mut self) {
        self.retiring = true;
        self.turn(Cause::Retired);
    }
}

/// How a response is put together.
impl Connection {
    /// RFC 9112 6.3, rules 1 to 8 from the sender's side.
    fn framing(&self, status: StatusCode, body: &Body) -> (Length, Coding) {
        let no_length = status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED;
        let bodiless = no_length || self.exchange.is_head;
        let coding = match body {
            _ if bodiless => Coding::Bodiless,
            Body::Stream if self.exchange.http10 => Coding::Raw,
            Body::Empty | Body::Full(_) | Body::Stream => Coding::Chunked,
        };
        let length = match body {
            _ if no_length => Length::Unsaid,
            Body::Empty => Length::Octets(0),
            Body::Full(octets) => Length::Octets(octets.len()),
            Body::Stream if self.exchange.http10 => Length::Unsaid,
            Body::Stream => Length::Chunked,
        };
        (length, coding)
    }

    /// Whether another exchange can follow: both sides want it, and where this one ends is beyond doubt.
    fn may_be_reused(&self, coding: Coding) -> bool {
        let wanted = self.exchange.persistent && !self.retiring && !(self.eof && self.input.is_empty());
        let is_skippable = match self.state.reader {
            Reader::Held | Reader::Body => {
                let drain = u64::try_from(self.limits.drain_bytes_max).unwrap_or(u64::MAX);
                !self.exchange.expects && self.exchange.body.owed().is_none_or(|owed| owed <= drain)
            }
            Reader::Done => true,
            Reader::Head | Reader::Skip | Reader::Shut => false,
        };
        wanted && is_skippable && coding != Coding::Raw
    }

    /// Head and small body in one piece of memory; a larger body behind it, as it is.
    fn queue_response(&mut self, head: &ResponseHead<'_>, body: Body) {
        let is_stream = matches!(body, Body::Stream);
        let octets = match body {
            Body::Full(octets) if self.exchange.coding != Coding::Bodiless => octets,
            Body::Full(_) | Body::Empty | Body::Stream => Bytes::new(),
        };
        if octets.len() <= COPIED_BYTES_MAX {
            self.output.push_text(|text| {
                head.write(octets.len(), text);
                text.extend_from_slice(&octets);
            });
        } else {
            self.output.push_text(|text| head.write(0, text));
            self.output.push(octets);
        }
        self.output_grew();
        if !is_stream {
            self.turn(Cause::Finished);
        }
    }

    fn check_stream(&self) -> Result<(), Misuse> {
        match self.state.writer {
            Writer::Body => Ok(()),
            Writer::Idle | Writer::Due | Writer::Sent => Err(Misuse::NoStream),
            Writer::HalfClosing | Writer::Lingering | Writer::Lost | Writer::Closing | Writer::Closed => {
                Err(Misuse::Closed)
            }
        }
    }
}
