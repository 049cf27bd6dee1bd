//! What the socket tests share: a blocking HTTP/1.1 client that is strict about what it reads, two kinds of
//! servers to point it at, and waiting. The rules are in the tests.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod ask;
pub(crate) mod binary;
pub(crate) mod chance;
pub(crate) mod local;
pub(crate) mod refusals;
pub(crate) mod rig;
pub(crate) mod session;
pub(crate) mod sse;
pub(crate) mod stats;
pub(crate) mod wait;
pub(crate) mod wire;
