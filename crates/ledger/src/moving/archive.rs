//! Archiving: the oldest part of the log moves to a file of its own, and is never simply deleted.
//!
//! Invariant: records leave the store only after the file that holds them was written, synced, named and read back
//! record by record; a crash at any point leaves the whole log or a whole segment. Only a log that holds is archived,
//! and only up to a signed checkpoint. Deliberately absent: deleting the file, which is its owner's business.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::engine::Ask;
use crate::error::{ReadError, chain};
use crate::ledger::Ledger;
use crate::moving::export::{ExportError, Range};
use crate::moving::import::{self, ImportError, Line};
use crate::moving::segment::{self, Segment, digest_of};
use crate::mutant;
use crate::proof::checkpoint::{Checkpoint, RECORDS_BETWEEN};
use crate::proof::verify;

/// What was archived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// Where it is.
    #[serde(flatten)]
    pub segment: Segment,
    /// How many records left the table; those that something leans on stay.
    pub taken_out: u64,
}

/// Why nothing was archived.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// There is no checkpoint between what is archived and what was asked for.
    #[error(
        "no checkpoint lies between record {after} and record {until}, and only what is signed is archived"
    )]
    Nothing {
        /// The newest archived record.
        after: u64,
        /// How far it was to go.
        until: u64,
    },
    /// The log does not hold.
    #[error("the log does not hold: {0}")]
    Unsound(String),
    /// Another file has the name of the segment.
    #[error("{} is there already, and it is another file", .0.display())]
    Occupied(PathBuf),
    /// The file is not one of this store.
    #[error("{} is not a segment of this store, or it was changed", .0.display())]
    Stranger(PathBuf),
    /// What was read back is not what is in the log.
    #[error("{} does not read back as it was written: {problem}", .path.display())]
    NotTheSame {
        /// The file.
        path: PathBuf,
        /// Where it differs.
        problem: String,
    },
    /// The log cannot be written out.
    #[error("failed to write the segment")]
    Export(#[from] ExportError),
    /// The file cannot be written or read.
    #[error("failed to reach {}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store failed.
    #[error("failed to record the segment")]
    Store(#[from] ReadError),
}

impl Ledger {
    /// Moves the log up to the newest checkpoint at or before `until` into a file in `directory`.
    pub fn archive(&self, until: u64, directory: &Path) -> Result<Archived, ArchiveError> {
        let reader = self.reader();
        reader.archives()?;
        let after = reader.segments()?.last().map_or(0, |segment| segment.until);
        let report = verify::verify(reader, &verify::Trust::default())?;
        if let Some(problem) = report.problems.first() {
            return Err(ArchiveError::Unsound(problem.problem.clone()));
        }
        let checkpoints = reader.checkpoints()?;
        let covered = kept(&checkpoints).rev().find(|checkpoint| checkpoint.seq <= until);
        let Some(end) = covered.filter(|checkpoint| checkpoint.seq > after) else {
            return Err(ArchiveError::Nothing { after, until });
        };
        let path = directory.canonicalize().map_err(|source| at(directory, source))?;
        let path = path.join(format!("segment-{:012}-{:012}.jsonl", after + 1, end.seq));
        mutant::point("archive");
        let partial = path.with_extension("partial");
        self.write_out(Range { after, until: end.seq }, &partial)?;
        mutant::point("archive");
        let digest = digest_of(&partial).map_err(|source| at(&partial, source))?;
        let segment = Segment { after, until: end.seq, at: end.at, digest, path };
        if mutant::removed("name_the_segment_before_removing") {
            let taken_out = reader.take_out(&segment)?;
            name(&partial, &segment)?;
            return Ok(Archived { segment, taken_out });
        }
        name(&partial, &segment)?;
        mutant::point("archive");
        read_back(reader, &segment)?;
        let taken_out = reader.take_out(&segment)?;
        Ok(Archived { segment, taken_out })
    }

    /// Says where a segment lies, after it was moved or fetched from somewhere else.
    pub fn restore(&self, file: &Path) -> Result<Segment, ArchiveError> {
        let path = file.canonicalize().map_err(|source| at(file, source))?;
        let digest = digest_of(&path).map_err(|source| at(&path, source))?;
        let known = self.reader().segments()?.into_iter().find(|segment| segment.digest == digest);
        let Some(segment) = known else { return Err(ArchiveError::Stranger(path)) };
        self.reader().relocate(digest, &path)?;
        Ok(Segment { path, ..segment })
    }

    fn write_out(&self, range: Range, partial: &Path) -> Result<(), ArchiveError> {
        let fail = |source| at(partial, source);
        let mut out = BufWriter::new(File::create(partial).map_err(fail)?);
        self.export(range, &mut |line| writeln!(out, "{line}"))?;
        out.flush().and_then(|()| out.get_ref().sync_all()).map_err(fail)
    }
}

/// The checkpoints that stay; the newest one may be replaced by that of the next commit.
fn kept(checkpoints: &[Checkpoint]) -> impl DoubleEndedIterator<Item = &Checkpoint> {
    let is_passing = |(at, checkpoint): &(usize, &Checkpoint)| {
        let before = at.checked_sub(1).map_or(0, |before| checkpoints[before].seq);
        at + 1 == checkpoints.len() && checkpoint.seq - before < RECORDS_BETWEEN
    };
    checkpoints.iter().enumerate().filter(move |pair| !is_passing(pair)).map(|(_, checkpoint)| checkpoint)
}

/// Gives the file its name, and syncs the name too. A file that an interrupted archive left there is the same one.
fn name(partial: &Path, segment: &Segment) -> Result<(), ArchiveError> {
    let fail = |source| at(&segment.path, source);
    if segment.path.exists() && digest_of(&segment.path).map_err(fail)? != segment.digest {
        return Err(ArchiveError::Occupied(segment.path.clone()));
    }
    std::fs::rename(partial, &segment.path).map_err(fail)?;
    match segment.path.parent() {
        Some(directory) => File::open(directory).and_then(|directory| directory.sync_all()).map_err(fail),
        None => Ok(()),
    }
}

/// Every line of the file, checkpoints included, must be what the log says.
fn read_back(reader: &dyn Ask, segment: &Segment) -> Result<(), ArchiveError> {
    let path = &segment.path;
    let not_the_same = |problem: String| ArchiveError::NotTheSame { path: path.clone(), problem };
    segment.check().map_err(|error| not_the_same(error.to_string()))?;
    let mut file = BufReader::new(segment::open(path).map_err(|source| at(path, source))?);
    let mut problem = None;
    let mut lines = import::lines(&mut file);
    reader.each_record(segment.after, segment.until, &mut |record| {
        let is_same = match lines.next() {
            Some(Ok((_, Line::Record(line)))) => *line == record.to_record(),
            Some(Ok((_, Line::Legacy(_))) | Err(_)) | None => false,
        };
        if !is_same && problem.is_none() {
            problem = Some(format!("record {}", record.seq));
        }
        Ok(())
    })?;
    if let Some(Err(error)) = lines.next() {
        problem = problem.or_else(|| Some(told(&error)));
    }
    problem.map_or(Ok(()), |problem| Err(not_the_same(problem)))
}

fn told(error: &ImportError) -> String {
    chain(error)
}

fn at(path: &Path, source: io::Error) -> ArchiveError {
    ArchiveError::File { path: path.to_owned(), source }
}
