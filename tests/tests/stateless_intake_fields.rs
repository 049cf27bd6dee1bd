//! Z4: `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` against the body, and the encoded form of a name.
mod intake_support;

use intake_support::Ask;
use intake_support::stateless::{
    VERSION, call, check_admitted, check_admitted_by, check_invalid_params, check_mismatch, list, request,
    servers,
};
use proptest::prelude::*;

/// The methods that have a name, and the parameter it is.
const NAMED: [(&str, &str); 6] = [
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
    ("tasks/get", "taskId"),
    ("tasks/update", "taskId"),
    ("tasks/cancel", "taskId"),
];

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 by RFC 4648, written apart from the code that reads it.
fn base64(text: &[u8]) -> String {
    let mut encoded = String::new();
    for group in text.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for digit in 0..4 {
            let index = usize::try_from(bits >> (18 - 6 * digit) & 0x3f).unwrap();
            encoded.push(if digit > group.len() { '=' } else { char::from(ALPHABET[index]) });
        }
    }
    encoded
}

fn sentinel(text: &str) -> String {
    format!("=?base64?{}?=", base64(text.as_bytes()))
}

/// A `tools/call` of the tool with this name, given as it is, and this line.
fn named(name: &str, field: impl AsRef<[u8]>) -> Ask {
    let name = serde_json::to_string(name).unwrap();
    request("tools/call", &format!(r#""name":{name}"#)).with("mcp-name", field)
}

#[test]
fn z4_the_version_field_must_be_there_and_say_what_the_metadata_says() {
    let with = |lines: &[&str]| {
        let bare = list().without("mcp-protocol-version");
        lines.iter().fold(bare, |ask, line| ask.with("mcp-protocol-version", line))
    };
    for lines in [&[VERSION][..], &[" 2026-07-28\t "], &[VERSION, VERSION], &["\t2026-07-28", VERSION]] {
        let _ = check_admitted(&with(lines));
    }
    check_mismatch(&with(&[]), "MCP-Protocol-Version", "missing");
    for lines in [&["2025-11-25"][..], &["2026-07-29"], &["v999"], &["2026-07-28,2026-07-28"], &["2026-7-28"]]
    {
        check_mismatch(&with(lines), "MCP-Protocol-Version", "differs");
    }
    // It has no encoded form.
    check_mismatch(&with(&[&sentinel(VERSION)]), "MCP-Protocol-Version", "differs");
    for lines in
        [&[""][..], &[" "], &[VERSION, "2025-11-25"], &["2025-11-25", VERSION], &[VERSION, ""], &["\u{e9}"]]
    {
        check_mismatch(&with(lines), "MCP-Protocol-Version", "twice");
    }
}

#[test]
fn z4_the_method_field_must_be_there_and_say_what_the_body_says() {
    let with = |lines: &[&str]| {
        lines.iter().fold(list().without("mcp-method"), |ask, line| ask.with("mcp-method", line))
    };
    for lines in [&["tools/list"][..], &[" \ttools/list\t "], &["tools/list", "tools/list "]] {
        let _ = check_admitted(&with(lines));
    }
    check_mismatch(&with(&[]), "Mcp-Method", "missing");
    for line in [
        "",
        " ",
        "prompts/list",
        "TOOLS/LIST",
        "Tools/list",
        "tools/lis",
        "tools/list2",
        "tools/ list",
        "tools/list,tools/list",
        "\"tools/list\"",
        "tools%2flist",
        "\u{e9}",
    ] {
        check_mismatch(&with(&[line]), "Mcp-Method", "differs");
    }
    // It has no encoded form.
    check_mismatch(&with(&[&sentinel("tools/list")]), "Mcp-Method", "differs");
    for lines in [["tools/list", "prompts/list"], ["prompts/list", "tools/list"], ["tools/list", ""]] {
        check_mismatch(&with(&lines), "Mcp-Method", "twice");
    }
    // A method of the body is compared as it reads, not as it is written.
    let escaped = list()
        .body(String::from_utf8(list().text().to_vec()).unwrap().replace("tools/list", r"tools\/\u006cist"));
    let _ = check_admitted(&escaped);
    // What may not stand in a field can have no equal one.
    check_mismatch(&request("\u{e9}", "").set("mcp-method", "\u{e9}"), "Mcp-Method", "differs");
}

#[test]
fn z4_field_names_have_no_case() {
    for (version, method, name) in [
        ("mcp-protocol-version", "mcp-method", "mcp-name"),
        ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"),
        ("MCP-PROTOCOL-VERSION", "MCP-METHOD", "MCP-NAME"),
    ] {
        let ask = call("t", "{}").without("mcp-protocol-version").without("mcp-method").without("mcp-name");
        let _ = check_admitted(&ask.with(version, VERSION).with(method, "tools/call").with(name, "t"));
    }
}

#[test]
fn z4_the_name_field_must_be_there_and_say_what_the_parameter_says() {
    for (method, parameter) in NAMED {
        let bare = request(method, &format!(r#""{parameter}":"a:b/C","other":{{"{parameter}":"x"}}"#));
        let with = |lines: &[&str]| lines.iter().fold(bare.clone(), |ask, line| ask.with("mcp-name", line));
        for lines in [&["a:b/C"][..], &["\t a:b/C "], &["a:b/C", "a:b/C"], &["a:b/C", " a:b/C"]] {
            let _ = check_admitted(&with(lines));
        }
        check_mismatch(&with(&[]), "Mcp-Name", "missing");
        for line in
            ["", "x", "A:b/C", "a:b/c", "a:b/C2", "a:b", "a:b%2FC", "a:b/C,a:b/C", "a: b/C", "\"a:b/C\""]
        {
            check_mismatch(&with(&[line]), "Mcp-Name", "differs");
        }
        for lines in
            [&["a:b/C", "x"][..], &["x", "a:b/C"], &["a:b/C", ""], &["a:b/C", "a:b/C", "x"], &["\u{e9}"]]
        {
            check_mismatch(&with(lines), "Mcp-Name", "cannot be read");
        }
    }
}

#[test]
fn z4_other_methods_have_no_name_whatever_their_parameters() {
    for method in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "completion/complete",
        "tasks/result",
        "x",
        "Tools/call",
    ] {
        let ask = request(method, r#""name":"a","uri":"b","taskId":"c""#);
        let _ = check_admitted(&ask);
        for line in ["a", "x", "", "=?base64?!?=", "\u{e9}"] {
            let _ = check_admitted(&ask.clone().with("mcp-name", line).with("mcp-name", "y"));
        }
    }
}

#[test]
fn z4_where_the_parameter_is_missing_no_field_is_right_and_it_is_the_parameter_that_is_refused() {
    for (method, parameter) in NAMED {
        for params in [
            String::new(),
            format!(r#""{parameter}":null"#),
            format!(r#""{parameter}":1"#),
            format!(r#""{parameter}":["a"]"#),
            format!(r#""{parameter}":"\ud800""#),
            format!(r#""{parameter}":"a","{parameter}":"a""#),
            format!(r#""{parameter}":"a","{parameter}":"b""#),
            format!(r#""arguments":{{"{parameter}":"a"}}"#),
        ] {
            for ask in [request(method, &params), request(method, &params).with("mcp-name", "a")] {
                check_invalid_params(&ask, &format!("{method} needs params.{parameter}"));
            }
        }
    }
}

#[test]
fn z4_a_name_of_the_body_is_compared_as_it_reads() {
    for (written, field) in [
        (r"get\u005fweather", "get_weather"),
        (r"a\/b", "a/b"),
        (r#"\"a\\b"#, r#""a\b"#),
        (r"\u00e9", "=?base64?w6k=?="),
        ("\u{e9}", "=?base64?w6k=?="),
        (r"\ud83d\ude00", "=?base64?8J+YgA==?="),
        ("", ""),
        ("", "=?base64??="),
    ] {
        let _ =
            check_admitted(&request("tools/call", &format!(r#""name":"{written}""#)).with("mcp-name", field));
    }
    // Composed or not, text is compared octet by octet.
    check_mismatch(&named("e\u{301}", sentinel("\u{e9}")), "Mcp-Name", "differs");
}

#[test]
fn z4_a_name_in_base64_is_decoded_strictly() {
    for (name, field) in [
        ("Hello", "=?base64?SGVsbG8=?="),
        ("Hello, \u{4e16}\u{754c}", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("??>", "=?base64?Pz8+?="),
        ("???", "=?base64?Pz8/?="),
        ("a\0b", "=?base64?YQBi?="),
    ] {
        assert_eq!(sentinel(name), field);
        let _ = check_admitted(&named(name, field));
        let _ = check_admitted(&named(name, format!("\t {field} ")));
    }
    for field in [
        "=?base64?SGVsbG8?=",   // no padding
        "=?base64?SGVsbG8==?=", // too much
        "=?base64?SGVsbG8=====?=",
        "=?base64?SGVs!!!bG8=?=", // not of the alphabet
        "=?base64?SGVs bG8=?=",
        "=?base64? SGVsbG8=?=",
        "=?base64?SGVsbG8= ?=",
        "=?base64?SGVs\tbG8=?=",
        "=?base64?SGVsbG9=?=", // bits that encode nothing
        "=?base64?SGVsbG-_?=", // the other alphabet
        "=?base64?SGVs=bG8?=", // padding inside
        "=?base64?SGVsbA==bG8=?=",
        "=?base64?=GVs?=",
        "=?base64?S=Vs?=",
        "=?base64?SG=s?=",
        "=?base64?SA=A?=",
        "=?base64?A===?=",
        "=?base64?====?=",
        "=?base64?=?=",
        "=?base64?S?=",
        "=?base64?SG?=",
        "=?base64?SGV?=",
        "=?base64?SGVsbG8=?=?=",
        "=?base64?\u{e9}?=",
    ] {
        check_mismatch(&named("Hello", field), "Mcp-Name", "cannot be read");
    }
    // Well-formed, and of another text, or of none.
    for field in [
        "=?base64?aGVsbG8=?=",
        "=?base64?SGVsbG8A?=",
        "=?base64?/w==?=",
        "=?base64?SGVsbG8K?=",
        "=?base64??=",
    ] {
        check_mismatch(&named("Hello", field), "Mcp-Name", "differs");
    }
}

#[test]
fn z4_every_octet_is_a_digit_of_base64_or_is_none() {
    for octet in 0x20..=0x7e_u8 {
        let digit = char::from(octet);
        let group = named("AAA", format!("=?base64?Q{digit}FB?="));
        match ALPHABET.iter().position(|&other| other == octet) {
            Some(20) => drop(check_admitted(&group)),
            Some(_) => check_mismatch(&group, "Mcp-Name", "differs"),
            None => check_mismatch(&group, "Mcp-Name", "cannot be read"),
        }
    }
}

#[test]
fn z4_bits_that_encode_nothing_are_zero() {
    for (name, start, end, unused) in [("A", "Q", "==", 4), ("AA", "QU", "=", 2)] {
        for (bits, &digit) in ALPHABET.iter().enumerate() {
            let field = format!("=?base64?{start}{}{end}?=", char::from(digit));
            let ask = named(name, &field);
            if field == sentinel(name) {
                let _ = check_admitted(&ask);
            } else if bits.trailing_zeros() >= unused {
                check_mismatch(&ask, "Mcp-Name", "differs");
            } else {
                check_mismatch(&ask, "Mcp-Name", "cannot be read");
            }
        }
    }
}

#[test]
fn z4_what_only_looks_encoded_is_literal() {
    for literal in [
        "SGVsbG8=",
        "=?base64?SGVsbG8=",
        "SGVsbG8=?=",
        "=?BASE64?SGVsbG8=?=",
        "=?Base64?SGVsbG8=?=",
        "=?base64 ?SGVsbG8=?=",
        "=?utf-8?b?SGVsbG8=?=",
        "=?base64?=",
        "=?base64?",
        "?=",
        "=?base64?SGVsbG8=? =",
        "x=?base64?SGVsbG8=?=",
        "=?base64?SGVsbG8=?=x",
        "\"=?base64?SGVsbG8=?=\"",
    ] {
        let _ = check_admitted(&named(literal, literal));
        check_mismatch(&named("Hello", literal), "Mcp-Name", "differs");
        let _ = check_admitted(&named(literal, sentinel(literal)));
    }
    // What is a sentinel cannot be had literally.
    check_mismatch(&named("=?base64?SGVsbG8=?=", "=?base64?SGVsbG8=?="), "Mcp-Name", "differs");
}

#[test]
fn z4_only_sp_and_htab_are_stripped_and_only_outside() {
    let _ = check_admitted(&named("a b\tc", "a b\tc"));
    let _ = check_admitted(&named("a b\tc", " \t a b\tc\t"));
    // A name that has them at its ends cannot be had literally.
    check_mismatch(&named(" a", " a"), "Mcp-Name", "differs");
    check_mismatch(&named("a\t", "a\t"), "Mcp-Name", "differs");
    for blank in ["\u{a0}", "\u{85}", "\u{2003}"] {
        check_mismatch(&named("a", format!("{blank}a")), "Mcp-Name", "cannot be read");
    }
}

#[test]
fn z4_octets_that_no_text_may_have_in_a_field_are_refused_even_if_the_body_has_them() {
    for name in ["\u{e9}", "\u{4e16}", "a\u{80}b"] {
        check_mismatch(&named(name, name), "Mcp-Name", "cannot be read");
        let _ = check_admitted(&named(name, sentinel(name)));
    }
    for octet in 0x80..=0xff_u8 {
        check_mismatch(&named("a", [b'a', octet]), "Mcp-Name", "cannot be read");
    }
}

proptest! {
    #[test]
    fn z4_every_name_round_trips_through_the_encoded_form(name in any::<String>(), other in any::<String>()) {
        let [both, ..] = servers();
        let _ = check_admitted_by(&both, &named(&name, sentinel(&name)));
        if name != other {
            check_mismatch(&named(&name, sentinel(&other)), "Mcp-Name", "differs");
        }
    }

    /// Each text has one encoded form: what is not it is refused.
    #[test]
    fn z4_nothing_but_the_encoded_form_stands_for_a_name(name in "[ -~]{0,9}", field in "[A-Za-z0-9+/=]{0,12}") {
        let [both, ..] = servers();
        let ask = named(&name, format!("=?base64?{field}?="));
        let admitted = matches!(ask.judge(&both), intake_support::Judged::Admit(_));
        prop_assert_eq!(admitted, field == base64(name.as_bytes()));
    }
}
