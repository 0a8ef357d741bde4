//! `cargo xtask generate`: writes the files that are derived from the lifecycle tables and from the API, or checks that
//! they are fresh.
//!
//! Invariant: both modes compare the same rendered text with the same path, so what `Write` writes `Check`
//! accepts. Generated files are committed; a reader must not need a build to see them.
//!
//! Not here: rendering. Each generated file is a path and a text that the crate which declares the facts
//! renders.

use std::path::Path;

use anyhow::{Context, Result, bail};

use callboard_lifecycle::{MACHINES as MACHINES_DECLARED, render};

use crate::{api_page, cargo, kind_table, machine_list};

/// What to do with a generated file that differs from its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    Write,
    Check,
}

/// A file that is written by this command and by nobody else.
struct Generated {
    /// Below the workspace's root.
    path: String,
    text: String,
}

const MACHINES: &str = "crates/lifecycle/src/machines";
const KINDS: &str = "crates/engine/src/kinds";

/// Brings the generated files up to date, or fails naming those that are not.
pub(crate) fn run(mode: Mode) -> Result<()> {
    let root = cargo::workspace_root()?;
    let [list, table] = lists(root)?;
    if mode == Mode::Write && !(list.is_fresh(root) && table.is_fresh(root)) {
        // This program was built with the old lists; the pages must come from one that knows the new machine.
        list.write(root)?;
        table.write(root)?;
        return cargo::run(root, &["xtask", "generate"]);
    }
    let mut outputs = pages();
    outputs.extend([list, table]);
    outputs.extend(api()?);
    apply(mode, root, &outputs)
}

/// Writes the lists of machines and of kinds below a root.
pub(crate) fn write_lists(root: &Path) -> Result<()> {
    apply(Mode::Write, root, &lists(root)?)
}

/// The lists that the directories of machines and of kinds give.
fn lists(root: &Path) -> Result<[Generated; 2]> {
    let list = machine_list::render(&root.join(MACHINES))?;
    let table = kind_table::render(&root.join(KINDS), &root.join(MACHINES))?;
    let generated = |place: &str, text| Generated { path: format!("{place}.rs"), text };
    Ok([generated(MACHINES, list), generated(KINDS, table)])
}

/// The reference pages, rendered from the tables.
fn pages() -> Vec<Generated> {
    let page = |name: &str, text| Generated { path: format!("docs/reference/{name}.md"), text };
    let mut pages: Vec<Generated> = MACHINES_DECLARED
        .iter()
        .map(|machine| page(machine.kind.word().name, render::page(machine)))
        .collect();
    pages.push(page("reasons", render::reasons_page()));
    pages.push(page("vocabulary", render::vocabulary_page()));
    pages
}

/// The description of the API, from the code that serves it: for programs, and for people.
fn api() -> Result<[Generated; 2]> {
    let document = callboard_server::document();
    let text = serde_json::to_string_pretty(document)? + "\n";
    Ok([
        Generated { path: "docs/openapi.json".to_owned(), text },
        Generated { path: "docs/reference/api.md".to_owned(), text: api_page::render(document) },
    ])
}

fn apply(mode: Mode, root: &Path, outputs: &[Generated]) -> Result<()> {
    let stale: Vec<&Generated> = outputs.iter().filter(|output| !output.is_fresh(root)).collect();
    match mode {
        Mode::Write => stale.iter().try_for_each(|output| output.write(root)),
        Mode::Check if stale.is_empty() => Ok(()),
        Mode::Check => {
            let paths: Vec<&str> = stale.iter().map(|output| output.path.as_str()).collect();
            bail!("not what would be generated: {}\nwrite with: cargo xtask generate", paths.join(", "))
        }
    }
}

impl Generated {
    fn is_fresh(&self, root: &Path) -> bool {
        std::fs::read_to_string(root.join(&self.path)).is_ok_and(|text| text == self.text)
    }

    fn write(&self, root: &Path) -> Result<()> {
        let path = root.join(&self.path);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("failed to create {}", directory.display()))?;
        }
        std::fs::write(&path, &self.text).with_context(|| format!("failed to write {}", self.path))?;
        eprintln!("wrote {}", self.path);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_refuses_what_write_has_not_written() {
        let root = std::env::temp_dir().join(format!("xtask-generate-{}", std::process::id()));
        let outputs = [Generated { path: "docs/states.md".to_owned(), text: "# States\n".to_owned() }];
        let refusal = apply(Mode::Check, &root, &outputs).expect_err("nothing was written").to_string();
        assert!(refusal.contains("docs/states.md"), "{refusal}");
        apply(Mode::Write, &root, &outputs).expect("the directory is writable");
        apply(Mode::Check, &root, &outputs).expect("just written");

        let changed = [Generated { path: "docs/states.md".to_owned(), text: "# Conditions\n".to_owned() }];
        apply(Mode::Check, &root, &changed).expect_err("the text differs");
        std::fs::remove_dir_all(&root).expect("the directory is ours");
    }
}
