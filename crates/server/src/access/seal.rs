//! What the server signs for itself with its operator token: one-time codes for a link, and cookies.
//!
//! Invariant: whoever does not hold the token can make neither; both end by themselves, and all of them end when the
//! token is replaced. A code is for one start of a server, so one that was used opens nothing after a restart either.
//! Deliberately absent: which code was used, which the doorman remembers for as long as a code lives.

use callboard_kernel::Moment;

/// How long a one-time code can be used.
pub(crate) const CODE_LIFE_S: i64 = 60;
/// How long a cookie can be used.
pub(crate) const COOKIE_LIFE_S: i64 = 30 * 24 * 3600;

/// A key that is derived from the operator token.
pub(crate) struct Seal([u8; 32]);

/// What is signed.
#[derive(Clone, Copy)]
enum Use {
    Code,
    Cookie,
}

impl Seal {
    pub(crate) fn of(token: &str) -> Self {
        Self(blake3::derive_key("callboard 2026 server login", token.as_bytes()))
    }

    /// A one-time code for one start of a server, made now.
    pub(crate) fn code(&self, now: Moment, start: &str, nonce: &str) -> String {
        self.sign(Use::Code, &format!("{}.{start}.{nonce}", seconds(now)))
    }

    /// The nonce of a code for this start that still lives.
    pub(crate) fn open_code<'a>(&self, code: &'a str, start: &str, now: Moment) -> Option<&'a str> {
        let (made, rest) = self.open(Use::Code, code)?.split_once('.')?;
        let (_, nonce) = rest.split_once('.').filter(|(of, _)| *of == start)?;
        let age = seconds(now) - made.parse::<i64>().ok()?;
        // A clock that was set back a little while the link was on its way is no reason to refuse.
        (-CODE_LIFE_S..=CODE_LIFE_S).contains(&age).then_some(nonce)
    }

    /// A cookie, made now.
    pub(crate) fn cookie(&self, now: Moment) -> String {
        self.sign(Use::Cookie, &(seconds(now) + COOKIE_LIFE_S).to_string())
    }

    /// Does this cookie still live?
    pub(crate) fn takes_cookie(&self, cookie: &str, now: Moment) -> bool {
        let until = self.open(Use::Cookie, cookie).and_then(|until| until.parse::<i64>().ok());
        until.is_some_and(|until| seconds(now) < until)
    }

    fn sign(&self, what: Use, text: &str) -> String {
        format!("{text}.{}", self.mac(what, text).to_hex())
    }

    fn open<'a>(&self, what: Use, signed: &'a str) -> Option<&'a str> {
        let (text, mac) = signed.rsplit_once('.')?;
        let mac = blake3::Hash::from_hex(mac).ok()?;
        // Hashes compare in constant time.
        (mac == self.mac(what, text)).then_some(text)
    }

    fn mac(&self, what: Use, text: &str) -> blake3::Hash {
        let word = match what {
            Use::Code => "code",
            Use::Cookie => "cookie",
        };
        blake3::keyed_hash(&self.0, format!("{word}\0{text}").as_bytes())
    }
}

const fn seconds(now: Moment) -> i64 {
    now.as_micros() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Moment {
        Moment::from_micros(second * 1_000_000)
    }

    #[test]
    fn a_code_lives_for_a_minute_and_only_for_its_token() {
        let seal = Seal::of("cb_adm_one");
        let code = seal.code(at(1000), "s1", "abc");
        assert_eq!(seal.open_code(&code, "s1", at(1060)), Some("abc"));
        assert_eq!(seal.open_code(&code, "s1", at(1061)), None);
        assert_eq!(Seal::of("cb_adm_two").open_code(&code, "s1", at(1000)), None);
        assert_eq!(seal.open_code(&code.replace("abc", "abd"), "s1", at(1000)), None);
        assert_eq!(seal.open_code(&code, "s2", at(1000)), None, "another start");
    }

    #[test]
    fn a_cookie_ends_and_a_code_is_no_cookie() {
        let seal = Seal::of("cb_adm_one");
        let cookie = seal.cookie(at(0));
        assert!(seal.takes_cookie(&cookie, at(COOKIE_LIFE_S - 1)));
        assert!(!seal.takes_cookie(&cookie, at(COOKIE_LIFE_S)));
        assert!(!seal.takes_cookie(&seal.code(at(0), "s1", "9999999999"), at(0)));
        assert!(!seal.takes_cookie("", at(0)) && !seal.takes_cookie("9999999999.00", at(0)));
    }
}
