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
