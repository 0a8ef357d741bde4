//! The private directory of an attempt, for a program that takes its settings from a file alone.
//!
//! Invariant: it lies beside the worktrees and never in one, only the user reads it, and it is removed when the attempt ends; what a crew that
//! was killed left is removed by the next one, once the run has ended.

use std::io;
use std::path::{Path, PathBuf};

use callboard_engine::keep_private;
use callboard_kernel::EntityId;

/// A directory that goes away with the attempt. It is made with its first file.
#[derive(Debug)]
pub(crate) struct AttemptDir(PathBuf);

impl AttemptDir {
    pub(crate) fn new(attempts: &Path, run: EntityId) -> Self {
        Self(attempts.join(run.to_string()))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.file(name);
        keep_private(&path, text.as_bytes())?;
        Ok(path)
    }
}

impl Drop for AttemptDir {
    fn drop(&mut self) {
        // Most attempts write no file and have no directory.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Removes the directories of runs that are over.
pub(crate) fn sweep(attempts: &Path, is_over: impl Fn(EntityId) -> bool) {
    for entry in std::fs::read_dir(attempts).into_iter().flatten().flatten() {
        let run = entry.file_name().to_str().and_then(|name| name.parse::<EntityId>().ok());
        if run.is_some_and(&is_over) {
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use callboard_engine::new_id;
    use callboard_kernel::Moment;
    use callboard_lifecycle::Kind;

    use super::*;

    #[test]
    fn only_the_user_reads_it_and_it_goes_with_the_attempt() {
        let place = tempfile::tempdir().unwrap();
        let run = new_id(Kind::Session, Moment::from_micros(1));
        let dir = AttemptDir::new(place.path(), run);
        let path = dir.write("mcp.json", "{}").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        drop(dir);
        assert!(!path.parent().unwrap().exists());
    }

    #[test]
    fn what_was_left_goes_once_the_run_is_over() {
        let place = tempfile::tempdir().unwrap();
        let [over, alive] = [1, 2].map(|at| new_id(Kind::Session, Moment::from_micros(at)));
        for run in [over, alive] {
            let dir = AttemptDir::new(place.path(), run);
            dir.write("mcp.json", "{}").unwrap();
            std::mem::forget(dir);
        }
        std::fs::write(place.path().join("a note of somebody"), "").unwrap();
        sweep(place.path(), |run| run == over);
        assert!(!place.path().join(over.to_string()).exists());
        assert!(
            place.path().join(alive.to_string()).exists() && place.path().join("a note of somebody").exists()
        );
    }
}
