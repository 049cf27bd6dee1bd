//! Which web pages may talk to this server (I1), and the grant they get to read answers (I5).

use http::header;
use http::request::Parts;

use super::field::Lines;
use super::host::{Hosts, Name, Port, Target};
use crate::answer::Grant;
use crate::config::Config;
use crate::h1::authority::Authority;
use crate::reject::Refusal;

/// The origins served besides those whose host is an allowed host, parsed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origins {
    listed: Vec<Listed>,
    /// Whether an allowed origin gets CORS fields.
    cors: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Listed {
    /// In lower case.
    scheme: Box<str>,
    name: Name,
    port: Port,
}

/// A serialized origin (RFC 6454 6.2): `scheme://host[:port]` and nothing after it.
#[derive(Clone, Copy, Debug)]
struct Origin<'a> {
    scheme: &'a str,
    host: &'a str,
    port: Port,
}

impl Origins {
    pub(crate) fn new(config: &Config) -> Origins {
        let listed = config.allowed_origins.iter().filter_map(|origin| Origin::parse(origin.as_bytes()));
        Origins { listed: listed.map(Listed::new).collect(), cors: config.cors }
    }

    /// The grant for the request's origin. No `Origin`, no grant and no objection: it is no browser's request.
    /// Given twice, empty, `null` or not allowed, it is refused.
    pub(crate) fn judge(
        &self,
        head: &Parts,
        hosts: &Hosts,
        target: Option<Target<'_>>,
    ) -> Result<Option<Grant>, Refusal> {
        let value = match Lines::of(&head.headers, &header::ORIGIN) {
            Lines::Absent => return Ok(None),
            Lines::One(value) => value,
            Lines::Several => return Err(Refusal::OriginNotAllowed),
        };
        let Some(origin) = Origin::parse(value) else { return Err(Refusal::OriginNotAllowed) };
        if !self.lists(&origin) && !origin.is_at_home(hosts, target) {
            return Err(Refusal::OriginNotAllowed);
        }
        let value = head.headers.get(header::ORIGIN);
        Ok(value.filter(|_| self.cors).cloned().map(Grant::new))
    }

    fn lists(&self, origin: &Origin<'_>) -> bool {
        self.listed.iter().any(|listed| {
            listed.scheme.eq_ignore_ascii_case(origin.scheme)
                && listed.port == origin.port
                && listed.name.is(origin.host)
        })
    }
}

impl Listed {
    fn new(origin: Origin<'_>) -> Listed {
        Listed {
            scheme: origin.scheme.to_ascii_lowercase().into(),
            name: Name::new(origin.host),
            port: origin.port,
        }
    }
}

impl<'a> Origin<'a> {
    fn parse(value: &'a [u8]) -> Option<Origin<'a>> {
        let (scheme, authority) = core::str::from_utf8(value).ok()?.split_once("://")?;
        let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if !scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            || !scheme.bytes().all(is_scheme_byte)
        {
            return None;
        }
        let Authority { host, port } = Authority::parse(authority.as_bytes())?;
        let port = port.or_else(|| default_port(scheme)).map_or(Port::None, Port::Is);
        Some(Origin { scheme, host, port })
    }

    /// Whether this is a page of the web whose host is an allowed one, with the same port where the list names
    /// one. Where every host is allowed that would allow every page, so there the page must come from the
    /// very host and port that the request is addressed to.
    fn is_at_home(&self, hosts: &Hosts, target: Option<Target<'_>>) -> bool {
        let default = default_port(self.scheme);
        match hosts {
            _ if default.is_none() => false,
            Hosts::Any => target.is_some_and(|target| target.is(self.host, self.port, default)),
            Hosts::Listed(listed) => listed.iter().any(|entry| entry.allows(self.host, self.port)),
        }
    }
}

/// `None` for schemes that are not the web's.
fn default_port(scheme: &str) -> Option<u16> {
    if scheme.eq_ignore_ascii_case("http") {
        return Some(80);
    }
    scheme.eq_ignore_ascii_case("https").then_some(443)
}
