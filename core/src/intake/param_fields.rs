//! `Mcp-Param-*` of a `tools/call` against its arguments (Z5). Which arguments are mirrored is the
//! application's, in `crate::param_headers`.
//!
//! What decides is what the argument is, not what the schema says it should be: a value of another type than
//! the declared one is judged by its own spelling, so that it is the application which tells the client that
//! its argument has the wrong type, not a refusal about fields. An array or an object has no spelling, so no
//! client can send a field for it, and none may be there.

use std::borrow::Cow;

use super::members::{self, Member};
use super::mirror::{Fault, Mirror, Mirrors};
use crate::param_headers::{ParamHeaders, ParamType};
use crate::reject::Refusal;

/// 2^53 - 1: beyond it, readers that hold numbers as doubles take different integers for the same.
const SAFE_MAX: i64 = 9_007_199_254_740_991;
/// As many digits as it has.
const SAFE_DIGITS_MAX: usize = 16;

/// What a field has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Spelling<'a> {
    /// It must not be there.
    None,
    /// Any decimal spelling of this.
    Integer(i64),
    Text(Cow<'a, str>),
}

/// A decimal text as an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Integer {
    Safe(i64),
    Unsafe,
    /// A fraction, or no number at all.
    No,
}

/// Judges the fields for the arguments of the tool called `name`. Fields that no registered argument has are
/// passed over.
pub(crate) fn judge(
    tools: &ParamHeaders,
    name: &str,
    arguments: Member<'_>,
    mirrors: &Mirrors,
) -> Result<(), Refusal> {
    for header in tools.tool(name) {
        let lines = mirrors.params.iter().filter(|(field, _)| *field == header.field);
        let mirror = Mirror::of(lines.map(|(_, value)| value));
        let judged = match spelling(value_at(arguments, &header.path), header.kind)? {
            Spelling::None => match mirror {
                Mirror::Absent => Ok(()),
                Mirror::Is(_) | Mirror::Differing => Err(UNEXPECTED),
            },
            Spelling::Integer(number) => {
                mirror.judge(|value| integer(value) == Integer::Safe(number)).map_err(why)
            }
            Spelling::Text(text) => mirror.judge(|value| value == text.as_bytes()).map_err(why),
        };
        judged.map_err(|why| Refusal::ParamHeaderMismatch { field: header.field.clone(), why })?;
    }
    Ok(())
}

const UNEXPECTED: &str = "must be left out, as its argument is null, not given, or no single value";

fn why(fault: Fault) -> &'static str {
    match fault {
        Fault::Missing => "is missing; mirror the argument, as =?base64?...?= if it is not of visible ASCII",
        Fault::Malformed => {
            "cannot be read; send it with one value, of visible ASCII or =?base64?...?= by RFC 4648 with padding"
        }
        Fault::Different => "differs from its argument; send the same",
    }
}

/// How an argument is written in a field. Where no field could be right, it is the argument that is refused.
fn spelling(argument: Member<'_>, kind: ParamType) -> Result<Spelling<'_>, Refusal> {
    let literal = match argument {
        Member::Once(literal) if !literal.starts_with(['{', '[', 'n']) => literal,
        Member::Once(_) | Member::Absent => return Ok(Spelling::None),
        Member::Twice => {
            return Err(Refusal::InvalidParams(
                "an argument that an Mcp-Param field mirrors is given twice; give it once",
            ));
        }
    };
    if literal.starts_with('"') {
        return members::string(literal).map(Spelling::Text).ok_or(Refusal::InvalidParams(
            "an argument that an Mcp-Param field mirrors is no text, as it has half a surrogate pair",
        ));
    }
    match (kind, integer(literal.as_bytes())) {
        (ParamType::Integer, Integer::Safe(number)) => Ok(Spelling::Integer(number)),
        (ParamType::Integer, Integer::Unsafe) => Err(Refusal::InvalidParams(
            "an integer that an Mcp-Param field mirrors must be from -9007199254740991 to 9007199254740991",
        )),
        (ParamType::Integer, Integer::No) | (ParamType::String | ParamType::Boolean, _) => {
            Ok(Spelling::Text(literal.into()))
        }
    }
}

/// The argument at the end of `path`. A member given twice on the way is given twice, since another reader
/// may take the other one.
fn value_at<'a>(arguments: Member<'a>, path: &[Box<str>]) -> Member<'a> {
    let mut value = arguments;
    for step in path {
        let object = match value {
            Member::Once(object) if object.starts_with('{') => object,
            Member::Once(_) | Member::Absent => return Member::Absent,
            Member::Twice => return Member::Twice,
        };
        value = Member::Absent;
        let read = members::of_object(object, |name, member| {
            if name == &**step {
                value.put(member);
            }
        });
        debug_assert!(read.is_ok(), "the arguments were checked with the message");
    }
    value
}

/// Reads a number as JSON writes it, exactly: `42.0` and `4.2e1` are 42.
fn integer(text: &[u8]) -> Integer {
    let (is_negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (mantissa, exponent) = split(text, |octet| matches!(octet, b'e' | b'E'));
    let (whole, fraction) = split(mantissa, |octet| octet == b'.');
    if !is_digits(whole) || (whole.len() > 1 && whole.starts_with(b"0")) || !fraction.is_none_or(is_digits) {
        return Integer::No;
    }
    let Some(exponent) = exponent.map_or(Some(0), read_exponent) else { return Integer::No };
    let fraction = fraction.unwrap_or_default();
    let digits: Vec<u8> = [whole, fraction].concat();
    let Some(last) = digits.iter().rposition(|&digit| digit != b'0') else { return Integer::Safe(0) };
    let significant = digits.get(..=last).unwrap_or_default();
    // How many zeros follow the significant digits; less than none leaves a fraction.
    let dropped = digits.len().saturating_sub(significant.len());
    let zeros =
        exponent.saturating_sub_unsigned(fraction.len() as u64).saturating_add_unsigned(dropped as u64);
    let Ok(zeros) = usize::try_from(zeros) else { return Integer::No };
    let significant = significant.iter().skip_while(|&&digit| digit == b'0');
    if significant.clone().count().saturating_add(zeros) > SAFE_DIGITS_MAX {
        return Integer::Unsafe;
    }
    let value = significant
        .copied()
        .chain(core::iter::repeat_n(b'0', zeros))
        .fold(0_i64, |value, digit| value.saturating_mul(10).saturating_add(i64::from(digit & 0x0f)));
    match value {
        0..=SAFE_MAX if is_negative => Integer::Safe(value.saturating_neg()),
        0..=SAFE_MAX => Integer::Safe(value),
        _ => Integer::Unsafe,
    }
}

/// An exponent too long for its type is as good as the largest of its sign.
fn read_exponent(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if !is_digits(digits) {
        return None;
    }
    let size = digits
        .iter()
        .fold(0_i64, |size, &digit| size.saturating_mul(10).saturating_add(i64::from(digit & 0x0f)));
    Some(if is_negative { size.saturating_neg() } else { size })
}

/// What stands before and after the first octet that `is_separator`.
fn split(text: &[u8], is_separator: impl Fn(u8) -> bool) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |&octet| is_separator(octet));
    (parts.next().unwrap_or_default(), parts.next())
}

fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}
