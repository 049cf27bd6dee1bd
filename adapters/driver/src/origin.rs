//! Where a message came from: what every message that an application is handed can be asked.

use std::sync::Arc;

use http::request::Parts;
use mcp_http_core::endpoint::{Lease, Principal};

use crate::session::Session;

#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) session: Option<Session>,
    pub(crate) principal: Option<Principal>,
    pub(crate) request: Arc<Request>,
}

/// The HTTP request. Its head and body count against the server's memory for as long as anybody holds it, also
/// when its client is gone: parameters are slices of the body.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) head: Parts,
    pub(crate) _lease: Lease,
}

/// The methods of everything that has an `origin`.
macro_rules! origin_getters {
    () => {
        /// The session it belongs to; for `initialize`, the one that is being opened. `None` in the stateless
        /// era and with sessions off.
        #[must_use]
        pub fn session(&self) -> Option<&$crate::session::Session> {
            self.origin.session.as_ref()
        }

        /// Who the auth hook says it is.
        #[must_use]
        pub fn principal(&self) -> Option<&mcp_http_core::endpoint::Principal> {
            self.origin.principal.as_ref()
        }

        /// The head of the HTTP request that it came with: this one, not the session's first.
        #[must_use]
        pub fn head(&self) -> &http::request::Parts {
            &self.origin.request.head
        }
    };
}

pub(crate) use origin_getters;
