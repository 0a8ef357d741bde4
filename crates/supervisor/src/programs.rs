//! Where a program is that is named without a directory.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The first file of this name on the `PATH` that can be run.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(is_program)
}
