//! The pieces that tools and prompts answer with. Nothing here knows which tool or prompt it is for.

use serde_json::{Value, json};

/// One red pixel, as PNG in base64.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mO46aENAANKAU3zdSIWAAAAAElFTkSuQmCC";

/// Two milliseconds of a tone, as WAV in base64.
const WAV: &str = "UklGRjQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YRAAAACAv9q/gEEmQYC/2r+AQSZB";

pub(crate) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub(crate) fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

pub(crate) fn audio() -> Value {
    json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })
}

/// A resource that travels inside an answer.
pub(crate) fn embedded(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, "text": text } })
}
