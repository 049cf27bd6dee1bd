//! Reads the responses that a peer got, strictly: whatever a lenient client would let pass is a failure.

/// One response, interim ones included.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Where it ends on the wire.
    pub(crate) end: usize,
}

impl Response {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.0 == name).map(|field| field.1.as_str())
    }

    pub(crate) fn is_final(&self) -> bool {
        self.status >= 200
    }
}

/// All responses on the wire. `to_head`: the first final one answers HEAD. `eof`: nothing will follow.
///
/// # Panics
/// Where the octets are no sequence of whole, well-formed responses.
pub(crate) fn parse(wire: &[u8], to_head: bool, eof: bool) -> Vec<Response> {
    let mut found: Vec<Response> = Vec::new();
    let mut at = 0;
    while at < wire.len() {
        let head = find(wire, at, b"\r\n\r\n").expect("a whole head");
        let mut lines = std::str::from_utf8(&wire[at..head]).expect("ASCII").split("\r\n");
        let status = status(lines.next().expect("a status line"));
        let fields: Vec<(String, String)> = lines.map(field).collect();
        let start = head + 4;
        let is_head = to_head && !found.iter().any(Response::is_final);
        let (body, end) = body(wire, start, status, &fields, is_head, eof);
        found.push(Response { status, fields, body, end });
        at = end;
    }
    found
}

fn status(line: &str) -> u16 {
    let (version, rest) = line.split_once(' ').expect("a version");
    assert_eq!(version, "HTTP/1.1");
    let (status, reason) = rest.split_once(' ').expect("a space before the reason");
    assert!(reason.bytes().all(|octet| matches!(octet, b' '..=b'~')), "{line}");
    assert_eq!(status.len(), 3, "{line}");
    status.parse().expect("a status")
}

fn field(line: &str) -> (String, String) {
    let (name, value) = line.split_once(": ").expect("a name and a value");
    assert!(
        !name.is_empty() && name.bytes().all(|octet| octet == b'-' || octet.is_ascii_alphanumeric()),
        "{line}"
    );
    assert!(!value.bytes().any(|octet| octet.is_ascii_control()), "{line}");
    (name.to_ascii_lowercase(), value.to_owned())
}

fn body(
    wire: &[u8],
    start: usize,
    status: u16,
    fields: &[(String, String)],
    is_head: bool,
    eof: bool,
) -> (Vec<u8>, usize) {
    let all = |name: &str| -> Vec<&str> {
        fields.iter().filter(|field| field.0 == name).map(|field| field.1.as_str()).collect()
    };
    let (lengths, codings) = (all("content-length"), all("transfer-encoding"));
    assert!(lengths.len() + codings.len() <= 1, "one framing: {fields:?}");
    if status < 200 || status == 204 || status == 304 {
        assert!(lengths.is_empty() && codings.is_empty(), "{status} has no framing");
        return (Vec::new(), start);
    }
    if is_head {
        return (Vec::new(), start);
    }
    if let [length] = lengths[..] {
        let end = start + length.parse::<usize>().expect("a length");
        return (wire.get(start..end).expect("a whole body").to_vec(), end);
    }
    if let [coding] = codings[..] {
        assert_eq!(coding, "chunked");
        return chunks(wire, start);
    }
    assert!(eof, "only closing ends this body");
    (wire[start..].to_vec(), wire.len())
}

fn chunks(wire: &[u8], start: usize) -> (Vec<u8>, usize) {
    let mut body = Vec::new();
    let mut at = start;
    loop {
        let end = find(wire, at, b"\r\n").expect("a size line");
        let line = std::str::from_utf8(&wire[at..end]).expect("digits");
        assert!(!line.is_empty() && line.bytes().all(|octet| octet.is_ascii_hexdigit()), "{line:?}");
        let size = usize::from_str_radix(line, 16).expect("a size");
        let data = end + 2;
        assert_eq!(wire.get(data + size..data + size + 2), Some(&b"\r\n"[..]), "a chunk ends where it says");
        body.extend_from_slice(&wire[data..data + size]);
        at = data + size + 2;
        if size == 0 {
            return (body, at);
        }
    }
}

fn find(wire: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    wire[from..].windows(what.len()).position(|window| window == what).map(|at| from + at)
}
