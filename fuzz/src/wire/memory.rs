//! What a connection holds of requests, leased from the server's memory (R8) as an adapter does it.

use http::request::Parts;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{Endpoint, Lease};
use mcp_http_core::intake::{Admitted, Kind};

/// Leases more of the memory; what is kept only for a resume goes for it.
pub(super) fn lease_more(lease: &mut Lease, octets: usize, config: &Config, endpoint: &mut Endpoint) -> bool {
    lease.grow(octets, config.memory_max) || {
        endpoint.give_up_retained(octets);
        lease.grow(octets, config.memory_max)
    }
}

/// About as many as the head had on the wire.
pub(super) fn octets(head: &Parts) -> usize {
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let fields = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    target + fields.sum::<usize>()
}

/// More than an answer takes with which the endpoint itself ends a listening stream; it bears the id twice.
pub(super) fn completion_bytes_max(admitted: &Admitted) -> usize {
    match admitted.kind() {
        Kind::Stateless(stateless) if stateless.listen.is_some() => {
            250 + 2 * stateless.request.id.literal().len()
        }
        _ => 0,
    }
}
