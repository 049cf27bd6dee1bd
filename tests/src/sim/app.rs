//! The application: it accepts and refuses, answers late, out of turn or not at all, and keeps the books of what it
//! was told.

use std::collections::{BTreeMap, VecDeque};

use mcp_http_core::endpoint::{CallId, Delivery, Event, Outbound, SendError, SessionKey, Target};
use mcp_http_core::json::Json;
use mcp_http_core::jsonrpc::{ErrorObject, Reply, Request, RequestId};
use mcp_http_core::session_id::SessionId;
use mcp_http_core::version::Version;
use serde_json::{Value, json};

use super::{Can, MILLI, Micros, What, World};
use crate::socket::At;

/// A call on its shard.
pub(super) type Line = (usize, CallId);
/// A session on its shard.
pub(super) type Owner = (usize, SessionKey);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Created,
    Committed,
    Over,
}

/// A session as the application knows it.
#[derive(Debug)]
pub(super) struct Session {
    id: String,
    life: Life,
    said: Said,
    waiting: bool,
    /// Questions to the client, with what the answer must bear.
    asked: BTreeMap<u64, String>,
    questions: u64,
}

/// How much was said on a stream: messages, and those of them that nothing may leave out.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    all: u64,
    kept: u64,
}

/// A call that the application is at.
#[derive(Debug)]
pub(super) struct Work {
    token: String,
    session: Option<Owner>,
    steps: VecDeque<Step>,
    /// It is an `initialize`.
    opens: bool,
    said: Said,
    /// It was told to wait for room.
    waiting: bool,
    silent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Accept(Version),
    Fail,
    Answer(usize),
    Refuse,
    Notice { droppable: bool, bytes: usize },
    Ask,
    Polling,
    Wrong,
    Silence,
}

impl Session {
    pub(super) fn is_over(&self) -> bool {
        self.life == Life::Over
    }
}

/// What the endpoint says.
impl World {
    pub(super) fn created(&mut self, owner: Owner, id: &SessionId) {
        let id = String::from_utf8(id.as_bytes().to_vec()).expect("ASCII");
        assert!(self.sessions.values().all(|session| session.id != id), "the id {id} is there twice");
        let session = Session {
            id,
            life: Life::Created,
            said: Said::default(),
            waiting: false,
            asked: BTreeMap::new(),
            questions: 0,
        };
        assert!(self.sessions.insert(owner, session).is_none(), "R1: {owner:?} is created twice");
    }

    pub(super) fn committed(&mut self, owner: Owner) {
        let session = self.sessions.get_mut(&owner).expect("R1: commits what was created");
        assert_eq!(std::mem::replace(&mut session.life, Life::Committed), Life::Created, "R1: {owner:?}");
        if self.plan.can(Can::Talk) {
            let wait = self.dice.between(0, 500) * MILLI;
            self.after(wait, What::Talk(owner));
        }
    }

    pub(super) fn is_over(&mut self, owner: Owner, ends: bool) {
        let session = self.sessions.get_mut(&owner).expect("R1: ends what was created");
        let before = if ends { Life::Committed } else { Life::Created };
        assert_eq!(std::mem::replace(&mut session.life, Life::Over), before, "R1: {owner:?}");
        let mut left = self.works.values().filter(|work| work.session == Some(owner));
        assert!(left.next().is_none(), "R1: the session is over, and a call of it is not");
    }

    fn live(&mut self, owner: Owner) -> &mut Session {
        let session = self.sessions.get_mut(&owner).expect("R1: names what was created");
        assert_ne!(session.life, Life::Over, "R1: names {owner:?}, which is over");
        session
    }

    pub(super) fn is_known_over(&self, id: &str) -> bool {
        self.sessions.values().any(|session| session.id == id && session.life == Life::Over)
    }

    pub(super) fn deliver(&mut self, at: At, owner: Option<Owner>, delivery: Delivery) {
        let shard = at.0;
        match delivery {
            Delivery::Initialize { call, request, negotiated } => {
                let steps = self.opening_steps(negotiated);
                let token = params(&request)["clientInfo"]["name"].to_string();
                self.begin((shard, call), token, owner, (true, steps));
            }
            Delivery::Call { call, request, version } => {
                let params = params(&request);
                let token = params["t"].as_str().expect("a token").to_owned();
                let of = params["s"].as_str().map(str::to_owned);
                let id = owner.map(|owner| self.live(owner).id.clone());
                assert_eq!(of, id, "a call of one session is delivered to another");
                assert!(self.delivered.insert(token.clone()), "the call {token} is delivered twice");
                self.seen.calls += 1;
                let steps = self.call_steps(owner, version);
                self.begin((shard, call), token, owner, (false, steps));
            }
            Delivery::Notice { message, .. } => {
                let wait = self.app_wait();
                self.after(wait, What::Take(shard, message));
            }
            Delivery::Reply { message, reply } => {
                self.replied(owner.expect("replies are of sessions"), &reply);
                let wait = self.app_wait();
                self.after(wait, What::Take(shard, message));
            }
        }
    }

