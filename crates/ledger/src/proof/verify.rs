//! `verify`: reads the whole log and trusts nothing.
//!
//! Invariant: every record is hashed anew, decided anew by the kernel, must continue its entity and must be covered by
//! every checkpoint behind it; the view must be what the log says, and the schema what this program makes. The log is read once, on all cores. Deliberately
//! absent: mending. It says what is wrong and where.

use callboard_kernel::EntityId;
use callboard_lifecycle::{Kind, Words};
use serde::Serialize;
use uuid::Uuid;

use crate::engine::Ask;
use crate::error::{ReadError, chain};
use crate::mutant;
use crate::proof::audit::{LogPart, Whole};
use crate::proof::checkpoint::{Checkpoint, PublicKey};
use crate::proof::guarded::GuardTally;
use crate::proof::witness::SealedRoot;
use crate::reading::fold::Fold;
use crate::reading::ranges::{self, SeqRange};
use crate::reading::views::Share;
use crate::record::Hash;

/// What a check of the log found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Nothing is wrong.
    pub ok: bool,
    /// How many records were read.
    pub records: u64,
    /// How many checkpoints were checked.
    pub checkpoints: u64,
    /// How many records each key sealed.
    pub sealed: Vec<SealedBy>,
    /// How many records no key sealed, or not before the next writer came.
    pub unsealed: u64,
    /// How many records only a newer program can decide anew; they hold as far as this one can tell.
    pub unproved: u64,
    /// How many records passed each guard, and what that rests on; those of guards that no record passed are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<GuardTally>,
    /// What is wrong, in the order of the log.
    pub problems: Vec<Problem>,
}

/// What a key sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SealedBy {
    /// The key.
    pub key: PublicKey,
    /// How many records.
    pub records: u64,
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
    /// The log does not say how an entity stands, so its view can say anything.
    pub(crate) fn of_unknown(kind: &str, entity: Uuid, error: &ReadError) -> Self {
        let problem = format!("its view cannot be compared with the log: {}", chain(error));
        Self { problem, ..Self::of_view(kind, entity) }
    }

    /// The database does not defend itself as it was made to.
    pub(crate) fn of_defence(what: &str) -> Self {
        Self { seq: None, entity: None, problem: format!("the store's own defence is changed: {what}") }
    }
}

impl Problem {
    /// The database would take a move that this program does not know.
    pub(crate) fn of_edge([kind, from, via, to]: &[String; 4]) -> Self {
        let edge = format!("the legal edge {from} -> {to} of {kind}, on {via}");
        Self::of_defence(&format!("{edge}, is none that this program knows"))
    }

    /// The store is not the one that its second place remembers.
    pub(crate) fn of_doubt(what: &str) -> Self {
        Self { seq: None, entity: None, problem: format!("it is not as it was sealed before: {what}") }
    }

    /// The database contradicts itself: an index does not hold what its table holds, or a page is damaged.
    fn of_database(what: &str) -> Self {
        Self { seq: None, entity: None, problem: format!("the database is damaged: {what}") }
    }
}

/// Problems beyond this many say nothing new.
pub(crate) const PROBLEMS_MAX: usize = 1000;

/// What was kept elsewhere, for `verify` to go by.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// The keys that may have signed; none is whatever keys the store lists.
    pub keys: Vec<PublicKey>,
    /// How far the log was sealed once.
    pub root: Option<SealedRoot>,
}

impl Report {
    /// Adds what was found beside the log.
    pub(crate) fn extend(&mut self, found: impl IntoIterator<Item = Problem>) {
        self.problems.extend(found);
        self.ok = self.problems.is_empty();
    }
}

