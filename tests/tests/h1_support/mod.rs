//! What the h1 tests share: a rig around one connection, a stand-in for the judge, the case file's macros
//! and a strict reader of responses. No assertions about rules; those are in the tests.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod cases;
pub(crate) mod cuts;
pub(crate) mod judge;
pub(crate) mod macros;
pub(crate) mod responses;
pub(crate) mod rig;
