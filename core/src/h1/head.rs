//! Finds the end of a request's head, and refuses what can be refused before it: other protocols, broken
//! line ends, a malformed request line, excess. The meaning of the fields is read in `request.rs`.

use bytes::Bytes;

use super::input::Input;
use super::lines::{Broken, Lines};
use super::request_line::RequestLine;
use super::{Fault, Limits};
use crate::octets::is_tchar;

/// Empty lines skipped before a request line; some old clients send one behind a body (RFC 9112 2.2).
const EMPTY_LINES_MAX: u8 = 8;

/// Octets within which a method must end. Methods that are merely too long to be known get their own answer.
const METHOD_SCAN_MAX: usize = 2048;

/// A head that has yet to arrive in full.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    begun: bool,
    empty_lines: u8,
    lines: Lines,
    method_ended: bool,
    request_line: Option<RequestLine>,
    fields: usize,
}

/// A head whose end was found.
#[derive(Debug)]
pub(super) struct Head {
    /// From the request line to the empty line, both included.
    pub(super) octets: Bytes,
    pub(super) request_line: RequestLine,
    /// How many field lines there are.
    pub(super) fields: usize,
}

impl HeadScan {
    /// Looks at what arrived since the last call; takes the head out of `input` once it is complete.
    pub(super) fn scan(&mut self, input: &mut Input, limits: &Limits) -> Result<Option<Head>, Fault> {
        if self.request_line.is_none() {
            self.skip_empty_lines(input)?;
            self.scan_request_line(input.octets(), limits)?;
        }
        let Some(request_line) = self.request_line else { return Ok(None) };
        if !self.scan_fields(input.octets(), limits)? {
            return Ok(None);
        }
        let octets = input.take(self.lines.start());
        Ok(Some(Head { octets, request_line, fields: self.fields }))
    }

    /// The request line, once it has arrived; it tells how to answer even if the rest of the head is broken.
    pub(super) fn request_line(&self) -> Option<RequestLine> {
        self.request_line
    }

    /// Whether empty lines were all that came.
    pub(super) fn only_empty_lines(&self, input: &Input) -> bool {
        matches!(input.octets(), [] | [b'\r']) && self.request_line.is_none()
    }

    /// Whether this is the first look at a head of which anything came, be it an empty line.
    pub(super) fn begins(&mut self, input: &Input) -> bool {
        let begun = self.empty_lines > 0 || !input.is_empty();
        begun && !core::mem::replace(&mut self.begun, begun)
    }

    fn skip_empty_lines(&mut self, input: &mut Input) -> Result<(), Fault> {
        loop {
            match input.octets() {
                [] | [b'\r'] => return Ok(()),
                [b'\r', b'\n', ..] => {
                    self.empty_lines = self.empty_lines.saturating_add(1);
                    if self.empty_lines > EMPTY_LINES_MAX {
                        return Err(Fault::EmptyLines);
                    }
                    input.skip(2);
                }
                [b'\r' | b'\n', ..] => return Err(Fault::LineEnd),
                [first, ..] if is_tchar(*first) => return Ok(()),
                [..] => return Err(Fault::NotHttp),
            }
        }
    }

    fn scan_request_line(&mut self, octets: &[u8], limits: &Limits) -> Result<(), Fault> {
        let room = limits.request_line_bytes_max.min(limits.head_bytes_max);
        self.scan_method(octets, room)?;
        let line = self.lines.next(octets, room).map_err(|broken| match broken {
            Broken::TooLong => Fault::RequestLineTooLong,
            Broken::BareLf => Fault::LineEnd,
        })?;
        if let Some(line) = line {
            self.request_line = Some(RequestLine::parse(octets.get(line).unwrap_or_default())?);
        }
        Ok(())
    }

    /// No space for long means no request line, and no target that could be called too long.
    fn scan_method(&mut self, octets: &[u8], room: usize) -> Result<(), Fault> {
        let scanned = octets.get(..room.min(METHOD_SCAN_MAX)).unwrap_or(octets);
        self.method_ended = self.method_ended || scanned.iter().any(|octet| matches!(octet, b' ' | b'\n'));
        if !self.method_ended && octets.len() > scanned.len() {
            return Err(Fault::RequestLine);
        }
        Ok(())
    }

    /// Whether the empty line that ends the head was found.
    fn scan_fields(&mut self, octets: &[u8], limits: &Limits) -> Result<bool, Fault> {
        loop {
            let room = limits.head_bytes_max.checked_sub(self.lines.start().saturating_add(2));
            let room = room.ok_or(Fault::HeadTooLarge)?;
            let line = self.lines.next(octets, room).map_err(|broken| match broken {
                Broken::TooLong => Fault::HeadTooLarge,
                Broken::BareLf => Fault::LineEnd,
            })?;
            let Some(line) = line else { return Ok(false) };
            if line.is_empty() {
                return Ok(true);
            }
            self.fields = self.fields.saturating_add(1);
            if self.fields > limits.fields_max {
                return Err(Fault::TooManyFields);
            }
        }
    }
}
