//! The tower service among other layers: mounted under a prefix, behind one that says who is asking, behind
//! compression and a limit; with bodies of any kind, and with a peer that reads nothing.

mod socket_support;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn, map_request};
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Frame};
use mcp_http_tokio::{
    Call, Config, ErrorObject, Handler, Initialize, Initialized, Json, Principal, TokioRuntime,
};
use mcp_http_tower::{McpService, Service};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower_http::compression::CompressionLayer;
use tower_service::Service as _;

use socket_support::ask::{Ask, delete, get, initialize, request};
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
    let whole = serve(|_| (), |mcp| Router::new().fallback_service(mcp));
    let elsewhere = serve(|config| config.path = "/x".into(), |mcp| Router::new().nest_service("/a", mcp));
    let root = serve(|config| config.path = "/".into(), |mcp| Router::new().fallback_service(mcp));
    for (server, targets) in [
        (nested, &["/mcp", "/mcp/", "/mcp?a=b"][..]),
        (deeper, &["/api/v1", "/api/v1/", "/api/v1/mcp", "/api/v1/mcp/"]),
        (routed, &["/mcp"]),
        (whole, &["/mcp", "/mcp/", "/mcp/?a=b"]),
        (elsewhere, &["/a", "/a/x", "/a/x/"]),
        (root, &["/", "/?a=b"]),
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
        request.extensions_mut().insert(Principal(Bytes::from_static(b"alice")));
        request.extensions_mut().insert(Left("here"));
        next.run(request).await
    }
    let server = serve(|_| (), |mcp| Router::new().fallback_service(mcp).layer(from_fn(layer)));
    let answer = Wire::to(server.addr).ask(&in_session(server.addr, "/mcp", request("1", "who", &json!({}))));
    assert_eq!(answer.result(), json!({ "who": "alice", "left": "here" }));
}

/// S6: a session belongs to whom the outer layer named when it was opened.
#[test]
fn principals_of_outer_layers_own_their_sessions() {
    async fn layer(mut request: Request, next: Next) -> axum::response::Response {
        if let Some(user) = request.headers().get("x-user").cloned() {
            request.extensions_mut().insert(Principal(Bytes::copy_from_slice(user.as_bytes())));
        }
        next.run(request).await
    }
    let server = serve(|_| (), |mcp| Router::new().nest_service("/mcp", mcp).layer(from_fn(layer)));
    let opened = Wire::to(server.addr).ask(&initialize().with("x-user", "alice"));
    let own = |ask: Ask| ask.with("mcp-session-id", opened.session_id().unwrap());
    for (user, status) in [(Some("alice"), 200), (Some("bob"), 404), (None, 404), (Some("alice"), 200)] {
        let mut who = own(request("1", "who", &json!({})));
        who = user.into_iter().fold(who, |ask, user| ask.with("x-user", user));
        assert_eq!(Wire::to(server.addr).ask(&who).status(), status, "{user:?}");
    }
    assert_eq!(Wire::to(server.addr).ask(&own(delete()).with("x-user", "bob")).status(), 404);
    assert_eq!(Wire::to(server.addr).ask(&own(delete()).with("x-user", "alice")).status(), 204);
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

/// An outer layer's own limit cuts the body short: it is refused like any body that is, and nothing is left.
#[test]
fn behind_a_limit() {
    let server = serve(
        |_| (),
        |mcp| {
            let limit = map_request(async |request: Request| {
                request.map(|body| axum::body::Body::new(Limited::new(body, 100)))
            });
            Router::new().fallback_service(mcp).layer(limit)
        },
    );
    assert!(initialize().body.len() > 100);
    let answer = Wire::to(server.addr).ask(&initialize());
    assert_eq!((answer.status(), answer.session_id()), (400, None), "{answer:?}");
    let stats = server.service.stats();
    assert_eq!((stats.endpoints.total.created, stats.endpoints.buffered_bytes), (0, 0));
    assert_eq!(stats.refusals, BTreeMap::from([("http", 1)]));
}

/// A body, piece by piece, as a stack or a layer may give it.
struct Pieces(VecDeque<Result<Frame<Bytes>, &'static str>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        Poll::Ready(self.0.pop_front().inspect(|piece| {
            assert_ne!(piece.as_ref().err(), Some(&"untouched"), "more was read than had to be");
        }))
    }
}

/// What the service itself answers, without any stack.
fn direct(
    mcp: &mut McpService<Probe, TokioRuntime>,
    ask: &Ask,
    pieces: Vec<Result<Frame<Bytes>, &'static str>>,
) -> (u16, Option<String>, Value) {
    let mut request = http::Request::builder().method(ask.method.as_str()).uri(&ask.target);
    for (name, value) in &ask.fields {
        request = request.header(name, value);
    }
    let request = request.body(Pieces(pieces.into())).unwrap();
    smol::block_on(async {
        let Ok(response) = mcp.call(request).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let id = head.headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        (head.status.as_u16(), id, serde_json::from_slice(&body).unwrap_or(Value::Null))
    })
}

#[test]
fn bodies_come_in_any_pieces() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = runtime.enter();
    let config = || {
        let mut config = Config::default();
        config.body_bytes_max = 200;
        config
    };
    let mut mcp = McpService::new(Probe, config(), TokioRuntime).unwrap();
    let data = |bytes: &[u8]| Ok(Frame::data(Bytes::copy_from_slice(bytes)));
    let body = initialize().body;

    // Octet by octet, with nothing in between and trailers behind.
    let mut pieces: Vec<_> = body.chunks(1).flat_map(|byte| [data(byte), data(b"")]).collect();
    pieces.push(Ok(Frame::trailers(HeaderMap::new())));
    let (status, session, _) = direct(&mut mcp, &initialize(), pieces);
    assert!(status == 200 && session.is_some());

    // L1: counted as it comes, and not read further.
    let pieces = vec![data(&[b' '; 150]), data(&[b' '; 51]), Err("untouched")];
    let (status, session, _) = direct(&mut mcp, &initialize(), pieces);
    assert_eq!((status, session), (413, None));
    // Announced: not read at all. Nor is that of a head that is refused.
    let announced = initialize().with("content-length", "201");
    assert_eq!(direct(&mut mcp, &announced, vec![Err("untouched")]).0, 413);
    assert_eq!(direct(&mut mcp, &initialize().set("host", "evil.example"), vec![Err("untouched")]).0, 421);
    // Cut short.
    let (status, session, answer) = direct(&mut mcp, &initialize(), vec![data(&body[..20]), Err("lost")]);
    assert_eq!((status, session, answer["error"]["code"].is_i64()), (400, None, true));

    let stats = mcp.service().stats();
    assert_eq!((stats.endpoints.total.created, stats.endpoints.buffered_bytes, stats.connections), (1, 0, 0));
}

fn stateless() -> Value {
    json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    } })
}
