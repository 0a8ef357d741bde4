//! Guards in the log: which of them `verify` asks again, and which are the word of whoever wrote the record.
//!
//! Invariant: a guard that rests on the log is asked again with the entity as it stood before the record; one that rests on what
//! its writer saw is counted, never called proved. Deliberately absent: whether the row is legal; `redecide` says that.

use std::collections::BTreeMap;

use callboard_kernel::{Context, Entity, EntityId, Event, GuardAnswer, Testimony, Transition, ask_guard};
use callboard_lifecycle::{Guard, GuardBasis, GuardSet};
use serde::Serialize;

use crate::engine::Ask;
use crate::proof::verify::Problem;
use crate::record::Record;
use crate::store::{Page, RecordScope, Stored};

/// How many records passed a guard, and what that rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GuardTally {
    /// The guard.
    pub guard: Guard,
    /// Records whose guard was asked again and holds by what the log says.
    pub proved: u64,
    /// Records that say the guard held: the word of whoever wrote them.
    pub vouched: u64,
    /// Records that took a row with this guard and do not name it, as those of releases without guards.
    pub unnamed: u64,
}

/// The records of a range that took a row with guards.
#[derive(Default)]
pub(crate) struct Guarded {
    tallies: BTreeMap<Guard, GuardTally>,
    /// What is to be asked again: of which entity, for the record that made which version.
    again: BTreeMap<EntityId, Vec<(u64, Guard)>>,
}

impl Guarded {
    /// Takes a record in that passed `asked` and names `named`.
    pub(crate) fn note(&mut self, id: EntityId, version: u64, asked: GuardSet, named: GuardSet) {
        for guard in asked.guards() {
            match guard.basis() {
                GuardBasis::Log => self.again.entry(id).or_default().push((version, guard)),
                GuardBasis::Store | GuardBasis::Testimony if named.has(guard) => {
                    self.tally(guard).vouched += 1;
                }
                GuardBasis::Store | GuardBasis::Testimony => self.tally(guard).unnamed += 1,
            }
        }
    }

    /// Goes on with a later range.
    pub(crate) fn join(&mut self, later: Self) {
        for (guard, more) in later.tallies {
            let tally = self.tally(guard);
            (tally.vouched, tally.unnamed) = (tally.vouched + more.vouched, tally.unnamed + more.unnamed);
        }
        for (id, versions) in later.again {
            self.again.entry(id).or_default().extend(versions);
        }
    }

    /// Asks again what can be asked again.
    pub(crate) fn settle(mut self, reader: &dyn Ask) -> (Vec<GuardTally>, Vec<Problem>) {
        let mut problems = Vec::new();
        for (id, versions) in std::mem::take(&mut self.again) {
            // A log that cannot be read is told where it is read in order.
            let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(id) };
            let records = reader.records(page).unwrap_or_default();
            for (version, guard) in versions {
                match again(id, version, guard, &records) {
                    Some((_, GuardAnswer::Holds)) => self.tally(guard).proved += 1,
                    Some((seq, GuardAnswer::Fails { because, .. })) => problems.push(Problem {
                        seq: Some(seq),
                        entity: Some(id.to_string()),
                        problem: broken(guard, &because),
                    }),
                    // What came before is archived or cannot be read.
                    Some((_, GuardAnswer::Unanswered { .. })) | None => self.tally(guard).vouched += 1,
                }
            }
        }
        (self.tallies.into_values().collect(), problems)
    }

    fn tally(&mut self, guard: Guard) -> &mut GuardTally {
        self.tallies.entry(guard).or_insert(GuardTally { guard, proved: 0, vouched: 0, unnamed: 0 })
    }
}

/// Do the guards that rest on the log hold for a record, by the entity as it stood before?
pub(crate) fn hold(asked: GuardSet, before: &Entity, record: &Record) -> Result<(), String> {
    for guard in asked.guards().filter(|guard| guard.basis() == GuardBasis::Log) {
        if let Some(GuardAnswer::Fails { because, .. }) = ask(guard, before, record) {
            return Err(broken(guard, &because));
        }
    }
    Ok(())
}

fn broken(guard: Guard, because: &str) -> String {
    format!("its guard {guard} did not hold: {because}")
}

/// What a guard says of a record, if the record can be read.
fn ask(guard: Guard, before: &Entity, record: &Record) -> Option<GuardAnswer> {
    let Event { to, trigger, data, actor, at, .. } = record.event().ok()?;
    let order = Transition { to: Some(to), trigger, reasons: Vec::new(), data };
    Some(ask_guard(guard, before, &order, &Testimony::default(), &Context::new(&actor, at)))
}

/// The answer of a guard to the record that made a version, if everything before it can be read.
fn again(id: EntityId, version: u64, guard: Guard, records: &[Record]) -> Option<(u64, GuardAnswer)> {
    let mut stored = Stored::unborn(id);
    for record in records {
        if record.version == version && stored.entity.state.version.checked_add(1) == Some(version) {
            return Some((record.seq, ask(guard, &stored.entity, record)?));
        }
        stored.follow(record).ok()?;
    }
    None
}
