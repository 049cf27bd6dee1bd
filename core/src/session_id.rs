//! The session id on the wire: what is in it, and how one that came in is read. Who is behind it is
//! `endpoint`'s.
//!
//! An id is 52 lower-case hexadecimal digits: shard (2 bytes), slot (4), generation (4), secret (16). So the
//! shard is known without a shared table, the look-up is one index, ids differ even if the entropy source
//! repeats itself, and the secret is compared in constant time (I11). Slot and generation are no secret; who
//! decodes them learns how many sessions there have been, and nothing that opens one.

use core::fmt;

use crate::slab::Key;

/// Ids longer than this, in bytes, are refused unread (I11).
pub(crate) const SESSION_ID_BYTES_MAX: usize = 128;

pub(crate) const SECRET_BYTES: usize = 16;
const RAW_BYTES: usize = 26;
const TEXT_BYTES: usize = 52;

/// Which of a server's endpoints a session lives in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

/// A committed or offered session's id, as the client bears it.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionId([u8; TEXT_BYTES]);

/// A well-formed session id that a request bears. Whether there is such a session, only the endpoint knows.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionRef(Option<Decoded>);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) shard: ShardId,
    pub(crate) key: Key,
    pub(crate) secret: [u8; SECRET_BYTES],
}

impl SessionId {
    pub(crate) fn encode(of: &Decoded) -> SessionId {
        let raw = of.shard.0.to_be_bytes().into_iter();
        let raw =
            raw.chain(of.key.index.to_be_bytes()).chain(of.key.generation.to_be_bytes()).chain(of.secret);
        let digits = raw.flat_map(|byte| [hex_digit(byte >> 4), hex_digit(byte & 0x0f)]);
        let mut text = [0; TEXT_BYTES];
        for (place, digit) in text.iter_mut().zip(digits) {
            *place = digit;
        }
        SessionId(text)
    }

    /// The text, 52 bytes of ASCII. It opens the session: do not log it whole.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Shows slot and generation, never the secret: ids end up in logs.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..20).and_then(|start| core::str::from_utf8(start).ok()).unwrap_or("");
        write!(f, "SessionId({shown}..)")
    }
}

/// As `Debug`.
impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..20).and_then(|start| core::str::from_utf8(start).ok()).unwrap_or("");
        write!(f, "{shown}..")
    }
}

impl SessionRef {
    /// Reads a field value. `None` if it is no session id at all: empty, longer than 128 bytes, or with a
    /// byte outside 0x21 to 0x7E.
    #[must_use]
    pub fn from_field(value: &[u8]) -> Option<SessionRef> {
        let well_formed = !value.is_empty()
            && value.len() <= SESSION_ID_BYTES_MAX
            && value.iter().all(|byte| (0x21..=0x7e).contains(byte));
        well_formed.then(|| SessionRef(decode(value)))
    }

    /// The shard that would hold the session; `None` if no server of ours gave this id.
    #[must_use]
    pub fn shard(&self) -> Option<ShardId> {
        self.0.map(|decoded| decoded.shard)
    }

    pub(crate) fn decoded(&self) -> Option<&Decoded> {
        self.0.as_ref()
    }
}

/// Shows the place, never the secret.
impl fmt::Debug for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(Decoded { shard, key, .. }) => {
                write!(f, "SessionRef({}/{}/{}..)", shard.0, key.index, key.generation)
            }
            None => f.write_str("SessionRef(foreign)"),
        }
    }
}

/// Whether two secrets are the same, in a time that does not depend on where they differ.
pub(crate) fn same_secret(a: &[u8; SECRET_BYTES], b: &[u8; SECRET_BYTES]) -> bool {
    a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}

fn decode(text: &[u8]) -> Option<Decoded> {
    if text.len() != TEXT_BYTES {
        return None;
    }
    let mut raw = [0_u8; RAW_BYTES];
    for (byte, pair) in raw.iter_mut().zip(text.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = (hex_value(*high)? << 4) | hex_value(*low)?;
    }
    let (shard, rest) = raw.split_first_chunk::<2>()?;
    let (index, rest) = rest.split_first_chunk::<4>()?;
    let (generation, rest) = rest.split_first_chunk::<4>()?;
    Some(Decoded {
        shard: ShardId(u16::from_be_bytes(*shard)),
        key: Key { index: u32::from_be_bytes(*index), generation: u32::from_be_bytes(*generation) },
        secret: *rest.first_chunk::<SECRET_BYTES>()?,
    })
}

fn hex_digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0'.saturating_add(nibble),
        _ => b'a'.saturating_add(nibble.saturating_sub(10)),
    }
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit.saturating_sub(b'0')),
        b'a'..=b'f' => Some(digit.saturating_sub(b'a').saturating_add(10)),
        _ => None,
    }
}
