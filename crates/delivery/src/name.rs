//! The names of artifacts: relative paths and globs that cannot say anything outside of the artifact directory.
//!
//! Invariant: a `Name` has no `..`, is not absolute, has no NUL and no control character, and is short enough for the
//! system; so has a `Pattern`. Names are compared byte for byte: `..%2f` is a strange file name and nothing else.
//! Deliberately absent: the disk. That a component is a link is found when it is opened (`beneath`).

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

use callboard_supervisor::mutant;

use crate::error::ContractProblem;

/// Bytes of a path; the system takes one less than 4,096.
const PATH_BYTES_MAX: usize = 4_095;
/// Bytes of one component.
const COMPONENT_BYTES_MAX: usize = 255;

/// A path beneath the artifact directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Reads a path, and says why it is refused.
    pub fn parse(text: &str) -> Result<Self, ContractProblem> {
        let bad = |because: String| ContractProblem::BadName { what: "the path", text: shown(text), because };
        if text.ends_with('/') && !text.chars().all(|c| c == '/') {
            return Err(bad("names a directory; name a file, or use a glob".to_owned()));
        }
        let parts = components(text).map_err(bad)?;
        Ok(Self(parts.join("/")))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its components, from the artifact directory down.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A glob over paths beneath the artifact directory: `*` and `?` stay in one component, `**` crosses them.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl Pattern {
    /// Reads a glob, and says why it is refused.
    pub fn parse(text: &str) -> Result<Self, ContractProblem> {
        let bad = |because: String| ContractProblem::BadName { what: "the glob", text: shown(text), because };
        if text.ends_with('/') {
            return Err(bad("names directories; end it with `/*` or `/**`".to_owned()));
        }
        let joined = components(text).map_err(bad)?.join("/");
        let glob = GlobBuilder::new(&joined)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| bad(format!("is no glob: {}", error.kind())))?;
        Ok(Self { text: joined, matcher: glob.compile_matcher() })
    }

    /// Does the text have a character that only a glob gives a meaning?
    pub fn is_meant(text: &str) -> bool {
        text.contains(['*', '?', '['])
    }

    /// The glob as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Does it match this path?
    pub(super) fn matches(&self, path: &std::path::Path) -> bool {
        self.matcher.is_match(path)
    }

    /// The directory that every match is in, as far as the text tells; empty for the artifact directory itself.
    pub(super) fn fixed(&self) -> String {
        let parts: Vec<&str> = self.text.split('/').collect();
        let literal = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
        let fixed: Vec<&str> = parts[..parts.len() - 1].iter().copied().take_while(literal).collect();
        fixed.join("/")
    }

    /// How many components a match has, if the glob fixes that.
    pub(super) fn depth(&self) -> Option<usize> {
        let open = self.text.contains("**") || self.text.contains(['{', '\\']);
        (!open).then(|| self.text.split('/').count())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The components of a relative path, without those that mean nothing.
fn components(text: &str) -> Result<Vec<&str>, String> {
    let may_leave = mutant::removed("refuse_parents");
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    if text.contains('\0') {
        return Err("has a NUL character".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("has a control character".to_owned());
    }
    if text.len() > PATH_BYTES_MAX {
        return Err(format!("has {} bytes, more than {PATH_BYTES_MAX}", text.len()));
    }
    if text.starts_with('/') && !may_leave {
        return Err("is absolute; write it relative to the artifact directory".to_owned());
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") && !may_leave {
        return Err("has `..`; artifacts stay in the artifact directory".to_owned());
    }
    if let Some(part) = parts.iter().find(|part| part.len() > COMPONENT_BYTES_MAX) {
        return Err(format!("has a component of {} bytes, more than {COMPONENT_BYTES_MAX}", part.len()));
    }
    if parts.is_empty() {
        return Err("names the artifact directory itself".to_owned());
    }
    Ok(parts)
}

/// A text short enough for a message.
fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 200;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_normalised_and_stays_inside() {
        for (text, name) in [
            ("review.md", "review.md"),
            ("./out//review.md", "out/review.md"),
            ("a:optional", "a:optional"),
            ("..%2fsecret", "..%2fsecret"),
            ("...", "..."),
            ("a\\b", "a\\b"),
            ("-rf", "-rf"),
        ] {
            assert_eq!(Name::parse(text).map(|name| name.0), Ok(name.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_could_leave_or_cannot_be_a_file_is_refused_with_its_reason() {
        let long = "a".repeat(256);
        let deep = "a/".repeat(2_100) + "b";
        for (text, because) in [
            ("", "is empty"),
            (".", "names the artifact directory itself"),
            ("/", "is absolute"),
            ("/etc/passwd", "is absolute"),
            ("//etc/passwd", "is absolute"),
            ("..", "has `..`"),
            ("a/../../b", "has `..`"),
            ("a/..", "has `..`"),
            ("a\0b", "has a NUL"),
            ("a\nb", "has a control character"),
            ("out/", "names a directory"),
            (long.as_str(), "has a component of 256 bytes"),
            (deep.as_str(), "bytes, more than 4095"),
        ] {
            let message = Name::parse(text).unwrap_err().to_string();
            assert!(message.contains(because), "{text:?}: {message}");
        }
    }

    #[test]
    fn a_glob_stays_inside_and_is_one() {
        for (text, because) in [
            ("../*", "has `..`"),
            ("/etc/*", "is absolute"),
            ("out/*/", "names directories"),
            ("out/[a", "is no glob"),
            ("{a", "is no glob"),
        ] {
            let message = Pattern::parse(text).unwrap_err().to_string();
            assert!(message.contains(because), "{text:?}: {message}");
        }
    }

    #[test]
    fn a_glob_says_where_its_matches_are() {
        for (text, fixed, depth) in [
            ("*.md", "", Some(1)),
            ("out/*.md", "out", Some(2)),
            ("out/a/**/b.md", "out/a", None),
            ("out/{a/b,c}/d", "out", None),
        ] {
            let glob = Pattern::parse(text).unwrap();
            assert_eq!((glob.fixed().as_str(), glob.depth()), (fixed, depth), "{text}");
        }
        let glob = Pattern::parse("out/*.md").unwrap();
        assert!(glob.matches("out/a.md".as_ref()));
        assert!(!glob.matches("out/deep/a.md".as_ref()), "a star stays in its component");
    }
}
