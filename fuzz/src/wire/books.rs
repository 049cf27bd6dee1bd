//! What the endpoint said of sessions, calls and exchanges so far, and whether it may say what it says next.

use std::collections::{BTreeMap, BTreeSet};

use mcp_http_core::endpoint::{Action, CallId, Delivery, ExchangeId, MessageId, SessionKey, Target};
use mcp_http_core::version::Version;

/// More than an error takes that the endpoint itself answers a call with.
const ERROR_BYTES_MAX: usize = 250;

/// A call that waits for the application.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) call: CallId,
    pub(super) session: Option<SessionKey>,
    pub(super) opens: bool,
    pub(super) version: Option<Version>,
    /// What the answer is to say: `t` of its parameters.
    pub(super) token: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Created,
    Committed,
}

#[derive(Debug, Default)]
pub(super) struct Books {
    /// Sessions that are not over, with the number that they have.
    pub(super) sessions: Vec<(SessionKey, usize, Life)>,
    /// The id of each session ever created, in their order.
    pub(super) ids: Vec<Vec<u8>>,
    pub(super) calls: Vec<Call>,
    pub(super) messages: Vec<MessageId>,
    /// Exchanges that are not over, and whether their response began.
    exchanges: BTreeMap<ExchangeId, bool>,
    /// Bytes of all answers there have been: those always have room (R14).
    pub(super) answered: usize,
    /// Senders that were told `Full`.
    pub(super) waiting: BTreeSet<Target>,
}

impl Books {
    pub(super) fn admit(&mut self, exchange: ExchangeId) {
        assert_eq!(self.exchanges.insert(exchange, false), None, "R4: {exchange:?} is given twice");
    }

    pub(super) fn is_over(&mut self, exchange: ExchangeId) {
        self.exchanges.remove(&exchange);
    }

    pub(super) fn exchanges(&self) -> usize {
        self.exchanges.len()
    }

    pub(super) fn number_of(&self, session: SessionKey) -> usize {
        let found = self.sessions.iter().find(|(key, ..)| *key == session);
        found.unwrap_or_else(|| panic!("R1: {session:?} is over")).1
    }

    pub(super) fn enter(&mut self, action: &Action) {
        match action {
            Action::CreateSession { session, id } => {
                assert!(!self.sessions.iter().any(|(key, ..)| key == session), "R1: created twice");
                self.sessions.push((*session, self.ids.len(), Life::Created));
                self.ids.push(id.as_bytes().to_vec());
            }
            Action::Commit { session } => {
                let life = self.life(*session);
                assert_eq!(std::mem::replace(life, Life::Committed), Life::Created, "R1: {action:?}");
            }
            Action::Discard { session, .. } => {
                assert_eq!(*self.life(*session), Life::Created, "R1: {action:?}");
                self.forget(*session);
            }
            Action::End { session, .. } => {
                assert_eq!(*self.life(*session), Life::Committed, "R1: {action:?}");
                self.forget(*session);
            }
            Action::Deliver { exchange, session, delivery } => {
                assert!(self.exchanges.contains_key(exchange), "R4: {action:?}");
                self.deliver(*session, delivery);
            }
            Action::Cancel { call, .. } => {
                let at = self.calls.iter().position(|other| other.call == *call);
                self.calls.swap_remove(at.unwrap_or_else(|| panic!("R7: {action:?}")));
                self.answered += ERROR_BYTES_MAX;
                self.waiting.remove(&Target::Call(*call));
            }
            Action::Respond { exchange, .. } => {
                let began = self.exchanges.get_mut(exchange).unwrap_or_else(|| panic!("R4: {action:?}"));
                assert!(!std::mem::replace(began, true), "R4: {action:?}");
            }
            Action::Reject { exchange, .. } => {
                assert_eq!(self.exchanges.remove(exchange), Some(false), "R4: {action:?}");
            }
            Action::Close { exchange } => {
                assert!(self.exchanges.remove(exchange).is_some(), "R4: {action:?}");
            }
            Action::Pull { exchange } => {
                assert_eq!(self.exchanges.get(exchange), Some(&true), "R4: {action:?}");
            }
            Action::Writable { target } => {
                assert!(self.waiting.remove(target), "R9: nobody waits: {action:?}");
            }
        }
    }

    fn life(&mut self, session: SessionKey) -> &mut Life {
        let found = self.sessions.iter_mut().find(|(key, ..)| *key == session);
        &mut found.unwrap_or_else(|| panic!("R1: {session:?} is over")).2
    }

    fn forget(&mut self, session: SessionKey) {
        self.sessions.retain(|(key, ..)| *key != session);
        self.waiting.remove(&Target::Session(session));
        let left = self.calls.iter().filter(|call| call.session == Some(session)).count();
        assert_eq!(left, 0, "R1: calls of {session:?} are not cancelled before its end");
    }

    fn deliver(&mut self, session: Option<SessionKey>, delivery: &Delivery) {
        let (call, request, opens, version) = match delivery {
            Delivery::Initialize { call, request, negotiated } => (call, request, true, Some(*negotiated)),
            Delivery::Call { call, request, version } => (call, request, false, *version),
            Delivery::Notice { message, .. } | Delivery::Reply { message, .. } => {
                self.messages.push(*message);
                return;
            }
        };
        if let Some(session) = session {
            let committed = *self.life(session) == Life::Committed;
            assert!(committed || opens, "R1: a call before Commit");
        }
        assert!(!self.calls.iter().any(|other| other.call == *call), "R5: {call:?} is given twice");
        let params = request.params.as_ref().and_then(|params| params.decode::<serde_json::Value>().ok());
        let token =
            params.as_ref().and_then(|params| params.get("t")?.as_str()).unwrap_or_default().to_owned();
        self.calls.push(Call { call: *call, session, opens, version, token });
    }
}
