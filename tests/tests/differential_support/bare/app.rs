//! The application on the bare core: what the lab does as a handler of the driver's, done here by steps, on the
//! core's own words.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use http::request::Parts;
use http::{HeaderValue, Method};
use mcp_http_core::endpoint::{
    CallId, Delivery, DiscardReason, EndReason, Event, MessageId, Outbound, Principal, SendError, SessionKey,
    Target,
};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{ErrorObject, Reply, Request, RequestId};
use mcp_http_core::reject::Refusal;
use mcp_http_core::version::Version;
use serde_json::{Value, json};

use super::World;

/// A session, and a call, on their shards.
type Owner = (usize, SessionKey);
type Line = (usize, CallId);

#[derive(Default)]
pub(super) struct App {
    pub(super) log: Vec<String>,
    /// In the order of their creation.
    sessions: Vec<Session>,
    works: BTreeMap<Line, Work>,
    open: BTreeSet<String>,
}

struct Session {
    owner: Owner,
    questions: u64,
    /// Who asked what is not answered.
    asked: BTreeMap<Vec<u8>, Line>,
}

/// A call that the application is at.
struct Work {
    /// What is written when it is done; an `initialize` is not written down.
    done: Option<String>,
    id: String,
    owner: Option<Owner>,
    steps: VecDeque<Step>,
    cancelled: bool,
    /// It waits for room.
    full: bool,
    reply: Option<Result<Json, Json>>,
}

enum Step {
    Note(u64),
    Progress(Value, u64),
    /// Waits at a gate.
    Pass(String),
    /// Waits until nobody waits for it.
    Cancelled,
    Ask,
    Reply,
    CloseStream,
    Subscribe,
    Answer(Outbound),
    /// Goes without a word of its own, and is answered for.
    Panic,
}

/// What came of a step.
enum Came {
    Done,
    /// It has to wait.
    Waits,
    /// It failed, and so does the call.
    Failed(ErrorObject),
}

/// What an adapter answers for a handler that panicked.
fn panicked() -> Outbound {
    Outbound::Error { error: ErrorObject::internal("the server failed to answer this request") }
}

/// `authorization: as NAME` is NAME; without one it is anyone.
pub(super) fn authorize(head: &Parts) -> Result<Option<Principal>, Refusal> {
    match head.headers.get("authorization").map(HeaderValue::as_bytes) {
        None => Ok(None),
        Some(b"forbidden" | b"late") => Err(Refusal::Forbidden),
        Some(said) => match said.strip_prefix(b"as ") {
            Some(name) => Ok(Some(Principal(name.to_vec().into()))),
            None => Err(Refusal::Unauthorized(HeaderValue::from_static("Bearer"))),
        },
    }
}

pub(super) fn may_open_session(head: &Parts) -> bool {
    !head.headers.contains_key("x-too-fast")
}

/// What it is told.
impl App {
    pub(super) fn owner(&self, number: usize) -> Owner {
        self.sessions[number - 1].owner
    }

    fn name(&self, owner: Option<Owner>) -> String {
        let number = owner.and_then(|owner| self.sessions.iter().position(|known| known.owner == owner));
        number.map_or_else(|| "none".into(), |index| format!("s{}", index + 1))
    }

    pub(super) fn created(&mut self, owner: Owner) {
        self.sessions.push(Session { owner, questions: 0, asked: BTreeMap::new() });
        self.log.push(format!("created {}", self.name(Some(owner))));
    }

    pub(super) fn committed(&mut self, owner: Owner) {
        self.log.push(format!("committed {}", self.name(Some(owner))));
    }

    pub(super) fn discarded(&mut self, owner: Owner, reason: DiscardReason) {
        self.log.push(format!("discarded {} {reason:?}", self.name(Some(owner))));
    }

    pub(super) fn ended(&mut self, owner: Owner, reason: EndReason) {
        self.log.push(format!("ended {} {reason:?}", self.name(Some(owner))));
    }

    pub(super) fn cancelled(&mut self, line: Line) {
        if let Some(work) = self.works.get_mut(&line) {
            work.cancelled = true;
        }
    }

    pub(super) fn has_room(&mut self, line: Line) {
        self.works.get_mut(&line).expect("R9: it waits for room").full = false;
    }

    /// Returns the message that was taken at once.
    pub(super) fn deliver(
        &mut self,
        shard: usize,
        owner: Option<Owner>,
        delivery: Delivery,
        who: Option<&Principal>,
        http: &Method,
    ) -> Option<MessageId> {
        let session = self.name(owner);
        let who = who.map_or_else(|| "anyone".into(), |who| String::from_utf8_lossy(&who.0).into_owned());
        match delivery {
            Delivery::Initialize { call, request, negotiated } => {
                self.log.push(format!("initialize {session} by {who} {}", negotiated.name()));
                let steps = opening(&request, negotiated);
                self.begin((shard, call), owner, None, &request.id, steps);
            }
            Delivery::Call { call, request, version } => {
                let id = text(&request.id);
                let (method, version) = (&request.method, version.map_or("none", |version| version.name()));
                self.log.push(format!("call {id} {method} {session} by {who} {version} {http}"));
                let (steps, done) = (steps(&request), format!("done {id} {method}"));
                self.begin((shard, call), owner, Some(done), &request.id, steps);
            }
            Delivery::Notice { message, notice } => {
                self.log.push(format!("notice {} {session}", notice.method));
                return Some(message);
            }
            Delivery::Reply { message, reply } => {
                self.replied(owner, reply);
                return Some(message);
            }
        }
        None
    }

