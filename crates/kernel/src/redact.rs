//! Takes secrets out of whatever is recorded or told: the ledger keeps everything for ever and many may read it.
//!
//! Invariant: what looks like a secret by its name or by its shape is never stored, wherever it stands: command lines, titles,
//! labels, notes, reasons, evidence, contracts. The process itself gets the words as they were typed. Taking them out
//! twice changes nothing. Deliberately absent: guessing at words that look like nothing, so that a password that stands
//! alone between others is not found; and file names, hashes and ids, which somebody acts on later.

mod shapes;

use self::shapes::{SECRET_ADDRESSES, SHAPES, form};
use crate::command::{Command, Order};
use crate::fact;
use crate::facts::{Facts, Value};
use crate::printable::one_line;
use crate::reason::{EvidenceRef, StateReason};

/// What stands in the place of a secret.
pub const HIDDEN: &str = "***";

/// What a name is made of that keeps a secret.
const NAMES: [&str; 19] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "apikey",
    "api-key",
    "api_key",
    "access-key",
    "access_key",
    "accesskey",
    "accountkey",
    "credential",
    "private-key",
    "private_key",
    "privatekey",
    "authorization",
    "webhook_url",
];
/// Names that are no part of prose: the word behind one and a colon is a value.
const STRONG_NAMES: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "api_key",
    "api-key",
    "client_secret",
    "access_key",
    "private_key",
];
/// The last word of a name that tells something about a secret and keeps none.
const ABOUT: [&str; 22] = [
    "file", "path", "dir", "url", "uri", "endpoint", "name", "type", "id", "count", "limit", "budget", "max",
    "min", "length", "size", "ttl", "expires", "timeout", "usage", "env", "helper",
];
/// Facts that are file names, hashes or ids, on which somebody acts later.
const EXACT: [&str; 9] =
    ["cwd", "dir", "path", "glob", "baseline", "repository", "end_key", "files", "recipe_hash"];

/// The words of a command line, without their secrets.
pub fn words<'a>(argv: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut next_is_secret = false;
    let mut next_is_login = false;
    argv.map(|word| {
        let hide = std::mem::take(&mut next_is_secret) && !word.starts_with('-');
        let is_login = std::mem::take(&mut next_is_login) && word.contains(':');
        if hide || is_login {
            return HIDDEN.to_owned();
        }
        // As curl and its like are told a name and a password.
        next_is_login = matches!(word, "-u" | "--user" | "--proxy-user");
        next_is_secret = word.starts_with('-') && !word.contains('=') && names_a_secret(word);
        text(word)
    })
    .collect()
}

/// One text, without its secrets.
#[must_use]
pub fn text(text: &str) -> String {
    let text = without_logins(&without_key_blocks(text));
    let mut out = String::with_capacity(text.len());
    let mut next = Next::Anything;
    for piece in text.split_inclusive(is_between) {
        let word = piece.trim_end_matches(is_between);
        let rest = &piece[word.len()..];
        let now = next;
        next = now.behind(word, rest);
        if now == Next::Secret && !word.is_empty() && !is_scheme(word) {
            out.push_str(HIDDEN);
        } else {
            out.push_str(&one_word(word));
        }
        out.push_str(rest);
    }
    out
}

const fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

fn is_between(c: char) -> bool {
    c.is_whitespace() || is_quote(c) || matches!(c, ',' | ';')
}

/// What the next word of a text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Anything,
    /// What stands between a name in quotes and its value.
    Between,
    Secret,
}

impl Next {
    fn behind(self, word: &str, rest: &str) -> Self {
        let named = word.strip_suffix(':').map(|name| name.trim_start_matches(['{', '[', '(']));
        if is_scheme(word) || named.is_some_and(|name| is_header(name) || is_strong(name)) {
            return Self::Secret;
        }
        match self {
            // `"password" : "abc"`, in JSON and its like.
            Self::Between | Self::Secret if word.is_empty() => self,
            Self::Between if matches!(word, ":" | "=" | ":=" | "=>") => Self::Secret,
            Self::Anything | Self::Between | Self::Secret => {
                let is_quoted = rest.starts_with(is_quote) && !word.contains(['=', ':', '/']);
                if is_quoted && names_a_secret(word) { Self::Between } else { Self::Anything }
            }
        }
    }
}

/// The word before the secret of a login.
fn is_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic")
}

/// Does a header of this name carry a secret? A word of plain prose with a colon behind it is none.
fn is_header(name: &str) -> bool {
    let is_known = ["cookie", "authorization"].iter().any(|known| name.eq_ignore_ascii_case(known));
    is_known || (name.contains(['-', '_']) && names_a_secret(name))
}

fn is_strong(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    // `/etc/passwd: …` tells of a file that everybody may read.
    !lower.ends_with("/passwd") && STRONG_NAMES.iter().any(|strong| lower.ends_with(strong))
}

/// A private key stands in several lines, between two of a fixed form.
fn without_key_blocks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find("-----BEGIN ") {
        let head = &rest[begin..];
        let Some(line) = head[11..].find("-----").map(|length| 11 + length + 5) else { break };
        if !head[..line].contains("PRIVATE KEY") {
            out.push_str(&rest[..begin + line]);
            rest = &rest[begin + line..];
            continue;
        }
        out.push_str(&rest[..begin]);
        out.push_str(HIDDEN);
        let end = head[line..].find("-----END ").and_then(|end| {
            let tail = line + end + 9;
            head[tail..].find("-----").map(|length| tail + length + 5)
        });
        rest = end.map_or("", |end| &head[end..]);
    }
    out + rest
}

