//! Takes secrets out of what is recorded of a command line: the ledger keeps everything for ever and many may read it.
//!
//! Invariant: what looks like a secret by its name or by its shape is never stored; the process itself gets the words
//! as they were typed. Deliberately absent: guessing at words that look like nothing; a password that stands alone
//! between others is not found.

use crate::mutant;

/// What stands in the place of a secret.
pub(crate) const HIDDEN: &str = "***";

/// How secrets of well-known services begin, and how long they are at the least.
const SHAPES: [(&str, usize); 22] = [
    ("cb_adm_", 20),
    ("cb_ro_", 20),
    ("cb_run_", 20),
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xapp-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("whsec_", 16),
    ("npm_", 20),
    ("eyJ", 40),
];

/// What a name is made of that keeps a secret.
const NAMES: [&str; 12] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "api-key",
    "api_key",
    "access-key",
    "access_key",
    "credential",
    "private-key",
];

/// The words of a command line, without their secrets.
pub(crate) fn words<'a>(argv: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut next_is_secret = false;
    let mut next_is_login = false;
    argv.map(|word| {
        if mutant::removed("redact_words") {
            return word.to_owned();
        }
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
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_next = false;
    for piece in text.split_inclusive(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';')) {
        let word = piece.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';'));
        let rest = &piece[word.len()..];
        if std::mem::take(&mut is_next) && !word.is_empty() {
            out.push_str(HIDDEN);
        } else {
            out.push_str(&one_word(word));
        }
        is_next = word.eq_ignore_ascii_case("bearer")
            || word.eq_ignore_ascii_case("basic")
            || word.strip_suffix(':').is_some_and(is_header);
        out.push_str(rest);
    }
    out
}

/// Does a header of this name carry a secret? A word of plain prose with a colon behind it is none.
fn is_header(name: &str) -> bool {
    name.eq_ignore_ascii_case("cookie") || (name.contains(['-', '_']) && names_a_secret(name))
}

fn one_word(word: &str) -> String {
    if let Some((address, query)) = word.split_once('?')
        && address.contains("://")
    {
        let pairs: Vec<String> = query.split('&').map(one_word).collect();
        return format!("{}?{}", one_word(address), pairs.join("&"));
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
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((_, address)) = rest.rsplit_once('@')
        && !address.is_empty()
    {
        return format!("{scheme}://{HIDDEN}@{address}");
    }
    without_shapes(word)
}

fn without_shapes(word: &str) -> String {
    for (beginning, length) in SHAPES {
        let Some(at) = word.find(beginning) else { continue };
        let is_inside = word[..at].chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric());
        let secret: usize =
            word[at..].bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b)).count();
        if !is_inside && secret >= length {
            let (before, behind) = (without_shapes(&word[..at]), without_shapes(&word[at + secret..]));
            return format!("{before}{HIDDEN}{behind}");
        }
    }
    word.to_owned()
}

fn names_a_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit(['_', '-']).next().unwrap_or("");
    // `--max-tokens 100` and `--token-budget` count something; `--key` alone opens something.
    let counts = lower.contains("tokens") || lower.contains("token-") || lower.contains("token_");
    !counts && (NAMES.iter().any(|part| lower.contains(part)) || matches!(last, "key" | "pat" | "auth"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_their_name_and_by_their_shape() {
        let cases = [
            ("--api-key=abc", "--api-key=***"),
            ("OPENAI_API_KEY=abc", "OPENAI_API_KEY=***"),
            ("use ghp_0123456789abcdefghij0123 now", "use *** now"),
            ("postgres://me:hunter2@db/x", "postgres://***@db/x"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
            ("{\"token\":\"abc\"}", "{\"token\":\"abc\"}"),
            ("key sk-ant-REDACTED.", "key ***"),
            ("--max-tokens=100", "--max-tokens=100"),
            ("monkey=banana", "monkey=banana"),
            ("https://example.org/a?b=c", "https://example.org/a?b=c"),
            (
                "https://example.org/?b=c&access_token=abc&d=e",
                "https://example.org/?b=c&access_token=***&d=e",
            ),
            ("X-Api-Key: abc", "X-Api-Key: ***"),
            ("the key: abc", "the key: abc"),
            ("sk-0123456789abcdef:ghp_0123456789abcdefghij", "***:***"),
            ("cb_adm_0123456789abcdef0123456789abcdef", "***"),
        ];
        for (given, expected) in cases {
            assert_eq!(text(given), expected, "{given}");
        }
    }

    #[test]
    fn a_secret_may_be_the_word_after_its_name() {
        let hidden = words(["curl", "-u", "me:hunter2", "-u", "me"].into_iter());
        assert_eq!(hidden, ["curl", "-u", "***", "-u", "me"]);
        let argv = ["tool", "--token", "abc", "--verbose", "--password", "-x", "fix the bug"];
        let hidden = words(argv.into_iter());
        assert_eq!(hidden, ["tool", "--token", "***", "--verbose", "--password", "-x", "fix the bug"]);
    }
}
