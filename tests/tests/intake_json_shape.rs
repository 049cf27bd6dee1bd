//! I7 and R5: what is a JSON-RPC message, and that ids and parameters stay as they were sent.
mod intake_support;

use intake_support::{check_invalid, post, sessions_on};
use mcp_http_core::intake::{IncomingNotice, Kind};
use mcp_http_core::jsonrpc::RequestId;
use proptest::prelude::*;

/// Literals that are ids.
const IDS: [&str; 22] = [
    "0",
    "1",
    "-1",
    "-0",
    "7",
    "9007199254740993",
    "18446744073709551616",
    "-9223372036854775809",
    "123456789012345678901234567890123456789012345678901234567890",
    r#""""#,
    r#""1""#,
    r#""abc""#,
    r#"" ""#,
    r#""\u0061""#,
    r#""\"""#,
    r#""\\""#,
    r#""\/""#,
    r#""é😀""#,
    r#""\ud83d\ude00""#,
    r#""\ud800""#,
    r#""null""#,
    r#""{\"id\":2}""#,
];

/// JSON values that are none.
const NO_IDS: [&str; 18] = [
    "null",
    "true",
    "false",
    "1.0",
    "0.0",
    "-0.0",
    "1.5",
    "1e0",
    "1E2",
    "1e+2",
    "1e-2",
    "10e-1",
    "{}",
    "[]",
    "[1]",
    r#"{"id":1}"#,
    r#"["a"]"#,
    "1.0000000000000000000",
];

