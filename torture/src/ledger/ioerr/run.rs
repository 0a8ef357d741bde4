//! One script with one fault, and everything that must hold during it and afterwards.
//!
//! Invariant: a caller is judged by what it was told. Told that it is durable: it survives a power cut at once and
//! everything later. Told that it is absent: it never appears by itself. Told nothing certain: either.

use std::path::Path;

use callboard_kernel::EntityId;
use callboard_ledger::{AppendError, Fault as Told, Ledger, Receipt, Record};
use rusqlite::{Connection, OpenFlags};

use super::script::{Script, Step};
use crate::harness::dice::Dice;
use crate::ledger::vfs::{
    Call, Disk, Effect, Fault, Mount, Sound, chain, missing, open_store, records, together,
};

/// What the caller of a command knows.
enum Fate {
    NotSent,
    Durable(Box<Record>),
    Absent,
    Unknown,
}

/// A script on its way.
pub(super) struct Run<'a> {
    script: &'a Script,
    path: &'a Path,
    fault: Option<Fault>,
    // Declared before the disk, so that it is closed before it.
    ledger: Option<Ledger>,
    mount: Mount,
    fates: Vec<Fate>,
    problems: Vec<String>,
}

impl<'a> Run<'a> {
    pub(super) fn new(script: &'a Script, path: &'a Path, fault: Option<Fault>) -> Self {
        // What is remembered of the store of an earlier script would be compared with this one.
        std::fs::remove_file(path.with_extension("db.key.sealed")).ok();
        let mount = Mount::new(Disk::with(script.base.clone()));
        if let Some(fault) = fault {
            mount.disk.fail(fault);
        }
        let fates = script.requests.iter().map(|_| Fate::NotSent).collect();
        Self { script, path, fault, ledger: None, mount, fates, problems: Vec::new() }
    }

    /// How many calls of each sort the script makes.
    pub(super) fn calls_without_fault(mut self, calls: &[Option<Call>]) -> Result<Vec<u64>, String> {
        self.steps();
        self.ledger = None;
        match self.problems.pop() {
            Some(problem) => Err(format!("script {} fails without a fault: {problem}", self.script.seed)),
            None => Ok(calls.iter().map(|call| self.mount.disk.calls(*call)).collect()),
        }
    }

    /// Does everything, and says what did not hold.
    pub(super) fn finish(mut self) -> Vec<String> {
        self.steps();
        self.check_power_cut("during the fault");
        if self.mount.disk.hits() == 0 {
            // The last call of the script is the one that closes it.
            self.ledger = None;
        }
        let in_place = Dice::new(self.script.seed ^ self.fault.map_or(0, |fault| fault.at)).roll(2) == 0;
        if !in_place {
            self.ledger = None;
        }
        if self.fault.is_some() && self.mount.disk.hits() == 0 {
            self.problems.push("the fault did not strike".to_owned());
        }
        self.mount.disk.heal();
        if let Err(problem) = self.heal() {
            self.problems.push(format!("after healing: {problem}"));
        }
        self.ledger = None;
        self.check_power_cut("after the last close");
        self.problems
    }

    fn steps(&mut self) {
        for (at, step) in self.script.steps.clone().into_iter().enumerate() {
            let (was_well, hits) = (self.mount.disk.is_well(), self.mount.disk.hits());
            let result = match &step {
                Step::Open => self.open(),
                Step::Send(range) => self.send(range.clone(), was_well),
                Step::Read => self.read(),
                Step::Checkpoint(how) => self.checkpoint(how),
                Step::Close => {
                    self.ledger = None;
                    Ok(())
                }
            };
            if let Err(problem) = result
                && !self.is_excused(was_well)
            {
                self.problems.push(format!("step {at}, {step:?}: {problem}"));
            }
            if self.mount.disk.hits() > hits {
                self.check_power_cut("at once");
            }
        }
    }

    /// May a call have failed? Only if the fault could strike when it began, and did.
    fn is_excused(&self, was_well: bool) -> bool {
        !was_well && self.mount.disk.hits() > 0
    }

    fn open(&mut self) -> Result<(), String> {
        if self.ledger.is_none() {
            self.ledger = Some(open_store(self.path, &self.mount)?);
        }
        Ok(())
    }

    fn send(&mut self, range: std::ops::Range<usize>, was_well: bool) -> Result<(), String> {
        self.open()?;
        let Some(ledger) = self.ledger.clone() else { return Err("BUG: it was opened above".to_owned()) };
        let sent: Vec<usize> = range.filter(|at| self.is_ready(*at)).collect();
        let requests = sent.iter().map(|at| self.script.requests[*at].clone()).collect();
        let Some(answers) = together(&self.mount.disk, &ledger, requests) else {
            self.problems.push("the writer never came to the disk".to_owned());
            return Ok(());
        };
        for (at, answer) in sent.into_iter().zip(answers) {
            self.fates[at] = match answer {
                Ok(Receipt { record, repeated: false }) => Fate::Durable(Box::new(record)),
                Err(AppendError::Fault(told)) if self.is_excused(was_well) => self.told(at, &told),
                other => {
                    self.problems.push(format!("command {at}: {other:?}"));
                    Fate::Unknown
                }
            };
        }
        Ok(())
    }

