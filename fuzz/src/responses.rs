//! A client's reading of HTTP/1.1 responses, by the text of RFC 9112, strict: what it cannot read is a fault of the
//! server's.

/// One response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Its last octet is there.
    pub(crate) whole: bool,
}

impl Response {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(field, _)| field == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is given twice: {self:?}");
        value
    }
}

/// All final responses in `wire`; `closed` says that no octet follows, `to_head` which of them answer a HEAD. The last
/// one may be unfinished.
pub(crate) fn read(wire: &[u8], closed: bool, to_head: &[bool]) -> Vec<Response> {
    let mut responses = Vec::new();
    let mut rest = wire;
    while !rest.is_empty() {
        let Some(end) = find(rest, b"\r\n\r\n") else { break };
        let mut response = head(&rest[..end]);
        rest = &rest[end + 4..];
        if response.status < 200 {
            assert_eq!(response.status, 100, "an interim response nobody asked for: {response:?}");
            continue;
        }
        if to_head.get(responses.len()) == Some(&true) {
            response.whole = true;
        } else {
            rest = body(&mut response, rest, closed);
        }
        let whole = response.whole;
        responses.push(response);
        if !whole {
            break;
        }
    }
    responses
}

fn head(octets: &[u8]) -> Response {
    let text = std::str::from_utf8(octets).expect("a head is ASCII");
    let mut lines = text.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let status = status_line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status line: {status_line:?}"));
    let fields = lines.map(|line| {
        assert!(!line.bytes().any(|octet| octet.is_ascii_control()), "H9: {line:?}");
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("no field line: {line:?}"));
        (name.to_ascii_lowercase(), value.to_owned())
    });
    Response { status, fields: fields.collect(), body: Vec::new(), whole: false }
}

/// Reads the body, and returns what follows it.
fn body<'a>(response: &mut Response, rest: &'a [u8], closed: bool) -> &'a [u8] {
    let length = response.field("content-length").map(|text| text.parse::<usize>().expect("a length"));
    let coding = response.field("transfer-encoding").map(str::to_owned);
    match (length, coding.as_deref()) {
        (None, None) if matches!(response.status, 204 | 304) => {
            response.whole = true;
            rest
        }
        (Some(length), None) => {
            assert_ne!(response.status, 204, "H7: a length where there is no body");
            let here = length.min(rest.len());
            response.body.extend_from_slice(&rest[..here]);
            response.whole = here == length;
            &rest[here..]
        }
        (None, Some("chunked")) => chunks(response, rest),
        (None, None) => {
            assert_eq!(response.field("connection"), Some("close"), "only closing can end this body");
            response.body.extend_from_slice(rest);
            response.whole = closed;
            &[]
        }
        _ => panic!("H7: framing of {response:?}"),
    }
}

fn chunks<'a>(response: &mut Response, mut rest: &'a [u8]) -> &'a [u8] {
    loop {
        let Some(end) = find(rest, b"\r\n") else { return &[] };
        let digits = std::str::from_utf8(&rest[..end]).expect("a chunk's size");
        assert!(!digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_hexdigit()), "{digits:?}");
        let size = usize::from_str_radix(digits, 16).expect("a chunk's size");
        let data = &rest[end + 2..];
        let here = size.min(data.len());
        response.body.extend_from_slice(&data[..here]);
        if data.len() < size + 2 {
            return &[];
        }
        assert_eq!(&data[size..size + 2], b"\r\n", "a chunk ends where it says");
        rest = &data[size + 2..];
        if size == 0 {
            response.whole = true;
            return rest;
        }
    }
}

fn find(octets: &[u8], what: &[u8]) -> Option<usize> {
    octets.windows(what.len()).position(|window| window == what)
}
