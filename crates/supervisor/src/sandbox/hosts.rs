//! The hosts that a command may reach: names, names beneath a domain, addresses, each at one port or at those of the web.
//!
//! Invariant: a name is judged twice, as it was asked for and by the address that it leads to. A name that somebody else
//! keeps may lead to this machine at any time, so only `localhost` and listed addresses do; a private network is
//! reached by a name only if exactly that name is listed; the addresses of the link, where clouds hand out credentials,
//! only if they are listed themselves.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::is_public;

/// A host that may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    place: Place,
    /// Those of the web without one.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Every name.
    Any,
    Name(String),
    /// Every name that ends with a dot and this.
    Beneath(String),
    Address(IpAddr),
}

/// The ports of a host that is listed without one.
const WEB: [u16; 2] = [443, 80];
/// The longest name that there is.
const NAME_MAX: usize = 253;

impl FromStr for AllowedHost {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse() {
            return Ok(Self { place: Place::Address(address), port: None });
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(inside) => {
                let (host, rest) = inside.split_once(']').ok_or("an IPv6 address has no closing bracket")?;
                let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or(BAD_PORT)?) };
                (host, port)
            }
            None => text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map(|port| port.parse().ok().filter(|port| *port > 0).ok_or(BAD_PORT)).transpose()?;
        if let Ok(address) = host.parse() {
            return Ok(Self { place: Place::Address(address), port });
        }
        let place = match host {
            "*" => Place::Any,
            _ => match host.strip_prefix("*.") {
                Some(domain) => Place::Beneath(name(domain).ok_or(BAD_NAME)?),
                None => Place::Name(name(host).ok_or(BAD_NAME)?),
            },
        };
        Ok(Self { place, port })
    }
}

