//! Announcing changes: `subscriptions/listen` streams of the stateless era (Z10), and the standalone streams of
//! the handshake era. The application says that something changed; who is told is decided here.

use bytes::{BufMut, Bytes, BytesMut};

use crate::intake::{ListenFilter, Stateless};
use crate::jsonrpc::{self, RequestId};
use crate::reject::{Refusal, Reject};
use crate::slab::Key;
use crate::time::Timestamp;

use super::Endpoint;
use super::action::{Actions, Home, SessionKey};
use super::exchange::Carries;
use super::ring::{Pushed, Weight};
use super::stream::{CallState, STANDALONE, Stream};

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The content of one resource.
    Resource(Box<str>),
}

/// An open `subscriptions/listen`.
#[derive(Debug)]
pub(super) struct Listen {
    pub(super) id: RequestId,
    /// What was granted.
    filter: ListenFilter,
    pub(super) stream: Stream,
}

impl Topic {
    fn method(&self) -> &'static str {
        match self {
            Topic::Tools => "notifications/tools/list_changed",
            Topic::Prompts => "notifications/prompts/list_changed",
            Topic::Resources => "notifications/resources/list_changed",
            Topic::Resource(_) => "notifications/resources/updated",
        }
    }

    fn is_asked_for_by(&self, filter: &ListenFilter) -> bool {
        match self {
            Topic::Tools => filter.tools,
            Topic::Prompts => filter.prompts,
            Topic::Resources => filter.resources,
            Topic::Resource(uri) => filter.uris.contains(uri),
        }
    }
}

impl Endpoint {
    /// Tells every listener of this shard that asked for it; returns how many there were. One that does not
    /// keep up may miss it. Costs a look at every session and listener.
    pub fn publish(&mut self, topic: &Topic, out: &mut Actions) -> usize {
        let told = self.publish_to_listens(topic, out).saturating_add(self.publish_to_sessions(topic, out));
        self.check_invariants();
        told
    }

    /// The session wants to be told when `uri` changes. Returns whether it will be: not if it is over, or asked
    /// for as many as it may (`listen_uris_max`), or if the URI is longer than 4096 bytes.
    pub fn subscribe(&mut self, session: SessionKey, uri: &str) -> bool {
        let uris_max = self.config.listen_uris_max;
        let Some(session) = self.sessions.get_mut(session.0) else { return false };
        if session.uris.iter().any(|known| **known == *uri) {
            return true;
        }
        let room = session.uris.len() < uris_max && uri.len() <= URI_BYTES_MAX;
        if room {
            session.uris.push(uri.into());
        }
        room
    }

    /// The session does not want to be told of `uri` any more.
    pub fn unsubscribe(&mut self, session: SessionKey, uri: &str) {
        if let Some(session) = self.sessions.get_mut(session.0) {
            session.uris.retain(|known| **known != *uri);
        }
    }

    /// Opens a stream of announcements. What nobody will announce is not granted; if that is everything, the
    /// stream ends after saying so.
    pub(super) fn admit_listen(
        &mut self,
        exchange: Key,
        request: Stateless,
        now: Timestamp,
        out: &mut Actions,
    ) -> Result<(), Reject> {
        let id = request.request.id;
        let refuse = |refusal| Reject::new(refusal).with_id(Some(id.clone()));
        if self.shutdown.is_some() {
            return Err(refuse(Refusal::ShuttingDown));
        }
        let filter = self.granted(request.listen.unwrap_or_default());
        let nothing = filter == ListenFilter::default();
        let acknowledged = acknowledgement(&id, &filter);
        let uris: usize = filter.uris.iter().map(|uri| uri.len()).sum();
        let bytes = acknowledged.len().saturating_add(uris);
        if !self.has_memory(bytes, Weight::Kept) || !self.budget.take_listen(self.config.listens_max) {
            return Err(refuse(Refusal::TooBusy));
        }
        self.hold(exchange, uris);
        let mut stream = Stream::of_calls(1, core::iter::once(id.clone()), false);
        stream.carrier = Some(exchange);
        self.carry(exchange, Carries::Listen(Box::new(Listen { id, filter, stream })));
        self.listens.insert(exchange);
        self.push(Home::Exchange(exchange), &acknowledged, Weight::Final, out);
        if nothing {
            self.complete_listen(exchange, out);
        }
        self.respond_stream(exchange, None, out);
        self.arm_exchange(exchange, now.after(self.config.comment_every));
        Ok(())
    }

    /// Ends a listening stream with the result that says so.
    pub(super) fn complete_listen(&mut self, exchange: Key, out: &mut Actions) {
        let Some(record) = self.exchanges.get_mut(exchange) else { return };
        let Carries::Listen(listen) = &mut record.carries else { return };
        if listen.stream.is_finished() {
            return;
        }
        listen.stream.calls.iter_mut().for_each(|call| call.state = CallState::Done);
        let text = completion(&listen.id);
        self.push(Home::Exchange(exchange), &text, Weight::Final, out);
    }

