//! A script whose every exchange is followed to its end: what was asked, what was said, and how it ended.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_http_core::config::Publishes;
use mcp_http_core::endpoint::{
    Action, CallId, Delivery, Event, ExchangeId, MessageId, Outbound, Pulled, SendError, Target, Topic,
};
use mcp_http_core::h1::Body;
use mcp_http_core::version::Version;
use mcp_http_tests::script::{Admission, Opening, Said, Script, ask, batch_calls, result};
use serde_json::Value;

/// What an exchange ends with, if it is not cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// An answer, or an error, for each of these ids.
    Answers(Vec<&'static str>),
    /// A `retry` as the last word.
    Farewell,
    /// The completion of this subscription.
    Completion(&'static str),
    /// 202, or a refusal.
    Accepted,
    /// An end.
    Anything,
}

#[derive(Debug)]
struct Sent {
    wants: Wants,
    course: Course,
    /// What was pulled of its stream.
    said: Vec<Said>,
    /// The body of its whole answer or its refusal.
    whole: Option<String>,
    last_event_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Waiting,
    Streaming,
    /// Everything was pulled or given; the socket has not taken it.
    Given,
    /// The socket took all of it.
    Complete,
    /// The server aborted it, or the client left.
    Cut,
}

pub(crate) struct World {
    pub(crate) script: Script,
    sent: BTreeMap<ExchangeId, Sent>,
    last: Option<ExchangeId>,
    sessions: BTreeMap<&'static str, Opening>,
    calls: BTreeMap<&'static str, (ExchangeId, CallId)>,
    untaken: Option<MessageId>,
    /// The standalone stream of each session.
    standing: BTreeMap<String, ExchangeId>,
    stopping: bool,
    pub(crate) closed_in_shutdown: Vec<ExchangeId>,
}

impl World {
    pub(crate) fn new() -> World {
        let script = Script::with(|config| {
            config.ring_frames_max = 3;
            config.publishes = Publishes { tools: true, prompts: true, resources: true, updates: true };
        });
        World {
            script,
            sent: BTreeMap::new(),
            last: None,
            sessions: BTreeMap::new(),
            calls: BTreeMap::new(),
            untaken: None,
            standing: BTreeMap::new(),
            stopping: false,
            closed_in_shutdown: Vec::new(),
        }
    }

    #[track_caller]
    fn admitted(&mut self, admission: Admission, wants: Wants) {
        let Admission { exchange, actions } = admission;
        let sent =
            Sent { wants, course: Course::Waiting, said: Vec::new(), whole: None, last_event_id: None };
        self.sent.insert(exchange, sent);
        self.last = Some(exchange);
        for action in &actions {
            if let Action::Deliver {
                delivery: Delivery::Notice { message, .. } | Delivery::Reply { message, .. },
                ..
            } = action
            {
                self.untaken = Some(*message);
            }
        }
        self.see(&actions);
    }

    fn see(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Respond { exchange, response } => {
                    let sent = self.sent.get_mut(exchange).expect("an exchange that was admitted");
                    match &response.body {
                        Body::Stream => sent.course = Course::Streaming,
                        Body::Empty => sent.course = Course::Given,
                        Body::Full(body) => {
                            sent.course = Course::Given;
                            sent.whole = Some(text(body));
                        }
                    }
                }
                Action::Reject { exchange, reject } => {
                    let sent = self.sent.get_mut(exchange).expect("an exchange that was admitted");
                    let Body::Full(body) = reject.clone().into_answer().body else {
                        panic!("I13: {reject:?}")
                    };
                    sent.whole = Some(text(&body));
                    sent.course = Course::Complete;
                }
                Action::Close { exchange } => {
                    self.sent.get_mut(exchange).expect("an exchange that was admitted").course = Course::Cut;
                    if self.stopping {
                        self.closed_in_shutdown.push(*exchange);
                    }
                }
                _ => {}
            }
        }
    }

    pub(crate) fn opening(&mut self, name: &'static str, version: Version) {
        let admission = self.script.post(ask::initialize("1", version.name())).admit();
        let opening = self.script.opened(&admission, version);
        self.admitted(admission, Wants::Answers(vec!["1"]));
        self.sessions.insert(name, opening);
    }

    pub(crate) fn accept(&mut self, name: &str) {
        let opening = self.sessions[name].clone();
        let actions = self.script.accept(&opening);
        self.see(&actions);
    }

    pub(crate) fn flush_opening(&mut self, name: &str) {
        self.flush(self.sessions[name].exchange);
    }

    pub(crate) fn post(&mut self, session: &str, body: String, wants: Wants) {
        let id = self.sessions[session].id.clone();
        let admission = self.script.post(body).with(&id).admit();
        self.admitted(admission, wants);
    }

    pub(crate) fn notice(&mut self, session: &str, method: &str) {
        self.post(session, ask::notice(method), Wants::Accepted);
    }

    pub(crate) fn call(&mut self, session: &str, id: &'static str, accept: &str) {
        let session = self.sessions[session].id.clone();
        let admission = self.script.post(ask::request(id, "t")).with(&session).accept(accept).admit();
        self.called(admission, &[id]);
    }

    pub(crate) fn batch(&mut self, session: &str, body: String, ids: &[&'static str]) {
        let session = self.sessions[session].id.clone();
        let admission = self.script.post(body).with(&session).admit();
        self.called(admission, ids);
    }

    pub(crate) fn solo(&mut self, id: &'static str) {
        let admission = self.script.modern(id, "tools/list", "").admit();
        self.called(admission, &[id]);
    }

    #[track_caller]
    fn called(&mut self, admission: Admission, ids: &[&'static str]) {
        let calls = batch_calls(&admission.actions);
        assert_eq!(calls.len(), ids.len(), "delivered: {:?}", admission.actions);
        let exchange = admission.exchange;
        self.calls.extend(ids.iter().zip(calls).map(|(id, call)| (*id, (exchange, call))));
        self.admitted(admission, Wants::Answers(ids.to_vec()));
    }

    pub(crate) fn listen(&mut self, id: &'static str) {
        let admission = self.script.listening(id, r#"{"toolsListChanged":true}"#).admit();
        self.admitted(admission, Wants::Completion(id));
    }

    pub(crate) fn get(&mut self, session: &str, after: Option<&str>) {
        let id = self.sessions[session].id.clone();
        let get = self.script.get().with(&id);
        let (admission, wants) = match after {
            None => (get.admit(), Wants::Farewell),
            Some(after) => (get.after(after).admit(), Wants::Anything),
        };
        if let Some(older) =
            after.is_none().then(|| self.standing.insert(session.into(), admission.exchange)).flatten()
        {
            // The newer one wins, and takes what there is to be said (C9).
            self.wants(older, Wants::Anything);
        }
        self.admitted(admission, wants);
    }

    fn wants(&mut self, exchange: ExchangeId, wants: Wants) {
        self.sent.get_mut(&exchange).expect("an exchange that was admitted").wants = wants;
    }

    /// Comes back for a call's stream, after the last event that was pulled of it.
    pub(crate) fn resume(&mut self, session: &str, call: &'static str) {
        let last = self.sent[&self.exchange(call)].last_event_id.clone().expect("an event with an id");
        self.get(session, Some(&last));
        let resumed = self.last.expect("just now");
        // The answer is due there.
        self.wants(resumed, Wants::Answers(vec![call]));
    }

    pub(crate) fn delete(&mut self, session: &str) {
        if let Some(standing) = self.standing.remove(session) {
            // There is nothing to come back to.
            self.wants(standing, Wants::Anything);
        }
        let id = self.sessions[session].id.clone();
        let admission = self.script.delete().with(&id).admit();
        self.admitted(admission, Wants::Anything);
    }

    pub(crate) fn exchange(&self, call: &str) -> ExchangeId {
        self.calls[call].0
    }

    fn target(&self, call: &str) -> Target {
        Target::Call(self.calls[call].1)
    }

    pub(crate) fn take(&mut self) {
        let message = self.untaken.take().expect("a message that is not taken");
        let actions = self.script.event(Event::Taken { message });
        self.see(&actions);
    }

    pub(crate) fn flush_last(&mut self) {
        self.flush(self.last.expect("an exchange"));
    }

    fn flush(&mut self, exchange: ExchangeId) {
        let sent = self.sent.get_mut(&exchange).expect("an exchange that was admitted");
        assert_eq!(sent.course, Course::Given, "{exchange:?} has nothing to flush");
        sent.course = Course::Complete;
        let actions = self.script.flushed(exchange);
        self.see(&actions);
    }

    /// The client's connection is lost.
    pub(crate) fn gone(&mut self, call: &str) {
        let exchange = self.exchange(call);
        self.sent.get_mut(&exchange).expect("an exchange that was admitted").course = Course::Cut;
        let actions = self.script.gone(exchange);
        self.see(&actions);
    }

    pub(crate) fn stalled(&mut self, call: &str) {
        let exchange = self.exchange(call);
        let actions = self.script.event(Event::Stalled { exchange });
        self.see(&actions);
    }

    /// The client is to come back for the answer; its response ends without it.
    pub(crate) fn close_for_polling(&mut self, call: &str) {
        let (exchange, call) = self.calls[call];
        self.wants(exchange, Wants::Anything);
        let actions = self.script.event(Event::CloseStream { call });
        self.see(&actions);
    }

    /// Sends, if it is taken.
    fn try_send(&mut self, target: Target, what: Outbound) -> bool {
        match self.script.try_send(target, what) {
            Ok(actions) => {
                self.see(&actions);
                true
            }
            Err(SendError::Full(_) | SendError::Gone(_) | SendError::Misplaced(_)) => false,
            Err(error) => panic!("{error:?}"),
        }
    }

    pub(crate) fn send(&mut self, call: &str, what: Outbound) {
        self.try_send(self.target(call), what);
    }

    pub(crate) fn answer(&mut self, call: &str) {
        let sent = self.try_send(self.target(call), result("{}"));
        assert!(sent, "the answer to {call} is not taken");
    }

    pub(crate) fn say(&mut self, session: &str, what: Outbound) {
        self.try_send(Target::Session(self.sessions[session].key), what);
    }

    pub(crate) fn publish(&mut self, topic: &Topic) {
        let (_, actions) = self.script.publish(topic);
        self.see(&actions);
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        let actions = self.script.advance(time);
        self.see(&actions);
    }

    pub(crate) fn pull(&mut self, call: &str) {
        self.pull_all(self.exchange(call));
    }

    pub(crate) fn pull_last(&mut self) {
        self.pull_all(self.last.expect("an exchange"));
    }

    fn pull_all(&mut self, exchange: ExchangeId) {
        let drawn = self.script.pull(exchange);
        let sent = self.sent.get_mut(&exchange).expect("an exchange that was admitted");
        sent.said.extend(drawn.said());
        let last = drawn.frames.iter().rev().find_map(|frame| frame.id.clone());
        sent.last_event_id = last.or(sent.last_event_id.take());
        if drawn.pulled == Pulled::End {
            sent.course = Course::Given;
        }
        self.see(&drawn.actions);
    }

    pub(crate) fn begin_shutdown(&mut self, within: Duration) {
        self.stopping = true;
        let actions = self.script.shutdown(within);
        self.see(&actions);
    }

    /// Exchanges that have not ended.
    pub(crate) fn open(&self) -> Vec<ExchangeId> {
        let open =
            self.sent.iter().filter(|(_, sent)| !matches!(sent.course, Course::Complete | Course::Cut));
        open.map(|(exchange, _)| *exchange).collect()
    }

    /// Every peer takes what there is for it.
    pub(crate) fn read_all(&mut self) {
        for exchange in self.open() {
            if self.sent[&exchange].course == Course::Streaming {
                self.pull_all(exchange);
            }
            if self.sent[&exchange].course == Course::Given {
                self.flush(exchange);
            }
        }
    }

    /// The application answers whatever still takes an answer, also sessions it was asked to open.
    pub(crate) fn answer_all(&mut self) {
        for (_, call) in self.calls.clone().into_values() {
            self.try_send(Target::Call(call), result("{}"));
        }
        for opening in self.sessions.clone().into_values() {
            let accept = Outbound::Initialized {
                version: opening.version,
                result: mcp_http_core::json::Json::EMPTY_OBJECT,
            };
            self.try_send(opening.target(), accept);
        }
    }

    /// Requests of all kinds, whether they are served or refused.
    pub(crate) fn late_requests(&mut self) {
        let admission = self.script.post(ask::initialize("1", "2025-11-25")).admit();
        self.admitted(admission, Wants::Answers(vec!["1"]));
        let admission = self.script.modern("2", "tools/list", "").admit();
        self.admitted(admission, Wants::Answers(vec!["2"]));
        let admission = self.script.listening("3", r#"{"toolsListChanged":true}"#).admit();
        self.admitted(admission, Wants::Anything);
        let names: Vec<&'static str> = self.sessions.keys().copied().collect();
        for name in names {
            self.post(name, ask::request("4", "t"), Wants::Answers(vec!["4"]));
            self.post(name, ask::notice("late"), Wants::Accepted);
            self.post(name, ask::reply("5"), Wants::Accepted);
            self.post(name, ask::cancelled("77"), Wants::Accepted);
            self.get(name, None);
            self.wants(self.last.expect("just now"), Wants::Anything);
        }
    }

    /// Each exchange that was not cut off ended with what it had to end with.
    pub(crate) fn check_endings(&self) {
        for (exchange, sent) in &self.sent {
            if sent.course == Course::Complete {
                sent.check().unwrap_or_else(|wrong| panic!("R14: {exchange:?} ended {wrong}: {sent:?}"));
            }
        }
    }
}

impl Sent {
    fn check(&self) -> Result<(), &'static str> {
        let messages: Vec<Value> = self
            .said
            .iter()
            .filter_map(|said| match said {
                Said::Message(text) => Some(text),
                Said::Comment | Said::Priming | Said::Retry => None,
            })
            .chain(&self.whole)
            .flat_map(|text| match serde_json::from_str(text).expect("JSON") {
                Value::Array(all) => all,
                one => vec![one],
            })
            .collect();
        let is_error =
            messages.iter().any(|message| message.get("id").is_none() && message.get("error").is_some());
        match &self.wants {
            // A session that is not there any more is told without the id of a call.
            Wants::Answers(_) if is_error && self.said.is_empty() => Ok(()),
            Wants::Answers(ids) => {
                let answered =
                    |id: &&str| messages.iter().filter(|message| answers(message, id)).count() == 1;
                if ids.iter().all(answered) {
                    Ok(())
                } else {
                    Err("without exactly one answer for each call")
                }
            }
            Wants::Farewell if self.whole.is_none() && self.said.last() != Some(&Said::Retry) => {
                Err("without a word on when to come back")
            }
            Wants::Completion(id) => {
                let last = messages.last().is_some_and(|message| answers(message, id));
                if last { Ok(()) } else { Err("without its completion") }
            }
            Wants::Accepted if !self.said.is_empty() => Err("with a stream"),
            Wants::Farewell | Wants::Accepted | Wants::Anything => Ok(()),
        }
    }
}

fn answers(message: &Value, id: &str) -> bool {
    let has = |name: &str| message.get(name).is_some();
    let id: Value = serde_json::from_str(id).expect("an id");
    message["id"] == id && !has("method") && has("result") != has("error")
}

fn text(body: &[u8]) -> String {
    String::from_utf8(body.to_vec()).expect("UTF-8")
}
