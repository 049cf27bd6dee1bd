//! The case file, read; and one case played against a [`Server`].

use serde_json::Value;

use super::cuts::Cut;
use super::judge::Server;
use super::macros::{Step, expand};
use super::responses::{self, Response};

const FILE: &str = include_str!("../../data/h1-cases.json");

pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) data: Value,
    pub(crate) steps: Vec<Step>,
}

pub(crate) fn all() -> Vec<Case> {
    let file: Value = serde_json::from_str(FILE).expect("the case file is JSON");
    let cases = file["cases"].as_array().expect("it has cases");
    cases.iter().map(Case::read).collect()
}

/// What a case came to.
pub(crate) struct Outcome {
    pub(crate) server: Server,
    pub(crate) responses: Vec<Response>,
}

impl Case {
    fn read(data: &Value) -> Case {
        let steps = match (data["input"].as_str(), data["input_b64"].as_str()) {
            (Some(text), _) => expand(text),
            (None, Some(text)) => vec![Step::Send(base64(text))],
            (None, None) => panic!("a case has input"),
        };
        Case { id: data["id"].as_str().expect("an id").to_owned(), data: data.clone(), steps }
    }

    pub(crate) fn expect(&self, name: &str) -> &Value {
        &self.data["expect"][name]
    }

    /// Plays the steps, then lets the time pass that the case's deadline takes.
    pub(crate) fn play(&self, mut server: Server, cut: Cut, deadline_ms: u64) -> Outcome {
        let is_forced = self.steps.contains(&Step::Force);
        for (at, step) in self.steps.iter().enumerate() {
            let has_answer = self.responses(&server).iter().any(Response::is_final);
            match step {
                Step::Send(octets) => {
                    let seed_shift = at as u64;
                    let cut = match cut {
                        Cut::Random { seed } => Cut::Random { seed: seed.wrapping_add(seed_shift) },
                        other => other,
                    };
                    if !cut.apply(octets).into_iter().all(|piece| server.receive(piece)) {
                        break;
                    }
                }
                Step::SleepMs(ms) => server.advance_ms(*ms),
                Step::Wait100 if has_answer && !is_forced => break,
                Step::Wait100 | Step::WaitResponse | Step::Force => {}
                Step::Eof => server.receive_eof(),
                Step::Length(_) => unreachable!("lengths are filled in"),
            }
            if server.closed {
                break;
            }
        }
        server.advance_ms(deadline_ms);
        let responses = self.responses(&server);
        Outcome { server, responses }
    }

    fn responses(&self, server: &Server) -> Vec<Response> {
        responses::parse(&server.wire, self.data["head"] == true, server.eof)
    }
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut octets = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for character in text.trim_end_matches('=').chars() {
        bits = bits << 6 | ALPHABET.find(character).expect("base64") as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            octets.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    octets
}
