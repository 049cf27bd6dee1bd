//! I6: what is JSON and what is not, at what cost, and what must not be given twice.
mod intake_support;

use intake_support::{check_invalid, check_not_json, post, sessions_on};
use mcp_http_core::intake::Kind;
use mcp_http_core::reject::{Refusal, Reject};
use proptest::prelude::*;

#[test]
fn i6_what_is_not_json_is_refused_without_an_id() {
    let valid = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for body in [
        "",
        " ",
        "\n",
        "{",
        "}",
        "[",
        "]",
        "x",
        "nul",
        "'{}'",
        "{]",
        "[}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "[1,]",
        "[,]",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1 \"b\":2}",
        "NaN",
        "+1",
        "01",
        "1.",
        ".5",
        "1e",
        "-",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\n\"",
        "\"\t\"",
        "// x\n{}",
        "{}/**/",
        "\u{a0}{}",
        "\u{b}{}",
        "\0",
        "{}\0",
    ] {
        check_not_json(String::from(body));
    }
    for (before, after) in [
        ("", "x"),
        ("", " {}"),
        ("", "\0"),
        ("", ","),
        ("", "\u{feff}"),
        ("x", ""),
        ("\u{feff}", ""),
        ("\u{a0}", ""),
        ("", "\u{b}"),
        ("", "]"),
        ("", "}"),
    ] {
        check_not_json(format!("{before}{valid}{after}"));
    }
    for cut in 0..valid.len() {
        check_not_json(String::from(&valid[..cut]));
    }
}

#[test]
fn i6_bad_json_deep_inside_or_in_a_member_that_does_not_matter_is_bad_json() {
    for inside in ["01", "tru", "\"\\x\"", "[1,]", "{\"a\" 1}", "\"\u{1}\"", "--1", ""] {
        for text in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","other":{inside}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":[{{"b":{inside}}}]}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{inside},"method":"ping"}}"#),
            format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"ping","params":[1,{{"b":{inside}}}]}}]"#),
        ] {
            check_not_json(text);
        }
    }
}

#[test]
fn i6_what_is_not_utf_8_is_refused_wherever_it_stands() {
    for bad in [
        &b"\x80"[..],
        b"\xff",
        b"\xc3",
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xf8\x88\x80\x80\x80",
    ] {
        for (before, after) in [
            (&br#"{"jsonrpc":"2.0","id":1,"method":"ping","x":""#[..], &br#""}"#[..]),
            (br#"{"jsonrpc":"2.0","id":1,"method":"ping",""#, br#"":1}"#),
            (br#"{"jsonrpc":"2.0","id":""#, br#"","method":"ping"}"#),
            (br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, b""),
            (b"", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
        ] {
            check_not_json([before, bad, after].concat());
        }
    }
    let utf16: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    check_not_json(utf16);
}

#[test]
fn i6_a_byte_order_mark_is_refused_in_so_many_words() {
    let with_bom = post("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}").refusal(&sessions_on());
    assert!(matches!(with_bom, Refusal::NotJson(why) if why.contains("byte order mark")));
}

#[test]
fn i6_blanks_around_the_text_are_part_of_json() {
    for (before, after) in [(" ", ""), ("\r\n\t ", " \t\r\n"), ("", "\n")] {
        let body =
            format!("{before}{{ \"jsonrpc\" : \"2.0\" ,\r\n\"id\"\t: 1 , \"method\":\"ping\" }}{after}");
        let Kind::Call(request) = post(body).kind(&sessions_on()) else { panic!("no call") };
        assert_eq!(request.id.literal(), b"1");
    }
}

#[test]
fn i6_a_member_that_counts_must_not_be_given_twice() {
    let valid = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}"#;
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":{}"#;
    let failure = r#"{"jsonrpc":"2.0","id":1,"error":{}"#;
    for (start, twice, echoed) in [
        (valid, r#""jsonrpc":"2.0""#, Some("1")),
        (valid, r#""jsonrpc":"1.0""#, Some("1")),
        (valid, r#""id":1"#, None),
        (valid, r#""id":2"#, None),
        (valid, r#""id":null"#, None),
        (valid, r#""method":"ping""#, Some("1")),
        (valid, r#""method":"other""#, Some("1")),
        (valid, r#""params":{}"#, Some("1")),
        (valid, r#""params":null"#, Some("1")),
        (reply, r#""result":{}"#, Some("1")),
        (failure, r#""error":{}"#, Some("1")),
        // The same names in disguise.
        (valid, r#""\u006dethod":"other""#, Some("1")),
        (valid, r#""\u0069\u0064":2"#, None),
        (valid, r#""para\u006Ds":{}"#, Some("1")),
        (valid, r#""jsonrp\u0063":"2.0""#, Some("1")),
        (reply, r#""resul\u0074":{}"#, Some("1")),
        (failure, r#""\u0065rror":{}"#, Some("1")),
    ] {
        check_invalid(&format!("{start},{twice}}}"), echoed);
        check_invalid(&format!("{{{twice},{twice},{twice}}}"), None);
    }
}

#[test]
fn i6_other_members_are_passed_over_and_may_be_given_twice() {
    let Kind::Call(request) = post(
        r#"{"x":1,"x":2,"ID":5,"Method":"m","id ":6,"":0,"":0,"\ud800":1,"\ud800":2,"_meta":{},"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    )
    .kind(&sessions_on()) else {
        panic!("no call")
    };
    assert_eq!((request.id.literal(), &*request.method), (&b"1"[..], "ping"));
}

#[test]
fn i6_depth_costs_no_stack() {
    let depth = 4 * 1024 * 1024 - 200;
    for open in ["[", "{\"a\":"] {
        check_not_json(open.repeat(depth / open.len()));
    }
    let half = depth / 2;
    let nested = format!("{}{}", "[".repeat(half), "]".repeat(half));
    check_invalid(&nested, None);
    for member in ["params", "other", "result"] {
        let method = if member == "result" { "" } else { r#""method":"m","# };
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,{method}"{member}":{nested}}}"#);
        let _ = post(body).admitted(&sessions_on());
    }
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{{"a":{nested}}}}}}}"#);
    let _ = post(body).admitted(&sessions_on());
    check_invalid(&format!(r#"{{"jsonrpc":"2.0","id":{nested},"method":"m"}}"#), None);
    check_invalid(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":{nested}}}"#), Some("1"));
}

proptest! {
    #[test]
    fn i6_random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = post(body).judge(&sessions_on());
    }

    #[test]
    fn i6_what_is_admitted_is_what_a_json_parser_takes(
        body in r#"[ \[\{]{0,2}("jsonrpc"|"id"|"method"|"params"|"2.0"|"m"|[\{\}\[\],:]|1|null|true|"a\\u0062"| ){0,14}[\}\]]{0,2}"#
    ) {
        let is_json = serde_json::from_str::<serde_json::Value>(&body).is_ok();
        match post(body.clone()).judge(&sessions_on()) {
            intake_support::Judged::Reject(Reject { refusal: Refusal::NotJson(_), .. }) => prop_assert!(!is_json),
            _ => prop_assert!(is_json, "{}", body),
        }
    }
}
