//! One range of the log, read and checked; and ranges that were read, put together.
//!
//! Invariant: a range needs nothing from outside of it. The first record of an entity in a range is set aside, and
//! compared with what an earlier range says of the entity when both were read. Deliberately absent: the views.

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::{Kind, Words};
use uuid::Uuid;

use crate::engine::Ask;
use crate::mutant;
use crate::proof::checkpoint::{Checkpoint, Root};
use crate::proof::guarded::Guarded;
use crate::proof::redecide::{self, Judgement};
use crate::proof::verify::{PROBLEMS_MAX, Problem};
use crate::reading::borrowed::Borrowed;
use crate::reading::entities::Entities;
use crate::reading::fold::Fold;
use crate::reading::ranges::SeqRange;
use crate::reading::record_shape::RecordShapes;
use crate::record::{Hash, Record};
use crate::writing::group::{Member, Wholeness};

/// Where an entity stands as a range is read.
struct Track {
    first_seq: u64,
    /// Its first record in the range, if that is not the first of the entity.
    first: Option<Box<Record>>,
    version: u64,
    state: String,
    hash: Hash,
    fold: Fold,
}

/// What one range of the log gave.
pub(crate) struct LogPart<'a> {
    tracks: Entities<Track>,
    records: u64,
    problems: Vec<Problem>,
    unsealed: Vec<Problem>,
    /// Why it could not be read to its end.
    broken: Option<String>,
    root: Root,
    last_seq: u64,
    /// When its first and its newest record were decided.
    times: Option<((u64, Moment), Moment)>,
    /// Records that this program cannot decide anew.
    unproved: u64,
    guarded: Guarded,
    groups: Wholeness,
    checkpoints: &'a [Checkpoint],
}

impl<'a> LogPart<'a> {
    pub(crate) fn read(
        reader: &dyn Ask,
        range: SeqRange,
        (before, checkpoints): (Hash, &'a [Checkpoint]),
    ) -> Self {
        let mut part = Self {
            tracks: Entities::new(),
            records: 0,
            problems: Vec::new(),
            unsealed: Vec::new(),
            broken: None,
            root: Root::after(before),
            last_seq: range.after,
            times: None,
            unproved: 0,
            guarded: Guarded::default(),
            groups: Wholeness::default(),
            checkpoints,
        };
        let (mut scratch, mut shapes) = (Vec::new(), RecordShapes::new());
        let mut expected = range.after + 1;
        let read = reader.each_record(range.after, range.last, &mut |line| {
            if line.seq != expected {
                let problem = format!("records {expected} to {} are missing", line.seq - 1);
                note(&mut part.problems, line, problem);
            }
            expected = line.seq + 1;
            part.take(line, &mut shapes, &mut scratch);
            Ok(())
        });
        if let Err(error) = read {
            let problem = format!("it cannot be read, nor what follows: {error}");
            part.problems.push(Problem { seq: Some(expected), entity: None, problem });
            part.broken = Some(error.to_string());
        } else if expected <= range.last {
            let problem = format!("records {expected} to {} are missing", range.last);
            part.problems.push(Problem { seq: Some(expected), entity: None, problem });
        }
        part.close_checkpoints(u64::MAX);
        part
    }

    fn take(&mut self, line: &Borrowed<'_>, shapes: &mut RecordShapes, scratch: &mut Vec<u8>) {
        // A body that cannot be read is told of where it is decided anew.
        let in_group = self.groups.follow(Member::of_body(line.body).ok().flatten());
        let known = shapes.of(line);
        self.close_checkpoints(line.seq);
        self.root.add(line.hash);
        self.records += 1;
        self.last_seq = line.seq;
        let mut is_first = false;
        let track = self.tracks.at(line.entity, || {
            is_first = true;
            Track::before(line, Fold::before(line, known.shape))
        });
        // What comes before the first record of a range is in another range.
        let problem = if is_first && track.first.is_some() {
            None
        } else {
            follows(line, track.version, &track.state, track.hash, scratch)
        };
        let problem = problem.or_else(|| match redecide::judge(line) {
            Judgement::Wrong(problem) if !mutant::removed("decide_anew") => Some(problem),
            Judgement::Sound | Judgement::Wrong(_) => None,
            Judgement::Guarded { id, asked, named } => {
                self.guarded.note(id, line.version, asked, named);
                None
            }
            Judgement::Unproved => {
                self.unproved += 1;
                None
            }
        });
        let problem = problem.or_else(|| in_time(line, self.times.map(|(_, newest)| newest)));
        let problem = problem.or(in_group);
        let first = self.times.map_or((line.seq, line.at), |(first, _)| first);
        self.times = Some((first, line.at));
        if let Some(problem) = problem {
            note(&mut self.problems, line, problem);
        }
        track.take(line);
        track.fold.take(line, known.shape);
    }

    /// Checks the checkpoints whose records are all read when `next` comes.
    fn close_checkpoints(&mut self, next: u64) {
        while let Some((checkpoint, rest)) = self.checkpoints.split_first()
            && checkpoint.seq < next
        {
            let problem = if !checkpoint.is_signed() {
                Some("the signature of the checkpoint is wrong")
            } else if self.last_seq != checkpoint.seq {
                Some("the log ends before this checkpoint")
            } else if self.root.finish() != checkpoint.root {
                Some("the log up to here is not what the checkpoint signed")
            } else {
                None
            };
            let seq = Some(checkpoint.seq);
            self.unsealed.extend(problem.map(|text| Problem { seq, entity: None, problem: text.to_owned() }));
            self.root = Root::after(checkpoint.root);
            self.checkpoints = rest;
        }
    }
}

impl Track {
    fn before(line: &Borrowed<'_>, fold: Fold) -> Self {
        let first = (line.version > 1).then(|| Box::new(line.to_record()));
        Self { first, first_seq: line.seq, version: 0, state: String::new(), hash: Hash::GENESIS, fold }
    }

