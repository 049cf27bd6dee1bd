//! The handler behind channels: turns what the driver calls into messages, and waits until they are answered.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use http::request::Parts;
use mcp_http_core::endpoint::{DiscardReason, EndReason, Principal, SessionKey};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::ErrorObject;
use mcp_http_core::param_headers::ParamHeaders;

use crate::call::Call;
use crate::handler::{Access, Handler, Initialize, Initialized, Notice, SessionRefused};
use crate::service::Publisher;
use crate::session::Session;

use super::backlog::{Backlog, Offer};
use super::call::{Address, Asked, CallHandle};
use super::link::{ChannelEnd, Link};

/// Messages that may wait in one channel to be taken.
const MESSAGES_MAX: usize = 256;

/// What a server is given instead of an application's own [`Handler`]; its messages come out of
/// [`Channels`](super::Channels).
pub struct ChannelHandler {
    backlog: Arc<Backlog>,
    /// The channel of each session.
    links: Mutex<BTreeMap<(u16, SessionKey), Arc<Link>>>,
    messages_max: usize,
    authorize: Option<Box<Authorize>>,
    may_open_session: Option<Box<MayOpen>>,
    param_headers: ParamHeaders,
}

type Authorize = dyn Fn(&Parts) -> Access + Send + Sync;
type MayOpen = dyn Fn(Option<&str>, &Parts, Option<&Principal>) -> bool + Send + Sync;

impl ChannelHandler {
    pub(super) fn new(backlog: Arc<Backlog>) -> Self {
        ChannelHandler {
            backlog,
            links: Mutex::default(),
            messages_max: MESSAGES_MAX,
            authorize: None,
            may_open_session: None,
            param_headers: ParamHeaders::new(),
        }
    }

    /// The same with a judge of who is asking: see [`Handler::authorize`].
    #[must_use]
    pub fn authorize(mut self, judge: impl Fn(&Parts) -> Access + Send + Sync + 'static) -> Self {
        self.authorize = Some(Box::new(judge));
        self
    }

    /// The same with a limit of rate: see [`Handler::may_open_session`].
    #[must_use]
    pub fn may_open_session(
        mut self,
        judge: impl Fn(Option<&str>, &Parts, Option<&Principal>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.may_open_session = Some(Box::new(judge));
        self
    }

    /// The same with the fields that clients mirror: see [`Handler::param_headers`].
    #[must_use]
    pub fn param_headers(mut self, headers: ParamHeaders) -> Self {
        self.param_headers = headers;
        self
    }

    /// The same with another limit of messages that wait in one channel to be taken; it is 256. At the limit,
    /// notices are dropped, and requests to the client are refused to the application.
    #[must_use]
    pub fn messages_max(mut self, messages: usize) -> Self {
        self.messages_max = messages;
        self
    }

    fn links(&self) -> MutexGuard<'_, BTreeMap<(u16, SessionKey), Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link_of(&self, session: &Session) -> Option<Arc<Link>> {
        self.links().get(&key_of(session)).cloned()
    }

    fn end(&self, session: &Session, end: ChannelEnd) {
        let link = self.links().remove(&key_of(session));
        if let Some(link) = link {
            link.end(end);
        }
    }

    /// Offers a new channel to who accepts.
    fn offer(&self, link: &Arc<Link>) -> Result<Offer, ErrorObject> {
        self.backlog.offer(link).ok_or_else(|| ErrorObject::internal("the server takes no more requests"))
    }
}

fn key_of(session: &Session) -> (u16, SessionKey) {
    (session.0.shard.0, session.0.key)
}

impl Handler for ChannelHandler {
    fn authorize(&self, head: &Parts) -> Access {
        match &self.authorize {
            Some(judge) => judge(head),
            None => head.extensions.get().cloned().map_or_else(Access::anyone, Access::principal),
        }
    }

    fn may_open_session(&self, peer: Option<&str>, head: &Parts, who: Option<&Principal>) -> bool {
        self.may_open_session.as_ref().is_none_or(|judge| judge(peer, head, who))
    }

    fn param_headers(&self) -> ParamHeaders {
        self.param_headers.clone()
    }

    fn started(&self, publisher: Publisher) {
        self.backlog.started(publisher);
    }

    async fn initialize(&self, request: Initialize) -> Result<Initialized, ErrorObject> {
        let Initialize { params, negotiated, origin, id, address } = request;
        let link = match &origin.session {
            // It may have been discarded meanwhile.
            Some(session) => self.link_of(session).ok_or_else(over)?,
            None => Link::new(None, self.messages_max),
        };
        let asked = Asked { address, id, method: "initialize".into(), params, opens: true };
        let call = link.call(asked, Some(negotiated), origin).ok_or_else(over)?;
        let _open = Open { link: &link, call: &call };
        let _offer = self.offer(&link)?;
        settled(&call).await;
        Err(over())
    }

    async fn call(&self, call: Call) -> Result<Json, ErrorObject> {
        let link = match call.session() {
            Some(session) => self.link_of(session).ok_or_else(over)?,
            None => Link::new(None, self.messages_max),
        };
        let Call { request, version, origin, line } = call;
        let address = Address::of(&line);
        drop(line);
        let asked =
            Asked { address, id: request.id, method: request.method, params: request.params, opens: false };
        let alone = origin.session.is_none();
        let call = link.call(asked, version, origin).ok_or_else(over)?;
        let _open = Open { link: &link, call: &call };
        let _offer = if alone { Some(self.offer(&link)?) } else { None };
        settled(&call).await;
        Err(over())
    }

    async fn notice(&self, notice: Notice) {
        let Notice { notice, origin } = notice;
        // Of what has no session, no channel is left that a notice could be about.
        let Some(link) = origin.session.as_ref().and_then(|session| self.link_of(session)) else { return };
        let taken = link.notice(notice.method, notice.params, origin);
        drop(link);
        taken.wait().await;
    }

    fn session_created(&self, session: &Session) -> Result<(), SessionRefused> {
        let link = Link::new(Some(session.clone()), self.messages_max);
        self.links().insert(key_of(session), link);
        Ok(())
    }

    fn session_discarded(&self, session: &Session, reason: DiscardReason) {
        self.end(session, ChannelEnd::Discarded(reason));
    }

    fn session_ended(&self, session: &Session, reason: EndReason) {
        self.end(session, ChannelEnd::Ended(reason));
    }
}

/// The server is gone, and with it all that it would have said.
impl Drop for ChannelHandler {
    fn drop(&mut self) {
        let links = std::mem::take(&mut *self.links());
        links.into_values().for_each(|link| link.end(ChannelEnd::Ended(EndReason::Shutdown)));
        self.backlog.down();
    }
}

/// A call while it is in flight; cancelled, if it was not answered when this goes.
struct Open<'a> {
    link: &'a Link,
    call: &'a CallHandle,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.call.answered().is_set() {
            self.link.cancel(self.call);
        }
    }
}

/// Waits until the call is answered, or nobody waits for it any more.
async fn settled(call: &CallHandle) {
    poll_fn(|cx| match call.answered().poll_set(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => call.cancelled_flag().poll_set(cx),
    })
    .await;
}

/// What nobody gets to see: the call was answered, or nobody waits for it.
fn over() -> ErrorObject {
    ErrorObject::internal("this request is over")
}
