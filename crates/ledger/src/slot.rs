//! A slot for one answer: the caller waits in its own way, blocking or as a future.
//!
//! Invariant: exactly one answer is put in, by the writer, after the sync. If the writer is gone, the answer is that
//! the ledger is closed. Deliberately absent: any runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::{AppendError, Fault};
use crate::store::Receipt;

/// What became of a command.
pub(crate) type Answer = Result<Receipt, AppendError>;

#[derive(Default)]
struct Inside {
    answer: Option<Answer>,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Slot {
    inside: Mutex<Inside>,
    answered: Condvar,
}

/// The caller's side: wait for the answer, or await it.
pub struct Ticket(Arc<Slot>);

/// The writer's side.
pub(crate) struct Reply(Option<Arc<Slot>>);

/// A new pair.
pub(crate) fn pair() -> (Reply, Ticket) {
    let slot = Arc::new(Slot::default());
    (Reply(Some(Arc::clone(&slot))), Ticket(slot))
}

impl Reply {
    pub(crate) fn answer(mut self, answer: Answer) {
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

fn put(slot: &Slot, answer: Answer) {
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
        let mut inside = self.0.inside.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(answer) = inside.answer.take() {
                return answer;
            }
            inside = self.0.answered.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Future for Ticket {
    type Output = Result<Receipt, AppendError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
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
