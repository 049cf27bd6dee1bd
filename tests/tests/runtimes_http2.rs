//! HTTP/2 through the tower service, by hyper's client with prior knowledge: whole sessions on one connection, and
//! on the next when it breaks.

mod differential_support;
mod runtimes_support;
mod socket_support;

use http_body_util::BodyExt;
use mcp_http_tests::serving::Which;
use serde_json::{Value, json};

use differential_support::Tested;
use differential_support::server::Server;
use runtimes_support::http2::{Client, call};

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

/// The connection breaks, and with it all streams on it: the session stays, and each is come back to on the next.
#[test]
fn a_connection_that_breaks() {
    let server = Server::start(Which::Axum, |_| ());
    let mut client = Client::to(server.addr);
    client.open();
    let mut listening = client.stream("GET", &Value::Null, &[]);
    let mut counting = client.stream("POST", &call(1, "counts", &json!({ "to": 6, "gate": "a" })), &[]);
    server.notify(1, 1);
    assert_eq!(client.number(&mut listening), 1);
    assert_eq!([1, 2, 3], [(); 3].map(|()| client.number(&mut counting)));
    let last = [&listening, &counting].map(|stream| stream.last_id.clone().unwrap());
    let session = client.session.clone();
    drop((listening, counting, client));

    server.notify(1, 2);
    server.open("a");
    server.until("done 1 counts", 1);
    let mut client = Client::to(server.addr);
    client.session = session;
    let [mut listening, mut counting] =
        last.map(|last| client.stream("GET", &Value::Null, &[("last-event-id", &last)]));
    assert_eq!(client.number(&mut listening), 2);
    assert_eq!([4, 5, 6], [(); 3].map(|()| client.number(&mut counting)));
    assert_eq!(client.message(&mut counting).unwrap()["result"], json!({ "counted": 6 }));
    assert_eq!(client.message(&mut counting), None);
    server.notify(1, 3);
    assert_eq!(client.number(&mut listening), 3);
    assert_eq!(client.ask("DELETE", &Value::Null).0, 204);
    assert_eq!(client.message(&mut listening), None);
    server.stop();
}

/// R13: where there is no session, a reset of the stream cancels its call, and no other on the connection.
#[test]
fn a_stream_that_is_reset() {
    let server = Server::start(Which::Axum, |_| ());
    let mut client = Client::to(server.addr);
    client.version = "2026-07-28";
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": client.version,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut stream = |id, method, params: Value| {
        let mut params = params;
        params["_meta"] = meta.clone();
        client.stream("POST", &call(id, method, &params), &[("mcp-method", method)])
    };
    let reset = stream(1, "waits", json!({ "notes": true }));
    let mut other = stream(2, "counts", json!({ "to": 2, "gate": "a" }));
    drop(reset);
    server.until("cancelled 1", 1);
    server.open("a");
    assert_eq!([1, 2], [(); 2].map(|()| client.number(&mut other)));
    assert_eq!(client.message(&mut other).unwrap()["result"], json!({ "counted": 2 }));
    server.stop();
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
