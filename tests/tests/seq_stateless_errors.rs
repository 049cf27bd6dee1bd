//! Errors of stateless calls: Z7. While nothing is out an error has a status; afterwards it is in the stream.

use std::time::Duration;

use mcp_http_core::answer::ErrorStatus;
use mcp_http_core::endpoint::{Action, Outbound, Pulled};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::ErrorObject;
use mcp_http_tests::script::{
    Call, Said, Script, ask, json_error, last_message, note, progress, question, result,
};

const TICK: Duration = Duration::from_nanos(1);

/// Codes with the status that Z7 gives them; `None` is 200.
const CODES: [(i64, Option<ErrorStatus>); 14] = [
    (-32601, Some(ErrorStatus::NotFound)),
    (-32602, Some(ErrorStatus::BadRequest)),
    (-32020, Some(ErrorStatus::BadRequest)),
    (-32021, Some(ErrorStatus::BadRequest)),
    (-32022, Some(ErrorStatus::BadRequest)),
    (-32603, None),
    (-32600, None),
    (-32700, None),
    (-32000, None),
    (-32019, None),
    (-32023, None),
    (404, None),
    (-1, None),
    (i64::MIN, None),
];

const BOTH: &str = "application/json, text/event-stream";
const ACCEPTS: [&str; 4] = [BOTH, "application/json", "*/*", "application/*"];

fn of_stream(s: &mut Script, call: Call, text: &str) {
    let drawn = s.pull(call.exchange);
    assert_eq!(last_message(&drawn.said()), text);
    assert_eq!(drawn.pulled, Pulled::End);
    assert!(drawn.frames.iter().all(|frame| frame.id.is_none()), "C4");
    assert_eq!(s.flushed(call.exchange), []);
}

#[test]
fn z7_while_nothing_is_out_an_error_has_its_status() {
    for accept in ACCEPTS {
        for (code, status) in CODES {
            let mut s = Script::new();
            let call = s.solo_with("7", accept);
            let text = ask::error_text("7", code, "no");
            let expected = match status {
                Some(status) => json_error(call.exchange, status, &text),
                None => call.json(&text),
            };
            assert_eq!(s.fail(call, code, "no"), [expected], "{accept} {code}");
            assert_eq!(s.stats().calls, 0);
            assert_eq!(s.flushed(call.exchange), []);
            s.finish();
        }
    }
}

#[test]
fn z7_the_status_is_what_goes_out() {
    for (code, status) in [(-32601, 404), (-32602, 400), (-32020, 400), (-32021, 400), (-32022, 400)] {
        let mut s = Script::new();
        let call = s.modern("7", "tools/list", "").field("origin", "http://localhost:1").admit();
        let call = s.solo_of(&call, "7");
        let [Action::Respond { response, .. }] = &s.fail(call, code, "no")[..] else { panic!("{code}") };
        let answer = response.clone().into_answer();
        let field =
            |name: &str| answer.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value);
        assert_eq!(answer.status.as_u16(), status);
        assert_eq!(field("content-type").unwrap(), "application/json");
        assert_eq!(field("access-control-allow-origin").unwrap(), "http://localhost:1", "I5");
        assert_eq!(field("mcp-session-id"), None);
        assert!(!answer.close);
        s.finish();
    }
}

#[test]
fn z7_who_reads_events_alone_gets_the_status_too_and_200_in_a_stream() {
    for (code, status) in CODES {
        let mut s = Script::new();
        let call = s.solo_with("7", "text/event-stream");
        let text = ask::error_text("7", code, "no");
        let actions = s.fail(call, code, "no");
        match status {
            Some(status) => assert_eq!(actions, [json_error(call.exchange, status, &text)]),
            None => {
                assert_eq!(actions, call.stream());
                of_stream(&mut s, call, &text);
            }
        }
        s.finish();
    }
}

#[test]
fn z7_after_a_notice_an_error_is_in_the_stream() {
    for accept in [BOTH, "text/event-stream", "*/*"] {
        for first in [progress(1), note(1)] {
            for pulled in [true, false] {
                for (code, _) in CODES {
                    let mut s = Script::new();
                    let call = s.solo_with("7", accept);
                    assert_eq!(s.send(call.target(), first.clone()), call.stream());
                    let idle = pulled && s.pull(call.exchange).pulled == Pulled::Idle;
                    let woken = if idle { vec![call.pull()] } else { vec![] };
                    assert_eq!(s.fail(call, code, "no"), woken, "no second head");
                    of_stream(&mut s, call, &ask::error_text("7", code, "no"));
                    s.finish();
                }
            }
        }
    }
}

