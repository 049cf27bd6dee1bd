//! Z5: which input schemas can be registered, and what is derived from them.

use mcp_http_core::param_headers::{ParamHeader, ParamHeaderError, ParamHeaders, ParamType};
use proptest::prelude::*;
use serde_json::{Value, json};

fn derive(schema: &Value) -> Result<Vec<(String, Vec<String>, ParamType)>, ParamHeaderError> {
    let tools = ParamHeaders::new().with_tool("t", schema)?;
    Ok(tools.tool("t").iter().map(shown).collect())
}

fn shown(header: &ParamHeader) -> (String, Vec<String>, ParamType) {
    let path = header.path().iter().map(|step| step.to_string()).collect();
    (header.field().to_string(), path, header.kind())
}

/// A schema with one property, this one.
fn property(schema: Value) -> Value {
    json!({"type": "object", "properties": {"p": schema}})
}

fn annotated() -> Value {
    json!({"type": "string", "x-mcp-header": "X"})
}

#[track_caller]
fn check_unreachable(schema: &Value, at: &str) {
    assert_eq!(derive(schema), Err(ParamHeaderError::Unreachable { at: at.into() }), "{schema}");
}

#[test]
fn z5_annotated_properties_are_found_with_path_and_type() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "description": "d", "x-mcp-header": "Region"},
        "n": {"type": "integer", "minimum": 0, "x-mcp-header": "n.1"},
        "b": {"type": "boolean", "x-mcp-header": "B_~"},
        "at": {"properties": {"place": {"type": "object", "properties": {"a/b": {"type": "string", "x-mcp-header": "Place"}}}}},
        "plain": {"type": "number"},
    }, "required": ["region"]});
    let mut derived = derive(&schema).unwrap();
    derived.sort_by(|a, b| a.0.cmp(&b.0));
    let of = |field: &str, path: &[&str], kind| {
        (field.to_string(), path.iter().map(|step| step.to_string()).collect::<Vec<_>>(), kind)
    };
    assert_eq!(
        derived,
        [
            of("mcp-param-b_~", &["b"], ParamType::Boolean),
            of("mcp-param-n.1", &["n"], ParamType::Integer),
            of("mcp-param-place", &["at", "place", "a/b"], ParamType::String),
            of("mcp-param-region", &["region"], ParamType::String),
        ]
    );
}

#[test]
fn z5_a_schema_without_annotations_mirrors_nothing() {
    for schema in [
        json!({}),
        json!(true),
        json!(null),
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        json!({"type": "object", "properties": true}),
        json!({"properties": {"x-mcp-header-": {"X-Mcp-Header": "A"}}}),
    ] {
        assert_eq!(derive(&schema), Ok(vec![]), "{schema}");
    }
    assert!(ParamHeaders::new().with_tool("t", &json!({})).unwrap().is_empty());
    assert_eq!(ParamHeaders::new().tool("t"), []);
}

#[test]
fn z5_an_annotation_must_be_a_token() {
    for octet in 0..=0x7f_u8 {
        let is_tchar = octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&octet);
        let name = char::from(octet).to_string();
        let derived = derive(&property(json!({"type": "string", "x-mcp-header": name})));
        assert_eq!(derived.is_ok(), is_tchar, "{name:?}");
    }
    for value in [
        json!(""),
        json!(" "),
        json!("a b"),
        json!("a:"),
        json!("a\r\nb"),
        json!("a\0"),
        json!("é"),
        json!(" a"),
        json!(null),
        json!(1),
        json!(true),
        json!(["A"]),
        json!({"name": "A"}),
        json!("a".repeat(100_000)),
    ] {
        let derived = derive(&property(json!({"type": "string", "x-mcp-header": value})));
        let error = ParamHeaderError::BadName { at: "#/properties/p".into(), value };
        assert_eq!(derived, Err(error));
    }
}

#[test]
fn z5_only_strings_integers_and_booleans_can_be_mirrored() {
    for kind in [
        json!("number"),
        json!("object"),
        json!("array"),
        json!("null"),
        json!("String"),
        json!(null),
        json!(["string"]),
        json!(["string", "null"]),
        json!({}),
        json!(""),
    ] {
        let derived = derive(&property(json!({"type": kind, "x-mcp-header": "A"})));
        assert_eq!(derived, Err(ParamHeaderError::BadType { at: "#/properties/p".into() }), "{kind}");
    }
    for without in [
        json!({"x-mcp-header": "A"}),
        json!({"enum": ["a"], "x-mcp-header": "A"}),
        json!({"$ref": "#/$defs/s", "x-mcp-header": "A"}),
    ] {
        assert!(matches!(derive(&property(without)), Err(ParamHeaderError::BadType { .. })));
    }
    for kind in ["string", "integer", "boolean"] {
        assert_eq!(derive(&property(json!({"type": kind, "x-mcp-header": "A"}))).unwrap().len(), 1);
    }
}