    /// A command whose session has one that is not known to be recorded is not sent.
    fn is_ready(&self, at: usize) -> bool {
        let entity = |at: usize| -> EntityId { self.script.requests[at].command.entity };
        (0..at).all(|before| entity(before) != entity(at) || matches!(self.fates[before], Fate::Durable(_)))
    }

    /// What the answer promises; some answers are wrong whatever the disk did.
    fn told(&mut self, at: usize, told: &Told) -> Fate {
        let full = self.fault.is_some_and(|fault| fault.effect == Effect::Full);
        let in_place = self.fault.is_some_and(|fault| fault.call == Some(Call::Grow));
        match told {
            // Where overwriting needs room too, half a write over old bytes can be a whole one by chance.
            Told::Full if full => {
                if in_place {
                    Fate::Absent
                } else {
                    Fate::Unknown
                }
            }
            Told::NotWritten(_) | Told::ReadOnly(_) if !full => Fate::Absent,
            Told::Unknown(_) if !full => Fate::Unknown,
            Told::Full
            | Told::NotWritten(_)
            | Told::ReadOnly(_)
            | Told::Unknown(_)
            | Told::Busy
            | Told::Replaced(_)
            | Told::Corrupt(_)
            | Told::Closed => {
                self.problems.push(format!("command {at} was told {told:?}"));
                Fate::Unknown
            }
        }
    }

    /// What can be read while the disk fails is right.
    fn read(&mut self) -> Result<(), String> {
        self.open()?;
        let Some(ledger) = &self.ledger else { return Err("BUG: it was opened above".to_owned()) };
        let read = records(ledger).map_err(|error| chain(&error))?;
        let lost = self.durable().find(|record| !read.contains(record)).map(|record| record.seq);
        self.problems.extend(lost.map(|seq| format!("a reader does not see record {seq}")));
        let head = ledger.head().map_err(|error| chain(&error))?;
        if head < read.len() as u64 {
            self.problems.push(format!("the head is {head} after {} records were read", read.len()));
        }
        Ok(())
    }

    fn checkpoint(&self, how: &str) -> Result<(), String> {
        let told = |error: rusqlite::Error| format!("{error:?}");
        let name = self.mount.name();
        let connection =
            Connection::open_with_flags_and_vfs(self.path, OpenFlags::default(), name).map_err(told)?;
        connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(())).map_err(told)
    }

    fn durable(&self) -> impl Iterator<Item = &Record> {
        self.fates.iter().filter_map(|fate| match fate {
            Fate::Durable(record) => Some(record.as_ref()),
            Fate::NotSent | Fate::Absent | Fate::Unknown => None,
        })
    }

    /// A power cut now would leave what was acknowledged, and nothing that was told to be absent.
    fn check_power_cut(&mut self, when: &str) {
        let there: Vec<&Record> = self.durable().collect();
        let absent: Vec<String> = self
            .fates
            .iter()
            .zip(&self.script.requests)
            .filter(|(fate, _)| matches!(fate, Fate::Absent | Fate::NotSent))
            .filter_map(|(_, request)| request.command.key.clone())
            .collect();
        let platter = self.mount.disk.platter();
        let mut dice = Dice::new(self.script.seed ^ self.mount.disk.changes() as u64);
        let images = [platter.durable(), platter.torn(&mut dice)];
        let lost = images.into_iter().find_map(|image| missing(self.path, image, &there, &absent));
        self.problems.extend(lost.map(|lost| format!("a power cut {when}: {lost}")));
    }

    /// The disk works again: everything not acknowledged is sent again, and then all of it is there, once.
    fn heal(&mut self) -> Result<(), String> {
        self.open()?;
        let Some(ledger) = self.ledger.clone() else { return Err("BUG: it was opened above".to_owned()) };
        for at in 0..self.fates.len() {
            let Receipt { record, repeated } = ledger
                .append(self.script.requests[at].clone())
                .map_err(|error| format!("command {at} sent again: {error:?}"))?;
            let as_told = match &self.fates[at] {
                Fate::Durable(before) => repeated && **before == record,
                Fate::Absent | Fate::NotSent => !repeated,
                Fate::Unknown => true,
            };
            if !as_told {
                return Err(format!(
                    "command {at} sent again: repeated is {repeated}, against what was told"
                ));
            }
            let was_unknown = matches!(self.fates[at], Fate::Unknown);
            self.fates[at] = Fate::Durable(Box::new(record));
            if was_unknown {
                self.check_power_cut("after the answer to a repeated command");
            }
        }
        drop(ledger);
        self.check_power_cut("after healing");
        self.ledger = None;
        let sound = Sound::open(self.path, &self.mount)?;
        let mut durable: Vec<&Record> = self.durable().collect();
        durable.sort_by_key(|record| record.seq);
        let (known, added) = sound.records.split_at(self.script.known.min(sound.records.len()));
        if known.len() == self.script.known && added.iter().eq(durable) {
            return Ok(());
        }
        let (there, told) = (added.len(), self.fates.len());
        Err(format!("{told} records were acknowledged, {there} are there, or not the same ones"))
    }
}
