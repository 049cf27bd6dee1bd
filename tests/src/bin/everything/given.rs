//! What a client gave: the members of one JSON object, read one by one with a message a person can use.
//! Not a schema validator.

use std::fmt;

use mcp_http_tokio::{Call, ErrorObject};
use serde_json::{Map, Value};

/// A text that the server keeps.
const SHORT_BYTES_MAX: usize = 256;

/// The members of `params`, or of `arguments` within. Absent and `null` are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(Map<String, Value>);

/// A member that is missing or not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit(pub(crate) String);

impl Given {
    /// The parameters of `call`.
    pub(crate) fn params(call: &Call) -> Result<Given, ErrorObject> {
        match call.params::<Value>()? {
            Value::Object(members) => Ok(Given(members)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(ErrorObject::invalid_params("params must be an object"))
            }
        }
    }

    /// The members of the object `name`, which must be there.
    pub(crate) fn object(&self, name: &str) -> Result<Given, Misfit> {
        self.optional_object(name)?.ok_or_else(|| missing(name, "an object"))
    }

    /// The members of the object `name`, if there is one.
    pub(crate) fn optional_object(&self, name: &str) -> Result<Option<Given>, Misfit> {
        match self.member(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(Given(members.clone()))),
            Some(_) => Err(wrong(name, "an object")),
        }
    }

    /// The string `name`, which must be there.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Misfit> {
        self.optional_text(name)?.ok_or_else(|| missing(name, "a string"))
    }

    /// The string `name`, which must be there and short enough to be kept.
    pub(crate) fn short_text(&self, name: &str) -> Result<&str, Misfit> {
        let text = self.text(name)?;
        if text.len() > SHORT_BYTES_MAX {
            return Err(wrong(name, &format!("a string of at most {SHORT_BYTES_MAX} bytes")));
        }
        Ok(text)
    }

    /// The string `name`, if there is one.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&str>, Misfit> {
        match self.member(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(name, "a string")),
        }
    }

    /// The boolean `name`, which must be there.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Misfit> {
        let expected = "true or false";
        let value = self.member(name).ok_or_else(|| missing(name, expected))?;
        value.as_bool().ok_or_else(|| wrong(name, expected))
    }

    /// The whole number `name` within `range`, or `default` if it is absent.
    pub(crate) fn count(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<u32>,
        default: u32,
    ) -> Result<u32, Misfit> {
        let Some(value) = self.member(name) else { return Ok(default) };
        let expected = || wrong(name, &format!("a whole number from {} to {}", range.start(), range.end()));
        let number = value.as_f64().filter(|number| number.fract() == 0.0).ok_or_else(expected)?;
        if number < f64::from(*range.start()) || number > f64::from(*range.end()) {
            return Err(expected());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and within u32")]
        Ok(number as u32)
    }

    /// The elements of the array `name`; `None` if it is not one.
    pub(crate) fn list(&self, name: &str) -> Option<&[Value]> {
        self.member(name)?.as_array().map(Vec::as_slice)
    }

    /// All members.
    pub(crate) fn into_members(self) -> Map<String, Value> {
        self.0
    }

    /// The members' names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether `name` is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }

    fn member(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }
}

fn missing(name: &str, expected: &str) -> Misfit {
    Misfit(format!("`{name}` is missing; it must be {expected}"))
}

fn wrong(name: &str, expected: &str) -> Misfit {
    Misfit(format!("`{name}` must be {expected}"))
}

/// A list has one page, so no cursor was ever given out.
pub(crate) fn no_cursor(params: &Given) -> Result<(), ErrorObject> {
    if params.has("cursor") {
        return Err(ErrorObject::invalid_params("`cursor` is not one that this server gave out"));
    }
    Ok(())
}

/// As JSON.
impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Value::Object(self.0.clone()).fmt(f)
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Misfit> for ErrorObject {
    fn from(misfit: Misfit) -> ErrorObject {
        ErrorObject::invalid_params(misfit.0)
    }
}

impl From<Value> for Given {
    fn from(value: Value) -> Given {
        match value {
            Value::Object(members) => Given(members),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Given::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Given, Misfit};

    #[test]
    fn null_is_absent() {
        let given = Given::from(json!({ "a": null }));
        assert!(!given.has("a"));
        assert_eq!(given.optional_text("a"), Ok(None));
        assert_eq!(given.text("a"), Err(Misfit("`a` is missing; it must be a string".into())));
        assert!(given.optional_object("a").is_ok_and(|object| object.is_none()));
        assert_eq!(given.object("a").unwrap_err(), Misfit("`a` is missing; it must be an object".into()));
    }

    #[test]
    fn a_short_text_has_its_limit() {
        let given = |length| Given::from(json!({ "a": "x".repeat(length) }));
        assert!(given(256).short_text("a").is_ok());
        assert_eq!(
            given(257).short_text("a"),
            Err(Misfit("`a` must be a string of at most 256 bytes".into()))
        );
    }

    #[test]
    fn a_count_is_whole_and_within_its_range() {
        let count = |value| Given::from(json!({ "n": value })).count("n", 1..=10, 4);
        assert_eq!(Given::default().count("n", 1..=10, 4), Ok(4));
        for (value, number) in [(json!(1), 1), (json!(10), 10), (json!(3.0), 3), (json!(null), 4)] {
            assert_eq!(count(value), Ok(number));
        }
        for value in [json!(0), json!(11), json!(-1), json!(2.5), json!(1e300), json!("3"), json!([])] {
            assert_eq!(count(value), Err(Misfit("`n` must be a whole number from 1 to 10".into())));
        }
    }
}
