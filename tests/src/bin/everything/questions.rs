//! What is asked of a client, and what it answers. How questions travel is the business of `rounds`.

use mcp_http_tokio::ErrorObject;
use serde_json::{Map, Value, json};

use crate::client::Capability;
use crate::given::Given;
use crate::outcome::Failure;

/// An answer that the server keeps.
const KEPT_BYTES_MAX: usize = 4096;

/// One question. It is asked under a key, and answered under the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// What the client must be able to do, to be asked this.
    pub(crate) capability: Capability,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// The results that the client gave, by the keys of their questions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answers(Map<String, Value>);

impl Question {
    /// A form for the user. `fields` holds a schema for each.
    pub(crate) fn form(message: &str, fields: Value, required: &[&str]) -> Question {
        let schema = json!({ "type": "object", "properties": fields, "required": required });
        Question {
            capability: Capability::Elicitation,
            method: "elicitation/create",
            params: json!({ "message": message, "requestedSchema": schema }),
        }
    }

    /// A prompt for the model.
    pub(crate) fn sample(prompt: &str, tokens_max: u32) -> Question {
        let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
        Question {
            capability: Capability::Sampling,
            method: "sampling/createMessage",
            params: json!({ "messages": [message], "maxTokens": tokens_max }),
        }
    }

    /// The question as a client reads it.
    pub(crate) fn request(&self) -> Value {
        json!({ "method": self.method, "params": self.params })
    }

    /// The places where the client's user works.
    pub(crate) fn roots() -> Question {
        Question { capability: Capability::Roots, method: "roots/list", params: json!({}) }
    }
}

impl Answers {
    pub(crate) fn insert(&mut self, key: &str, result: Value) {
        self.0.insert(key.to_owned(), result);
    }

    /// Takes over those of `others` whose key is `wanted`.
    pub(crate) fn extend(&mut self, others: Answers, wanted: impl Fn(&str) -> bool) {
        self.0.extend(others.0.into_iter().filter(|(key, _)| wanted(key)));
    }

    pub(crate) fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The result as it came; `None` before it came.
    pub(crate) fn whole(&self, key: &str) -> Result<Option<Given>, Failure> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(Given::from(Value::Object(members.clone())))),
            Some(_) => Err(misshapen(key, "must be an object")),
        }
    }

    /// Refuses an answer that is too large to be kept.
    pub(crate) fn check_size(&self, key: &str) -> Result<(), ErrorObject> {
        if self.0.get(key).is_none_or(|result| result.to_string().len() <= KEPT_BYTES_MAX) {
            return Ok(());
        }
        let why = format!("the answer to `{key}` is larger than {KEPT_BYTES_MAX} bytes");
        Err(ErrorObject::invalid_params(why))
    }

    /// What the user filled in. One who did not want to is not asked again.
    pub(crate) fn form(&self, key: &str) -> Result<Option<Given>, Failure> {
        let Some(result) = self.whole(key)? else { return Ok(None) };
        match result.text("action") {
            Ok("accept") => Ok(Some(result.optional_object("content")?.unwrap_or_default())),
            Ok(action @ ("decline" | "cancel")) => {
                Err(Failure::Told(format!("the user did not answer `{key}`: {action}")))
            }
            Ok(_) | Err(_) => Err(misshapen(key, "must have an `action`: accept, decline or cancel")),
        }
    }

    /// The roots' URIs.
    pub(crate) fn roots(&self, key: &str) -> Result<Option<Vec<String>>, Failure> {
        let Some(result) = self.whole(key)? else { return Ok(None) };
        let roots = result.list("roots").map(|roots| roots.iter().map(|root| root["uri"].as_str()));
        let uris = roots.and_then(|uris| uris.map(|uri| uri.map(String::from)).collect::<Option<_>>());
        uris.map(Some).ok_or_else(|| misshapen(key, "must have `roots`, each with a `uri`"))
    }

    /// What the model wrote.
    pub(crate) fn sampled(&self, key: &str) -> Result<Option<String>, Failure> {
        let Some(message) = self.whole(key)? else { return Ok(None) };
        // One block of content, or since 2025-11-25 a list of them.
        let block = message.optional_object("content").ok().flatten().map(Given::into_members);
        let one = block.map(|members| vec![Value::Object(members)]);
        let blocks = one.as_deref().or_else(|| message.list("content")).unwrap_or_default();
        let text = blocks.iter().find_map(|block| block["text"].as_str());
        text.map(|text| Some(text.to_owned())).ok_or_else(|| misshapen(key, "has no text as its content"))
    }
}

