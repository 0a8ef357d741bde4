//! When somebody is told: at the end of a run, and while somebody lets the attention list be watched. The root of the store is
//! sent then, too, once a day.
//!
//! Invariant: without settings nothing is opened and nothing is sent. What goes wrong is a line on standard error, never
//! another exit code. Deliberately absent: what is sent, and that it is sent once.

use std::io::Write;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use callboard_engine::{Host, Notifier, Told, View, id_of_roots, needs_somebody, notification_due};
use callboard_kernel::{EntityId, one_line};
use callboard_ledger::Ledger;
use callboard_notify::Settings;

use crate::clock::{self, Real};
use crate::error::{Error, told};
use crate::store::Store;
use crate::store::config;

/// Tells that a run that has ended needs somebody, if it does and somebody wants to be told.
pub(crate) fn after_end(view: &View<'_>, store: &Store, host: &Host, quiet: bool) {
    let now = clock::now();
    let settings = config::notifications();
    if let Some(problem) = settings.as_ref().ok().and_then(|settings| after_day(settings, store, host))
        && !quiet
    {
        drop(writeln!(anstream::stderr(), "callboard: the root was not sent: {}", one_line(&problem)));
    }
    if !needs_somebody(view, now) {
        return;
    }
    let problem = match settings {
        Ok(settings) if !notification_due(view, &settings, now) => return,
        Ok(settings) => match store.reopen_quietly() {
            Ok(ledger) => {
                let notifier = Notifier { ledger: &ledger, settings: &settings, world: host, clock: &Real };
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

/// Sends the root of the store if it is time for it; what went wrong, if anything did.
fn after_day(settings: &Settings, store: &Store, host: &Host) -> Option<String> {
    if !settings.daily_root {
        return None;
    }
    match store.reopen_quietly() {
        Ok(ledger) => send_root(&Notifier { ledger: &ledger, settings, world: host, clock: &Real }),
        Err(error) => Some(told(&error)),
    }
}

fn send_root(notifier: &Notifier<'_>) -> Option<String> {
    match notifier.send_daily_root(id_of_roots()) {
        Ok(Told::Sent | Told::NotDue | Told::Later) => None,
        Ok(Told::Failed(problem)) => Some(problem),
        Err(error) => Some(told(&error)),
    }
}

/// Tells one; what went wrong, if anything did.
fn tell(notifier: &Notifier<'_>, id: EntityId) -> Option<String> {
    match notifier.tell(id) {
        Ok(Told::Sent | Told::NotDue | Told::Later) => None,
        Ok(Told::Failed(problem)) => Some(problem),
        Err(error) => Some(told(&error)),
    }
}

/// Tells in the background, one after the other, so that a receiver that hangs does not hold up the list.
pub(crate) struct Teller {
    settings: Settings,
    at_work: Option<JoinHandle<()>>,
    /// When it is next looked whether the root of the store is to be sent.
    root_at: Instant,
}

/// How often that is looked at.
const ROOT_LOOK: Duration = Duration::from_secs(60);

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
        Ok(Self { settings, at_work: None, root_at: Instant::now() })
    }

    /// Tells those of the views that are due, unless it is still at work on others: they are met at the next look.
    pub(crate) fn look(&mut self, ledger: &Ledger, views: &[View<'_>]) {
        if self.at_work.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let now = clock::now();
        let due = views.iter().filter(|view| notification_due(view, &self.settings, now));
        let ids: Vec<EntityId> = due.map(|view| view.id).collect();
        let is_root_due = self.settings.daily_root && self.root_at <= Instant::now();
        if ids.is_empty() && !is_root_due {
            return;
        }
        if is_root_due {
            self.root_at = Instant::now() + ROOT_LOOK;
        }
        let (ledger, settings) = (ledger.clone(), self.settings.clone());
        let thread = std::thread::Builder::new().name("notifier".to_owned());
        let spawned = thread.spawn(move || {
            let host = Host::this();
            let notifier = Notifier { ledger: &ledger, settings: &settings, world: &host, clock: &Real };
            if is_root_due {
                // What went wrong is recorded, and tried again later.
                send_root(&notifier);
            }
            for id in ids {
                // What went wrong is recorded with the run, and tried again later.
                tell(&notifier, id);
            }
        });
        self.at_work = spawned.ok();
    }
}