#[test]
fn z7_after_silence_an_error_is_in_the_stream() {
    for (code, status) in CODES {
        let mut s = Script::new();
        let (early, late) = (s.solo("6"), s.solo("7"));
        let after = s.config().sse_commit_after;
        assert_eq!(s.advance(after - TICK), []);
        let text = ask::error_text("6", code, "no");
        let expected = match status {
            Some(status) => json_error(early.exchange, status, &text),
            None => early.json(&text),
        };
        assert_eq!(s.fail(early, code, "no"), [expected], "at the last moment");
        assert_eq!(s.advance(TICK), late.stream());
        assert_eq!(s.pull(late.exchange).said(), [Said::Comment]);
        assert_eq!(s.fail(late, code, "no"), [late.pull()]);
        of_stream(&mut s, late, &ask::error_text("7", code, "no"));
        s.finish();
    }
}

#[test]
fn z7_silence_is_no_output_to_who_reads_json_alone() {
    let mut s = Script::new();
    let call = s.solo_with("7", "application/json");
    assert_eq!(s.send(call.target(), progress(1)), [], "D5");
    assert_eq!(s.advance(Duration::from_secs(120)), []);
    let answer = json_error(call.exchange, ErrorStatus::BadRequest, &ask::error_text("7", -32602, "no"));
    assert_eq!(s.fail(call, -32602, "no"), [answer]);
    s.finish();
}

#[test]
fn z7_what_was_refused_to_the_application_is_no_output() {
    let mut s = Script::with(|config| config.message_bytes_max = 200);
    let call = s.solo("7");
    let large = Json::from_text(format!(r#"{{"x":"{}"}}"#, "x".repeat(300)).into()).unwrap();
    let large = Outbound::Notice { method: "x".into(), params: Some(large), droppable: false };
    assert!(s.try_send(call.target(), large).is_err());
    assert!(s.try_send(call.target(), question(1)).is_err(), "Z8");
    let answer = json_error(call.exchange, ErrorStatus::NotFound, &ask::error_text("7", -32601, "no"));
    assert_eq!(s.fail(call, -32601, "no"), [answer]);
    s.finish();
}

#[test]
fn z7_data_goes_with_the_error() {
    let mut s = Script::new();
    let call = s.solo("7");
    let data = Json::from_text(r#"{"requiredCapabilities":{"sampling":{}}}"#.into()).unwrap();
    let error = ErrorObject::new(-32021, "no").with_data(data);
    let text = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"sampling":{}}}}}"#;
    let actions = s.send(call.target(), Outbound::Error { error });
    assert_eq!(actions, [json_error(call.exchange, ErrorStatus::BadRequest, text)]);
    s.finish();
}

#[test]
fn r11_after_an_error_with_a_status_everything_is_gone() {
    let mut s = Script::new();
    let call = s.solo("7");
    s.fail(call, -32601, "no");
    for late in [result("{}"), progress(1), note(1), question(1)] {
        let sent = s.try_send(call.target(), late);
        assert!(matches!(sent, Err(mcp_http_core::endpoint::SendError::Gone(_))), "{sent:?}");
    }
    assert_eq!(s.advance(Duration::from_secs(60)), []);
    assert_eq!(s.gone(call.exchange), [], "R4");
    s.finish();
}

#[test]
fn r8_every_status_gives_its_place_back() {
    let mut s = Script::with(|config| config.solo_calls_max = 1);
    for (code, _) in CODES {
        let call = s.solo("7");
        assert_eq!(s.fail(call, code, "no").len(), 1);
        s.flushed(call.exchange);
        let call = s.solo("7");
        s.send(call.target(), note(1));
        s.fail(call, code, "no");
        s.pull(call.exchange);
        s.flushed(call.exchange);
    }
    let call = s.solo("8");
    assert_eq!(s.answer(call, "{}"), [call.json(&ask::result_text("8", "{}"))]);
    s.finish();
}
