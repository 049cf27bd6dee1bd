//! Decodes a request's body from the octets behind its head (RFC 9112 6, 7). What becomes of the data, and
//! how long it may take, is the connection's business.

use bytes::Bytes;

use super::chunk::size_line;
use super::input::Input;
use super::lines::{Broken, Lines};
use super::{Announced, Fault, Limits};
use crate::octets::{is_text, is_token};

/// Octets of one chunk size line, extensions included.
const SIZE_LINE_MAX: usize = 16 + 256;

/// Octets of extensions in all the chunks of a body.
const EXTENSIONS_MAX: usize = 16 * 1024;

/// The body of one request, as far as it has been read.
#[derive(Debug)]
pub(super) struct Decoder {
    stage: Stage,
    /// Octets of data that may still come before the body counts as too large.
    room: u64,
    lines: Lines,
    extensions: usize,
    trailers: Trailers,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// In data that `Content-Length` or a chunk's size announced; `left` octets of it are to come.
    Data { left: u64, chunked: bool },
    /// Before a chunk's size line.
    ChunkLine,
    /// Before the CRLF behind a chunk's data.
    ChunkEnd,
    /// Behind the last chunk, until an empty line.
    Trailer,
    /// Behind the body.
    End,
}

#[derive(Debug, Default)]
struct Trailers {
    octets: usize,
    fields: usize,
}

/// What the octets at hand gave.
#[derive(Debug)]
pub(super) enum Decoded {
    /// A piece of the body.
    Data(Bytes),
    /// Nothing until more octets arrive.
    More,
    /// The body has ended; what follows in the input is the next request.
    End,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::new(Announced::None)
    }
}

impl Decoder {
    pub(super) fn new(announced: Announced) -> Self {
        let stage = match announced {
            Announced::None => Stage::End,
            Announced::Length(left) => Stage::Data { left, chunked: false },
            Announced::Chunked => Stage::ChunkLine,
        };
        Decoder {
            stage,
            room: u64::MAX,
            lines: Lines::default(),
            extensions: 0,
            trailers: Trailers::default(),
        }
    }

    /// Bounds the data still to come to `octets`.
    pub(super) fn limit(&mut self, octets: u64) {
        self.room = octets;
    }

    /// Octets that `Content-Length` still owes; `None` when only the chunks will tell.
    pub(super) fn owed(&self) -> Option<u64> {
        match self.stage {
            Stage::Data { left, chunked: false } => Some(left),
            Stage::End => Some(0),
            Stage::Data { chunked: true, .. } | Stage::ChunkLine | Stage::ChunkEnd | Stage::Trailer => None,
        }
    }

    /// Whether the data owed or announced so far exceeds what is allowed.
    pub(super) fn is_too_large(&self) -> bool {
        match self.stage {
            Stage::Data { left, .. } => left > self.room,
            Stage::ChunkLine | Stage::ChunkEnd | Stage::Trailer | Stage::End => false,
        }
    }

    /// Takes the next piece from `input`.
    pub(super) fn next(&mut self, input: &mut Input, limits: &Limits) -> Result<Decoded, Fault> {
        loop {
            if self.is_too_large() {
                return Err(Fault::BodyTooLarge);
            }
            let advanced = match self.stage {
                Stage::End => return Ok(Decoded::End),
                Stage::Data { left: 0, chunked } => {
                    self.stage = if chunked { Stage::ChunkEnd } else { Stage::End };
                    true
                }
                Stage::Data { left, chunked } => return Ok(self.data(input, left, chunked)),
                Stage::ChunkLine => self.chunk_line(input)?,
                Stage::ChunkEnd => self.chunk_end(input)?,
                Stage::Trailer => self.trailer(input, limits)?,
            };
            if !advanced {
                return Ok(Decoded::More);
            }
        }
    }

    fn data(&mut self, input: &mut Input, left: u64, chunked: bool) -> Decoded {
        if input.is_empty() {
            return Decoded::More;
        }
        let data = input.take(usize::try_from(left).unwrap_or(usize::MAX));
        let taken = u64::try_from(data.len()).unwrap_or(u64::MAX);
        self.room = self.room.saturating_sub(taken);
        self.stage = Stage::Data { left: left.saturating_sub(taken), chunked };
        Decoded::Data(data)
    }

    fn chunk_line(&mut self, input: &mut Input) -> Result<bool, Fault> {
        let Some(line) = self.lines.next(input.octets(), SIZE_LINE_MAX).map_err(|_| Fault::ChunkLine)? else {
            return Ok(false);
        };
        let line = size_line(input.octets().get(line).unwrap_or_default()).ok_or(Fault::ChunkLine)?;
        self.extensions = self.extensions.saturating_add(line.extension);
        if self.extensions > EXTENSIONS_MAX {
            return Err(Fault::ChunkLine);
        }
        self.stage = match line.size {
            0 => Stage::Trailer,
            left => Stage::Data { left, chunked: true },
        };
        self.drop_line(input);
        Ok(true)
    }

    /// The CRLF behind a chunk's data; anything else means that the size was a lie.
    fn chunk_end(&mut self, input: &mut Input) -> Result<bool, Fault> {
        match input.octets() {
            [] | [b'\r'] => Ok(false),
            [b'\r', b'\n', ..] => {
                input.skip(2);
                self.stage = Stage::ChunkLine;
                Ok(true)
            }
            _ => Err(Fault::ChunkEnd),
        }
    }

    /// One trailer line, checked and dropped: a trailer never touches framing, host or authority.
    fn trailer(&mut self, input: &mut Input, limits: &Limits) -> Result<bool, Fault> {
        let room = limits.head_bytes_max.checked_sub(self.trailers.octets.saturating_add(2));
        let room = room.ok_or(Fault::TrailersTooLarge)?;
        let line = self.lines.next(input.octets(), room).map_err(|broken| match broken {
            Broken::TooLong => Fault::TrailersTooLarge,
            Broken::BareLf => Fault::Trailer,
        })?;
        let Some(line) = line else { return Ok(false) };
        let line = input.octets().get(line).unwrap_or_default();
        if line.is_empty() {
            self.stage = Stage::End;
        } else if is_field_line(line) {
            self.trailers.fields = self.trailers.fields.saturating_add(1);
            self.trailers.octets = self.trailers.octets.saturating_add(self.lines.start());
            if self.trailers.fields > limits.fields_max {
                return Err(Fault::TrailersTooLarge);
            }
        } else {
            return Err(Fault::Trailer);
        }
        self.drop_line(input);
        Ok(true)
    }

    fn drop_line(&mut self, input: &mut Input) {
        input.skip(self.lines.start());
        self.lines = Lines::default();
    }
}

/// `token ":" field-value` (RFC 9112 5).
fn is_field_line(line: &[u8]) -> bool {
    let mut parts = line.splitn(2, |octet| *octet == b':');
    let (Some(name), Some(value)) = (parts.next(), parts.next()) else { return false };
    is_token(name) && value.iter().copied().all(is_text)
}