    fn replied(&mut self, owner: Owner, reply: &Reply) {
        let id = std::str::from_utf8(reply.id.literal()).ok().and_then(|id| id.parse::<u64>().ok());
        let token = id.and_then(|id| self.live(owner).asked.remove(&id));
        let result: Value = reply.outcome.as_ref().expect("clients give results").decode().expect("JSON");
        assert_eq!(token.as_deref(), result["t"].as_str(), "C13: a reply to nothing, or to another question");
        self.seen.replies += 1;
    }

    fn begin(
        &mut self,
        line: Line,
        token: String,
        session: Option<Owner>,
        (opens, steps): (bool, VecDeque<Step>),
    ) {
        let said = Said::default();
        let work = Work { token, session, steps, opens, said, waiting: false, silent: false };
        assert!(self.works.insert(line, work).is_none(), "{line:?} is delivered twice");
        let wait = self.app_wait();
        self.after(wait, What::Work(line));
    }

    pub(super) fn cancelled(&mut self, line: Line) {
        let work = self.works.remove(&line);
        assert!(work.is_some(), "{line:?} is cancelled and waits for nothing");
        if self.plan.can(Can::Wrong) {
            let wait = self.app_wait();
            self.after(wait, What::Stubborn(line));
        }
    }

    /// Output for what is over is `Gone`.
    pub(super) fn be_stubborn(&mut self, (shard, call): Line) {
        let message = match self.dice.below(3) {
            0 => Outbound::Result { result: Json::EMPTY_OBJECT },
            1 => Outbound::Initialized { version: Version::V2025_11_25, result: Json::EMPTY_OBJECT },
            _ => notice(&Value::Null, true),
        };
        let sent = self
            .with(shard, |endpoint, now, out| endpoint.send(Target::Call(call), message.clone(), now, out));
        assert!(matches!(sent, Err(SendError::Gone(_))), "R11: {message:?} for what is over: {sent:?}");
    }

    pub(super) fn writable(&mut self, line: Line) {
        let work = self.works.get_mut(&line).expect("R9: room for a call that waits for nothing");
        assert!(std::mem::take(&mut work.waiting), "R9: {line:?} was not told to wait");
        self.after(0, What::Work(line));
    }

    pub(super) fn writable_session(&mut self, owner: Owner) {
        let session = self.live(owner);
        assert!(std::mem::take(&mut session.waiting), "R9: {owner:?} was not told to wait");
        self.after(0, What::Talk(owner));
    }
}

/// What the application does.
impl World {
    /// A sender got `Full`: where memory is short, every shard gives up what only a resume would ask for.
    fn relieve(&mut self) {
        for shard in &mut self.shards {
            shard.give_up_retained(16 * 1024);
        }
    }

    fn app_wait(&mut self) -> Micros {
        if self.plan.can(Can::Late) && !self.healed && self.dice.one_in(4) {
            return self.dice.between(0, 6000) * MILLI;
        }
        self.dice.between(0, 120) * MILLI
    }

    fn may(&mut self, can: Can, one_in: u64) -> bool {
        self.plan.can(can) && !self.healed && self.dice.one_in(one_in)
    }

    fn opening_steps(&mut self, negotiated: Version) -> VecDeque<Step> {
        let mut steps = VecDeque::new();
        if self.may(Can::Wrong, 4) {
            steps.push_back(Step::Wrong);
        }
        if self.may(Can::Silent, 8) {
            steps.push_back(Step::Silence);
        }
        let version = match self.may(Can::Wrong, 4) {
            true => self.dice.pick(&Version::HANDSHAKE),
            false => negotiated,
        };
        let last = match self.may(Can::Refuse, 5) {
            true => self.dice.pick(&[Step::Refuse, Step::Fail]),
            false => Step::Accept(version),
        };
        steps.push_back(last);
        steps
    }

