//! The macros of the case file, as its `about` describes them: a text becomes steps.

/// The authority that the cases are sent to.
pub(crate) const AUTHORITY: &str = "127.0.0.1:8000";
/// The body limit that the cases assume.
pub(crate) const BODY_MAX: usize = 1 << 20;
pub(crate) const INIT: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"h1run","version":"0"}}}"#
);
const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

/// One thing that the peer of a case does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Send(Vec<u8>),
    SleepMs(u64),
    /// Wait for an interim or final response; on a final one the rest is not sent, unless forced.
    Wait100,
    /// Wait for a final response.
    WaitResponse,
    /// Send on after a final response.
    Force,
    Eof,
    /// Octets behind the first empty line, plus this.
    Length(u128),
}

enum Token {
    Text(String),
    Macro(Vec<Token>),
}

/// The steps of a text in which each character is one octet.
pub(crate) fn expand(text: &str) -> Vec<Step> {
    let characters: Vec<char> = text.chars().collect();
    let tokens = tokens(&characters, &mut 0, false);
    let (steps, _) = evaluate(&tokens, 0, false);
    join(with_lengths(steps))
}

fn tokens(text: &[char], at: &mut usize, inside: bool) -> Vec<Token> {
    let mut found = Vec::new();
    let mut buffer = String::new();
    while *at < text.len() {
        let pair = (text[*at], text.get(*at + 1).copied());
        if pair == ('{', Some('{')) {
            *at += 2;
            if !buffer.is_empty() {
                found.push(Token::Text(std::mem::take(&mut buffer)));
            }
            found.push(Token::Macro(tokens(text, at, true)));
        } else if inside && pair == ('}', Some('}')) {
            *at += 2;
            break;
        } else {
            buffer.push(text[*at]);
            *at += 1;
        }
    }
    if !buffer.is_empty() {
        found.push(Token::Text(buffer));
    }
    found
}

/// Evaluates from `at` on; inside a chunk, up to its end, whose position is returned.
fn evaluate(tokens: &[Token], mut at: usize, in_chunk: bool) -> (Vec<Step>, usize) {
    let mut steps = Vec::new();
    while at < tokens.len() {
        let token = &tokens[at];
        at += 1;
        let parts = match token {
            Token::Text(text) => {
                steps.push(Step::Send(octets(text)));
                continue;
            }
            Token::Macro(parts) => parts,
        };
        let (head, rest) = match parts.split_first() {
            Some((Token::Text(head), rest)) => (head.as_str(), rest),
            _ => ("", parts.as_slice()),
        };
        let (name, argument) = head.split_once(':').unwrap_or((head, ""));
        match name {
            "/chunk" => {
                assert!(in_chunk, "a chunk ends that did not start");
                return (steps, at);
            }
            "chunk" => {
                let mut extension = octets(argument);
                extension.extend(sent(&evaluate(rest, 0, false).0));
                let (inner, after) = evaluate(tokens, at, true);
                at = after;
                steps.push(Step::Send(chunk(&sent(&inner), &extension)));
            }
            "rep" | "drip" | "dripl" => steps.extend(repeat(name, argument, rest)),
            _ => steps.push(simple(name, argument)),
        }
    }
    assert!(!in_chunk, "a chunk does not end");
    (steps, at)
}

fn chunk(data: &[u8], extension: &[u8]) -> Vec<u8> {
    let mut octets = format!("{:x}", data.len()).into_bytes();
    for part in [extension, b"\r\n", data, b"\r\n"] {
        octets.extend_from_slice(part);
    }
    octets
}

/// `rep:N:text`, `drip:MS:text`, `dripl:MS:text`.
fn repeat(name: &str, argument: &str, rest: &[Token]) -> Vec<Step> {
    let (number, text) = argument.split_once(':').expect("a number and a text");
    let mut inner = octets(text);
    inner.extend(sent(&evaluate(rest, 0, false).0));
    let number: u64 = number.parse().expect("a number");
    let units: Vec<&[u8]> = match name {
        "rep" => return vec![Step::Send(inner.repeat(number as usize))],
        "drip" => inner.chunks(1).collect(),
        // Of the lines that the file drips, each chunk is one unit.
        _ => inner.chunks(6).collect(),
    };
    units.into_iter().flat_map(|unit| [Step::Send(unit.to_vec()), Step::SleepMs(number)]).collect()
}

fn simple(name: &str, argument: &str) -> Step {
    let init = INIT.len();
    let text = match name {
        "authority" => AUTHORITY.to_owned(),
        "init" => INIT.to_owned(),
        "ping" => PING.to_owned(),
        "initlen" => init.to_string(),
        "hexinit" => format!("{init:x}"),
        "hex16init" => format!("{init:016x}"),
        "hex8init" => format!("{init:08x}"),
        "body_max+1" => (BODY_MAX + 1).to_string(),
        "hex" if argument == "body_max+1" => format!("{:x}", BODY_MAX + 1),
        "cl" => return Step::Length(0),
        "u64+cl" => return Step::Length(1 << 64),
        "u32+cl" => return Step::Length(1 << 32),
        "100" => return Step::Wait100,
        "resp" => return Step::WaitResponse,
        "force" => return Step::Force,
        "eof" => return Step::Eof,
        _ if name.starts_with('|') => return Step::SleepMs(name[1..].parse().unwrap_or(30)),
        _ => panic!("no macro {name}"),
    };
    Step::Send(text.into_bytes())
}

/// Puts in the lengths that were left open until the whole text was known.
fn with_lengths(steps: Vec<Step>) -> Vec<Step> {
    let placeholder = |step: &Step| matches!(step, Step::Length(_)).then(|| b"0".to_vec());
    let flat: Vec<u8> =
        steps.iter().flat_map(|step| placeholder(step).unwrap_or_else(|| sent_by(step))).collect();
    let head = flat.windows(4).position(|window| window == b"\r\n\r\n").map_or(flat.len(), |at| at + 4);
    let length = (flat.len() - head) as u128;
    let filled = |step| match step {
        Step::Length(more) => Step::Send((length + more).to_string().into_bytes()),
        other => other,
    };
    steps.into_iter().map(filled).collect()
}

/// Joins octets that nothing separates.
fn join(steps: Vec<Step>) -> Vec<Step> {
    let mut joined: Vec<Step> = Vec::new();
    for step in steps {
        match (joined.last_mut(), step) {
            (_, Step::Send(octets)) if octets.is_empty() => {}
            (Some(Step::Send(before)), Step::Send(octets)) => before.extend(octets),
            (_, step) => joined.push(step),
        }
    }
    joined
}

fn sent(steps: &[Step]) -> Vec<u8> {
    steps.iter().flat_map(sent_by).collect()
}

fn sent_by(step: &Step) -> Vec<u8> {
    match step {
        Step::Send(octets) => octets.clone(),
        _ => Vec::new(),
    }
}

fn octets(text: &str) -> Vec<u8> {
    text.chars().map(|character| u8::try_from(u32::from(character)).expect("latin-1")).collect()
}