    /// What is wrong with the first record in a range after what an earlier range says.
    fn after(&self, id: Uuid, earlier: Option<&Self>) -> Option<Problem> {
        match (&self.first, earlier) {
            (None, None) => None,
            (None, Some(earlier)) => {
                let problem = format!("version 1 does not follow version {}", earlier.version);
                Some(Problem { seq: Some(self.first_seq), entity: Some(id.to_string()), problem })
            }
            (Some(first), earlier) => {
                let (version, state, hash) = earlier.map_or((0, "", Hash::GENESIS), |earlier| {
                    (earlier.version, earlier.state.as_str(), earlier.hash)
                });
                let line = first.borrowed();
                follows(&line, version, state, hash, &mut Vec::new()).map(|problem| named(&line, problem))
            }
        }
    }

    fn take(&mut self, line: &Borrowed<'_>) {
        self.version = line.version;
        self.hash = line.hash;
        if self.state != line.to_state {
            line.to_state.clone_into(&mut self.state);
        }
    }
}

/// What is wrong with a record after what came before it in its entity.
fn follows(
    line: &Borrowed<'_>,
    version: u64,
    state: &str,
    before: Hash,
    scratch: &mut Vec<u8>,
) -> Option<String> {
    if version.checked_add(1) != Some(line.version) {
        Some(format!("version {} does not follow version {version}", line.version))
    } else if line.from_state != state {
        Some(format!("it leaves {:?} and the entity was in {state:?}", line.from_state))
    } else if line.hash_after(before, scratch) != line.hash && !mutant::removed("hash_every_record") {
        Some("its bytes do not match its hash".to_owned())
    } else {
        None
    }
}

/// The ledger's time never runs backwards.
fn in_time(line: &Borrowed<'_>, before: Option<Moment>) -> Option<String> {
    before.filter(|before| line.at < *before).map(|_| BACKWARDS.to_owned())
}

const BACKWARDS: &str = "it was decided before the record in front of it";

fn note(problems: &mut Vec<Problem>, line: &Borrowed<'_>, problem: String) {
    if problems.len() < PROBLEMS_MAX {
        problems.push(named(line, problem));
    }
}

fn named(line: &Borrowed<'_>, problem: String) -> Problem {
    let id = Kind::parse(line.kind).map(|kind| EntityId::new(kind, line.entity));
    let entity = id.map_or_else(|_| line.entity.to_string(), |id| id.to_string());
    Problem { seq: Some(line.seq), entity: Some(entity), problem }
}

/// The whole log, put together from its ranges.
pub(crate) struct Whole {
    pub(crate) records: u64,
    /// What is wrong with records, in the order of the log.
    pub(crate) problems: Vec<Problem>,
    /// What is wrong with checkpoints.
    pub(crate) unsealed: Vec<Problem>,
    /// Records that this program cannot decide anew.
    pub(crate) unproved: u64,
    /// Records that took a row with guards.
    pub(crate) guarded: Guarded,
    /// What the log says of every entity.
    pub(crate) folds: Vec<(Uuid, Fold)>,
    /// Why it could not be read to its end.
    pub(crate) broken: Option<String>,
}

impl Whole {
    pub(crate) fn of(parts: Vec<LogPart<'_>>) -> Self {
        let (mut problems, mut unsealed) = (Vec::new(), Vec::new());
        let (mut records, mut unproved, mut broken) = (0, 0, None);
        let mut guarded = Guarded::default();
        let mut newest: Option<Moment> = None;
        let mut tracks: Option<Entities<Track>> = None;
        let (mut groups, mut last) = (Wholeness::of_log(), 0);
        for part in parts {
            records += part.records;
            unproved += part.unproved;
            guarded.join(part.guarded);
            if let Some(((seq, at), last)) = part.times {
                if newest.is_some_and(|newest| at < newest) {
                    problems.push(Problem { seq: Some(seq), entity: None, problem: BACKWARDS.to_owned() });
                }
                newest = Some(last);
            }
            let torn = groups.join(part.groups);
            problems.extend(torn.map(|problem| Problem { seq: Some(last + 1), entity: None, problem }));
            last = part.last_seq;
            problems.extend(part.problems);
            unsealed.extend(part.unsealed);
            // What stood in a part that cannot be read is not known to be missing.
            let is_whole = broken.is_none();
            match &mut tracks {
                None => {
                    let first = part.tracks.iter().filter_map(|(id, track)| track.after(*id, None));
                    problems.extend(first);
                    tracks = Some(part.tracks);
                }
                Some(tracks) => {
                    let found = join(tracks, part.tracks);
                    problems.extend(found.into_iter().filter(|_| is_whole));
                }
            }
            broken = broken.or(part.broken);
        }
        if broken.is_none() {
            problems.extend(groups.end().map(|problem| Problem { seq: Some(last), entity: None, problem }));
        }
        problems.sort_by_key(|problem| problem.seq);
        let all = tracks.map_or_else(Vec::new, Entities::into_all);
        let folds = all.into_iter().map(|(id, track)| (id, track.fold)).collect();
        Self { records, problems, unsealed, unproved, guarded, folds, broken }
    }
}

/// Goes on with a later range; what is wrong where the two meet.
fn join(tracks: &mut Entities<Track>, later: Entities<Track>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (id, later) in later.into_all() {
        match tracks.get_mut(id) {
            Some(earlier) => {
                problems.extend(later.after(id, Some(earlier)));
                (earlier.version, earlier.state, earlier.hash) = (later.version, later.state, later.hash);
                earlier.fold.join(later.fold);
            }
            None => {
                problems.extend(later.after(id, None));
                tracks.at(id, || later);
            }
        }
    }
    problems
}
