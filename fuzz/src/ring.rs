//! C5 to C9, C11, R6, R8, R9 on one stream: what is sent, dropped, read, broken off and resumed, with a ring that is
//! small in frames or in bytes. The ring is the core's own; here it is seen from outside, through an endpoint.
//!
//! The oracle keeps a list of all that was sent and a mark for what each reader has got. It does not work out which
//! frames are kept (the model behind the target `endpoint` does); it holds that nothing is lost, doubled, reordered or
//! refused without cause.

mod oracle;

use std::time::Duration;

use mcp_http_core::answer::Head;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{
    Action, CallId, Event, ExchangeId, Outbound, Pulled, SendError, SessionKey, Target,
};
use mcp_http_core::json::Json;
use mcp_http_core::session_id::SessionId;
use mcp_http_core::version::Version;
use mcp_http_tests::script::ask;

use crate::bench::{Bench, call_of};
use crate::event_source::EventSource;
use crate::input::Input;
use oracle::{Came, Limits, Oracle};

/// Steps of one course.
const STEPS_MAX: usize = 120;

/// Reads: the kind of stream and the limits, then a byte or two for each step.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut course = Course::new(&mut input);
    for _ in 0..STEPS_MAX {
        if input.is_empty() {
            break;
        }
        course.step(&mut input);
    }
    course.bench.finish();
}

struct Course {
    bench: Bench,
    session: (SessionKey, SessionId),
    /// The call whose stream it is, until it is answered; none if it is the standalone stream.
    call: Option<CallId>,
    target: Target,
    carrier: Option<ExchangeId>,
    oracle: Oracle,
}

impl Course {
    fn new(input: &mut Input<'_>) -> Self {
        let kind = input.byte();
        let mut config = Config::default();
        config.ring_frames_max = 1 + input.below(6);
        config.ring_bytes_max = 100 + 16 * usize::from(input.byte());
        config.session_ring_bytes_max = config.ring_bytes_max;
        config.comment_every = Duration::from_secs(1000);
        let limits = Limits { frames: config.ring_frames_max, bytes: config.ring_bytes_max };
        let version = if kind & 2 == 0 { Version::V2025_11_25 } else { Version::V2025_03_26 };
        let mut bench = Bench::new(config, version);
        let session = bench.open();
        let mut course = Course {
            target: Target::Session(session.0),
            bench,
            session,
            call: None,
            carrier: None,
            oracle: Oracle::new(limits, kind & 1 == 0),
        };
        if kind & 1 == 1 {
            let (exchange, actions) = course.bench.post(Some(&course.session.1), ask::request("7", "slow"));
            let call = call_of(&actions).expect("the call is delivered");
            course.call = Some(call);
            course.target = Target::Call(call);
            course.carrier = Some(exchange);
            course.oracle.attach_new();
        }
        course
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let what = input.byte();
        match what % 16 {
            0..=4 => self.say(input, what & 16 != 0),
            5 | 6 => self.pull(1),
            7 | 8 => self.pull(usize::MAX),
            9 => self.break_off(),
            10 | 11 => self.resume(usize::from(input.byte())),
            12 if self.oracle.standalone => self.open(),
            13 => self.answer(input),
            14 => self.stall(),
            _ => self.poll(),
        }
        self.check_bounds();
    }

    fn say(&mut self, input: &mut Input<'_>, droppable: bool) {
        let (number, padding) = (self.oracle.sent.len(), input.below(200));
        let message = Outbound::Notice {
            method: "note".into(),
            params: Some(Json::from_text(params(number, padding).into()).expect("JSON")),
            droppable,
        };
        let (sent, actions) = self.bench.send(self.target, message);
        let over = self.call.is_none() && !self.oracle.standalone;
        match sent {
            Ok(()) => {
                assert!(!over, "R11: said to a call that is over");
                self.oracle.took(text_of(number, padding), droppable);
            }
            Err(SendError::Full(_)) => self.oracle.was_full(text_of(number, padding).len(), droppable),
            Err(SendError::Gone(_)) => assert!(over, "R11: there is a stream"),
            Err(error) => panic!("{error:?}"),
        }
        self.told(&actions);
    }

