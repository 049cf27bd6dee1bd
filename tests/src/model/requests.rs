//! The requests of steps as the intake lets them through. Each is judged once: the intake holds no state, so that the
//! same request always gets the same judgement.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::mem::Discriminant;
use std::sync::Mutex;

use http::Request;
use mcp_http_core::intake::{Admitted, Verdict};

use super::key::Mix;
use super::rig::Rig;
use super::{After, Op};
use crate::script::ask;

/// Requests that the intake let through, by all that they are made of.
#[derive(Default)]
pub(super) struct Judged(Mutex<HashMap<Made, Admitted, BuildHasherDefault<Mix>>>);

/// The kind of step, the JSON-RPC id, the session's id, `Last-Event-ID`.
type Made = (Discriminant<Op>, u32, Vec<u8>, Option<String>);

/// Requests that are remembered.
const JUDGED_MAX: usize = 4096;

impl Rig {
    /// The request of this step as the intake lets it through.
    pub(super) fn request(&self, op: Op) -> Result<Admitted, String> {
        let (s, id) = match op {
            Op::Call { s, id } | Op::CallJson { s, id } | Op::Cancelled { s, id } => (Some(s), u32::from(id)),
            Op::Reply { s, q } => (Some(s), q),
            Op::Notice { s } | Op::Get { s, .. } | Op::Delete { s } | Op::Again { s } => (Some(s), 0),
            _ => (None, 0),
        };
        let session = s.map_or(Vec::new(), |s| self.sessions[s as usize].1.as_bytes().to_vec());
        let key = (std::mem::discriminant(&op), id, session, self.last_event_id(op)?);
        let mut judged = self.judged.0.lock().expect("nobody panics with it");
        if let Some(admitted) = judged.get(&key) {
            return Ok(admitted.clone());
        }
        let admitted = self.judge(op, key.3.as_deref())?;
        if judged.len() >= JUDGED_MAX {
            judged.clear();
        }
        judged.insert(key, admitted.clone());
        Ok(admitted)
    }

    fn last_event_id(&self, op: Op) -> Result<Option<String>, String> {
        match op {
            Op::Get { after: After::Bad, .. } => Ok(Some(String::from("nobodys"))),
            Op::Get { after: After::Event(place), .. } => {
                let id = self.ids.get(&place).ok_or_else(|| format!("no id was seen for {place:?}"))?;
                Ok(Some(id.clone()))
            }
            _ => Ok(None),
        }
    }

    fn judge(&self, op: Op, last_event_id: Option<&str>) -> Result<Admitted, String> {
        let version = self.version().name();
        let (method, s, body) = match op {
            Op::Initialize { .. } => ("POST", None, ask::initialize("1", version)),
            Op::Again { s } => ("POST", Some(s), ask::initialize("1", version)),
            Op::Call { s, id } | Op::CallJson { s, id } => {
                ("POST", Some(s), ask::request(&id.to_string(), "slow"))
            }
            Op::Reply { s, q } => ("POST", Some(s), ask::reply(&q.to_string())),
            Op::Notice { s } => ("POST", Some(s), ask::notice("notifications/x")),
            Op::Cancelled { s, id } => ("POST", Some(s), ask::cancelled(&id.to_string())),
            Op::Get { s, .. } => ("GET", Some(s), String::new()),
            Op::Delete { s } => ("DELETE", Some(s), String::new()),
            other => panic!("no request: {other:?}"),
        };
        let mut head = Request::builder().method(method).uri("/mcp").header("host", "localhost");
        head = match method {
            "POST" => head.header("content-type", "application/json"),
            _ => head.header("accept", "text/event-stream"),
        };
        if let Op::CallJson { .. } = op {
            head = head.header("accept", "application/json");
        }
        if let Some(s) = s {
            head = head.header("mcp-session-id", self.sessions[s as usize].1.as_bytes());
        }
        if let Some(id) = last_event_id {
            head = head.header("last-event-id", id);
        }
        let parts = head.body(()).map_err(|error| error.to_string())?.into_parts().0;
        match self.intake.head(&parts) {
            Verdict::Admit(admitted) => Ok(admitted),
            Verdict::Body(needs) => needs.body(body.into()).map_err(|reject| format!("{reject:?}")),
            other => Err(format!("{other:?}")),
        }
    }
}
