//! Telling many callers at once, beside the writer.
//!
//! Invariant: what is given here is durable or refused already. Waking a caller costs the system as much as writing
//! its record; so a large batch is answered by a thread of its own while the next one is written, and a small one at
//! once, because a lone caller would only wait longer. Deliberately absent: deciding what the answer is.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use crate::batch::Verdict;
use crate::store::Job;

/// Batches up to this size are answered at once.
const AT_ONCE: usize = 8;

/// Gives the answers of one writer.
pub(crate) struct Answers {
    batches: Option<Sender<Vec<(Job, Verdict)>>>,
    thread: Option<JoinHandle<()>>,
}

impl Answers {
    pub(crate) fn new() -> std::io::Result<Self> {
        let (batches, given) = channel::<Vec<(Job, Verdict)>>();
        let thread = std::thread::Builder::new()
            .name("ledger-answers".to_owned())
            .spawn(move || given.iter().for_each(tell))?;
        Ok(Self { batches: Some(batches), thread: Some(thread) })
    }

    /// Answers every job of a batch. The callers are waiting, so there are never more batches than they can fill.
    pub(crate) fn give(&self, batch: Vec<(Job, Verdict)>) {
        match &self.batches {
            Some(batches) if batch.len() > AT_ONCE => {
                if let Err(back) = batches.send(batch) {
                    tell(back.0);
                }
            }
            Some(_) | None => tell(batch),
        }
    }
}

fn tell(batch: Vec<(Job, Verdict)>) {
    for (job, verdict) in batch {
        job.reply.answer(verdict);
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        drop(self.batches.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            // Its panic was printed when it happened, and dropped replies say that the ledger is closed.
        }
    }
}
