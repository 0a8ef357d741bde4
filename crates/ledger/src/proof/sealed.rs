//! How far a log is sealed, and what its next seal goes on from.
//!
//! Invariant: every commit ends with a checkpoint over all records up to its last one. It replaces the checkpoint of the
//! commit before, unless that one is worth keeping: enough records lie behind it, another key signed it, or it does not
//! cover what is in the log, in which case it stays as evidence. Records that no checkpoint covered when the next writer
//! came are signed as such, so an honest write never covers up what was written without the key. Deliberately absent:
//! reading and writing rows.

use callboard_kernel::Moment;

use crate::error::ReadError;
use crate::mutant;
use crate::proof::checkpoint::{Checkpoint, PublicKey, RECORDS_BETWEEN, Root, Seal};
use crate::record::Hash;

/// The newest checkpoints of a log.
pub(crate) struct Ends {
    newest: Option<Checkpoint>,
    /// Where the one before it ends; the beginning of the log if there is none.
    before: (u64, Hash),
}

/// The place in a log that a writer goes on from.
#[derive(Clone)]
pub(crate) struct Sealed {
    /// The newest checkpoint that stays.
    base: (u64, Hash),
    /// The one after it, which the next one replaces.
    replaces: Option<u64>,
    /// Everything after the base.
    root: Root,
    /// The newest record that had no seal when it was found, 0 if all had.
    unsealed: u64,
}

/// A checkpoint to be written, and the one to be removed with it.
pub(crate) struct Step {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) gone: Option<u64>,
    /// What the root of the checkpoint goes on from.
    pub(crate) base: (u64, Hash),
}

impl Ends {
    /// From the two newest checkpoints, the newest first.
    pub(crate) fn of(rows: Vec<Checkpoint>) -> Self {
        let mut rows = rows.into_iter();
        let newest = rows.next();
        let before = rows.next().map_or((0, Hash::GENESIS), |checkpoint| (checkpoint.seq, checkpoint.root));
        Self { newest, before }
    }

    /// The record after which hashes are needed to go on.
    pub(crate) fn since(&self, key: PublicKey, head: u64) -> u64 {
        match &self.newest {
            Some(_) if self.is_passing(key, head) => self.before.0,
            newest => newest.as_ref().map_or(0, |newest| newest.seq),
        }
    }

    /// May the next checkpoint replace the newest one, if it covers what is in the log?
    fn is_passing(&self, key: PublicKey, head: u64) -> bool {
        self.newest.as_ref().is_some_and(|newest| {
            newest.seq == head
                && newest.seq - self.before.0 < RECORDS_BETWEEN
                && newest.unsealed == 0
                && newest.public_key == key.0
        })
    }

    /// Where a writer with this key goes on; `hashes` are those of the records after `since` up to the head.
    pub(crate) fn follow(self, key: PublicKey, head: u64, hashes: &[Hash]) -> Result<Sealed, ReadError> {
        let is_passing = self.is_passing(key, head);
        let (sealed, root) =
            self.newest.as_ref().map_or((0, Hash::GENESIS), |newest| (newest.seq, newest.root));
        if sealed > head {
            let told = format!("the log ends at record {head}, and record {sealed} is sealed");
            return Err(ReadError::Replaced(told));
        }
        let fold = |after: Hash, hashes: &[Hash]| {
            let mut root = Root::after(after);
            hashes.iter().for_each(|hash| root.add(*hash));
            root
        };
        if is_passing {
            let all = fold(self.before.1, hashes);
            let is_true = self.newest.is_some_and(|newest| all.finish() == newest.root && newest.is_signed());
            if is_true || mutant::removed("keep_what_does_not_match") {
                return Ok(Sealed { base: self.before, replaces: Some(sealed), root: all, unsealed: 0 });
            }
            return Ok(Sealed { base: (sealed, root), replaces: None, root: Root::after(root), unsealed: 0 });
        }
        let is_told = head > sealed && !mutant::removed("tell_of_unsealed_records");
        let unsealed = if is_told { head } else { 0 };
        Ok(Sealed { base: (sealed, root), replaces: None, root: fold(root, hashes), unsealed })
    }
}

impl Sealed {
    /// What is not sealed was written by a program from before every commit was.
    pub(crate) const fn trusted(mut self) -> Self {
        self.unsealed = 0;
        self
    }

    /// Takes in a record that is going to be committed.
    pub(crate) fn add(&mut self, hash: Hash) {
        self.root.add(hash);
    }

    /// The next checkpoint, over everything that was taken in.
    pub(crate) fn seal(&mut self, seal: &Seal, seq: u64, at: Moment) -> Step {
        let (root, base) = (self.root.finish(), self.base);
        let checkpoint = seal.sign(seq, at, root, self.unsealed);
        let gone = self.replaces.take();
        if seq - base.0 >= RECORDS_BETWEEN || self.unsealed > 0 {
            (self.base, self.root) = ((seq, root), Root::after(root));
        } else {
            self.replaces = Some(seq);
        }
        self.unsealed = 0;
        Step { checkpoint, gone, base }
    }
}