    fn call_steps(&mut self, owner: Option<Owner>, version: Option<Version>) -> VecDeque<Step> {
        let mut steps = VecDeque::new();
        for _ in 0..self.dice.pick(&[0, 0, 1, 3, 8]) {
            let droppable = self.plan.can(Can::Droppable) && self.dice.one_in(2);
            let bytes = self.bytes();
            steps.push_back(match self.dice.below(8) {
                0 if self.plan.can(Can::Ask) && owner.is_some() => Step::Ask,
                1 if self.plan.can(Can::Polling) && version.is_some() => Step::Polling,
                2 if self.may(Can::Silent, 6) => Step::Silence,
                3 if self.may(Can::Wrong, 2) => Step::Wrong,
                _ => Step::Notice { droppable, bytes },
            });
        }
        let bytes = self.bytes();
        steps.push_back(if self.may(Can::Refuse, 6) { Step::Refuse } else { Step::Answer(bytes) });
        steps
    }

    fn bytes(&mut self) -> usize {
        if self.plan.can(Can::Big) { self.dice.pick(&[0, 10, 300, 2000, 9000]) } else { self.dice.below(100) }
    }

    /// Takes the next step of a call; a step that has no room is taken again.
    pub(super) fn work(&mut self, line: Line) {
        let Some(mut work) = self.works.remove(&line).filter(|work| !work.steps.is_empty()) else { return };
        if work.waiting || work.silent {
            self.works.insert(line, work);
            return;
        }
        let (shard, call) = line;
        let step = work.steps[0];
        let is_last = matches!(step, Step::Accept(_) | Step::Fail | Step::Answer(_) | Step::Refuse);
        if step == Step::Silence && !self.healed {
            work.silent = true;
            self.works.insert(line, work);
            return;
        }
        let Some(message) = self.outbound(step, &work) else {
            work.steps.pop_front();
            let over = self.without_message(step, line, work);
            if !over {
                let wait = self.app_wait();
                self.after(wait, What::Work(line));
            }
            return;
        };
        let (token, owner) = (work.token.clone(), work.session);
        if !is_last {
            self.works.insert(line, work);
        }
        let sent = self
            .with(shard, |endpoint, now, out| endpoint.send(Target::Call(call), message.clone(), now, out));
        self.say(|| format!("  {step:?} for {token}: {sent:?}"));
        if is_last {
            assert_eq!(sent, Ok(()), "{step:?} for {token}: a final frame always has room");
            if self.plan.can(Can::Wrong) {
                self.after(MILLI, What::Stubborn(line));
            }
            return;
        }
        let (full, gone) = (matches!(sent, Err(SendError::Full(_))), matches!(sent, Err(SendError::Gone(_))));
        if full {
            self.relieve();
        }
        match (step, &sent) {
            (Step::Wrong, sent) => assert!(sent.is_err(), "R11: {message:?} was sent"),
            (Step::Ask, _) | (_, Ok(())) => {}
            (Step::Notice { bytes, .. }, Err(SendError::TooLarge(_))) => assert!(bytes > 8000),
            (Step::Notice { droppable: false, .. }, Err(SendError::Full(_))) => {}
            _ => panic!("{message:?} for {token}: {sent:?}"),
        }
        let asked = match (&message, step == Step::Ask && sent.is_err()) {
            (Outbound::Request { id, .. }, true) => Some(id.clone()),
            _ => None,
        };
        if let (Some(id), Some(owner)) = (asked, owner) {
            let id: u64 = std::str::from_utf8(id.literal()).unwrap().parse().unwrap();
            self.sessions.get_mut(&owner).unwrap().asked.remove(&id);
        }
        let Some(work) = self.works.get_mut(&line) else { panic!("{token} is cancelled by its own output") };
        if full {
            work.waiting = true;
            self.seen.full += 1;
            return;
        }
        let is_message = matches!(step, Step::Notice { .. } | Step::Ask);
        if sent.is_ok() && is_message {
            work.said.all += 1;
            work.said.kept += u64::from(!matches!(step, Step::Notice { droppable: true, .. }));
        }
        assert!(!gone || step == Step::Ask);
        work.steps.pop_front();
        let wait = self.app_wait();
        self.after(wait, What::Work(line));
    }

