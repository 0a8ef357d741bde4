//! Telling many callers at once, beside the writer.
//!
//! Invariant: what is given here is durable or refused already. Waking a caller costs the system as much as writing
//! its record; so a large batch is answered by a thread of its own while the next one is written, and a small one at
//! once, because a lone caller would only wait longer. Deliberately absent: deciding what the answer is.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use crate::store::Job;
use crate::writing::batch::JobResult;

/// Batches up to this size are answered at once.
const AT_ONCE: usize = 8;

/// Gives the answers of one writer. The thread is there from the first large batch on; most writers never have one.
#[derive(Default)]
pub(crate) struct Answers {
    batches: Option<Sender<Vec<(Job, JobResult)>>>,
    thread: Option<JoinHandle<()>>,
}

impl Answers {
    /// Answers every job of a batch. The callers are waiting, so there are never more batches than they can fill.
    pub(crate) fn give(&mut self, batch: Vec<(Job, JobResult)>) {
        if batch.len() <= AT_ONCE {
            return tell(batch);
        }
        if self.thread.is_none() {
            self.begin();
        }
        match &self.batches {
            Some(batches) => {
                if let Err(back) = batches.send(batch) {
                    tell(back.0);
                }
            }
            None => tell(batch),
        }
    }

    /// Without a thread the writer answers by itself, and is only slower.
    fn begin(&mut self) {
        let (batches, given) = channel::<Vec<(Job, JobResult)>>();
        let thread = std::thread::Builder::new().name("ledger-answers".to_owned());
        if let Ok(thread) = thread.spawn(move || given.iter().for_each(tell)) {
            (self.batches, self.thread) = (Some(batches), Some(thread));
        }
    }
}

fn tell(batch: Vec<(Job, JobResult)>) {
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
