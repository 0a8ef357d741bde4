//! `verify`: reads the whole log and trusts nothing.
//!
//! Invariant: every record is hashed anew, must continue its entity along a declared edge, and must be covered by
//! every checkpoint behind it; the view must be what the log says. The log is read once, on all cores. Deliberately
//! absent: mending. It says what is wrong and where.

use callboard_kernel::EntityId;
use callboard_lifecycle::{Kind, Words};
use serde::Serialize;
use uuid::Uuid;

use crate::audit::{Part, Whole};
use crate::checkpoint::{Checkpoint, PublicKey, RECORDS_BETWEEN};
use crate::engine::Ask;
use crate::error::ReadError;
use crate::fold::Fold;
use crate::mutant;
use crate::ranges::{self, Range};
use crate::record::Hash;
use crate::views::Share;

/// What a check of the log found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Nothing is wrong.
    pub ok: bool,
    /// How many records were read.
    pub records: u64,
    /// How many checkpoints were checked.
    pub checkpoints: u64,
    /// What is wrong, in the order of the log.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where in the log; nothing if it is beside the log.
    pub seq: Option<u64>,
    /// Which entity.
    pub entity: Option<String>,
    /// What is wrong.
    pub problem: String,
}

impl Problem {
    /// The view of an entity is not what the log says.
    pub(crate) fn of_view(kind: &str, entity: Uuid) -> Self {
        let problem = "its view is not what the log says".to_owned();
        let id = Kind::parse(kind).map(|kind| EntityId::new(kind, entity).to_string());
        Self { seq: None, entity: Some(id.unwrap_or_else(|_| entity.to_string())), problem }
    }
}

impl Problem {
    /// The database does not defend itself as it was made to.
    pub(crate) fn of_defence(what: &str) -> Self {
        Self { seq: None, entity: None, problem: format!("the store's own defence is changed: {what}") }
    }
}

/// Problems beyond this many say nothing new.
pub(crate) const PROBLEMS_MAX: usize = 1000;

/// Checks everything; `trusted` are the keys that may have signed, if the caller does not go by the store's own list.
pub(crate) fn verify(reader: &dyn Ask, trusted: Option<&[PublicKey]>) -> Result<Report, ReadError> {
    // In this order, as another process may write meanwhile: what is due by now has its checkpoint among those that
    // are read next, and none of these lies beyond the end that is read last.
    let due = reader.head()?;
    let checkpoints = reader.checkpoints()?;
    let head = reader.head()?;
    let seals: Vec<u64> = checkpoints.iter().map(|checkpoint| checkpoint.seq).collect();
    let parts = ranges::each(ranges::cut(head, &seals), |range| {
        Part::read(reader, range, sealed(&checkpoints, range, head))
    });
    let whole = Whole::of(parts);
    let mut problems = whole.problems;
    if !mutant::removed("check_checkpoints") {
        problems.extend(whole.unsealed);
        check_signers(&checkpoints, reader, trusted, &mut problems)?;
        if reader.seals() {
            problems.extend(overdue(&checkpoints, due));
        }
    }
    problems.extend(reader.segment_problems()?);
    problems.extend(reader.defence_problems()?);
    problems.extend(views(reader, whole.folds, whole.broken, head)?);
    problems.truncate(PROBLEMS_MAX);
    let checkpoints = checkpoints.len() as u64;
    Ok(Report { ok: problems.is_empty(), records: whole.records, checkpoints, problems })
}

/// The checkpoints whose records lie in a range, and the root before them. Those beyond the end belong to the end.
fn sealed(checkpoints: &[Checkpoint], range: Range, head: u64) -> (Hash, &[Checkpoint]) {
    let upto = |seq: u64| checkpoints.partition_point(|checkpoint| checkpoint.seq <= seq);
    let first = if range.after == 0 { 0 } else { upto(range.after) };
    let behind = if range.last == head { checkpoints.len() } else { upto(range.last) };
    let before = first.checked_sub(1).map_or(Hash::GENESIS, |at| checkpoints[at].root);
    (before, &checkpoints[first..behind])
}

fn views(
    reader: &dyn Ask,
    folds: Vec<(Uuid, Fold)>,
    broken: Option<String>,
    head: u64,
) -> Result<Vec<Problem>, ReadError> {
    if let Some(error) = broken {
        let problem = format!("the views cannot be checked, as the log cannot be read: {error}");
        return Ok(vec![Problem { seq: None, entity: None, problem }]);
    }
    let shares = Share::whole(folds, head).cut();
    let found = ranges::each(shares, |share| reader.view_problems(share));
    let mut problems = Vec::new();
    for found in found {
        problems.extend(found?);
    }
    Ok(problems)
}

/// Somebody who can write the store can sign everything anew, but only with a key of their own.
fn check_signers(
    checkpoints: &[Checkpoint],
    reader: &dyn Ask,
    trusted: Option<&[PublicKey]>,
    problems: &mut Vec<Problem>,
) -> Result<(), ReadError> {
    let listed = match trusted {
        Some(keys) => keys.to_vec(),
        None => reader.signers()?,
    };
    let whose = if trusted.is_some() { "is not one that was asked for" } else { "the store does not list" };
    for checkpoint in checkpoints {
        let key = PublicKey(checkpoint.public_key);
        if !listed.contains(&key) {
            let problem = format!("the checkpoint is signed by a key that {whose}: {key}");
            problems.push(Problem { seq: Some(checkpoint.seq), entity: None, problem });
        }
    }
    Ok(())
}

/// The newest checkpoint was taken away, if more records are behind it than the writer ever leaves there.
fn overdue(checkpoints: &[Checkpoint], head: u64) -> Option<Problem> {
    let sealed = checkpoints.last().map_or(0, |newest| newest.seq);
    let problem = format!("no checkpoint covers the records after {sealed}, and one is due");
    (head >= sealed + RECORDS_BETWEEN).then_some(Problem { seq: Some(head), entity: None, problem })
}