    fn outbound(&mut self, step: Step, work: &Work) -> Option<Outbound> {
        let said = json!({ "t": work.token, "n": work.said.all, "k": work.said.kept });
        Some(match step {
            Step::Accept(version) => Outbound::Initialized {
                version,
                result: json!({ "protocolVersion": version.name(), "capabilities": {} }).into(),
            },
            Step::Refuse => Outbound::Error { error: ErrorObject::new(-32055, "not today") },
            Step::Answer(bytes) => Outbound::Result { result: padded(said, bytes).into() },
            Step::Notice { droppable, bytes } => notice(&padded(said, bytes), droppable),
            Step::Ask => {
                let session = self.live(work.session?);
                session.questions += 1;
                let (number, token) = (session.questions, format!("{}?{}", work.token, session.questions));
                session.asked.insert(number, token.clone());
                let params = json!({ "t": work.token, "n": work.said.all, "k": work.said.kept, "q": token });
                let id = RequestId::from_number(number);
                Outbound::Request { id, method: "ask".into(), params: Some(params.into()) }
            }
            Step::Wrong => match work.opens {
                true => Outbound::Result { result: Json::EMPTY_OBJECT },
                false => Outbound::Initialized { version: Version::V2025_11_25, result: Json::EMPTY_OBJECT },
            },
            Step::Fail | Step::Polling | Step::Silence => return None,
        })
    }

    /// Whether the call is over with this.
    fn without_message(&mut self, step: Step, line: Line, work: Work) -> bool {
        let owner = work.session;
        self.works.insert(line, work);
        match (step, owner) {
            (Step::Polling, _) => self.tell(line.0, Event::CloseStream { call: line.1 }),
            (Step::Fail, Some((shard, session))) => {
                self.tell(shard, Event::SessionFailed { session });
                assert!(!self.works.contains_key(&line), "its call is cancelled with the session");
                return true;
            }
            _ => {}
        }
        false
    }

    /// Says something on a session's standalone stream.
    pub(super) fn talk(&mut self, owner: Owner) {
        let (shard, key) = owner;
        let session = &self.sessions[&owner];
        if session.waiting || session.is_over() {
            return;
        }
        let droppable = self.plan.can(Can::Droppable) && self.dice.one_in(2);
        let bytes = self.bytes().min(2000);
        let session = &self.sessions[&owner];
        let said = json!({ "s": session.id, "n": session.said.all, "k": session.said.kept });
        let message = notice(&padded(said, bytes), droppable);
        let sent =
            self.with(shard, |endpoint, now, out| endpoint.send(Target::Session(key), message, now, out));
        self.say(|| format!("  talk to {owner:?}: {sent:?}"));
        let session = self.live(owner);
        match sent {
            Ok(()) => {
                session.said.all += 1;
                session.said.kept += u64::from(!droppable);
            }
            Err(SendError::Full(_)) if !droppable => {
                session.waiting = true;
                self.seen.full += 1;
                self.relieve();
                return;
            }
            Err(error) => panic!("to a live session: {error:?}"),
        }
        if !self.healed {
            let wait = self.dice.between(80, 1500) * MILLI;
            self.after(wait, What::Talk(owner));
        }
    }

    pub(super) fn end_some_session(&mut self, fails: bool) {
        let live = self.sessions.iter().filter(|(_, session)| !session.is_over());
        let live: Vec<Owner> = live.map(|(owner, _)| *owner).collect();
        if live.is_empty() {
            return;
        }
        let (shard, session) = self.dice.pick(&live);
        self.say(|| format!("the application ends {session:?} of {shard}"));
        self.tell(
            shard,
            if fails { Event::SessionFailed { session } } else { Event::EndSession { session } },
        );
        assert!(self.sessions[&(shard, session)].is_over(), "ended and not over");
    }

    /// The application goes on with what it was silent about.
    pub(super) fn wake_silent(&mut self) {
        let works = self.works.iter_mut();
        let silent = works.filter_map(|(line, work)| std::mem::take(&mut work.silent).then_some(*line));
        let silent: Vec<Line> = silent.collect();
        for line in silent {
            self.after(0, What::Work(line));
        }
    }

    /// R9: all readers read, so that nobody waits for room, and all calls are answered.
    pub(super) fn check_nobody_waits(&self) {
        let waiting = self.sessions.values().filter(|session| session.waiting && !session.is_over());
        assert_eq!(waiting.count(), 0, "R9: who speaks to a session waits for ever");
        assert!(self.works.is_empty(), "R9: calls wait for ever: {:?}", self.works);
    }
}

fn params(request: &Request) -> Value {
    request.params.as_ref().expect("parameters").decode().expect("JSON")
}

fn padded(mut said: Value, bytes: usize) -> Value {
    said["pad"] = "x".repeat(bytes).into();
    said
}

fn notice(params: &Value, droppable: bool) -> Outbound {
    let mut params = params.clone();
    if let Some(object) = params.as_object_mut() {
        object.insert("droppable".into(), droppable.into());
    }
    let params = Some(if params.is_null() { json!({}) } else { params }.into());
    Outbound::Notice { method: "note".into(), params, droppable }
}
