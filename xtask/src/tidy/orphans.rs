//! Rule: every Rust file is part of its crate, reached by `mod` declarations from a file that cargo compiles.
//!
//! Invariant: a file that nothing declares is found, because the compiler never reads it and no lint ever
//! warns of it.
//!
//! Not here: `include!`, which would hide a module from readers as well, and modules that a macro declares.
//! The programs below `tests/ui` are compiled one by one by a test and belong to nobody.

use std::collections::BTreeSet;

use crate::tidy::rust;
use crate::tidy::source::{Finding, SourceFile, resolve};

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<&SourceFile> = files.iter().filter(|file| is_root(file)).collect();
    while let Some(file) = pending.pop() {
        if reached.insert(file.path.as_str()) {
            let declared = declared_files(file);
            pending.extend(files.iter().filter(|file| declared.contains(&file.path)));
        }
    }
    files
        .iter()
        .filter(|file| belongs_to_a_crate(file) && !reached.contains(file.path.as_str()))
        .map(|file| file.finding(1, "no `mod` declaration leads here; declare it or delete it"))
        .collect()
}

fn belongs_to_a_crate(file: &SourceFile) -> bool {
    let in_crate = |path: &str| {
        path.starts_with("src/") || (path.starts_with("tests/") && !path.starts_with("tests/ui/"))
    };
    file.is_rust() && file.in_package().is_some_and(in_crate)
}

/// Whether cargo compiles this file without being told to by another.
fn is_root(file: &SourceFile) -> bool {
    let parts: Vec<&str> = file.in_package().map(|path| path.split('/').collect()).unwrap_or_default();
    match parts.as_slice() {
        ["src", "lib.rs" | "main.rs"] | ["src", "bin", _, "main.rs"] | ["tests", _, "main.rs"] => true,
        ["src", "bin", name] | ["tests", name] => name.ends_with(".rs"),
        _ => false,
    }
}

/// Every place where a module declared in this file may lie; the compiler makes sure that one of them exists.
fn declared_files(file: &SourceFile) -> Vec<String> {
    let mut places = Vec::new();
    let mut inline: Vec<(usize, String)> = Vec::new();
    let mut path_attribute = None;
    for (line, raw) in rust::lines(&file.text).iter().zip(file.text.lines()) {
        let code = line.code.trim();
        if code.is_empty() {
            continue;
        }
        if code.starts_with('#') {
            path_attribute = path_in(raw).or(path_attribute);
            continue;
        }
        let indentation = rust::indentation(&line.code);
        if code == "}" {
            inline.retain(|(module, _)| *module < indentation);
        }
        let attribute = path_attribute.take();
        let Some(rest) = rust::without_visibility(code).strip_prefix("mod ") else { continue };
        let name = rust::leading_name(rest);
        match (&rest[name.len()..], attribute) {
            (";", Some(path)) => places.extend(resolve(&path_base(file, &inline), path)),
            (";", None) => {
                let directory = children_directory(file, &inline);
                places.extend([format!("{directory}/{name}.rs"), format!("{directory}/{name}/mod.rs")]);
            }
            (" {", _) => inline.push((indentation, name.to_owned())),
            _ => {}
        }
    }
    places
}

/// The directory in which the modules declared here lie.
fn children_directory(file: &SourceFile, inline: &[(usize, String)]) -> String {
    let mut directory = file.directory().to_owned();
    if !is_root(file) && file.name() != "mod.rs" {
        directory = format!("{directory}/{}", file.name().trim_end_matches(".rs"));
    }
    inline.iter().fold(directory, |directory, (_, name)| format!("{directory}/{name}"))
}

/// The directory that a `#[path]` starts from: the file's own, or that of the module written inside the file.
fn path_base(file: &SourceFile, inline: &[(usize, String)]) -> String {
    if inline.is_empty() { file.directory().to_owned() } else { children_directory(file, inline) }
}

fn path_in(attribute: &str) -> Option<&str> {
    attribute.split_once("path = \"")?.1.split_once('"').map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::CLEAN;

    fn orphans(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile> =
            files.iter().map(|(path, text)| SourceFile::made_up(path, text)).collect();
        check(&files).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn declared_modules_are_reached_in_both_layouts() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\npub(crate) mod two;\n"),
            ("crates/a/src/one.rs", "mod inner;\n"),
            ("crates/a/src/one/inner.rs", ""),
            ("crates/a/src/two/mod.rs", "pub mod leaf;\n"),
            ("crates/a/src/two/leaf.rs", ""),
        ];
        assert_eq!(orphans(&files), CLEAN);
    }

    #[test]
    fn a_file_that_nothing_declares_is_found_with_all_it_declares() {
        let files = [
            ("crates/a/src/lib.rs", "// mod lost;\nconst A: &str = \"\nmod lost;\n\";\n"),
            ("crates/a/src/lost.rs", "mod deeper;\n"),
            ("crates/a/src/lost/deeper.rs", ""),
            ("xtask/src/main.rs", ""),
            ("xtask/src/lost.rs", ""),
        ];
        let found = orphans(&files);
        assert_eq!(found, ["crates/a/src/lost.rs", "crates/a/src/lost/deeper.rs", "xtask/src/lost.rs"]);
    }

    #[test]
    fn a_declaration_in_one_crate_does_not_reach_into_another() {
        let files =
            [("crates/a/src/lib.rs", "mod one;\n"), ("crates/b/src/lib.rs", ""), ("crates/b/src/one.rs", "")];
        assert_eq!(orphans(&files), ["crates/b/src/one.rs"]);
    }

    #[test]
    fn modules_written_inside_a_file_add_a_directory() {
        let files = [
            ("bench/src/main.rs", "mod outer {\n    mod inner;\n}\nmod after;\n"),
            ("bench/src/outer/inner.rs", ""),
            ("bench/src/after.rs", ""),
            ("bench/src/inner.rs", ""),
        ];
        assert_eq!(orphans(&files), ["bench/src/inner.rs"]);
    }

    #[test]
    fn a_path_attribute_leads_to_the_file_it_names() {
        let files = [
            ("crates/a/src/lib.rs", "#[cfg(unix)]\n#[path = \"os/unix.rs\"]\nmod os;\nmod other;\n"),
            ("crates/a/src/os/unix.rs", ""),
            ("crates/a/src/os.rs", ""),
            ("crates/a/src/other.rs", ""),
        ];
        assert_eq!(orphans(&files), ["crates/a/src/os.rs"]);
    }

    #[test]
    fn binaries_and_tests_are_roots_and_ui_programs_are_free() {
        let files = [
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/tests/end_to_end.rs", "mod common;\n"),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/a/tests/common/unused.rs", ""),
            ("crates/a/tests/ui/refused.rs", ""),
            ("web/src/lost.rs", ""),
        ];
        assert_eq!(orphans(&files), ["crates/a/tests/common/unused.rs"]);
    }
}
