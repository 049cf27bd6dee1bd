//! What the two ends of a channel share: the messages that wait to be taken, the calls in flight, the requests
//! to the client that wait for a reply.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use mcp_http_core::endpoint::{DiscardReason, EndReason, Event, Outbound, Target};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{ErrorObject, Reply, RequestId};
use mcp_http_core::version::Version;

use crate::origin::{Origin, origin_getters};
use crate::session::Session;
use crate::signal::Flag;

use super::call::{Asked, CallHandle};
use super::message::{Parts, is_same, quoted};

/// Why a channel is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelEnd {
    /// The session was committed, and ended.
    Ended(EndReason),
    /// The session never came to be.
    Discarded(DiscardReason),
    /// The one call of a channel without a session was answered.
    Answered,
    /// The client of a channel without a session is gone, and does not wait for the answer.
    Cancelled,
}

/// One message from the client.
#[derive(Clone, Debug)]
pub struct Incoming {
    message: Json,
    call: Option<CallHandle>,
    version: Option<Version>,
    origin: Origin,
}

impl Incoming {
    /// The whole JSON-RPC message, on one line: a request, a notice, or the reply to a request that was sent
    /// by way of the channel, with the id that it was sent with.
    ///
    /// A request shows the client's id, unless another call in flight in this channel shows the same: then it
    /// shows one that is free. So an answer that bears the id which was shown always finds its call.
    #[must_use]
    pub fn message(&self) -> &Json {
        &self.message
    }

    /// The same, to keep.
    #[must_use]
    pub fn into_message(self) -> Json {
        self.message
    }

    /// Where the answer goes, for a request. A `notifications/cancelled` has the call that was cancelled.
    #[must_use]
    pub fn call(&self) -> Option<&CallHandle> {
        self.call.as_ref()
    }

    /// For an `initialize`, the version to answer with, unless another of the same era is wanted; for other
    /// requests the one that the session negotiated, or that the request names. `None` with sessions off, and
    /// for what is no request.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    origin_getters!();
}

/// A channel's inside.
pub(super) struct Link {
    session: Option<Session>,
    messages_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Queued>,
    /// Not answered and not cancelled.
    calls: Vec<CallHandle>,
    asking: Vec<Asking>,
    renamed: u64,
    end: Option<ChannelEnd>,
    waker: Option<Waker>,
}

struct Queued {
    parts: Parts,
    call: Option<CallHandle>,
    version: Option<Version>,
    origin: Origin,
    taken: Option<Taken>,
}