/// Checks everything.
pub(crate) fn verify(reader: &dyn Ask, trust: &Trust) -> Result<Report, ReadError> {
    // In this order, as another process may write meanwhile: what is due by now has its checkpoint among those that
    // are read next, and none of these lies beyond the end that is read last.
    let due = reader.head()?;
    let checkpoints = reader.checkpoints()?;
    let head = reader.head()?;
    let seals: Vec<u64> = checkpoints.iter().map(|checkpoint| checkpoint.seq).collect();
    let parts = ranges::each(ranges::cut(head, &seals), |range| {
        LogPart::read(reader, range, sealed(&checkpoints, range, head))
    });
    let whole = Whole::of(parts);
    let mut problems = whole.problems;
    let (guards, unguarded) = whole.guarded.settle(reader);
    problems.extend(unguarded);
    problems.sort_by_key(|problem| problem.seq);
    if !mutant::removed("check_checkpoints") {
        problems.extend(whole.unsealed);
        check_signers(&checkpoints, reader, &trust.keys, &mut problems)?;
        if reader.seals() {
            problems.extend(unsealed(&checkpoints, due, reader.awaits_seal()?));
        }
        problems.extend(found_unsealed(&checkpoints));
    }
    if let Some(root) = &trust.root {
        problems.extend(check_root(root, reader, &trust.keys)?);
    }
    problems.extend(reader.segment_problems()?);
    if !mutant::removed("compare_the_schema") {
        problems.extend(reader.defence_problems()?);
        problems.extend(reader.integrity()?.map(|problem| Problem::of_database(&problem)));
    }
    problems.extend(views(reader, whole.folds, whole.broken, head)?);
    problems.truncate(PROBLEMS_MAX);
    let sealed = sealed_by(&checkpoints, head);
    let covered: u64 = sealed.iter().map(|by| by.records).sum();
    Ok(Report {
        ok: problems.is_empty(),
        records: whole.records,
        checkpoints: checkpoints.len() as u64,
        sealed,
        unsealed: due.saturating_sub(covered),
        unproved: whole.unproved,
        guards,
        problems,
    })
}

/// The checkpoints whose records lie in a range, and the root before them. Those beyond the end belong to the end.
fn sealed(checkpoints: &[Checkpoint], range: SeqRange, head: u64) -> (Hash, &[Checkpoint]) {
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

/// The root that somebody kept must be sealed, and the log must still hold what it covers.
fn check_root(
    root: &SealedRoot,
    reader: &dyn Ask,
    trusted: &[PublicKey],
) -> Result<Option<Problem>, ReadError> {
    let problem = if !root.is_signed() {
        Some("the root that was kept is not signed by the key it names".to_owned())
    } else if !trusted.is_empty() && !trusted.iter().any(|key| key.to_string() == root.key) {
        Some("the root that was kept is signed by a key that was not asked for".to_owned())
    } else {
        root.contradicts(reader)?
    };
    Ok(problem.map(|problem| Problem { seq: Some(root.seq), entity: None, problem }))
}

/// Somebody who can write the store can sign everything anew, but only with a key of their own.
fn check_signers(
    checkpoints: &[Checkpoint],
    reader: &dyn Ask,
    trusted: &[PublicKey],
    problems: &mut Vec<Problem>,
) -> Result<(), ReadError> {
    let listed = if trusted.is_empty() { reader.signers()? } else { trusted.to_vec() };
    let whose = if trusted.is_empty() { "the store does not list" } else { "is not one that was asked for" };
    for checkpoint in checkpoints {
        let key = PublicKey(checkpoint.public_key);
        if !listed.contains(&key) {
            let problem = format!("the checkpoint is signed by a key that {whose}: {key}");
            problems.push(Problem { seq: Some(checkpoint.seq), entity: None, problem });
        }
    }
    Ok(())
}

/// Every commit is sealed, so a record without a seal was written without the key, or its seal was taken away. Records
/// from before every commit was sealed wait for the first writer that has a key.
fn unsealed(checkpoints: &[Checkpoint], head: u64, from_before: u64) -> Option<Problem> {
    let sealed = checkpoints.last().map_or(0, |newest| newest.seq).max(from_before);
    let problem = format!("no seal covers records {} to {head}", sealed + 1);
    (head > sealed).then_some(Problem { seq: Some(sealed + 1), entity: None, problem })
}

/// Records that the next honest writer found without a seal, as it signed.
fn found_unsealed(checkpoints: &[Checkpoint]) -> Vec<Problem> {
    let mut before = 0;
    let mut problems = Vec::new();
    for checkpoint in checkpoints {
        if checkpoint.unsealed > 0 {
            let (first, last) = (before + 1, checkpoint.unsealed);
            let problem = format!("records {first} to {last} had no seal when the next writer came");
            problems.push(Problem { seq: Some(first), entity: None, problem });
        }
        before = checkpoint.seq;
    }
    problems
}

/// How many records each key sealed, in the order in which the keys came.
fn sealed_by(checkpoints: &[Checkpoint], head: u64) -> Vec<SealedBy> {
    let mut all: Vec<SealedBy> = Vec::new();
    let mut before = 0;
    for checkpoint in checkpoints.iter().filter(|checkpoint| checkpoint.seq <= head) {
        let (key, records) =
            (PublicKey(checkpoint.public_key), checkpoint.seq - before.max(checkpoint.unsealed));
        match all.iter_mut().find(|known| known.key == key) {
            Some(known) => known.records += records,
            None => all.push(SealedBy { key, records }),
        }
        before = checkpoint.seq;
    }
    all
}
