//! Heads put together out of fields and values that the rules tell apart, which mutation alone seldom hits.

use crate::input::Input;

const LINES: [&str; 10] = [
    "POST /mcp",
    "GET /mcp",
    "DELETE /mcp",
    "OPTIONS /mcp",
    "PUT /mcp/",
    "HEAD /health",
    "GET /stats",
    "GET /x",
    "POST http://localhost/mcp?a",
    "POST http://evil.example/mcp",
];

/// Each name with the values that matter for it.
const FIELDS: [(&str, &[&str]); 12] = [
    (
        "host",
        &[
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8000",
            "[::1]",
            "evil.example",
            "localhost.evil",
            "",
            "a,b",
        ],
    ),
    (
        "origin",
        &["http://localhost", "https://app.example", "null", "https://evil.example", "http://[::1]:1", ""],
    ),
    (
        "accept",
        &[
            "application/json",
            "text/event-stream",
            "*/*",
            "application/json;q=0",
            "application/*;q=0.5, */*;q=0",
            "text/event-stream;q=0.001",
            "text/*;q=1.1",
            "text/html",
            "",
            ", ,",
            "APPLICATION/JSON ; a=b",
            "application/jsonx",
            "text/event-stream; q=0, */*",
            "application/json;q=1.000, text/event-stream;q=0.000",
        ],
    ),
    (
        "content-type",
        &[
            "application/json",
            "application/json; charset=utf-8",
            "Application/JSON;charset=UTF8;",
            "text/plain",
            "application/json; charset=latin1",
            "text/plain; a=application/json",
            "application/json; a",
            "",
            "application/json-seq",
            "application/json;a=b;;c=d",
        ],
    ),
    ("content-encoding", &["identity", "gzip", ""]),
    ("content-length", &["5", "300", "301", "0000000300", "99999999999999999999999", "+5", ""]),
    (
        "mcp-protocol-version",
        &["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "2024-11-05", "", " 2025-06-18 ", "x y"],
    ),
    (
        "mcp-session-id",
        &["0000", "", "a b", "\u{e9}", "00000000000000000000000000000000000000000000000000000"],
    ),
    ("last-event-id", &["00000001-0-1", "", "a b", "x"]),
    ("mcp-method", &["ping", "tools/call", ""]),
    ("access-control-request-method", &["POST"]),
    ("x-a", &["b"]),
];

const BODIES: [&str; 4] = [
    "",
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{}}}"#,
    r#"{"jsonrpc":"2.0","method":"x"}"#,
];

/// A request as `heads` reads one. What every request has to have is there, unless the input leaves it out.
pub(super) fn compose(input: &mut Input<'_>) -> String {
    let shape = input.byte();
    let mut text = format!("{}\n", LINES[usize::from(shape >> 4) % LINES.len()]);
    for (bit, usual) in [(1, "host: localhost\n"), (2, "content-type: application/json\n")] {
        if shape & bit == 0 {
            text.push_str(usual);
        }
    }
    let body = input.below(BODIES.len());
    while !input.is_empty() {
        let (name, values) = FIELDS[input.below(FIELDS.len())];
        text.push_str(&format!("{name}: {}\n", values[input.below(values.len())]));
    }
    format!("{text}\n{}", BODIES[body])
}
