//! The paths of a sandbox as the kernel sees them: without links, and only those that are there.

use std::path::{Path, PathBuf};

use super::{Sandbox, Wall, Walls};

/// The most entries of one directory that are named one by one.
const ENTRIES_MAX: usize = 4096;

/// The same sandbox with paths that are there and lead through no link. What holds the working directory cannot be hidden.
pub(super) fn resolved(sandbox: &Sandbox, cwd: &Path, walls: &mut Walls) -> Sandbox {
    let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
        found.sort();
        found.dedup();
        found
    };
    let write = real(&sandbox.write);
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let mut hidden = Vec::new();
    for path in real(&sandbox.hidden) {
        let holds = write.iter().chain([&cwd]).find(|inside| inside.starts_with(&path));
        match holds {
            Some(inside) => walls.lacks(
                Wall::Hidden,
                format!("{} holds {}, which the command works in", path.display(), inside.display()),
            ),
            // What lies in something hidden is hidden with it.
            None if hidden.iter().any(|above: &PathBuf| path.starts_with(above)) => {}
            None => hidden.push(path),
        }
    }
    let mut protected = Vec::new();
    for path in &sandbox.protected {
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                walls
                    .lacks(Wall::Protected, format!("{} is a link, which could be replaced", path.display()));
            }
            Ok(_) => protected.extend(path.canonicalize().ok()),
            Err(_) => {}
        }
    }
    Sandbox { write, hidden, protected, ..sandbox.clone() }
}

/// What lies beneath a directory and not beneath what is hidden, in as few paths as that takes: the directory itself, or
/// its entries. Nothing if a directory has too many entries to name.
pub(super) fn without(root: &Path, hidden: &[PathBuf]) -> Option<Vec<PathBuf>> {
    if hidden.iter().any(|hidden| root.starts_with(hidden)) {
        return Some(Vec::new());
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(root)) {
        return Some(vec![root.to_owned()]);
    }
    let entries: Vec<PathBuf> = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .take(ENTRIES_MAX)
        // What a link leads to is found where it is.
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .map(|entry| entry.path())
        .collect();
    if entries.len() == ENTRIES_MAX {
        return None;
    }
    entries.iter().map(|entry| without(entry, hidden)).collect::<Option<Vec<_>>>().map(|found| found.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_left_out_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for name in ["a/b/secret/key", "a/b/other", "a/c", "d"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let names = |hidden: &[&str]| {
            let hidden: Vec<PathBuf> = hidden.iter().map(|name| root.join(name)).collect();
            let mut found: Vec<String> = without(&root, &hidden)
                .unwrap()
                .iter()
                .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
                .collect();
            found.sort();
            found
        };
        assert_eq!(names(&[]), [""]);
        assert_eq!(names(&["a/b/secret"]), ["a/b/other", "a/c", "d"]);
        assert_eq!(names(&["a", "d"]), [""; 0]);
        assert_eq!(names(&["."]), [""; 0]);
    }
}
