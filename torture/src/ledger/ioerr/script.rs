//! What is done while the disk fails: a fixed list of steps made from a seed.
//!
//! Invariant: the same seed gives the same steps, and without a fault the same calls of the disk. Commands that share
//! a step are about different sessions.

use std::path::Path;

use callboard_ledger::{Record, Request};

use crate::harness::dice::Dice;
use crate::ledger::vfs::{Disk, Image, Mount, Traffic, open_store, together};

/// The steps and what they need.
pub(super) struct Script {
    pub(super) seed: u64,
    /// What is on the disk before the first step.
    pub(super) base: Image,
    /// How many records it has.
    pub(super) known: usize,
    pub(super) requests: Vec<Request>,
    pub(super) steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Open,
    /// The first request alone, the rest in one transaction.
    Send(std::ops::Range<usize>),
    Read,
    /// Another program checkpoints the store.
    Checkpoint(&'static str),
    Close,
}

const CHECKPOINTS: &[&str] = &["PASSIVE", "FULL", "RESTART", "TRUNCATE"];

impl Script {
    pub(super) fn new(seed: u64, (base, known): (Image, usize)) -> Self {
        let mut dice = Dice::new(seed);
        let traffic = Traffic::new(Dice::new(dice.next()), 1_000_000);
        let mut script = Self { seed, base, known, requests: Vec::new(), steps: Vec::new() };
        script.fill(&mut dice, traffic);
        script
    }

    fn fill(&mut self, dice: &mut Dice, mut traffic: Traffic) {
        for session in 0..2 {
            self.steps.push(Step::Open);
            if session > 0 || dice.roll(2) == 0 {
                self.steps.push(Step::Read);
            }
            for burst in 0..3 {
                let from = self.requests.len();
                self.requests.extend(traffic.several(1 + dice.roll(4) as usize));
                self.steps.push(Step::Send(from..self.requests.len()));
                let how = *dice.pick(CHECKPOINTS);
                match dice.roll(4) {
                    0 => self.steps.push(Step::Read),
                    1 if burst < 2 => self.steps.push(Step::Checkpoint(how)),
                    _ => {}
                }
            }
            if session == 0 {
                self.steps.push(Step::Close);
            }
        }
    }
}

/// Records of the old store: the next few reach the number at which the ledger signs a checkpoint.
const OLD_RECORDS: usize = 250;

/// A store with a history, closed.
pub(super) fn old_store(path: &Path) -> Result<(Image, usize), String> {
    let mount = Mount::new(Disk::with(Image::new()));
    let ledger = open_store(path, &mount)?;
    let mut traffic = Traffic::new(Dice::new(1), 1);
    let mut records: Vec<Record> = Vec::new();
    while records.len() < OLD_RECORDS {
        let requests = traffic.several(10);
        let answers = together(&mount.disk, &ledger, requests).ok_or("the writer does not move")?;
        for answer in answers {
            records.push(answer.map_err(|error| format!("the old store: {error:?}"))?.record);
        }
    }
    drop(ledger);
    Ok((mount.disk.seen(), records.len()))
}
