//! The small values that cross the core's border: ids as they are shown and compared, leases of memory, indexes.

mod intake_support;

use std::sync::Arc;

use bytes::Bytes;
use intake_support::{post, sessions_on};
use mcp_http_core::endpoint::{Action, Actions, Budget, Endpoint, Event, Frames, Stats};
use mcp_http_core::entropy::{Entropy, EntropyError};
use mcp_http_core::intake::Kind;
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{RequestId, code};
use mcp_http_core::session_id::{SessionRef, ShardId};
use mcp_http_core::time::Timestamp;
use mcp_http_tests::script::{Script, ask, note, session_of};

/// I11: the place is shown, and nothing of the secret.
#[test]
fn i11_a_session_id_is_never_shown_whole() {
    let mut s = Script::new();
    let session = s.open();
    let text = std::str::from_utf8(session.id.as_bytes()).expect("text");
    let place = &text[..20];
    assert_eq!(format!("{:?}", session.id), format!("SessionId({place}..)"));
    assert_eq!(session.id.to_string(), format!("{place}.."));
    let (index, generation) = (session.key.index(), u32::from_str_radix(&place[12..], 16).expect("a number"));
    let reference = SessionRef::from_field(session.id.as_bytes()).expect("an id");
    assert_eq!(format!("{reference:?}"), format!("SessionRef(0/{index}/{generation}..)"));
    let foreign = SessionRef::from_field(b"of-another-server").expect("an id");
    assert_eq!(format!("{foreign:?}"), "SessionRef(foreign)");
    s.finish();
}

/// R5: a string is the same however it is escaped, and from whichever side it is asked.
#[test]
fn r5_ids_are_equal_by_value_in_both_directions() {
    let of = |literal: &str| -> RequestId {
        match post(ask::request(literal, "ping")).kind(&sessions_on()) {
            Kind::Call(request) => request.id,
            other => panic!("{other:?}"),
        }
    };
    let (plain, escaped, other) = (of(r#""a""#), of("\"\\u0061\""), of("\"\\u0062\""));
    for (one, another, equal) in [
        (&plain, &escaped, true),
        (&plain, &other, false),
        (&escaped, &other, false),
        (&of("1"), &of(r#""1""#), false),
    ] {
        assert_eq!(one == another, equal, "{one:?} {another:?}");
        assert_eq!(another == one, equal, "{another:?} {one:?}");
    }
    assert_eq!(of("7"), RequestId::from_number(7));
}

/// R8: the id of a small body shares its memory, that of a large one does not hold the body.
#[test]
fn r8_an_id_does_not_hold_a_large_body() {
    for (octets, shared) in [(100, true), (4096, true), (4097, false), (100_000, false)] {
        let mut body = ask::request("7", "ping");
        body += &" ".repeat(octets - body.len());
        let body = Bytes::from(body);
        let within = body.as_ptr_range();
        let Kind::Call(request) = post(body.clone()).kind(&sessions_on()) else { panic!("no request") };
        assert_eq!(request.id.literal(), b"7");
        assert_eq!(within.contains(&request.id.literal().as_ptr()), shared, "{octets}");
    }
}

#[test]
fn r8_a_lease_takes_what_there_is_and_gives_it_back() {
    let budget = Arc::new(Budget::new());
    let (mut a, mut b) = (budget.lease(), budget.lease());
    assert!(a.grow(60, 100));
    assert!(!b.grow(41, 100));
    assert!(b.grow(40, 100));
    assert_eq!((a.bytes(), b.bytes(), budget.buffered_bytes()), (60, 40, 100));
    assert!(!a.grow(1, 100));
    a.shrink_to(70);
    a.shrink_to(60);
    assert_eq!((a.bytes(), budget.buffered_bytes()), (60, 100));
    a.shrink_to(10);
    assert_eq!((a.bytes(), budget.buffered_bytes()), (10, 50));
    drop(a);
    assert_eq!((b.bytes(), budget.buffered_bytes()), (40, 40));
    drop(b);
    assert_eq!(budget.buffered_bytes(), 0);
}

/// A number is in use by one record at a time, and all are small.
#[test]
fn indexes_are_the_places_in_the_tables() {
    let mut s = Script::new();
    let (a, b, c) = (s.opening(), s.opening(), s.opening());
    assert_eq!([a.key.index(), b.key.index(), c.key.index()], [0, 1, 2]);
    assert_eq!([a.exchange.index(), b.exchange.index(), c.exchange.index()], [0, 1, 2]);
    s.gone(b.exchange);
    let d = s.opening();
    assert_eq!((d.key.index(), d.exchange.index()), (1, 1));
    assert_ne!((d.key, d.exchange), (b.key, b.exchange));
    for opening in [a, c, d] {
        s.gone(opening.exchange);
    }
    s.finish();
}

#[test]
fn a_sink_says_whether_there_is_anything_to_do() {
    let mut bare = Endpoint::new(Arc::default(), Arc::default(), ShardId(0), Box::new(Nothing));
    let mut out = Actions::new();
    assert!(out.is_empty());
    let admitted = post(ask::request("1", "ping")).admitted(&sessions_on());
    let exchange = bare.admit(admitted, None, Timestamp::ZERO, &mut out);
    assert!(!out.is_empty());
    assert!(matches!(out.as_slice(), [Action::Reject { exchange: of, .. }] if *of == exchange));
    bare.handle(Event::Gone { exchange }, Timestamp::ZERO, &mut out);
    assert_eq!(out.drain().count(), 1);
    assert!(out.is_empty());
}

struct Nothing;

impl Entropy for Nothing {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), EntropyError> {
        Err(EntropyError)
    }
}

#[test]
fn frames_and_json_give_what_they_hold() {
    let json = Json::from_text(Bytes::from_static(b"[1]")).expect("JSON");
    assert_eq!(json.into_bytes(), "[1]");
    let mut s = Script::new();
    let session = s.open();
    let get = s.listen(&session);
    s.send(session_of(&session), note(1));
    let drawn = s.pull(get);
    assert_eq!(drawn.frames.len(), 2);
    assert_eq!(Frames::new().as_slice(), [""; 0]);
    s.gone(get);
    s.finish();
}

/// R14: drained is who has nothing left of anything.
#[test]
fn r14_whatever_is_left_is_not_drained() {
    let nothing = Stats::default();
    assert!(nothing.is_drained());
    for left in [
        Stats { sessions: 1, ..nothing },
        Stats { exchanges: 1, ..nothing },
        Stats { calls: 1, ..nothing },
        Stats { streams: 1, ..nothing },
        Stats { deadlines: 1, ..nothing },
        Stats { buffered_bytes: 1, ..nothing },
    ] {
        assert!(!left.is_drained(), "{left:?}");
    }
}

/// I13: clients know these numbers, whatever they are called here.
#[test]
fn i13_error_codes_are_the_specifications() {
    let of_json_rpc = [
        code::PARSE_ERROR,
        code::INVALID_REQUEST,
        code::METHOD_NOT_FOUND,
        code::INVALID_PARAMS,
        code::INTERNAL_ERROR,
    ];
    assert_eq!(of_json_rpc, [-32700, -32600, -32601, -32602, -32603]);
    let of_mcp = [code::HEADER_MISMATCH, code::MISSING_CAPABILITY, code::UNSUPPORTED_VERSION];
    assert_eq!((of_mcp, code::RESOURCE_NOT_FOUND), ([-32020, -32021, -32022], -32002));
    assert_eq!([code::REFUSED, code::SESSION_NOT_FOUND, code::CANCELLED], [-32000, -32001, -32800]);
}