impl From<Map<String, Value>> for Answers {
    fn from(results: Map<String, Value>) -> Answers {
        Answers(results)
    }
}

impl From<Answers> for Value {
    fn from(answers: Answers) -> Value {
        Value::Object(answers.0)
    }
}

fn misshapen(key: &str, what: &str) -> Failure {
    Failure::Refused(ErrorObject::invalid_params(format!("the answer to `{key}` {what}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Answers, Failure};

    fn answered(result: Value) -> Answers {
        let mut answers = Answers::default();
        answers.insert("a", result);
        answers
    }

    fn refused<T>(outcome: Result<T, Failure>) -> bool {
        matches!(outcome, Err(Failure::Refused(error)) if error.code == -32602 && error.message.contains("`a`"))
    }

    #[test]
    fn what_was_not_answered_is_open() {
        let none = Answers::default();
        assert!(matches!(none.whole("a"), Ok(None)));
        assert!(matches!(none.form("a"), Ok(None)));
        assert!(matches!(none.sampled("a"), Ok(None)));
        assert!(matches!(none.roots("a"), Ok(None)));
    }

    #[test]
    fn a_form_is_filled_in_or_it_is_not() {
        let form = |result| answered(result).form("a");
        let filled = form(json!({ "action": "accept", "content": { "n": "x" } })).unwrap().unwrap();
        assert_eq!(filled.text("n"), Ok("x"));
        assert!(matches!(form(json!({ "action": "accept" })), Ok(Some(_))));
        for action in ["decline", "cancel"] {
            let declined = form(json!({ "action": action }));
            assert!(matches!(declined, Err(Failure::Told(why)) if why.contains(action)));
        }
        for wrong in [json!({}), json!({ "action": "x" }), json!(12345), json!(null), json!([])] {
            assert!(refused(form(wrong)));
        }
    }

    #[test]
    fn what_the_model_wrote_is_a_text() {
        let sampled = |result| answered(result).sampled("a");
        let text = json!({ "role": "assistant", "content": { "type": "text", "text": "yes" }, "model": "m" });
        assert!(matches!(sampled(text), Ok(Some(text)) if text == "yes"));
        let blocks = json!({ "content": [{ "type": "image" }, { "type": "text", "text": "yes" }] });
        assert!(matches!(sampled(blocks), Ok(Some(text)) if text == "yes"));
        for wrong in
            [json!({}), json!({ "content": { "type": "image" } }), json!({ "content": [] }), json!(1)]
        {
            assert!(refused(sampled(wrong)));
        }
    }

    #[test]
    fn roots_have_uris() {
        let roots = |result| answered(result).roots("a");
        let two = json!({ "roots": [{ "uri": "file:///a", "name": "A" }, { "uri": "file:///b" }] });
        assert!(matches!(roots(two), Ok(Some(uris)) if uris == ["file:///a", "file:///b"]));
        assert!(matches!(roots(json!({ "roots": [] })), Ok(Some(uris)) if uris.is_empty()));
        for wrong in [json!({}), json!({ "roots": [{}] }), json!({ "roots": ["x"] }), json!({ "roots": {} })]
        {
            assert!(refused(roots(wrong)));
        }
    }
}
