//! JSON text that is known to be valid, held as shared bytes. Not a JSON value: nothing here is a tree.

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use serde_json::value::RawValue;

/// One valid JSON text.
///
/// The application's results and parameters enter the core in this type, so an invalid or half-written
/// text cannot reach a client. Cloning shares the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(Bytes);

impl Json {
    /// `{}`: the result of `ping` and its like.
    pub const EMPTY_OBJECT: Json = Json(Bytes::from_static(b"{}"));

    /// Encodes `value`.
    ///
    /// # Errors
    /// As [`serde_json::to_vec`]: a map with keys that are no strings, or a `Serialize` that fails.
    pub fn encode(value: &impl Serialize) -> Result<Json, serde_json::Error> {
        serde_json::to_vec(value).map(|text| Json(Bytes::from(text)))
    }

    /// Encodes a tree.
    #[must_use]
    pub fn from_value(value: &serde_json::Value) -> Json {
        // A tree always encodes: its keys are strings.
        Json(Bytes::from(value.to_string()))
    }

    /// Takes `text` as it is, after checking that it is one JSON text in UTF-8.
    ///
    /// # Errors
    /// Where and why `text` is not valid JSON.
    pub fn from_text(text: Bytes) -> Result<Json, serde_json::Error> {
        serde_json::from_slice::<&RawValue>(&text)?;
        Ok(Json(text))
    }

    /// A part of an already parsed text.
    pub(crate) fn trusted(text: Bytes) -> Json {
        Json(text)
    }

    /// The text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text as shared bytes.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Decodes the text into `T`.
    ///
    /// # Errors
    /// Where and why the text does not fit `T`.
    pub fn decode<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// Appends the text on one line (C14). In valid JSON a bare CR or LF stands between tokens only, so it
    /// can be left out.
    pub(crate) fn append_on_one_line(&self, out: &mut BytesMut) {
        for piece in self.0.split(|&byte| byte == b'\n' || byte == b'\r') {
            out.put_slice(piece);
        }
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Json {
        Json::from_value(&value)
    }
}
