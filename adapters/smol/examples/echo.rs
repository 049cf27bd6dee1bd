//! A whole server: one tool, `echo`.

use mcp_http_smol::{Call, Config, ErrorObject, Handler, Initialize, Initialized, Json, ServeError, Server};
use serde_json::{Value, json};

struct Echo;

impl Handler for Echo {
    async fn initialize(&self, _: Initialize) -> Result<Initialized, ErrorObject> {
        Ok(Initialized::new("echo", "1.0").with("tools", json!({})))
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        match call.method() {
            "ping" => Ok(Json::EMPTY_OBJECT),
            "tools/list" => {
                Ok(json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] }).into())
            }
            "tools/call" => {
                let text = call.params::<Value>()?["arguments"].to_string();
                Ok(json!({ "content": [{ "type": "text", "text": text }] }).into())
            }
            other => Err(ErrorObject::method_not_found(other)),
        }
    }
}

fn main() -> Result<(), ServeError> {
    smol::block_on(async { Server::bind("127.0.0.1:8000", Config::default()).await?.serve(Echo).await })
}
