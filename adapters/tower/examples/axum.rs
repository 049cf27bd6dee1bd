//! An MCP endpoint beside other routes of an axum application, behind a layer that knows who bears which token.

use std::error::Error;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{Method, StatusCode};
use mcp_http_tokio::TokioRuntime;
use mcp_http_tower::{
    Call, Config, ErrorObject, Handler, Initialize, Initialized, Json, McpService, Principal,
};
use serde_json::json;

/// A real layer would look them up.
const TOKENS: [(&str, &str); 2] = [("alices-secret", "alice"), ("bobs-secret", "bob")];

/// Puts a [`Principal`] into the request, which is then who it is from. Sessions belong to who opened them: to
/// anybody else their ids mean nothing.
async fn authenticate(mut request: Request, next: Next) -> Response {
    // A browser asks without a token whether it may send one; that is answered without asking anybody.
    if request.method() == Method::OPTIONS {
        return next.run(request).await;
    }
    let field = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = field.and_then(|value| value.strip_prefix("Bearer "));
    let Some((_, name)) = TOKENS.iter().find(|(known, _)| token == Some(known)) else {
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]).into_response();
    };
    request.extensions_mut().insert(Principal(name.as_bytes().into()));
    next.run(request).await
}

struct WhoAmI;

impl Handler for WhoAmI {
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
    let app = Router::new()
        .nest_service("/api", mcp)
        .layer(from_fn(authenticate))
        .route("/", get(|| async { "the endpoint is /api/mcp" }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    axum::serve(listener, app).await?;
    Ok(())
}
