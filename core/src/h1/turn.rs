//! What happens inside a connection: the next event is worked out, the state moves, deadlines follow it.

use core::time::Duration;

use super::body::{Decoded, Decoder};
use super::connection::{Coding, Connection, Exchange};
use super::head::{Head, HeadScan};
use super::request::{self, Parsed};
use super::state::{Cause, Reader, State, Writer};
use super::{Event, Fault};
use crate::time::Timestamp;

impl Connection {
    /// The next event; `None` until there is more input, time has passed or an answer was given.
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            let before = self.state;
            let event = self.step();
            if event.is_some() || self.state == before {
                return event;
            }
        }
    }

    /// One step; a step without an event that moved the state has made room for another.
    fn step(&mut self) -> Option<Event> {
        match (self.state.reader, self.state.writer) {
            (_, Writer::Sent) if self.output.is_empty() => self.tell(Cause::Flushed, Event::Flushed),
            (_, Writer::HalfClosing | Writer::Lingering) if self.eof || self.overdue => self.end(),
            (_, Writer::HalfClosing) => self.tell(Cause::Told, Event::ShutdownWrite),
            (_, Writer::Lost) => self.tell(Cause::Told, Event::Gone),
            (_, Writer::Closing) => self.tell(Cause::Told, Event::Close),
            (_, Writer::Lingering | Writer::Closed) => None,
            (Reader::Head, _) => self.read_head(),
            (Reader::Body, _) => self.read_data(),
            (Reader::Skip, _) => self.skip_body(),
            (Reader::Held | Reader::Done | Reader::Shut, _) => self.half_closed(),
        }
    }

    fn read_head(&mut self) -> Option<Event> {
        match self.scan.scan(&mut self.input, &self.limits) {
            Ok(Some(head)) => self.open(head),
            Ok(None) => self.await_head(),
            Err(fault) => self.fault(fault),
        }
    }

    /// A head is incomplete: goes on waiting, unless there is nothing to wait for any more.
    fn await_head(&mut self) -> Option<Event> {
        let is_silent = self.scan.only_empty_lines(&self.input);
        if is_silent && (self.eof || self.overdue || self.retiring) {
            return self.end();
        }
        if self.eof {
            return self.cut_short(Fault::HeadTruncated);
        }
        if self.overdue {
            return self.fault(Fault::HeadTimeout);
        }
        if self.scan.begins(&self.input) {
            self.read_deadline = Some(self.now.after(self.limits.header_read));
        }
        None
    }

    /// A head is complete: opens an exchange with it, or refuses it.
    fn open(&mut self, head: Head) -> Option<Event> {
        let line = head.request_line;
        let Parsed { request, persistent, expects } = match request::parse(head) {
            Ok(parsed) => parsed,
            Err(fault) => return self.fault(fault),
        };
        self.exchange = Exchange {
            http10: line.http10,
            is_head: line.is_head,
            persistent,
            expects,
            body: Decoder::new(request.body),
            coding: Coding::default(),
        };
        self.tell(Cause::HeadRead, Event::Request(request))
    }

    fn read_data(&mut self) -> Option<Event> {
        match self.exchange.body.next(&mut self.input, &self.limits) {
            Ok(Decoded::Data(data)) => Some(Event::Data(data)),
            Ok(Decoded::End) => self.tell(Cause::BodyRead, Event::BodyEnd),
            Ok(Decoded::More) if self.eof => self.cut_short(Fault::BodyTruncated),
            Ok(Decoded::More) if self.overdue => self.fault(Fault::BodyTimeout),
            Ok(Decoded::More) => None,
            Err(fault) => self.fault(fault),
        }
    }

    /// Drops what has arrived of a body that nobody wants. A fault in it has no answer, since another
    /// response has begun; all it does is end the connection after that one.
    fn skip_body(&mut self) -> Option<Event> {
        loop {
            let before = self.input.len();
            let decoded = self.exchange.body.next(&mut self.input, &self.limits);
            self.drop_octets(before.saturating_sub(self.input.len()));
            let may_go_on = self.dropped <= self.limits.drain_bytes_max;
            match decoded {
                Ok(Decoded::Data(_)) if may_go_on => {}
                Ok(Decoded::End) => return self.move_on(Cause::BodyRead),
                Ok(Decoded::More) if self.overdue => return self.end(),
                Ok(Decoded::More) if may_go_on && !self.eof => return None,
                Ok(Decoded::Data(_) | Decoded::More) | Err(_) => return self.move_on(Cause::SkipFailed),
            }
        }
    }

    fn half_closed(&mut self) -> Option<Event> {
        let is_news = self.eof && !self.eof_told;
        self.eof_told = self.eof;
        is_news.then_some(Event::HalfClosed)
    }

    fn fault(&mut self, fault: Fault) -> Option<Event> {
        self.give_up_request();
        Some(Event::Fault(fault))
    }

    /// Nothing more of the request is parsed; it is to be answered.
    pub(super) fn give_up_request(&mut self) {
        if self.state.reader == Reader::Head
            && let Some(line) = self.scan.request_line()
        {
            self.exchange.http10 = line.http10;
            self.exchange.is_head = line.is_head;
        }
        self.turn(Cause::Faulted);
    }

    /// A fault which says by itself that the peer sends no more.
    fn cut_short(&mut self, fault: Fault) -> Option<Event> {
        self.eof_told = true;
        self.fault(fault)
    }

    fn end(&mut self) -> Option<Event> {
        self.move_on(Cause::Ended)
    }

    fn tell(&mut self, cause: Cause, event: Event) -> Option<Event> {
        self.turn(cause);
        Some(event)
    }

    fn move_on(&mut self, cause: Cause) -> Option<Event> {
        self.turn(cause);
        None
    }
}

