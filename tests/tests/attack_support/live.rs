//! A client with a session that goes on calling, and takes nothing but the right answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::scope;

use serde_json::{Value, json};

use crate::socket_support::ask::tool;
use crate::socket_support::session::Session;
use crate::socket_support::wait::until;
use crate::socket_support::wire::{Answer, Lost, Wire};

pub(crate) struct Live {
    pub(crate) session: Session,
    answered: AtomicU64,
    stop: AtomicBool,
}

impl Live {
    /// Runs `attack` while this client calls; afterwards its session is closed, and was there all the time.
    #[track_caller]
    pub(crate) fn beside<T>(session: Session, attack: impl FnOnce(&Live) -> T) -> T {
        let live = Live { session, answered: AtomicU64::new(0), stop: AtomicBool::new(false) };
        let result = scope(|threads| {
            // Also when the attack fails: else nobody would tell the caller to stop.
            let _stop = StopOnDrop(&live.stop);
            threads.spawn(|| live.call());
            attack(&live)
        });
        live.session.close();
        result
    }

    /// Waits until so many calls more are answered, whatever stands around.
    #[track_caller]
    pub(crate) fn is_served(&self, more: u64) {
        let before = self.answered.load(Ordering::SeqCst);
        until(
            "answers for the client beside the attack",
            || self.answered.load(Ordering::SeqCst),
            |answered| *answered >= before + more,
        );
    }

    fn call(&self) {
        let mut wire = Wire::to(self.session.addr);
        while !self.stop.load(Ordering::SeqCst) {
            let number = self.answered.load(Ordering::SeqCst);
            let mine = format!("{} {number}", self.session.id);
            let accept = if number.is_multiple_of(2) {
                "application/json"
            } else {
                "text/event-stream, application/json;q=0.5"
            };
            let ask = self.session.own(tool("1", "echo", &json!({ "text": mine })).set("accept", accept));
            match wire.try_ask(&ask) {
                Ok(answer) => assert_eq!(echoed(&answer), mine, "{answer:?}"),
                // A server may close a connection that idles; whoever calls then comes again.
                Err(Lost::Closed) => {
                    wire = Wire::to(self.session.addr);
                    continue;
                }
                Err(lost) => panic!("the client beside the attack lost its connection: {lost:?}"),
            }
            self.answered.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// The text that came back, as JSON or as the one message of a stream.
#[track_caller]
fn echoed(answer: &Answer) -> Value {
    let message = match answer.field("content-type") {
        Some("application/json") => answer.json(),
        _ => answer.events().iter().find_map(|event| event.message()).expect("a message"),
    };
    message["result"]["content"][0]["text"].clone()
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