    fn granted(&self, asked: ListenFilter) -> ListenFilter {
        let publishes = self.config.publishes;
        ListenFilter {
            tools: asked.tools && publishes.tools,
            prompts: asked.prompts && publishes.prompts,
            resources: asked.resources && publishes.resources,
            uris: if publishes.updates { asked.uris } else { Vec::new() },
        }
    }

    fn publish_to_listens(&mut self, topic: &Topic, out: &mut Actions) -> usize {
        let mut told: usize = 0;
        let listeners: Vec<Key> = self.listens.iter().copied().collect();
        for key in listeners {
            let Some(Carries::Listen(listen)) = self.exchanges.get(key).map(|exchange| &exchange.carries)
            else {
                continue;
            };
            if !topic.is_asked_for_by(&listen.filter) || listen.stream.is_finished() {
                continue;
            }
            let text = announcement(topic, Some(&listen.id));
            let pushed = self.push(Home::Exchange(key), &text, Weight::Droppable, out);
            told = told.saturating_add(usize::from(matches!(pushed, Pushed::Stored { .. })));
        }
        told
    }

    /// List changes go to every session whose client has ever read its standalone stream; changes of a
    /// resource to those that subscribed.
    fn publish_to_sessions(&mut self, topic: &Topic, out: &mut Actions) -> usize {
        // In a shutdown nobody reads a standalone stream any more.
        if self.shutdown.is_some() {
            return 0;
        }
        let text = announcement(topic, None);
        let wanted = self.sessions.iter().filter(|(_, session)| match topic {
            Topic::Tools | Topic::Prompts | Topic::Resources => session.listens,
            Topic::Resource(uri) => session.uris.contains(uri),
        });
        let keys: Vec<Key> = wanted.map(|(key, _)| key).collect();
        let mut told: usize = 0;
        for session in keys {
            self.open_standalone(session);
            let home = Home::Session { session, stream: STANDALONE };
            let pushed = self.push(home, &text, Weight::Droppable, out);
            told = told.saturating_add(usize::from(matches!(pushed, Pushed::Stored { .. })));
        }
        told
    }
}

/// The longest URI that a session can subscribe to, in bytes: they are kept for as long as it lives.
const URI_BYTES_MAX: usize = 4096;

const SUBSCRIPTION_ID: &[u8] = br#""_meta":{"io.modelcontextprotocol/subscriptionId":"#;

fn acknowledgement(id: &RequestId, granted: &ListenFilter) -> Bytes {
    let mut text = BytesMut::with_capacity(256);
    text.put_slice(br#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"#);
    put_subscription(id, &mut text);
    text.put_slice(br#","notifications":{"#);
    let kinds = [
        (granted.tools, r#""toolsListChanged":true"#),
        (granted.prompts, r#""promptsListChanged":true"#),
        (granted.resources, r#""resourcesListChanged":true"#),
    ];
    let mut separator: &[u8] = b"";
    for (_, kind) in kinds.iter().filter(|(granted, _)| *granted) {
        text.put_slice(separator);
        text.put_slice(kind.as_bytes());
        separator = b",";
    }
    if !granted.uris.is_empty() {
        text.put_slice(separator);
        text.put_slice(br#""resourceSubscriptions":["#);
        for (index, uri) in granted.uris.iter().enumerate() {
            text.put_slice(if index == 0 { b"" } else { b"," });
            jsonrpc::write_string(uri, &mut text);
        }
        text.put_u8(b']');
    }
    text.put_slice(b"}}}");
    text.freeze()
}

fn announcement(topic: &Topic, subscription: Option<&RequestId>) -> Bytes {
    let mut text = BytesMut::with_capacity(160);
    text.put_slice(br#"{"jsonrpc":"2.0","method":""#);
    text.put_slice(topic.method().as_bytes());
    text.put_u8(b'"');
    let uri = match topic {
        Topic::Tools | Topic::Prompts | Topic::Resources => None,
        Topic::Resource(uri) => Some(uri),
    };
    if uri.is_some() || subscription.is_some() {
        text.put_slice(br#","params":{"#);
        if let Some(uri) = uri {
            text.put_slice(br#""uri":"#);
            jsonrpc::write_string(uri, &mut text);
        }
        if uri.is_some() && subscription.is_some() {
            text.put_u8(b',');
        }
        if let Some(id) = subscription {
            put_subscription(id, &mut text);
        }
        text.put_u8(b'}');
    }
    text.put_u8(b'}');
    text.freeze()
}

fn completion(id: &RequestId) -> Bytes {
    let mut text = BytesMut::with_capacity(160);
    text.put_slice(br#"{"jsonrpc":"2.0","id":"#);
    text.put_slice(id.literal());
    text.put_slice(br#","result":{"resultType":"complete","#);
    put_subscription(id, &mut text);
    text.put_slice(b"}}");
    text.freeze()
}

fn put_subscription(id: &RequestId, text: &mut BytesMut) {
    text.put_slice(SUBSCRIPTION_ID);
    text.put_slice(id.literal());
    text.put_u8(b'}');
}
