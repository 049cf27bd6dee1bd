//! Clients: what they ask for, and what they know of their sessions and streams.

use serde_json::json;

use super::http;
use super::reader::{Purpose, Task};
use super::{Can, MILLI, What, World};

const SESSIONS_MAX: usize = 5;
const TRIES_MAX: u32 = 60;

/// One client, with a name that the server takes as its principal.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) sessions: Vec<Session>,
    pub(super) streams: Vec<Stream>,
    asked: u64,
}

/// A session as a client knows it.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) id: Option<String>,
    pub(super) version: String,
    /// It was never heard of.
    pub(super) lost: bool,
    pub(super) over: bool,
    /// Its standalone stream.
    own: Option<usize>,
    /// The ids that were cancelled: a cancel may come after a later call with the same id.
    cancelled: Vec<String>,
}

/// A stream as a client knows it.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) session: Option<usize>,
    /// Empty for a standalone stream.
    pub(super) calls: Vec<Call>,
    /// The id of its `subscriptions/listen`.
    pub(super) listens: Option<String>,
    /// Event ids, each with how many messages came before.
    pub(super) ids: Vec<(String, usize)>,
    pub(super) history: Vec<String>,
    /// Where in `history` the reading is.
    pub(super) at: usize,
    /// Messages, and those that nothing may leave out, that were said on a standalone stream.
    pub(super) said: (u64, u64),
    /// Which reading of it counts.
    pub(super) turn: u64,
    /// There will be no more.
    pub(super) over: bool,
    /// A connection that carried it failed.
    pub(super) faulted: bool,
    /// It was opened anew without an id, so that what was on its way is lost.
    pub(super) missed: bool,
    /// It is being read again from an older place.
    pub(super) rereads: bool,
    pub(super) broken: u64,
    resuming: bool,
    tries: u32,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) token: String,
    pub(super) id: String,
    pub(super) answers: u32,
    pub(super) refused: bool,
    pub(super) cancelled: bool,
    /// Its notices come to this client, so that none may be missing.
    pub(super) counts: bool,
    pub(super) said: (u64, u64),
}

/// A request to be sent.
struct Ask<'a> {
    purpose: Purpose,
    method: &'a str,
    fields: Vec<(&'a str, String)>,
    body: String,
}

impl Client {
    pub(super) fn new(number: usize) -> Self {
        let name = format!("client-{number}");
        Client { name, sessions: Vec::new(), streams: Vec::new(), asked: 0 }
    }

    fn live(&self) -> Vec<usize> {
        let live = |session: &Session| session.id.is_some() && !session.over;
        (0..self.sessions.len()).filter(|at| live(&self.sessions[*at])).collect()
    }
}

/// What a client does next.
impl World {
    pub(super) fn act(&mut self, owner: usize) {
        if self.healed {
            return;
        }
        let wait = self.dice.between(2, 250) * MILLI;
        self.after(wait, What::Act(owner));
        self.trouble_some_connection(owner);
        let live = self.clients[owner].live();
        let is_able = |world: &mut World, can, one_in| world.plan.can(can) && world.dice.one_in(one_in);
        if is_able(self, Can::Solo, 6) {
            return self.solo(owner);
        }
        if is_able(self, Can::Listen, 20) {
            return self.listen(owner);
        }
        if is_able(self, Can::Junk, 12) {
            return self.junk(owner);
        }
        if live.is_empty() || self.dice.one_in(15) {
            return self.open(owner);
        }
        let session = self.dice.pick(&live);
        let text = |method: &str| json!({ "jsonrpc": "2.0", "method": method }).to_string();
        match self.dice.below(14) {
            0 if self.plan.can(Can::Delete) && self.dice.one_in(4) => {
                self.post(owner, Some(session), Purpose::Delete(session), "DELETE", String::new());
            }
            1 if self.plan.can(Can::Notice) => {
                self.post(owner, Some(session), Purpose::Tell(session), "POST", text("notifications/x"));
            }
            2 if self.plan.can(Can::Again) => {
                let body = initialize(&self.clients[owner].name, "2025-06-18");
                self.post(owner, Some(session), Purpose::Again(session), "POST", body);
            }
            3 if self.plan.can(Can::Foreign) => self.foreign(owner),
            4 | 5 if self.plan.can(Can::Standalone) => self.read_standalone(owner, session),
            6 if self.plan.can(Can::Cancel) => self.cancel(owner, session),
            7 | 8 if self.plan.can(Can::Replay) => self.replay(owner),
            9 if self.plan.can(Can::Batch) => self.call(owner, session, 1 + self.dice.clone().below(4)),
            _ => self.call(owner, session, 1),
        }
    }

