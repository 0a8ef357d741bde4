//! `model`: random sequences of commands through the real ledger, and the pure model says what must come of each.
//!
//! Invariant: the same acceptance, the same refusal, the same record; at the end of every store the log holds exactly
//! what the model believes, verify is clean and the views are both the stored and the rebuilt ones. Two handles write
//! to each store, so that each must see what the other did. Many sequences are under way at once, as the ledger
//! syncs once for all of them; each keeps its own order. A full run is 1,000,000 sequences, CI runs 25,000: that is
//! the fewest whose entities do not all fit at hand in the writer. Deliberately absent: faults; others bring those.

pub(crate) mod belief;
pub(crate) mod lease;
pub(crate) mod wild;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use callboard_ledger::{GroupTicket, Ledger, Listing, Page, RecordScope, Ticket};
use uuid::Uuid;

use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::stage::Stage;
use crate::ledger::model::belief::{Answers, Believed, Expected, ExpectedGroup, Sequence};
use crate::ledger::model::wild::Wild;

pub(crate) const TORTURE: Torture = Torture {
    name: "model",
    about: "random command sequences give what the pure model says (CI: 25,000 of 1,000,000)",
    mutants: &["look_up_keys", "look_before_deciding", "group_all_or_none", "check_the_epoch"],
    run,
    child: None,
};

/// Commands in one sequence.
const LENGTH: u64 = 20;
/// Sequences in one store: more entities than the writer keeps at hand.
const STORE: u64 = 25_000;
/// Sequences of each store that go one command at a time, each command alone in its transaction.
const SOLO: u64 = 20;
/// Sequences that one thread has under way at once.
const COHORT: u64 = 256;
const THREADS: u64 = 2;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let wild = Wild::new();
    let sequences = plan.choose(1_000_000, STORE, 200);
    let mut answers = Answers::default();
    let mut first = 0;
    while first < sequences && tally.failures.is_empty() {
        let last = (first + STORE).min(sequences);
        let done = Stage::file()
            .and_then(|stage| one_store(plan, &wild, stage, first..last, &mut tally, &mut answers));
        if let Err(error) = done {
            tally.failures.push(format!("{error:#}"));
        }
        first = last;
    }
    note(&mut tally, first, "SQLite", answers);
    tally
}

/// Says how much was run, and where.
pub(crate) fn note(tally: &mut Tally, sequences: u64, engine: &str, answers: Answers) {
    tally
        .notes
        .push(format!("{sequences} sequences on {engine} of {LENGTH} commands or a few more: {answers}"));
}

/// What the threads of one store share.
struct Shared<'a> {
    wild: &'a Wild,
    seed: u64,
    ledgers: [Ledger; 2],
    next: AtomicU64,
    last: u64,
    done: Mutex<Done>,
}

#[derive(Default)]
struct Done {
    believed: Vec<Believed>,
    differences: Vec<String>,
    answers: Answers,
}

/// Runs these sequences on one fresh store.
pub(crate) fn one_store(
    plan: &Plan,
    wild: &Wild,
    mut stage: Stage<'_>,
    numbers: std::ops::Range<u64>,
    tally: &mut Tally,
    answers: &mut Answers,
) -> Result<()> {
    let shared = Shared {
        wild,
        seed: plan.seed,
        ledgers: [stage.open()?, stage.open()?],
        next: AtomicU64::new(numbers.start),
        last: numbers.end,
        done: Mutex::default(),
    };
    let alone = (numbers.start + SOLO).min(numbers.end);
    while shared.cohort(1, alone) {}
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| while shared.cohort(COHORT, shared.last) {});
        }
    });
    let Shared { ledgers, done, .. } = shared;
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.add(done.answers);
    drop(ledgers);
    tally.passed += (numbers.end - numbers.start) - done.differences.len() as u64;
    let compared = if done.differences.is_empty() {
        stage.open().and_then(|ledger| {
            compare(&ledger, done.believed)?;
            stage.check_whole(&ledger)
        })
    } else {
        Ok(())
    };
    tally.trial(compared, || stage.keep(plan));
    if !done.differences.is_empty() {
        let kept = stage.keep(plan);
        tally.failures.extend(done.differences.iter().map(|difference| format!("{difference}; {kept}")));
    }
    Ok(())
}

/// Something that was sent, and what is expected of it.
enum Sent {
    One(Box<Expected>, Ticket),
    Group(ExpectedGroup, GroupTicket),
}

/// Of the things that are sent, one in this many is a group.
const GROUPS: u64 = 6;

impl Sent {
    fn next(sequence: &mut Sequence, wild: &Wild, ledger: &Ledger) -> Self {
        if sequence.dice.roll(GROUPS) == 0 {
            let expected = sequence.next_group(wild);
            let ticket = ledger.submit_group(expected.group.clone());
            return Self::Group(expected, ticket);
        }
        let expected = sequence.next(wild);
        let ticket = ledger.submit(expected.request.clone());
        Self::One(Box::new(expected), ticket)
    }

