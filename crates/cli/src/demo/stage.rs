//! Where the demonstration plays: a store, two made-up projects and the scripts, in a directory that goes away.
//!
//! Invariant: everything lies below one directory of its own that only the user can enter, and it is removed at the end.
//! Deliberately absent: processes.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::cast::{CAST, Role, TONGUE};

/// The directory of a demonstration; removed when it is dropped.
pub(crate) struct Stage {
    root: PathBuf,
}

impl Stage {
    /// Builds the projects and writes the scripts.
    pub(crate) fn build() -> io::Result<Self> {
        let root = std::env::temp_dir().join(format!("callboard-demo-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&root)?;
        let stage = Self { root: fs::canonicalize(root)? };
        for (number, role) in CAST.iter().enumerate() {
            fs::create_dir_all(stage.cwd(number, role).join(".."))?;
            fs::create_dir_all(stage.project(role).join(".git"))?;
            fs::create_dir_all(stage.cwd(number, role))?;
            let program = stage.program(number);
            fs::create_dir_all(program.parent().unwrap_or(Path::new("/")))?;
            fs::write(&program, format!("{TONGUE}{}\n", role.script))?;
            fs::set_permissions(&program, Permissions::from_mode(0o700))?;
        }
        Ok(stage)
    }

    /// Where the store is.
    pub(crate) fn store(&self) -> PathBuf {
        self.root.join("store/callboard.db")
    }

    /// Where an agent works: a directory of its own in its project, so that no two leave files in one place.
    pub(crate) fn cwd(&self, number: usize, role: &Role) -> PathBuf {
        self.project(role).join(format!("work/{number}"))
    }

    /// The script of an agent, under the name of the program that talks like it.
    pub(crate) fn program(&self, number: usize) -> PathBuf {
        self.root.join(format!("agents/{number}/claude"))
    }

    /// Where the repository of the board is, and the agent that works on it.
    pub(crate) fn board(&self) -> PathBuf {
        self.root.join("board")
    }

    fn project(&self, role: &Role) -> PathBuf {
        self.root.join("projects").join(role.project)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed lies below the system's directory for temporary files and goes with it.
        drop(fs::remove_dir_all(&self.root));
    }
}
