//! Rule: a fact is recorded and read by its declared name, never by a string.
//!
//! Invariant: production code of the crates that record and read facts names them through `callboard_kernel::fact`, so one
//! place knows every name and its sort. Not here: tests, which write down what a record looks like.

use crate::tidy::source::{Finding, SourceFile};

/// The crates that record and read facts.
const PLACES: [&str; 6] = [
    "crates/cli/src/",
    "crates/delivery/src/",
    "crates/engine/src/",
    "crates/kernel/src/",
    "crates/ledger/src/",
    "crates/server/src/",
];
/// How a name is given as a string.
const BY_STRING: [&str; 5] = [".with(\"", ".set(\"", ".has(\"", "facts.get(\"", "data.get(\""];
const WHY: &str = "names a fact by a string; declare it in crates/kernel/src/fact.rs and use `and`, `record`, `read` or `known`";

/// The facts that a file names by a string.
pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let is_searched =
        PLACES.iter().any(|place| file.path.starts_with(place)) && !file.path.ends_with("tests.rs");
    if !is_searched {
        return Vec::new();
    }
    let production = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let named = |line: &str| BY_STRING.iter().find(|by| line.contains(**by)).copied();
    let found = production.enumerate().filter_map(|(at, line)| Some((at, named(line)?)));
    found.map(|(at, by)| file.finding(at + 1, format!("`{by}…` {WHY}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&SourceFile { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn a_fact_named_by_a_string_is_found_outside_of_tests_only() {
        let text = "let a = facts.get(\"pid\");\nfacts.record(fact::PID, 7);\n#[cfg(test)]\nfacts.set(\"pid\", 7);\n";
        assert_eq!(found("crates/engine/src/a.rs", text), 1);
        assert_eq!(
            (found("crates/engine/tests/a.rs", text), found("crates/engine/src/a/tests.rs", text)),
            (0, 0)
        );
    }
}
