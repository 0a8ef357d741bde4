//! Rule: every module opens with `//!`, saying its purpose, its invariant and what is deliberately not there.
//!
//! Invariant: the header is the very first line, where a reader who opens the file sees it without scrolling.
//!
//! Not here: whether the header says anything; that is for a reviewer.

use crate::tidy::source::{Finding, SourceFile};

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let is_module = file.is_rust() && file.in_package().is_some_and(|path| path.starts_with("src/"));
    if !is_module || file.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![file.finding(1, "begins without `//! ` (purpose, invariant, what is deliberately not here)")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(path: &str, text: &str) -> bool {
        !check(&SourceFile::made_up(path, text)).is_empty()
    }

    #[test]
    fn a_module_begins_with_its_header() {
        assert!(!is_found("crates/kernel/src/decide.rs", "//! Decides.\n"));
        assert!(is_found("crates/kernel/src/decide.rs", "use std::fmt;\n//! Decides.\n"));
        assert!(is_found("bench/src/main.rs", ""));
        assert!(is_found("xtask/src/main.rs", "/// Not a module's comment.\n"));
    }

    #[test]
    fn only_modules_need_one() {
        assert!(!is_found("crates/lifecycle/tests/ui/two_rows.rs", "fn main() {}\n"));
        assert!(!is_found("crates/kernel/src/notes.md", "# Notes\n"));
    }
}
