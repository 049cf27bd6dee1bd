//! Writes first inputs for the corpora, out of the cases that the test suite has: `cargo run --example seed`, in this
//! folder. They are inputs like any other afterwards: `campaign.sh` merges and minimises them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

const AUTHORITY: &str = "127.0.0.1:8000";
const INIT: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"a","version":"0"}}}"#
);
const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| -> Value {
        let text = fs::read_to_string(root.join("../tests/data").join(name)).expect("the case file is there");
        serde_json::from_str(&text).expect("the case file is JSON")
    };
    let mut seeds: BTreeMap<(&str, String), Vec<u8>> = BTreeMap::new();
    for case in read("h1-cases.json")["cases"].as_array().expect("cases") {
        let (Some(id), Some(input)) = (case["id"].as_str(), case["input"].as_str()) else { continue };
        let Some(octets) = expand(input).filter(|octets| octets.len() < 2000) else { continue };
        seeds.insert(("h1_split", id.to_owned()), [&[1, 0, 0, 7][..], &octets].concat());
        seeds.insert(("h1_smuggling", id.to_owned()), [&[0, 2, 40][..], &octets].concat());
        let text = String::from_utf8_lossy(&octets).replace("\r\n", "\n").replacen(" HTTP/1.1\n", "\n", 1);
        seeds.insert(("intake_head", id.to_owned()), [&[0], text.as_bytes()].concat());
        let body = octets.windows(4).position(|window| window == b"\r\n\r\n").map(|at| &octets[at + 4..]);
        if let Some(body) = body.filter(|body| body.starts_with(b"{")) {
            seeds.insert(("jsonrpc", id.to_owned()), body.to_vec());
        }
    }
    for case in read("sse-cases.json")["cases"].as_array().expect("cases") {
        let event = &case["event"];
        let mut octets = vec![0_u8];
        for (bit, name) in [(1, "id"), (2, "event"), (4, "data")] {
            let text = event[name].as_str().filter(|text| text.len() < 160);
            if let Some(text) = text {
                octets[0] |= bit;
                octets.push(text.len() as u8);
                octets.extend_from_slice(text.as_bytes());
            }
        }
        seeds.insert(("sse", case["id"].as_str().expect("an id").to_owned()), octets);
    }
    for ((target, id), octets) in &seeds {
        let folder = root.join("corpus").join(target);
        fs::create_dir_all(&folder).expect("a folder for the corpus");
        fs::write(folder.join(format!("seed-{id}")), octets).expect("a file in the corpus");
    }
    println!("{} inputs", seeds.len());
}

/// The octets of a case without its waits; `None` if it has a macro that is not worth a seed.
fn expand(input: &str) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    let (mut rest, mut length_at) = (input, None);
    while let Some(start) = rest.find("{{") {
        octets.extend(rest[..start].chars().map(|char| char as u8));
        let end = start + rest[start..].find("}}")?;
        let name = &rest[start + 2..end];
        rest = &rest[end + 2..];
        match name.split(':').next()? {
            "authority" => octets.extend_from_slice(AUTHORITY.as_bytes()),
            "init" => octets.extend_from_slice(INIT.as_bytes()),
            "initlen" => octets.extend_from_slice(INIT.len().to_string().as_bytes()),
            "hexinit" => octets.extend_from_slice(format!("{:x}", INIT.len()).as_bytes()),
            "ping" => octets.extend_from_slice(PING.as_bytes()),
            "cl" => length_at = Some(octets.len()),
            "chunk" => {
                let stop = rest.find("{{/chunk}}")?;
                let inner = expand(&rest[..stop])?;
                rest = &rest[stop + 10..];
                octets.extend_from_slice(format!("{:x}\r\n", inner.len()).as_bytes());
                octets.extend_from_slice(&inner);
                octets.extend_from_slice(b"\r\n");
            }
            "rep" => {
                let mut words = name.splitn(3, ':').skip(1);
                let (times, text) = (words.next()?.parse::<usize>().ok()?, words.next()?);
                octets.extend_from_slice(text.repeat(times.min(200)).as_bytes());
            }
            name if name.starts_with('|') || matches!(name, "100" | "resp" | "force" | "eof") => {}
            _ => return None,
        }
    }
    octets.extend(rest.chars().map(|char| char as u8));
    if let Some(at) = length_at {
        let head = octets.windows(4).position(|window| window == b"\r\n\r\n")?;
        let length = (octets.len() - head - 4).to_string();
        octets.splice(at..at, length.into_bytes());
    }
    Some(octets)
}
