//! Rule: a public type's name means one thing in the workspace, and a directory shows its parts at a glance.
//!
//! Invariant: a name that two crates share for good reason is listed below with the reason, and a line that is no longer
//! needed is a finding, so the list only gets shorter. The glossary, `docs/glossary.md`, says what the words mean.
//!
//! Not here: private types, and types of tests.

use std::collections::BTreeMap;

use crate::tidy::rust::{self, leading_name};
use crate::tidy::source::{Finding, SourceFile};

const FILES_MAX: usize = 15;

/// Names that two crates share, and why. None of these crates knows the other, except where it says so.
const SHARED: &[(&str, &str)] = &[
    ("Cause", "whose doing an end was: of a process (supervisor), and of an agent's failure (agents)"),
    ("Clock", "the clock of the program (engine), and that of a store (ledger)"),
    ("Hold", "what holds a process: as it is read (supervisor), and as it is judged (kernel)"),
    ("Limits", "what a run may use (supervisor), and what a command may hold (kernel)"),
    ("Note", "what an agent said (agents), and what a desktop shows (notify)"),
    ("Outcome", "how an entity ended (lifecycle), and what became of a request for a host (supervisor)"),
    ("Scope", "what a token opens (server), and what a reason is about (lifecycle)"),
    ("Sighting", "a process as it is read (supervisor), and as it is judged (kernel)"),
    ("Signal", "what an agent's stream says (agents), and what severity follows from (kernel)"),
    ("Stopper", "stops a run (supervisor), and a server (server)"),
    ("Word", "a word of the operating system (wire), and of a vocabulary (lifecycle)"),
];

/// Directories that may be wider, and why.
const WIDE: &[(&str, &str)] = &[
    ("crates/kernel/src", "one file for each word of the model"),
    ("crates/lifecycle/src", "one file for each vocabulary and each part of a machine"),
    ("crates/lifecycle/src/machines", "one file for each machine"),
    ("crates/lifecycle/tests/ui", "one broken machine for each rule"),
];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = shared_names(files, SHARED);
    findings.extend(wide_directories(files, WIDE));
    findings
}

fn shared_names(files: &[SourceFile], allowed: &[(&str, &str)]) -> Vec<Finding> {
    let mut declared: BTreeMap<String, Vec<(&SourceFile, usize)>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        if !file.in_package().is_some_and(|path| path.starts_with("src/")) {
            continue;
        }
        for (index, line) in rust::lines(&file.text).iter().enumerate() {
            if let Some(name) = public_type(&line.code) {
                declared.entry(name.to_owned()).or_default().push((file, index + 1));
            }
        }
    }
    let mut findings = Vec::new();
    for (name, places) in &declared {
        if let [(first, _), others @ ..] = places.as_slice()
            && !allowed.iter().any(|(allowed, _)| allowed == name)
        {
            let message = format!("`{name}` is a public type in {}, too; a name means one thing", first.path);
            findings.extend(others.iter().map(|(file, line)| file.finding(*line, message.clone())));
        }
    }
    let is_shared = |name: &str| declared.get(name).is_some_and(|places| places.len() > 1);
    let stale = allowed.iter().filter(|(name, _)| !is_shared(name));
    findings.extend(stale.map(|(name, _)| Finding {
        path: "xtask/src/tidy/names.rs".to_owned(),
        line: 1,
        message: format!("`{name}` is listed as shared and is not"),
    }));
    findings
}

/// The type that a line declares for other crates.
fn public_type(code: &str) -> Option<&str> {
    let declared = code.trim_start().strip_prefix("pub ")?;
    let keywords = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = keywords.iter().find_map(|keyword| declared.strip_prefix(keyword))?;
    Some(leading_name(rest)).filter(|name| !name.is_empty())
}

fn wide_directories(files: &[SourceFile], allowed: &[(&str, &str)]) -> Vec<Finding> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let is_part =
        |file: &&SourceFile| file.is_rust() && !["lib.rs", "main.rs", "mod.rs"].contains(&file.name());
    for file in files.iter().filter(is_part) {
        *counts.entry(file.directory()).or_default() += 1;
    }
    let is_wide = |(directory, count): &(&str, usize)| {
        *count > FILES_MAX && !allowed.iter().any(|(allowed, _)| allowed == directory)
    };
    let wide = counts.into_iter().filter(is_wide).map(|(directory, count)| Finding {
        path: directory.to_owned(),
        line: 1,
        message: format!("{count} files; group what belongs together at more than {FILES_MAX}"),
    });
    wide.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::CLEAN;

    fn messages(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_public_name_of_two_crates_is_found_unless_it_is_listed() {
        let files = [
            SourceFile::made_up("crates/a/src/lib.rs", "pub struct Mark;\nstruct Own;\n"),
            SourceFile::made_up("crates/b/src/x.rs", "pub(crate) struct Own;\n\npub enum Mark {}\n"),
            SourceFile::made_up("crates/b/tests/y.rs", "pub struct Mark;\n"),
        ];
        let expected = "crates/b/src/x.rs:3: `Mark` is a public type in crates/a/src/lib.rs, too; a name means one thing";
        assert_eq!(messages(&shared_names(&files, &[])), [expected]);
        assert_eq!(messages(&shared_names(&files, &[("Mark", "why")])), CLEAN);
        assert_eq!(
            shared_names(&files, &[("Mark", "why"), ("Own", "why")]).len(),
            1,
            "a stale line is found"
        );
    }

    #[test]
    fn a_directory_that_is_too_wide_is_found_unless_it_is_listed() {
        let file = |number: usize| SourceFile::made_up(&format!("crates/a/src/f{number}.rs"), "");
        let mut files: Vec<SourceFile> = (0..FILES_MAX).map(file).collect();
        files.push(SourceFile::made_up("crates/a/src/lib.rs", ""));
        assert_eq!(messages(&wide_directories(&files, &[])), CLEAN);
        files.push(file(FILES_MAX));
        let expected = "crates/a/src:1: 16 files; group what belongs together at more than 15";
        assert_eq!(messages(&wide_directories(&files, &[])), [expected]);
        assert_eq!(messages(&wide_directories(&files, &[("crates/a/src", "why")])), CLEAN);
    }
}