    /// Waits for the answer; what differs is told, unless nobody counts any more.
    fn hear(self, sequence: &mut Sequence, answers: Option<&mut Answers>) -> Result<(), String> {
        match self {
            Self::One(expected, ticket) => {
                let answer = ticket.wait();
                let Some(answers) = answers else { return Ok(()) };
                answers.count(&expected);
                let heard = sequence.entities[expected.entity].hear(&expected, &answer);
                heard.map_err(|difference| format!("{difference}, for {:?}", expected.request.command))
            }
            Self::Group(expected, ticket) => {
                let answer = ticket.wait();
                let Some(answers) = answers else { return Ok(()) };
                answers.count_group(&expected);
                let heard = sequence.hear_group(&expected, answer);
                heard.map_err(|difference| format!("{difference}, for {:?}", expected.group))
            }
        }
    }
}

impl Shared<'_> {
    /// Takes the next few sequences to their end; false if there are none left.
    fn cohort(&self, size: u64, last: u64) -> bool {
        let first = self.next.fetch_add(size, Ordering::Relaxed);
        if first >= last {
            self.next.fetch_min(last, Ordering::Relaxed);
            return false;
        }
        let numbers = first..(first + size).min(last);
        let mut dice = Dice::of(self.seed, u64::MAX - first);
        let mut going: Vec<Sequence> =
            numbers.map(|number| Sequence::new(number, self.seed, self.wild)).collect();
        let mut ended = Done::default();
        while !going.is_empty() {
            // A lone sequence goes from handle to handle; a crowd mostly stays, as changing costs what is at hand.
            let changes = if size == 1 { dice.roll(2) } else { u64::from(dice.roll(16) == 0) };
            self.round(&self.ledgers[changes as usize], size, &mut going, &mut ended);
            let (over, rest) = going.into_iter().partition(|sequence| sequence.sent >= LENGTH);
            going = rest;
            let over = over.into_iter().flat_map(|sequence: Sequence| sequence.entities);
            ended.believed.extend(over.map(Believed::close));
        }
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.believed.append(&mut ended.believed);
        done.differences.append(&mut ended.differences);
        done.answers.add(ended.answers);
        true
    }

    /// Sends a few commands of every sequence, then hears every answer.
    fn round(&self, ledger: &Ledger, size: u64, going: &mut Vec<Sequence>, ended: &mut Done) {
        let mut sent = Vec::new();
        for (at, sequence) in going.iter_mut().enumerate() {
            let burst = if size == 1 { 1 } else { 1 + sequence.dice.roll(4) };
            for _ in 0..burst {
                if sequence.sent >= LENGTH {
                    break;
                }
                let expected = Sent::next(sequence, self.wild, ledger);
                sent.push((at, sequence.sent, expected));
            }
        }
        let mut strayed: Vec<usize> = Vec::new();
        for (at, step, sent) in sent {
            let is_lost = strayed.contains(&at);
            let sequence = &mut going[at];
            if let Err(difference) = sent.hear(sequence, (!is_lost).then_some(&mut ended.answers)) {
                let number = sequence.number;
                ended.differences.push(format!("sequence {number}, command {step}: {difference}"));
                strayed.push(at);
            }
        }
        strayed.sort_unstable();
        for at in strayed.into_iter().rev() {
            going.swap_remove(at);
        }
    }
}

/// The log and the views hold what the model believes, and nothing else.
fn compare(ledger: &Ledger, believed: Vec<Believed>) -> Result<()> {
    let by_id: HashMap<Uuid, &Believed> = believed
        .iter()
        .filter(|one| !one.events.is_empty())
        .map(|one| (one.entity.state.id.uuid(), one))
        .collect();
    let (mut after, mut at) = (0, callboard_kernel::Moment::default());
    loop {
        let page = ledger.records(Page { after, limit: 10_000, scope: RecordScope::All })?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for record in &page {
            let wanted = by_id
                .get(&record.entity)
                .and_then(|one| one.events.get((record.version as usize).wrapping_sub(1)));
            if wanted != Some(&record.event()?) {
                bail!("record {} is not what the model recorded: {record:?}, but {wanted:?}", record.seq);
            }
            if record.at < at {
                bail!("time runs backwards at record {}", record.seq);
            }
            at = record.at;
        }
    }
    let events: usize = believed.iter().map(|one| one.events.len()).sum();
    if events as u64 != after {
        bail!("the model recorded {events} events, the log has {after}");
    }
    let stored = ledger.entities(Listing { ended: true, ..Listing::default() })?;
    for view in &stored {
        let wanted = by_id.get(&view.entity.state.id.uuid()).map(|one| &one.entity);
        if wanted != Some(&view.entity) {
            bail!("the view {view:?} is not what the model believes: {wanted:?}");
        }
    }
    if stored.len() != by_id.len() {
        bail!("the model has {} entities, the store {}", by_id.len(), stored.len());
    }
    Ok(())
}