/// Tells whoever waits for it that the message was taken, or never will be.
struct Taken(Arc<Flag>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// A request to the client without a reply.
struct Asking {
    /// Its id towards the client.
    sent: RequestId,
    /// Its id towards the application.
    id: Bytes,
    /// The call on whose stream it went; none if that was the standalone stream.
    on: Option<CallHandle>,
}

impl Link {
    pub(super) fn new(session: Option<Session>, messages_max: usize) -> Arc<Link> {
        Arc::new(Link { session, messages_max, state: Mutex::default() })
    }

    pub(super) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// A request came. `None` if the channel is over.
    pub(super) fn call(&self, asked: Asked, version: Option<Version>, origin: Origin) -> Option<CallHandle> {
        let mut state = self.lock();
        if state.end.is_some() {
            return None;
        }
        let shown = state.free_id(Bytes::copy_from_slice(asked.id.literal()));
        let call = CallHandle::new(&asked, shown.clone(), origin.clone());
        state.calls.push(call.clone());
        let parts = Parts::Request { id: shown, method: asked.method, params: asked.params };
        let queued = Queued { parts, call: Some(call.clone()), version, origin, taken: None };
        self.put(state, queued);
        Some(call)
    }

    /// A notice came. What is returned is set when the application took it.
    pub(super) fn notice(&self, method: Box<str>, params: Option<Json>, origin: Origin) -> Arc<Flag> {
        let flag = Arc::new(Flag::default());
        let taken = Taken(Arc::clone(&flag));
        let state = self.lock();
        // A client waits until its notice is taken; but one that leaves, and comes again with more, does not (R8).
        if state.queue.len() >= self.messages_max {
            drop(state);
            tracing::warn!(session = ?self.session, %method, "a notice is dropped: nobody takes them");
            return flag;
        }
        let parts = Parts::Notice { method, params };
        self.put(state, Queued { parts, call: None, version: None, origin, taken: Some(taken) });
        flag
    }

    /// Nobody waits for the call any more.
    pub(super) fn cancel(&self, call: &CallHandle) {
        let origin = call.release();
        let mut state = self.lock();
        if !state.take_call(call) {
            return;
        }
        let before = state.queue.len();
        state.queue.retain(|queued| !queued.call.as_ref().is_some_and(|queued| queued.is(call)));
        let was_seen = state.queue.len() == before;
        self.withdraw_all(state, Some(call));
        // Without an origin, the application has heard of it by an answer that came too late.
        if let Some(origin) = origin.filter(|_| was_seen && !call.opens()) {
            let parts = Parts::Cancelled { id: call.shown().clone() };
            let call = Some(call.clone());
            self.put(self.lock(), Queued { parts, call, version: None, origin, taken: None });
        }
        self.end_if_alone(ChannelEnd::Cancelled);
    }

    /// The call has its answer.
    pub(super) fn settle(&self, call: &CallHandle) {
        let mut state = self.lock();
        state.take_call(call);
        self.withdraw_all(state, Some(call));
        call.answered().set();
        self.end_if_alone(ChannelEnd::Answered);
    }

    /// The channel is over; what was not taken is forgotten. Again does nothing.
    pub(super) fn end(&self, end: ChannelEnd) {
        let mut state = self.lock();
        if state.end.is_some() {
            return;
        }
        state.end = Some(end);
        state.calls.drain(..).for_each(|call| drop(call.release()));
        let (forgotten, waker) = (std::mem::take(&mut state.queue), state.waker.take());
        self.withdraw_all(state, None);
        drop(forgotten);
        waker.into_iter().for_each(Waker::wake);
    }

    /// The application takes nothing any more: what waits for an answer gets an error, a session ends.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        if state.end.is_some() {
            return;
        }
        let (calls, forgotten) = (state.calls.clone(), std::mem::take(&mut state.queue));
        drop(state);
        drop(forgotten);
        let opened = !calls.iter().any(CallHandle::opens);
        if let Some(session) = self.session.as_ref().filter(|_| opened) {
            return session.end();
        }
        for call in calls {
            let error = ErrorObject::internal("the server gave this request up");
            // Nobody may wait any more.
            let _ = call.answer(Outbound::Error { error });
            self.settle(&call);
        }
    }

    pub(super) fn poll_take(&self, cx: &Context<'_>) -> Poll<Option<Incoming>> {
        let mut state = self.lock();
        while let Some(Queued { parts, call, version, origin, taken }) = state.queue.pop_front() {
            // Whoever has not heard of a call need not hear that it was cancelled.
            if let (Parts::Request { .. }, Some(call)) = (&parts, &call)
                && call.is_cancelled()
            {
                state.take_call(call);
                if self.session.is_none() {
                    state.end.get_or_insert(ChannelEnd::Cancelled);
                }
                continue;
            }
            drop(state);
            drop(taken);
            return Poll::Ready(Some(Incoming { message: parts.text(), call, version, origin }));
        }
        if state.end.is_some() {
            return Poll::Ready(None);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    pub(super) fn ended(&self) -> Option<ChannelEnd> {
        self.lock().end
    }

    /// Of a channel without a session: whether its call is over, one way or the other.
    fn end_if_alone(&self, end: ChannelEnd) {
        if self.session.is_some() {
            return;
        }
        let mut state = self.lock();
        // A cancellation that was queued is still taken.
        state.end.get_or_insert(end);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// The calls in flight that `is` names.
    pub(super) fn calls(&self, is: impl Fn(&CallHandle) -> bool) -> Vec<CallHandle> {
        self.lock().calls.iter().filter(|call| is(call)).cloned().collect()
    }

    fn put(&self, mut state: MutexGuard<'_, State>, queued: Queued) {
        if state.end.is_some() {
            drop(state);
            return;
        }
        state.queue.push_back(queued);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Requests to the client.
impl Link {
    /// Whether replies wait that nobody takes: then nothing more is asked (R8).
    pub(super) fn is_behind(&self) -> bool {
        self.lock().queue.len() >= self.messages_max
    }

    /// Enters a request that is about to be sent; returns its id towards the client. The reply comes as a
    /// message. `None` if there is no session, or no longer.
    pub(super) fn ask(self: &Arc<Self>, id: Bytes, on: Option<&CallHandle>) -> Option<RequestId> {
        let session = self.session.as_ref()?;
        let link: Weak<Link> = Arc::downgrade(self);
        let sent = session.0.line().requests.post(Box::new(move |reply, origin| {
            if let Some(link) = link.upgrade() {
                link.reply(reply, origin);
            }
        }));
        self.lock().asking.push(Asking { sent: sent.clone(), id, on: on.cloned() });
        Some(sent)
    }

    /// The request of this id towards the application is not waited for any more; returns its id towards the
    /// client, and the call on whose stream it went.
    pub(super) fn take_asking(&self, id: &[u8]) -> Option<(RequestId, Option<CallHandle>)> {
        let mut state = self.lock();
        let index = state.asking.iter().position(|asking| is_same(&asking.id, id))?;
        let Asking { sent, on, .. } = state.asking.swap_remove(index);
        drop(state);
        self.withdraw(&sent, on.as_ref());
        Some((sent, on))
    }

    /// The request of this id towards the client could not be sent.
    pub(super) fn forget_asking(&self, sent: &RequestId) {
        self.lock().asking.retain(|asking| asking.sent != *sent);
        if let Some(session) = &self.session {
            session.0.line().requests.forget(sent);
        }
    }

    fn reply(&self, reply: Reply, origin: Origin) {
        let mut state = self.lock();
        let Some(index) = state.asking.iter().position(|asking| asking.sent == reply.id) else { return };
        let parts = Parts::Reply { id: state.asking.swap_remove(index).id, outcome: reply.outcome };
        self.put(state, Queued { parts, call: None, version: None, origin, taken: None });
    }

    /// Withdraws what was asked on this call's stream, or everything.
    fn withdraw_all(&self, mut state: MutexGuard<'_, State>, on: Option<&CallHandle>) {
        let all = std::mem::take(&mut state.asking);
        let is_meant = |asking: &Asking| match (on, &asking.on) {
            (Some(on), Some(of)) => of.is(on),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let (meant, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(is_meant);
        state.asking = kept;
        drop(state);
        meant.iter().for_each(|asking| self.withdraw(&asking.sent, asking.on.as_ref()));
    }

    fn withdraw(&self, sent: &RequestId, on: Option<&CallHandle>) {
        let Some(session) = &self.session else { return };
        session.0.line().requests.forget(sent);
        let target = on.map_or(Target::Session(session.0.key), CallHandle::target);
        if let Some(port) = session.0.port.upgrade() {
            port.handle(session.0.shard, Event::Withdraw { target, id: sent.clone() });
        }
    }
}

impl State {
    fn take_call(&mut self, call: &CallHandle) -> bool {
        drop(call.release());
        let index = self.calls.iter().position(|known| known.is(call));
        index.map(|index| self.calls.swap_remove(index)).is_some()
    }

    /// `wanted`, or an id that no call in flight shows.
    fn free_id(&mut self, wanted: Bytes) -> Bytes {
        let mut id = wanted;
        while self.calls.iter().any(|call| is_same(call.shown(), &id)) {
            self.renamed = self.renamed.wrapping_add(1);
            id = quoted(&format!("again-{}", self.renamed));
        }
        id
    }
}
