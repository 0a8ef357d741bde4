//! What runs when the power is cut: callers that write, readers, another program that checkpoints, and restarts.
//!
//! Invariant: an acknowledgement is noted with the number of changes the disk had seen by then, never fewer than when
//! it was given. In steps, the same dice give the same changes; with threads only the same commands.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use callboard_ledger::{AppendError, Ledger, Receipt, Record};
use rusqlite::{Connection, OpenFlags};

use crate::harness::dice::Dice;
use crate::ledger::vfs::{Disk, Image, Mount, Op, Traffic, open_store, records, together};

/// Who the callers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// One after the other, those of one step in one transaction.
    Steps,
    /// Threads that write at once, and one that checkpoints meanwhile.
    Threads,
}

/// What a workload did.
pub(super) struct Done {
    pub(super) base: Image,
    pub(super) log: Vec<Op>,
    /// How many changes the disk had seen when the record with this number was acknowledged.
    pub(super) acks: Vec<(usize, u64)>,
    pub(super) records: Vec<Record>,
}

impl Done {
    /// A place to cut the power: any change, or one shortly after an acknowledgement.
    pub(super) fn cut(&self, dice: &mut Dice) -> usize {
        let any = dice.roll(self.log.len() as u64 + 1) as usize;
        if self.acks.is_empty() || dice.roll(2) == 0 {
            return any;
        }
        (dice.pick(&self.acks).0 + dice.roll(4) as usize).min(self.log.len())
    }
}

/// A workload on its way.
pub(super) struct Workload<'a> {
    path: &'a Path,
    dice: &'a mut Dice,
    callers: Vec<Traffic>,
    // Declared before the disk, so that they are closed before it.
    ledger: Option<Ledger>,
    /// A reader that keeps its snapshot, so that checkpoints stop short of it.
    snapshot: Option<Connection>,
    mount: Mount,
    acks: Vec<(usize, u64)>,
}

const CALLERS: u128 = 4;
const STEPS: u64 = 40;
const CHECKPOINTS: &[&str] = &["PASSIVE", "PASSIVE", "FULL", "RESTART", "TRUNCATE"];

impl<'a> Workload<'a> {
    pub(super) fn run(path: &'a Path, load: Load, dice: &'a mut Dice) -> Result<Done, String> {
        let callers =
            (0..CALLERS).map(|caller| Traffic::new(Dice::new(dice.next()), 1 + (caller << 64))).collect();
        let mount = Mount::new(Disk::with(Image::new()));
        let mut workload =
            Self { path, dice, callers, ledger: None, snapshot: None, mount, acks: Vec::new() };
        for _ in 0..STEPS {
            workload.step(load)?;
        }
        let ledger = workload.ledger()?;
        let records = records(&ledger).map_err(|error| error.to_string())?;
        drop(ledger);
        (workload.ledger, workload.snapshot) = (None, None);
        let disk = &workload.mount.disk;
        Ok(Done { base: disk.base().clone(), log: disk.log(), acks: workload.acks, records })
    }

    fn step(&mut self, load: Load) -> Result<(), String> {
        let ledger = self.ledger()?;
        match self.dice.roll(20) {
            0..=1 => self.checkpoint(),
            2 => self.hold_snapshot(),
            3 => {
                drop(ledger);
                self.ledger = None;
                Ok(())
            }
            4..=5 => records(&ledger).map(drop).map_err(|error| error.to_string()),
            6..=9 if load == Load::Threads => self.storm(&ledger),
            _ => self.burst(&ledger),
        }
    }

    fn ledger(&mut self) -> Result<Ledger, String> {
        let ledger = match self.ledger.take() {
            Some(ledger) => ledger,
            None => open_store(self.path, &self.mount)?,
        };
        Ok(self.ledger.insert(ledger).clone())
    }

    /// Callers whose commands share a transaction.
    fn burst(&mut self, ledger: &Ledger) -> Result<(), String> {
        let mut requests = Vec::new();
        for caller in &mut self.callers {
            requests.extend(caller.several(self.dice.roll(4) as usize));
        }
        let answers = together(&self.mount.disk, ledger, requests).ok_or("the writer does not move")?;
        for answer in answers {
            let ack = acknowledged(&self.mount.disk, answer)?;
            self.acks.push(ack);
        }
        Ok(())
    }

    /// Callers that write at once, while another program checkpoints.
    fn storm(&mut self, ledger: &Ledger) -> Result<(), String> {
        let (acks, problems) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let (disk, path, name) = (&self.mount.disk, self.path, self.mount.name());
        let how = *self.dice.pick(CHECKPOINTS);
        std::thread::scope(|scope| {
            for caller in &mut self.callers {
                let (acks, problems) = (&acks, &problems);
                scope.spawn(move || {
                    for request in (0..5).flat_map(|_| caller.several(1)) {
                        match acknowledged(disk, ledger.append(request)) {
                            Ok(ack) => acks.lock().unwrap_or_else(PoisonError::into_inner).push(ack),
                            Err(problem) => {
                                problems.lock().unwrap_or_else(PoisonError::into_inner).push(problem)
                            }
                        }
                    }
                });
            }
            let problems = &problems;
            scope.spawn(move || {
                let mended = (0..4).try_for_each(|_| checkpoint(path, name, how));
                if let Err(error) = mended {
                    problems.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{how}: {error:?}"));
                }
            });
        });
        self.acks.extend(acks.into_inner().unwrap_or_else(PoisonError::into_inner));
        problems.into_inner().unwrap_or_else(PoisonError::into_inner).pop().map_or(Ok(()), Err)
    }

    fn checkpoint(&mut self) -> Result<(), String> {
        let how = *self.dice.pick(CHECKPOINTS);
        checkpoint(self.path, self.mount.name(), how).map_err(|error| format!("{how}: {error:?}"))
    }

    /// Begins to hold a snapshot, or lets it go.
    fn hold_snapshot(&mut self) -> Result<(), String> {
        if self.snapshot.take().is_none() {
            let held = || {
                let connection = peer(self.path, self.mount.name())?;
                connection.execute_batch("BEGIN; SELECT count(*) FROM ledger;")?;
                Ok(connection)
            };
            self.snapshot = Some(held().map_err(|error: rusqlite::Error| format!("{error:?}"))?);
        }
        Ok(())
    }
}

fn acknowledged(disk: &Disk, answer: Result<Receipt, AppendError>) -> Result<(usize, u64), String> {
    let receipt = answer.map_err(|error| format!("a command was not taken: {error:?}"))?;
    Ok((disk.changes(), receipt.record.seq))
}

/// Another program with the store open; it never waits.
fn peer(path: &Path, vfs: &str) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs)?;
    connection.busy_timeout(std::time::Duration::ZERO)?;
    Ok(connection)
}

/// A checkpoint that finds the store busy has done what it could.
fn checkpoint(path: &Path, vfs: &str, how: &str) -> Result<(), rusqlite::Error> {
    match peer(path, vfs)?.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(())) {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(()),
        other => other,
    }
}
