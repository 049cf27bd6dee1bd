//! `Accept`: which of the two media types there are the client can read (I2). Ranges are parsed, never
//! searched for as text.

use http::{HeaderMap, header};

use super::admitted::Accept;
use super::field::{split_unquoted, trim};
use super::media::MediaType;

/// How closely a range names a media type; a closer range overrides a wider one (RFC 9110 12.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Closeness {
    /// `*/*`
    Any,
    /// `type/*`
    Main,
    /// `type/subtype`, whatever its parameters: there is only one representation of each type here.
    Exact,
}

/// What has been said about one media type so far.
#[derive(Clone, Copy, Debug, Default)]
struct Opinion(Option<(Closeness, bool)>);

impl Accept {
    /// What the field admits. Absent, or without a member, it admits everything; a malformed member is passed
    /// over, so a field of nothing but malformed members admits nothing.
    pub(crate) fn of(fields: &HeaderMap) -> Accept {
        let (mut json, mut event_stream) = (Opinion::default(), Opinion::default());
        let mut empty = true;
        for line in fields.get_all(header::ACCEPT) {
            let members = split_unquoted(trim(line.as_bytes()), b',');
            for member in members.filter(|member| !member.is_empty()) {
                empty = false;
                let mut wanted = true;
                let Some(range) = MediaType::parse(member, |name, value| weigh(name, value, &mut wanted))
                else {
                    continue;
                };
                json.hear(closeness(&range, "application", "json"), wanted);
                event_stream.hear(closeness(&range, "text", "event-stream"), wanted);
            }
        }
        Accept { json: empty || json.wanted(), event_stream: empty || event_stream.wanted() }
    }
}

impl Opinion {
    /// Of two ranges that are equally close, the one that wants it counts.
    fn hear(&mut self, closeness: Option<Closeness>, wanted: bool) {
        if let Some(closeness) = closeness {
            self.0 = self.0.max(Some((closeness, wanted)));
        }
    }

    fn wanted(self) -> bool {
        self.0.is_some_and(|(_, wanted)| wanted)
    }
}

/// How closely `range` names `main/sub`; `None` if not at all.
fn closeness(range: &MediaType<'_>, main: &str, sub: &str) -> Option<Closeness> {
    if range.is(main, sub) {
        return Some(Closeness::Exact);
    }
    if range.is(main, "*") {
        return Some(Closeness::Main);
    }
    range.is("*", "*").then_some(Closeness::Any)
}

/// Reads a `q` parameter; `false` if it is malformed. Other parameters are passed over.
fn weigh(name: &[u8], value: &[u8], wanted: &mut bool) -> bool {
    if !name.eq_ignore_ascii_case(b"q") {
        return true;
    }
    // qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )
    let decimals = match value {
        [b'0' | b'1'] => &[],
        [b'0' | b'1', b'.', decimals @ ..] => decimals,
        _ => return false,
    };
    let one = value.first() == Some(&b'1');
    let fits = |digit: &u8| if one { *digit == b'0' } else { digit.is_ascii_digit() };
    *wanted = one || decimals.iter().any(|digit| *digit != b'0');
    decimals.len() <= 3 && decimals.iter().all(fits)
}
