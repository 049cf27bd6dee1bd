//! H2: any split of the input bytes gives the same events as the whole. The oracle is the machine itself, fed with
//! everything at once: what it must not do is know where a read ended.

use std::time::Duration;

use mcp_http_core::h1::Limits;

use crate::input::Input;
use crate::peer::{Habits, Peer};

/// The interim response that goes out if none of the body has come yet: the one thing that a read's end decides.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Reads: a byte of settings, two of habits, one that seeds the cuts; the rest is what the peer sends.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let settings = input.byte();
    let habits = Habits { hasty: input.byte(), streams: input.byte(), body_max: body_max(settings) };
    let seed = input.byte();
    let octets = input.rest();
    let play = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut peer = Peer::new(limits(settings), habits);
        for piece in pieces {
            peer.receive(piece);
        }
        if settings & 1 == 1 {
            peer.receive_eof();
        }
        peer.wait();
        (peer.story, without(peer.wire, CONTINUE))
    };
    let whole = play(&mut std::iter::once(octets));
    let cut = play(&mut Cuts { rest: octets, state: u64::from(seed) });
    assert_same(&whole, &cut, "at random cuts");
    let single = play(&mut octets.chunks(1));
    assert_same(&whole, &single, "octet by octet");
}

fn assert_same(whole: &(Vec<String>, Vec<u8>), cut: &(Vec<String>, Vec<u8>), how: &str) {
    assert_eq!(whole.0, cut.0, "H2: {how}");
    assert_eq!(whole.1.escape_ascii().to_string(), cut.1.escape_ascii().to_string(), "H2: {how}");
}

fn body_max(settings: u8) -> usize {
    if settings & 4 == 4 { 5 } else { usize::MAX }
}

/// Either the defaults, or so tight that short inputs reach them.
fn limits(settings: u8) -> Limits {
    if settings & 2 == 0 {
        return Limits::default();
    }
    Limits {
        request_line_bytes_max: 40,
        head_bytes_max: 120,
        fields_max: 4,
        body_bytes_max: 24,
        drain_bytes_max: 16,
        header_read: Duration::from_secs(3),
        body_read: Duration::from_secs(5),
        ..Limits::default()
    }
}

/// Pieces of one to sixteen octets, and sometimes many more.
struct Cuts<'a> {
    rest: &'a [u8],
    state: u64,
}

impl<'a> Iterator for Cuts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (self.state >> 33) as usize;
        let longest = if number & 0x700 == 0 { 400 } else { 16 };
        let (piece, rest) = self.rest.split_at((1 + number % longest).min(self.rest.len()));
        self.rest = rest;
        Some(piece)
    }
}

fn without(octets: Vec<u8>, part: &[u8]) -> Vec<u8> {
    let mut rest = &octets[..];
    let mut kept = Vec::new();
    while let Some(first) = rest.first() {
        match rest.strip_prefix(part) {
            Some(after) => rest = after,
            None => {
                kept.push(*first);
                rest = &rest[1..];
            }
        }
    }
    kept
}
