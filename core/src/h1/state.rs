//! Where a connection stands, and the one table of how it moves.
//!
//! Two sides, as in the protocol itself: what is done with the peer's octets, and where the response stands.
//! No other place changes either; what a move sets in motion (deadlines, dropped octets) is in `turn.rs`.

/// Both sides at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) reader: Reader,
    pub(super) writer: Writer,
}

/// What is done with the peer's octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// Waits for a head, or collects one.
    Head,
    /// A head was given; its body waits until somebody asks for it.
    Held,
    /// The body goes to whoever asked for it.
    Body,
    /// Nobody wants the rest of the body; it is dropped, so that the next head can be found.
    Skip,
    /// The request was read to its end; what follows is the next one and waits.
    Done,
    /// Nothing is parsed any more; what comes is dropped.
    Shut,
}

/// Where the response stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// There is nothing to answer.
    Idle,
    /// A request or fault waits for its response.
    Due,
    /// The head is queued, pieces of the body follow.
    Body,
    /// The response is queued to its end.
    Sent,
    /// The last response has left; the socket's write side is to be shut.
    HalfClosing,
    /// The write side is shut; the peer gets time to read its answer.
    Lingering,
    /// An exchange was cut off; that is to be told.
    Lost,
    /// The socket is to be closed.
    Closing,
    /// Nothing happens any more.
    Closed,
}

/// Why a connection moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A head was read.
    HeadRead,
    /// The application asked for the body.
    BodyAsked,
    /// The request's body was read to its end, or there is none.
    BodyRead,
    /// The peer broke a rule and is to be told.
    Faulted,
    /// What is left of an unwanted body cannot be skipped: it is broken, too long or cut short.
    SkipFailed,
    /// A response began; with `reuse`, the connection may live on.
    Answered { reuse: bool },
    /// A response is queued to its end.
    Finished,
    /// The socket took all of a response.
    Flushed,
    /// The response under way was made the last.
    Retired,
    /// The event that the writer's state stands for was given.
    Told,
    /// The connection cannot go on.
    Ended,
}

impl State {
    pub(super) const ACCEPTED: State = State { reader: Reader::Head, writer: Writer::Idle };

    /// Where `cause` leads; `None` where it is out of turn and nothing moves.
    pub(super) fn after(self, cause: Cause) -> Option<State> {
        use Reader as R;
        use Writer as W;
        let (reader, writer) = match (cause, self.reader, self.writer) {
            (Cause::HeadRead, R::Head, W::Idle) => (R::Held, W::Due),

            (Cause::BodyAsked, R::Held, W::Due) => (R::Body, W::Due),

            (Cause::BodyRead, R::Body, W::Due) => (R::Done, W::Due),
            (Cause::BodyRead, R::Skip, W::Idle) => (R::Head, W::Idle),
            (Cause::BodyRead, R::Skip, w @ (W::Body | W::Sent)) => (R::Done, w),

            (Cause::Faulted, R::Head, W::Idle) => (R::Shut, W::Due),
            (Cause::Faulted, R::Body, W::Due) => (R::Shut, W::Due),

            (Cause::SkipFailed, R::Skip, W::Idle) => (R::Shut, W::HalfClosing),
            (Cause::SkipFailed, R::Skip, w @ (W::Body | W::Sent)) => (R::Shut, w),

            (Cause::Answered { reuse: true }, R::Held | R::Body, W::Due) => (R::Skip, W::Body),
            (Cause::Answered { reuse: true }, R::Done, W::Due) => (R::Done, W::Body),
            (Cause::Answered { reuse: false }, R::Held | R::Body | R::Done | R::Shut, W::Due) => {
                (R::Shut, W::Body)
            }

            (Cause::Finished, r, W::Body) => (r, W::Sent),

            (Cause::Flushed, R::Done, W::Sent) => (R::Head, W::Idle),
            (Cause::Flushed, R::Skip, W::Sent) => (R::Skip, W::Idle),
            (Cause::Flushed, R::Shut, W::Sent) => (R::Shut, W::HalfClosing),

            (Cause::Retired, R::Done | R::Skip, w @ (W::Body | W::Sent)) => (R::Shut, w),

            (Cause::Told, r, W::HalfClosing) => (r, W::Lingering),
            (Cause::Told, r, W::Lost) => (r, W::Closing),
            (Cause::Told, r, W::Closing) => (r, W::Closed),

            (Cause::Ended, _, W::Due | W::Body | W::Sent) => (R::Shut, W::Lost),
            (Cause::Ended, _, W::Idle | W::HalfClosing | W::Lingering) => (R::Shut, W::Closing),

            // The table lists every move there is; `tests::the_whole_table` prints it against the states.
            _ => return None,
        };
        Some(State { reader, writer })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cause, State};

