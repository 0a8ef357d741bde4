//! A ticket for one answer: the caller waits in its own way, blocking or as a future.
//!
//! Invariant: exactly one answer is put in, by the writer, after the sync. If the writer is gone, the answer is that
//! the ledger is closed. Deliberately absent: any runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::{AppendError, Fault, GroupError};
use crate::store::Receipt;
use crate::writing::batch::{Denied, JobResult};

#[derive(Default)]
struct Inside {
    answer: Option<JobResult>,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Shared {
    inside: Mutex<Inside>,
    answered: Condvar,
}

/// The caller's side of one command: wait for the answer, or await it.
pub struct Ticket(Arc<Shared>);

/// The caller's side of a group: one answer for all its commands.
pub struct GroupTicket(Ticket);

/// The writer's side.
pub(crate) struct Reply(Option<Arc<Shared>>);

/// A new pair.
pub(crate) fn pair() -> (Reply, Ticket) {
    let shared = Arc::new(Shared::default());
    (Reply(Some(Arc::clone(&shared))), Ticket(shared))
}

impl Reply {
    pub(crate) fn answer(mut self, answer: JobResult) {
        if let Some(shared) = self.0.take() {
            put(&shared, answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            put(&shared, Err(Fault::Closed.into()));
        }
    }
}

fn put(shared: &Shared, answer: JobResult) {
    let waker = {
        let mut inside = shared.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.answer = Some(answer);
        inside.waker.take()
    };
    shared.answered.notify_one();
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Ticket {
    /// Blocks until the command is durable or refused.
    pub fn wait(self) -> Result<Receipt, AppendError> {
        one(self.verdict())
    }

    fn verdict(self) -> JobResult {
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

fn one(verdict: JobResult) -> Result<Receipt, AppendError> {
    verdict.map(|receipts| receipts.first).map_err(|denied| denied.error)
}

fn all(verdict: JobResult) -> Result<Vec<Receipt>, GroupError> {
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
    fn poll_verdict(&self, context: &Context<'_>) -> Poll<JobResult> {
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
