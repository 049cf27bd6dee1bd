//! Z5: `Mcp-Param-*` against the arguments that a tool's schema says they mirror.
mod intake_support;

use intake_support::stateless::{
    call, check_admitted, check_admitted_by, refused_by, status_and_code, with_tools,
};
use intake_support::{Ask, json, message};
use mcp_http_core::intake::Intake;
use mcp_http_core::param_headers::ParamHeaders;
use mcp_http_core::reject::{Refusal, Reject};
use serde_json::json as value;

/// A tool with one mirrored argument of each type, and one that is nested.
fn tools() -> Intake {
    let schema = value!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "at": {"type": "object", "properties": {
            "place": {"type": "object", "properties": {"name": {"type": "string", "x-mcp-header": "Place"}}},
        }},
        "query": {"type": "string"},
    }});
    with_tools(ParamHeaders::new().with_tool("t", &schema).unwrap())
}

#[track_caller]
fn check_ok(arguments: &str, fields: &[(&str, &str)]) {
    let _ = check_admitted_by(&tools(), &with(arguments, fields));
}

/// 400 -32020 about this field.
#[track_caller]
fn check_bad(arguments: &str, fields: &[(&str, &str)], of: &str, says: &str) {
    check_bad_ask(&with(arguments, fields), of, says);
}

#[track_caller]
fn check_bad_ask(ask: &Ask, of: &str, says: &str) {
    let refusal = refused_by(&tools(), ask);
    let Refusal::ParamHeaderMismatch { field, why } = &refusal else { panic!("{ask:?} {refusal:?}") };
    assert_eq!(field, of);
    assert!(why.contains(says), "{ask:?} {why}");
    assert_eq!(status_and_code(refusal), (400, -32020));
}

/// 400 -32602: an argument that no field could mirror.
#[track_caller]
fn check_bad_argument(arguments: &str, fields: &[(&str, &str)], says: &str) {
    let ask = with(arguments, fields);
    let refusal = refused_by(&tools(), &ask);
    assert!(matches!(refusal, Refusal::InvalidParams(why) if why.contains(says)), "{ask:?} {refusal:?}");
    assert_eq!(status_and_code(refusal), (400, -32602));
}

fn with(arguments: &str, fields: &[(&str, &str)]) -> Ask {
    fields.iter().fold(call("t", arguments), |ask, (name, value)| ask.with(name, value))
}

