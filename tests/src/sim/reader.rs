//! What a client gets: responses and frames, each held against what may come.

use bytes::Bytes;
use serde_json::Value;

use super::client::Stream;
use super::http::{Head, Read};
use super::{What, World};
use crate::script::{Frame, Said};
use crate::socket::Parcel;

/// What a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// `initialize` for this session of the client's.
    Open(usize),
    /// Calls, whose answers come on this stream.
    Call(usize),
    /// GET for this stream, resuming or not.
    Read(usize),
    Delete(usize),
    /// A notice or a reply.
    Tell(usize),
    /// A notice outside sessions.
    Announce,
    /// A second `initialize`.
    Again(usize),
    /// What must be refused.
    Foreign,
    Junk,
}

/// A request whose response is not whole.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) purpose: Purpose,
    /// Which reading of its stream this is; an older one does not count any more.
    pub(super) turn: u64,
    pub(super) accept: (bool, bool),
    pub(super) head: Option<Head>,
    pub(super) body: Vec<u8>,
    pub(super) messages: Vec<String>,
}

impl Task {
    fn stream(&self) -> Option<usize> {
        match self.purpose {
            Purpose::Call(stream) | Purpose::Read(stream) => Some(stream),
            _ => None,
        }
    }
}

impl World {
    /// Octets, or the end of them, at the client's end.
    pub(super) fn read_down(&mut self, conn: usize, parcel: Parcel) {
        match parcel {
            Parcel::Bytes(bytes) => {
                self.conns[conn].reader.push(&bytes);
                while let Some(read) = self.conns[conn].reader.next() {
                    self.read(conn, read);
                }
            }
            Parcel::Eof | Parcel::Reset => {
                let there = &self.conns[conn];
                // A request may cross the server's closing of a connection that was idle.
                let cut = there.reader.is_within() && !there.faulted && self.shutdown.is_none();
                assert!(!cut, "R4: connection {conn} ends within a response: {:?}", there.tasks);
                self.conns[conn].faulted |= !self.conns[conn].reader.is_within();
                self.send_up_eof(conn);
                self.drop_client_end(conn);
            }
        }
    }

    fn send_up_eof(&mut self, conn: usize) {
        if !self.conns[conn].is_half_closed() {
            self.half_close(conn);
        }
    }

    /// The client's end is closed: what it waited for does not come here any more.
    pub(super) fn drop_client_end(&mut self, conn: usize) {
        let there = &mut self.conns[conn];
        if !std::mem::replace(&mut there.open, false) {
            return;
        }
        let owner = there.owner;
        for task in std::mem::take(&mut self.conns[conn].tasks) {
            match task.purpose {
                Purpose::Open(session) => self.clients[owner].sessions[session].lost = true,
                Purpose::Call(stream) | Purpose::Read(stream) => {
                    let known = &mut self.clients[owner].streams[stream];
                    known.faulted |= self.conns[conn].faulted || task.head.is_none();
                    if known.turn == task.turn {
                        self.broke(owner, stream);
                    }
                }
                _ => {}
            }
        }
    }

    fn read(&mut self, conn: usize, read: Read) {
        let owner = self.conns[conn].owner;
        let Some(mut task) = self.conns[conn].tasks.pop_front() else {
            // A 408 may come to a request that never was.
            assert!(self.conns[conn].faulted || self.is_slow(), "H4: a response to nothing: {read:?}");
            self.conns[conn].closing = true;
            return;
        };
        match read {
            Read::Head(head) => {
                self.say(|| format!("  client {owner}: {} for {:?}", head.status, task.purpose));
                self.conns[conn].closing |= head.closes();
                self.judge_head(owner, &task, &head);
                task.head = Some(head);
            }
            Read::Body(bytes) => {
                task.body.extend_from_slice(&bytes);
                if task.head.as_ref().is_some_and(Head::is_stream) {
                    self.frames(owner, &mut task);
                }
            }
            Read::End => return self.finish(owner, task),
        }
        self.conns[conn].tasks.push_front(task);
    }

    fn is_slow(&self) -> bool {
        self.jumped > 0
    }

