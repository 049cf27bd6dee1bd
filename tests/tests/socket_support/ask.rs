//! Requests: what they say and how they look on the wire.

use serde_json::{Value, json};

/// One request; every part can be changed, also into what no client should send.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What clients send with a POST.
const BOTH: &str = "application/json, text/event-stream";

impl Ask {
    pub(crate) fn new(method: &str, target: &str) -> Ask {
        let ask = Ask { method: method.into(), target: target.into(), fields: Vec::new(), body: Vec::new() };
        ask.with("host", "127.0.0.1")
    }

    pub(crate) fn post(body: impl AsRef<[u8]>) -> Ask {
        let ask = Ask::new("POST", "/mcp").with("accept", BOTH).with("content-type", "application/json");
        Ask { body: body.as_ref().to_vec(), ..ask }
    }

    /// One more line of this field.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Ask {
        self.fields.push((name.into(), value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Ask {
        self.fields.retain(|(field, _)| field != name);
        self
    }

    /// This value in one line instead of what there was.
    pub(crate) fn set(self, name: &str, value: &str) -> Ask {
        self.without(name).with(name, value)
    }

    pub(crate) fn method(mut self, method: &str) -> Ask {
        self.method = method.into();
        self
    }

    pub(crate) fn target(mut self, target: &str) -> Ask {
        self.target = target.into();
        self
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Ask {
        self.body = body.as_ref().to_vec();
        self
    }

    /// Head and body. The length is written for a body and for a POST, unless the request has its own framing.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut text = self.head_text();
        text.extend_from_slice(&self.body);
        text
    }

    /// The head alone, which announces the body.
    pub(crate) fn head_text(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.fields {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let framed = |name: &str| name == "content-length" || name == "transfer-encoding";
        let own_framing = self.fields.iter().any(|(name, _)| framed(name));
        if !own_framing && (!self.body.is_empty() || self.method == "POST") {
            text.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

/// `initialize` by a client of this name. A test server acts on the name; the demo server does not.
pub(crate) fn initialize_as(name: &str, version: &str) -> Ask {
    let client = json!({ "name": name, "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
    request("0", "initialize", &params)
}

pub(crate) fn initialize() -> Ask {
    initialize_as("test", "2025-06-18")
}

/// A request; the id is written as it is.
pub(crate) fn request(id: &str, method: &str, params: &Value) -> Ask {
    Ask::post(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))
}

pub(crate) fn ping(id: &str) -> Ask {
    request(id, "ping", &json!({}))
}

/// A tool of the demo server.
pub(crate) fn tool(id: &str, name: &str, arguments: &Value) -> Ask {
    request(id, "tools/call", &json!({ "name": name, "arguments": arguments }))
}

/// The same, asking for progress.
pub(crate) fn tool_with_progress(id: &str, name: &str, arguments: &Value) -> Ask {
    let meta = json!({ "progressToken": "token" });
    request(id, "tools/call", &json!({ "name": name, "arguments": arguments, "_meta": meta }))
}

pub(crate) fn notice(method: &str, params: &Value) -> Ask {
    Ask::post(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string())
}

/// The client does not wait for the answer to this request any more; the id is written as it is.
pub(crate) fn cancel(id: &str) -> Ask {
    Ask::post(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    ))
}

pub(crate) fn get() -> Ask {
    Ask::new("GET", "/mcp").with("accept", "text/event-stream")
}

pub(crate) fn delete() -> Ask {
    Ask::new("DELETE", "/mcp")
}
