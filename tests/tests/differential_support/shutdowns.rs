//! The server stops: streams end, calls may finish, then they are failed.

use serde_json::json;

use super::client::{Client, NEWEST};
use super::{Scenario, long_drain};
use crate::socket_support::ask::{initialize_as, request};

pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "calls may finish",
        play: finishes,
        configure: |config| config.shutdown_drain = std::time::Duration::from_secs(20),
    },
    Scenario { name: "calls that do not finish", play: does_not_finish, configure: long_drain },
    Scenario { name: "an initialize that is not answered", play: pending, configure: long_drain },
];

fn finishes(client: &mut Client) {
    let open = client.open(NEWEST);
    let mut idle = client.listen(&open);
    client.event(&mut idle);
    let counts = open.own(request("1", "counts", &json!({ "to": 4, "gate": "a" })));
    let mut stream = client.stream("counts", &counts);
    client.message(&mut stream);
    let mut wire = client.send(&open.own(request("2", "echo", &json!({ "gate": "a" }))));
    client.server.until("call 2 echo s1 by anyone 2025-11-25 POST", 1);
    client.server.begin_stop();
    client.rest(&mut idle);
    client.server.open("a");
    client.rest(&mut stream);
    client.answer("echo", &mut wire, false);
}

fn does_not_finish(client: &mut Client) {
    let open = client.open(NEWEST);
    let mut stream = client.stream("waits", &open.own(request("1", "waits", &json!({ "notes": true }))));
    client.message(&mut stream);
    let mut wire = client.send(&open.own(request("2", "waits", &json!({}))));
    client.server.until("call 2 waits s1 by anyone 2025-11-25 POST", 1);
    client.server.begin_stop();
    client.rest(&mut stream);
    client.answer("waits", &mut wire, false);
}

fn pending(client: &mut Client) {
    let mut wire = client.send(&initialize_as("silent", NEWEST));
    client.server.until("initialize s1 by anyone 2025-11-25", 1);
    client.server.begin_stop();
    client.answer("initialize", &mut wire, false);
}
