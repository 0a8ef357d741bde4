//! `verify`: reads the whole log and trusts nothing.
//!
//! Invariant: every record is hashed anew, must continue its entity along a declared edge, and must be covered by
//! every checkpoint behind it; the view must be what the log says. Both cores work: the log is cut into ranges, and a
//! range asks the index for what came before it. Deliberately absent: mending. It says what is wrong and where.

use std::collections::HashMap;

use callboard_kernel::EntityId;
use callboard_lifecycle::{Kind, Words};
use serde::Serialize;
use uuid::Uuid;

use crate::checkpoint::{Checkpoint, PublicKey, RECORDS_BETWEEN, Root};
use crate::engine::Ask;
use crate::error::ReadError;
use crate::mutant;
use crate::record::{Hash, Record};

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

/// Problems beyond this many say nothing new.
const PROBLEMS_MAX: usize = 1000;

/// Checks everything; `trusted` are the keys that may have signed, if the caller does not go by the store's own list.
pub(crate) fn verify(reader: &dyn Ask, trusted: Option<&[PublicKey]>) -> Result<Report, ReadError> {
    // In this order, as another process may write meanwhile: what is due by now has its checkpoint among those that
    // are read next, and none of these lies beyond the end that is read last.
    let due = reader.head()?;
    let checkpoints = reader.checkpoints()?;
    let head = reader.head()?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(4) as u64;
    // What is archived is read from the beginning by one of them: the index does not know what came before.
    let archived = reader.segments()?.last().map_or(0, |segment| segment.until);
    let share = (head - archived).div_ceil(workers).max(1);
    let (parts, views) = std::thread::scope(|scope| {
        let live = (0..workers).map(|n| (archived + n * share, (archived + (n + 1) * share).min(head)));
        let ranges = (archived > 0).then_some((0, archived)).into_iter().chain(live);
        let running: Vec<_> =
            ranges.map(|(after, last)| scope.spawn(move || part(reader, after, last))).collect();
        let views = reader.view_problems(PROBLEMS_MAX);
        let parts: Vec<Part> = running
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        (parts, views)
    });
    let (mut problems, mut hashes) = (Vec::new(), Vec::with_capacity(head as usize));
    for part in parts {
        problems.extend(part.problems);
        hashes.extend(part.hashes);
    }
    if !mutant::removed("check_checkpoints") {
        check_checkpoints(&checkpoints, &hashes, &mut problems);
        check_signers(&checkpoints, reader, trusted, &mut problems)?;
        if reader.seals() {
            problems.extend(overdue(&checkpoints, due));
        }
    }
    problems.extend(reader.segment_problems()?);
    problems.extend(views?);
    problems.truncate(PROBLEMS_MAX);
    let records = hashes.len() as u64;
    Ok(Report { ok: problems.is_empty(), records, checkpoints: checkpoints.len() as u64, problems })
}

/// What one range of the log gave.
#[derive(Default)]
struct Part {
    hashes: Vec<(u64, Hash)>,
    problems: Vec<Problem>,
}

/// Where an entity stands as the range is read.
struct Place {
    version: u64,
    state: String,
    hash: Hash,
}

fn part(reader: &dyn Ask, after: u64, last: u64) -> Part {
    let mut part = Part::default();
    let mut places: HashMap<Uuid, Place> = HashMap::new();
    let mut scratch = Vec::new();
    let mut expected = after + 1;
    let read = reader.each_record(after, last, &mut |record| {
        if record.seq != expected {
            part.problem(&record, format!("records {expected} to {} are missing", record.seq - 1));
        }
        expected = record.seq + 1;
        // The first record of an entity has nothing before it; asking the index for that would double the work.
        if record.version > 1
            && !places.contains_key(&record.entity)
            && let Some(before) = reader.before(&record)?
        {
            let place = Place { version: before.version, state: before.to_state, hash: before.hash };
            places.insert(record.entity, place);
        }
        let place = places.entry(record.entity).or_insert_with(|| Place {
            version: 0,
            state: String::new(),
            hash: Hash::GENESIS,
        });
        part.check(&record, place, &mut scratch);
        part.hashes.push((record.seq, record.hash));
        *place = Place { version: record.version, state: record.to_state, hash: record.hash };
        Ok(())
    });
    if let Err(error) = read {
        let problem = format!("it cannot be read, nor what follows: {error}");
        part.problems.push(Problem { seq: Some(expected), entity: None, problem });
    } else if expected <= last {
        let problem = format!("records {expected} to {last} are missing");
        part.problems.push(Problem { seq: Some(expected), entity: None, problem });
    }
    part
}

impl Part {
    fn check(&mut self, record: &Record, place: &Place, scratch: &mut Vec<u8>) {
        if record.version != place.version + 1 {
            let problem = format!("version {} does not follow version {}", record.version, place.version);
            self.problem(record, problem);
        } else if record.from_state != place.state {
            self.problem(
                record,
                format!("it leaves {:?} and the entity was in {:?}", record.from_state, place.state),
            );
        } else if record.hash_after(place.hash, scratch) != record.hash
            && !mutant::removed("hash_every_record")
        {
            self.problem(record, "its bytes do not match its hash".to_owned());
        } else if !is_legal(record) {
            self.problem(record, format!("{} -> {} is not a legal edge", record.from_state, record.to_state));
        }
    }

    fn problem(&mut self, record: &Record, problem: String) {
        if self.problems.len() < PROBLEMS_MAX {
            let entity = record.id().map_or_else(|_| record.entity.to_string(), |id| id.to_string());
            self.problems.push(Problem { seq: Some(record.seq), entity: Some(entity), problem });
        }
    }
}

/// A kind or a type of a newer program cannot be judged, and its hash already was.
fn is_legal(record: &Record) -> bool {
    let Ok(kind) = Kind::parse(&record.kind) else { return true };
    let machine = kind.machine();
    let Some(to) = machine.state(&record.to_state) else { return true };
    match record.event_type.as_str() {
        "created" => record.from_state.is_empty() && machine.start.has(to),
        "observed" => record.from_state == record.to_state,
        "transitioned" => {
            machine.state(&record.from_state).is_none_or(|from| machine.can_transition(from, to))
        }
        _ => true,
    }
}

fn check_checkpoints(checkpoints: &[Checkpoint], hashes: &[(u64, Hash)], problems: &mut Vec<Problem>) {
    let (mut root, mut next) = (Root::after(Hash::GENESIS), 0);
    for checkpoint in checkpoints {
        while next < hashes.len() && hashes[next].0 <= checkpoint.seq {
            root.add(hashes[next].1);
            next += 1;
        }
        let reached = next > 0 && hashes[next - 1].0 == checkpoint.seq;
        let problem = if !checkpoint.is_signed() {
            Some("the signature of the checkpoint is wrong")
        } else if !reached {
            Some("the log ends before this checkpoint")
        } else if root.finish() != checkpoint.root {
            Some("the log up to here is not what the checkpoint signed")
        } else {
            None
        };
        if let Some(problem) = problem {
            problems.push(Problem { seq: Some(checkpoint.seq), entity: None, problem: problem.to_owned() });
        }
        root = Root::after(checkpoint.root);
    }
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
