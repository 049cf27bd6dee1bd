//! What the attack tests share: how large an attack is, what the server was like before it, and a client that has
//! to be served meanwhile. All of it is loopback, with an end in count and in time.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod before;
pub(crate) mod live;
pub(crate) mod peers;

/// Whether the whole length was asked for. It is meant for a release build; the default is for every day.
pub(crate) fn is_full() -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test's size, set from outside")]
    let wanted = std::env::var("ATTACK_FULL");
    wanted.is_ok_and(|wanted| wanted == "1")
}

/// `full` if the whole length was asked for, else `daily`.
pub(crate) fn size(daily: usize, full: usize) -> usize {
    if is_full() { full } else { daily }
}
