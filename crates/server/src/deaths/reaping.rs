//! Ends runs whose supervisor is gone as soon as that is known, on a thread of its own.
//!
//! Invariant: whoever has to wait for stubborn processes holds up no question. What cannot be written now is written by
//! the round that is made every few seconds. Deliberately absent: the rules, which are the reaper's.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use callboard_engine::Reaper;
use callboard_kernel::EntityId;

use crate::app::{App, Shared};

/// How many runs are ended at once.
const AT_ONCE: usize = 32;

/// Starts the thread; it ends when nobody can send any more. Nobody waits for it when the server stops, because it may
/// be waiting for processes; what it has not written then, the next reaper writes.
pub(crate) fn reap_at_once(app: Shared) -> io::Result<Sender<EntityId>> {
    let (send, dead) = channel();
    std::thread::Builder::new().name("reaper".to_owned()).spawn(move || run(&app, &dead))?;
    Ok(send)
}

fn run(app: &App, dead: &Receiver<EntityId>) {
    while let Ok(first) = dead.recv() {
        let mut runs = vec![first];
        runs.extend(dead.try_iter());
        for some in runs.chunks(AT_ONCE) {
            std::thread::scope(|scope| {
                for run in some {
                    scope.spawn(|| end(app, *run));
                }
            });
        }
        // A supervisor that the server started is its child, and goes when it is asked for how it ended.
        app.runner.tidy();
    }
}

fn end(app: &App, run: EntityId) {
    let (now, older_than, dry_run) = (app.now(), Duration::ZERO, false);
    let reaper = Reaper { ledger: &app.ledger, world: &app.host, now, older_than, dry_run };
    if let Ok(Some(stored)) = app.ledger.entity(run)
        && stored.entity.ended_at.is_none()
    {
        drop(reaper.consider(&stored));
    }
}
