//! HTTP/2 through the tower service, by hyper's client with prior knowledge: whole sessions on one connection.

mod differential_support;
mod socket_support;

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_http_tests::serving::Which;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use differential_support::server::Server;

const VERSION: &str = "2025-11-25";

/// One connection.
struct Client {
    runtime: Runtime,
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    session: Option<String>,
}

/// A response that is read as it comes.
struct Stream {
    response: Response<Incoming>,
    text: String,
    last_id: Option<String>,
}

impl Client {
    fn to(addr: SocketAddr) -> Client {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let sender = runtime.block_on(async {
            let tcp = TokioIo::new(TcpStream::connect(addr).await.unwrap());
            // What a client takes without reading it is little.
            let mut client = Builder::new(TokioExecutor::new());
            client.initial_stream_window_size(65_535);
            let (sender, connection) = client.handshake(tcp).await.unwrap();
            tokio::spawn(connection);
            sender
        });
        Client { runtime, sender, authority: addr.to_string(), session: None }
    }

    fn request(&self, method: &str, body: &Value, fields: &[(&str, &str)]) -> Request<Full<Bytes>> {
        let uri = format!("http://{}/mcp", self.authority);
        let mut request = Request::builder().method(method).uri(uri).header("mcp-protocol-version", VERSION);
        if method == "POST" {
            request = request.header("accept", "application/json, text/event-stream");
            request = request.header("content-type", "application/json");
        } else {
            request = request.header("accept", "text/event-stream");
        }
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        request.body(Full::new(body)).unwrap()
    }

    fn send(&mut self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let sent = self.sender.send_request(request);
        self.runtime.block_on(sent).unwrap()
    }

    /// The status and the body.
    fn ask(&mut self, method: &str, body: &Value) -> (u16, Value) {
        let request = self.request(method, body, &[]);
        let response = self.send(request);
        let status = response.status().as_u16();
        let body = self.runtime.block_on(response.into_body().collect()).unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    fn open(&mut self) {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client });
        let request = self.request("POST", &call(0, "initialize", &params), &[]);
        let response = self.send(request);
        assert_eq!(response.status(), 200);
        self.session = Some(response.headers()["mcp-session-id"].to_str().unwrap().to_owned());
        let body = self.runtime.block_on(response.into_body().collect()).unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["result"]["protocolVersion"], VERSION);
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.ask("POST", &initialized).0, 202);
    }

    fn stream(&mut self, method: &str, body: &Value, fields: &[(&str, &str)]) -> Stream {
        let request = self.request(method, body, fields);
        let response = self.send(request);
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { response, text: String::new(), last_id: None }
    }

    /// The next message; `None` at the proper end.
    fn message(&self, stream: &mut Stream) -> Option<Value> {
        loop {
            if let Some(end) = stream.text.find("\n\n") {
                let event: String = stream.text.drain(..end + 2).collect();
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                stream.last_id = field("id: ").map(str::to_owned).or(stream.last_id.take());
                match field("data: ").filter(|data| !data.is_empty()) {
                    Some(data) => return Some(serde_json::from_str(data).unwrap()),
                    None => continue,
                }
            }
            let frame = self.runtime.block_on(stream.response.frame())?.unwrap();
            stream.text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    }

    fn number(&self, stream: &mut Stream) -> u64 {
        self.message(stream).unwrap()["params"]["number"].as_u64().unwrap()
    }
}

fn call(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[test]
fn a_session_with_a_stream_that_is_come_back_to() {
    let server = Server::start(Which::Axum, |_| ());
    let mut client = Client::to(server.addr);
    client.open();
    let (status, answer) = client.ask("POST", &call(1, "echo", &json!({ "text": "hello" })));
    assert_eq!((status, &answer["result"]["text"]), (200, &json!("hello")));

    let counts = call(2, "counts", &json!({ "to": 6, "gate": "a" }));
    let mut stream = client.stream("POST", &counts, &[]);
    assert_eq!([1, 2], [(); 2].map(|()| client.number(&mut stream)));
    let last = stream.last_id.clone().unwrap();
    // The stream is reset; the connection stays.
    drop(stream);
    let mut stream = client.stream("GET", &Value::Null, &[("last-event-id", &last)]);
    assert_eq!(client.number(&mut stream), 3);
    server.lab.open("a");
    assert_eq!([4, 5, 6], [(); 3].map(|()| client.number(&mut stream)));
    assert_eq!(client.message(&mut stream).unwrap()["result"], json!({ "counted": 6 }));
    assert_eq!(client.message(&mut stream), None);

    assert_eq!(client.ask("DELETE", &Value::Null).0, 204);
    assert_eq!(client.ask("POST", &call(3, "ping", &json!({}))).0, 404);
    let log = server.stop().handler;
    let lives = ["created s1", "committed s1", "ended s1 Deleted"];
    let life: Vec<&String> = log.iter().filter(|line| lives.contains(&line.as_str())).collect();
    assert_eq!(life, lives, "{log:?}");
}

/// I1: `:authority` is the host.
#[test]
fn the_authority_is_judged() {
    let server = Server::start(Which::Axum, |_| ());
    let mut client = Client::to(server.addr);
    client.authority = String::from("evil.example");
    assert_eq!(client.ask("POST", &call(1, "initialize", &json!({}))).0, 421);
    client.authority = format!("localhost:{}", server.addr.port());
    client.open();
    server.stop();
}

/// Many calls at the same time on one connection, answered in another order than they were asked.
#[test]
fn calls_side_by_side() {
    const CALLS: u64 = 40;
    let server = Server::start(Which::Axum, |_| ());
    let mut client = Client::to(server.addr);
    client.open();
    let asked: Vec<(u64, _)> = (1..=CALLS)
        .map(|id| {
            let echo = call(id, "echo", &json!({ "gate": format!("gate {id}"), "number": id }));
            let request = client.request("POST", &echo, &[]);
            (id, client.runtime.spawn(client.sender.send_request(request)))
        })
        .collect();
    for (id, asked) in asked.into_iter().rev() {
        server.lab.open(&format!("gate {id}"));
        let response = client.runtime.block_on(asked).unwrap().unwrap();
        let body = client.runtime.block_on(response.into_body().collect()).unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&body["id"], &body["result"]["number"]), (&json!(id), &json!(id)));
    }
    server.stop();
}

/// A stream that nobody reads makes its sender wait, and nobody else; nothing of it is lost.
#[test]
fn a_slow_reader() {
    // More than all buffers on the way take.
    const NOTES: u64 = 20_000;
    let server = Server::start(Which::Axum, |_| ());
    let mut client = Client::to(server.addr);
    client.open();
    let mut slow = client.stream("POST", &call(1, "counts", &json!({ "to": NOTES })), &[]);
    for id in 2..20 {
        assert_eq!(client.ask("POST", &call(id, "ping", &json!({}))).0, 200);
    }
    let done = String::from("done 1 counts");
    assert!(!server.lab.log().contains(&done), "the sender did not wait");
    for number in 1..=NOTES {
        assert_eq!(client.number(&mut slow), number);
    }
    assert_eq!(client.message(&mut slow).unwrap()["result"], json!({ "counted": NOTES }));
    assert_eq!(client.message(&mut slow), None);
    server.stop();
}
