//! `truth`: several hundred staged situations on the real program; what every surface says is held against what was done.
//!
//! Invariant: each row of the table says what is done, what is true and what may be said; the command line, the server and
//! the feed are asked and have to agree. Each group of rows has a mutant that must make one of its rows fail. Situations
//! are played side by side, because most of them wait. Deliberately absent: random faults, which `kills` has.

mod judge;
mod place;
mod play;
mod row;
mod start;
mod surfaces;
mod table;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use anyhow::{Result, anyhow};

use crate::harness::driver::{Plan, Size, Tally, Torture};
use crate::runs::truth::place::{Place, held};
use crate::runs::truth::play::Played;
use crate::runs::truth::row::Row;
use crate::runs::truth::table::{GROUPS, Group};

pub(crate) const TORTURE: Torture = Torture {
    name: "truth",
    about: "staged situations: every surface says what is true of each, and nothing else",
    mutants: table::MUTANTS,
    run,
    child: None,
};

/// Situations that are played at once; most of them wait most of the time.
const AT_ONCE: usize = 16;
/// Situations that share a store and a server.
const PER_PLACE: usize = 16;
/// Situations of each group that are played to see that nothing fails with every safeguard in place.
const SMALL: usize = 1;
/// Situations of a group that are played without one of its safeguards.
const MUTANT: usize = 4;
/// Situations that are staged once more when they did not hold. A machine that is too busy can spoil the staging itself, and
/// with it every situation of a place; a false word that comes back, or more of them than this, is a failure. Rounds stage
/// nothing twice.
const AGAIN_MAX: usize = PER_PLACE + 4;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    if !start::has_namespaces() {
        tally.notes.push(
            "SKIPPED: no namespaces can be made here, so neither the lower rung nor another place".to_owned(),
        );
        return tally;
    }
    play::IS_MUTANT.store(plan.mutant.is_some(), Ordering::SeqCst);
    for round in 1..=plan.rounds {
        let before = tally.failures.len();
        one_round(plan, &mut tally);
        if plan.rounds > 1 {
            let failed = tally.failures.len() - before;
            println!("  round {round} of {}: {failed} did not hold", plan.rounds);
            tally.failures[before..].iter().for_each(|failure| println!("    {failure}"));
        }
    }
    tally
}

/// A situation that waits to be played.
struct Job {
    group: &'static Group,
    row: Row,
    number: usize,
    /// The place it is played in.
    place: usize,
}

/// A place that is made when the first situation comes and left after the last one.
struct Room {
    place: OnceLock<Result<Place, String>>,
    waiting: AtomicUsize,
}

