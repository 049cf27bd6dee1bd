//! What the application does: it answers, speaks, is wrong or late, as the input says. Everything it says bears the
//! number of the session it is for.

use mcp_http_core::endpoint::{Event, Outbound, SendError, SessionKey, Target, Topic};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{ErrorObject, RequestId};
use serde_json::json;

use super::books::Call;
use super::server::Server;
use crate::input::Input;

/// More than an answer takes beside its padding, as a frame.
const ANSWER_BYTES_MAX: usize = 250;

/// One thing, if there is something to do.
pub(super) fn act(input: &mut Input<'_>, server: &mut Server) {
    let (what, pick) = (input.byte(), usize::from(input.byte()));
    let size = 40 * usize::from(what >> 4);
    match what % 16 {
        0..=8 if !server.books.calls.is_empty() => {
            let call = server.books.calls[pick % server.books.calls.len()].clone();
            with_call(what % 16, call, size, server);
        }
        9 | 10 if !server.books.messages.is_empty() => {
            let at = pick % server.books.messages.len();
            let message = server.books.messages.swap_remove(at);
            server.tell(Event::Taken { message });
        }
        11..=13 if !server.books.sessions.is_empty() => {
            let (key, number, _) = server.books.sessions[pick % server.books.sessions.len()];
            speak(key, number, what & 16 == 0, size, server);
        }
        14 if !server.books.sessions.is_empty() => {
            let (session, ..) = server.books.sessions[pick % server.books.sessions.len()];
            let ends = what & 16 == 0;
            server.tell(if ends { Event::EndSession { session } } else { Event::SessionFailed { session } });
        }
        15 => server.publish(&Topic::Tools),
        _ => {}
    }
}

fn with_call(what: u8, call: Call, size: usize, server: &mut Server) {
    let target = Target::Call(call.call);
    // Who opens a session does not know it before it is accepted.
    let number = call.session.filter(|_| !call.opens).map(|session| server.books.number_of(session));
    let said = json!({ "t": call.token, "s": number, "pad": "x".repeat(size) });
    let message = match what {
        0..=3 if call.opens => {
            let version = call.version.expect("it was negotiated");
            Outbound::Initialized { version, result: json!({ "protocolVersion": version.name() }).into() }
        }
        0..=3 => Outbound::Result { result: said.into() },
        4 => Outbound::Error { error: ErrorObject::new(-32602, "no").with_data(said) },
        5 => {
            server.tell(Event::CloseStream { call: call.call });
            return;
        }
        6 => Outbound::Request {
            id: RequestId::from_number(server.questions()),
            method: "roots/list".into(),
            params: Some(said.into()),
        },
        _ => Outbound::Notice { method: "note".into(), params: Some(said.into()), droppable: what == 7 },
    };
    let ends =
        matches!(message, Outbound::Initialized { .. } | Outbound::Result { .. } | Outbound::Error { .. });
    if ends {
        server.books.answered += size + ANSWER_BYTES_MAX;
        server.books.calls.retain(|other| other.call != call.call);
        server.books.waiting.remove(&target);
    }
    let sent = server.send(target, message);
    match (&sent, ends) {
        (Ok(()), _) => {}
        (Err(error), true) => panic!("R14: an answer has no room: {error:?}"),
        (Err(SendError::Full(_)), false) => {
            assert!(what != 7 || call.opens, "C11: what may be dropped is never full")
        }
        (Err(SendError::Misplaced(_)), false) => assert!(call.opens, "C3"),
        (Err(SendError::Gone(_) | SendError::TooMany(_)), false) => assert_eq!(what, 6, "R11: {sent:?}"),
        (Err(SendError::TooLarge(_)), false) => panic!("it is small"),
    }
}

fn speak(key: SessionKey, number: usize, droppable: bool, size: usize, server: &mut Server) {
    let params: Json = json!({ "s": number, "pad": "x".repeat(size) }).into();
    let message = Outbound::Notice { method: "note".into(), params: Some(params), droppable };
    match server.send(Target::Session(key), message) {
        Ok(()) => {}
        Err(SendError::Full(_)) => assert!(!droppable, "C11"),
        // Its client does not have the id yet.
        Err(SendError::Gone(_)) => {}
        Err(error) => panic!("{error:?}"),
    }
}