    fn trouble_some_connection(&mut self, owner: usize) {
        let open = |at: &usize| self.conns[*at].owner == owner && self.conns[*at].open;
        let mine: Vec<usize> = (0..self.conns.len()).filter(open).collect();
        if mine.is_empty() || !self.dice.one_in(4) {
            return;
        }
        let conn = self.dice.pick(&mine);
        let wait = self.dice.between(0, 400) * MILLI;
        match self.dice.below(4) {
            0 if self.plan.can(Can::Cut) => self.after(wait, What::Cut(conn)),
            1 if self.plan.can(Can::Stall) => {
                let time = self.dice.pick(&[100, 1000, 8000]) * MILLI;
                self.after(wait, What::Stall(conn, time));
            }
            2 if self.plan.can(Can::Vanish) => self.after(wait, What::Vanish(conn)),
            3 if self.plan.can(Can::HalfClose) => self.after(wait, What::HalfClose(conn)),
            _ => {}
        }
    }

    fn open(&mut self, owner: usize) {
        if self.clients[owner].sessions.len() >= SESSIONS_MAX {
            return;
        }
        let session = self.clients[owner].sessions.len();
        self.clients[owner].sessions.push(Session::default());
        let version = self.dice.pick(&["2025-03-26", "2025-06-18", "2025-11-25", "2025-11-25", "2099-01-01"]);
        let body = initialize(&self.clients[owner].name, version);
        self.post(owner, None, Purpose::Open(session), "POST", body);
    }

    fn new_call(&mut self, owner: usize) -> Call {
        let client = &mut self.clients[owner];
        client.asked += 1;
        let (token, number) = (format!("{}-{}", client.name, client.asked), client.asked);
        let id = match self.dice.below(3) {
            _ if self.plan.can(Can::SameId) && self.dice.one_in(3) => String::from("7"),
            0 => format!("\"{number}\""),
            1 => format!("-{number}"),
            _ => number.to_string(),
        };
        let (answers, refused, cancelled, counts) = (0, false, false, true);
        Call { token, id, answers, refused, cancelled, counts, said: (0, 0) }
    }

