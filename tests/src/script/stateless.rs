//! Steps of the stateless era, and announcements of changes to both eras.

use mcp_http_core::answer::{ErrorStatus, Head, Response};
use mcp_http_core::config::Publishes;
use mcp_http_core::endpoint::{Action, Actions, Delivery, ExchangeId, MessageId, Topic};
use mcp_http_core::intake::{Kind, ListenFilter};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{Notice, Request};
use mcp_http_core::version::Version;

use super::{Admission, Ask, Call, Script, Session, ask, stream, whole};

/// The revision's name, in field and `_meta`.
pub const STATELESS: &str = "2026-07-28";

/// A stream of announcements that is open, with its acknowledgement waiting to be pulled.
pub type Listening = ExchangeId;

/// The answer that refuses with a status of its own (Z7).
#[must_use]
pub fn json_error(exchange: ExchangeId, status: ErrorStatus, text: &str) -> Action {
    let response = Response { head: Head::Error(status), body: whole(text), grant: None };
    Action::Respond { exchange, response }
}

/// Whether the server announces anything of what is asked for.
pub(super) fn grants(filter: &ListenFilter, publishes: Publishes) -> bool {
    filter.tools && publishes.tools
        || filter.prompts && publishes.prompts
        || filter.resources && publishes.resources
        || !filter.uris.is_empty() && publishes.updates
}

impl Script {
    /// A complete request of the stateless era whose method has no name to mirror; `params` are the members
    /// beside `_meta`, without braces.
    pub fn modern(&mut self, id: &str, method: &str, params: &str) -> Ask<'_> {
        let body = ask::modern(id, method, params);
        self.post(body).version(STATELESS).field("mcp-method", method)
    }

    /// A notice of the stateless era.
    pub fn modern_notice(&mut self, method: &str) -> Ask<'_> {
        self.post(ask::notice(method)).version(STATELESS)
    }

    /// A `subscriptions/listen` for these `notifications`, a JSON object.
    pub fn listening(&mut self, id: &str, notifications: &str) -> Ask<'_> {
        self.modern(id, "subscriptions/listen", &format!(r#""notifications":{notifications}"#))
    }

    /// A stateless call, delivered.
    #[track_caller]
    pub fn solo(&mut self, id: &str) -> Call {
        let admission = self.modern(id, "tools/list", "").admit();
        self.solo_of(&admission, id)
    }

    /// A stateless call of a client that reads this, delivered.
    #[track_caller]
    pub fn solo_with(&mut self, id: &str, accept: &str) -> Call {
        let admission = self.modern(id, "tools/list", "").accept(accept).admit();
        self.solo_of(&admission, id)
    }

    /// The admission of `tools/list` must deliver it outside every session, and do nothing else.
    #[track_caller]
    pub fn solo_of(&self, admission: &Admission, id: &str) -> Call {
        let [Action::Deliver { delivery: Delivery::Call { call, request, .. }, .. }] = &admission.actions[..]
        else {
            panic!("not one call: {:?}", admission.actions);
        };
        assert_eq!(request.id.literal(), id.as_bytes(), "R5: an id is kept byte for byte");
        let params = Json::from_text(ask::modern_params("").into()).expect("JSON");
        let request = Request { id: request.id.clone(), method: "tools/list".into(), params: Some(params) };
        let delivery = Delivery::Call { call: *call, request, version: Some(Version::V2026_07_28) };
        let expected = Action::Deliver { exchange: admission.exchange, session: None, delivery };
        assert_eq!(admission.actions, [expected]);
        Call { exchange: admission.exchange, call: *call, shard: self.at }
    }

    /// The admission of a notice without parameters must deliver it outside every session.
    #[track_caller]
    pub fn solo_notice_of(&self, admission: &Admission, method: &str) -> MessageId {
        let [Action::Deliver { delivery: Delivery::Notice { message, .. }, .. }] = &admission.actions[..]
        else {
            panic!("not one notice: {:?}", admission.actions);
        };
        let notice = Notice { method: method.into(), params: None };
        let delivery = Delivery::Notice { message: *message, notice };
        let expected = Action::Deliver { exchange: admission.exchange, session: None, delivery };
        assert_eq!(admission.actions, [expected]);
        *message
    }

    /// A stream of announcements whose acknowledgement was pulled: it must grant exactly `granted`.
    #[track_caller]
    pub fn listener(&mut self, id: &str, asked: &str, granted: &str) -> Listening {
        let admission = self.listening(id, asked).admit();
        assert_eq!(admission.actions, stream(admission.exchange));
        let drawn = self.pull(admission.exchange);
        assert_eq!(drawn.said(), [super::message(ask::acknowledged_text(id, granted))]);
        assert_eq!(drawn.pulled, super::Pulled::Idle);
        admission.exchange
    }

    /// The application announces a change to the current shard; returns how many it was told were told.
    #[track_caller]
    pub fn publish(&mut self, topic: &Topic) -> (usize, Vec<Action>) {
        let mut out = Actions::new();
        let told = self.shards[self.at].endpoint.publish(topic, &mut out);
        (told, self.enter(&mut out))
    }

    /// A session wants to be told of a resource.
    pub fn subscribe(&mut self, session: &Session, uri: &str) -> bool {
        self.shards[session.shard].endpoint.subscribe(session.key, uri)
    }

    /// A session does not want to be told any more.
    pub fn unsubscribe(&mut self, session: &Session, uri: &str) {
        self.shards[session.shard].endpoint.unsubscribe(session.key, uri);
    }

    /// Bytes that wait in the rings of the whole server.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.budget.buffered_bytes()
    }

    /// Whether this opens a stream that stays open, by Z10.
    pub(super) fn stays_open(&self, kind: &Kind) -> bool {
        match kind {
            Kind::Stateless(request) => {
                request.listen.as_ref().is_some_and(|filter| grants(filter, self.config.publishes))
            }
            _ => false,
        }
    }
}