    fn begin(
        &mut self,
        line: Line,
        owner: Option<Owner>,
        done: Option<String>,
        id: &RequestId,
        steps: Vec<Step>,
    ) {
        let (id, steps) = (text(id), steps.into());
        let work = Work { done, id, owner, steps, cancelled: false, full: false, reply: None };
        self.works.insert(line, work);
    }

    fn replied(&mut self, owner: Option<Owner>, reply: Reply) {
        let session = self.sessions.iter_mut().find(|session| Some(session.owner) == owner);
        let asked = session.and_then(|session| session.asked.remove(reply.id.literal()));
        if let Some(work) = asked.and_then(|line| self.works.get_mut(&line)) {
            work.reply = Some(reply.outcome);
        }
    }
}

/// As it is written in JSON.
fn text(id: &RequestId) -> String {
    String::from_utf8_lossy(id.literal()).into_owned()
}

fn params(request: &Request) -> Value {
    request.params.as_ref().map_or_else(|| json!({}), |params| params.decode().expect("it was judged"))
}

fn opening(request: &Request, version: Version) -> Vec<Step> {
    match params(request)["clientInfo"]["name"].as_str().unwrap_or_default() {
        "refused" => vec![fails(ErrorObject::new(-32001, "not you"))],
        "panics" => vec![Step::Panic],
        // Until nobody waits for it any more.
        "silent" => vec![Step::Cancelled],
        _ => {
            let result = json!({
                "protocolVersion": version.name(),
                "capabilities": {},
                "serverInfo": { "name": "lab", "version": "1" },
            });
            vec![Step::Answer(Outbound::Initialized { version, result: result.into() })]
        }
    }
}

fn gives(result: impl Into<Json>) -> Step {
    Step::Answer(Outbound::Result { result: result.into() })
}

fn fails(error: ErrorObject) -> Step {
    Step::Answer(Outbound::Error { error })
}

fn steps(request: &Request) -> Vec<Step> {
    let params = params(request);
    let gate = params["gate"].as_str().map(|gate| Step::Pass(gate.to_owned()));
    match &*request.method {
        "ping" => vec![gives(Json::EMPTY_OBJECT)],
        "echo" => gate.into_iter().chain([gives(params)]).collect(),
        "fails" => vec![fails(ErrorObject::new(-32001, "as you wished"))],
        "panics" => vec![Step::Panic],
        "waits" => {
            let note = (params["notes"] == true).then_some(Step::Note(0));
            let end = [Step::Cancelled, fails(ErrorObject::internal("cancelled"))];
            note.into_iter().chain(end).collect()
        }
        "big" => {
            let bytes = params["bytes"].as_u64().unwrap_or(0) as usize;
            vec![gives(json!({ "text": "x".repeat(bytes) }))]
        }
        "counts" => {
            let to = params["to"].as_u64().unwrap_or(0);
            let mut steps: Vec<Step> = (1..=to).map(Step::Note).collect();
            if let Some(gate) = gate {
                steps.insert((to / 2) as usize, gate);
            }
            steps.push(gives(json!({ "counted": to })));
            steps
        }
        "progresses" => {
            let token = params["_meta"].get("progressToken");
            let told = token.map(|token| (1..=3).map(|step| Step::Progress(token.clone(), step)));
            told.into_iter().flatten().chain([gives(Json::EMPTY_OBJECT)]).collect()
        }
        "asks" => vec![Step::Ask, Step::Reply],
        "polls" => {
            let told = [Step::Note(1), Step::CloseStream].into_iter().chain(gate);
            told.chain([Step::Note(2), gives(Json::EMPTY_OBJECT)]).collect()
        }
        "subscribes" => vec![Step::Subscribe],
        other => vec![fails(ErrorObject::method_not_found(other))],
    }
}

/// What it does.
impl World {
    pub(super) fn open_gate(&mut self, gate: &str) {
        self.app.open.insert(gate.to_owned());
        self.run();
    }

    /// Every call goes on as far as it can.
    pub(super) fn work(&mut self) {
        let lines: Vec<Line> = self.app.works.keys().copied().collect();
        for line in lines {
            while self.step(line) {}
        }
    }

