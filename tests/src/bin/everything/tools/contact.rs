//! The tool whose input schema uses what JSON Schema 2020-12 added. The schema is for clients to read; what it
//! says is checked here by hand.

use serde_json::{Value, json};

use super::{Failure, Outcome};
use crate::content::text;
use crate::given::Given;

const PROPERTIES: [&str; 5] = ["name", "address", "contactMethod", "phone", "email"];

pub(super) fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

pub(super) fn take(given: &Given) -> Outcome {
    if let Some(surplus) = given.names().find(|name| !PROPERTIES.contains(name)) {
        let shown: String = surplus.chars().take(64).collect();
        return Err(Failure::Told(format!("`{shown}` is unknown; known are {}", PROPERTIES.join(", "))));
    }
    let address = given.optional_object("address")?.unwrap_or_default();
    address.optional_text("street")?;
    address.optional_text("city")?;
    let name = given.optional_text("name")?.unwrap_or("somebody");
    given.optional_text("phone")?;
    given.optional_text("email")?;
    let reached_at = match given.optional_text("contactMethod")? {
        Some("phone") => given.text("phone")?,
        Some("email") | None => given.text("email")?,
        Some(_) => return Err(Failure::Told(String::from("`contactMethod` must be `phone` or `email`"))),
    };
    Ok(vec![text(&format!("{name} is reached at {reached_at}."))])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Failure, PROPERTIES, schema, take};

    #[test]
    fn checks_what_the_schema_says() {
        for good in [
            json!({ "email": "a@b.c" }),
            json!({ "email": "a@b.c", "contactMethod": "email", "address": { "city": "X" } }),
            json!({ "name": "N", "phone": "1", "contactMethod": "phone" }),
        ] {
            assert!(take(&good.clone().into()).is_ok(), "{good}");
        }
        for bad in [
            json!({}),
            json!({ "phone": "1" }),
            json!({ "email": "a@b.c", "contactMethod": "phone" }),
            json!({ "email": "a@b.c", "contactMethod": "pigeon" }),
            json!({ "email": "a@b.c", "address": { "city": 1 } }),
            json!({ "email": "a@b.c", "fax": "1" }),
            json!({ "email": 1 }),
        ] {
            assert!(matches!(take(&bad.clone().into()), Err(Failure::Told(_))), "{bad}");
        }
    }

    #[test]
    fn the_schema_and_the_check_know_the_same_properties() {
        let schema = schema();
        let listed = schema["properties"].as_object().unwrap();
        assert_eq!(listed.len(), PROPERTIES.len());
        assert!(PROPERTIES.iter().all(|name| listed.contains_key(*name)));
    }
}
