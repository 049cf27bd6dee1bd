//! What each kind of judged request does. Establishing and ending sessions is `sessions`', streams are
//! `carry`'s.

use smallvec::{SmallVec, smallvec};

use crate::answer::Head;
use crate::h1::Body;
use crate::intake::{BatchItem, IncomingNotice, Initialize, Kind};
use crate::jsonrpc::{Reply, Request, RequestId};
use crate::reject::{Refusal, Reject};
use crate::session_id::SessionRef;
use crate::slab::Key;
use crate::time::Timestamp;
use crate::version::{Era, Version};

use super::Endpoint;
use super::action::{
    Action, Actions, CallId, CancelReason, Delivery, ExchangeId, Home, MessageId, Principal, SessionKey,
};
use super::exchange::Carries;
use super::life::Happening;
use super::stream::Stream;

/// What one body holds: nearly always one message.
type Items = SmallVec<[BatchItem; 1]>;

impl Endpoint {
    /// Does it, or refuses and has changed nothing but that the session was used.
    pub(super) fn admit_kind(
        &mut self,
        exchange: Key,
        kind: Kind,
        session: Option<&SessionRef>,
        who: Option<Principal>,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), Reject> {
        if let Kind::Initialize(initialize) = kind {
            return self.admit_initialize(exchange, initialize, session, who, now, out);
        }
        let session = match session {
            Some(session) => Some(self.route(session, who.as_ref()).map_err(|refusal| {
                let id = match &kind {
                    Kind::Call(request) => Some(request.id.clone()),
                    _ => None,
                };
                Reject::new(refusal).with_id(id)
            })?),
            None => None,
        };
        if matches!(kind, Kind::Delete) {
            // A DELETE is not a use of the session but its end.
            if let Some(session) = session {
                self.happen(session, Happening::Delete, now, out);
            }
            self.respond_whole(exchange, Head::NoContent, Body::Empty, out);
            return Ok(());
        }
        let Some(key) = session else { return self.admit_message(exchange, kind, None, now, out) };
        self.use_session(key, now, out);
        let admitted = self.admit_message(exchange, kind, session, now, out);
        self.end_if_drained(key, now, out);
        admitted
    }

    /// What is neither an `initialize` nor a DELETE, in its session or in none.
    fn admit_message(
        &mut self,
        exchange: Key,
        kind: Kind,
        session: Option<Key>,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), Reject> {
        match (kind, session) {
            (Kind::Call(request), Some(session)) => {
                self.admit_calls(exchange, session, smallvec![BatchItem::Request(request)], false, now, out)
            }
            (Kind::Call(request), None) => self.admit_solo(exchange, request, Era::Handshake, now, out),
            (Kind::Batch(items), Some(session)) => {
                self.admit_batch(exchange, session, items.into(), now, out)
            }
            (Kind::Open { last_event_id }, Some(session)) => {
                self.admit_open(exchange, session, last_event_id, now, out).map_err(Reject::new)
            }
            (Kind::Notice(notice), session) => {
                self.admit_messages(exchange, session, smallvec![BatchItem::Notice(notice)], now, out);
                Ok(())
            }
            (Kind::Reply(reply), session) => {
                self.admit_messages(exchange, session, smallvec![BatchItem::Reply(reply)], now, out);
                Ok(())
            }
            (Kind::Stateless(request), _) if request.listen.is_some() => {
                self.admit_listen(exchange, request, now, out)
            }
            (Kind::Stateless(request), _) => {
                self.admit_solo(exchange, request.request, Era::Stateless, now, out)
            }
            (Kind::StatelessNotice(notice), _) => {
                let notice = IncomingNotice { notice, cancels: None };
                self.admit_messages(exchange, None, smallvec![BatchItem::Notice(notice)], now, out);
                Ok(())
            }
            (Kind::Initialize(_) | Kind::Delete | Kind::Batch(_) | Kind::Open { .. }, _) => {
                Err(Reject::new(Refusal::MissingSession))
            }
        }
    }

