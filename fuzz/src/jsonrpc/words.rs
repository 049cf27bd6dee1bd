//! Bodies put together out of members and values that the rules tell apart, which mutation alone seldom hits.

use crate::input::Input;

const NAMES: [&str; 11] =
    ["jsonrpc", "id", "method", "params", "result", "error", "i\\u0064", "x", "_meta", "Id", "\\ud800"];

const VALUES: [&str; 48] = [
    r#""2.0""#,
    "1",
    r#""ping""#,
    "{}",
    "[]",
    "null",
    "true",
    "0",
    "-0",
    "1.5",
    "1.0",
    "1e3",
    "-7",
    "01",
    "-",
    "18446744073709551616",
    "1e999",
    r#""""#,
    r#""1""#,
    r#""\u0031""#,
    r#""\ud83d""#,
    r#""\ud83d\ude00""#,
    r#""é""#,
    r#""2.\u0030""#,
    r#""initialize""#,
    r#""notifications/cancelled""#,
    r#""initialize ""#,
    r#""tools/call""#,
    r#""subscriptions/listen""#,
    r#""resources/subscribe""#,
    r#"{"code":-1,"message":"m"}"#,
    r#"{"requestId":1}"#,
    r#"{"requestId":"a","requestId":2}"#,
    r#"{"requestId":1.5}"#,
    r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{}}"#,
    r#"{"protocolVersion":"1999","capabilities":{},"clientInfo":{}}"#,
    r#"{"protocolVersion":1,"capabilities":{},"clientInfo":{}}"#,
    r#"{"protocolVersion":"2025-03-26","capabilities":[],"clientInfo":{}}"#,
    r#"{"protocolVersion":"2025-03-26","capabilities":{}}"#,
    r#"{"protocolVersion":"2025-11-25","protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}"#,
    r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#,
    r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-06-18","io.modelcontextprotocol/clientCapabilities":{}}}"#,
    r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/clientCapabilities":{}}}"#,
    r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
    r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}"#,
    r#"{"_meta":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
    r#"{"_meta":[]}"#,
    "[[[{}]]]",
];

/// One message; the usual members come first, unless the input leaves them out.
const USUAL: [(usize, usize); 3] = [(0, 0), (1, 1), (2, 2)];

/// A body; a batch if the input says so.
pub(super) fn compose(input: &mut Input<'_>) -> String {
    let shape = input.byte();
    let messages: Vec<String> = (0..1 + shape % 5).map(|_| message(input)).collect();
    match shape % 5 {
        0 => messages.concat(),
        _ => format!("[{}]", messages.join(",")),
    }
}

fn message(input: &mut Input<'_>) -> String {
    let shape = input.byte();
    let usual = USUAL.iter().enumerate().filter(|(at, _)| shape >> at & 1 == 0).map(|(_, member)| *member);
    let mut members: Vec<(usize, usize)> = usual.collect();
    for _ in 0..shape >> 6 {
        members.push((input.below(NAMES.len()), input.below(VALUES.len())));
    }
    if shape & 8 == 8 {
        // A usual member with another value.
        if let Some(member) = members.first_mut() {
            member.1 = input.below(VALUES.len());
            members.rotate_left(1);
        }
    }
    let blank = if shape & 16 == 16 { " \n" } else { "" };
    let texts =
        members.iter().map(|(name, value)| format!(r#""{}"{blank}:{blank}{}"#, NAMES[*name], VALUES[*value]));
    format!("{blank}{{{}}}", texts.collect::<Vec<_>>().join(","))
}