    fn call(&mut self, owner: usize, session: usize, count: usize) {
        let known = &self.clients[owner].sessions[session];
        let id = known.id.clone();
        let is_batch = known.version == "2025-03-26" && count > 1;
        let mut calls = Vec::new();
        let mut bodies = Vec::new();
        for _ in 0..if is_batch { count } else { 1 } {
            let mut call = self.new_call(owner);
            if calls.iter().any(|other: &Call| other.id == call.id) {
                // An error bears no token: who is meant would not be known.
                call.id = format!("\"{}\"", call.token);
            }
            call.cancelled = self.clients[owner].sessions[session].cancelled.contains(&call.id);
            bodies.push(format!(
                r#"{{"jsonrpc":"2.0","id":{},"method":"work","params":{{"t":"{}","s":"{}"}}}}"#,
                call.id,
                call.token,
                id.as_deref().unwrap_or_default()
            ));
            calls.push(call);
        }
        if is_batch && self.dice.one_in(3) {
            bodies.push(String::from(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#));
        }
        let body = if is_batch { format!("[{}]", bodies.join(",")) } else { bodies.remove(0) };
        let stream = self.new_stream(owner, Stream { session: Some(session), calls, ..Stream::default() });
        self.post(owner, Some(session), Purpose::Call(stream), "POST", body);
    }

    fn new_stream(&mut self, owner: usize, stream: Stream) -> usize {
        self.clients[owner].streams.push(stream);
        self.clients[owner].streams.len() - 1
    }

    fn solo(&mut self, owner: usize) {
        if self.plan.can(Can::Notice) && self.dice.one_in(4) {
            let body = String::from(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
            return self.post_modern(owner, Purpose::Announce, "notifications/x", body);
        }
        let call = self.new_call(owner);
        let body = modern(&call.id, "work", &format!(r#""t":"{}""#, call.token));
        let stream = self.new_stream(owner, Stream { calls: vec![call], ..Stream::default() });
        self.post_modern(owner, Purpose::Call(stream), "work", body);
    }

    fn listen(&mut self, owner: usize) {
        let call = self.new_call(owner);
        let body = modern(&call.id, "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
        let stream = self.new_stream(owner, Stream { listens: Some(call.id), ..Stream::default() });
        self.post_modern(owner, Purpose::Call(stream), "subscriptions/listen", body);
    }

    fn cancel(&mut self, owner: usize, session: usize) {
        let streams = self.clients[owner].streams.iter().enumerate();
        let open = streams.filter(|(_, stream)| {
            stream.session == Some(session) && stream.calls.len() == 1 && !stream.is_settled()
        });
        let open: Vec<usize> = open.map(|(at, _)| at).collect();
        if open.is_empty() {
            return;
        }
        let stream = self.dice.pick(&open);
        let id = self.clients[owner].streams[stream].calls[0].id.clone();
        // It may hit any call with this id.
        for stream in self.clients[owner].streams.iter_mut().filter(|stream| stream.session == Some(session))
        {
            stream.calls.iter_mut().filter(|call| call.id == id).for_each(|call| call.cancelled = true);
        }
        self.clients[owner].sessions[session].cancelled.push(id.clone());
        self.seen.cancelled += 1;
        let body = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        self.post(owner, Some(session), Purpose::Tell(session), "POST", body);
    }

    pub(super) fn reply(&mut self, owner: usize, session: usize, body: String) {
        if !self.left && !self.clients[owner].sessions[session].over {
            self.post(owner, Some(session), Purpose::Tell(session), "POST", body);
        }
    }

    /// The id of somebody else's session.
    fn foreign(&mut self, owner: usize) {
        let others = self.clients.iter().enumerate().filter(|(at, _)| *at != owner);
        let ids: Vec<String> = others
            .flat_map(|(_, other)| other.sessions.iter().filter_map(|session| session.id.clone()))
            .collect();
        if ids.is_empty() {
            return;
        }
        let id = ids[self.dice.below(ids.len())].clone();
        let (method, body) = match self.dice.below(3) {
            0 => ("DELETE", ""),
            1 => ("GET", ""),
            _ => ("POST", r#"{"jsonrpc":"2.0","id":1,"method":"work"}"#),
        };
        let fields = vec![("mcp-session-id", id)];
        self.ask(owner, Ask { purpose: Purpose::Foreign, method, fields, body: body.to_owned() });
    }

    fn junk(&mut self, owner: usize) {
        let (method, fields, body): (_, Vec<(&str, String)>, _) = match self.dice.below(7) {
            0 => ("POST", vec![], "{"),
            1 => ("POST", vec![], r#"{"jsonrpc":"2.0","id":1,"method":"work"}"#),
            2 => ("POST", vec![("origin", "http://evil.example".into())], "{}"),
            3 => ("GET", vec![], ""),
            4 => ("PUT", vec![], ""),
            5 => ("POST", vec![("mcp-session-id", "nobodys".into())], r#"{"jsonrpc":"2.0","method":"x"}"#),
            _ => ("POST", vec![], r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#),
        };
        self.ask(owner, Ask { purpose: Purpose::Junk, method, fields, body: body.to_owned() });
    }
}

/// Streams that are read, and read again.
impl World {
    fn read_standalone(&mut self, owner: usize, session: usize) {
        match self.clients[owner].sessions[session].own {
            None => {
                let stream = self.new_stream(owner, Stream { session: Some(session), ..Stream::default() });
                self.clients[owner].sessions[session].own = Some(stream);
                self.post(owner, Some(session), Purpose::Read(stream), "GET", String::new());
            }
            Some(stream) if self.plan.can(Can::Steal) && !self.clients[owner].streams[stream].resuming => {
                self.resume(owner, stream, None);
            }
            Some(_) => {}
        }
    }

    /// Reads some stream again from an older event.
    fn replay(&mut self, owner: usize) {
        let streams = self.clients[owner].streams.iter().enumerate();
        let with_ids = streams.filter(|(_, stream)| !stream.ids.is_empty() && !stream.resuming);
        let with_ids: Vec<usize> = with_ids.map(|(at, _)| at).collect();
        if with_ids.is_empty() {
            return;
        }
        // The younger ones are the ones that are kept.
        let last = with_ids.len() - 1 - self.dice.below(with_ids.len().min(3));
        let stream = with_ids[last];
        let from = self.dice.below(self.clients[owner].streams[stream].ids.len());
        self.resume(owner, stream, Some(from));
    }

    /// A stream lost its connection.
    pub(super) fn broke(&mut self, owner: usize, stream: usize) {
        let (wait, now) = (self.dice.between(20, 1200) * MILLI, self.now);
        let known = &mut self.clients[owner].streams[stream];
        if known.over || known.listens.is_some() || known.resuming {
            return;
        }
        known.broken = now;
        let standalone = known.calls.is_empty();
        if known.session.is_none() || (known.ids.is_empty() && !standalone) || known.tries > TRIES_MAX {
            return;
        }
        known.resuming = true;
        known.tries += 1;
        self.after(wait, What::Resume(owner, stream));
    }

    pub(super) fn resume(&mut self, owner: usize, stream: usize, from: Option<usize>) {
        let client = &mut self.clients[owner];
        let known = &mut client.streams[stream];
        known.resuming = false;
        let Some(session) = known.session else { return };
        if self.left || client.sessions[session].over {
            known.faulted = true;
            return;
        }
        known.rereads = from.is_some();
        match from.or(known.ids.len().checked_sub(1)) {
            Some(from) => known.at = known.ids[from].1,
            None => known.missed = true,
        }
        self.seen.resumed += 1;
        self.post(owner, Some(session), Purpose::Read(stream), "GET", String::new());
    }

    /// Whether the stream's session may have streams closed for polling (C6).
    pub(super) fn primes(&self, owner: usize, stream: usize) -> bool {
        let client = &self.clients[owner];
        client.streams[stream].session.is_some_and(|at| client.sessions[at].version == "2025-11-25")
    }
}

/// How it is sent.
impl World {
    fn post(&mut self, owner: usize, session: Option<usize>, purpose: Purpose, method: &str, body: String) {
        let client = &self.clients[owner];
        let mut fields = Vec::new();
        if let Some(session) = session {
            let known = &client.sessions[session];
            fields.push(("mcp-session-id", known.id.clone().expect("a session with an id")));
            let named = !matches!(purpose, Purpose::Again(_)) && known.version != "2025-03-26";
            if named && self.dice.one_in(2) {
                fields.push(("mcp-protocol-version", known.version.clone()));
            }
        }
        if let Purpose::Read(stream) = purpose {
            let known = &client.streams[stream];
            let place = known.ids.iter().rposition(|(_, at)| *at == known.at);
            if let Some(place) = place {
                fields.push(("last-event-id", known.ids[place].0.clone()));
            }
        }
        self.ask(owner, Ask { purpose, method, fields, body });
    }

    fn post_modern(&mut self, owner: usize, purpose: Purpose, method: &str, body: String) {
        let fields =
            vec![("mcp-protocol-version", String::from("2026-07-28")), ("mcp-method", method.to_owned())];
        self.ask(owner, Ask { purpose, method: "POST", fields, body });
    }

    fn ask(&mut self, owner: usize, mut ask: Ask<'_>) {
        let mut accept = match ask.method {
            "GET" => (false, true),
            _ => (true, true),
        };
        let listens = matches!(ask.purpose, Purpose::Call(stream) if self.clients[owner].streams[stream].listens.is_some());
        if matches!(ask.purpose, Purpose::Call(_) | Purpose::Open(_)) && !listens {
            match self.dice.below(6) {
                0 if self.plan.can(Can::JsonOnly) => accept = (true, false),
                1 if self.plan.can(Can::StreamOnly) => accept = (false, true),
                _ => {}
            }
        }
        let named = match accept {
            (true, true) => "application/json, text/event-stream",
            (true, false) => "application/json",
            _ => "text/event-stream",
        };
        ask.fields.push(("accept", named.to_owned()));
        ask.fields.push(("authorization", self.clients[owner].name.clone()));
        if ask.method == "POST" {
            ask.fields.push(("content-type", String::from("application/json")));
        }
        let mut turn = 0;
        if let Purpose::Call(stream) | Purpose::Read(stream) = ask.purpose {
            let known = &mut self.clients[owner].streams[stream];
            known.turn += 1;
            turn = known.turn;
            if let Purpose::Call(_) = ask.purpose {
                known.calls.iter_mut().for_each(|call| call.counts = accept.1);
            }
        }
        let conn = self.connection_for(owner, &ask);
        let chunked = self.dice.one_in(5);
        let bytes = http::request(ask.method, &ask.fields, &ask.body, chunked);
        self.say(|| format!("client {owner} on {conn}: {:?} {} {:?}", ask.purpose, ask.method, ask.fields));
        let (head, body, messages) = (None, Vec::new(), Vec::new());
        self.conns[conn].tasks.push_back(Task { purpose: ask.purpose, turn, accept, head, body, messages });
        self.write_up(conn, &bytes);
    }

    fn connection_for(&mut self, owner: usize, ask: &Ask<'_>) -> usize {
        let most = if self.plan.can(Can::Pipeline) && ask.method == "POST" { 2 } else { 0 };
        let fits = |at: &usize| {
            let conn = &self.conns[*at];
            let reads = |task: &Task| matches!(task.purpose, Purpose::Read(_));
            conn.owner == owner
                && conn.takes_requests()
                && conn.tasks.len() <= most
                && !conn.tasks.iter().any(reads)
        };
        let free: Vec<usize> = (0..self.conns.len()).filter(fits).collect();
        if free.is_empty() || self.dice.one_in(4) {
            return self.connect(owner);
        }
        self.dice.pick(&free)
    }

    /// Every call whose connection lived was answered or refused, once.
    pub(super) fn check_clients(&self) {
        for (conn, there) in self.conns.iter().enumerate() {
            assert!(
                there.faulted || there.tasks.is_empty(),
                "R4: nothing came of {:?} on {conn}",
                there.tasks
            );
        }
        for stream in self.clients.iter().flat_map(|client| &client.streams) {
            let calls = || stream.calls.iter();
            assert!(calls().all(|call| call.answers <= 1), "R4: {stream:?}");
            let settled = stream.calls.is_empty() || stream.faulted || stream.is_settled();
            assert!(settled, "R4: a call whose connection lived has no answer: {stream:?}");
        }
    }
}

fn initialize(name: &str, version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"{name}","version":"1"}}}}}}"#
    )
}

fn modern(id: &str, method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}
