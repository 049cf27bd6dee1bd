//! `completion/complete`: what could follow what was typed. The values are in the tables of prompts and
//! resource templates.

use mcp_http_tokio::ErrorObject;
use serde_json::{Value, json};

use crate::given::Given;
use crate::{prompts, resources};

/// Answers `completion/complete`.
pub(crate) fn complete(params: &Given) -> Result<Value, ErrorObject> {
    let (reference, argument) = (params.object("ref")?, params.object("argument")?);
    let (name, typed) = (argument.text("name")?, argument.text("value")?);
    let offered = match reference.text("type")? {
        "ref/prompt" => prompts::find(reference.text("name")?)?.values(name),
        "ref/resource" => {
            let (variable, values) = resources::find_template(reference.text("uri")?)?.variable;
            (variable == name).then_some(values)
        }
        _ => return Err(ErrorObject::invalid_params("`ref.type` must be `ref/prompt` or `ref/resource`")),
    };
    let Some(offered) = offered else {
        return Err(ErrorObject::invalid_params("`argument.name` is no argument of what `ref` names"));
    };
    let values: Vec<&str> = offered.iter().copied().filter(|value| value.starts_with(typed)).collect();
    Ok(json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::complete;
    use crate::given::Given;

    fn asked(reference: Value, name: &str, value: &str) -> Result<Value, i64> {
        let params = json!({ "ref": reference, "argument": { "name": name, "value": value } });
        complete(&Given::from(params)).map_err(|error| error.code)
    }

    #[test]
    fn offers_what_begins_with_what_was_typed() {
        let prompt = json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" });
        let found = asked(prompt.clone(), "arg1", "test").unwrap();
        assert_eq!(
            found["completion"],
            json!({ "values": ["test", "test value", "testing"], "total": 3, "hasMore": false })
        );
        assert_eq!(asked(prompt.clone(), "arg1", "zz").unwrap()["completion"]["values"], json!([]));
        let template = json!({ "type": "ref/resource", "uri": "test://template/{id}/data" });
        assert_eq!(asked(template, "id", "12").unwrap()["completion"]["values"], json!(["12", "123"]));
        assert_eq!(asked(prompt, "arg3", ""), Err(-32602));
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for reference in [
            json!({}),
            json!({ "type": "ref/tool", "name": "echo" }),
            json!({ "type": "ref/prompt", "name": "nobody" }),
            json!({ "type": "ref/resource", "uri": "test://static-text" }),
        ] {
            assert_eq!(asked(reference, "arg1", ""), Err(-32602));
        }
    }
}
