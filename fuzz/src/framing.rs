//! Where each request of a byte string begins and ends, worked out from the whole string by the text of RFC 9112
//! sections 2 to 7. Strict and dull: what two readers could read in two ways is not a request.

/// One request.
#[derive(Debug, Default)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
    /// Names as sent, values without the blanks around them.
    pub(crate) fields: Vec<(&'a [u8], &'a [u8])>,
    pub(crate) body: Body,
    /// By version and `Connection`, another may follow.
    pub(crate) goes_on: bool,
    /// It has nothing that a server could have a reason to refuse.
    pub(crate) plain: bool,
}

/// What follows a head.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Body {
    /// These octets, decoded.
    Whole(Vec<u8>),
    /// A part of it; the string ends before it does.
    #[default]
    Cut,
    /// Broken framing.
    Broken,
}

/// How the string goes on behind the requests that were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Not at all, or with a head that is not whole.
    Unfinished,
    /// With what is no request; nothing may be served from here on.
    Broken,
}

/// Empty lines before a request that are skipped.
const EMPTY_LINES_MAX: usize = 8;

/// Digits of a chunk's size.
const SIZE_DIGITS_MAX: usize = 16;

/// Reads all of `octets`.
pub(crate) fn read(octets: &[u8]) -> (Vec<Request<'_>>, Rest) {
    let mut requests = Vec::new();
    let mut at = 0;
    loop {
        at = skip_empty_lines(octets, at);
        let Some((mut request, from)) = head(octets, at) else { return (requests, unfinished(octets, at)) };
        let framing = framing(&request);
        request.goes_on = goes_on(&request);
        let Some(framing) = framing else { return (requests, Rest::Broken) };
        let (body, end) = match framing {
            Framing::Length(length) => counted(octets, from, length),
            Framing::Chunked => chunked(octets, from, &mut request.plain),
        };
        let rest = match &body {
            Body::Whole(_) => None,
            Body::Cut => Some(Rest::Unfinished),
            Body::Broken => Some(Rest::Broken),
        };
        request.body = body;
        requests.push(request);
        if let Some(rest) = rest {
            return (requests, rest);
        }
        at = end;
    }
}

enum Framing {
    Length(u64),
    Chunked,
}

fn skip_empty_lines(octets: &[u8], mut at: usize) -> usize {
    for _ in 0..EMPTY_LINES_MAX {
        if octets[at..].starts_with(b"\r\n") {
            at += 2;
        }
    }
    at
}

/// A line that ends in CRLF and has no CR or LF within; `None` if there is none.
fn line(octets: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let end = at + octets[at..].iter().position(|octet| *octet == b'\r' || *octet == b'\n')?;
    octets[end..].starts_with(b"\r\n").then(|| (&octets[at..end], end + 2))
}

/// Whether the head at `at`, which is not a good one, could still become one. A CR that no LF follows is broken, but who
/// reads line by line sees it at the end of its line.
fn unfinished(octets: &[u8], at: usize) -> Rest {
    let mut at = at;
    while let Some((text, next)) = line(octets, at) {
        if text.is_empty() {
            return Rest::Broken;
        }
        at = next;
    }
    if octets[at..].contains(&b'\n') { Rest::Broken } else { Rest::Unfinished }
}

/// A well-formed head from `at` on, and where it ends.
fn head(octets: &[u8], at: usize) -> Option<(Request<'_>, usize)> {
    let (start, mut at) = line(octets, at)?;
    let mut words = start.split(|octet| *octet == b' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let minor = match version.strip_prefix(b"HTTP/1.")? {
        [minor] if minor.is_ascii_digit() => *minor,
        _ => return None,
    };
    if words.next().is_some() || !is_token(method) || target.is_empty() {
        return None;
    }
    let mut request = Request { method, target, plain: minor == b'1', ..Request::default() };
    loop {
        let (text, next) = line(octets, at)?;
        at = next;
        if text.is_empty() {
            break;
        }
        request.fields.push(field(text)?);
    }
    // The version travels as a field that nobody can send.
    request.fields.push((b"", if minor == b'0' { b"0" } else { b"1" }));
    request.plain &= is_plain(&request);
    Some((request, at))
}

fn field(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = text.iter().position(|octet| *octet == b':')?;
    let (name, value) = (&text[..colon], &text[colon + 1..]);
    let good = |octet: &u8| *octet == b'\t' || (*octet >= b' ' && *octet != 0x7f);
    (is_token(name) && value.iter().all(good)).then(|| (name, trim(value)))
}

/// RFC 9112 6.3: what ends the body, unless that is in doubt.
fn framing(request: &Request<'_>) -> Option<Framing> {
    let lengths = values(request, b"content-length");
    let codings = values(request, b"transfer-encoding");
    match (&lengths[..], &codings[..]) {
        ([], []) => Some(Framing::Length(0)),
        ([digits], []) => number(digits, 10).map(Framing::Length),
        ([], [coding]) if coding.eq_ignore_ascii_case(b"chunked") && !is_old(request) => {
            Some(Framing::Chunked)
        }
        _ => None,
    }
}

