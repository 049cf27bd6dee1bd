//! What the tests share.

pub mod script;
