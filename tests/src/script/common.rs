//! Steps that several groups of tests share.

use mcp_http_core::endpoint::{
    Action, CallId, Delivery, EndReason, Event, ExchangeId, Outbound, SendError, SessionKey, Target,
};
use mcp_http_core::session_id::SessionId;
use mcp_http_core::version::Version;

use super::{Call, Drawn, Said, Script, Session, accepted, ask, no_content, note, only_reject, stream, told};

/// The messages among what was said.
#[must_use]
pub fn messages(drawn: &Drawn) -> Vec<String> {
    let said = drawn.said().into_iter().filter_map(|said| match said {
        Said::Message(text) => Some(text),
        Said::Comment | Said::Priming | Said::Retry => None,
    });
    said.collect()
}

/// The texts of these notes.
#[must_use]
pub fn notes(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(ask::note_text).collect()
}

/// A session's standalone stream as a target.
#[must_use]
pub fn session_of(session: &Session) -> Target {
    Target::Session(session.key)
}

/// A resume that is served, exactly; a stream's head and the order to pull.
///
/// # Panics
/// If it is not so.
#[must_use]
#[track_caller]
pub fn resume(s: &mut Script, session: &Session, after: &str) -> ExchangeId {
    let admission = s.get().with(&session.id).after(after).admit();
    assert_eq!(admission.actions, stream(admission.exchange));
    admission.exchange
}

/// What a resume is answered with if it is not served.
///
/// # Panics
/// If it is not so.
#[must_use]
#[track_caller]
pub fn resume_status(s: &mut Script, session: &Session, after: &str) -> u16 {
    let admission = s.get().with(&session.id).after(after).admit();
    if admission.actions == [no_content(admission.exchange)] {
        assert_eq!(s.flushed(admission.exchange), []);
        return 204;
    }
    told(only_reject(&admission.actions, admission.exchange)).0
}

/// A call's stream that was pulled to its end.
///
/// # Panics
/// If it is not so.
#[must_use]
#[track_caller]
pub fn streaming(s: &mut Script, session: &Session, id: &str) -> Call {
    let call = s.call(session, id, "t");
    assert_eq!(s.send(call.target(), note(0)), call.stream());
    s.pull(call.exchange);
    call
}

/// Sends what must not fit.
///
/// # Panics
/// If it is not so.
#[track_caller]
pub fn assert_full(s: &mut Script, to: Target, what: Outbound) {
    let sent = s.try_send(to, what);
    assert!(matches!(sent, Err(SendError::Full(_))), "{sent:?}");
}

/// Cancels by a notice of the client; returns what came of it besides the 202.
///
/// # Panics
/// If it is not so.
#[track_caller]
pub fn cancel(s: &mut Script, session: &Session, id: &str) -> Vec<Action> {
    let admission = s.post(ask::cancelled(id)).with(&session.id).admit();
    let mut actions = admission.actions;
    let delivered = actions
        .iter()
        .position(|action| matches!(action, Action::Deliver { delivery: Delivery::Notice { .. }, .. }));
    if let Some(place) = delivered {
        let Action::Deliver { delivery: Delivery::Notice { message, .. }, .. } = actions.remove(place) else {
            unreachable!()
        };
        assert_eq!(s.event(Event::Taken { message }), [accepted(admission.exchange)]);
    } else {
        let answer = accepted(admission.exchange);
        let place = actions.iter().position(|action| *action == answer).expect("C1: 202");
        actions.remove(place);
    }
    assert_eq!(s.flushed(admission.exchange), []);
    actions
}

/// The message that was said last.
///
/// # Panics
/// If it is not so.
#[must_use]
#[track_caller]
pub fn last_message(said: &[Said]) -> &str {
    match said.last() {
        Some(Said::Message(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// A call with id 7 of a client that reads this.
#[must_use]
pub fn call_with(s: &mut Script, session: &Session, accept: &str) -> Call {
    let admission = s.post(ask::request("7", "t")).with(&session.id).accept(accept).admit();
    s.call_of(Some(session), &admission, "7", "t")
}

/// What a stream of this version says first, and then this.
#[must_use]
pub fn primed(version: Version, said: impl IntoIterator<Item = Said>) -> Vec<Said> {
    let priming = (version == Version::V2025_11_25).then_some(Said::Priming);
    priming.into_iter().chain(said).collect()
}

/// The calls of a delivered batch, in order.
#[must_use]
pub fn batch_calls(actions: &[Action]) -> Vec<CallId> {
    let calls = actions.iter().filter_map(|action| match action {
        Action::Deliver { delivery: Delivery::Call { call, .. }, .. } => Some(*call),
        _ => None,
    });
    calls.collect()
}

/// A batch of these.
#[must_use]
pub fn batch(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// The end of a session.
#[must_use]
pub fn end(session: SessionKey, reason: EndReason) -> Action {
    Action::End { session, reason }
}

/// Deletes the session, exactly.
///
/// # Panics
/// If it is not so.
#[track_caller]
pub fn delete(s: &mut Script, session: &Session, before: &[Action]) -> Vec<Action> {
    let delete = s.delete().with(&session.id).admit();
    let expected = [before, &[end(session.key, EndReason::Deleted)]].concat();
    let (rest, answer) = delete.actions.split_at(delete.actions.len() - 1);
    assert_eq!(answer, [no_content(delete.exchange)]);
    assert_eq!(s.flushed(delete.exchange), []);
    assert_eq!(rest[..expected.len().min(rest.len())], expected);
    rest[expected.len()..].to_vec()
}

/// An `initialize` that finds no place.
///
/// # Panics
/// If it is not so.
#[track_caller]
pub fn refused_at_the_cap(s: &mut Script) {
    let admission = s.post(ask::initialize("1", "2025-11-25")).admit();
    let reject = only_reject(&admission.actions, admission.exchange).clone();
    assert_eq!(told(&reject), (503, -32000, Some("1".into())));
    let retry_after = reject.into_answer().fields.iter().any(|(name, _)| name == "retry-after");
    assert!(retry_after, "L2: Retry-After");
}

/// The id must be nobody's.
///
/// # Panics
/// If it is not so.
#[track_caller]
pub fn assert_unknown(s: &mut Script, id: &SessionId) {
    let admission = s.post(ask::request("9", "ping")).with(id).admit();
    let (status, code, _) = told(only_reject(&admission.actions, admission.exchange));
    assert_eq!((status, code), (404, -32001));
}