#[test]
fn z5_a_string_must_be_mirrored_exactly() {
    for (argument, field) in [
        (r#""us-west1""#, "us-west1"),
        (r#""us-west1""#, " us-west1\t"),
        (r#""us-west1""#, "=?base64?dXMtd2VzdDE=?="),
        (r#""us\u002dwest1""#, "us-west1"),
        (r#""Hello, 世界""#, "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (r#"" padded ""#, "=?base64?IHBhZGRlZCA=?="),
        (r#""line1\nline2""#, "=?base64?bGluZTEKbGluZTI=?="),
        (r#""=?base64?literal?=""#, "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        (r#""""#, ""),
        (r#""42""#, "42"),
        (r#""true""#, "true"),
        (r#""null""#, "null"),
        // The suite's.
        (r#""Hello""#, "Hello"),
        (r#""Hello""#, "=?base64?SGVsbG8=?="),
        (r#""SGVsbG8=""#, "SGVsbG8="),
        (r#""=?base64?SGVsbG8=""#, "=?base64?SGVsbG8="),
    ] {
        check_ok(&format!(r#"{{"region":{argument}}}"#), &[("mcp-param-region", field)]);
    }
    for (argument, field, says) in [
        (r#""Hello""#, "hello", "differs"),
        (r#""Hello""#, "", "differs"),
        (r#""Hello""#, "\"Hello\"", "differs"),
        (r#""Hello""#, "SGVsbG8=", "differs"),
        (r#""Hello""#, "=?base64?aGVsbG8=?=", "differs"),
        (r#""42""#, "42.0", "differs"),
        (r#"" a""#, " a", "differs"),
        (r#""Hello""#, "=?base64?SGVsbG8?=", "cannot be read"),
        (r#""Hello""#, "=?base64?SGVs!!!bG8=?=", "cannot be read"),
        (r#""é""#, "é", "cannot be read"),
    ] {
        let arguments = format!(r#"{{"region":{argument}}}"#);
        check_bad(&arguments, &[("mcp-param-region", field)], "mcp-param-region", says);
    }
    check_bad(r#"{"region":"test-value"}"#, &[], "mcp-param-region", "missing");
    check_bad(r#"{"region":""}"#, &[], "mcp-param-region", "missing");
}

#[test]
fn z5_integers_are_compared_as_numbers_within_the_safe_range() {
    for (argument, field) in [
        ("42", "42"),
        ("42", "42.0"),
        ("42.0", "42"),
        ("42", "4.2e1"),
        ("4.2E+1", "42.000"),
        ("420e-1", "42"),
        ("-7", "-7"),
        ("0", "-0"),
        ("-0.0", "0e99999999999999999999"),
        ("100", "1e2"),
        ("9007199254740991", "9007199254740991"),
        ("9007199254740991", "9007199254740991.0"),
        ("-9007199254740991", "-9007199254740991"),
        ("42", "=?base64?NDI=?="),
        ("1000", " 1000\t"),
    ] {
        check_ok(&format!(r#"{{"count":{argument}}}"#), &[("mcp-param-count", field)]);
    }
    for (argument, field) in [
        ("42", "43"),
        ("42", "-42"),
        ("42", "42.5"),
        ("42", "42.00000000000000000000000001"),
        ("9007199254740991", "9007199254740990.9999999999"),
        ("9007199254740991", "9007199254740992"),
        ("9007199254740990", "9007199254740991"),
        ("42", ""),
        ("42", "042"),
        ("42", "+42"),
        ("42", "42."),
        ("42", ".42e2"),
        ("42", "0x2a"),
        ("42", "42e"),
        ("42", "42e+"),
        ("42", "4 2"),
        ("42", "42,42"),
        ("42", "\"42\""),
        ("42", "1e99999999999999999999"),
        ("0", "1e-99999999999999999999"),
        ("0", "-"),
    ] {
        let arguments = format!(r#"{{"count":{argument}}}"#);
        check_bad(&arguments, &[("mcp-param-count", field)], "mcp-param-count", "differs");
    }
    for outside in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740992.0",
        "9007199254740993",
        "1e16",
        "1e400",
        "18446744073709551616",
        "1e99999999999999999999",
    ] {
        let arguments = format!(r#"{{"count":{outside}}}"#);
        check_bad_argument(&arguments, &[("mcp-param-count", outside)], "from -9007199254740991 to");
        check_bad_argument(&arguments, &[], "from -9007199254740991 to");
    }
    check_bad(r#"{"count":0}"#, &[], "mcp-param-count", "missing");
}

#[test]
fn z5_booleans_are_true_and_false() {
    for (argument, field) in
        [("true", "true"), ("false", "false"), ("true", "=?base64?dHJ1ZQ==?="), ("false", "\tfalse")]
    {
        check_ok(&format!(r#"{{"dry":{argument}}}"#), &[("mcp-param-dry-run", field)]);
    }
    for (argument, field) in
        [("true", "True"), ("true", "TRUE"), ("true", "1"), ("true", "false"), ("false", ""), ("false", "0")]
    {
        let arguments = format!(r#"{{"dry":{argument}}}"#);
        check_bad(&arguments, &[("mcp-param-dry-run", field)], "mcp-param-dry-run", "differs");
    }
    check_bad(r#"{"dry":false}"#, &[], "mcp-param-dry-run", "missing");
}

#[test]
fn z5_null_or_absent_is_not_mirrored() {
    for arguments in [
        "{}",
        r#"{"region":null}"#,
        r#"{"query":"region"}"#,
        r#"{"Region":"a"}"#,
        r#"{"at":{"region":"a"}}"#,
        "null",
        "[]",
        "1",
        // No text that all clients agree on, so that none can send it; the application says what is wrong.
        r#"{"region":{}}"#,
        r#"{"region":["a"]}"#,
    ] {
        check_ok(arguments, &[]);
        for field in ["", "null", "a", "=?base64?!?="] {
            check_bad(arguments, &[("mcp-param-region", field)], "mcp-param-region", "must be left out");
        }
    }
    let without_arguments =
        intake_support::stateless::request("tools/call", r#""name":"t""#).with("mcp-name", "t");
    let _ = check_admitted_by(&tools(), &without_arguments);
    check_bad_ask(&without_arguments.with("mcp-param-region", "a"), "mcp-param-region", "must be left out");
}

#[test]
fn z5_the_argument_is_the_one_at_the_exact_path() {
    check_ok(r#"{"at":{"place":{"name":"x"}}}"#, &[("mcp-param-place", "x")]);
    check_ok(
        r#"{"\u0061t":{"place":{"name":"x"},"name":"y"},"place":{"name":"z"}}"#,
        &[("mcp-param-place", "x")],
    );
    check_bad(r#"{"at":{"place":{"name":"x"}}}"#, &[], "mcp-param-place", "missing");
    check_bad(r#"{"at":{"place":{"name":"x"}}}"#, &[("mcp-param-place", "y")], "mcp-param-place", "differs");
    for arguments in [
        r#"{"at":{"place":{}}}"#,
        r#"{"at":{"place":null}}"#,
        r#"{"at":{"place":"name"}}"#,
        r#"{"at":{"place":[{"name":"x"}]}}"#,
        r#"{"at":{"name":"x"}}"#,
        r#"{"at":"place"}"#,
        r#"{"name":"x"}"#,
    ] {
        check_ok(arguments, &[]);
        check_bad(arguments, &[("mcp-param-place", "x")], "mcp-param-place", "must be left out");
    }
}

#[test]
fn z5_an_argument_given_twice_is_refused_as_readers_would_disagree() {
    for arguments in [
        r#"{"region":"a","region":"a"}"#,
        r#"{"region":"a","region":"b"}"#,
        r#"{"region":"a","region":null}"#,
        r#"{"region":null,"reg\u0069on":"a"}"#,
    ] {
        check_bad_argument(arguments, &[("mcp-param-region", "a")], "given twice");
        check_bad_argument(arguments, &[], "given twice");
    }
    for arguments in [
        r#"{"at":{"place":{"name":"x"}},"at":{}}"#,
        r#"{"at":{"place":{"name":"x"},"place":1}}"#,
        r#"{"at":{"place":{"name":"x","name":"x"}}}"#,
    ] {
        check_bad_argument(arguments, &[("mcp-param-place", "x")], "given twice");
    }
    check_bad_argument(r#"{},"arguments":{"region":"a"}"#, &[("mcp-param-region", "a")], "given twice");
    // What is not mirrored is the application's.
    check_ok(r#"{"query":1,"query":2,"region":"a"}"#, &[("mcp-param-region", "a")]);
}

#[test]
fn z5_an_argument_that_is_no_text_is_refused() {
    for argument in [r#""\ud800""#, r#""a\udc00""#] {
        for fields in [&[][..], &[("mcp-param-region", "a")]] {
            check_bad_argument(&format!(r#"{{"region":{argument}}}"#), fields, "surrogate");
        }
    }
}

#[test]
fn z5_a_field_may_be_repeated_only_with_the_same_value() {
    let arguments = r#"{"region":"a"}"#;
    check_ok(arguments, &[("mcp-param-region", "a"), ("mcp-param-region", " a ")]);
    for other in ["b", "", "=?base64?YQ==?="] {
        for fields in [
            [("mcp-param-region", "a"), ("mcp-param-region", other)],
            [("mcp-param-region", other), ("mcp-param-region", "a")],
        ] {
            check_bad(arguments, &fields, "mcp-param-region", "one value");
        }
    }
    let lines = [("mcp-param-region", "a"), ("mcp-param-region", "b")];
    check_bad("{}", &lines, "mcp-param-region", "must be left out");
}

#[test]
fn z5_field_names_have_no_case() {
    for name in ["Mcp-Param-Region", "mcp-param-region", "MCP-PARAM-REGION"] {
        check_ok(r#"{"region":"a"}"#, &[(name, "a")]);
        check_bad(r#"{"region":"a"}"#, &[(name, "A")], "mcp-param-region", "differs");
    }
}

#[test]
fn z5_a_value_of_another_type_is_judged_by_its_own_spelling() {
    for (arguments, name, field, other) in [
        (r#"{"count":"42"}"#, "mcp-param-count", "42", "42.0"),
        (r#"{"count":1.5}"#, "mcp-param-count", "1.5", "1.50"),
        (r#"{"count":true}"#, "mcp-param-count", "true", "1"),
        (r#"{"region":42}"#, "mcp-param-region", "42", "42.0"),
        (r#"{"region":false}"#, "mcp-param-region", "false", ""),
        (r#"{"dry":"true"}"#, "mcp-param-dry-run", "true", "True"),
        (r#"{"dry":1}"#, "mcp-param-dry-run", "1", "true"),
    ] {
        check_ok(arguments, &[(name, field)]);
        check_bad(arguments, &[(name, other)], name, "differs");
        check_bad(arguments, &[], name, "missing");
    }
}

#[test]
fn z5_what_is_not_registered_is_not_looked_at() {
    let fields = [
        ("mcp-param-other", "x"),
        ("mcp-param-region", "a"),
        ("mcp-param-", ""),
        ("mcp-param", "=?base64?!?="),
    ];
    check_ok(r#"{"region":"a","other":"y"}"#, &fields);
    let odd = [("mcp-param-region", "x"), ("mcp-param-count", "é"), ("mcp-param-count", "")];
    // Another tool, or the same name of something else.
    for ask in [call("T", r#"{"region":"a"}"#), call("other", "{}")] {
        let ask = odd.iter().fold(ask, |ask, (name, value)| ask.with(name, value));
        let _ = check_admitted_by(&tools(), &ask);
        let _ = check_admitted(&ask);
    }
    let prompt =
        intake_support::stateless::request("prompts/get", r#""name":"t","arguments":{"region":"a"}"#);
    let _ = check_admitted_by(&tools(), &prompt.with("mcp-name", "t"));
    // A judge that knows no tools.
    let _ = check_admitted(
        &odd.iter().fold(call("t", r#"{"region":"a"}"#), |ask, (name, value)| ask.with(name, value)),
    );
}

#[test]
fn z5_the_tool_is_the_one_that_the_body_names() {
    let ask = call("t", r#"{"region":"a"}"#).set("mcp-name", "=?base64?dA==?=");
    check_bad_ask(&ask, "mcp-param-region", "missing");
    let escaped = call("t", "{}").body(
        String::from_utf8(call("t", r#"{"region":"a"}"#).text().to_vec())
            .unwrap()
            .replace(r#""t""#, r#""\u0074""#),
    );
    check_bad_ask(&escaped, "mcp-param-region", "missing");
}

#[test]
fn z5_the_standard_fields_come_first_and_the_refusal_names_the_field() {
    let bad = with(r#"{"region":"a"}"#, &[("mcp-param-region", "b")]);
    assert!(matches!(refused_by(&tools(), &bad.clone().set("mcp-name", "x")), Refusal::HeaderMismatch(_)));
    let reject: Reject = bad.reject(&tools());
    assert_eq!(message(&reject), "mcp-param-region differs from its argument; send the same");
    let body = json(&reject.into_answer());
    assert_eq!((&body["id"], &body["error"]["code"]), (&7.into(), &(-32020).into()));
}

#[test]
fn z5_a_judge_keeps_the_tools_it_had_when_the_head_came() {
    let (old, new) = (tools(), tools().with_params(ParamHeaders::new().into()));
    let ask = call("t", r#"{"region":"a"}"#);
    assert!(matches!(refused_by(&old, &ask), Refusal::ParamHeaderMismatch { .. }));
    let _ = check_admitted_by(&new, &ask);
}
