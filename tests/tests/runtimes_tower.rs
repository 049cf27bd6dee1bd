//! The tower service among other layers: mounted under a prefix, behind one that says who is asking, behind
//! compression; and with a peer that reads nothing.

mod socket_support;

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use mcp_http_tokio::{
    Call, Config, ErrorObject, Handler, Initialize, Initialized, Json, Principal, TokioRuntime,
};
use mcp_http_tower::{McpService, Service};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower_http::compression::CompressionLayer;

use socket_support::ask::{Ask, get, initialize, request};
use socket_support::sse::Stream;
use socket_support::wait::until;
use socket_support::wire::Wire;

/// Answers who is asking, and with what an outer layer left.
struct Probe;

/// What the outer layer leaves.
#[derive(Clone)]
struct Left(&'static str);

impl Handler for Probe {
    async fn initialize(&self, _: Initialize) -> Result<Initialized, ErrorObject> {
        Ok(Initialized::new("probe", "1"))
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        let who = call.principal().map(|who| String::from_utf8_lossy(&who.0).into_owned());
        let left = call.head().extensions.get::<Left>().map(|left| left.0);
        match call.method() {
            "flood" => loop {
                let text = json!({ "text": "x".repeat(10_000) });
                let sent = call.notify("notifications/flood", Some(text.into())).await;
                sent.map_err(|error| ErrorObject::internal(error.to_string()))?;
            },
            "long" => Ok(json!({ "text": "x".repeat(10_000) }).into()),
            "counts" => {
                for number in 1..=3 {
                    let number = json!({ "number": number });
                    let sent = call.notify("notifications/count", Some(number.into())).await;
                    sent.map_err(|error| ErrorObject::internal(error.to_string()))?;
                }
                Ok(Json::EMPTY_OBJECT)
            }
            _ => Ok(json!({ "who": who, "left": left }).into()),
        }
    }
}

struct Server {
    addr: SocketAddr,
    service: Service<Probe, TokioRuntime>,
    runtime: Runtime,
}

fn serve(configure: fn(&mut Config), mount: fn(McpService<Probe, TokioRuntime>) -> Router) -> Server {
    let mut config = Config::default();
    configure(&mut config);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (addr, service) = runtime.block_on(async {
        let mcp = McpService::new(Probe, config, TokioRuntime).unwrap();
        let service = mcp.service().clone();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(axum::serve(listener, mount(mcp)).into_future());
        (addr, service)
    });
    Server { addr, service, runtime }
}

/// Opens a session there; returns the request with its id.
fn in_session(addr: SocketAddr, target: &str, ask: Ask) -> Ask {
    let answer = Wire::to(addr).ask(&initialize().target(target));
    assert_eq!(answer.status(), 200, "{target}: {answer:?}");
    ask.target(target).with("mcp-session-id", answer.session_id().unwrap())
}

#[test]
fn mounted_under_a_prefix() {
    let nested = serve(|_| (), |mcp| Router::new().nest_service("/mcp", mcp));
    let deeper = serve(|_| (), |mcp| Router::new().nest_service("/api/v1", mcp));
    let routed = serve(|_| (), |mcp| Router::new().route_service("/mcp", mcp));
    let elsewhere = serve(|config| config.path = "/x".into(), |mcp| Router::new().nest_service("/a", mcp));
    for (server, targets) in [
        (nested, &["/mcp", "/mcp/", "/mcp?a=b"][..]),
        (deeper, &["/api/v1", "/api/v1/", "/api/v1/mcp", "/api/v1/mcp/"]),
        (routed, &["/mcp"]),
        (elsewhere, &["/a", "/a/x", "/a/x/"]),
    ] {
        for target in targets {
            let answer =
                Wire::to(server.addr).ask(&in_session(server.addr, target, request("1", "who", &json!({}))));
            assert_eq!(answer.status(), 200, "{target}");
        }
        assert_eq!(Wire::to(server.addr).ask(&initialize().target("/other")).status(), 404);
    }
}

#[test]
fn what_outer_layers_say_reaches_the_handler() {
    async fn layer(mut request: Request, next: Next) -> axum::response::Response {
        request.extensions_mut().insert(Principal(bytes::Bytes::from_static(b"alice")));
        request.extensions_mut().insert(Left("here"));
        next.run(request).await
    }
    let server = serve(|_| (), |mcp| Router::new().fallback_service(mcp).layer(from_fn(layer)));
    let answer = Wire::to(server.addr).ask(&in_session(server.addr, "/mcp", request("1", "who", &json!({}))));
    assert_eq!(answer.result(), json!({ "who": "alice", "left": "here" }));
}

/// Answers may be compressed; event streams are left alone, and come at once.
#[test]
fn behind_compression() {
    let server = serve(|_| (), |mcp| Router::new().fallback_service(mcp).layer(CompressionLayer::new()));
    let gzip = |ask: Ask| ask.with("accept-encoding", "gzip");
    let ask = in_session(server.addr, "/mcp", request("1", "counts", &json!({})));
    let mut stream = Wire::to(server.addr).open(&gzip(ask));
    assert_eq!(stream.head.field("content-encoding"), None);
    assert_eq!(stream.messages().len(), 4);
    let mut wire = Wire::to(server.addr);
    wire.send(gzip(in_session(server.addr, "/mcp", get())).bytes());
    let head = wire.head().unwrap();
    assert_eq!(head.field("content-encoding"), None);
    drop(Stream::new(wire, head));
    let long = in_session(server.addr, "/mcp", request("1", "long", &json!({})));
    assert_eq!(Wire::to(server.addr).ask(&gzip(long)).field("content-encoding"), Some("gzip"));
}

/// A peer that reads nothing is given up, whatever its stack does: its call is told, and nothing is left.
#[test]
fn nobody_reads() {
    let server = serve(
        |config| config.write_stall = Duration::from_millis(100),
        |mcp| Router::new().fallback_service(mcp),
    );
    let ask = request("1", "flood", &stateless()).with("mcp-method", "flood");
    let mut wire = Wire::narrow(server.addr);
    wire.send(ask.with("mcp-protocol-version", "2026-07-28").bytes());
    wire.head().unwrap();
    until("the call is let go of", || server.service.stats().endpoints, |now| now.calls == 0);
    assert_eq!(server.service.stats().endpoints.exchanges, 0);
    drop(wire);
    until("the exchange is over", || server.service.stats().connections, |open| *open == 0);
    server.runtime.block_on(server.service.shutdown());
}

fn stateless() -> Value {
    json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    } })
}
