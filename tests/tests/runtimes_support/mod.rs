//! What the tests of runtimes and HTTP stacks share: a client of HTTP/2, and TLS.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod http2;
pub(crate) mod tls;
