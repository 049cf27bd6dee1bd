//! The server side of the Model Context Protocol's *Streamable HTTP* transport, as state machines: events in,
//! actions out. No I/O, no clock, no randomness, no async, no logging, no `unsafe`.
//!
//! # The way of a request
//!
//! ```text
//! socket bytes -> h1::Connection -> Intake -> Endpoint -> Actions -> the caller carries them out
//!                 (framing)         (judge)   (sessions,
//!                                              streams)
//! ```
//!
//! - [`h1::Connection`], one for each socket, turns bytes into requests and responses into bytes. It knows
//!   HTTP/1.1 and nothing of MCP.
//! - [`intake::Intake`] judges one request and turns it into an [`intake::Admitted`] or a [`reject::Reject`].
//!   It knows no session.
//! - [`endpoint::Endpoint`] owns sessions, calls and streams. It accepts nothing but `Admitted`, so a request
//!   that was refused is never heard of by the part that owns sessions.
//!
//! Each can be used alone. Who has an HTTP stack already leaves `h1` out.
//!
//! # The life of a session
//!
//! ```text
//!  initialize
//!      |  CreateSession           the application may allocate; the id answers 404 to everyone
//!      v
//!   Pending  -- refused | failed | client gone | deadline | shutdown ------------> Discard
//!      |  the answer goes out with Mcp-Session-Id; from here the id is served
//!      v
//!   Offered  -- client gone, and the id never used | deadline ------------------> Discard
//!      |  the answer's last byte reached the socket, or a request bears the id
//!      |  Commit
//!      v
//!   Live     -- DELETE | idle | never used | evicted | application | shutdown --> End
//! ```
//!
//! [`endpoint::life`] has this as a table.
//!
//! # The contract
//!
//! Tests cite these numbers. What a rule with another letter says (H1, I2, S10) is in `RULES.md` of the repository.
//!
//! - **R1 One end.** For every `CreateSession` exactly one `Commit` or `Discard` follows; for every `Commit`
//!   exactly one `End`. Nothing names the session after that.
//! - **R2 Refusal leaves nothing.** An exchange that is refused, that answers `initialize` with an error, or
//!   that is not answered at all, leaves no session of its own and ends nobody else's, and its response bears
//!   no `Mcp-Session-Id`.
//! - **R3 One door.** Only a POST of one well-formed `initialize` request in the handshake era, without
//!   `Mcp-Session-Id`, can create a session.
//! - **R4 One answer.** Each exchange ends once: by `Reject` or `Close`, by `Respond` and its last byte, or
//!   because the client is gone. No `Reject` comes after a response began.
//! - **R5 Addressed by exchange.** A call's output goes to the exchange that carried it, never looked up by
//!   its JSON-RPC id. The same id twice in flight is served twice. `1` and `"1"` differ; ids are echoed byte
//!   for byte.
//! - **R6 One stream.** Each outgoing message goes on exactly one stream of its own session. A resume yields
//!   what followed the given event on that stream, in order.
//! - **R7 Any order.** Calls may be made in any order, back to back. Actions are appended to a caller-owned
//!   sink and carried out, for one session or exchange, in that order.
//! - **R8 Bounded.** Every queue, table, string and loop has a limit in [`config::Config`], and one, `memory_max`,
//!   bounds the heads, bodies, rings and answers of the whole server together. What walks whole tables goes in
//!   steps.
//! - **R9 Never stuck.** A stream that went idle gets one `Pull` when there is more; a sender that got `Full`
//!   gets one `Writable`; after `handle_timeout(now)` the next deadline is later than `now`, or the budget of
//!   one call was spent.
//! - **R10 Time and chance come in.** Same configuration, entropy and calls: same actions and bytes.
//! - **R11 Peer faults are actions, caller faults are `Err`** that hand the message back. Neither panics.
//!   Stale names are answered `Gone`, or ignored.
//! - **R12 Idle means idle.** The idle clock runs from the end of the last exchange or call in flight. An open
//!   stream counts as activity only while writes to it succeed.
//! - **R13 Era decides meaning.** A disconnect cancels where there is no session, and in a session does not.
//! - **R14 Drains to zero.** After a shutdown's last moment every table is empty and no deadline remains.
//!
//! # Decisions
//!
//! Where specification and design are silent:
//!
//! - **D1** A session id names its shard and slot beside its secret, so that a look-up is one index and one
//!   comparison in constant time. See [`session_id`].
//! - **D2** In a session, a peer that shuts its write side may still read. An answer that was not begun is
//!   given to it; a stream that is open has lost its reader. An `initialize` answered to such a peer is
//!   committed when its id is used, and discarded when it is not by the deadline to confirm: bytes in a socket
//!   nobody reads prove nothing. Where a disconnect cancels (R13), shutting the write side is one: a client
//!   that closed its socket looks the same.
//! - **D3** In the last tenth of a shutdown, at most one second, calls without an answer are failed, so that
//!   there is time to write it (R14).
//! - **D4** A session ends in a shutdown as soon as it has no call left.
//! - **D5** A client that accepts only JSON gets no notices of a call; they are counted as dropped.
//! - **D6** A session that was to replace another, which has become active again by the time its `initialize`
//!   is answered, replaces another one or is refused.
//! - **D7** A call answered at once goes out as JSON, unless the client says that it would rather have an event
//!   stream: by weight, or by naming it first. `initialize` is JSON whenever that is accepted.
//! - **D8** Of a call's stream whose retention is over, every event answers 400: frames may be missing.
//! - **D9** Frames that a connection has pulled and not written, at most `pull_bytes_max` each, are not in
//!   `memory_max` once they have left their ring: they cannot be given up any more, and the peer's reading or the
//!   write stall bounds their time. [`config::Config::memory_ceiling`] has them.
#![forbid(unsafe_code)]

pub mod answer;
pub mod config;
pub mod endpoint;
pub mod entropy;
pub mod h1;
pub mod intake;
pub mod json;
pub mod jsonrpc;
mod octets;
pub mod param_headers;
pub mod reject;
pub mod session_id;
mod slab;
pub mod sse;
pub mod time;
pub mod version;
