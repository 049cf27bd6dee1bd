//! What the application sends: answers, notices and requests, each onto the one stream it belongs to (R6).
//! How it is kept there is `store`'s.

use bytes::{Bytes, BytesMut};

use crate::answer::{ErrorStatus, Head};
use crate::h1::Body;
use crate::intake::Accept;
use crate::jsonrpc::{self, ErrorObject, RequestId, code};
use crate::slab::Key;
use crate::time::Timestamp;
use crate::version::Era;

use super::Endpoint;
use super::action::{Actions, CallId, Home, Outbound, SendError, Target};
use super::exchange::Carries;
use super::ring::{Pushed, Weight};
use super::session::Asked;
use super::stream::{CallState, STANDALONE, Stream};

impl Endpoint {
    pub(super) fn send_to_call(
        &mut self,
        call: CallId,
        message: Outbound,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), SendError> {
        if let Home::Exchange(key) = call.home
            && let Some(exchange) = self.exchanges.get(key)
            && let Carries::Establish { id } = &exchange.carries
        {
            let opens = (id.clone(), exchange.establishes);
            return self.send_to_initialize(key, opens, message, now, out);
        }
        let waiting = self.stream_mut(call.home).and_then(|stream| stream.waiting_mut(call.index));
        let Some(id) = waiting.map(|call| call.id.clone()) else {
            return Err(SendError::Gone(Box::new(message)));
        };
        match message {
            Outbound::Initialized { .. } => Err(SendError::Misplaced(Box::new(message))),
            Outbound::Result { .. } | Outbound::Error { .. } => {
                let (text, error) = self.answer_text(&id, &message);
                if !self.answer_with_status(call, error, &text, out) {
                    self.answer(call, text, now, out);
                }
                Ok(())
            }
            Outbound::Notice { .. } => self.send_in_call(call, message, now, out),
            Outbound::Request { .. } => self.send_request(call.home, Some(call), message, now, out),
        }
    }

    pub(super) fn send_to_session(
        &mut self,
        session: Key,
        message: Outbound,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), SendError> {
        if !self.sessions.get(session).is_some_and(|session| session.phase.routes()) {
            return Err(SendError::Gone(Box::new(message)));
        }
        let home = Home::Session { session, stream: STANDALONE };
        match message {
            Outbound::Initialized { .. } | Outbound::Result { .. } | Outbound::Error { .. } => {
                Err(SendError::Misplaced(Box::new(message)))
            }
            Outbound::Notice { .. } => {
                self.open_standalone(session);
                self.push_or_return(home, None, message, now, out)
            }
            Outbound::Request { .. } => {
                self.open_standalone(session);
                self.send_request(home, None, message, now, out)
            }
        }
    }

    fn send_to_initialize(
        &mut self,
        exchange: Key,
        opens: (RequestId, Option<Key>),
        message: Outbound,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), SendError> {
        match message {
            Outbound::Initialized { version, .. } if version.era() != Era::Handshake => {
                Err(SendError::Misplaced(Box::new(message)))
            }
            Outbound::Initialized { version, result } => {
                self.offer(exchange, opens, version, &result, now, out);
                Ok(())
            }
            Outbound::Error { error } => {
                self.refuse_initialize(exchange, opens, &error, now, out);
                Ok(())
            }
            Outbound::Result { .. } | Outbound::Notice { .. } | Outbound::Request { .. } => {
                Err(SendError::Misplaced(Box::new(message)))
            }
        }
    }

    /// A notice of a call. While the head is held it turns the response into an event stream, if the client
    /// reads one; a client that reads only JSON gets the answer alone.
    fn send_in_call(
        &mut self,
        call: CallId,
        message: Outbound,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), SendError> {
        if self.held_carrier(call.home).is_some_and(|(_, accept)| !accept.event_stream) {
            self.counters.dropped_notices = self.counters.dropped_notices.saturating_add(1);
            return Ok(());
        }
        self.push_or_return(call.home, Some(call), message, now, out)
    }

    /// A request to the client. With nothing that can carry it, it fails at once (C13).
    fn send_request(
        &mut self,
        home: Home,
        call: Option<CallId>,
        message: Outbound,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), SendError> {
        let Outbound::Request { id, .. } = &message else {
            return Err(SendError::Misplaced(Box::new(message)));
        };
        let id = id.clone();
        let Home::Session { session, stream: number } = home else {
            return Err(SendError::Gone(Box::new(message)));
        };
        if !self.can_carry(session, number) {
            return Err(SendError::Gone(Box::new(message)));
        }
        let open = self.sessions.get(session).map_or(&[][..], |session| &session.asked);
        if open.iter().any(|asked| asked.id == id) {
            return Err(SendError::Misplaced(Box::new(message)));
        }
        if open.len() >= self.config.calls_per_session_max {
            return Err(SendError::TooMany(Box::new(message)));
        }
        self.push_or_return(home, call, message, now, out)?;
        if let Some(session) = self.sessions.get_mut(session) {
            session.asked.push(Asked { id, stream: number });
        }
        Ok(())
    }

