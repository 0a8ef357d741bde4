//! When somebody is told: at the end of a run, and while somebody lets the attention list be watched.
//!
//! Invariant: without settings nothing is opened and nothing is sent. What goes wrong is a line on standard error, never
//! another exit code. Deliberately absent: what is sent, and that it is sent once.

use std::io::Write;
use std::thread::JoinHandle;

use callboard_engine::notify::{Notifier, Settings, Told, is_due};
use callboard_engine::{Host, View, needs_somebody};
use callboard_kernel::{EntityId, one_line};
use callboard_ledger::Ledger;

use crate::clock::{self, Real};
use crate::config;
use crate::error::{Error, told};
use crate::store::Store;

/// Tells that a run that has ended needs somebody, if it does and somebody wants to be told.
pub(crate) fn after_end(view: &View<'_>, store: &Store, host: &Host, quiet: bool) {
    let now = clock::now();
    if !needs_somebody(view, now) {
        return;
    }
    let problem = match config::notifications() {
        Ok(settings) if !is_due(view, &settings, now) => return,
        Ok(settings) => match store.reopen_quietly() {
            Ok(ledger) => {
                let notifier = Notifier { ledger: &ledger, settings: &settings, table: host, clock: &Real };
                tell(&notifier, view.id)
            }
            Err(error) => Some(told(&error)),
        },
        Err(error) => Some(told(&error)),
    };
    if let Some(problem) = problem.filter(|_| !quiet) {
        // Nobody to tell is no failure of the run.
        drop(writeln!(anstream::stderr(), "callboard: nobody was notified: {}", one_line(&problem)));
    }
}

/// Tells one; what went wrong, if anything did.
fn tell(notifier: &Notifier<'_>, id: EntityId) -> Option<String> {
    match notifier.tell(id) {
        Ok(Told::Sent | Told::NotDue) => None,
        Ok(Told::Failed(problem)) => Some(problem),
        Err(error) => Some(told(&error)),
    }
}

/// Tells in the background, one after the other, so that a receiver that hangs does not hold up the list.
pub(crate) struct Teller {
    settings: Settings,
    at_work: Option<JoinHandle<()>>,
}

impl Teller {
    /// One that sends what the settings say.
    pub(crate) fn new() -> Result<Self, Error> {
        let settings = config::notifications().map_err(Error::Settings)?;
        if settings.is_off() {
            return Err(Error::CommandLine {
                because: "no notification is turned on, so nobody could be told".to_owned(),
                instead: "docs/notifications.md says how to turn one on; callboard doctor shows what is set"
                    .to_owned(),
            });
        }
        Ok(Self { settings, at_work: None })
    }

    /// Tells those of the views that are due, unless it is still at work on others: they are met at the next look.
    pub(crate) fn look(&mut self, ledger: &Ledger, views: &[View<'_>]) {
        if self.at_work.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let now = clock::now();
        let due = views.iter().filter(|view| is_due(view, &self.settings, now));
        let ids: Vec<EntityId> = due.map(|view| view.id).collect();
        if ids.is_empty() {
            return;
        }
        let (ledger, settings) = (ledger.clone(), self.settings.clone());
        let thread = std::thread::Builder::new().name("notifier".to_owned());
        let spawned = thread.spawn(move || {
            let host = Host::this();
            let notifier = Notifier { ledger: &ledger, settings: &settings, table: &host, clock: &Real };
            for id in ids {
                // What went wrong is recorded with the run, and tried again later.
                tell(&notifier, id);
            }
        });
        self.at_work = spawned.ok();
    }
}
