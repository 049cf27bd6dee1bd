//! The application's way to the client: which stream a message goes on, by the call it is sent for or by the ids
//! that it bears.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use mcp_http_core::endpoint::{Outbound, SendError, Target};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{ErrorObject, RequestId};
use mcp_http_core::version::{Era, Version};

use crate::route::Route;
use crate::session::Session;

use super::call::CallHandle;
use super::link::Link;
use super::message::{
    CANCELLED, Members, Outgoing, PROGRESS, is_same, progress_token, request_id, with_request_id,
};

/// Sends a channel's messages. Cheap to clone; it keeps nothing open.
///
/// Every message is one whole JSON-RPC message. Sending waits for room while the client does not keep up; answers
/// always have some. `notifications/progress` may be left out when the client does not keep up, nothing else.
#[derive(Clone)]
pub struct Sender(pub(super) Arc<Link>);

/// A message that was not sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not sent: {why}")]
pub struct Unsent {
    /// Why.
    pub why: Why,
    /// The message, as it was given.
    pub message: Json,
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// Nothing can carry it: the call it is about was answered or cancelled, the client reads no stream that
    /// could bring a request, or the channel is over.
    #[error("nothing can carry this message any more")]
    Gone,
    /// As many requests to the client are open, or as many messages wait to be taken, as may be.
    #[error("too many requests to the client are open")]
    TooMany,
    /// It is larger than `message_bytes_max`.
    #[error("the message is larger than the limit")]
    TooLarge,
    /// More than one call in flight asked for progress with this token.
    #[error("more than one call has this progress token")]
    Ambiguous,
    /// It is not one JSON-RPC message; or not one that fits: say, the result of an `initialize` without a version
    /// that has sessions.
    #[error("this message does not fit")]
    Misfit,
}

/// On which stream.
enum On {
    Call(CallHandle),
    Standalone,
    /// Not said: by the ids, and what else is known.
    Any,
}

impl Sender {
    /// Sends a message, and finds its stream by what it says:
    ///
    /// - a result or an error answers the call that showed its id;
    /// - `notifications/progress` goes on the stream of the call that gave its token;
    /// - `notifications/cancelled` follows the application's own request that it names;
    /// - other notices go on the standalone stream;
    /// - requests do too, or, if the client reads none, on the stream of the one call in flight, if it is one.
    ///
    /// Without a session, whatever is no answer goes on the stream of the one call. A request that went on the
    /// stream of a call is withdrawn when that call is over: no reply to it comes any more.
    ///
    /// # Errors
    /// [`Unsent`].
    pub async fn send(&self, message: Json) -> Result<(), Unsent> {
        self.send_on(On::Any, message).await
    }

    /// Sends a message that belongs to this call: its answer, or what goes on its stream before that. The id of
    /// an answer is not looked at: the client gets its own.
    ///
    /// # Errors
    /// [`Unsent`].
    pub async fn send_for(&self, call: &CallHandle, message: Json) -> Result<(), Unsent> {
        self.send_on(On::Call(call.clone()), message).await
    }

    /// Sends a notice or a request that belongs to no call, on the session's standalone stream.
    ///
    /// # Errors
    /// [`Unsent`].
    pub async fn send_standalone(&self, message: Json) -> Result<(), Unsent> {
        self.send_on(On::Standalone, message).await
    }

    /// The call in flight that showed this id, for who knows the request that a message belongs to by that alone.
    #[must_use]
    pub fn call(&self, id: &Json) -> Option<CallHandle> {
        one_of(self.0.calls(|call| is_same(call.shown(), id.as_bytes()))).ok()
    }

    async fn send_on(&self, on: On, message: Json) -> Result<(), Unsent> {
        let sent = match Outgoing::of(&message) {
            None => Err(Why::Misfit),
            Some(Outgoing::Answer { id, outcome }) => self.answer(on, id.as_deref(), outcome),
            Some(Outgoing::Notice { method, params }) => self.notify(on, method, params).await,
            Some(Outgoing::Request { id, method, params }) => self.request(on, id, method, params).await,
        };
        sent.map_err(|why| Unsent { why, message })
    }

    fn answer(&self, on: On, id: Option<&[u8]>, outcome: Result<Json, ErrorObject>) -> Result<(), Why> {
        let call = match on {
            On::Call(call) => call,
            On::Standalone => return Err(Why::Misfit),
            On::Any => {
                let id = id.ok_or(Why::Misfit)?;
                one_of(self.0.calls(|call| is_same(call.shown(), id)))?
            }
        };
        let answer = match outcome {
            Err(error) => Outbound::Error { error },
            Ok(result) if call.opens() => {
                Outbound::Initialized { version: version_in(&result).ok_or(Why::Misfit)?, result }
            }
            Ok(result) => Outbound::Result { result },
        };
        call.answer(answer).map_err(|error| why(&error))?;
        self.0.settle(&call);
        Ok(())
    }

