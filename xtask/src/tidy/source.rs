//! The files a rule looks at, and the findings it returns.
//!
//! Invariant: a path is relative to the workspace's root and written with `/`, so that rules compare plain
//! strings and a finding reads the same on every machine.
//!
//! Not here: git. A file that is not committed yet is checked like any other, and a checkout without `.git`
//! is too.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};

/// One Rust, Markdown or TOML file of the repository.
#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) path: String,
    pub(super) text: String,
}

/// Something a rule objects to; ordered the way it is printed.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Finding {
    pub(super) path: String,
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) message: String,
}

/// Directories whose content somebody else wrote.
const FOREIGN_DIRECTORIES: &[&str] = &["target", ".git", "node_modules"];
const EXTENSIONS: &[&str] = &["rs", "md", "toml"];
/// The packages outside `crates/`.
const LONE_PACKAGES: &[&str] = &["xtask", "bench"];

/// Every file that some rule may want to see, in the order of their paths.
pub(super) fn read_all(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    collect(root, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Follows `relative` from `directory`; none if it leaves the repository.
pub(super) fn resolve(directory: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

impl SourceFile {
    /// The path without its last part, empty at the root.
    pub(super) fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// The last part of the path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }

    pub(super) fn is_rust(&self) -> bool {
        self.name().ends_with(".rs")
    }

    /// The path below the directory of the package it belongs to, such as `src/lib.rs`; none outside of a
    /// package.
    pub(super) fn in_package(&self) -> Option<&str> {
        let (first, rest) = self.path.split_once('/')?;
        if LONE_PACKAGES.contains(&first) {
            return Some(rest);
        }
        let (_package, rest) = rest.split_once('/')?;
        (first == "crates").then_some(rest)
    }

    /// `line` is counted from 1.
    pub(super) fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.message)
    }
}

fn collect(root: &Path, directory: &str, files: &mut Vec<SourceFile>) -> Result<()> {
    let failed = || format!("failed to read the directory {}", root.join(directory).display());
    for entry in std::fs::read_dir(root.join(directory)).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let kind = entry.file_type().with_context(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
        if kind.is_dir() && !FOREIGN_DIRECTORIES.contains(&name.as_str()) {
            collect(root, &path, files)?;
        } else if kind.is_file() && name.rsplit_once('.').is_some_and(|(_, end)| EXTENSIONS.contains(&end)) {
            let text =
                std::fs::read_to_string(entry.path()).with_context(|| format!("failed to read {path}"))?;
            files.push(SourceFile { path, text });
        }
    }
    Ok(())
}

/// What a test expects of a rule that finds nothing.
#[cfg(test)]
pub(super) const CLEAN: [&str; 0] = [];

#[cfg(test)]
impl SourceFile {
    /// A made-up file for the tests of the rules.
    pub(super) fn made_up(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_followed_from_its_directory_and_stays_inside() {
        assert_eq!(resolve("docs", "../README.md").as_deref(), Some("README.md"));
        assert_eq!(resolve("docs/a", "./b/c.md").as_deref(), Some("docs/a/b/c.md"));
        assert_eq!(resolve("", "docs//a.md").as_deref(), Some("docs/a.md"));
        assert_eq!(resolve("docs", "../../elsewhere"), None);
    }

    #[test]
    fn a_file_knows_its_place_in_its_package() {
        let place = |path| SourceFile::made_up(path, "").in_package().map(str::to_owned);
        assert_eq!(place("crates/kernel/src/lib.rs").as_deref(), Some("src/lib.rs"));
        assert_eq!(place("xtask/src/tidy/mod.rs").as_deref(), Some("src/tidy/mod.rs"));
        assert_eq!(place("web/src/lib.rs"), None);
        assert_eq!(place("README.md"), None);
    }
}