#[test]
fn z5_names_must_differ_in_more_than_case() {
    for (one, other) in [("A", "A"), ("A", "a"), ("Tenant-Id", "tENANT-iD")] {
        for other_schema in [
            json!({"type": "integer", "x-mcp-header": other}),
            json!({"type": "object", "properties": {"c": {"type": "string", "x-mcp-header": other}}}),
        ] {
            let schema =
                json!({"properties": {"a": {"type": "string", "x-mcp-header": one}, "b": other_schema}});
            let Err(ParamHeaderError::SameName { at, name, first }) = derive(&schema) else {
                panic!("{schema}")
            };
            assert!(at.starts_with("#/properties/b"), "{at}");
            assert_eq!((name.as_str(), first.as_str()), (other, "#/properties/a"));
        }
    }
    let differ = json!({"properties": {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "A-"}}});
    assert_eq!(derive(&differ).unwrap().len(), 2);
}

#[test]
fn z5_an_annotation_that_is_not_reached_through_properties_alone_is_refused() {
    check_unreachable(&annotated(), "#");
    for keyword in [
        "items",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
        "extends",
        "x-vendor",
    ] {
        check_unreachable(&property(json!({keyword: annotated()})), &format!("#/properties/p/{keyword}"));
        check_unreachable(&json!({keyword: property(annotated())}), &format!("#/{keyword}/properties/p"));
    }
    for keyword in ["allOf", "anyOf", "oneOf", "prefixItems", "items"] {
        check_unreachable(
            &property(json!({keyword: [{}, annotated()]})),
            &format!("#/properties/p/{keyword}/1"),
        );
        check_unreachable(&json!({keyword: [property(annotated())]}), &format!("#/{keyword}/0/properties/p"));
    }
    for keyword in ["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"] {
        check_unreachable(&json!({keyword: {"a~/b": annotated()}}), &format!("#/{keyword}/a~0~1b"));
        check_unreachable(
            &json!({keyword: {"a": property(annotated())}}),
            &format!("#/{keyword}/a/properties/p"),
        );
    }
    // Through a reference, the annotation stands where it refers to.
    check_unreachable(
        &json!({"properties": {"p": {"$ref": "#/$defs/s"}}, "$defs": {"s": annotated()}}),
        "#/$defs/s",
    );
    check_unreachable(&json!([annotated()]), "#/0");
    check_unreachable(&property(json!([annotated()])), "#/properties/p/0");
}

#[test]
fn z5_what_is_data_or_a_name_is_no_annotation() {
    for keyword in ["const", "default", "enum", "examples"] {
        assert_eq!(derive(&property(json!({keyword: [annotated()]}))), Ok(vec![]), "{keyword}");
        assert_eq!(derive(&property(json!({keyword: annotated()}))), Ok(vec![]), "{keyword}");
    }
    for keyword in
        ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]
    {
        assert_eq!(derive(&json!({keyword: {"x-mcp-header": {"type": "string"}}})), Ok(vec![]), "{keyword}");
    }
    assert_eq!(derive(&json!({"dependentRequired": {"x-mcp-header": ["a"]}})), Ok(vec![]));
    // Properties may be called like keywords.
    let schema = json!({"properties": {"items": annotated(), "default": {"properties": {"if": {"type": "string", "x-mcp-header": "Y"}}}}});
    assert_eq!(derive(&schema).unwrap().len(), 2);
    // Data of an annotated property.
    let schema =
        property(json!({"type": "string", "x-mcp-header": "X", "default": "x-mcp-header", "enum": ["a"]}));
    assert_eq!(derive(&schema).unwrap().len(), 1);
}

#[test]
fn z5_a_tool_can_be_replaced_and_a_refused_one_changes_nothing() {
    let mut tools = ParamHeaders::new().with_tool("t", &property(annotated())).unwrap();
    tools = tools.with_tool("u", &property(json!({"type": "integer", "x-mcp-header": "X"}))).unwrap();
    let before = tools.clone();
    assert!(tools.set_tool("t", &annotated()).is_err());
    assert_eq!(tools, before);
    tools.set_tool("t", &json!({})).unwrap();
    assert_eq!((tools.tool("t").len(), tools.tool("u").len()), (0, 1));
    assert!(!tools.is_empty());
}

#[test]
fn z5_a_refusal_says_where_and_what_would_be_right() {
    let error = |schema: &Value| derive(schema).unwrap_err().to_string();
    assert_eq!(
        error(&property(json!({"type": "string", "x-mcp-header": "a b"}))),
        "`x-mcp-header` at #/properties/p is \"a b\"; it must be a string that is a token, as field names are"
    );
    assert!(error(&property(json!({"type": "number", "x-mcp-header": "A"}))).contains("\"integer\""));
    assert!(error(&annotated()).starts_with("`x-mcp-header` at # belongs to no argument"));
    let twice = json!({"properties": {"a": annotated(), "b": annotated()}});
    assert!(error(&twice).contains("at #/properties/b is \"X\" as at #/properties/a"));
}

proptest! {
    #[test]
    fn z5_random_schemas_never_panic(text in r#"[{}\[\]",:]|"properties"|"x-mcp-header"|"type"|"string"|"items"|"a"|1"#, depth in 0..100_usize) {
        let nested = (0..depth).fold(annotated(), |schema, at| {
            if at % 7 == 6 { json!({text.clone(): schema}) } else { property(schema) }
        });
        let _ = derive(&nested);
    }
}
