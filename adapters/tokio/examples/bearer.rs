//! Who is asking: a bearer token for each principal, and one session a second for each address.
//!
//! A request without a token, or with one that nobody has, gets 401 with a challenge before its body is read.
//! A session belongs to the principal that opened it: to everybody else its id is unknown.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use http::HeaderValue;
use http::header::AUTHORIZATION;
use http::request::Parts;
use mcp_http_tokio::{
    Access, Call, Config, Denied, ErrorObject, Handler, Initialize, Initialized, Json, Principal, ServeError,
    Server,
};
use serde_json::json;
use tokio::time::Instant;

struct WhoAmI {
    /// Token to name. A real server verifies a signed token instead, or asks who issued it with
    /// `Access::later`.
    tokens: BTreeMap<&'static str, &'static str>,
    /// When each address last opened a session. A real server also forgets.
    opened: Mutex<BTreeMap<String, Instant>>,
}

impl Handler for WhoAmI {
    fn authorize(&self, head: &Parts) -> Access {
        let field = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = field.and_then(|value| value.strip_prefix("Bearer "));
        match token.and_then(|token| self.tokens.get(token)) {
            Some(name) => Access::principal(Principal(name.as_bytes().into())),
            None => Access::denied(Denied::Challenge(HeaderValue::from_static("Bearer realm=\"who-am-i\""))),
        }
    }

    fn may_open_session(&self, peer: Option<&str>, _: &Parts, _: Option<&Principal>) -> bool {
        let address = peer.and_then(|peer| peer.rsplit_once(':')).map(|(address, _)| address.to_owned());
        let Some(address) = address else { return true };
        let Ok(mut opened) = self.opened.lock() else { return false };
        let last = opened.insert(address, Instant::now());
        last.is_none_or(|last| last.elapsed() >= Duration::from_secs(1))
    }

    async fn initialize(&self, _: Initialize) -> Result<Initialized, ErrorObject> {
        Ok(Initialized::new("who-am-i", "1.0").with("tools", json!({})))
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        let name = call.principal().map(|who| String::from_utf8_lossy(&who.0).into_owned());
        match call.method() {
            "tools/list" => {
                Ok(json!({ "tools": [{ "name": "whoami", "inputSchema": { "type": "object" } }] }).into())
            }
            "tools/call" => {
                Ok(json!({ "content": [{ "type": "text", "text": name.unwrap_or_default() }] }).into())
            }
            other => Err(ErrorObject::method_not_found(other)),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let tokens = BTreeMap::from([("alices-token", "alice"), ("bobs-token", "bob")]);
    let who_am_i = WhoAmI { tokens, opened: Mutex::default() };
    Server::bind("127.0.0.1:8000", Config::default()).await?.serve(who_am_i).await
}
