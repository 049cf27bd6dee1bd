//! The life of a session as one table: what each event does in each phase. Only `sessions` acts on it.
//!
//! ```text
//!   initialize -> Pending -> Offered -> Unconfirmed -> Live
//!                    |          |            |           |
//!                    +-discard--+            +----end----+
//! ```

use core::fmt;

use super::action::{DiscardReason, EndReason};

/// Where a session is. A session that was discarded or has ended is in no phase: it has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Created; the application has not answered `initialize`. The id answers 404.
    Pending,
    /// The answer is on its way. The id is served.
    Offered,
    /// The client has the answer and has not come back yet.
    Unconfirmed,
    /// The client has used the id.
    Live,
}

/// What can happen to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The application accepted `initialize`.
    Accept,
    /// The application refused `initialize`.
    Refuse,
    /// The application could not open its side.
    Fail,
    /// The answer's last byte reached the socket.
    Flush,
    /// The connection that `initialize` came on is gone.
    Leave,
    /// A request of the session's principal bears the id.
    Use,
    /// DELETE.
    Delete,
    /// The phase's deadline came.
    Deadline,
    /// A new session takes its place.
    Evict,
    /// The session it was to replace is no longer to be had.
    LosePlace,
    /// The application ends it.
    Finish,
    /// The server begins to shut down.
    ShutdownBegin,
    /// The server shuts down and the session has no call left, or the last moment has come.
    ShutdownEnd,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Cannot happen here, or says nothing new.
    Nothing,
    /// To `Offered`.
    Offer,
    /// To `Unconfirmed`, with `Commit`.
    Commit,
    /// To `Live`, with `Commit`.
    CommitUsed,
    /// To `Live`.
    Confirm,
    /// The record goes, with `Discard`.
    Discard(DiscardReason),
    /// The record goes, with `End`.
    End(EndReason),
    /// The record goes, with `Commit` and `End`: the id was used, if only to end it.
    CommitEnd(EndReason),
}

impl Phase {
    /// The phases in order.
    pub const ALL: [Phase; 4] = [Phase::Pending, Phase::Offered, Phase::Unconfirmed, Phase::Live];

    /// Whether a request bearing the id is served.
    #[must_use]
    pub fn routes(self) -> bool {
        match self {
            Phase::Pending => false,
            Phase::Offered | Phase::Unconfirmed | Phase::Live => true,
        }
    }
}

impl Happening {
    /// The rows of the table.
    pub const ALL: [Happening; 13] = [
        Happening::Accept,
        Happening::Refuse,
        Happening::Fail,
        Happening::Flush,
        Happening::Leave,
        Happening::Use,
        Happening::Delete,
        Happening::Deadline,
        Happening::Evict,
        Happening::LosePlace,
        Happening::Finish,
        Happening::ShutdownBegin,
        Happening::ShutdownEnd,
    ];
}

/// The table.
#[must_use]
#[rustfmt::skip]
pub fn transition(phase: Phase, happening: Happening) -> Transition {
    use DiscardReason as D;
    use EndReason as E;
    use Transition::{Commit, CommitEnd, CommitUsed, Confirm, Discard, End, Nothing, Offer};
    let [pending, offered, unconfirmed, live] = match happening {
        //                               Pending                  Offered                    Unconfirmed              Live
        Happening::Accept           => [Offer,                   Nothing,                   Nothing,                 Nothing],
        Happening::Refuse           => [Discard(D::Refused),     Nothing,                   Nothing,                 Nothing],
        Happening::Fail             => [Discard(D::Failed),      Discard(D::Failed),        End(E::Application),     End(E::Application)],
        Happening::Flush            => [Nothing,                 Commit,                    Nothing,                 Nothing],
        Happening::Leave            => [Discard(D::ClientGone),  Discard(D::Undelivered),   Nothing,                 Nothing],
        Happening::Use              => [Nothing,                 CommitUsed,                Confirm,                 Nothing],
        Happening::Delete           => [Nothing,                 CommitEnd(E::Deleted),     End(E::Deleted),         End(E::Deleted)],
        Happening::Deadline         => [Discard(D::Timeout),     Discard(D::Timeout),       End(E::Unconfirmed),     End(E::Idle)],
        Happening::Evict            => [Nothing,                 Nothing,                   End(E::Evicted),         End(E::Evicted)],
        Happening::LosePlace        => [Discard(D::NoRoom),      Nothing,                   Nothing,                 Nothing],
        Happening::Finish           => [Discard(D::Failed),      Discard(D::Failed),        End(E::Application),     End(E::Application)],
        Happening::ShutdownBegin    => [Discard(D::Shutdown),    Nothing,                   Nothing,                 Nothing],
        Happening::ShutdownEnd      => [Discard(D::Shutdown),    Discard(D::Shutdown),      End(E::Shutdown),        End(E::Shutdown)],
    };
    match phase {
        Phase::Pending => pending,
        Phase::Offered => offered,
        Phase::Unconfirmed => unconfirmed,
        Phase::Live => live,
    }
}

/// As the matrix shows it.
impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transition::Nothing => f.write_str("-"),
            Transition::Offer => f.write_str("Offered"),
            Transition::Commit => f.write_str("Commit, Unconfirmed"),
            Transition::CommitUsed => f.write_str("Commit, Live"),
            Transition::Confirm => f.write_str("Live"),
            Transition::Discard(reason) => write!(f, "Discard {reason:?}"),
            Transition::End(reason) => write!(f, "End {reason:?}"),
            Transition::CommitEnd(reason) => write!(f, "Commit, End {reason:?}"),
        }
    }
}
