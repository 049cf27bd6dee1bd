//! Event streams that break, and are come back to.

use serde_json::json;

use super::client::{Client, MIDDLE, NEWEST};
use super::{Scenario, scenario};
use crate::socket_support::ask::{get, ping, request};

pub(crate) const ALL: &[Scenario] = &[
    scenario("notices from before the first reader", before_anybody),
    scenario("the newest reader wins", newest_wins),
    scenario("a standalone stream is come back to", standalone),
    scenario("a call's stream is come back to", call),
    scenario("a call's stream that is over", finished),
    scenario("a disconnect cancels no call of a session", no_cancel),
    scenario("a client that is told to poll", polls),
    scenario("changes that a session asked for", subscribed),
    scenario("another's events", foreign),
];

/// Sends notices on the standalone stream of the first session.
fn notify(client: &Client, numbers: std::ops::RangeInclusive<u64>) {
    numbers.for_each(|number| client.server.notify(1, number));
}

fn before_anybody(client: &mut Client) {
    for version in [MIDDLE, NEWEST] {
        client.open(version);
    }
    let open = client.open(NEWEST);
    client.delete(&open);
    let open = client.open(MIDDLE);
    notify(client, 1..=3);
    let mut stream = client.listen(&open);
    client.delete(&open);
    client.rest(&mut stream);
}

fn newest_wins(client: &mut Client) {
    let open = client.open(NEWEST);
    let mut older = client.listen(&open);
    client.event(&mut older);
    notify(client, 1..=1);
    client.message(&mut older);
    let mut newer = client.listen(&open);
    client.event(&mut newer);
    client.rest(&mut older);
    notify(client, 2..=2);
    client.message(&mut newer);
    client.delete(&open);
    client.rest(&mut newer);
}

fn standalone(client: &mut Client) {
    let open = client.open(NEWEST);
    let mut stream = client.listen(&open);
    notify(client, 1..=2);
    client.message(&mut stream);
    client.message(&mut stream);
    let last = stream.last_id.clone().unwrap();
    stream.into_wire().reset();
    notify(client, 3..=4);
    let mut stream = client.resume(&open, &last);
    client.message(&mut stream);
    client.message(&mut stream);
    notify(client, 5..=5);
    client.message(&mut stream);
    client.delete(&open);
    client.rest(&mut stream);
}

fn call(client: &mut Client) {
    let open = client.open(NEWEST);
    let counts = open.own(request("1", "counts", &json!({ "to": 6, "gate": "a" })));
    let mut stream = client.stream("counts", &counts);
    client.message(&mut stream);
    client.message(&mut stream);
    let last = stream.last_id.clone().unwrap();
    stream.into_wire().reset();
    let mut stream = client.resume(&open, &last);
    client.message(&mut stream);
    client.server.open("a");
    client.rest(&mut stream);
}

fn finished(client: &mut Client) {
    let open = client.open(NEWEST);
    let mut stream = client.stream("counts", &open.own(request("1", "counts", &json!({ "to": 2 }))));
    client.message(&mut stream);
    let first = stream.last_id.clone().unwrap();
    client.rest(&mut stream);
    let last = stream.last_id.clone().unwrap();
    client.ask("nothing is left", &open.own(get().with("last-event-id", &last)));
    client.server.until("done 1 counts", 1);
    client.ask("from the first", &open.own(get().with("last-event-id", &first)));
}

fn no_cancel(client: &mut Client) {
    let open = client.open(NEWEST);
    let wire = client.send(&open.own(request("1", "echo", &json!({ "gate": "a" }))));
    client.server.until("call 1 echo s1 by anyone 2025-11-25 POST", 1);
    wire.reset();
    let counts = open.own(request("2", "counts", &json!({ "to": 2, "gate": "a" })));
    let mut stream = client.stream("counts", &counts);
    client.message(&mut stream);
    stream.into_wire().reset();
    client.ask("ping", &open.own(ping("3")));
    client.server.open("a");
    client.server.until("done 2 counts", 1);
    client.server.until("done 1 echo", 1);
}

fn polls(client: &mut Client) {
    let open = client.open(NEWEST);
    let mut stream = client.stream("polls", &open.own(request("1", "polls", &json!({ "gate": "a" }))));
    client.rest(&mut stream);
    let last = stream.last_id.clone().unwrap();
    let mut stream = client.resume(&open, &last);
    client.server.open("a");
    client.rest(&mut stream);
}

fn subscribed(client: &mut Client) {
    let open = client.open(NEWEST);
    let mut stream = client.listen(&open);
    client.event(&mut stream);
    client.ask("subscribes", &open.own(request("1", "subscribes", &json!({}))));
    for topic in ["file:///a", "file:///b"] {
        let told = client.server.publish(&mcp_http_tokio::Topic::Resource(topic.into()));
        client.write(format!("{topic}: {told} told"));
    }
    client.server.publish(&mcp_http_tokio::Topic::Tools);
    client.message(&mut stream);
    client.message(&mut stream);
    client.delete(&open);
    client.rest(&mut stream);
}

fn foreign(client: &mut Client) {
    let (one, two) = (client.open(NEWEST), client.open(NEWEST));
    let mut stream = client.listen(&one);
    client.event(&mut stream);
    let id = stream.last_id.clone().unwrap();
    client.ask("another's", &two.own(get().with("last-event-id", &id)));
    client.delete(&one);
    client.rest(&mut stream);
    client.ask("of one that ended", &one.own(get().with("last-event-id", &id)));
}
