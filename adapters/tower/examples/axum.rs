//! An MCP endpoint beside other routes of an axum application, for whoever bears a token.

use std::error::Error;

use axum::Router;
use axum::routing::get;
use http::HeaderValue;
use http::request::Parts;
use mcp_http_tokio::TokioRuntime;
use mcp_http_tower::{
    Access, Call, Config, Denied, ErrorObject, Handler, Initialize, Initialized, Json, McpService, Principal,
};
use serde_json::json;

/// Who bears which token. A real one would look them up, in `Access::later`.
const TOKENS: [(&str, &str); 2] = [("alices-secret", "alice"), ("bobs-secret", "bob")];

struct WhoAmI;

impl Handler for WhoAmI {
    /// Sessions belong to who opened them: to anybody else their ids mean nothing.
    fn authorize(&self, head: &Parts) -> Access {
        let field = head.headers.get("authorization").and_then(|value| value.to_str().ok());
        let token = field.and_then(|value| value.strip_prefix("Bearer "));
        match TOKENS.iter().find(|(known, _)| token == Some(known)) {
            Some((_, name)) => Access::principal(Principal(name.as_bytes().into())),
            None => Access::denied(Denied::Challenge(HeaderValue::from_static("Bearer"))),
        }
    }

    async fn initialize(&self, _: Initialize) -> Result<Initialized, ErrorObject> {
        Ok(Initialized::new("who-am-i", "1.0").with("tools", json!({})))
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        match call.method() {
            "ping" => Ok(Json::EMPTY_OBJECT),
            "tools/list" => {
                Ok(json!({ "tools": [{ "name": "who_am_i", "inputSchema": { "type": "object" } }] }).into())
            }
            "tools/call" => {
                let name = call.principal().map(|who| String::from_utf8_lossy(&who.0).into_owned());
                Ok(json!({ "content": [{ "type": "text", "text": name }] }).into())
            }
            other => Err(ErrorObject::method_not_found(other)),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mcp = McpService::new(WhoAmI, Config::default(), TokioRuntime)?;
    let app =
        Router::new().route("/", get(|| async { "the endpoint is /api/mcp" })).nest_service("/api", mcp);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    axum::serve(listener, app).await?;
    Ok(())
}
