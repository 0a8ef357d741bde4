//! Rule: functions fit a screen, files stay short, and `lib.rs` and `mod.rs` only declare and re-export.
//!
//! Invariant: lengths are what an editor shows. A function counts from its `fn` line to its closing brace,
//! blank lines and comments included; a file counts without the test module at its end.
//!
//! Not here: a way to exempt a function. A file may be long if its header says why, in a line that begins
//! with `//! Long because`.

use crate::tidy::rust::{self, Line};
use crate::tidy::source::{Finding, SourceFile};

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;
const EXCUSE: &str = "//! Long because";

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    if !file.is_rust() {
        return Vec::new();
    }
    let lines = rust::lines(&file.text);
    let mut findings = long_functions(file, &lines);
    findings.extend(long_file(file, &lines));
    if ["lib.rs", "mod.rs"].contains(&file.name()) {
        findings.extend(logic(file, &lines));
    }
    findings
}

fn long_functions(file: &SourceFile, lines: &[Line]) -> Vec<Finding> {
    functions(lines)
        .filter_map(|(index, name)| {
            let length = rust::block_end(lines, index)? - index + 1;
            let message = format!("`{name}` has {length} lines; a function has at most {FUNCTION_LINES_MAX}");
            (length > FUNCTION_LINES_MAX).then(|| file.finding(index + 1, message))
        })
        .collect()
}

fn long_file(file: &SourceFile, lines: &[Line]) -> Option<Finding> {
    let length = tests_start(lines).unwrap_or(lines.len());
    let mut header = file.text.lines().take_while(|line| line.starts_with("//!"));
    if length <= FILE_LINES_MAX || header.any(|line| line.starts_with(EXCUSE)) {
        return None;
    }
    let message = format!(
        "the file has {length} lines without its tests, more than {FILE_LINES_MAX}; split it, or say why in its \
         header: `{EXCUSE} …`"
    );
    Some(file.finding(1, message))
}

fn logic(file: &SourceFile, lines: &[Line]) -> Vec<Finding> {
    let macros: Vec<_> = (0..lines.len())
        .filter(|&index| opens_macro(&lines[index].code))
        .filter_map(|index| Some(index..=rust::block_end(lines, index)?))
        .collect();
    functions(lines)
        .filter(|(index, _)| !macros.iter().any(|span| span.contains(index)))
        .map(|(index, name)| {
            let message = format!("`{name}` stands in {}, which only declares and re-exports", file.name());
            file.finding(index + 1, message)
        })
        .collect()
}

fn functions(lines: &[Line]) -> impl Iterator<Item = (usize, &str)> {
    lines.iter().enumerate().filter_map(|(index, line)| Some((index, rust::function_name(&line.code)?)))
}

/// Whether a macro definition or call with a block begins here: `name! {` or `name! other {`.
fn opens_macro(code: &str) -> bool {
    let code = code.trim();
    let name = rust::leading_name(code);
    !name.is_empty() && code[name.len()..].starts_with('!') && code.ends_with('{')
}

/// The index of the `#[cfg(test)]` over a test module that ends the file.
fn tests_start(lines: &[Line]) -> Option<usize> {
    let module = lines.iter().position(|line| line.code.starts_with("mod tests {"))?;
    let end = rust::block_end(lines, module)?;
    let is_last = lines[end + 1..].iter().all(|line| line.code.trim().is_empty());
    let start = lines[..module].iter().rposition(|line| line.code.starts_with("#[cfg(test)]"))?;
    let only_attributes = lines[start..module].iter().all(|line| line.code.starts_with("#["));
    (is_last && only_attributes).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::CLEAN;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&SourceFile::made_up(path, text)).iter().map(ToString::to_string).collect()
    }

    fn function_of(lines: usize) -> String {
        format!("    pub fn go(\n    ) {{\n{}    }}\n", "        step();\n".repeat(lines - 3))
    }

    #[test]
    fn a_function_of_more_than_a_screen_is_found() {
        let text = format!("impl X {{\n{}}}\n", function_of(71));
        assert_eq!(messages("a.rs", &text), ["a.rs:2: `go` has 71 lines; a function has at most 70"]);
        assert_eq!(messages("a.rs", &format!("impl X {{\n{}}}\n", function_of(70))), CLEAN);
    }

    #[test]
    fn a_string_with_code_in_it_is_no_function() {
        let text = format!("const A: &str = r#\"\n{}\"#;\n", function_of(100));
        assert_eq!(messages("a.rs", &text), CLEAN);
    }

    #[test]
    fn a_long_file_is_found_unless_its_header_says_why() {
        let long = "const A: u8 = 1;\n".repeat(501);
        let found = messages("a.rs", &long);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.rs:1: the file has 501 lines"), "{found:?}");
        assert_eq!(messages("a.rs", &"const A: u8 = 1;\n".repeat(500)), CLEAN);
        assert_eq!(messages("a.rs", &format!("//! A table.\n//! Long because it is one.\n{long}")), CLEAN);
        assert_eq!(messages("a.rs", &format!("{long}//! Long because this is too late.\n")).len(), 1);
    }

    #[test]
    fn only_a_test_module_at_the_end_is_not_counted() {
        let code = "const A: u8 = 1;\n".repeat(450);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    const A: u8 = 1;\n".repeat(100));
        assert_eq!(messages("a.rs", &format!("{code}{tests}")), CLEAN);
        assert_eq!(messages("a.rs", &format!("{tests}{code}")).len(), 1);
        let attribute_of_another_item = tests.replace("mod tests", "const B: u8 = 1;\nmod tests");
        assert_eq!(messages("a.rs", &format!("{code}{attribute_of_another_item}")).len(), 1);
        let not_only_tests = tests.replace("#[cfg(test)]", "#[cfg(unix)]");
        assert_eq!(messages("a.rs", &format!("{code}{not_only_tests}")).len(), 1);
    }

    #[test]
    fn declaring_files_hold_no_functions_outside_of_macros() {
        let found = messages("crates/kernel/src/lib.rs", "mod a;\npub(crate) const fn go() {}\n");
        assert_eq!(
            found,
            ["crates/kernel/src/lib.rs:2: `go` stands in lib.rs, which only declares and re-exports"]
        );
        assert_eq!(messages("src/a/mod.rs", "    fn go();\n").len(), 1);
        assert_eq!(messages("src/a.rs", "fn go() {}\n"), CLEAN);
        let in_macro = "macro_rules! table {\n    () => {\n        fn go() {}\n    };\n}\npub use a::b;\n";
        assert_eq!(messages("src/lib.rs", in_macro), CLEAN);
        assert_eq!(messages("src/lib.rs", &format!("{in_macro}fn after() {{}}\n")).len(), 1);
    }
}
