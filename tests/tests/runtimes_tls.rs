//! Servers behind TLS, as applications build them: the driver over any stream that reads and writes, on tokio and on
//! smol, and the tower service over hyper, where client and server agree on the version of HTTP. What clients and
//! handlers see is what they see without TLS.

mod differential_support;
mod runtimes_support;
mod socket_support;

use differential_support::{Scenario, Tested, calls, compare_with, sessions, stateless, streams};
use runtimes_support::http2::call;
use runtimes_support::tls::{on_hyper, on_smol, on_tokio};
use serde_json::{Value, json};
use socket_support::ask::initialize;
use socket_support::wire::{Lost, Wire};

const SCENARIOS: [&[Scenario]; 4] = [sessions::ALL, calls::ALL, streams::ALL, stateless::ALL];

#[test]
fn tokio_behind_tls() {
    SCENARIOS.iter().for_each(|some| compare_with("tokio", some, |configure| Box::new(on_tokio(configure))));
}

#[test]
fn smol_behind_tls() {
    SCENARIOS.iter().for_each(|some| compare_with("smol", some, |configure| Box::new(on_smol(configure))));
}

#[test]
fn tower_behind_tls_with_http1() {
    SCENARIOS.iter().for_each(|some| compare_with("tower", some, |configure| Box::new(on_hyper(configure))));
}

/// The same port serves HTTP/2 to who offers it: a session with a stream that breaks and is come back to.
#[test]
fn tower_behind_tls_with_http2() {
    let server = on_hyper(|_| ());
    let mut client = server.connect_http2();
    client.open();
    let mut counting = client.stream("POST", &call(1, "counts", &json!({ "to": 4, "gate": "a" })), &[]);
    assert_eq!([1, 2], [(); 2].map(|()| client.number(&mut counting)));
    let (last, session) = (counting.last_id.clone().unwrap(), client.session.clone());
    drop((counting, client));

    let mut client = server.connect_http2();
    client.session = session;
    let mut counting = client.stream("GET", &Value::Null, &[("last-event-id", &last)]);
    server.open("a");
    assert_eq!([3, 4], [(); 2].map(|()| client.number(&mut counting)));
    assert_eq!(client.message(&mut counting).unwrap()["result"], json!({ "counted": 4 }));
    assert_eq!(client.message(&mut counting), None);
    assert_eq!(client.ask("DELETE", &Value::Null).0, 204);
    assert_eq!(client.ask("POST", &call(2, "ping", &json!({}))).0, 404);
    let lives = ["created s1", "committed s1", "ended s1 Deleted"];
    let log = Tested::stop(Box::new(server)).handler;
    let life: Vec<&String> = log.iter().filter(|line| lives.contains(&line.as_str())).collect();
    assert_eq!(life, lives, "{log:?}");
}

/// Who would rather speak HTTP/2 gets HTTP/1.1 where there is nothing else.
#[test]
fn the_own_stack_speaks_http1_only() {
    for (server, mut wire) in [
        {
            let server = on_tokio(|_| ());
            let wire = server.connect_with_http2_in_vain();
            (Box::new(server) as Box<dyn Tested>, wire)
        },
        {
            let server = on_smol(|_| ());
            let wire = server.connect_with_http2_in_vain();
            (Box::new(server) as Box<dyn Tested>, wire)
        },
    ] {
        assert_eq!(wire.ask(&initialize()).status(), 200);
        drop(wire);
        server.stop();
    }
}

/// A peer that speaks no TLS is let go, and costs the server no connection.
#[test]
fn a_peer_without_tls() {
    let server = on_tokio(|_| ());
    let mut wire = Wire::to(server.addr);
    wire.send(initialize().bytes());
    assert_ne!(wire.drain(), Lost::Silent);
    server.connect();
    let seen = Tested::stop(Box::new(server));
    assert_eq!(seen.handler, [""; 0]);
}
