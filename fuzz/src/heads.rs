//! Reads a request out of text, so that inputs are readable: the request line without its version, one line for each
//! field, an empty line, the body. What cannot stand in a request at all is left out.

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};

/// Fields of one request.
const FIELDS_MAX: usize = 64;

/// A request that any HTTP stack could hand over.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) fields: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: &'a [u8],
}

impl<'a> Head<'a> {
    /// `None` if there is no usable request line.
    pub(crate) fn read(text: &'a [u8]) -> Option<Head<'a>> {
        let (line, mut rest) = next_line(text);
        let at = line.iter().position(|octet| *octet == b' ')?;
        let method = Method::from_bytes(&line[..at]).ok()?;
        let uri = Uri::try_from(&line[at + 1..]).ok()?;
        let mut fields = Vec::new();
        loop {
            let (line, after) = next_line(rest);
            rest = after;
            if line.is_empty() {
                return Some(Head { method, uri, fields, body: rest });
            }
            if fields.len() < FIELDS_MAX {
                fields.extend(field(line));
            }
        }
    }

    /// The request with its fields in this order.
    pub(crate) fn parts(&self, fields: &[(HeaderName, HeaderValue)]) -> Parts {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            let _ = map.try_append(name, value.clone());
        }
        let request = Request::builder().method(self.method.clone()).uri(self.uri.clone());
        let mut parts = request.body(()).expect("a request").into_parts().0;
        parts.headers = map;
        parts
    }

    /// The values of this field, without blanks around them.
    pub(crate) fn values(&self, name: &str) -> Vec<&[u8]> {
        let named = self.fields.iter().filter(|(other, _)| other.as_str() == name);
        named.map(|(_, value)| trim(value.as_bytes())).collect()
    }
}

pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

fn field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let at = line.iter().position(|octet| *octet == b':')?;
    let value = line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..]);
    Some((HeaderName::from_bytes(&line[..at]).ok()?, HeaderValue::from_bytes(value).ok()?))
}

fn next_line(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|octet| *octet == b'\n') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}
