//! Rule: words that hide what a thing is, leave work behind, or tell history instead of reason do not appear.
//!
//! Invariant: every ban is a row of a table with its reason, and the reason is what the finding says. This
//! file is the only one that is not searched, since it has to spell the words.
//!
//! Not here: regular expressions. A few ways of matching cover the table, and each can be read.

use crate::tidy::rust::{self, Line};
use crate::tidy::source::{Finding, SourceFile};

const THIS_FILE: &str = "xtask/src/tidy/words.rs";

struct Ban {
    what: Match,
    place: Place,
    why: &'static str,
}

enum Place {
    /// Rust, Markdown and TOML, strings and comments included.
    Anywhere,
    /// Rust without comments and strings.
    Code,
    /// The comments of Rust files.
    Comment,
}

enum Match {
    Text(&'static str),
    /// As written and not inside a longer word.
    Word(&'static str),
    /// In any case, and not inside a longer word.
    Phrase(&'static str),
    /// The first words of a comment or of a sentence in it that begins a line.
    SentenceStart(&'static str),
    /// The first characters of a comment.
    CommentStart(&'static str),
    /// The declaration of a type with such an ending.
    TypeEnding(&'static str),
    /// A path that begins so and goes on with a name.
    MachinePath(&'static str),
    /// `#` and a number as trackers count.
    IssueNumber,
}

const VAGUE: &str = "says nothing about what the type is; name what it is or does";
const UNFINISHED: &str = "is unfinished work; do it, or delete it and open an issue";
const HISTORY: &str = "tells history, which git keeps; say why the code is as it is";
const MACHINE: &str = "is a path of one machine";
const ALLOW: &str = "hides a lint for ever; `#[expect(lint, reason = \"…\")]` reports when it is not needed";
const BANNER: &str = "is a banner; a file that needs sections is two files";

const BANS: &[Ban] = &[
    Ban { what: Match::TypeEnding("Manager"), place: Place::Code, why: VAGUE },
    Ban { what: Match::TypeEnding("Helper"), place: Place::Code, why: VAGUE },
    Ban { what: Match::TypeEnding("Util"), place: Place::Code, why: VAGUE },
    Ban { what: Match::TypeEnding("Utils"), place: Place::Code, why: VAGUE },
    Ban { what: Match::TypeEnding("Core"), place: Place::Code, why: VAGUE },
    Ban { what: Match::TypeEnding("V2"), place: Place::Code, why: "keeps two of a kind; replace the first" },
    Ban { what: Match::Word("TODO"), place: Place::Anywhere, why: UNFINISHED },
    Ban { what: Match::Word("FIXME"), place: Place::Anywhere, why: UNFINISHED },
    Ban { what: Match::Word("XXX"), place: Place::Anywhere, why: UNFINISHED },
    Ban { what: Match::Text("todo!("), place: Place::Anywhere, why: UNFINISHED },
    Ban {
        what: Match::IssueNumber,
        place: Place::Comment,
        why: "means nothing without the tracker; say the reason",
    },
    Ban { what: Match::SentenceStart("now"), place: Place::Comment, why: HISTORY },
    Ban { what: Match::Phrase("formerly"), place: Place::Comment, why: HISTORY },
    Ban { what: Match::Phrase("moved from"), place: Place::Comment, why: HISTORY },
    Ban { what: Match::Phrase("used to be"), place: Place::Comment, why: HISTORY },
    Ban { what: Match::MachinePath("/root/"), place: Place::Anywhere, why: MACHINE },
    Ban { what: Match::MachinePath("/work/"), place: Place::Anywhere, why: MACHINE },
    Ban { what: Match::MachinePath("/home/"), place: Place::Anywhere, why: MACHINE },
    Ban { what: Match::Text("#[allow("), place: Place::Code, why: ALLOW },
    Ban { what: Match::Text("#![allow("), place: Place::Code, why: ALLOW },
    Ban { what: Match::CommentStart("===="), place: Place::Comment, why: BANNER },
    Ban { what: Match::CommentStart("----"), place: Place::Comment, why: BANNER },
    Ban { what: Match::CommentStart("────"), place: Place::Comment, why: BANNER },
];

const VAGUE_MODULES: &[&str] = &["util", "utils", "helper", "helpers"];

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    if file.path == THIS_FILE {
        return Vec::new();
    }
    let split = if file.is_rust() { rust::lines(&file.text) } else { Vec::new() };
    let mut findings: Vec<Finding> = vague_module(file).into_iter().collect();
    for (index, raw) in file.text.lines().enumerate() {
        let seen = Seen {
            raw,
            code: split.get(index).map_or("", |line| &line.code),
            comment: comment_body(split.get(index)),
            comment_above: comment_body(index.checked_sub(1).and_then(|above| split.get(above))),
        };
        let found = BANS.iter().filter_map(|ban| Some((ban.find(&seen)?, ban.why)));
        findings.extend(found.map(|(text, why)| file.finding(index + 1, format!("`{text}` {why}"))));
    }
    findings
}

/// One line as the matchers want it.
struct Seen<'a> {
    raw: &'a str,
    code: &'a str,
    /// Without markers and the space around it.
    comment: &'a str,
    comment_above: &'a str,
}

fn comment_body(line: Option<&Line>) -> &str {
    line.map_or("", |line| line.comment.trim_start_matches(['/', '!', '*']).trim())
}

fn vague_module(file: &SourceFile) -> Option<Finding> {
    let path = file.path.strip_suffix(".rs")?;
    let module = path.strip_suffix("/mod").unwrap_or(path).rsplit('/').next()?;
    VAGUE_MODULES
        .contains(&module)
        .then(|| file.finding(1, format!("`{module}` is where anything goes; name what is in it")))
}

impl Ban {
    /// The text to quote, if the line has what is banned.
    fn find(&self, seen: &Seen<'_>) -> Option<String> {
        let text = match self.place {
            Place::Anywhere => seen.raw,
            Place::Code => seen.code,
            Place::Comment => seen.comment,
        };
        match self.what {
            Match::Text(banned) => text.contains(banned).then(|| banned.to_owned()),
            Match::Word(banned) => has_word(text, banned).then(|| banned.to_owned()),
            Match::Phrase(banned) => has_word(&text.to_lowercase(), banned).then(|| banned.to_owned()),
            Match::SentenceStart(banned) => {
                // A line in the middle of a sentence may begin with any word.
                let begins =
                    seen.comment_above.is_empty() || seen.comment_above.ends_with(['.', ':', '!', '?']);
                (begins && rust::leading_name(text).eq_ignore_ascii_case(banned)).then(|| banned.to_owned())
            }
            Match::CommentStart(banned) => text.starts_with(banned).then(|| banned.to_owned()),
            Match::TypeEnding(banned) => {
                declared_type(text).filter(|name| name.ends_with(banned)).map(str::to_owned)
            }
            Match::MachinePath(banned) => machine_path(text, banned),
            Match::IssueNumber => issue_number(text),
        }
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(rust::is_name) && !text[at + word.len()..].starts_with(rust::is_name)
    })
}

fn declared_type(code: &str) -> Option<&str> {
    let code = rust::without_visibility(code);
    let declared =
        ["struct ", "enum ", "trait ", "type ", "union "].iter().find_map(|word| code.strip_prefix(word))?;
    Some(rust::leading_name(declared))
}

/// The root and the name after it. What precedes must not be part of the path: `~/x` and `example.com/x` are
/// elsewhere.
fn machine_path(text: &str, root: &str) -> Option<String> {
    text.match_indices(root).find_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let is_start = before.is_none_or(|c| c.is_whitespace() || "\"'`(=:,[</".contains(c));
        let name = rust::leading_name(&text[at + root.len()..]);
        (is_start && !name.is_empty()).then(|| format!("{root}{name}"))
    })
}

/// Up to five digits that do not begin with 0, so that colours such as `#000` and `#112233` are left alone.
fn issue_number(text: &str) -> Option<String> {
    text.match_indices('#').find_map(|(at, _)| {
        let number = rust::leading_name(&text[at + 1..]);
        let is_number =
            number.len() <= 5 && number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
        let is_entity = text[..at].ends_with('&');
        (is_number && !number.is_empty() && !is_entity).then(|| format!("#{number}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::CLEAN;

    fn quoted(path: &str, text: &str) -> Vec<String> {
        let findings = check(&SourceFile::made_up(path, text));
        findings
            .iter()
            .map(|finding| format!("{} {}", finding.line, finding.message.split('`').nth(1).unwrap_or("")))
            .collect()
    }

    #[test]
    fn vague_type_names_are_found_where_they_are_declared() {
        let text = "pub struct RunManager;\n    enum Utils {}\ntype AgentHelper<T> = T;\npub(crate) trait LogV2 {}\n";
        assert_eq!(quoted("a.rs", text), ["1 RunManager", "2 Utils", "3 AgentHelper", "4 LogV2"]);
        let innocent = "use x::ConnectionManager;\nstruct Managers;\n// struct RunManager\nlet a = \"struct RunManager\";\n";
        assert_eq!(quoted("a.rs", innocent), CLEAN);
    }

    #[test]
    fn vague_files_are_found_by_their_name() {
        assert_eq!(quoted("crates/a/src/utils.rs", ""), ["1 utils"]);
        assert_eq!(quoted("crates/a/src/helpers/mod.rs", ""), ["1 helpers"]);
        assert_eq!(quoted("crates/a/src/utils/clock.rs", ""), CLEAN);
        assert_eq!(quoted("docs/utils.md", ""), CLEAN);
    }

    #[test]
    fn unfinished_work_is_found_everywhere() {
        assert_eq!(quoted("a.rs", "// TODO: later\ntodo!()\n"), ["1 TODO", "2 todo!("]);
        assert_eq!(quoted("a.md", "FIXME\n"), ["1 FIXME"]);
        assert_eq!(quoted("a.toml", "a = 1 # XXX\n"), ["1 XXX"]);
        assert_eq!(quoted("a.rs", "const TODO_COUNT: u8 = 1; // XXXL, MYXXX, todo\n"), CLEAN);
    }

    #[test]
    fn issue_numbers_are_found_in_rust_comments() {
        assert_eq!(quoted("a.rs", "// see #123.\n/// (#9)\n"), ["1 #123", "2 #9"]);
        assert_eq!(quoted("a.rs", "#[test]\n// #000 &#39; #12ab #112233 # 1\nlet a = \"#123\";\n"), CLEAN);
        assert_eq!(quoted("a.md", "see #123\n"), CLEAN);
    }

    #[test]
    fn history_is_found_in_rust_comments() {
        let text =
            "// now it works\n/// Formerly a list.\nx(); // moved from the engine\n// It used to be two.\n";
        assert_eq!(quoted("a.rs", text), ["1 now", "2 formerly", "3 moved from", "4 used to be"]);
        assert_eq!(quoted("a.rs", "// A sentence.\n// Now another.\n"), ["2 now"]);
        assert_eq!(quoted("a.rs", "// the attempt is\n// now stopping\n// nowhere\n"), CLEAN);
        assert_eq!(quoted("a.rs", "let formerly = \"// now it\";\n"), CLEAN);
        assert_eq!(quoted("CHANGELOG.md", "Formerly it waited.\n"), CLEAN);
    }

    #[test]
    fn paths_of_one_machine_are_found_in_strings_too() {
        assert_eq!(quoted("a.rs", "open(\"/root/x\");\n"), ["1 /root/x"]);
        assert_eq!(
            quoted("a.md", "in `/home/ada/src` or file:///work/main\n"),
            ["1 /work/main", "1 /home/ada"]
        );
        let elsewhere = "~/work/a {dir}/work/b example.com/home/c /homestead/ /home/<name> /home/\n";
        assert_eq!(quoted("a.md", elsewhere), CLEAN);
    }

    #[test]
    fn allow_attributes_are_found_in_code() {
        assert_eq!(
            quoted("a.rs", "#![allow(unused)]\n    #[allow(dead_code)]\n"),
            ["1 #![allow(", "2 #[allow("]
        );
        assert_eq!(
            quoted("a.rs", "#[expect(unused, reason = \"#[allow(x)]\")]\n// not #[allow(x)]\n"),
            CLEAN
        );
    }

    #[test]
    fn banners_are_found() {
        assert_eq!(quoted("a.rs", "// ==== types ====\n//------\n"), ["1 ====", "2 ----"]);
        assert_eq!(quoted("a.rs", "/// | ---- | ---- |\n/// ---\nlet a = \"----\";\n"), CLEAN);
    }

    #[test]
    fn only_this_file_may_spell_the_words() {
        assert_eq!(quoted(THIS_FILE, "// TODO\n"), CLEAN);
        assert_eq!(quoted("xtask/src/tidy/other.rs", "// TODO\n"), ["1 TODO"]);
    }
}