/// What did not hold: the number of the situation, its group, and what was wrong.
type Failures = BTreeMap<usize, (&'static str, String)>;

fn one_round(plan: &Plan, tally: &mut Tally) {
    let all = jobs(plan, None);
    let count = all.0.len();
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    all.0.iter().for_each(|job| *rows.entry(job.group.name).or_default() += 1);
    let mut failures = play_all(plan, all);
    let told = rows.iter().map(|(group, count)| format!("{group} {count}"));
    tally.notes.push(format!("{count} situations: {}", told.collect::<Vec<_>>().join(", ")));
    if plan.mutant.is_some() {
        let noticed: BTreeSet<&str> = failures.values().map(|(group, _)| *group).collect();
        let blind: Vec<&&str> = rows.keys().filter(|group| !noticed.contains(**group)).collect();
        if !blind.is_empty() {
            tally.notes.push(format!("nothing was noticed by {blind:?}"));
            return;
        }
    } else if plan.rounds == 1 && (1..=AGAIN_MAX).contains(&failures.len()) {
        let doubtful: BTreeSet<usize> = failures.keys().copied().collect();
        let again = play_all(plan, jobs(plan, Some(&doubtful)));
        for (number, (_, failure)) in failures.iter().filter(|(number, _)| !again.contains_key(*number)) {
            tally.notes.push(format!("situation {number} held only when it was staged again: {failure}"));
        }
        failures = again;
    }
    tally.passed += (count - failures.len().min(count)) as u64;
    tally.failures.extend(failures.into_values().map(|(_, failure)| failure));
}

fn play_all(plan: &Plan, (jobs, rooms): (VecDeque<Job>, Vec<Room>)) -> Failures {
    let count = jobs.len();
    let (jobs, failures) = (Mutex::new(jobs), Mutex::new(Failures::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(count) {
            scope.spawn(|| {
                loop {
                    let next = held(&jobs).pop_front();
                    let Some(job) = next else { break };
                    if let Err(failure) = one(plan, &job, &rooms[job.place]) {
                        held(&failures).insert(job.number, (job.group.name, failure));
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The situations that are to be played, or only some of them by number, slow ones first, and the places for them.
fn jobs(plan: &Plan, only: Option<&BTreeSet<usize>>) -> (VecDeque<Job>, Vec<Room>) {
    let mutant = plan.mutant.as_deref();
    let chosen = GROUPS.iter().filter(|group| {
        plan.group.as_deref().is_none_or(|name| name == group.name)
            && mutant.is_none_or(|mutant| group.mutants.contains(&mutant))
    });
    let mut jobs = Vec::new();
    for group in chosen {
        let mut rows = (group.rows)();
        rows.retain(|row| plan.size == Size::Full || !row.repeats);
        if plan.size == Size::Mutant {
            // Those that show the lack of a safeguard come first, and stay where they are otherwise.
            rows.sort_by_key(|row| !row.shows);
            rows.truncate(if mutant.is_some() { MUTANT } else { SMALL });
        }
        jobs.extend(rows.into_iter().map(|row| Job { group, row, number: 0, place: 0 }));
    }
    jobs.sort_by_key(|job| !job.row.slow);
    jobs.iter_mut().enumerate().for_each(|(number, job)| job.number = number);
    jobs.retain(|job| only.is_none_or(|only| only.contains(&job.number)));
    let mut rooms: Vec<Room> = Vec::new();
    let mut shared = None;
    for job in &mut jobs {
        let room = || Room { place: OnceLock::new(), waiting: AtomicUsize::new(0) };
        let is_full = |place: &usize| rooms[*place].waiting.load(Ordering::SeqCst) >= PER_PLACE;
        let place = match shared.filter(|place| !is_full(place) && !job.row.alone) {
            Some(place) => place,
            None => {
                rooms.push(room());
                shared = if job.row.alone { shared } else { Some(rooms.len() - 1) };
                rooms.len() - 1
            }
        };
        rooms[place].waiting.fetch_add(1, Ordering::SeqCst);
        job.place = place;
    }
    (jobs.into(), rooms)
}

/// A run that is refused because the store was held by another process for longer than it waits says nothing about the situation,
/// so it is started again.
fn play_until_started(place: &Place, job: &Job) -> Result<()> {
    let mut refused = None;
    for again in 0..STARTS_MAX {
        match play::play(place, &job.row, job.number + again * NUMBERS)? {
            Played::Held => return Ok(()),
            Played::Refused(error) => {
                println!("  situation {}: the store was held: {error:#}", job.number);
                refused = Some(error);
            }
        }
    }
    refused.map_or(Ok(()), Err)
}

/// How often a run is started that is refused because another process holds the store.
const STARTS_MAX: usize = 3;
/// More than there are situations, so that a situation that is played again has a number of its own.
const NUMBERS: usize = 10_000;

fn one(plan: &Plan, job: &Job, room: &Room) -> Result<(), String> {
    let place = room.place.get_or_init(|| Place::new(plan).map_err(|error| format!("{error:#}")));
    let played = match place {
        Ok(place) => play_until_started(place, job),
        Err(error) => Err(anyhow!("{error}")),
    };
    let is_last = room.waiting.fetch_sub(1, Ordering::SeqCst) == 1;
    let closed = match place {
        Ok(place) if is_last => {
            // A store that was broken on purpose is not asked any more.
            let closed = if job.group.name == "store" && job.row.alone { Ok(()) } else { place.close() };
            closed.and(place.leave())
        }
        Ok(_) | Err(_) => Ok(()),
    };
    let kept = |error: anyhow::Error| {
        let kept = place.as_ref().map(|place| place.keep(plan)).unwrap_or_default();
        format!("{}: {}: {error:#}; row {}, {kept}", job.group.name, job.row.name, job.number)
    };
    played.and(closed).map_err(kept)
}
