//! A slot for one answer: the caller waits in its own way, blocking or as a future.
//!
//! Invariant: exactly one answer is put in, by the writer, after the sync. If the writer is gone, the answer is that
//! the ledger is closed. Deliberately absent: any runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::batch::{Denied, Verdict};
use crate::error::{AppendError, Fault, GroupError};
use crate::store::Receipt;

#[derive(Default)]
struct Inside {
    answer: Option<Verdict>,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Slot {
    inside: Mutex<Inside>,
    answered: Condvar,
}

/// The caller's side of one command: wait for the answer, or await it.
pub struct Ticket(Arc<Slot>);

/// The caller's side of a group: one answer for all its commands.
pub struct GroupTicket(Ticket);

/// The writer's side.
pub(crate) struct Reply(Option<Arc<Slot>>);

/// A new pair.
pub(crate) fn pair() -> (Reply, Ticket) {
    let slot = Arc::new(Slot::default());
    (Reply(Some(Arc::clone(&slot))), Ticket(slot))
}

impl Reply {
    pub(crate) fn answer(mut self, answer: Verdict) {
        if let Some(slot) = self.0.take() {
            put(&slot, answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            put(&slot, Err(Fault::Closed.into()));
        }
    }
}

fn put(slot: &Slot, answer: Verdict) {
    let waker = {
        let mut inside = slot.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.answer = Some(answer);
        inside.waker.take()
    };
    slot.answered.notify_one();
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Ticket {
    /// Blocks until the command is durable or refused.
    pub fn wait(self) -> Result<Receipt, AppendError> {
        one(self.verdict())
    }

    fn verdict(self) -> Verdict {
        let mut inside = self.0.inside.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(answer) = inside.answer.take() {
                return answer;
            }
            inside = self.0.answered.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl GroupTicket {
    pub(crate) const fn of(ticket: Ticket) -> Self {
        Self(ticket)
    }

    /// Blocks until all commands of the group are durable, or none is.
    pub fn wait(self) -> Result<Vec<Receipt>, GroupError> {
        all(self.0.verdict())
    }
}

fn one(verdict: Verdict) -> Result<Receipt, AppendError> {
    verdict.map(|receipts| receipts.first).map_err(|denied| denied.error)
}

fn all(verdict: Verdict) -> Result<Vec<Receipt>, GroupError> {
    match verdict {
        Ok(receipts) => Ok(receipts.into_vec()),
        Err(Denied { at, error: AppendError::Refused(refusal) }) => Err(GroupError::Refused { at, refusal }),
        Err(Denied { error: AppendError::Fault(fault), .. }) => Err(fault.into()),
    }
}

impl Future for Ticket {
    type Output = Result<Receipt, AppendError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_verdict(context).map(one)
    }
}

impl Future for GroupTicket {
    type Output = Result<Vec<Receipt>, GroupError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_verdict(context).map(all)
    }
}

impl Ticket {
    fn poll_verdict(&self, context: &Context<'_>) -> Poll<Verdict> {
        let mut inside = self.0.inside.lock().unwrap_or_else(PoisonError::into_inner);
        match inside.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                inside.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
