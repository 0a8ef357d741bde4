//! A web address that is called: read strictly, shown without anything that opens it.
//!
//! Invariant: what is shown is the scheme and the host. The path, the query and the login may all be secrets, and are in
//! no message. Deliberately absent: following anything; the address that was configured is the one that is called.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use callboard_supervisor::is_public;
use percent_encoding::percent_decode_str;

/// An http or https address.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) is_secure: bool,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) target: String,
    /// The value of the header, if somebody logs in.
    pub(crate) authorization: Option<String>,
    /// May its name lead to this machine and to networks that are not public?
    pub(crate) is_inward: bool,
}

impl Address {
    /// Reads an address, or says what is wrong without repeating it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("it has a character that no address has; write it percent-encoded");
        }
        let (scheme, rest) = text.split_once("://").ok_or("it does not begin with https:// or http://")?;
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err("it does not begin with https:// or http://"),
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, authority),
        };
        let (host, port) = host_and_port(place)?;
        let port = port.unwrap_or(if is_secure { 443 } else { 80 });
        let authorization = login.map(basic);
        Ok(Self { is_secure, host: host.to_owned(), port, target, authorization, is_inward: false })
    }

    /// The same, called wherever its name leads: the user has said so.
    #[must_use]
    pub fn inward(mut self) -> Self {
        self.is_inward = true;
        self
    }

    /// May it be called at this place, which its name has just led to? This machine must be named as such: a name that somebody
    /// else keeps may lead here at any time.
    pub(crate) fn may_call(&self, place: IpAddr) -> bool {
        let is_named = self.host.eq_ignore_ascii_case("localhost") || self.host.parse() == Ok(place);
        self.is_inward || is_public(place) || (is_named && place.to_canonical().is_loopback())
    }

    /// Does what is sent stay on this machine, or is it encrypted?
    pub fn is_private(&self) -> bool {
        let is_loopback = self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        self.is_secure || is_loopback || self.host == "localhost"
    }

    /// The host with its port, as the header names it.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.is_secure, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

fn host_and_port(place: &str) -> Result<(&str, Option<u16>), &'static str> {
    const NO_HOST: &str = "it names no host";
    let (host, rest) = match place.strip_prefix('[') {
        Some(inside) => inside.split_once(']').ok_or("its IPv6 address has no closing bracket")?,
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    let is_ip = place.starts_with('[');
    let fits = |byte: u8| match is_ip {
        true => byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'),
        false => byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'),
    };
    if host.is_empty() || !host.bytes().all(fits) {
        return Err(NO_HOST);
    }
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        None => return Err(NO_HOST),
        Some(port) => Some(port.parse().ok().filter(|port| *port > 0).ok_or("its port is no port")?),
    };
    Ok((host, port))
}

fn basic(login: &str) -> String {
    let bytes: Vec<u8> = percent_decode_str(login).collect();
    format!("Basic {}", STANDARD.encode(bytes))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_secure { "https" } else { "http" }, self.authority())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_its_secrets_are_not_shown() {
        let address = Address::parse("https://ann:p%40ss@hooks.example.org/T0/secret?token=x#f").unwrap();
        assert_eq!((address.host.as_str(), address.port), ("hooks.example.org", 443));
        assert_eq!(address.target, "/T0/secret?token=x");
        assert_eq!(address.authorization.as_deref(), Some("Basic YW5uOnBAc3M="));
        assert_eq!((address.to_string(), format!("{address:?}")), {
            let shown = "https://hooks.example.org".to_owned();
            (shown.clone(), shown)
        });
        let six = Address::parse("HTTP://[::1]:8080").unwrap();
        assert_eq!((six.host.as_str(), six.port, six.target.as_str()), ("::1", 8080, "/"));
        assert_eq!((six.authority().as_str(), six.is_private()), ("[::1]:8080", true));
        assert_eq!(Address::parse("http://h?q").unwrap().target, "/?q");
        assert!(!Address::parse("http://example.org").unwrap().is_private());
    }

    #[test]
    fn only_public_places_are_called_unless_the_host_is_named() {
        let inside = [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "fec0::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
        ];
        let address = |host: &str| Address::parse(&format!("https://{host}/x")).unwrap();
        for place in inside.map(|place| place.parse::<IpAddr>().unwrap()) {
            assert!(!address("hooks.example.org").may_call(place), "{place}");
            assert!(address("hooks.example.org").inward().may_call(place), "{place}");
        }
        for place in ["93.184.216.34", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808"] {
            assert!(address("hooks.example.org").may_call(place.parse().unwrap()), "{place}");
        }
        let (here, six) = ("127.0.0.1".parse().unwrap(), "::1".parse().unwrap());
        assert!(address("127.0.0.1").may_call(here) && address("localhost").may_call(six));
        assert!(address("[::1]").may_call(six) && !address("127.0.0.2").may_call(here));
        assert!(
            !address("10.0.0.1").may_call("10.0.0.1".parse().unwrap()),
            "a private one is named in the settings"
        );
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        let bad = [
            "",
            "example.org",
            "ftp://x",
            "https://",
            "https:///path",
            "https://a b",
            "https://é.org",
            "http://h:0",
            "http://h:x",
            "http://h:99999",
            "http://[::1",
            "http://[::1]x",
            "http://u:p@",
            "http://a,b",
            "http://h\r\nx: y",
        ];
        for text in bad {
            let problem = Address::parse(text).expect_err(text);
            assert!(text.is_empty() || !problem.contains(text), "{text}: {problem}");
        }
    }
}
