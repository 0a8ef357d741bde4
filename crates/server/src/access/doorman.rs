//! Who is let in: the names this server answers to, where a page may come from, one-time codes, and rates.
//!
//! Invariant: a name that is not listed gets nothing, whatever it resolves to, so a rebound name is of no use; a
//! one-time code opens once. Deliberately absent: what somebody may do once they are in (`table`).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, Method, header};
use callboard_engine::mutant;
use callboard_kernel::Moment;

use super::rate::Rate;
use super::seal::{CODE_LIFE_S, Seal};
use crate::connection::listen::OverSocket;
use crate::problem::Problem;

/// The names a server answers to.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Each as it stands in `Host`, in lower case.
    hosts: Vec<String>,
    /// What the cookie is called: two servers on one host must not take each other's.
    cookie: String,
}

impl Names {
    /// The address itself, this host under its usual names and under a name of this store's own if it can be reached so, and
    /// what else was listed.
    pub(crate) fn of(address: SocketAddr, own: &str, others: &[String]) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            hosts.extend(["127.0.0.1", "localhost", "[::1]", own].map(|name| format!("{name}:{port}")));
        }
        for name in others {
            let name = name.to_ascii_lowercase();
            hosts.push(format!("{name}:{port}"));
            hosts.push(name);
        }
        Self { hosts, cookie: format!("callboard_{port}") }
    }

    fn has(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.contains(&host)
    }
}

/// Stands at the door.
pub(crate) struct Doorman {
    names: Names,
    /// Which start of the server this is.
    start: String,
    used: Mutex<HashMap<String, i64>>,
    pub(crate) rate: Rate,
}

impl Doorman {
    pub(crate) fn new(names: Names, start: String, requests_a_second: u32) -> Self {
        Self { names, start, used: Mutex::default(), rate: Rate::new(requests_a_second) }
    }

    /// Which start of the server this is.
    pub(crate) fn start(&self) -> &str {
        &self.start
    }

    /// Is this server meant, and is it asked by its own page or by no page? Over its socket nobody else can be meant.
    pub(crate) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        over_socket: Option<&OverSocket>,
    ) -> Result<(), Problem> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"));
        let host = text(header::HOST).unwrap_or("");
        let is_meant = headers.get_all(header::HOST).iter().count() == 1 && self.names.has(host);
        if !is_meant && over_socket.is_none() && !mutant::removed("host_names") {
            return Err(Problem::misdirected(host));
        }
        let foreign = || {
            let help = "only the page that this server itself serves may ask it from a browser";
            Problem::forbidden("the request comes from another site", help)
        };
        if let Some(origin) = text(header::ORIGIN).filter(|_| !mutant::removed("own_origin")) {
            let from = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            if from.is_none_or(|from| !from.eq_ignore_ascii_case(host)) {
                return Err(foreign());
            }
        }
        let is_look = method == Method::GET || method == Method::HEAD;
        let site = headers.get("sec-fetch-site").map(|value| value.to_str().unwrap_or("cross-site"));
        let may_ask = is_look || mutant::removed("own_site");
        if !may_ask && site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(foreign());
        }
        Ok(())
    }

    /// Takes a one-time code of this start; it opens nothing the second time.
    pub(crate) fn take_code(&self, seal: &Seal, code: &str, now: Moment) -> bool {
        let Some(nonce) = seal.open_code(code, &self.start, now) else { return false };
        let second = now.as_micros() / 1_000_000;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, until| second <= *until);
        used.insert(nonce.to_owned(), second + 2 * CODE_LIFE_S).is_none()
    }

    /// The cookie as it is set.
    pub(crate) fn set_cookie(&self, value: &str, life_s: i64) -> String {
        format!("{}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={life_s}", self.names.cookie)
    }

    /// The cookie that came along.
    pub(crate) fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        all.flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == self.names.cookie)
            .map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn doorman() -> Doorman {
        let address = SocketAddr::from(([127, 0, 0, 1], 7557));
        Doorman::new(
            Names::of(address, "callboard-1.localhost", &["board.example".to_owned()]),
            "s1".to_owned(),
            0,
        )
    }

    fn asked(method: &Method, pairs: &[(&'static str, &'static str)]) -> Option<u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        doorman().check(method, &headers, None).err().map(|problem| problem.status().as_u16())
    }

    #[test]
    fn only_its_own_names_are_answered() {
        for host in [
            "callboard-1.localhost:7557",
            "127.0.0.1:7557",
            "localhost:7557",
            "LOCALHOST:7557",
            "[::1]:7557",
            "board.example",
        ] {
            assert_eq!(asked(&Method::GET, &[("host", host)]), None, "{host}");
        }
        for host in [
            "",
            "evil.example",
            "callboard-2.localhost:7557",
            "localhost",
            "127.0.0.1",
            "localhost:7558",
            "localhost:7557.evil",
        ] {
            assert_eq!(asked(&Method::GET, &[("host", host)]), Some(421), "{host}");
        }
        assert_eq!(asked(&Method::GET, &[]), Some(421));
        let two = [("host", "localhost:7557"), ("host", "evil.example")];
        assert_eq!(asked(&Method::GET, &two), Some(421));
    }

    #[test]
    fn another_site_is_refused() {
        let host = ("host", "localhost:7557");
        assert_eq!(asked(&Method::POST, &[host, ("origin", "http://localhost:7557")]), None);
        for origin in
            ["null", "http://evil.example", "http://localhost:1", "http://127.0.0.1:7557", "file://"]
        {
            assert_eq!(asked(&Method::GET, &[host, ("origin", origin)]), Some(403), "{origin}");
        }
        assert_eq!(asked(&Method::POST, &[host, ("sec-fetch-site", "cross-site")]), Some(403));
        assert_eq!(asked(&Method::POST, &[host, ("sec-fetch-site", "same-site")]), Some(403));
        assert_eq!(asked(&Method::POST, &[host, ("sec-fetch-site", "same-origin")]), None);
        assert_eq!(asked(&Method::GET, &[host, ("sec-fetch-site", "cross-site")]), None);
    }

    #[test]
    fn a_code_opens_once() {
        let (seal, now) = (Seal::of("cb_adm_x"), Moment::from_micros(5_000_000));
        let (door, code) = (doorman(), seal.code(now, "s1", "abc"));
        assert!(door.take_code(&seal, &code, now));
        assert!(!door.take_code(&seal, &code, now));
        assert!(door.take_code(&seal, &seal.code(now, "s1", "abd"), now));
        assert!(!door.take_code(&seal, &seal.code(now, "s2", "abe"), now));
    }
}
