//! `callboard store`: the store itself: what it is, a copy of it, its soundness, its size and its format.
//!
//! Invariant: upkeep never changes a record, and never makes a store that is not there. Deliberately absent: deleting
//! records; old ones can move to a file.

use std::io::Read;
use std::path::{Path, PathBuf};

use callboard_engine::{MarkError, mark_as_restored};
use callboard_kernel::Moment;
use callboard_ledger::{Archived, BackupError, GroupError, Info, Ledger, ReadError, Report, Segment};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::clock;
use crate::commands::records::verify;
use crate::error::{Error, Exit, told};
use crate::input::moment::When;
use crate::input::word::Reading;
use crate::show::record_text::{count, size};
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::need_person;

/// Look after the store: what it is, a backup, its soundness, its size and its format.
#[derive(Args, Debug)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Tell where the store is, its format and its size.
    Info {
        /// One JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Copy the store as it is at this moment, while others write, with its key and its archived segments.
    ///
    /// The key is copied to FILE.key and the segments to FILE.segments, so that the copy is a whole store: it can be read with
    /// --store FILE, and `store restore FILE` puts it in the place of one that was lost. Keep it as private as the store.
    Backup {
        /// The file to write, which must not exist.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Check the database itself, then every record as `verify` does.
    Check {
        /// One JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Print how far the log is sealed, as one JSON document to be kept elsewhere; null if nothing is.
    ///
    /// `verify --root FILE` compares the store with it later, so whoever rewrites the log has to rewrite that file too.
    Root,
    /// Take the store as it is for the true one, after it was put back or moved on purpose.
    ///
    /// Beside the key it is remembered how far the store was sealed. A store that ends before that, or holds other records,
    /// is told of by every command until it is accepted. Look at what `verify` says first.
    Accept,
    /// Give back the space that is not needed.
    Vacuum,
    /// Bring the format up to date; every command that writes to the store does the same.
    Migrate,
    /// Fold the views anew from the log.
    Rebuild,
    /// Move the oldest records to a file of their own, which is read back before they leave the store.
    ///
    /// What is moved ends at the newest checkpoint at or before the place that is named. The file is part of the store
    /// from then on: whatever needs old records reads it. Lists, states and idempotency keys need only the store.
    Archive(ArchiveArgs),
    /// Make the store of a backup, or say where an archived segment lies.
    ///
    /// A backup is laid only where no store is: it is refused while a process has the store open, and while a database, a key
    /// or a WAL lies there, which may hold records that the backup does not. Move those away together first. The store
    /// is verified afterwards. A segment that was moved or fetched from somewhere else must be one that was archived from
    /// this store.
    Restore {
        /// What `store backup` wrote, or a file that `store archive` wrote.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Args, Debug)]
struct ArchiveArgs {
    /// Records decided before this time: RFC 3339, or how long ago, such as 30d.
    #[arg(long, value_name = "TIME", value_parser = Reading(When::read), allow_hyphen_values = true)]
    #[arg(required_unless_present = "until")]
    before: Option<When>,
    /// Records up to and with this one.
    #[arg(long, value_name = "SEQ", conflicts_with = "before")]
    until: Option<u64>,
    /// The directory that the file is written to.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Told<'a> {
    path: String,
    #[serde(flatten)]
    info: &'a Info,
    legacy: u64,
}

#[derive(Serialize)]
struct Checked<'a> {
    ok: bool,
    /// What the database says is wrong with itself; nothing if it is sound.
    integrity: Option<&'a str>,
    records: u64,
    checkpoints: u64,
    problems: &'a [callboard_ledger::Problem],
}

impl StoreArgs {
    /// Does what was asked.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        if let StoreCommand::Restore { file } = &self.command
            && is_database(file)
        {
            need_person("looking after the store", None)?;
            return restore_backup(screen, store, file);
        }
        let ledger = match &self.command {
            StoreCommand::Info { .. } | StoreCommand::Check { .. } | StoreCommand::Root => {
                store.open_to_read()?
            }
            StoreCommand::Backup { .. }
            | StoreCommand::Accept
            | StoreCommand::Vacuum
            | StoreCommand::Migrate
            | StoreCommand::Rebuild
            | StoreCommand::Archive(_)
            | StoreCommand::Restore { .. } => self.open_to_change(store)?,
        };
        match &self.command {
            StoreCommand::Info { json } => info(screen, &ledger, *json)?,
            StoreCommand::Backup { file } => {
                backup(&ledger, store, file)?;
                screen.print(&format!("{}\n", file.display()))?;
            }
            StoreCommand::Check { json } => return check(screen, &ledger, *json),
            StoreCommand::Root => {
                let root = ledger.root().map_err(Error::Ask)?;
                screen.json(&root)?;
                return Ok(if root.is_some() { Exit::DONE } else { Exit::NOT_FOUND });
            }
            StoreCommand::Accept => {
                let doubt = ledger.doubt();
                ledger.accept().map_err(Error::Ask)?;
                let told = doubt.unwrap_or_else(|| "nothing contradicted it".to_owned());
                screen.print(&format!("the store is taken as it is; {told}\n"))?;
            }
            StoreCommand::Vacuum => {
                let before = ledger.info().map_err(Error::Ask)?.bytes;
                ledger.vacuum().map_err(Error::Ask)?;
                let after = ledger.info().map_err(Error::Ask)?.bytes;
                screen.print(&format!("{} before, {} after\n", size(before), size(after)))?;
            }
            StoreCommand::Migrate => {
                let format = ledger.info().map_err(Error::Ask)?.format;
                screen.print(&format!("the store has format {format}, the newest this program knows\n"))?;
            }
            StoreCommand::Rebuild => {
                ledger.rebuild().map_err(Error::Ask)?;
                let entities = ledger.info().map_err(Error::Ask)?.entities;
                screen.print(&format!("the views of {entities} entities were folded anew from the log\n"))?;
            }
            StoreCommand::Archive(args) => args.run(screen, &ledger)?,
            StoreCommand::Restore { file } => {
                let segment = ledger.restore(file).map_err(Error::Archive)?;
                let (first, last) = (segment.after + 1, segment.until);
                let path = segment.path.display();
                screen.print(&format!("records {first} to {last} are read from {path}\n"))?;
            }
        }
        Ok(Exit::DONE)
    }

    /// Opens it for whoever looks after it. An agent has no part in that: it could hold up every other writer, move records away
    /// or copy the key.
    fn open_to_change(&self, store: &Store) -> Result<Ledger, Error> {
        let ledger = store.open_existing()?;
        let act = match &self.command {
            StoreCommand::Accept => "accepting a store",
            StoreCommand::Backup { .. } => "copying the store with its key",
            StoreCommand::Info { .. }
            | StoreCommand::Check { .. }
            | StoreCommand::Root
            | StoreCommand::Vacuum
            | StoreCommand::Migrate
            | StoreCommand::Rebuild
            | StoreCommand::Archive(_)
            | StoreCommand::Restore { .. } => "looking after the store",
        };
        need_person(act, Some(&ledger))?;
        Ok(ledger)
    }
}

impl ArchiveArgs {
    fn run(&self, screen: &Screen, ledger: &Ledger) -> Result<(), Error> {
        let until = match (self.before, self.until) {
            (Some(when), _) => {
                let last = when.moment(clock::now()).as_micros().saturating_sub(1);
                ledger.seq_at(Moment::from_micros(last)).map_err(Error::Ask)?
            }
            (None, until) => until.unwrap_or_default(),
        };
        let archived = ledger.archive(until, &self.to).map_err(Error::Archive)?;
        if self.json {
            return screen.json(&archived);
        }
        let Archived { segment, taken_out } = archived;
        let (first, last, path) = (segment.after + 1, segment.until, segment.path.display());
        screen.print(&format!(
            "records {first} to {last} are in {path}\n{} left the store; callboard store vacuum gives the space back\n",
            count(taken_out, "record")
        ))
    }
}

fn backup(ledger: &Ledger, store: &Store, file: &Path) -> Result<(), Error> {
    let done = ledger.back_up(&store.key()?, file);
    if !matches!(done, Ok(()) | Err(BackupError::Occupied(_))) {
        // Half a copy is no backup.
        for path in [file.to_owned(), beside(file, ".key")] {
            std::fs::remove_file(path).ok();
        }
        std::fs::remove_dir_all(beside(file, ".segments")).ok();
    }
    done.map_err(|error| match error {
        BackupError::Occupied(path) => Error::Occupied(path),
        BackupError::File { path, source } => Error::File(path, source),
        BackupError::Store(error) if error.is_busy() || matches!(error, ReadError::Unsupported { .. }) => {
            Error::Ask(error)
        }
        BackupError::Store(error) => Error::File(file.to_owned(), std::io::Error::other(told(&error))),
        BackupError::Held(_) | BackupError::Wal(_) | BackupError::Open(_) | BackupError::Segment(_) => {
            Error::Backup(error)
        }
    })
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Is it a database, and not a segment, which is lines of text?
fn is_database(file: &Path) -> bool {
    let mut magic = [0; 16];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"SQLite format 3\0"
}

fn restore_backup(screen: &Screen, store: &Store, file: &Path) -> Result<Exit, Error> {
    let Some(path) = store.file()? else {
        return Err(Error::Ask(ReadError::Unsupported {
            what: "being restored from a file",
            instead: "pg_restore brings back what pg_dump wrote",
        }));
    };
    callboard_ledger::restore(file, &path).map_err(Error::Backup)?;
    let ledger = store.open_existing()?;
    let report = ledger.verify().map_err(Error::Ask)?;
    let mut told = format!("{} is restored from {}\n", path.display(), file.display());
    if report.ok {
        told.push_str(&mark_runs(&ledger)?);
    }
    screen.print(&(told + &verify::text(screen, &report)))?;
    Ok(if report.ok { Exit::DONE } else { Exit::FAILED })
}

/// What was alive in the backup may have ended in the store that it was made from.
fn mark_runs(ledger: &Ledger) -> Result<String, Error> {
    let marked = mark_as_restored(ledger, clock::now()).map_err(|error| match error {
        MarkError::Ask(error) => Error::Ask(error),
        MarkError::Append(GroupError::Refused { refusal, .. }) => Error::Refused(refusal),
        MarkError::Append(GroupError::Fault(fault)) => Error::Append(fault),
    })?;
    Ok(match marked {
        0 => String::new(),
        _ => {
            let runs = count(marked, "run");
            format!("{runs} had not ended when the backup was made; what became of them is unknown here\n")
        }
    })
}

fn info(screen: &Screen, ledger: &Ledger, json: bool) -> Result<(), Error> {
    let info = ledger.info().map_err(Error::Ask)?;
    let legacy = ledger.legacy().map_err(Error::Ask)?;
    let path = ledger.path().display().to_string();
    if json {
        return screen.json(&Told { path, info: &info, legacy });
    }
    let keys: Vec<String> = info.keys.iter().map(ToString::to_string).collect();
    let segments: Vec<String> = info.segments.iter().map(told_segment).collect();
    let properties = [
        ("store", vec![path]),
        ("engine", vec![info.engine]),
        ("format", vec![info.format.to_string()]),
        ("records", vec![info.records.to_string()]),
        ("entities", vec![format!("{}, {} of them alive", info.entities, info.live)]),
        ("legacy rows", vec![legacy.to_string()]),
        ("checkpoints", vec![info.checkpoints.to_string()]),
        ("size", vec![size(info.bytes)]),
        ("signed by", keys),
        ("archived", segments),
    ];
    let properties: Vec<(String, Vec<String>)> =
        properties.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
    screen.print(&screen.properties(&properties))
}

fn told_segment(segment: &Segment) -> String {
    format!("records {} to {} in {}", segment.after + 1, segment.until, segment.path.display())
}

fn check(screen: &Screen, ledger: &Ledger, json: bool) -> Result<Exit, Error> {
    let integrity = ledger.integrity().map_err(Error::Ask)?;
    let report = ledger.verify().map_err(Error::Ask)?;
    let ok = integrity.is_none() && report.ok;
    let Report { records, checkpoints, problems, .. } = &report;
    if json {
        let integrity = integrity.as_deref();
        screen.json(&Checked { ok, integrity, records: *records, checkpoints: *checkpoints, problems })?;
    } else {
        let database = match integrity {
            None => "The database is sound.".to_owned(),
            Some(problem) => {
                format!("The database is damaged: {problem}. What to do: go on from a backup.")
            }
        };
        screen.print(&(screen.prose(&database) + &verify::text(screen, &report)))?;
    }
    Ok(if ok { Exit::DONE } else { Exit::FAILED })
}