    /// Forgets a request to the client.
    pub(super) fn withdraw(&mut self, target: Target, id: &RequestId) {
        let (session, number) = match target {
            Target::Session(session) => (session.0, STANDALONE),
            Target::Call(CallId { home: Home::Session { session, stream }, .. }) => (session, stream),
            Target::Call(CallId { home: Home::Exchange(_), .. }) => return,
        };
        if let Some(session) = self.sessions.get_mut(session) {
            session.asked.retain(|asked| asked.stream != number || asked.id != *id);
        }
    }

    /// Whether somebody reads the stream, or can come back to it.
    fn can_carry(&self, session: Key, number: u32) -> bool {
        let Some(stream) = self.stream(Home::Session { session, stream: number }) else { return false };
        match stream.carrier.and_then(|key| self.exchanges.get(key)) {
            Some(exchange) => exchange.head_sent || exchange.accept.event_stream,
            None => !stream.lost && stream.retained_until.is_some(),
        }
    }

    /// Puts a notice or a request into the ring of its stream, or hands it back.
    fn push_or_return(
        &mut self,
        home: Home,
        call: Option<CallId>,
        message: Outbound,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), SendError> {
        let (text, droppable) = match &message {
            Outbound::Notice { method, params, droppable } => {
                let mut text = BytesMut::with_capacity(256);
                jsonrpc::write_notice(method, params.as_ref(), &mut text);
                (text, *droppable)
            }
            Outbound::Request { id, method, params } => {
                let mut text = BytesMut::with_capacity(256);
                jsonrpc::write_request(id, method, params.as_ref(), &mut text);
                (text, false)
            }
            Outbound::Initialized { .. } | Outbound::Result { .. } | Outbound::Error { .. } => {
                return Err(SendError::Misplaced(Box::new(message)));
            }
        };
        if text.len() > self.config.message_bytes_max {
            return Err(SendError::TooLarge(Box::new(message)));
        }
        let weight = if droppable { Weight::Droppable } else { Weight::Kept };
        // What cannot be sent must not turn the response into a stream either.
        let pushed = if self.has_memory(text.len(), weight) {
            self.commit_if_held(home, now, out);
            self.push(home, &text, weight, out)
        } else {
            self.starve(home, weight)
        };
        match pushed {
            Pushed::Stored { .. } | Pushed::Dropped => Ok(()),
            Pushed::Full => {
                self.mark_blocked(home, call);
                if core::mem::take(&mut self.starved) {
                    self.wait_for_memory(home, call, now);
                }
                Err(SendError::Full(Box::new(message)))
            }
        }
    }

    fn mark_blocked(&mut self, home: Home, call: Option<CallId>) {
        let Some(stream) = self.stream_mut(home) else { return };
        match call {
            None => stream.blocked = true,
            Some(call) => {
                if let Some(call) = stream.waiting_mut(call.index) {
                    call.blocked = true;
                }
            }
        }
    }

    fn commit_if_held(&mut self, home: Home, now: Timestamp, out: &mut Actions) {
        if let Some((key, _)) = self.held_carrier(home) {
            self.commit_to_stream(key, false, now, out);
            self.release_held(home, out);
        }
    }

    /// The exchange that carries a stream, and what its client reads, as long as its head is held.
    fn held_carrier(&self, home: Home) -> Option<(Key, Accept)> {
        let key = self.stream(home)?.carrier?;
        let exchange = self.exchanges.get(key)?;
        (!exchange.head_sent).then_some((key, exchange.accept))
    }

    /// Answers of a batch that waited for a JSON array go onto the stream, since there is one now.
    pub(super) fn release_held(&mut self, home: Home, out: &mut Actions) {
        let Some(stream) = self.stream_mut(home) else { return };
        let mut held = Vec::new();
        for call in &mut stream.calls {
            if matches!(call.state, CallState::Held(_))
                && let CallState::Held(text) = core::mem::replace(&mut call.state, CallState::Done)
            {
                held.push(text);
            }
        }
        if let Some(carrier) = self.stream(home).and_then(|stream| stream.carrier) {
            self.unhold(carrier);
        }
        for text in held {
            self.push(home, &text, Weight::Final, out);
        }
    }

    /// In the stateless era some errors have a status of their own, as long as no head is out (Z7). They are
    /// JSON whatever the client accepts, as refusals are.
    fn answer_with_status(
        &mut self,
        call: CallId,
        error: Option<i64>,
        text: &Bytes,
        out: &mut Actions,
    ) -> bool {
        let Some(status) = error.and_then(ErrorStatus::of) else { return false };
        if !self.stream(call.home).is_some_and(|stream| stream.era == Era::Stateless) {
            return false;
        }
        let Some((key, _)) = self.held_carrier(call.home) else { return false };
        self.drop_stream_at(call.home);
        self.respond_whole(key, Head::Error(status), Body::Full(text.clone()), out);
        true
    }