/// What moves with the state.
impl Connection {
    /// Moves the state, if `cause` is in turn, and with it what hangs on the state.
    pub(super) fn turn(&mut self, cause: Cause) {
        let Some(to) = self.state.after(cause) else { return };
        let from = core::mem::replace(&mut self.state, to);
        self.overdue = false;
        self.read_deadline = self.allowance(to).map(|allowance| self.now.after(allowance));
        if from.reader != to.reader {
            self.enter_reader(to.reader);
        }
        if matches!(to.writer, Writer::Lost | Writer::Closing | Writer::Closed) {
            self.output.clear();
            self.write_deadline = None;
        }
    }

    fn enter_reader(&mut self, reader: Reader) {
        match reader {
            Reader::Held | Reader::Body | Reader::Done => {}
            Reader::Head => {
                self.scan = HeadScan::default();
                self.exchange = Exchange::default();
                self.dropped = 0;
            }
            Reader::Skip => self.exchange.body.limit(u64::MAX),
            Reader::Shut => {
                self.drop_octets(self.input.len());
                self.input.clear();
            }
        }
    }

    /// How long the connection may stay as it is. Where the application is to act, there is no bound; a head
    /// that has begun is bounded where it begins.
    fn allowance(&self, state: State) -> Option<Duration> {
        match (state.reader, state.writer) {
            (_, Writer::Lingering) | (Reader::Skip, Writer::Idle) => Some(self.limits.drain),
            (Reader::Head, Writer::Idle) => Some(self.limits.keep_alive_idle),
            (Reader::Body, Writer::Due) => Some(self.limits.body_read),
            (Reader::Head | Reader::Held | Reader::Body | Reader::Skip | Reader::Done | Reader::Shut, _) => {
                None
            }
        }
    }

    pub(super) fn see(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
    }

    /// Output was queued: if none waited before, its time starts now.
    pub(super) fn output_grew(&mut self) {
        if self.write_deadline.is_none() && !self.output.is_empty() {
            self.write_deadline = Some(self.now.after(self.limits.write_stall));
        }
    }

    pub(super) fn drop_octets(&mut self, n: usize) {
        self.dropped = self.dropped.saturating_add(n);
    }
}