    fn judge_head(&self, owner: usize, task: &Task, head: &Head) {
        let offers = head.field("mcp-session-id").is_some();
        let may_offer = matches!(task.purpose, Purpose::Open(_)) && head.status == 200;
        assert!(!offers || may_offer, "R2: an id with {head:?} for {:?}", task.purpose);
        let is_whole = head.field("content-type") == Some("application/json");
        if head.status == 200 {
            assert!(head.is_stream() || is_whole, "C4: {head:?}");
            let (json, stream) = task.accept;
            assert!(!head.is_stream() || stream, "I2: a stream for who reads none: {:?}", task.purpose);
            assert!(!is_whole || json, "I2: JSON for who reads none: {:?}", task.purpose);
        }
        if head.status >= 400 {
            assert!(is_whole, "I13: {head:?}");
        }
        let of = match task.purpose {
            Purpose::Delete(session) | Purpose::Tell(session) | Purpose::Again(session) => Some(session),
            Purpose::Call(stream) | Purpose::Read(stream) => self.clients[owner].streams[stream].session,
            _ => None,
        };
        if let (404, Some(session)) = (head.status, of) {
            let id = self.clients[owner].sessions[session].id.as_deref().expect("an id was sent");
            assert!(self.is_known_over(id), "S5: 404 for a session that lives: {:?}", task.purpose);
        }
        let busy = [429, 503].contains(&head.status) || (head.status == 408 && self.is_slow());
        let expected: &[u16] = match &task.purpose {
            Purpose::Open(_) => &[200, 500],
            Purpose::Call(_) => &[200, 404],
            Purpose::Read(_) => &[200, 204, 400, 404],
            Purpose::Delete(_) => &[204, 404],
            Purpose::Tell(_) => &[202, 404],
            Purpose::Announce => &[202],
            Purpose::Again(_) => &[400, 404],
            Purpose::Foreign => &[404],
            Purpose::Junk => &[400, 404, 405, 406, 415, 421, 403, 413, 501],
        };
        assert!(busy || expected.contains(&head.status), "{} for {:?}", head.status, task.purpose);
    }

    /// Takes whole frames out of what came so far.
    fn frames(&mut self, owner: usize, task: &mut Task) {
        while let Some(end) = task.body.windows(2).position(|two| two == b"\n\n") {
            let text: Vec<u8> = task.body.drain(..end + 2).collect();
            let frame = Frame::read(&Bytes::from(text));
            let said = frame.said();
            match (task.stream(), said) {
                (None, Said::Message(text)) => task.messages.push(text),
                (None, _) => {}
                (Some(stream), said) if self.clients[owner].streams[stream].turn == task.turn => {
                    let text = if let Said::Message(text) = said { Some(text) } else { None };
                    self.framed(owner, stream, frame.id, text);
                }
                // Somebody else reads this stream now.
                (Some(_), _) => {}
            }
        }
    }

    fn framed(&mut self, owner: usize, stream: usize, id: Option<String>, text: Option<String>) {
        let loose = self.is_loose();
        let known = &mut self.clients[owner].streams[stream];
        let is_new = text.as_ref().is_some_and(|text| known.place_of(id.as_deref(), text, loose));
        self.seen.replayed += u64::from(text.is_some() && !is_new);
        if let Some(id) = id {
            let place = known.at;
            let same = known.ids.iter().find(|(other, _)| *other == id);
            assert!(same.is_none_or(|(_, at)| *at == place), "C5: {id} stands for two places: {known:?}");
            known.ids.push((id, place));
        }
        if let (Some(text), true) = (text, is_new) {
            self.message(owner, stream, &text);
        }
    }