const BAD_PORT: &str = "a port is a number from 1 to 65535";
const BAD_NAME: &str = "a host is a name, an address, or *. and a domain";

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, self.port) {
            (Place::Any, _) => f.write_str("*")?,
            (Place::Name(name), _) => f.write_str(name)?,
            (Place::Beneath(domain), _) => write!(f, "*.{domain}")?,
            (Place::Address(IpAddr::V6(address)), Some(_)) => write!(f, "[{address}]")?,
            (Place::Address(address), _) => write!(f, "{address}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// A name as it is compared: small letters, without the dot at its end. Nothing if it is none, such as one of digits alone,
/// which would be taken for an address in another notation.
pub(super) fn name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let fits = |part: &str| {
        !part.is_empty()
            && part.len() <= 63
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    (text.len() <= NAME_MAX && text.split('.').all(fits) && !is_number).then_some(text)
}

/// A host that somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Name(String),
    Address(IpAddr),
}

impl Wanted {
    /// Reads what a request names; an IPv6 address may stand in brackets.
    pub(super) fn read(text: &str) -> Option<Self> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        bare.parse().ok().map(Self::Address).or_else(|| name(text).map(Self::Name))
    }

    /// Does it name this machine, wherever it is asked for?
    pub(super) fn is_localhost(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Address(_) => false,
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

impl AllowedHost {
    fn is_at(&self, port: u16) -> bool {
        self.port.map_or_else(|| WEB.contains(&port), |own| own == port)
    }

    fn covers(&self, wanted: &Wanted) -> bool {
        match (&self.place, wanted) {
            (Place::Address(own), Wanted::Address(address)) => own == address,
            (Place::Any, Wanted::Name(_)) => true,
            (Place::Name(own), Wanted::Name(name)) => own == name,
            (Place::Beneath(domain), Wanted::Name(name)) => {
                name.strip_suffix(domain.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (Place::Address(_), Wanted::Name(_))
            | (Place::Any | Place::Name(_) | Place::Beneath(_), Wanted::Address(_)) => false,
        }
    }

    /// Does it name this machine?
    pub(crate) fn is_here(&self) -> bool {
        match &self.place {
            Place::Name(name) => Wanted::Name(name.clone()).is_localhost(),
            Place::Address(address) => address.to_canonical().is_loopback(),
            Place::Any | Place::Beneath(_) => false,
        }
    }
}

/// May this host be asked for at this port?
pub(super) fn is_listed(hosts: &[AllowedHost], wanted: &Wanted, port: u16) -> bool {
    hosts.iter().any(|host| host.is_at(port) && host.covers(wanted))
}

/// May a host that is listed be reached at this address, which its name has just led to?
pub(super) fn may_lead_to(hosts: &[AllowedHost], wanted: &Wanted, place: IpAddr, port: u16) -> bool {
    let listed = |exactly: &Wanted| {
        hosts.iter().any(|host| {
            host.is_at(port) && !matches!(host.place, Place::Any | Place::Beneath(_)) && host.covers(exactly)
        })
    };
    let place = place.to_canonical();
    let is_link = match place {
        IpAddr::V4(place) => place.is_link_local(),
        IpAddr::V6(place) => (place.segments()[0] & 0xffc0) == 0xfe80,
    };
    let is_nowhere = place.is_unspecified() || place.is_multicast();
    if is_public(place) || listed(&Wanted::Address(place)) {
        return true;
    }
    if place.is_loopback() {
        return wanted.is_localhost() && listed(wanted);
    }
    !is_link && !is_nowhere && listed(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(texts: &[&str]) -> Vec<AllowedHost> {
        texts.iter().map(|text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
    }

    #[test]
    fn hosts_are_read_and_written() {
        for text in
            ["a.example", "*.github.com:443", "*", "*:22", "127.0.0.1", "127.0.0.1:80", "::1", "[::1]:8080"]
        {
            assert_eq!(
                text.parse::<AllowedHost>().unwrap_or_else(|error| panic!("{text}: {error}")).to_string(),
                text
            );
        }
        assert_eq!("API.Example.".parse::<AllowedHost>().unwrap().to_string(), "api.example");
        for text in [
            "", "a b", "a..b", "a:0", "a:70000", "a:", "*a", "a.*", "http://a", "a/b", "127.1", "0x7f.0x1",
            "[::1", "é.org",
        ] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_what_is_listed_is_asked_for() {
        let listed = hosts(&["api.example", "*.github.com:443", "10.0.0.5:8080"]);
        let is =
            |host: &str, port| Wanted::read(host).is_some_and(|wanted| is_listed(&listed, &wanted, port));
        assert!(is("api.example", 443) && is("API.example.", 80) && !is("api.example", 22));
        assert!(is("a.github.com", 443) && is("a.b.github.com", 443) && !is("a.github.com", 80));
        assert!(!is("github.com", 443) && !is("evilgithub.com", 443) && !is("github.com.evil", 443));
        assert!(is("10.0.0.5", 8080) && !is("10.0.0.6", 8080) && !is("[::ffff:10.0.0.5]", 8080));
        let all = hosts(&["*"]);
        let is_any = |host: &str| is_listed(&all, &Wanted::read(host).unwrap(), 443);
        assert!(is_any("whatever.example") && !is_any("8.8.8.8"));
    }

    #[test]
    fn a_name_leads_inward_only_as_far_as_it_is_listed_itself() {
        let listed =
            hosts(&["git.corp", "*.corp", "localhost", "*.localhost", "127.0.0.9", "169.254.169.254"]);
        let may = |host: &str, place: &str| {
            may_lead_to(&listed, &Wanted::read(host).unwrap(), place.parse().unwrap(), 443)
        };
        assert!(may("a.corp", "93.184.216.34") && may("git.corp", "10.0.0.5") && may("git.corp", "fd00::5"));
        assert!(
            !may("a.corp", "10.0.0.5")
                && !may("git.corp", "127.0.0.1")
                && !may("git.corp", "::ffff:127.0.0.1")
        );
        assert!(may("localhost", "127.0.0.1") && may("localhost", "::1") && !may("a.localhost", "127.0.0.1"));
        assert!(may("git.corp", "127.0.0.9") && may("169.254.169.254", "169.254.169.254"));
        assert!(
            !may("git.corp", "169.254.1.1") && !may("git.corp", "fe80::1") && !may("git.corp", "0.0.0.0")
        );
    }
}