    async fn notify(&self, on: On, method: Cow<'static, str>, params: Option<Json>) -> Result<(), Why> {
        let droppable = method == PROGRESS;
        let own = if method == CANCELLED { self.own_request(params.as_ref()) } else { None };
        if let (Some((sent, stream)), Some(params)) = (own, &params) {
            let params = Some(with_request_id(params, sent.literal()));
            let on = stream.map_or(On::Standalone, On::Call);
            return self.put(&on, Outbound::Notice { method, params, droppable }).await;
        }
        let on = match on {
            On::Any if droppable => {
                let token = progress_token(params.as_ref(), false).ok_or(Why::Misfit)?;
                let gave = |call: &CallHandle| {
                    call.progress_token().is_some_and(|own| is_same(own.as_bytes(), token.as_bytes()))
                };
                On::Call(one_of(self.0.calls(gave))?)
            }
            On::Any if self.0.session().is_none() => On::Call(one_of(self.0.calls(|_| true))?),
            On::Any => On::Standalone,
            said => said,
        };
        self.put(&on, Outbound::Notice { method, params, droppable }).await
    }

    /// The application's request that a cancellation names, which is not waited for any more.
    fn own_request(&self, params: Option<&Json>) -> Option<(RequestId, Option<CallHandle>)> {
        self.0.take_asking(&request_id(params)?)
    }

    async fn request(
        &self,
        on: On,
        id: Bytes,
        method: Cow<'static, str>,
        params: Option<Json>,
    ) -> Result<(), Why> {
        if !matches!(on, On::Any) {
            return self.ask(&on, id, method, params).await;
        }
        let asked = self.ask(&On::Standalone, id.clone(), method.clone(), params.clone()).await;
        match (asked, one_of(self.0.calls(|_| true))) {
            (Err(Why::Gone), Ok(call)) => self.ask(&On::Call(call), id, method, params).await,
            (asked, _) => asked,
        }
    }

    async fn ask(
        &self,
        on: &On,
        id: Bytes,
        method: Cow<'static, str>,
        params: Option<Json>,
    ) -> Result<(), Why> {
        if self.0.is_behind() {
            return Err(Why::TooMany);
        }
        let call = match on {
            On::Call(call) => Some(call),
            On::Standalone | On::Any => None,
        };
        let sent = self.0.ask(id, call).ok_or(Why::Gone)?;
        let mut unsent = Unasked { link: &self.0, sent: Some(sent.clone()) };
        self.put(on, Outbound::Request { id: sent, method, params }).await?;
        unsent.sent = None;
        Ok(())
    }

    async fn put(&self, on: &On, message: Outbound) -> Result<(), Why> {
        let sent = match (on, self.0.session()) {
            (On::Call(call), _) => call.send(message).await,
            (On::Standalone | On::Any, Some(session)) => send_standalone(session, message).await,
            (On::Standalone | On::Any, None) => return Err(Why::Gone),
        };
        sent.map_err(|error| why(&error))
    }
}

async fn send_standalone(session: &Session, message: Outbound) -> Result<(), SendError> {
    let record = &session.0;
    let Some(port) = record.port.upgrade() else { return Err(SendError::Gone(Box::new(message))) };
    let (line, target) = (record.line(), Target::Session(record.key));
    let (writable, over) = (&line.writable, &line.over);
    Route { port: &*port, shard: record.shard, target, writable, over }.send(message).await
}

/// A request that was not sent, unless it is said that it was.
struct Unasked<'a> {
    link: &'a Link,
    sent: Option<RequestId>,
}

impl Drop for Unasked<'_> {
    fn drop(&mut self) {
        if let Some(sent) = &self.sent {
            self.link.forget_asking(sent);
        }
    }
}

fn one_of(mut calls: Vec<CallHandle>) -> Result<CallHandle, Why> {
    match (calls.pop(), calls.pop()) {
        (Some(call), None) => Ok(call),
        (Some(_), Some(_)) => Err(Why::Ambiguous),
        (None, _) => Err(Why::Gone),
    }
}

fn version_in(result: &Json) -> Option<Version> {
    let name: String = Members::of(result)?.get("protocolVersion")?.decode().ok()?;
    Version::from_name(name.as_bytes()).filter(|version| version.era() == Era::Handshake)
}

fn why(error: &SendError) -> Why {
    match error {
        SendError::Gone(_) | SendError::Full(_) => Why::Gone,
        SendError::TooMany(_) => Why::TooMany,
        SendError::TooLarge(_) => Why::TooLarge,
        SendError::Misplaced(_) => Why::Misfit,
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(&self.0.session()).finish()
    }
}
