//! Which hosts are served (I1): the first defence against web pages that reach a local server by DNS
//! rebinding. The grammar of an authority is `h1::authority`'s.

use core::net::Ipv6Addr;

use http::header;
use http::request::Parts;
use http::uri::Scheme;

use super::field::Lines;
use crate::config::AllowedHosts;
use crate::h1::authority::Authority;
use crate::reject::Refusal;

/// The allow-list, parsed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    Any,
    Listed(Vec<Listed>),
}

/// One entry: a host and, unless it is any, a port.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    name: Name,
    port: Option<u16>,
}

/// A host in the form in which it is compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// Compared as a number: `[::1]` and `[0:0:0:0:0:0:0:1]` are one host.
    V6(Ipv6Addr),
    /// A name or an IPv4 address, in lower case. One dot at the end is left out: `localhost.` is the same name
    /// to the DNS, written absolutely.
    Text(Box<str>),
}

/// What a request is addressed to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    host: &'a str,
    port: Port,
}

/// The port a request names or implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Is(u16),
    /// No port and no scheme to tell: 80, or 443 if something in front ends TLS.
    Default,
    /// No port, and a scheme without a default one.
    None,
}

impl Hosts {
    pub(crate) fn new(allowed: &AllowedHosts) -> Hosts {
        let listed = |host: &str| Authority::parse(host.as_bytes()).map(Listed::new);
        match allowed {
            AllowedHosts::Any => Hosts::Any,
            AllowedHosts::Listed(hosts) => {
                Hosts::Listed(hosts.iter().filter_map(|host| listed(host)).collect())
            }
            AllowedHosts::Loopback => {
                Hosts::Listed(["localhost", "127.0.0.1", "[::1]"].into_iter().filter_map(listed).collect())
            }
        }
    }

    /// What the request is addressed to, if that is served here. `None` passes only where every host does.
    pub(crate) fn judge<'a>(&self, head: &'a Parts) -> Result<Option<Target<'a>>, Refusal> {
        let target = Target::of(head);
        match (self, &target) {
            (Hosts::Any, _) => Ok(target),
            (Hosts::Listed(listed), Some(Target { host, port })) => {
                let allowed = listed.iter().any(|entry| entry.allows(host, *port));
                if allowed { Ok(target) } else { Err(Refusal::HostNotAllowed) }
            }
            (Hosts::Listed(_), None) => Err(Refusal::HostNotAllowed),
        }
    }
}

impl Listed {
    fn new(authority: Authority<'_>) -> Listed {
        Listed { name: Name::new(authority.host), port: authority.port }
    }

    pub(crate) fn allows(&self, host: &str, port: Port) -> bool {
        let port_fits = match (self.port, port) {
            (None, _) => true,
            (Some(listed), Port::Is(port)) => listed == port,
            (Some(listed), Port::Default) => listed == 80 || listed == 443,
            (Some(_), Port::None) => false,
        };
        port_fits && self.name.is(host)
    }
}

impl Name {
    pub(crate) fn new(host: &str) -> Name {
        match ipv6(host) {
            Some(address) => Name::V6(address),
            None => Name::Text(without_dot(host).to_ascii_lowercase().into()),
        }
    }

    pub(crate) fn is(&self, host: &str) -> bool {
        match self {
            Name::V6(address) => ipv6(host) == Some(*address),
            Name::Text(name) => name.eq_ignore_ascii_case(without_dot(host)),
        }
    }
}

impl<'a> Target<'a> {
    /// The authority of the request target, absolute form or HTTP/2's `:authority`, wins over `Host` (H8).
    /// `None` if there is neither, or what there is is malformed or given twice.
    fn of(head: &'a Parts) -> Option<Target<'a>> {
        let octets = match head.uri.authority() {
            Some(authority) => authority.as_str().as_bytes(),
            None => match Lines::of(&head.headers, &header::HOST) {
                Lines::One(value) => value,
                Lines::Absent | Lines::Several => return None,
            },
        };
        let Authority { host, port } = Authority::parse(octets)?;
        let port = match (port, head.uri.scheme()) {
            (Some(port), _) => Port::Is(port),
            (None, None) => Port::Default,
            (None, Some(scheme)) if *scheme == Scheme::HTTP => Port::Is(80),
            (None, Some(scheme)) if *scheme == Scheme::HTTPS => Port::Is(443),
            (None, Some(_)) => Port::None,
        };
        Some(Target { host, port })
    }

    /// Whether an origin of this host and port is the same site as the target.
    pub(crate) fn is(&self, host: &str, port: Port, default: Option<u16>) -> bool {
        let port_fits = match self.port {
            Port::Is(_) | Port::None => self.port == port,
            // The target's port is the default one of a scheme not told; the origin tells it.
            Port::Default => default.is_some_and(|default| port == Port::Is(default)),
        };
        port_fits && Name::new(self.host).is(host)
    }
}

fn ipv6(host: &str) -> Option<Ipv6Addr> {
    host.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}