    fn answer(&mut self, input: &mut Input<'_>) {
        let Some(call) = self.call.take() else { return };
        let padding = input.below(250);
        let text = format!(r#"{{"pad":"{}"}}"#, "x".repeat(padding));
        let result = Json::from_text(text.clone().into()).expect("JSON");
        let (sent, actions) = self.bench.send(Target::Call(call), Outbound::Result { result });
        assert_eq!(sent, Ok(()), "R14: each stream keeps room for its final frame");
        let is_json = actions.iter().any(|action| {
            matches!(action, Action::Respond { response, .. } if matches!(response.head, Head::Json { .. }))
        });
        if is_json {
            assert_eq!(self.oracle.sent.len(), 0, "C14: JSON behind a notice");
            self.oracle.gone_whole();
            let exchange = self.carrier.take().expect("somebody was answered");
            self.oracle.detach();
            self.bench.tell(Event::Flushed { exchange });
        } else {
            self.oracle.took_last(ask::result_text("7", &text));
            self.told(&actions);
        }
    }

    fn pull(&mut self, budget: usize) {
        let Some(exchange) = self.carrier else { return };
        let (frames, pulled, actions) = self.bench.pull(exchange, budget);
        let came: Vec<Came> = frames.iter().map(|frame| self.read(frame)).collect();
        if pulled == Pulled::Gone {
            assert!(came.is_empty() && !self.oracle.has_head, "R9: frames from nowhere");
        } else {
            assert!(pulled != Pulled::End || self.oracle.is_finished(), "R9: an end before the last");
            self.oracle.pulled(&came, pulled, &self.bench.endpoint.stats());
        }
        self.told(&actions);
        if pulled == Pulled::End {
            self.carrier = None;
            self.oracle.detach();
            let actions = self.bench.tell(Event::Flushed { exchange });
            self.told(&actions);
        }
        if pulled != Pulled::More && pulled != Pulled::Gone {
            self.check_not_waiting();
        }
    }

    /// A frame as a browser has it.
    fn read(&self, frame: &str) -> Came {
        let mut source = EventSource::default();
        source.push(frame.as_bytes());
        assert!(source.is_between_events(), "C4: {frame:?}");
        let id = (!source.last_event_id.is_empty()).then(|| source.last_event_id.clone());
        match &source.messages[..] {
            [] => Came { id, text: None },
            [message] if message.data.is_empty() => Came { id, text: None },
            [message] => Came { id, text: Some(message.data.clone()) },
            _ => panic!("several events in one frame: {frame:?}"),
        }
    }

    fn break_off(&mut self) {
        let Some(exchange) = self.carrier.take() else { return };
        self.oracle.detach();
        let actions = self.bench.tell(Event::Gone { exchange });
        self.told(&actions);
        self.check_not_waiting();
    }

    fn stall(&mut self) {
        let Some(exchange) = self.carrier.take() else { return };
        self.oracle.detach();
        let actions = self.bench.tell(Event::Stalled { exchange });
        assert!(actions.contains(&Action::Close { exchange }), "C11: {actions:?}");
        self.told(&actions);
        self.check_not_waiting();
    }

    fn poll(&mut self) {
        let (Some(call), Some(exchange)) = (self.call, self.carrier) else { return };
        if self.bench.version != Version::V2025_11_25 {
            assert_eq!(self.bench.tell(Event::CloseStream { call }), [], "C6");
            return;
        }
        let actions = self.bench.tell(Event::CloseStream { call });
        self.told(&actions);
        // What was not read yet goes with it.
        let (frames, pulled, actions) = self.bench.pull(exchange, usize::MAX);
        let came: Vec<Came> = frames.iter().map(|frame| self.read(frame)).collect();
        assert_eq!(pulled, Pulled::End, "C6");
        self.oracle.pulled(&came, pulled, &self.bench.endpoint.stats());
        self.told(&actions);
        self.carrier = None;
        self.oracle.detach();
        let actions = self.bench.tell(Event::Flushed { exchange });
        self.told(&actions);
        self.check_not_waiting();
    }

    fn open(&mut self) {
        let (exchange, actions) = self.bench.get(&self.session.1, None);
        self.replace(exchange, |oracle| oracle.attach_open());
        self.told(&actions);
    }

    fn resume(&mut self, pick: usize) {
        let Some((id, after)) = self.oracle.pick(pick) else { return };
        let gaps = self.bench.endpoint.stats().total.gaps;
        let (exchange, actions) = self.bench.get(&self.session.1, Some(&id));
        let gap = self.bench.endpoint.stats().total.gaps > gaps;
        match actions.first() {
            Some(Action::Reject { reject, .. }) => self.oracle.is_lost(after, reject.refusal.name()),
            Some(Action::Respond { response, .. }) if response.head == Head::NoContent => {
                self.oracle.is_over(after);
                self.bench.tell(Event::Flushed { exchange });
            }
            _ => {
                self.replace(exchange, |oracle| oracle.attach_after(after, gap));
                self.told(&actions);
            }
        }
    }

    /// Another exchange carries the stream from here (C7, C9): the older one gets nothing more of it.
    fn replace(&mut self, exchange: ExchangeId, attach: impl FnOnce(&mut Oracle)) {
        if let Some(older) = self.carrier.replace(exchange) {
            let (frames, pulled, _) = self.bench.pull(older, usize::MAX);
            assert!(matches!(pulled, Pulled::End | Pulled::Gone), "C9: {pulled:?} for the older one");
            assert!(frames.iter().all(|frame| self.read(frame).text.is_none()), "C9: {frames:?}");
            self.bench.tell(Event::Gone { exchange: older });
        }
        attach(&mut self.oracle);
    }

    fn told(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Writable { target } => {
                    assert_eq!(*target, self.target, "R9");
                    self.oracle.writable();
                }
                Action::Pull { exchange } if Some(*exchange) == self.carrier => self.oracle.woken(),
                Action::Respond { exchange, .. } if Some(*exchange) == self.carrier => self.oracle.head(),
                // Of the exchange that was replaced, and of nothing else.
                Action::Pull { .. } | Action::Respond { .. } | Action::Close { .. } => {}
                other => panic!("R7: {other:?}"),
            }
        }
    }

    /// R9: all is read, or nobody reads.
    fn check_not_waiting(&self) {
        assert!(!self.oracle.is_waiting(), "R9: there is room, and the sender is not told");
    }

    fn check_bounds(&self) {
        let held = self.bench.endpoint.stats().buffered_bytes;
        assert!(held <= self.oracle.bytes_bound(), "R8: {held} bytes are held");
        assert_eq!(self.bench.budget.buffered_bytes() as u64, held, "R8: the budget counts otherwise");
    }
}

fn params(number: usize, padding: usize) -> String {
    format!(r#"{{"n":{number},"pad":"{}"}}"#, "x".repeat(padding))
}

fn text_of(number: usize, padding: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"note","params":{}}}"#, params(number, padding))
}
