//! A client that speaks HTTP/2: hyper's, on one connection of any kind.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

const VERSION: &str = "2025-11-25";

/// One connection.
pub(crate) struct Client {
    pub(crate) runtime: Runtime,
    pub(crate) sender: SendRequest<Full<Bytes>>,
    pub(crate) authority: String,
    scheme: &'static str,
    pub(crate) version: &'static str,
    pub(crate) session: Option<String>,
}

/// A response that is read as it comes.
pub(crate) struct Stream {
    response: Response<Incoming>,
    text: String,
    /// What a client would come back with.
    pub(crate) last_id: Option<String>,
}

impl Client {
    /// With prior knowledge.
    pub(crate) fn to(addr: SocketAddr) -> Client {
        Client::over("http", addr, async |tcp| tcp)
    }

    /// Over what `dress` makes of the socket.
    pub(crate) fn over<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
        scheme: &'static str,
        addr: SocketAddr,
        dress: impl AsyncFnOnce(TcpStream) -> S,
    ) -> Client {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let sender = runtime.block_on(async {
            let stream = dress(TcpStream::connect(addr).await.unwrap()).await;
            // What a client takes without reading it is little.
            let mut client = Builder::new(TokioExecutor::new());
            client.initial_stream_window_size(65_535);
            let (sender, connection) = client.handshake(TokioIo::new(stream)).await.unwrap();
            tokio::spawn(connection);
            sender
        });
        Client { runtime, sender, authority: addr.to_string(), scheme, version: VERSION, session: None }
    }

    pub(crate) fn request(
        &self,
        method: &str,
        body: &Value,
        fields: &[(&str, &str)],
    ) -> Request<Full<Bytes>> {
        let uri = format!("{}://{}/mcp", self.scheme, self.authority);
        let mut request =
            Request::builder().method(method).uri(uri).header("mcp-protocol-version", self.version);
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

    pub(crate) fn send(&mut self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let sent = self.sender.send_request(request);
        self.runtime.block_on(sent).unwrap()
    }

    /// The status and the body.
    pub(crate) fn ask(&mut self, method: &str, body: &Value) -> (u16, Value) {
        let request = self.request(method, body, &[]);
        let response = self.send(request);
        let status = response.status().as_u16();
        let body = self.runtime.block_on(response.into_body().collect()).unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    pub(crate) fn open(&mut self) {
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

    pub(crate) fn stream(&mut self, method: &str, body: &Value, fields: &[(&str, &str)]) -> Stream {
        let request = self.request(method, body, fields);
        let response = self.send(request);
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { response, text: String::new(), last_id: None }
    }

    /// The next message; `None` at the proper end.
    pub(crate) fn message(&self, stream: &mut Stream) -> Option<Value> {
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

    pub(crate) fn number(&self, stream: &mut Stream) -> u64 {
        self.message(stream).unwrap()["params"]["number"].as_u64().unwrap()
    }
}

pub(crate) fn call(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}
