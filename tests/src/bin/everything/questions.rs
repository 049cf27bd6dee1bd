//! What is asked of a client, and what it answers. How questions travel is the business of `rounds`.

use mcp_http_tokio::ErrorObject;
use serde_json::{Map, Value, json};

use crate::client::Capability;
use crate::given::Given;
use crate::outcome::Failure;

/// One question. It is asked under a key, and answered under the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// What the client must be able to do, to be asked this.
    pub(crate) capability: Capability,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// The results that the client gave, by the keys of their questions.
#[derive(Clone, Debug, Default)]
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
}

impl Answers {
    pub(crate) fn insert(&mut self, key: &str, result: Value) {
        self.0.insert(key.to_owned(), result);
    }

    /// The result as it came; `None` before it came.
    pub(crate) fn whole(&self, key: &str) -> Result<Option<Given>, Failure> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(Given::from(Value::Object(members.clone())))),
            Some(_) => Err(misshapen(key, "must be an object")),
        }
    }

    /// What the model wrote.
    pub(crate) fn sampled(&self, key: &str) -> Result<Option<String>, Failure> {
        let Some(message) = self.whole(key)? else { return Ok(None) };
        let content = message.optional_object("content").ok().flatten();
        let text = content.as_ref().and_then(|content| content.text("text").ok());
        text.map(|text| Some(text.to_owned())).ok_or_else(|| misshapen(key, "has no text as its content"))
    }
}

fn misshapen(key: &str, what: &str) -> Failure {
    Failure::Refused(ErrorObject::invalid_params(format!("the answer to `{key}` {what}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Answers, Failure};

    #[test]
    fn what_the_model_wrote_is_a_text() {
        let sampled = |result| {
            let mut answers = Answers::default();
            answers.insert("a", result);
            answers.sampled("a")
        };
        assert!(matches!(Answers::default().sampled("a"), Ok(None)));
        let text = json!({ "role": "assistant", "content": { "type": "text", "text": "yes" }, "model": "m" });
        assert!(matches!(sampled(text), Ok(Some(text)) if text == "yes"));
        for wrong in [json!({}), json!({ "content": { "type": "image" } }), json!(1), json!(null)] {
            assert!(matches!(sampled(wrong), Err(Failure::Refused(error)) if error.code == -32602));
        }
    }
}
