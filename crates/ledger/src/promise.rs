//! What the checkpoints at the beginning of an export promise of the records behind them.
//!
//! Invariant: every checkpoint is signed by the key it names and covers the records it stands over, and an export that
//! ends before one of them was cut off. Deliberately absent: whose key it is; whoever asks `verify` can say that.

use std::collections::VecDeque;

use crate::checkpoint::{Checkpoint, Root};
use crate::import::Line;
use crate::record::Hash;

/// The checkpoints that are not reached yet.
#[derive(Default)]
pub(crate) struct Signed {
    ahead: VecDeque<Checkpoint>,
    /// What the next root must be, if it is known where it began.
    root: Option<Root>,
    last: u64,
    is_told: bool,
}

impl Signed {
    /// Takes the next checkpoint of the export.
    pub(crate) fn promise(&mut self, checkpoint: Checkpoint) -> Result<(), String> {
        if !checkpoint.is_signed() {
            return Err(format!("the signature of the checkpoint over record {} is wrong", checkpoint.seq));
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
        if let Some(root) = &mut self.root {
            root.add(record.hash);
        }
        let Some(checkpoint) = self.ahead.pop_front_if(|next| next.seq == record.seq) else { return Ok(()) };
        let is_right = self.root.as_ref().is_none_or(|root| root.finish() == checkpoint.root);
        self.root = Some(Root::after(checkpoint.root));
        if is_right { Ok(()) } else { Err("the records up to here are not what was signed".to_owned()) }
    }

    /// The export ends here; told once if that is too early.
    pub(crate) fn end(&mut self) -> Option<String> {
        let newest = self.ahead.back()?.seq;
        if self.is_told || newest <= self.last {
            return None;
        }
        self.is_told = true;
        let last = self.last;
        Some(format!(
            "the export was cut off: it ends at record {last}, and a checkpoint in it covers {newest}"
        ))
    }
}
