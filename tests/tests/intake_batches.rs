//! I8: batches are for sessions of 2025-03-26 alone. Which version a session has, the endpoint knows; here is
//! what can be said without it.
mod intake_support;

use intake_support::{Ask, BAD_VERSION, id, intake, post, sessions_off, sessions_on};
use mcp_http_core::intake::{BatchItem, IncomingNotice, Intake, Kind};
use mcp_http_core::jsonrpc::RequestId;
use mcp_http_core::reject::Refusal;

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const NOTICE: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
const REPLY: &str = r#"{"jsonrpc":"2.0","id":"s","result":{}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{}}}"#;

fn batch(elements: &[&str]) -> Ask {
    post(format!("[{}]", elements.join(","))).set("mcp-protocol-version", "2025-03-26")
}

#[track_caller]
fn check_invalid(ask: &Ask, intake: &Intake, says: &str) {
    let reject = ask.reject(intake);
    assert!(
        matches!(reject.refusal, Refusal::InvalidRequest(why) if why.contains(says)),
        "{ask:?}\n{reject:?} {says:?}"
    );
    assert_eq!(id(&reject), None, "a batch has no id");
    assert_eq!(reject.into_answer().status.as_u16(), 400);
}

#[test]
fn i8_a_batch_keeps_its_messages_in_order() {
    let Kind::Batch(items) = batch(&[REQUEST, NOTICE, REPLY, REQUEST]).kind(&sessions_on()) else {
        panic!("no batch")
    };
    let [
        BatchItem::Request(first),
        BatchItem::Notice(IncomingNotice { notice, cancels: Some(cancels) }),
        BatchItem::Reply(reply),
        BatchItem::Request(second),
    ] = &items[..]
    else {
        panic!("{items:?}")
    };
    assert_eq!((&first.id, &*first.method), (&RequestId::from_number(1), "ping"));
    assert_eq!((&*notice.method, cancels.literal()), ("notifications/cancelled", &b"1"[..]));
    assert_eq!(reply.id.literal(), b"\"s\"");
    assert_eq!(first, second);
}

#[test]
fn i8_a_batch_of_one_is_a_batch() {
    for only in [REQUEST, NOTICE, REPLY] {
        for ask in [batch(&[only]), post(format!(" [ {only}\n] ")).without("mcp-protocol-version")] {
            assert!(matches!(ask.kind(&sessions_on()), Kind::Batch(items) if items.len() == 1), "{only}");
        }
    }
}

#[test]
fn i8_an_empty_batch_is_refused() {
    for empty in ["[]", " [ ] ", "[\n]"] {
        check_invalid(&post(empty), &sessions_on(), "empty");
        check_invalid(&post(empty), &sessions_off(), "empty");
        check_invalid(&post(empty).without("mcp-session-id"), &sessions_on(), "empty");
    }
}

#[test]
fn i8_a_batch_is_bounded() {
    for limit in [1, 2, 64] {
        let intake = intake(|config| config.batch_max = limit);
        for (count, fits) in
            [(1, true), (limit, true), (limit + 1, false), (limit + 2, false), (10_000, false)]
        {
            let ask = batch(&vec![REQUEST; count]);
            if fits {
                assert!(matches!(ask.kind(&intake), Kind::Batch(items) if items.len() == count));
            } else {
                check_invalid(&ask, &intake, "too many");
            }
        }
    }
}

#[test]
fn i8_initialize_is_never_in_a_batch() {
    for elements in
        [&[INITIALIZE][..], &[REQUEST, INITIALIZE], &[INITIALIZE, NOTICE], &[INITIALIZE, INITIALIZE]]
    {
        for ask in [batch(elements), batch(elements).without("mcp-session-id")] {
            check_invalid(&ask, &sessions_on(), "initialize must not be in a batch");
            check_invalid(&ask, &sessions_off(), "initialize must not be in a batch");
        }
    }
    let as_notice = r#"{"jsonrpc":"2.0","method":"initialize"}"#;
    check_invalid(&batch(&[REQUEST, as_notice]), &sessions_on(), "initialize must have an id");
}

#[test]
fn i8_outside_a_session_there_are_no_batches() {
    for elements in [&[REQUEST][..], &[NOTICE], &[REPLY], &[REQUEST, NOTICE, REPLY]] {
        check_invalid(&batch(elements).without("mcp-session-id"), &sessions_on(), "2025-03-26");
        check_invalid(&batch(elements), &sessions_off(), "2025-03-26");
        check_invalid(&batch(elements).without("mcp-session-id"), &sessions_off(), "2025-03-26");
    }
}

#[test]
fn i8_the_stateless_era_has_no_batches() {
    check_invalid(&batch(&[REQUEST]).set("mcp-protocol-version", "2026-07-28"), &sessions_on(), "2025-03-26");
    let stateless = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    check_invalid(&batch(&[REQUEST, stateless]), &sessions_on(), "2025-03-26");
}

#[test]
fn i8_one_bad_message_refuses_the_batch() {
    for bad in [
        "1",
        "null",
        "\"x\"",
        "true",
        "[]",
        "{}",
        "[{}]",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"id":1,"method":"m"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    ] {
        for elements in [&[bad][..], &[REQUEST, bad], &[bad, REQUEST], &[NOTICE, bad, REPLY]] {
            check_invalid(&batch(elements), &sessions_on(), "no JSON-RPC message");
            check_invalid(&batch(elements), &sessions_off(), "no JSON-RPC message");
        }
    }
}

#[test]
fn i6_bad_json_in_a_batch_is_bad_json_even_past_the_bound() {
    let intake = intake(|config| config.batch_max = 2);
    let ping = [REQUEST; 5].join(",");
    for text in [
        "[",
        "[1",
        "[,]",
        "[1,]",
        "[1 2]",
        "[]]",
        "[]x",
        &format!("[{ping},]"),
        &format!("[{ping},x]"),
        &format!("[{ping}"),
    ] {
        let reject = post(String::from(text)).reject(&intake);
        assert!(matches!(reject.refusal, Refusal::NotJson(_)), "{text} {reject:?}");
    }
}

#[test]
fn i10_and_i11_hold_for_batches() {
    for (ask, refusal) in [
        (batch(&[REQUEST]).set("mcp-protocol-version", "x"), BAD_VERSION),
        (batch(&[REQUEST]).set("mcp-session-id", "a b"), Refusal::BadSessionId),
        (
            batch(&[REQUEST]).set("mcp-session-id", "a b").without("mcp-protocol-version"),
            Refusal::BadSessionId,
        ),
    ] {
        let reject = ask.reject(&sessions_on());
        assert_eq!((reject.refusal, reject.id), (refusal, None));
    }
}