    const CAUSES: [Cause; 12] = [
        Cause::HeadRead,
        Cause::BodyAsked,
        Cause::BodyRead,
        Cause::Faulted,
        Cause::SkipFailed,
        Cause::Answered { reuse: true },
        Cause::Answered { reuse: false },
        Cause::Finished,
        Cause::Flushed,
        Cause::Retired,
        Cause::Told,
        Cause::Ended,
    ];

    /// The states that a connection can be in, in the order in which they are found.
    fn reachable() -> Vec<State> {
        let mut found = vec![State::ACCEPTED];
        let mut seen = 0_usize;
        while let Some(state) = found.get(seen).copied() {
            seen = seen.saturating_add(1);
            for to in CAUSES.iter().filter_map(|cause| state.after(*cause)) {
                if !found.contains(&to) {
                    found.push(to);
                }
            }
        }
        found
    }

    fn moves(state: State) -> String {
        let name = |State { reader, writer }| format!("{reader:?} {writer:?}");
        let to = |cause: &Cause| state.after(*cause).map(|to| format!("    {cause:?} -> {}\n", name(to)));
        format!("{}\n{}", name(state), CAUSES.iter().filter_map(to).collect::<String>())
    }

    #[test]
    fn the_whole_table() {
        let table: String = reachable().into_iter().map(moves).collect();
        assert_eq!(table, TABLE, "\n{table}");
    }

    /// No state is left without a way out, and none follows the last.
    #[test]
    fn every_state_can_be_ended_and_the_last_is_final() {
        for state in reachable() {
            let ended = [Cause::Ended, Cause::Told, Cause::Told]
                .into_iter()
                .fold(state, |at, cause| at.after(cause).unwrap_or(at));
            assert_eq!(ended.writer, super::Writer::Closed, "{state:?}");
            assert!(CAUSES.iter().all(|cause| ended.after(*cause).is_none()));
        }
    }

    const TABLE: &str = "\
Head Idle
    HeadRead -> Held Due
    Faulted -> Shut Due
    Ended -> Shut Closing
Held Due
    BodyAsked -> Body Due
    Answered { reuse: true } -> Skip Body
    Answered { reuse: false } -> Shut Body
    Ended -> Shut Lost
Shut Due
    Answered { reuse: false } -> Shut Body
    Ended -> Shut Lost
Shut Closing
    Told -> Shut Closed
Body Due
    BodyRead -> Done Due
    Faulted -> Shut Due
    Answered { reuse: true } -> Skip Body
    Answered { reuse: false } -> Shut Body
    Ended -> Shut Lost
Skip Body
    BodyRead -> Done Body
    SkipFailed -> Shut Body
    Finished -> Skip Sent
    Retired -> Shut Body
    Ended -> Shut Lost
Shut Body
    Finished -> Shut Sent
    Ended -> Shut Lost
Shut Lost
    Told -> Shut Closing
Shut Closed
Done Due
    Answered { reuse: true } -> Done Body
    Answered { reuse: false } -> Shut Body
    Ended -> Shut Lost
Done Body
    Finished -> Done Sent
    Retired -> Shut Body
    Ended -> Shut Lost
Skip Sent
    BodyRead -> Done Sent
    SkipFailed -> Shut Sent
    Flushed -> Skip Idle
    Retired -> Shut Sent
    Ended -> Shut Lost
Shut Sent
    Flushed -> Shut HalfClosing
    Ended -> Shut Lost
Done Sent
    Flushed -> Head Idle
    Retired -> Shut Sent
    Ended -> Shut Lost
Skip Idle
    BodyRead -> Head Idle
    SkipFailed -> Shut HalfClosing
    Ended -> Shut Closing
Shut HalfClosing
    Told -> Shut Lingering
    Ended -> Shut Closing
Shut Lingering
    Ended -> Shut Closing
";
}
