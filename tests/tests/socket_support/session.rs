//! A session as a client has it.

use std::net::SocketAddr;

use serde_json::json;

use super::ask::{self, Ask};
use super::sse::Stream;
use super::wire::{Answer, Wire};

/// An open session. Each request has a connection of its own unless a test makes it otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) addr: SocketAddr,
    pub(crate) id: String,
    pub(crate) version: &'static str,
}

impl Session {
    /// Opens a session of a version without priming events.
    #[track_caller]
    pub(crate) fn open(addr: SocketAddr) -> Session {
        Session::open_at(addr, "2025-06-18")
    }

    #[track_caller]
    pub(crate) fn open_at(addr: SocketAddr, version: &'static str) -> Session {
        let answer = Wire::to(addr).ask(&ask::initialize_as("test", version));
        assert_eq!(answer.result()["protocolVersion"], version);
        let id = answer.session_id().expect("a session is offered").to_owned();
        let session = Session { addr, id, version };
        let taken = session.ask(ask::notice("notifications/initialized", &json!({})));
        assert_eq!(taken.status(), 202, "{taken:?}");
        session
    }

    /// The request, bearing this session's id and version.
    pub(crate) fn own(&self, ask: Ask) -> Ask {
        ask.with("mcp-session-id", &self.id).with("mcp-protocol-version", self.version)
    }

    #[track_caller]
    pub(crate) fn ask(&self, ask: Ask) -> Answer {
        Wire::to(self.addr).ask(&self.own(ask))
    }

    /// Asks for what must be answered with an event stream.
    #[track_caller]
    pub(crate) fn stream(&self, ask: Ask) -> Stream {
        Wire::to(self.addr).open(&self.own(ask))
    }

    #[track_caller]
    pub(crate) fn listen(&self) -> Stream {
        self.stream(ask::get())
    }

    #[track_caller]
    pub(crate) fn resume(&self, last_event_id: &str) -> Stream {
        self.stream(ask::get().with("last-event-id", last_event_id))
    }

    #[track_caller]
    pub(crate) fn ping(&self) -> Answer {
        self.ask(ask::ping("1"))
    }

    #[track_caller]
    pub(crate) fn delete(&self) -> Answer {
        self.ask(ask::delete())
    }

    /// Ends it, which must work.
    #[track_caller]
    pub(crate) fn close(self) {
        assert_eq!(self.delete().status(), 204);
    }
}
