//! Rule: a relative link in the documentation leads to a file of this repository.
//!
//! Invariant: what is inside code is not a link. A link from the root, `/docs/x.md`, is followed as the forge
//! does.
//!
//! Not here: links to other sites, which would make the check depend on the network, and headings inside a
//! page.

use crate::tidy::source::{Finding, SourceFile, resolve};

/// `exists` answers for a path below the workspace's root.
pub(super) fn check(file: &SourceFile, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    if !is_documentation(file) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut in_code = false;
    for (index, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            in_code = !in_code;
        } else if !in_code {
            let broken = targets(line).into_iter().filter(|target| is_broken(file, target, &exists));
            findings
                .extend(broken.map(|target| file.finding(index + 1, format!("`{target}` leads nowhere"))));
        }
    }
    findings
}

/// The pages at the root and below `docs/`.
fn is_documentation(file: &SourceFile) -> bool {
    file.name().ends_with(".md") && (file.directory().is_empty() || file.path.starts_with("docs/"))
}

fn is_broken(file: &SourceFile, target: &str, exists: impl Fn(&str) -> bool) -> bool {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let has_scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    if path.is_empty() || has_scheme || path.starts_with("//") {
        return false;
    }
    let directory = if path.starts_with('/') { "" } else { file.directory() };
    !resolve(directory, path).is_some_and(|path| exists(&path))
}

/// The targets of `[text](target "title")` and of a definition, `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let inline = line.match_indices("](").map(|(at, opening)| up_to_closing(&line[at + opening.len()..]));
    let definition = line.trim_start().strip_prefix('[').filter(|rest| !rest.starts_with('^'));
    let definition = definition.and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    inline.chain(definition).map(|target| without_title(target).to_owned()).collect()
}

/// Without the spans between backticks; a backtick without a partner stays.
fn without_code(line: &str) -> String {
    let pieces: Vec<&str> = line.split('`').collect();
    let last = pieces.len() - 1;
    let is_text = |index: &usize| index.is_multiple_of(2) || *index == last;
    (0..pieces.len()).filter(is_text).map(|index| pieces[index]).collect()
}

/// The text before the parenthesis that closes the one already open.
fn up_to_closing(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

fn without_title(target: &str) -> &str {
    let target = target.trim();
    match target.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((path, _)) => path,
        None => target.split_whitespace().next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::CLEAN;

    fn broken(path: &str, text: &str) -> Vec<String> {
        let exists = |path: &str| ["README.md", "docs/a.md", "docs/two words.md", "crates"].contains(&path);
        check(&SourceFile::made_up(path, text), exists).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_link_is_followed_from_the_page_it_stands_on() {
        assert_eq!(broken("README.md", "[a](docs/a.md), [code](crates/) and [top](#top)\n"), CLEAN);
        assert_eq!(
            broken("docs/b.md", "[a](a.md#part) and ![up](../README.md \"title\") and [r](/docs/a.md)\n"),
            CLEAN
        );
        assert_eq!(broken("docs/b.md", "\n[a](docs/a.md)\n"), ["docs/b.md:2: `docs/a.md` leads nowhere"]);
    }

    #[test]
    fn every_broken_link_of_a_line_is_found() {
        let found =
            broken("README.md", "[a](x.md) [`b`](y(1).md) [c](<docs/two words.md>)\n[d]: z.md \"title\"\n");
        assert_eq!(
            found,
            [
                "README.md:1: `x.md` leads nowhere",
                "README.md:1: `y(1).md` leads nowhere",
                "README.md:2: `z.md` leads nowhere"
            ]
        );
    }

    #[test]
    fn a_link_must_not_leave_the_repository() {
        assert_eq!(broken("docs/b.md", "[a](../../README.md)\n").len(), 1);
    }

    #[test]
    fn other_sites_code_and_footnotes_are_no_concern() {
        let text = "[a](https://example.com/x.md) <mailto:a@b> [m](mailto:a@b)\n`[a](x.md)`\n[^1]: x.md\n\
                    ```\n[a](x.md)\n```\n";
        assert_eq!(broken("README.md", text), CLEAN);
        assert_eq!(broken("README.md", "```\n```\n[a](x.md)\n").len(), 1);
    }

    #[test]
    fn only_documentation_is_searched() {
        assert_eq!(broken("crates/a/notes.md", "[a](x.md)\n"), CLEAN);
        assert_eq!(broken("docs/deep/er.md", "[a](x.md)\n").len(), 1);
    }
}
