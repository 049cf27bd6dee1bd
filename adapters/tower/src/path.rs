//! The endpoint's path behind a router that strips the prefix it is mounted under.

use http::Uri;
use http::uri::PathAndQuery;

/// Of a path that was stripped down to nothing, makes the endpoint's own again. The query stays.
pub(crate) fn unstrip(uri: &mut Uri, path: &str) {
    if !matches!(uri.path(), "/" | "") || path == "/" {
        return;
    }
    let whole = match uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = whole.ok();
    // What cannot be a URI stays as it is, and is refused as a path that is not served.
    if let Ok(whole) = Uri::from_parts(parts) {
        *uri = whole;
    }
}

#[cfg(test)]
mod tests {
    use super::{Uri, unstrip};

    #[test]
    fn only_what_was_stripped_whole() {
        for (before, after) in [
            ("/", "/mcp"),
            ("/?a=b", "/mcp?a=b"),
            ("http://h:1/", "http://h:1/mcp"),
            ("https://h/?q", "https://h/mcp?q"),
            ("/mcp", "/mcp"),
            ("/mcp/", "/mcp/"),
            ("/other", "/other"),
            ("//", "//"),
        ] {
            let mut uri: Uri = before.parse().unwrap();
            unstrip(&mut uri, "/mcp");
            assert_eq!(uri.to_string(), after, "{before}");
        }
    }
}
