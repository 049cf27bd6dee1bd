//! The rules I1 to I5, I10, I11 and L1 for a head, in the order in which they apply. Where a value is neither plainly
//! good nor plainly bad there is no opinion.

use mcp_http_core::config::Eras;

use super::BODY_MAX;
use crate::heads::{Head, trim};

/// What the server is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) sessions: bool,
    pub(super) eras: Eras,
    pub(super) any_host: bool,
}

/// What a head must lead to.
#[derive(Debug)]
pub(super) enum Expected {
    Refused(u16),
    Options { granted: Option<Vec<u8>> },
    Health,
    Stats,
    Admitted,
    Body { grant: bool },
    Unsaid,
}

impl Setting {
    pub(super) fn all() -> Vec<Setting> {
        vec![
            Setting { sessions: true, eras: Eras::Both, any_host: false },
            Setting { sessions: false, eras: Eras::Both, any_host: false },
            Setting { sessions: true, eras: Eras::Handshake, any_host: true },
            Setting { sessions: true, eras: Eras::Stateless, any_host: false },
        ]
    }

    fn has_sessions(self) -> bool {
        self.sessions && self.eras != Eras::Stateless
    }

    fn cors(self) -> bool {
        self.eras != Eras::Handshake
    }
}

pub(super) fn judge(head: &Head<'_>, setting: Setting) -> Expected {
    let method = head.method.as_str();
    let reads = matches!(method, "GET" | "HEAD");
    match head.uri.path() {
        "/health" if reads => return Expected::Health,
        "/health" => return Expected::Refused(405),
        "/stats" | "/mcp" | "/mcp/" => {}
        _ => return Expected::Refused(404),
    }
    match host(head, setting) {
        Some(true) => {}
        Some(false) => return Expected::Refused(421),
        None => return Expected::Unsaid,
    }
    let origin = head.values("origin");
    match origin_is_allowed(&origin, setting) {
        Some(true) => {}
        Some(false) => return Expected::Refused(403),
        None => return Expected::Unsaid,
    }
    if head.uri.path() == "/stats" {
        return if reads { Expected::Stats } else { Expected::Refused(405) };
    }
    let grant = !origin.is_empty() && setting.cors();
    let stateless = setting.eras == Eras::Both && version(head) == Version::Stateless;
    let has_get = setting.has_sessions() && !stateless;
    match method {
        "OPTIONS" => Expected::Options { granted: grant.then(|| value_of_origin(head)) },
        "POST" => post(head, setting, grant),
        "GET" if has_get => get(head),
        "DELETE" if has_get => within_session(head).map_or(Expected::Admitted, Expected::Refused),
        _ => Expected::Refused(405),
    }
}

/// As it was sent.
fn value_of_origin(head: &Head<'_>) -> Vec<u8> {
    let mut fields = head.fields.iter();
    fields.find(|(name, _)| name == "origin").map(|(_, value)| value.as_bytes().to_vec()).unwrap_or_default()
}

fn post(head: &Head<'_>, setting: Setting, grant: bool) -> Expected {
    match accepts(head) {
        Some([false, false]) => return Expected::Refused(406),
        Some(_) => {}
        None => return Expected::Unsaid,
    }
    match is_json(head) {
        Some(true) => {}
        Some(false) => return Expected::Refused(415),
        None => return Expected::Unsaid,
    }
    let too_long = |digits: &&[u8]| {
        let digits = digits.iter().skip_while(|digit| **digit == b'0').copied().collect::<Vec<u8>>();
        let limit = BODY_MAX.to_string().into_bytes();
        (digits.len(), &digits) > (limit.len(), &limit)
    };
    let lengths = head.values("content-length");
    let mut numbers = lengths.iter().filter(|text| !text.is_empty() && text.iter().all(u8::is_ascii_digit));
    if numbers.any(too_long) {
        return Expected::Refused(413);
    }
    if setting.has_sessions() && version(head) == Version::Handshake && session(head) == Session::Bad {
        return Expected::Refused(400);
    }
    Expected::Body { grant }
}

fn get(head: &Head<'_>) -> Expected {
    match accepts(head) {
        Some([_, false]) => return Expected::Refused(406),
        Some(_) => {}
        None => return Expected::Unsaid,
    }
    if let Some(status) = within_session(head) {
        return Expected::Refused(status);
    }
    match head.values("last-event-id")[..] {
        [] | [b""] => Expected::Admitted,
        [id] if id.len() <= 128 && id.iter().all(u8::is_ascii_graphic) => Expected::Admitted,
        _ => Expected::Refused(400),
    }
}

/// The refusal of what is said within a session, of GET and DELETE.
fn within_session(head: &Head<'_>) -> Option<u16> {
    let good = matches!(version(head), Version::Absent | Version::Handshake) && session(head) == Session::One;
    (!good).then_some(400)
}

#[derive(PartialEq, Eq)]
enum Session {
    Absent,
    One,
    Bad,
}

/// I11.
fn session(head: &Head<'_>) -> Session {
    match head.values("mcp-session-id")[..] {
        [] => Session::Absent,
        [id] if (1..=128).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic) => Session::One,
        _ => Session::Bad,
    }
}

#[derive(PartialEq, Eq)]
enum Version {
    Absent,
    Handshake,
    Stateless,
    Other,
}