    fn admit_initialize(
        &mut self,
        exchange: Key,
        initialize: Initialize,
        session: Option<&SessionRef>,
        who: Option<Principal>,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), Reject> {
        let id = initialize.request.id.clone();
        let opened = match session {
            None => self.establish(exchange, initialize, who, now, out),
            Some(session) => match self.route(session, who.as_ref()) {
                Ok(_) => Err(Refusal::InvalidRequest(
                    "this session is already initialized; send initialize without Mcp-Session-Id for another",
                )),
                Err(unknown) => Err(unknown),
            },
        };
        opened.map_err(|refusal| Reject::new(refusal).with_id(Some(id)))
    }

    fn admit_batch(
        &mut self,
        exchange: Key,
        session: Key,
        items: Items,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), Reject> {
        if !self.sessions.get(session).is_some_and(|session| session.version.batches()) {
            return Err(Reject::new(Refusal::InvalidRequest(
                "batches are part of protocol version 2025-03-26 only; send one message for each POST",
            )));
        }
        if items.iter().any(|item| matches!(item, BatchItem::Request(_))) {
            self.admit_calls(exchange, session, items, true, now, out)
        } else {
            self.admit_messages(exchange, Some(session), items, now, out);
            Ok(())
        }
    }

    /// One or more requests on one new stream; with them, in a batch, notices and replies.
    fn admit_calls(
        &mut self,
        exchange: Key,
        key: Key,
        items: Items,
        batch: bool,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), Reject> {
        let ids = || items.iter().filter_map(request_id).cloned();
        let count = ids().count();
        let refuse = |refusal| Reject::new(refusal).with_id(if batch { None } else { ids().next() });
        if self.shutdown.is_some() {
            return Err(refuse(Refusal::ShuttingDown));
        }
        let Some(session) = self.sessions.get_mut(key) else { return Err(refuse(Refusal::UnknownSession)) };
        let calls = u32::try_from(count).unwrap_or(u32::MAX);
        if session.calls.saturating_add(calls) as usize > self.config.calls_per_session_max {
            return Err(refuse(Refusal::TooManyCalls));
        }
        session.streams_opened = session.streams_opened.saturating_add(1);
        let number = session.streams_opened;
        let version = session.version;
        let mut stream = Stream::of_calls(number, ids(), batch);
        stream.carrier = Some(exchange);
        // Most sessions have one call at a time, and keep room for no more.
        if session.streams.is_empty() {
            session.streams.reserve_exact(1);
        }
        session.streams.push(stream);
        session.calls = session.calls.saturating_add(calls);
        self.carry_in_session(exchange, Carries::Stream { number }, key);
        self.await_first_output(exchange, now);
        let home = Home::Session { session: key, stream: number };
        let mut index: u16 = 0;
        for (place, item) in (0_u16..).zip(items) {
            let not_yet = CallId { home, index };
            match item {
                BatchItem::Request(request) => {
                    index = index.saturating_add(1);
                    let delivery = Delivery::Call { call: not_yet, request, version: Some(version) };
                    deliver(exchange, Some(key), delivery, out);
                }
                BatchItem::Notice(_) | BatchItem::Reply(_) => {
                    let message = MessageId { exchange, index: place };
                    self.take_in(message, Some(key), item, Some(not_yet), now, out);
                }
            }
        }
        Ok(())
    }

    /// A request that stands alone (S12, Z11): its stream lives and dies with its exchange.
    fn admit_solo(
        &mut self,
        exchange: Key,
        request: Request,
        era: Era,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), Reject> {
        let refuse = |refusal| Reject::new(refusal).with_id(Some(request.id.clone()));
        if self.shutdown.is_some() {
            return Err(refuse(Refusal::ShuttingDown));
        }
        if !self.budget.take_solo_call(self.config.solo_calls_max) {
            return Err(refuse(Refusal::TooBusy));
        }
        let mut stream = Stream::of_calls(1, core::iter::once(request.id.clone()), false);
        stream.carrier = Some(exchange);
        stream.era = era;
        self.carry(exchange, Carries::Solo(Box::new(stream)));
        self.await_first_output(exchange, now);
        let call = CallId { home: Home::Exchange(exchange), index: 0 };
        let version = match era {
            Era::Stateless => Some(Version::V2026_07_28),
            Era::Handshake => None,
        };
        deliver(exchange, None, Delivery::Call { call, request, version }, out);
        Ok(())
    }