/// A password in an address may hold what stands between words.
fn without_logins(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let address = &rest[at + 3..];
        out.push_str(&rest[..at + 3]);
        let end = address.find(|c: char| c.is_whitespace() || is_quote(c)).unwrap_or(address.len());
        let login = login_length(&address[..end]).unwrap_or(0);
        if login > 0 {
            out.push_str(HIDDEN);
        }
        rest = &address[login..];
    }
    out + rest
}

fn one_word(word: &str) -> String {
    if let Some((address, query)) = word.split_once(['?', '#'])
        && address.contains("://")
    {
        let separator = &word[address.len()..=address.len()];
        return format!("{}{separator}{}", one_word(address), pairs(query));
    }
    if word.contains('&') && word.contains('=') {
        return pairs(word);
    }
    for separator in ['=', ':'] {
        if let Some((name, value)) = word.split_once(separator)
            && !value.is_empty()
            && !value.starts_with("//")
            && names_a_secret(name)
        {
            return format!("{name}{separator}{HIDDEN}");
        }
    }
    for secret in SECRET_ADDRESSES {
        if let Some(at) = word.find(secret) {
            return format!("{}{HIDDEN}", &word[..at + secret.len()]);
        }
    }
    without_shapes(word)
}

/// The parts of a query, each without its secret.
fn pairs(query: &str) -> String {
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            // A signature opens what is signed with it.
            Some((name @ ("sig" | "signature" | "X-Amz-Signature" | "code" | "once"), _)) => {
                format!("{name}={HIDDEN}")
            }
            Some(_) | None => one_word(pair),
        })
        .collect();
    pairs.join("&")
}

/// The length of the name and password before the host of an address. A slash in a password is wrong, and is written.
fn login_length(rest: &str) -> Option<usize> {
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    if let Some(at) = authority.rfind('@') {
        return Some(at);
    }
    let port = authority.split_once(':')?.1;
    (!port.is_empty() && !port.bytes().all(|byte| byte.is_ascii_digit())).then(|| rest.rfind('@')).flatten()
}

fn without_shapes(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let (mut copied, mut before) = (0, ' ');
    let mut places = word.char_indices().peekable();
    while let Some((at, c)) = places.next() {
        let is_inside = before.is_ascii_alphanumeric();
        before = c;
        if is_inside {
            continue;
        }
        if let Some(length) = shape(&word[at..]) {
            out.push_str(&word[copied..at]);
            out.push_str(HIDDEN);
            copied = at + length;
            while places.next_if(|(place, _)| *place < copied).is_some() {}
            before = ' ';
        }
    }
    out.push_str(&word[copied..]);
    out
}

/// The length of the secret that a text begins with.
fn shape(text: &str) -> Option<usize> {
    for (_, beginning, letters, least) in SHAPES {
        if let Some(rest) = text.strip_prefix(beginning) {
            let length = rest.bytes().take_while(|byte| letters.has(*byte)).count();
            if length >= *least {
                return Some(beginning.len() + length);
            }
        }
    }
    form(text)
}

fn names_a_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut parts = lower.rsplit(['_', '-', '.', '/', '[', '{', '(']);
    let last = parts.next().unwrap_or("");
    // `--max-tokens 100` and `--token-budget` count something; `--key` alone opens something.
    let is_about = ABOUT.contains(&last) || lower.contains("tokens") || lower.contains("budget");
    let is_secret = matches!(last, "key" | "pat" | "auth" | "pwd" | "pass" | "sig");
    !is_about && (is_secret || NAMES.iter().any(|part| lower.contains(part)))
}

impl Command {
    /// The command as it may be recorded: without secrets, and with a title that steers no terminal.
    #[must_use]
    pub fn recordable(mut self) -> Self {
        let (reasons, data): (&mut [StateReason], &mut Facts) = match &mut self.order {
            Order::Create(order) => (&mut order.reasons, &mut order.data),
            Order::Transition(order) => (&mut order.reasons, &mut order.data),
            Order::Observe(order) => (&mut order.reasons, &mut order.data),
            Order::Entry(entry) => (&mut [], entry.data_mut()),
        };
        reasons.iter_mut().for_each(clean_reason);
        clean_facts(data);
        if let Some(title) = data.read(fact::TITLE).map(one_line) {
            data.record(fact::TITLE, title);
        }
        self
    }
}

fn clean_reason(reason: &mut StateReason) {
    reason.message = text(&reason.message);
    for EvidenceRef { detail, url, .. } in &mut reason.evidence {
        for field in [detail, url].into_iter().flatten() {
            *field = text(field);
        }
    }
}

fn clean_facts(facts: &mut Facts) {
    facts.change(|name, value| {
        if EXACT.contains(&name) {
            return;
        }
        if let Value::Text(secret) = value
            && name != "key"
            && names_a_secret(name)
        {
            HIDDEN.clone_into(secret);
            return;
        }
        clean(value);
    });
}

fn clean(value: &mut Value) {
    match value {
        Value::Text(said) => *said = text(said),
        Value::Map(facts) => clean_facts(facts),
        Value::List(values) => {
            let said: Option<Vec<&str>> = values
                .iter()
                .map(|value| if let Value::Text(text) = value { Some(text.as_str()) } else { None })
                .collect();
            match said {
                // A list of words may be a command line.
                Some(said) => *values = words(said.into_iter()).into_iter().map(Value::Text).collect(),
                None => values.iter_mut().for_each(clean),
            }
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
    }
}

#[cfg(test)]
mod tests;