#[test]
fn i7_jsonrpc_is_exactly_2_0() {
    for version in [
        "\"1.0\"",
        "\"2\"",
        "\"2.00\"",
        "\" 2.0\"",
        "\"\"",
        "2.0",
        "2",
        "null",
        "[\"2.0\"]",
        "{}",
        "\"\\ud800\"",
    ] {
        check_invalid(&format!(r#"{{"jsonrpc":{version},"id":1,"method":"ping"}}"#), Some("1"));
    }
    check_invalid(r#"{"id":1,"method":"ping"}"#, Some("1"));
    check_invalid(r#"{"id":1,"JSONRPC":"2.0","method":"ping"}"#, Some("1"));
    let _ = post(r#"{"id":1,"json\u0072pc":"2\u002e0","method":"ping"}"#).admitted(&sessions_on());
}

#[test]
fn i7_a_message_is_an_object() {
    for body in ["null", "true", "1", "-0.5e3", "\"ping\"", " 7 ", "{}", "[1]", "[[]]"] {
        check_invalid(body, None);
    }
}

#[test]
fn r5_every_string_and_integer_is_an_id_and_is_kept_byte_for_byte() {
    for literal in IDS {
        let Kind::Call(request) =
            post(format!(r#"{{"jsonrpc":"2.0","id": {literal} ,"method":"ping"}}"#)).kind(&sessions_on())
        else {
            panic!("no call: {literal}")
        };
        assert_eq!(request.id.literal(), literal.as_bytes());
        check_invalid(&format!(r#"{{"id":{literal},"jsonrpc":"2.0"}}"#), Some(literal));
    }
}

#[test]
fn r5_an_id_is_the_same_in_a_large_body() {
    for size in [10, 4_000, 4_096, 5_000, 100_000] {
        let padding = "x".repeat(size);
        let body =
            format!(r#"{{"padding":"{padding}","jsonrpc":"2.0","id":"a","method":"m","params":{{"b":1}}}}"#);
        let Kind::Call(request) = post(body).kind(&sessions_on()) else { panic!("no call") };
        assert_eq!(request.id.literal(), b"\"a\"");
        assert_eq!(request.params.unwrap().as_bytes(), br#"{"b":1}"#);
    }
}

#[test]
fn i7_nothing_else_is_an_id() {
    for literal in NO_IDS {
        check_invalid(&format!(r#"{{"jsonrpc":"2.0","id":{literal},"method":"ping"}}"#), None);
        check_invalid(&format!(r#"{{"jsonrpc":"2.0","id":{literal},"result":{{}}}}"#), None);
    }
}

#[test]
fn i7_the_id_is_echoed_wherever_it_stands_and_whatever_else_is_wrong() {
    let wrong = [
        r#""method":1"#,
        r#""method":null"#,
        r#""method":["ping"]"#,
        r#""method":"\ud800""#,
        r#""params":{}"#,
        "\"x\":1",
        r#""method":"m","params":null"#,
        r#""method":"m","params":1"#,
        r#""method":"m","params":"{}""#,
        r#""method":"m","params":true"#,
        r#""method":"m","result":{}"#,
        r#""method":"m","error":{}"#,
        r#""result":{},"error":{}"#,
        r#""result":null,"error":{}"#,
        r#""result":{},"error":null"#,
        r#""method":"m","result":{},"error":{}"#,
        r#""error":null"#,
        r#""error":"x""#,
        r#""error":[]"#,
        r#""error":1"#,
    ];
    for wrong in wrong {
        for text in [
            format!(r#"{{"id":"i",{wrong},"jsonrpc":"2.0"}}"#),
            format!(r#"{{"jsonrpc":"2.0",{wrong},"id":"i"}}"#),
            format!(r#"{{{wrong},"\u0069d" : "i" ,"jsonrpc":"2.0"}}"#),
            format!(r#"{{{wrong},"id":"i"}}"#),
        ] {
            check_invalid(&text, Some("\"i\""));
        }
    }
}

#[test]
fn i7_requests_notices_and_replies_are_told_apart_by_their_members() {
    let kind = |body: &'static str| post(body).kind(&sessions_on());
    let Kind::Call(request) = kind(r#"{"params":[ 1 , 2 ],"method":"m\u0061/\"x","id":1,"jsonrpc":"2.0"}"#)
    else {
        panic!("no call")
    };
    assert_eq!(&*request.method, "ma/\"x");
    assert_eq!(request.params.unwrap().as_bytes(), b"[ 1 , 2 ]");
    let Kind::Call(request) = kind(r#"{"jsonrpc":"2.0","id":1,"method":""}"#) else { panic!("no call") };
    assert_eq!((&*request.method, request.params), ("", None));
    let Kind::Notice(IncomingNotice { notice, cancels: None }) =
        kind(r#"{"jsonrpc":"2.0","method":"n","params":{"a": 1}}"#)
    else {
        panic!("no notice")
    };
    assert_eq!((&*notice.method, notice.params.unwrap().as_bytes()), ("n", &br#"{"a": 1}"#[..]));
    for result in ["{}", r#"{"a" : [1]}"#, "null", "1", "\"x\"", "[]", "false"] {
        let Kind::Reply(reply) =
            post(format!(r#"{{"jsonrpc":"2.0","id":"s","result":{result}}}"#)).kind(&sessions_on())
        else {
            panic!("no reply")
        };
        assert_eq!(reply.id.literal(), b"\"s\"");
        assert_eq!(reply.outcome.unwrap().as_bytes(), result.as_bytes());
    }
    let Kind::Reply(reply) = kind(r#"{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"no"}}"#) else {
        panic!("no reply")
    };
    assert_eq!(reply.outcome.unwrap_err().as_bytes(), br#"{"code":-1,"message":"no"}"#);
}

#[test]
fn i7_a_reply_needs_an_id() {
    check_invalid(r#"{"jsonrpc":"2.0","result":{}}"#, None);
    check_invalid(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#, None);
}

#[test]
fn c10_a_cancel_names_a_request_by_its_id_and_by_nothing_else() {
    let cancels = |method: &str, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        let Kind::Notice(IncomingNotice { cancels, .. }) = post(body).kind(&sessions_on()) else {
            panic!("no notice")
        };
        cancels
    };
    for literal in IDS {
        let target =
            cancels("notifications/cancelled", &format!(r#"{{"reason":"x","requestId": {literal} }}"#));
        assert_eq!(target.as_ref().map(RequestId::literal), Some(literal.as_bytes()));
        assert_eq!(cancels("notifications/progress", &format!(r#"{{"requestId":{literal}}}"#)), None);
    }
    for literal in NO_IDS {
        assert_eq!(
            cancels("notifications/cancelled", &format!(r#"{{"requestId":{literal}}}"#)),
            None,
            "{literal}"
        );
    }
    for params in [
        "{}",
        "[]",
        r#"[{"requestId":1}]"#,
        r#"{"a":{"requestId":1}}"#,
        r#"{"requestId":1,"requestId":2}"#,
        r#"{"id":1}"#,
    ] {
        assert_eq!(cancels("notifications/cancelled", params), None, "{params}");
    }
    assert_eq!(
        cancels("notifications/cancelled", r#"{"request\u0049d":4}"#),
        Some(RequestId::from_number(4))
    );
}

proptest! {
    #[test]
    fn r5_any_string_id_round_trips(text in any::<String>()) {
        let literal = serde_json::to_string(&text).unwrap();
        let Kind::Call(request) =
            post(format!(r#"{{"jsonrpc":"2.0","method":"m","id":{literal}}}"#)).kind(&sessions_on()) else { panic!() };
        prop_assert_eq!(request.id.literal(), literal.as_bytes());
        let reject = post(format!(r#"{{"id":{literal}}}"#)).reject(&sessions_on());
        let body = bytes::Bytes::from(&reject);
        let needle = format!(r#""id":{literal},"#);
        prop_assert!(body.windows(needle.len()).any(|window| window == needle.as_bytes()));
    }

    #[test]
    fn r5_any_integer_id_round_trips(literal in "-?(0|[1-9][0-9]{0,80})") {
        let Kind::Call(request) =
            post(format!(r#"{{"jsonrpc":"2.0","method":"m","id":{literal}}}"#)).kind(&sessions_on()) else { panic!() };
        prop_assert_eq!(request.id.literal(), literal.as_bytes());
    }

    #[test]
    fn i7_the_order_of_members_does_not_matter(order in Just([0, 1, 2, 3, 4]).prop_shuffle()) {
        let members =
            [r#""jsonrpc":"2.0""#, r#""id":"i""#, r#""method":"m""#, r#""params":{"k":[]}"#, r#""more":{"id":2}"#];
        let body = order.map(|at| members[at]).join(",");
        let Kind::Call(request) = post(format!("{{{body}}}")).kind(&sessions_on()) else { panic!() };
        prop_assert_eq!(request.id.literal(), b"\"i\"");
        prop_assert_eq!(&*request.method, "m");
        let params = request.params.unwrap();
        prop_assert_eq!(params.as_bytes(), br#"{"k":[]}"#);
    }
}