/// I10.
fn version(head: &Head<'_>) -> Version {
    let values = head.values("mcp-protocol-version");
    let Some(first) = values.first() else { return Version::Absent };
    if values.iter().any(|value| value != first) {
        return Version::Other;
    }
    match *first {
        b"2025-03-26" | b"2025-06-18" | b"2025-11-25" => Version::Handshake,
        b"2026-07-28" => Version::Stateless,
        _ => Version::Other,
    }
}

/// I1.
fn host(head: &Head<'_>, setting: Setting) -> Option<bool> {
    if setting.any_host {
        return Some(true);
    }
    match (head.uri.authority(), &head.values("host")[..]) {
        (Some(authority), _) => host_is_ours(authority.as_str().as_bytes()),
        (None, [host]) => host_is_ours(host),
        (None, _) => Some(false),
    }
}

fn host_is_ours(text: &[u8]) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let ours = [&b"localhost"[..], b"127.0.0.1", b"[::1]"];
    for name in ours {
        match text.strip_prefix(name) {
            Some(b"") => return Some(true),
            Some([b':', port @ ..]) if port.len() < 5 && port.iter().all(u8::is_ascii_digit) => {
                return Some(true);
            }
            _ => {}
        }
    }
    // Names of letters and single dots that end in none of ours; anything else may be one of ours in disguise.
    let letters = |octet: &u8| octet.is_ascii_lowercase() || *octet == b'.';
    let foreign = text.iter().all(letters) && !text.starts_with(b"localhost");
    foreign.then_some(false)
}

fn origin_is_allowed(origin: &[&[u8]], setting: Setting) -> Option<bool> {
    let origin = match origin {
        [] => return Some(true),
        [origin] => origin.to_ascii_lowercase(),
        _ => return Some(false),
    };
    match &origin[..] {
        b"https://app.example" | b"https://app.example:443" => Some(true),
        b"null" | b"" => Some(false),
        origin => {
            let host = origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"))?;
            let ours = host_is_ours(host)?;
            if setting.any_host || host.starts_with(b"app.example") { None } else { Some(ours) }
        }
    }
}

/// I3. What is quoted is not looked at.
fn is_json(head: &Head<'_>) -> Option<bool> {
    match head.values("content-encoding")[..] {
        [] => {}
        [coding] if coding.eq_ignore_ascii_case(b"identity") => {}
        _ => return Some(false),
    }
    let [value] = head.values("content-type")[..] else { return Some(false) };
    if value.contains(&b'"') {
        return None;
    }
    let mut parts = value.split(|octet| *octet == b';').map(trim);
    let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(b"application/json"));
    let sound = parts.filter(|part| !part.is_empty()).all(|part| match parameter(part) {
        Some((name, charset)) if name.eq_ignore_ascii_case(b"charset") => {
            charset.eq_ignore_ascii_case(b"utf-8") || charset.eq_ignore_ascii_case(b"utf8")
        }
        Some(_) => true,
        None => false,
    });
    Some(named && sound)
}

/// I2: whether JSON, and whether an event stream.
fn accepts(head: &Head<'_>) -> Option<[bool; 2]> {
    let lines = head.values("accept");
    if lines.iter().any(|line| line.contains(&b'"')) {
        return None;
    }
    let members = lines.iter().flat_map(|line| line.split(|octet| *octet == b',')).map(trim);
    let members: Vec<&[u8]> = members.filter(|member| !member.is_empty()).collect();
    if members.is_empty() {
        return Some([true, true]);
    }
    Some([b"application/json" as &[u8], b"text/event-stream"].map(|wanted| {
        let said = members.iter().filter_map(|member| range(member, wanted)).max();
        said.is_some_and(|(_, weight)| weight > 0)
    }))
}

/// How closely a range names `wanted`, and with which weight.
fn range(member: &[u8], wanted: &[u8]) -> Option<(u8, u32)> {
    let mut parts = member.split(|octet| *octet == b';').map(trim);
    let name = parts.next()?.to_ascii_lowercase();
    let slash = name.iter().position(|octet| *octet == b'/')?;
    if !is_token(&name[..slash]) || !is_token(&name[slash + 1..]) {
        return None;
    }
    let mut weight = 1000;
    for part in parts.filter(|part| !part.is_empty()) {
        let (name, value) = parameter(part)?;
        if name.eq_ignore_ascii_case(b"q") {
            weight = thousandths(value)?;
        }
    }
    let main = wanted.iter().position(|octet| *octet == b'/')?;
    let closeness = match name {
        name if name == wanted => 3,
        name if name == [&wanted[..=main], b"*"].concat() => 2,
        name if name == b"*/*" => 1,
        _ => return None,
    };
    Some((closeness, weight))
}

fn thousandths(value: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(value).ok()?;
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !decimals.bytes().all(|octet| octet.is_ascii_digit()) || decimals.len() > 3 {
        return None;
    }
    let thousandths: u32 = format!("{decimals:0<3}").parse().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(1000),
        _ => None,
    }
}

fn parameter(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = part.iter().position(|octet| *octet == b'=')?;
    let (name, value) = (&part[..at], &part[at + 1..]);
    (is_token(name) && is_token(value)).then_some((name, value))
}

fn is_token(text: &[u8]) -> bool {
    let good = |octet: &u8| octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(octet);
    !text.is_empty() && text.iter().all(good)
}