    /// Notices and replies alone: 202 once the application took those that concern it (C1).
    fn admit_messages(
        &mut self,
        exchange: Key,
        session: Option<Key>,
        items: Items,
        now: Timestamp,
        out: &mut Actions,
    ) {
        if let Some(session) = session {
            self.carry_in_session(exchange, Carries::Nothing, session);
        }
        let mut waiting = SmallVec::new();
        for (index, item) in (0_u16..).zip(items) {
            if self.take_in(MessageId { exchange, index }, session, item, None, now, out) {
                waiting.push(index);
            }
        }
        let nothing = waiting.is_empty();
        self.carry(exchange, Carries::Messages { waiting });
        if nothing {
            self.respond_accepted(exchange, out);
        }
    }

    /// One notice or reply. Returns whether the application has to take it. In a batch, calls from `not_yet` on
    /// come after it.
    fn take_in(
        &mut self,
        message: MessageId,
        session: Option<Key>,
        item: BatchItem,
        not_yet: Option<CallId>,
        now: Timestamp,
        out: &mut Actions,
    ) -> bool {
        match (item, session) {
            (BatchItem::Notice(IncomingNotice { cancels: Some(id), .. }), Some(session)) => {
                self.cancel_by_client(session, &id, not_yet, now, out);
                false
            }
            (BatchItem::Notice(IncomingNotice { notice, .. }), session) => {
                deliver(message.exchange, session, Delivery::Notice { message, notice }, out);
                true
            }
            (BatchItem::Reply(reply), Some(session)) if self.was_asked(session, &reply) => {
                deliver(message.exchange, Some(session), Delivery::Reply { message, reply }, out);
                true
            }
            // A reply that answers nothing is taken and ignored (C1, C13).
            (BatchItem::Reply(_), _) => false,
            (BatchItem::Request(_), _) => false,
        }
    }

    /// Whether the reply answers an open request of the server, which it closes (C13).
    fn was_asked(&mut self, session: Key, reply: &Reply) -> bool {
        let Some(session) = self.sessions.get_mut(session) else { return false };
        let open = session.asked.iter().position(|asked| asked.id == reply.id);
        open.map(|index| session.asked.remove(index)).is_some()
    }

    /// Cancels the one waiting call with this id; an ambiguous id names none (C2, C10).
    fn cancel_by_client(
        &mut self,
        key: Key,
        id: &RequestId,
        not_yet: Option<CallId>,
        now: Timestamp,
        out: &mut Actions,
    ) {
        let Some(session) = self.sessions.get(key) else { return };
        let mut named = session.streams.iter().flat_map(|stream| {
            let home = Home::Session { session: key, stream: stream.number };
            let came = move |index| not_yet.is_none_or(|call| call.home != home || index < call.index);
            let calls = stream.waiting().filter(move |(index, call)| call.id == *id && came(*index));
            calls.map(|(index, _)| (stream.number, index))
        });
        let (Some((stream, index)), None) = (named.next(), named.next()) else { return };
        drop(named);
        let call = CallId { home: Home::Session { session: key, stream }, index };
        out.push(Action::Cancel { call, reason: CancelReason::Client });
        self.end_cancelled(call, now, out);
    }

    pub(super) fn carry(&mut self, exchange: Key, carries: Carries) {
        if let Some(exchange) = self.exchanges.get_mut(exchange) {
            exchange.carries = carries;
        }
    }

    /// The same, and the exchange is activity of the session until it ends.
    pub(super) fn carry_in_session(&mut self, exchange: Key, carries: Carries, session: Key) {
        self.carry(exchange, carries);
        if let (Some(exchange), Some(record)) =
            (self.exchanges.get_mut(exchange), self.sessions.get_mut(session))
        {
            exchange.session = Some(session);
            record.exchanges = record.exchanges.saturating_add(1);
        }
    }
}

pub(super) fn deliver(exchange: Key, session: Option<Key>, delivery: Delivery, out: &mut Actions) {
    let (exchange, session) = (ExchangeId(exchange), session.map(SessionKey));
    out.push(Action::Deliver { exchange, session, delivery });
}

fn request_id(item: &BatchItem) -> Option<&RequestId> {
    match item {
        BatchItem::Request(request) => Some(&request.id),
        BatchItem::Notice(_) | BatchItem::Reply(_) => None,
    }
}
