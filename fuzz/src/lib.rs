//! What the fuzz targets do with their input, each in a module of its name, and the readers and judges they hold the
//! core against. Those are written from the RFCs, the WHATWG standard and the rules, and use no code of what they
//! judge. What a target is for and how it is run is in `README.md`; the files in `fuzz_targets` only call in here.
//!
//! Every `run` panics if the core does what it must not.

pub mod canary;
pub mod endpoint;
pub mod h1_smuggling;
pub mod h1_split;
pub mod intake_head;
pub mod jsonrpc;
pub mod ring;
pub mod sse;
pub mod timers;
pub mod wire;

mod bench;
mod event_source;
mod framing;
mod heads;
mod input;
mod json_text;
mod judge;
mod peer;
mod responses;