fn counted(octets: &[u8], from: usize, length: u64) -> (Body, usize) {
    let here = &octets[from..];
    match usize::try_from(length) {
        Ok(length) if length <= here.len() => (Body::Whole(here[..length].to_vec()), from + length),
        _ => (Body::Cut, octets.len()),
    }
}

/// `plain` becomes false where there is an extension, whose grammar is not looked at here.
fn chunked(octets: &[u8], from: usize, plain: &mut bool) -> (Body, usize) {
    let mut body = Vec::new();
    let mut at = from;
    let stop = |at: usize| match unfinished_line(octets, at) {
        true => (Body::Cut, octets.len()),
        false => (Body::Broken, octets.len()),
    };
    loop {
        let Some((text, next)) = line(octets, at) else { return stop(at) };
        let Some(size) = chunk_size(text) else { return (Body::Broken, octets.len()) };
        *plain &= text.iter().all(u8::is_ascii_hexdigit);
        at = next;
        if size == 0 {
            break;
        }
        let rest = &octets[at..];
        let Some(size) = usize::try_from(size).ok().filter(|size| *size <= rest.len()) else {
            return (Body::Cut, octets.len());
        };
        body.extend_from_slice(&rest[..size]);
        match &rest[size..] {
            [b'\r', b'\n', ..] => at += size + 2,
            [] | [b'\r'] => return (Body::Cut, octets.len()),
            _ => return (Body::Broken, octets.len()),
        }
    }
    loop {
        let Some((text, next)) = line(octets, at) else { return stop(at) };
        at = next;
        if text.is_empty() {
            return (Body::Whole(body), at);
        }
        if field(text).is_none() {
            return (Body::Broken, octets.len());
        }
    }
}

/// No CR or LF but a CR as the last octet.
fn unfinished_line(octets: &[u8], at: usize) -> bool {
    let rest = octets[at..].strip_suffix(b"\r").unwrap_or(&octets[at..]);
    !rest.iter().any(|octet| *octet == b'\r' || *octet == b'\n')
}

/// Hexadecimal digits, and nothing behind them but extensions, which begin with a semicolon.
fn chunk_size(text: &[u8]) -> Option<u64> {
    let digits = text.iter().position(|octet| !octet.is_ascii_hexdigit()).unwrap_or(text.len());
    let extensions = trim(&text[digits..]);
    let good = |octet: &u8| *octet == b'\t' || (*octet >= b' ' && *octet != 0x7f);
    let begins = extensions.is_empty() && text.len() == digits || extensions.starts_with(b";");
    let sound = begins && digits <= SIZE_DIGITS_MAX && extensions.iter().all(good);
    sound.then(|| number(&text[..digits], 16))?
}

/// RFC 9112 9.3.
fn goes_on(request: &Request<'_>) -> bool {
    let lines = values(request, b"connection");
    let options = || lines.iter().flat_map(|value| value.split(|octet| *octet == b',')).map(trim);
    let has = |name: &[u8]| options().any(|option| option.eq_ignore_ascii_case(name));
    !has(b"close") && (!is_old(request) || has(b"keep-alive"))
}

/// Whether there is nothing in it but what every server has to take.
fn is_plain(request: &Request<'_>) -> bool {
    const KNOWN: [&[u8]; 5] = [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE"];
    const FREE: [&[u8]; 5] = [b"", b"host", b"content-length", b"transfer-encoding", b"x-a"];
    let path = |octet: &u8| octet.is_ascii_alphanumeric() || *octet == b'/';
    let hosts = values(request, b"host");
    KNOWN.contains(&request.method)
        && request.target.starts_with(b"/")
        && !request.target.starts_with(b"//")
        && request.target.iter().all(path)
        && request.fields.iter().all(|(name, _)| FREE.contains(&&*name.to_ascii_lowercase()))
        && request.fields.len() < 20
        && matches!(hosts[..], [b"a" | b"localhost" | b"127.0.0.1:8000"])
}

/// Whether this is HTTP/1.0.
fn is_old(request: &Request<'_>) -> bool {
    values(request, b"") == [b"0"]
}

fn values<'a>(request: &Request<'a>, name: &[u8]) -> Vec<&'a [u8]> {
    let named = request.fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
    named.map(|(_, value)| *value).collect()
}

/// Digits and nothing else, as a number below 2^64.
fn number(digits: &[u8], base: u64) -> Option<u64> {
    let mut number = 0_u64;
    for digit in digits {
        let value = char::from(*digit).to_digit(base as u32)?;
        number = number.checked_mul(base)?.checked_add(u64::from(value))?;
    }
    (!digits.is_empty()).then_some(number)
}

fn is_token(text: &[u8]) -> bool {
    let good = |octet: &u8| octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(octet);
    !text.is_empty() && text.iter().all(good)
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}
