//! What the tests share.

pub mod model;
pub mod script;
