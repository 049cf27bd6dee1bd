//! The resources: two tables, of resources and of templates, from which listing, reading, subscribing and
//! completion read. Who subscribed is known to the session.

use mcp_http_tokio::{ErrorObject, code};
use serde_json::{Value, json};

use crate::content::PNG;
use crate::given::Given;

/// One resource.
struct Resource {
    uri: &'static str,
    name: &'static str,
    description: &'static str,
    mime_type: &'static str,
    body: Body,
}

enum Body {
    Text(&'static str),
    /// In base64.
    Blob(&'static str),
}

/// Resources that differ in one part of their URI, which is neither empty nor holds a slash.
pub(crate) struct Template {
    pub(crate) uri: &'static str,
    name: &'static str,
    description: &'static str,
    mime_type: &'static str,
    /// What stands before the variable part and after it.
    around: (&'static str, &'static str),
    /// The variable's name, and what completion offers for it.
    pub(crate) variable: (&'static str, &'static [&'static str]),
    body: fn(&str) -> Value,
}

static RESOURCES: [Resource; 3] = [
    Resource {
        uri: "test://static-text",
        name: "static-text",
        description: "A text that never changes.",
        mime_type: "text/plain",
        body: Body::Text("This is the content of the static text resource."),
    },
    Resource {
        uri: "test://static-binary",
        name: "static-binary",
        description: "An image that never changes.",
        mime_type: "image/png",
        body: Body::Blob(PNG),
    },
    Resource {
        uri: "test://watched-resource",
        name: "watched-resource",
        description: "A text to subscribe to.",
        mime_type: "text/plain",
        body: Body::Text("This is the content of the watched resource."),
    },
];

static TEMPLATES: [Template; 1] = [Template {
    uri: "test://template/{id}/data",
    name: "template-data",
    description: "Data for an id of your choice.",
    mime_type: "application/json",
    around: ("test://template/", "/data"),
    variable: ("id", &["1", "12", "123", "2"]),
    body: |id| json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }),
}];

/// Answers `resources/list`.
pub(crate) fn list() -> Value {
    let resources: Vec<Value> = RESOURCES.iter().map(Resource::listed).collect();
    json!({ "resources": resources })
}

/// Answers `resources/templates/list`.
pub(crate) fn list_templates() -> Value {
    let templates: Vec<Value> = TEMPLATES.iter().map(Template::listed).collect();
    json!({ "resourceTemplates": templates })
}

/// Answers `resources/read`, in the stateless era or before it.
pub(crate) fn read(params: &Given, stateless: bool) -> Result<Value, ErrorObject> {
    let uri = params.text("uri")?;
    let listed = RESOURCES.iter().find(|resource| resource.uri == uri).map(Resource::contents);
    let contents = listed.or_else(|| TEMPLATES.iter().find_map(|template| template.contents(uri)));
    match contents {
        Some(contents) => Ok(json!({ "contents": [contents] })),
        None if stateless => Err(not_found(uri, code::INVALID_PARAMS)),
        None => Err(not_found(uri, code::RESOURCE_NOT_FOUND)),
    }
}

/// The resource that `resources/subscribe` or `resources/unsubscribe` names. Only listed ones can be watched,
/// so a session's subscriptions are bounded by the table.
pub(crate) fn watched(params: &Given) -> Result<&'static str, ErrorObject> {
    let uri = params.text("uri")?;
    RESOURCES.iter().find(|resource| resource.uri == uri).map(|resource| resource.uri).ok_or_else(|| {
        if TEMPLATES.iter().any(|template| template.contents(uri).is_some()) {
            ErrorObject::invalid_params(
                "resources of a template never change, so they cannot be subscribed to",
            )
        } else {
            not_found(uri, code::RESOURCE_NOT_FOUND)
        }
    })
}

/// The template whose `uriTemplate` is `uri`.
pub(crate) fn find_template(uri: &str) -> Result<&'static Template, ErrorObject> {
    TEMPLATES.iter().find(|template| template.uri == uri).ok_or_else(|| {
        ErrorObject::invalid_params("`ref` names no template; `resources/templates/list` names them all")
    })
}

fn not_found(uri: &str, code: i64) -> ErrorObject {
    ErrorObject::new(code, "resource not found; `resources/list` names those there are")
        .with_data(json!({ "uri": uri }))
}

impl Resource {
    fn listed(&self) -> Value {
        json!({
            "uri": self.uri,
            "name": self.name,
            "description": self.description,
            "mimeType": self.mime_type,
        })
    }

    fn contents(&self) -> Value {
        match self.body {
            Body::Text(text) => json!({ "uri": self.uri, "mimeType": self.mime_type, "text": text }),
            Body::Blob(blob) => json!({ "uri": self.uri, "mimeType": self.mime_type, "blob": blob }),
        }
    }
}

impl Template {
    fn listed(&self) -> Value {
        json!({
            "uriTemplate": self.uri,
            "name": self.name,
            "description": self.description,
            "mimeType": self.mime_type,
        })
    }

    fn contents(&self, uri: &str) -> Option<Value> {
        let (before, after) = self.around;
        let part = uri.strip_prefix(before)?.strip_suffix(after)?;
        if part.is_empty() || part.contains('/') {
            return None;
        }
        let text = (self.body)(part).to_string();
        Some(json!({ "uri": uri, "mimeType": self.mime_type, "text": text }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::{RESOURCES, TEMPLATES, read, watched};
    use crate::given::Given;

    fn uri(uri: &str) -> Given {
        Given::from(json!({ "uri": uri }))
    }

    #[test]
    fn every_listed_resource_can_be_read_and_watched() {
        let uris: BTreeSet<&str> = RESOURCES.iter().map(|resource| resource.uri).collect();
        assert_eq!(uris.len(), RESOURCES.len());
        for listed in uris {
            let result = read(&uri(listed), false).unwrap();
            let contents = &result["contents"][0];
            assert_eq!(contents["uri"], listed);
            assert!(contents["mimeType"].is_string());
            assert!(contents["text"].is_string() || contents["blob"].is_string());
            assert_eq!(watched(&uri(listed)), Ok(listed));
        }
    }

    #[test]
    fn a_template_is_its_two_ends_around_its_variable() {
        for template in &TEMPLATES {
            let (before, after) = template.around;
            assert_eq!(template.uri, format!("{before}{{{}}}{after}", template.variable.0));
        }
    }

    #[test]
    fn a_template_gives_json_that_holds_the_id() {
        let result = read(&uri("test://template/a\"b/data"), false).unwrap();
        let text = result["contents"][0]["text"].as_str().unwrap();
        let data: Value = serde_json::from_str(text).unwrap();
        assert_eq!(data["id"], "a\"b");
        assert_eq!(watched(&uri("test://template/1/data")).unwrap_err().code, -32602);
    }

    #[test]
    fn anything_else_is_not_found_and_named() {
        for unknown in
            ["test://x", "", "test://template//data", "test://template/1/2/data", "test://template/data"]
        {
            for (stateless, code) in [(false, -32002), (true, -32602)] {
                let refused = read(&uri(unknown), stateless).unwrap_err();
                assert_eq!(refused.code, code, "{unknown}");
                assert_eq!(refused.data, Some(json!({ "uri": unknown }).into()));
            }
            assert_eq!(watched(&uri(unknown)).unwrap_err().code, -32002, "{unknown}");
        }
    }
}
