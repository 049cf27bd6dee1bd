//! The server's secret. With it the server knows again what it gave out, and nobody else can make such things.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Drawn anew by each process: what one gave out, the next does not know.
pub(crate) struct Secret([u8; KEY_BYTES]);

/// A whole block of SHA-256, the largest key that is taken as it is.
const KEY_BYTES: usize = 64;

impl Secret {
    #[expect(clippy::disallowed_methods, reason = "this is where chance comes in")]
    pub(crate) fn draw() -> Result<Secret, getrandom::Error> {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key)?;
        Ok(Secret(key))
    }

    /// Not one to keep anything with.
    #[cfg(test)]
    pub(crate) const fn of(byte: u8) -> Secret {
        Secret([byte; KEY_BYTES])
    }

    /// The tag of these parts, in hexadecimal. Other parts have other tags, also where their joined text is the
    /// same.
    pub(crate) fn tag(&self, parts: &[&[u8]]) -> String {
        let tag = self.mac(parts).finalize().into_bytes();
        tag.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether `tag` is the tag of these parts. How long that takes does not tell how wrong it is.
    pub(crate) fn knows(&self, tag: &str, parts: &[&[u8]]) -> bool {
        let mut bytes = [0; 32];
        unhex(tag, &mut bytes).is_some() && self.mac(parts).verify_slice(&bytes).is_ok()
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.0.into());
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

fn unhex(text: &str, into: &mut [u8; 32]) -> Option<()> {
    if text.len() != 2 * into.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in into.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn knows_its_own_tags_only() {
        let (ours, other) = (Secret::of(1), Secret::of(2));
        let tag = ours.tag(&[b"ab", b"c"]);
        assert!(ours.knows(&tag, &[b"ab", b"c"]));
        assert!(!other.knows(&tag, &[b"ab", b"c"]));
        for parts in [&[b"abc" as &[u8]] as &[&[u8]], &[b"a", b"bc"], &[b"ab", b"c", b""], &[]] {
            assert!(!ours.knows(&tag, parts), "{parts:?}");
        }
        for wrong in ["", &tag[1..], &format!("{tag}0"), &"0".repeat(64), &"é".repeat(32), &"+1".repeat(32)]
        {
            assert!(!ours.knows(wrong, &[b"ab", b"c"]), "{wrong}");
        }
    }

    #[test]
    fn is_hmac_sha256_as_others_compute_it() {
        // A key of zeros is the same as none, whose tag of nothing is well known.
        assert_eq!(
            Secret::of(0).tag(&[]),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
        );
    }
}
