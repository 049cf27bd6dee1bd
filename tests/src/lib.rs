//! What the tests share.
#![doc = include_str!("../../PROOF.md")]

pub mod model;
pub mod script;
pub mod serving;
pub mod sim;
pub mod socket;

/// The README's code is compiled, and its test is run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