    /// A message that was not there before.
    pub(super) fn message(&mut self, owner: usize, stream: usize, text: &str) {
        self.say(|| format!("  client {owner}, stream {stream}: {}", &text[..text.len().min(160)]));
        let message: Value = serde_json::from_str(text).expect("C14: a message is JSON");
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some("note"), None) => self.said(owner, stream, params),
            (Some("ask"), Some(id)) => {
                self.said(owner, stream, params);
                let answer =
                    serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": { "t": params["q"] } });
                let session = self.clients[owner].streams[stream].session.expect("Z8: no questions here");
                let wait = self.dice.between(1, 300) * super::MILLI;
                self.after(wait, What::Reply(owner, session, answer.to_string()));
            }
            (Some(method), None) => self.announced(owner, stream, method, params),
            (None, Some(id)) => self.answered(owner, stream, id, &message),
            _ => panic!("no message of ours: {text}"),
        }
    }

    /// C3, R6: the message is of this stream, and none is missing before it.
    fn said(&mut self, owner: usize, stream: usize, params: &Value) {
        let loose = self.is_loose();
        let client = &mut self.clients[owner];
        let known = &mut client.streams[stream];
        let (n, k) = (params["n"].as_u64().expect("a number"), params["k"].as_u64().expect("a number"));
        let droppable = params["droppable"] == true;
        let (count, may_miss) = match params["t"].as_str() {
            Some(token) => {
                let call = known.calls.iter_mut().find(|call| call.token == token);
                let call = call.unwrap_or_else(|| panic!("R5: {params} on a stream without its call"));
                assert_eq!(call.answers, 0, "R5: {params} after the answer");
                (&mut call.said, false)
            }
            None => {
                let session = &client.sessions[known.session.expect("a session's stream")];
                assert!(
                    known.calls.is_empty() && params["s"].as_str() == session.id.as_deref(),
                    "C3: {params}"
                );
                (&mut known.said, loose || known.missed)
            }
        };
        assert!(n >= count.0, "R6: {params} is doubled or out of order, after {count:?}");
        assert!(
            k == count.1 || (may_miss && k > count.1),
            "R6: frames are missing before {params}: {count:?}"
        );
        *count = (n + 1, k + u64::from(!droppable));
    }

    fn announced(&mut self, owner: usize, stream: usize, method: &str, params: &Value) {
        let known = &self.clients[owner].streams[stream];
        if let Some(id) = &known.listens {
            let of = params["_meta"]["io.modelcontextprotocol/subscriptionId"].to_string();
            assert_eq!(of, *id, "Z10: {method} of another subscription");
        } else {
            assert!(known.calls.is_empty(), "C3: {method} on a call's stream");
            assert_eq!(method, "notifications/tools/list_changed");
        }
    }

    fn answered(&mut self, owner: usize, stream: usize, id: &Value, message: &Value) {
        let known = &mut self.clients[owner].streams[stream];
        let id = id.to_string();
        if known.listens.as_ref() == Some(&id) {
            known.over = true;
            return;
        }
        let token = message["result"]["t"].as_str();
        let call = known.calls.iter_mut().find(|call| match token {
            Some(token) => call.token == token,
            None => call.id == id && call.answers == 0,
        });
        let Some(call) = call else { panic!("R5: {message} answers nothing here: {:?}", known.calls) };
        assert_eq!(call.id, id, "R5: ids are echoed");
        call.answers += 1;
        assert_eq!(call.answers, 1, "R4: {message} is the second answer");
        assert!(!call.refused, "R4: {message} after a refusal");
        if let (Some(_), true) = (token, call.counts) {
            let k = message["result"]["k"].as_u64();
            assert_eq!(k, Some(call.said.1), "R6: frames are missing before {message}");
        }
        self.seen.answered += 1;
        self.seen.solo += u64::from(known.session.is_none());
        known.over = known.calls.iter().all(|call| call.answers > 0);
    }

    fn finish(&mut self, owner: usize, mut task: Task) {
        let head = task.head.take().expect("a head came first");
        let is_stream = head.is_stream();
        if !is_stream && !task.body.is_empty() {
            let body = String::from_utf8(std::mem::take(&mut task.body)).expect("UTF-8");
            task.messages.push(body);
        }
        assert!(task.body.is_empty(), "C6: a stream ends within a frame: {task:?}");
        match task.purpose {
            Purpose::Open(session) => self.opened(owner, session, &head, &task.messages),
            Purpose::Call(stream) | Purpose::Read(stream) => {
                if self.clients[owner].streams[stream].turn == task.turn {
                    self.finish_reading(owner, stream, &head, &task);
                }
            }
            Purpose::Delete(session) | Purpose::Tell(session) | Purpose::Again(session) => {
                let is_over = head.status == 404 || head.status == 204;
                let known = &mut self.clients[owner].sessions[session];
                known.over |= is_over;
                let id = known.id.clone().expect("an id was sent");
                assert!(!is_over || self.is_known_over(&id), "S3: {} and the session lives", head.status);
            }
            Purpose::Announce | Purpose::Foreign | Purpose::Junk => {}
        }
    }

    fn opened(&mut self, owner: usize, session: usize, head: &Head, messages: &[String]) {
        let known = &mut self.clients[owner].sessions[session];
        let result: Value = serde_json::from_str(&messages[0]).expect("JSON");
        let id = head.field("mcp-session-id");
        assert_eq!(messages.len(), 1);
        match (id, result.get("result")) {
            (Some(id), Some(result)) => {
                known.id = Some(id.to_owned());
                known.version = result["protocolVersion"].as_str().expect("a version").to_owned();
            }
            (None, None) => known.lost = true,
            _ => panic!("R2: an id and no result, or a result and no id: {head:?}, {result}"),
        }
    }

    /// The response that carried a stream is whole.
    fn finish_reading(&mut self, owner: usize, stream: usize, head: &Head, task: &Task) {
        let is_call = matches!(task.purpose, Purpose::Call(_));
        let loose = self.is_loose();
        match head.status {
            200 if !head.is_stream() => {
                let text = task.messages[0].clone();
                let batch: Option<Vec<&serde_json::value::RawValue>> = serde_json::from_str(&text).ok();
                let all =
                    batch.map_or(vec![text.clone()], |all| all.iter().map(|one| one.get().into()).collect());
                for text in all {
                    self.message(owner, stream, &text);
                }
                let known = &self.clients[owner].streams[stream];
                assert!(known.is_settled(), "R4: a whole response without all answers: {known:?}");
            }
            200 => {
                let primes = self.primes(owner, stream);
                let known = &mut self.clients[owner].streams[stream];
                self.seen.drained_streams += 1;
                if !known.is_settled() {
                    // Closed for polling, or moved: of two resumes the one that comes last has it.
                    let moves = (primes || known.turn > 1) && !known.ids.is_empty();
                    assert!(
                        known.calls.is_empty() || moves,
                        "R4: a stream ends without its answer: {known:?}"
                    );
                    self.broke(owner, stream);
                } else {
                    known.over |= !known.calls.is_empty();
                }
            }
            204 => {
                let known = &mut self.clients[owner].streams[stream];
                assert!(known.is_settled(), "C7: nothing is left, and answers are missing: {known:?}");
                known.over = true;
            }
            400 => {
                let known = &mut self.clients[owner].streams[stream];
                let is_old = self.now - known.broken > self.config.stream_retention.as_micros() as u64 / 2;
                assert!(
                    !known.calls.is_empty() && (loose || is_old || known.over || known.rereads),
                    "C7: lost, and it need not be: {} for {known:?}",
                    task.messages[0]
                );
                known.over = true;
                known.faulted = true;
                self.seen.lost_streams += 1;
            }
            404 => {
                let client = &mut self.clients[owner];
                let known = &mut client.streams[stream];
                known.over = true;
                known.faulted |= !is_call;
                if let Some(session) = known.session {
                    client.sessions[session].over = true;
                }
                known.calls.iter_mut().for_each(|call| call.refused = true);
            }
            _ if is_call => {
                let known = &mut self.clients[owner].streams[stream];
                known.over = true;
                known.calls.iter_mut().for_each(|call| call.refused = true);
            }
            _ => self.broke(owner, stream),
        }
    }
}

