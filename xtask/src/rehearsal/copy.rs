//! A copy of the workspace's sources that is brought up to date.
//!
//! Invariant: a file that is the same is not written again, so that cargo compiles only what changed; one that the workspace does
//! not have any more is removed. Not here: the page and the documents, which no build of the program needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What cargo needs of the workspace.
const PARTS: [&str; 8] =
    ["Cargo.toml", "Cargo.lock", ".cargo", "bench", "crates", "simulation", "torture", "xtask"];
/// Installed below a package, and no source.
const LEFT_OUT: [&str; 2] = ["node_modules", "target"];

/// Makes `place` the sources of `root` and the added files, each a path to read and a path to write.
pub(super) fn bring_up_to_date(root: &Path, place: &Path, added: &[(&str, &str)]) -> Result<()> {
    let mut wanted = BTreeMap::new();
    for part in PARTS {
        collect(root, Path::new(part), &mut wanted)?;
    }
    wanted.extend(added.iter().map(|(from, to)| (PathBuf::from(to), root.join(from))));
    let mut there = BTreeMap::new();
    if place.exists() {
        collect(place, Path::new(""), &mut there)?;
    }
    for stale in there.keys().filter(|path| !wanted.contains_key(*path)) {
        let path = place.join(stale);
        std::fs::remove_file(&path).with_context(|| format!("failed to remove {}", path.display()))?;
    }
    wanted.iter().try_for_each(|(path, from)| put(from, &place.join(path)))
}

/// Lists the files below a path, by their path below the root.
fn collect(root: &Path, below: &Path, files: &mut BTreeMap<PathBuf, PathBuf>) -> Result<()> {
    let path = root.join(below);
    if !path.is_dir() {
        files.insert(below.to_owned(), path);
        return Ok(());
    }
    let entries = std::fs::read_dir(&path).with_context(|| format!("failed to read {}", path.display()))?;
    for entry in entries {
        let name = entry?.file_name();
        if !LEFT_OUT.iter().any(|left_out| name == *left_out) {
            collect(root, &below.join(name), files)?;
        }
    }
    Ok(())
}

fn put(from: &Path, to: &Path) -> Result<()> {
    let bytes = std::fs::read(from).with_context(|| format!("failed to read {}", from.display()))?;
    if std::fs::read(to).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    if let Some(directory) = to.parent() {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("failed to create {}", directory.display()))?;
    }
    std::fs::write(to, bytes).with_context(|| format!("failed to write {}", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_follows_its_root_and_has_the_added_files() {
        let base = std::env::temp_dir().join(format!("xtask-copy-{}", std::process::id()));
        let (root, place) = (base.join("root"), base.join("place"));
        for part in PARTS.iter().filter(|part| !part.starts_with("Cargo")) {
            std::fs::create_dir_all(root.join(part)).unwrap();
        }
        for file in ["Cargo.toml", "Cargo.lock", "crates/a.rs", "crates/b.rs", "xtask/added.rs"] {
            std::fs::write(root.join(file), file).unwrap();
        }
        let added = [("xtask/added.rs", "crates/new/c.rs")];
        bring_up_to_date(&root, &place, &added).unwrap();
        assert_eq!(std::fs::read_to_string(place.join("crates/new/c.rs")).unwrap(), "xtask/added.rs");
        let written = |path: &str| std::fs::metadata(place.join(path)).unwrap().modified().unwrap();
        let before = written("crates/a.rs");
        std::fs::remove_file(root.join("crates/b.rs")).unwrap();
        bring_up_to_date(&root, &place, &added).unwrap();
        assert_eq!(written("crates/a.rs"), before);
        assert!(!place.join("crates/b.rs").exists());
        std::fs::remove_dir_all(&base).unwrap();
    }
}
