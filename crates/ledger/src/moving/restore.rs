//! Backups of a store that is a file: the database, its key and its segments, and how they become a store again.
//!
//! Invariant: a backup `FILE` has `FILE.key` and `FILE.segments` beside it, so that it is a whole store. It is laid only where
//! no store, no key of another one and no WAL lies, and while nobody has a store open there: a WAL that belongs to
//! another file would be copied into it. Deliberately absent: removing what is there, which is its owner's business.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::{OpenError, ReadError};
use crate::ledger::{Ledger, Options};
use crate::moving::archive::ArchiveError;
use crate::proof::witness;

/// Why a backup was not made or not restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Something lies where the store should be.
    #[error("{} is there already", .0.display())]
    Occupied(PathBuf),
    /// A process has the store open.
    #[error("another process has the store at {} open", .0.display())]
    Held(PathBuf),
    /// A WAL lies there that was not copied into its database.
    #[error("{} holds records that are not in its database", .0.display())]
    Wal(PathBuf),
    /// A file cannot be read or written.
    #[error("failed to copy {}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The copy does not open.
    #[error("the copy cannot be opened")]
    Open(#[from] OpenError),
    /// The store failed.
    #[error("the store cannot be copied")]
    Store(#[from] ReadError),
    /// A segment of the copy is not the one that was archived.
    #[error("a segment of the copy is not the one that was archived")]
    Segment(#[from] ArchiveError),
}

impl Ledger {
    /// Copies the store as it is at one moment, with its key and its segments, while others write.
    pub fn back_up(&self, key: &Path, to: &Path) -> Result<(), BackupError> {
        for path in [to.to_owned(), beside(to, ".key"), beside(to, ".segments")] {
            if path.exists() {
                return Err(BackupError::Occupied(path));
            }
        }
        // It holds as much as the store does, and is as private.
        OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(to)
            .map_err(|source| at(to, source))?;
        self.backup(to)?;
        File::open(to).and_then(|file| file.sync_all()).map_err(|source| at(to, source))?;
        if key.exists() {
            copy(key, &beside(to, ".key"))?;
        }
        let segments = self.reader().segments()?;
        let files: Vec<&Path> = segments.iter().map(|segment| segment.path.as_path()).collect();
        if !files.is_empty() {
            take_segments(&files, to)?;
            remove_traces(to);
        }
        Ok(())
    }
}

/// Makes a store of a backup, with its key and its segments.
pub fn restore(backup: &Path, to: &Path) -> Result<(), BackupError> {
    let fail = |source| at(to, source);
    if let Some(directory) = to.parent() {
        std::fs::create_dir_all(directory).map_err(fail)?;
    }
    let lock = beside(to, ".lock");
    let held =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(lock).map_err(fail)?;
    match held.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(BackupError::Held(to.to_owned())),
        Err(TryLockError::Error(source)) => return Err(fail(source)),
    }
    for wal in [beside(to, "-wal"), beside(backup, "-wal")] {
        if std::fs::metadata(&wal).is_ok_and(|file| file.len() > 0) {
            return Err(BackupError::Wal(wal));
        }
    }
    for path in [to.to_owned(), beside(to, ".key"), beside(to, ".segments")] {
        if path.exists() {
            return Err(BackupError::Occupied(path));
        }
    }
    // The database comes last: without it there is no store.
    let key = beside(backup, ".key");
    if key.exists() {
        copy(&key, &beside(to, ".key"))?;
    }
    let fresh = beside(to, ".restoring");
    std::fs::remove_file(&fresh).ok();
    copy(backup, &fresh)?;
    for suffix in ["-wal", "-shm"] {
        std::fs::remove_file(beside(to, suffix)).ok();
    }
    // Whoever restores a backup knows that it is older than what was there.
    witness::forget(&witness::path_of(&beside(to, ".key"), None)).map_err(fail)?;
    std::fs::rename(&fresh, to).and_then(|()| sync_directory(to)).map_err(fail)?;
    drop(held);
    let segments = beside(backup, ".segments");
    let listed = std::fs::read_dir(&segments).into_iter().flatten().flatten().map(|entry| entry.path());
    let files: Vec<PathBuf> = listed.collect();
    if !files.is_empty() {
        take_segments(&files.iter().map(PathBuf::as_path).collect::<Vec<_>>(), to)?;
    }
    Ok(())
}

/// Copies the segments of a store beside it, and says in it that they lie there.
fn take_segments(files: &[&Path], store: &Path) -> Result<(), BackupError> {
    let directory = beside(store, ".segments");
    std::fs::create_dir(&directory).map_err(|source| at(&directory, source))?;
    let ledger = Ledger::open(store, Options { create: false, ..Options::default() })?;
    for file in files {
        let name = file.file_name().unwrap_or_default();
        copy(file, &directory.join(name))?;
        match ledger.restore(&directory.join(name)) {
            Ok(_) => {}
            // It was archived after the database was copied, or is none of this store.
            Err(ArchiveError::Stranger(path)) => drop(std::fs::remove_file(path)),
            Err(error) => return Err(error.into()),
        }
    }
    sync_directory(&directory.join("x")).map_err(|source| at(&directory, source))
}

/// A backup is not open, and does not look as if it had been.
fn remove_traces(backup: &Path) {
    for suffix in [".lock", ".migrate", "-wal", "-shm", ".key.sealed"] {
        std::fs::remove_file(beside(backup, suffix)).ok();
    }
}

/// Copies a file for the owner alone, and syncs it.
fn copy(from: &Path, to: &Path) -> Result<(), BackupError> {
    let copied = File::open(from).and_then(|mut source| {
        let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        io::copy(&mut source, &mut target)?;
        target.sync_all()
    });
    copied.map_err(|source| at(from, source))
}

fn sync_directory(of: &Path) -> io::Result<()> {
    match of.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(directory) => File::open(directory)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn at(path: &Path, source: io::Error) -> BackupError {
    BackupError::File { path: path.to_owned(), source }
}