impl Stream {
    /// Whether the message is new; one that came before, by its id, must be the same and where it was.
    fn place_of(&mut self, id: Option<&str>, text: &str, loose: bool) -> bool {
        let may_skip = loose && self.calls.is_empty();
        let before = self.ids.iter().find(|(known, _)| Some(known.as_str()) == id).map(|(_, place)| *place);
        let place = before.unwrap_or(self.history.len() + 1);
        // A notice that may be left out may have been, since it was read here.
        let between = self.history.get(self.at..place - 1);
        let is_spare = |text: &String| text.contains(r#""droppable":true"#);
        let follows = between.is_some_and(|between| may_skip || between.iter().all(is_spare));
        assert!(
            follows && place > self.at,
            "R6: a resume left something out, or doubled it: {id:?} {text}, {self:?}"
        );
        self.at = place;
        if before.is_none() {
            self.history.push(text.to_owned());
            return true;
        }
        assert_eq!(self.history[place - 1], text, "C5: {id:?} is another message now");
        false
    }

    /// All its calls are answered, or need not be.
    pub(super) fn is_settled(&self) -> bool {
        match self.calls.is_empty() {
            true => self.over,
            false => self.calls.iter().all(|call| call.answers > 0 || call.cancelled || call.refused),
        }
    }
}
