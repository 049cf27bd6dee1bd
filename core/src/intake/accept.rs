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

/// What has been said about one media type so far: how closely, and the weight in thousandths. Of two ranges
/// that are equally close, the heavier counts.
#[derive(Clone, Copy, Debug, Default)]
struct Opinion {
    closest: Option<(Closeness, u16)>,
    /// The place of the range that counts.
    place: usize,
}

impl Accept {
    /// What the field admits. Absent, or without a member, it admits everything; a malformed member is passed
    /// over, so a field of nothing but malformed members admits nothing.
    pub(crate) fn of(fields: &HeaderMap) -> Accept {
        let (mut json, mut event_stream) = (Opinion::default(), Opinion::default());
        let mut members: usize = 0;
        for line in fields.get_all(header::ACCEPT) {
            let parts = split_unquoted(trim(line.as_bytes()), b',');
            for member in parts.filter(|member| !member.is_empty()) {
                members = members.saturating_add(1);
                let mut weight = WHOLE;
                let Some(range) = MediaType::parse(member, |name, value| weigh(name, value, &mut weight))
                else {
                    continue;
                };
                json.hear(closeness(&range, "application", "json"), weight, members);
                event_stream.hear(closeness(&range, "text", "event-stream"), weight, members);
            }
        }
        let prefers_event_stream = json.is_wanted() && event_stream.is_preferred_to(json);
        let empty = members == 0;
        Accept {
            json: empty || json.is_wanted(),
            event_stream: empty || event_stream.is_wanted(),
            prefers_event_stream,
        }
    }
}

impl Opinion {
    fn hear(&mut self, closeness: Option<Closeness>, weight: u16, place: usize) {
        let said = closeness.map(|closeness| (closeness, weight));
        if said > self.closest {
            *self = Opinion { closest: said, place };
        }
    }

    fn weight(self) -> u16 {
        self.closest.map_or(0, |(_, weight)| weight)
    }

    fn is_wanted(self) -> bool {
        self.weight() > 0
    }

    /// By weight, then by place; a wildcard names nothing, and prefers nothing by its place.
    fn is_preferred_to(self, other: Opinion) -> bool {
        let named = |opinion: Opinion| opinion.closest.is_some_and(|(close, _)| close == Closeness::Exact);
        let first = named(self) && named(other) && self.place < other.place;
        self.weight() > other.weight() || (self.weight() == other.weight() && first)
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

/// The weight of a range that does not say.
const WHOLE: u16 = 1000;

/// Reads a `q` parameter; `false` if it is malformed. Other parameters are passed over.
fn weigh(name: &[u8], value: &[u8], weight: &mut u16) -> bool {
    if !name.eq_ignore_ascii_case(b"q") {
        return true;
    }
    // qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )
    let (whole, decimals) = match value {
        [whole @ (b'0' | b'1')] => (*whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', decimals @ ..] => (*whole, decimals),
        _ => return false,
    };
    let one = whole == b'1';
    let fits = |digit: &u8| if one { *digit == b'0' } else { digit.is_ascii_digit() };
    if decimals.len() > 3 || !decimals.iter().all(fits) {
        return false;
    }
    let places = decimals.iter().chain(b"000").take(3);
    let thousandths = places.fold(0_u16, |sum, digit| {
        sum.saturating_mul(10).saturating_add(u16::from(digit.saturating_sub(b'0')))
    });
    *weight = if one { WHOLE } else { thousandths };
    true
}
