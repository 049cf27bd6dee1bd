//! Every case of `data/h1-cases.json` against the pure machine: whole, octet by octet and at random cuts.
//! The events are the same each time (H2), and the outcome is what the case expects.

mod h1_support;

use std::time::Duration;

use h1_support::cases::{self, Case, Outcome};
use h1_support::cuts::Cut;
use h1_support::judge::Server;
use h1_support::macros::{AUTHORITY, BODY_MAX, INIT};
use h1_support::responses;
use mcp_http_core::h1::Limits;
use serde_json::Value;

const RANDOM_CUTS: u64 = 50;

/// As the case file assumes: header, body and idle 2 s each.
fn limits() -> Limits {
    let two = Duration::from_secs(2);
    Limits {
        body_bytes_max: BODY_MAX,
        header_read: two,
        body_read: two,
        keep_alive_idle: two,
        ..Limits::default()
    }
}

fn play(case: &Case, cut: Cut) -> Outcome {
    let deadlines = case.expect("timeout").as_str().map_or(0, |names| names.split('+').count() as u64);
    let wait = case.expect("wait_ms").as_u64().unwrap_or(0);
    case.play(Server::new(limits()), cut, wait + deadlines * 2000)
}

#[test]
fn h1_cases_come_out_as_expected() {
    let mut failures = Vec::new();
    let mut only_leniently = Vec::new();
    for case in cases::all() {
        let mut outcome = play(&case, Cut::Whole);
        only_leniently.extend(advice_ignored(&case, &outcome).map(|why| format!("{}: {why}", case.id)));
        for why in judge(&case, &mut outcome) {
            failures.push(format!("{}: {why} ({:?})", case.id, outcome.server.events));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(only_leniently.is_empty(), "against the advice of the file: {only_leniently:#?}");
}

#[test]
fn h2_any_split_gives_the_same_events() {
    for case in cases::all() {
        let whole = play(&case, Cut::Whole).server.events;
        let cuts = (0..RANDOM_CUTS).map(|seed| Cut::Random { seed }).chain([Cut::Octets]);
        for cut in cuts {
            let cut_up = play(&case, cut).server.events;
            assert_eq!(whole, cut_up, "{} cut {cut:?}", case.id);
        }
    }
}

/// What is wrong with an outcome; empty if nothing is.
fn judge(case: &Case, outcome: &mut Outcome) -> Vec<String> {
    let mut failures = Vec::new();
    if case.expect("wait") == true {
        if !outcome.server.wire.is_empty() || outcome.server.eof {
            failures.push("an incomplete request was answered".to_owned());
        }
        return failures;
    }
    judge_statuses(case, outcome, &mut failures);
    judge_fields(case, outcome, &mut failures);
    judge_session(case, outcome, &mut failures);
    judge_connection(case, outcome, &mut failures);
    failures
}

fn judge_statuses(case: &Case, outcome: &Outcome, failures: &mut Vec<String>) {
    let statuses: Vec<u64> = finals(outcome).map(|response| response.status.into()).collect();
    if statuses.is_empty() {
        if case.expect("no_response_ok") != true || !outcome.server.eof {
            failures.push("no response".to_owned());
        }
        return;
    }
    let allowed: Vec<&Value> = match case.expect("statuses").as_array() {
        Some(allowed) => allowed.iter().collect(),
        None => vec![case.expect("status"); statuses.len()],
    };
    let fits = |(status, allowed): (&u64, &&Value)| holds(allowed, *status);
    if !statuses.iter().zip(&allowed).all(fits) {
        failures.push(format!("statuses {statuses:?}"));
    }
    let count = case.expect("responses");
    let bounds = count["min"].as_u64().unwrap_or(1)..=count["max"].as_u64().unwrap_or(1);
    if !bounds.contains(&(statuses.len() as u64)) {
        failures.push(format!("{} responses", statuses.len()));
    }
    let has_interim = outcome.responses.iter().any(|response| !response.is_final());
    if has_interim && case.expect("interim") != "optional" {
        failures.push("an interim response".to_owned());
    }
}

fn judge_fields(case: &Case, outcome: &Outcome, failures: &mut Vec<String>) {
    for response in finals(outcome) {
        for (name, value) in case.expect("headers").as_object().into_iter().flatten() {
            let fits = match (value, response.field(name)) {
                (Value::Bool(true), got) => got.is_some(),
                (Value::String(part), Some(got)) => got.to_ascii_lowercase().contains(part),
                _ => false,
            };
            if !fits {
                failures.push(format!("field {name}"));
            }
        }
        for name in case.expect("forbid").as_array().into_iter().flatten().filter_map(Value::as_str) {
            if response.field(name).is_some() {
                failures.push(format!("injected field {name}"));
            }
        }
        if response.status == 405 && response.field("allow").is_none() {
            failures.push("405 without Allow".to_owned());
        }
        if case.data["one_read"] == true && outcome.server.first_write != Some(response.end) {
            failures.push("head and body in several writes".to_owned());
        }
    }
}

fn judge_session(case: &Case, outcome: &Outcome, failures: &mut Vec<String>) {
    let is_created = outcome.responses.iter().any(|response| response.field("mcp-session-id").is_some());
    match case.expect("session_created") {
        Value::Bool(expected) if *expected != is_created => failures.push(format!("session: {is_created}")),
        _ => {}
    }
}

fn judge_connection(case: &Case, outcome: &mut Outcome, failures: &mut Vec<String>) {
    let server = &mut outcome.server;
    match case.expect("connection").as_str() {
        Some("close") if !server.eof => failures.push("not closed".to_owned()),
        Some("keep") if server.eof => failures.push("closed".to_owned()),
        Some("keep") => {
            let before = server.wire.len();
            assert!(server.receive(second_request().as_bytes()));
            let answers = responses::parse(&server.wire[before..], false, server.eof);
            if !matches!(&answers[..], [answer] if answer.status == 200) {
                failures.push("a second request is not served".to_owned());
            }
        }
        _ => {}
    }
    if server.eof {
        // The peer has read the end; once it closes too, or lets the time pass, nothing is left.
        server.advance_ms(2000);
        if !server.closed {
            failures.push("still open after the drain".to_owned());
        }
        let deadline = server.rig.connection.poll_timeout();
        if deadline.is_some() || server.rig.connection.buffered() > 0 {
            failures.push("something is left behind".to_owned());
        }
    }
}

/// Where the file tolerates an outcome but advises against it.
fn advice_ignored(case: &Case, outcome: &Outcome) -> Option<String> {
    let first = finals(outcome).next()?.status;
    let advised = case.expect("prefer").as_array()?;
    (!advised.iter().any(|status| *status == first)).then(|| format!("status {first}, advised {advised:?}"))
}

fn finals(outcome: &Outcome) -> impl Iterator<Item = &responses::Response> {
    outcome.responses.iter().filter(|response| response.is_final())
}

fn holds(statuses: &Value, status: u64) -> bool {
    statuses.as_array().is_some_and(|statuses| statuses.iter().any(|allowed| *allowed == status))
}

fn second_request() -> String {
    let fields = "Content-Type: application/json\r\nAccept: application/json, text/event-stream";
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {AUTHORITY}\r\n{fields}\r\nContent-Length: {}\r\n\r\n{INIT}",
        INIT.len()
    )
}
