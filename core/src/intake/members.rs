//! One level of a JSON text: the members of an object or the elements of an array, as slices of the text.
//!
//! No tree is built, and what is nested deeper is only checked: serde_json skips it without recursion, so the
//! depth of a hostile text costs no stack, and its length costs linear time.

use core::fmt;
use std::borrow::Cow;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The text of a member that must not be given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Member<'a> {
    #[default]
    Absent,
    Once(&'a str),
    Twice,
}

impl<'a> Member<'a> {
    pub(crate) fn put(&mut self, value: &'a str) {
        *self = match self {
            Member::Absent => Member::Once(value),
            Member::Once(_) | Member::Twice => Member::Twice,
        };
    }
}

/// Shows each member of the object that `text` is to `each`: its name, unescaped, and its value's text.
pub(crate) fn of_object<'a>(text: &'a str, each: impl FnMut(&str, &'a str)) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_map(EachMember(each))?;
    json.end()
}

/// Shows each element of the array that `text` is to `each`.
pub(crate) fn of_array<'a>(text: &'a str, each: impl FnMut(&'a str)) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_seq(EachElement(each))?;
    json.end()
}

/// Checks that `text` is one JSON text.
pub(crate) fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<&RawValue>(text).map(|_| ())
}

/// What a JSON text starts with: `{`, `[`, or the first octet of something else.
pub(crate) fn first_byte(text: &str) -> Option<u8> {
    text.bytes().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

/// Whether this JSON text, without blanks around it, is a string or an integer: an id (I7). `-0` is one; a
/// fraction or an exponent makes none, whatever its value.
pub(crate) fn is_id(literal: &str) -> bool {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    literal.starts_with('"') || (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The string that this JSON text is, if it is one that can be decoded: an escape may stand for half a
/// surrogate pair, which is valid JSON and no text.
pub(crate) fn string(literal: &str) -> Option<Cow<'_, str>> {
    let inside = literal.strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') {
        return serde_json::from_str(literal).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inside))
}

struct EachMember<F>(F);

impl<'de, F: FnMut(&str, &'de str)> Visitor<'de> for EachMember<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        // Names are read raw: one that cannot be decoded is no name we look for, and no fault.
        while let Some((name, value)) = members.next_entry::<&RawValue, &RawValue>()? {
            (self.0)(&string(name.get()).unwrap_or_default(), value.get());
        }
        Ok(())
    }
}

struct EachElement<F>(F);

impl<'de, F: FnMut(&'de str)> Visitor<'de> for EachElement<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&RawValue>()? {
            (self.0)(element.get());
        }
        Ok(())
    }
}
