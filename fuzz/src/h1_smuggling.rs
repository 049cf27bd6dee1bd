//! H1, H3, H4: where a request ends is beyond doubt. `framing` works it out from the whole input by the text of
//! the RFC; the machine either refuses or agrees, byte for byte. What is served is a prefix of what `framing` found,
//! in order and answered in order, and behind anything broken or closing comes nothing. The other way round, a plain
//! request is served: a machine that refuses everything would not do.

use mcp_http_core::h1::Limits;

use crate::framing::{self, Body, Request, Rest};
use crate::input::Input;
use crate::peer::{Habits, Peer, Seen};
use crate::responses;

/// Reads: two bytes of habits, one that says where the input is cut; the rest is what the peer sends.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let habits = Habits { hasty: input.byte(), streams: input.byte(), body_max: usize::MAX };
    let cut = usize::from(input.byte());
    let octets = input.rest();
    let mut peer = Peer::new(Limits::default(), habits);
    let (first, second) = octets.split_at(cut.min(octets.len()));
    peer.receive(first);
    peer.receive(second);
    peer.receive_eof();
    peer.wait();

    let (requests, rest) = framing::read(octets);
    assert!(
        peer.seen.len() <= requests.len(),
        "H1: {} requests were served, and there are {}: {requests:?}",
        peer.seen.len(),
        requests.len()
    );
    for (number, (seen, request)) in peer.seen.iter().zip(&requests).enumerate() {
        compare(seen, request, is_hasty(habits, number));
        let is_last = number + 1 == peer.seen.len();
        assert!(is_last || request.goes_on, "H4: served behind a request that closes: {request:?}");
    }
    check_not_refused(&peer, &requests, rest, habits);
    check_answers(&peer, habits);
}

fn compare(seen: &Seen, request: &Request<'_>, hasty: bool) {
    let parts = &seen.request.parts;
    assert_eq!(parts.method.as_str().as_bytes(), request.method, "H1");
    let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
    let fits = request.target.ends_with(target.as_bytes()) || target == "/" || target.starts_with("/?");
    assert!(fits, "H1: {target:?} was served for {request:?}");
    let mut fields = request.fields.iter().filter(|(name, _)| !name.is_empty());
    for (name, value) in &mut fields {
        let name = std::str::from_utf8(name).expect("a token");
        let same = parts.headers.get_all(name).iter().any(|other| other.as_bytes() == *value);
        assert!(same, "H1: {name} is lost of {request:?}");
    }
    assert_eq!(parts.headers.len() + 1, request.fields.len(), "H1: fields of {request:?}");
    match &request.body {
        Body::Whole(body) if !hasty => {
            let starts = body.starts_with(&seen.body);
            assert!(starts && (!seen.whole || seen.body == *body), "H1: {seen:?} of {request:?}");
        }
        Body::Whole(_) => {}
        Body::Cut | Body::Broken => assert!(!seen.whole, "H1: {seen:?} of {request:?}"),
    }
}

/// A plain request that could be served was, and with its whole body.
fn check_not_refused(peer: &Peer, requests: &[Request<'_>], rest: Rest, habits: Habits) {
    for (number, request) in requests.iter().enumerate() {
        let Some(seen) = peer.seen.get(number) else {
            assert!(!request.plain, "H1: {:?} for a plain request: {request:?}", peer.fault);
            return;
        };
        if !request.plain || !request.goes_on {
            return;
        }
        let hasty = is_hasty(habits, number);
        match &request.body {
            Body::Whole(_) => assert!(hasty || seen.whole, "H1: {seen:?} of {request:?}"),
            Body::Cut | Body::Broken => {
                return assert!(hasty || peer.fault.is_some(), "H1: {seen:?} of {request:?}");
            }
        }
    }
    if rest == Rest::Broken {
        assert!(peer.fault.is_some(), "H1: broken octets are answered");
    }
}

/// H4, H7: one answer for each that was served, in order, whole, and a refusal last.
fn check_answers(peer: &Peer, habits: Habits) {
    let to_head: Vec<bool> =
        peer.seen.iter().map(|seen| seen.request.parts.method == http::Method::HEAD).collect();
    let answers = responses::read(&peer.wire, peer.closed, &to_head);
    let served =
        peer.seen.iter().enumerate().filter(|(number, seen)| seen.whole || is_hasty(habits, *number));
    let served = served.count();
    assert_eq!(answers.len(), served + usize::from(peer.fault.is_some()), "H4: {answers:?}");
    for (number, answer) in answers.iter().enumerate() {
        // A head that is refused may be one of HEAD, which the reader cannot know.
        let bodiless = number == peer.seen.len() && answer.body.is_empty();
        assert!(answer.whole || bodiless, "H7: {answer:?} is cut");
        if number < served {
            let text = if to_head[number] { String::new() } else { format!("answer {number}") };
            assert_eq!((answer.status, &answer.body[..]), (200, text.as_bytes()), "H4");
        } else {
            assert_eq!(Some(answer.status), peer.fault.map(|fault| fault.status().as_u16()));
            assert_eq!(answer.field("connection"), Some("close"), "H1: a fault closes");
        }
    }
}

/// Whether the application answered this one from the head alone.
fn is_hasty(habits: Habits, number: usize) -> bool {
    habits.hasty >> (number % 8) & 1 == 1
}
