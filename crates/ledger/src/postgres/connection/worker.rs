//! A small runtime of the reader's own, behind calls that block.
//!
//! Invariant: the caller's thread only waits on a channel, so a call is allowed anywhere, on a thread of another
//! runtime too, which it holds up until the answer is there. Deliberately absent: any work of a caller on this
//! runtime; it only talks to the server.

use std::future::Future;
use std::sync::mpsc::{Receiver, sync_channel};

use tokio::runtime::{Builder, Runtime};

pub(in crate::postgres) struct Worker(Option<Runtime>);

/// An answer that is on its way.
pub(in crate::postgres) struct Pending<T>(Receiver<T>);

impl Worker {
    pub(in crate::postgres) fn new() -> std::io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("ledger-reader").enable_all();
        Ok(Self(Some(builder.build()?)))
    }

    /// Starts the work and lets the caller go on.
    pub(in crate::postgres) fn start<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Pending<T> {
        let (sender, receiver) = sync_channel(1);
        let Some(runtime) = &self.0 else { unreachable!("BUG: it is taken only when it is dropped") };
        drop(runtime.spawn(async move {
            // Whoever stopped waiting does not need the answer.
            drop(sender.send(work.await));
        }));
        Pending(receiver)
    }
}

impl<T> Pending<T> {
    /// Blocks until the answer is there.
    pub(in crate::postgres) fn wait(self) -> T {
        self.0.recv().unwrap_or_else(|_| unreachable!("BUG: a question to the server panicked"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Waiting for its threads is not allowed on a thread of another runtime, and nothing is left to wait for.
            runtime.shutdown_background();
        }
    }
}