    /// Goes on with a call by a step; whether there may be another.
    fn step(&mut self, line: Line) -> bool {
        let Some(work) = self.app.works.get_mut(&line).filter(|work| !work.full || work.cancelled) else {
            return false;
        };
        work.full = false;
        let step = work.steps.pop_front().expect("the last step answers");
        let came = match &step {
            Step::Answer(answer) => return self.answer(line, answer.clone()),
            Step::Panic => {
                self.app.works.remove(&line);
                return self.send_last(line, panicked());
            }
            Step::Note(number) => {
                self.notice(line, "notifications/count", json!({ "number": number }), false)
            }
            Step::Progress(token, step) => {
                let told =
                    json!({ "progressToken": token, "progress": step, "total": 3, "message": "on it" });
                self.notice(line, "notifications/progress", told, true)
            }
            Step::Pass(gate) => {
                if self.app.open.contains(gate) {
                    Came::Done
                } else {
                    Came::Waits
                }
            }
            Step::Cancelled => self.await_cancelled(line),
            Step::Ask => self.ask(line),
            Step::Reply => self.await_reply(line),
            Step::CloseStream => {
                self.tell(line.0, Event::CloseStream { call: line.1 });
                Came::Done
            }
            Step::Subscribe => self.subscribe(line),
        };
        let work = self.app.works.get_mut(&line).expect("it is not answered");
        match came {
            Came::Done => return true,
            Came::Waits => work.steps.push_front(step),
            Came::Failed(error) => {
                work.steps = VecDeque::from([fails(error)]);
                return true;
            }
        }
        false
    }

    fn answer(&mut self, line: Line, answer: Outbound) -> bool {
        let work = self.app.works.remove(&line).expect("it is not answered");
        self.app.log.extend(work.done);
        self.send_last(line, answer)
    }

    /// Nobody may be waiting any more; then it goes nowhere, without noise.
    fn send_last(&mut self, line: Line, answer: Outbound) -> bool {
        let sent = self.send(line, answer);
        assert!(matches!(sent, Ok(()) | Err(SendError::Gone(_))), "R9: an answer has room: {sent:?}");
        false
    }

    fn send(&mut self, (shard, call): Line, message: Outbound) -> Result<(), SendError> {
        self.with(shard, |endpoint, now, out| endpoint.send(Target::Call(call), message, now, out))
    }

    fn notice(&mut self, line: Line, method: &'static str, params: Value, droppable: bool) -> Came {
        let sent = self
            .send(line, Outbound::Notice { method: method.into(), params: Some(params.into()), droppable });
        self.came(line, &sent)
    }

    fn came(&mut self, line: Line, sent: &Result<(), SendError>) -> Came {
        match sent {
            Ok(()) => Came::Done,
            Err(SendError::Full(_)) => {
                self.app.works.get_mut(&line).expect("it is not answered").full = true;
                Came::Waits
            }
            Err(_) => Came::Failed(ErrorObject::internal("nobody reads")),
        }
    }

    fn await_cancelled(&mut self, line: Line) -> Came {
        let work = &self.app.works[&line];
        if !work.cancelled {
            return Came::Waits;
        }
        match &work.done {
            Some(_) => self.app.log.push(format!("cancelled {}", work.id)),
            // Whoever is silent stays it.
            None => return Came::Failed(ErrorObject::internal("silent")),
        }
        Came::Done
    }

    fn ask(&mut self, line: Line) -> Came {
        let owner = self.app.works[&line].owner;
        let Some(session) = self.app.sessions.iter_mut().find(|session| Some(session.owner) == owner) else {
            return self.nobody_to_ask();
        };
        session.questions += 1;
        let id = RequestId::from_number(session.questions);
        session.asked.insert(id.literal().to_vec(), line);
        let question = Outbound::Request { id, method: "sampling/createMessage".into(), params: None };
        let sent = self.send(line, question);
        match self.came(line, &sent) {
            Came::Failed(_) => self.nobody_to_ask(),
            other => other,
        }
    }

    fn await_reply(&mut self, line: Line) -> Came {
        let work = self.app.works.get_mut(&line).expect("it is not answered");
        match (work.reply.take(), work.cancelled) {
            (Some(Ok(result)), _) => {
                self.app.log.push(format!("reply {result:?}"));
                work.steps.push_front(gives(result));
                Came::Done
            }
            (Some(Err(error)), _) => {
                self.app.log.push(format!("reply refused {error:?}"));
                Came::Failed(ErrorObject::internal("refused"))
            }
            (None, true) => self.nobody_to_ask(),
            (None, false) => Came::Waits,
        }
    }

    fn nobody_to_ask(&mut self) -> Came {
        self.app.log.push(String::from("reply nobody"));
        Came::Failed(ErrorObject::internal("nobody to ask"))
    }

    fn subscribe(&mut self, line: Line) -> Came {
        let Some((shard, session)) = self.app.works[&line].owner else {
            return Came::Failed(ErrorObject::internal("no session"));
        };
        let subscribed = self.shards[shard].subscribe(session, "file:///a");
        let work = self.app.works.get_mut(&line).expect("it is not answered");
        work.steps.push_front(gives(json!({ "subscribed": subscribed })));
        Came::Done
    }
}
