//! What the checkpoints at the beginning of an export promise of the records behind them.
//!
//! Invariant: every checkpoint is signed by the key it names and covers the records it stands over, and an export that
//! ends before one of them was cut off. Deliberately absent: whose key it is; whoever asks `verify` can say that.

use std::collections::VecDeque;

use crate::moving::import::Line;
use crate::proof::checkpoint::{Checkpoint, PublicKey, Root};
use crate::record::Hash;

/// The checkpoints that are not reached yet.
#[derive(Default)]
pub(crate) struct ExportCheckpoints {
    ahead: VecDeque<Checkpoint>,
    /// What the next root must be, if it is known where it began.
    root: Option<Root>,
    last: u64,
    is_told: bool,
    /// The keys that must have signed everything; none is no such demand.
    wanted: Vec<PublicKey>,
    /// Records behind the newest checkpoint that was reached.
    waiting: u64,
    sealed: u64,
    keys: Vec<PublicKey>,
}

impl ExportCheckpoints {
    /// Every record must be sealed by one of these keys, if there are any.
    pub(crate) fn by(wanted: &[PublicKey]) -> Self {
        Self { wanted: wanted.to_vec(), ..Self::default() }
    }

    /// How many records were sealed, and by whom.
    pub(crate) fn told(self) -> (u64, Vec<PublicKey>) {
        (self.sealed, self.keys)
    }

    /// Takes the next checkpoint of the export.
    pub(crate) fn promise(&mut self, checkpoint: Checkpoint) -> Result<(), String> {
        if !checkpoint.is_signed() {
            return Err(format!("the signature of the checkpoint over record {} is wrong", checkpoint.seq));
        }
        let key = PublicKey(checkpoint.public_key);
        if !self.wanted.is_empty() && !self.wanted.contains(&key) {
            return Err(format!(
                "record {} is sealed by a key that was not asked for: {key}",
                checkpoint.seq
            ));
        }
        self.ahead.push_back(checkpoint);
        Ok(())
    }

    /// Sees the next line.
    pub(crate) fn pass(&mut self, line: &Line) -> Result<(), String> {
        let Line::Record(record) = line else { return Ok(()) };
        if self.last == 0 && record.seq == 1 {
            self.root = Some(Root::after(Hash::GENESIS));
        }
        // The one before the first record is where the next root goes on from.
        while self.ahead.front().is_some_and(|next| next.seq < record.seq) {
            let Some(base) = self.ahead.pop_front() else { break };
            self.root = (base.seq + 1 == record.seq).then(|| Root::after(base.root));
        }
        self.last = record.seq;
        self.waiting += 1;
        if let Some(root) = &mut self.root {
            root.add(record.hash);
        }
        let Some(checkpoint) = self.ahead.pop_front_if(|next| next.seq == record.seq) else { return Ok(()) };
        let found = self.root.as_ref().map(Root::finish);
        self.root = Some(Root::after(checkpoint.root));
        let waiting = std::mem::take(&mut self.waiting);
        if found == Some(checkpoint.root) {
            self.sealed += waiting;
            let key = PublicKey(checkpoint.public_key);
            if !self.keys.contains(&key) {
                self.keys.push(key);
            }
        } else if found.is_some() {
            return Err("the records up to here are not what was signed".to_owned());
        }
        Ok(())
    }

    /// The export ends here; told once if that is too early.
    pub(crate) fn end(&mut self) -> Option<String> {
        if self.is_told {
            return None;
        }
        self.is_told = true;
        let last = self.last;
        let newest = self.ahead.back().map_or(0, |newest| newest.seq);
        if newest <= last {
            let first = last + 1 - self.waiting;
            let is_wanted = !self.wanted.is_empty() && self.waiting > 0;
            return is_wanted.then(|| format!("no seal covers records {first} to {last}"));
        }
        Some(format!(
            "the export was cut off: it ends at record {last}, and a checkpoint in it covers {newest}"
        ))
    }
}
