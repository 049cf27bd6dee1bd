//! Event ids: which session, which stream, which position (C5). Clients treat them as opaque; what comes
//! back is untrusted.
//!
//! `tag-stream-position`, and `tag-stream-position-n` for the n-th priming event of the session, whose id is
//! new but means the same position. Hexadecimal, lower case, no leading zeros but in the tag of eight digits.

/// Tells one session's event ids from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(pub(super) u32);

/// A position on one stream of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) tag: Tag,
    pub(super) stream: u32,
    pub(super) position: u64,
}

impl EventId {
    pub(super) fn encode(self) -> String {
        format!("{:08x}-{:x}-{:x}", self.tag.0, self.stream, self.position)
    }

    pub(super) fn encode_priming(self, number: u32) -> String {
        format!("{:08x}-{:x}-{:x}-{number:x}", self.tag.0, self.stream, self.position)
    }

    /// Reads what `encode` and `encode_priming` write, and nothing else.
    pub(super) fn decode(text: &[u8]) -> Option<EventId> {
        let mut parts = text.split(|&byte| byte == b'-');
        let tag = parts.next().filter(|digits| digits.len() == 8)?;
        let (stream, position) = (parts.next()?, parts.next()?);
        if parts.next().is_some_and(|number| hex(number, 8).is_none()) || parts.next().is_some() {
            return None;
        }
        let tag = tag.iter().try_fold(0_u64, |value, &digit| push_digit(value, digit))?;
        Some(EventId {
            tag: Tag(u32::try_from(tag).ok()?),
            stream: u32::try_from(hex(stream, 8)?).ok()?,
            position: hex(position, 16)?,
        })
    }
}

fn hex(digits: &[u8], digits_max: usize) -> Option<u64> {
    let canonical = digits == b"0" || digits.first().is_some_and(|&first| first != b'0');
    if !canonical || digits.len() > digits_max {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| push_digit(value, digit))
}

fn push_digit(value: u64, digit: u8) -> Option<u64> {
    let digit = match digit {
        b'0'..=b'9' => digit.checked_sub(b'0')?,
        b'a'..=b'f' => digit.checked_sub(b'a')?.checked_add(10)?,
        _ => return None,
    };
    value.checked_mul(16)?.checked_add(u64::from(digit))
}