    /// The answer to a call: as JSON while that is possible and wanted, else on its stream.
    fn answer(&mut self, call: CallId, text: Bytes, now: Timestamp, out: &mut Actions) {
        let Some(stream) = self.stream(call.home) else { return };
        let (batch, last) = (stream.batch, stream.waits_for_one());
        match self.held_carrier(call.home).map(|(key, accept)| (key, accept.wants_json())) {
            Some((key, true)) if batch && !last => {
                self.hold(key, text.len());
                self.set_call(call, CallState::Held(text));
            }
            Some((key, true)) => {
                self.unhold(key);
                self.set_call(call, CallState::Held(text));
                let body = self.take_held(call.home, batch);
                // A JSON answer is not retained: its stream is over with it.
                self.drop_stream_at(call.home);
                self.respond_whole(key, Head::Json { session: None }, Body::Full(body), out);
            }
            Some((key, false)) => {
                self.commit_to_stream(key, false, now, out);
                self.answer_on_stream(call, &text, out);
            }
            None => self.answer_on_stream(call, &text, out),
        }
        self.call_ended(call.home, now, out);
    }

    fn answer_on_stream(&mut self, call: CallId, text: &[u8], out: &mut Actions) {
        self.set_call(call, CallState::Done);
        self.push(call.home, text, Weight::Final, out);
        let abandoned = self.stream(call.home).is_some_and(|stream| stream.lost && stream.carrier.is_none());
        if abandoned && self.stream(call.home).is_some_and(Stream::is_finished) {
            self.drop_stream_at(call.home);
        }
    }

    /// The client cancelled: its stream ends without an answer; if nothing was sent, the answer is an error.
    pub(super) fn end_cancelled(&mut self, call: CallId, now: Timestamp, out: &mut Actions) {
        let Some(stream) = self.stream_mut(call.home) else { return };
        let (batch, carrier) = (stream.batch, stream.carrier);
        let Some(waiting) = stream.waiting_mut(call.index) else { return };
        let id = waiting.id.clone();
        if batch || self.held_carrier(call.home).is_some() {
            let error = ErrorObject::new(code::CANCELLED, "the call was cancelled by the client");
            let (text, _) = self.answer_text(&id, &Outbound::Error { error });
            return self.answer(call, text, now, out);
        }
        self.set_call(call, CallState::Done);
        match carrier {
            Some(key) => self.wake(key, out),
            None if self.stream(call.home).is_some_and(|stream| stream.lost) => {
                self.drop_stream_at(call.home)
            }
            None => {}
        }
        self.call_ended(call.home, now, out);
    }

    /// The text of an answer; one that is too large, or for which there is no memory, becomes an
    /// error. With the code of the error, if it is one now.
    fn answer_text(&mut self, id: &RequestId, message: &Outbound) -> (Bytes, Option<i64>) {
        let (text, error) = match message {
            Outbound::Result { result } => (jsonrpc::result_text(id, result), None),
            Outbound::Error { error } => (jsonrpc::error_text(Some(id), error), Some(error.code)),
            Outbound::Initialized { .. } | Outbound::Notice { .. } | Outbound::Request { .. } => {
                (Bytes::new(), None)
            }
        };
        match self.cannot_hold(text.len()) {
            None => (text, error),
            Some(why) => {
                let error = ErrorObject::new(code::INTERNAL_ERROR, why);
                (jsonrpc::error_text(Some(id), &error), Some(error.code))
            }
        }
    }

    /// The answers of a stream as one JSON text.
    fn take_held(&mut self, home: Home, batch: bool) -> Bytes {
        let Some(stream) = self.stream_mut(home) else { return Bytes::new() };
        let mut texts = stream.calls.iter_mut().filter_map(|call| {
            match core::mem::replace(&mut call.state, CallState::Done) {
                CallState::Held(text) => Some(text),
                CallState::Waiting | CallState::Done => None,
            }
        });
        if !batch {
            return texts.next().unwrap_or_default();
        }
        let mut array = BytesMut::from(&b"["[..]);
        for (index, text) in texts.enumerate() {
            array.extend_from_slice(if index == 0 { b"" } else { b"," });
            array.extend_from_slice(&text);
        }
        array.extend_from_slice(b"]");
        array.freeze()
    }

    fn set_call(&mut self, call: CallId, state: CallState) {
        let stream = self.stream_mut(call.home);
        if let Some(call) = stream.and_then(|stream| stream.calls.get_mut(usize::from(call.index))) {
            call.state = state;
        }
    }

    /// One call less is in flight.
    fn call_ended(&mut self, home: Home, now: Timestamp, out: &mut Actions) {
        let Home::Session { session: key, stream: number } = home else { return };
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.calls = session.calls.saturating_sub(1);
        session.last_active = now;
        let open = session.stream(number).is_some_and(|stream| !stream.is_finished());
        if let Some(session) = self.sessions.get_mut(key).filter(|_| !open) {
            session.asked.retain(|asked| asked.stream != number);
        }
        self.end_if_drained(key, now, out);
    }
}
