//! The notifier as a service: it tells what the log and the state of live things need somebody for.
//!
//! Invariant: the position stays before a record whose condition is not told yet, so whoever takes over tells it. What one step
//! told, a repeated one does not tell again, because the claim of the condition is in the log. Deliberately absent: what is
//! sent, and that it is sent once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use callboard_kernel::EntityId;
use callboard_ledger::{Page, Record, RecordScope, Slice, error_chain};
use callboard_lifecycle::{Kind, Words};
use callboard_notify::Settings;

use super::notifier::{Abandoned, Notifier, TellError, Told, notification_due};
use super::service::{Duty, Service, Stepped};
use crate::host::Host;
use crate::ids;
use crate::judging::observed::Observed;
use crate::judging::viewpoint::Viewpoint;
use crate::run::Clock;
use crate::world::World;

/// How often live things are looked at, whose condition may change though nothing is recorded.
const EVERY: Duration = Duration::from_secs(5);
/// How often it is looked at whether the root of the store is to be sent.
const ROOT_LOOK: Duration = Duration::from_secs(60);
/// Records read at once.
const PAGE: usize = 256;
/// Live things read at once.
const LIVE: usize = 256;
/// A receiver that hangs must not keep the position from being recorded.
const STEP_MAX: Duration = Duration::from_secs(10);

/// Tells what needs somebody.
pub struct NotifierService {
    settings: Settings,
    host: Arc<Host>,
    clock: Arc<dyn Clock + Send + Sync>,
    /// The last record that was read.
    read_to: u64,
    /// What is still to be told, with the record that showed it.
    open: BTreeMap<EntityId, u64>,
    /// The live things that were due at the last look.
    due_before: BTreeSet<EntityId>,
    looked: Option<Instant>,
    root_looked: Option<Instant>,
    problem: Option<String>,
}

impl NotifierService {
    /// One that sends what the settings say.
    pub fn new(settings: Settings, host: Arc<Host>, clock: Arc<dyn Clock + Send + Sync>) -> Self {
        let (open, due_before) = Default::default();
        let (looked, root_looked) = (None, None);
        Self { settings, host, clock, read_to: 0, open, due_before, looked, root_looked, problem: None }
    }

    fn since(&self, moment: Instant) -> Duration {
        self.host.instant().saturating_duration_since(moment)
    }

    fn work(&mut self, duty: &Duty<'_>) -> Result<(), TellError> {
        let began = self.host.instant();
        for id in self.open.keys().copied().collect::<Vec<_>>() {
            self.tell(duty, id, self.read_to, Abandoned::Left)?;
        }
        let page = Page { after: self.read_to, limit: PAGE, scope: RecordScope::All };
        let mut told = BTreeSet::new();
        for record in duty.ledger.records(page)? {
            if !duty.is_held() || self.since(began) >= STEP_MAX {
                return Ok(());
            }
            if let Some(id) = subject(&record)
                && told.insert(id)
            {
                self.tell(duty, id, record.seq, Abandoned::Left)?;
            }
            self.read_to = record.seq;
        }
        self.look_at_live(duty, began)?;
        self.send_root(duty)
    }

    /// Conditions that nobody recorded: a supervisor that died, a run that stalls. What is due is told if it was due at the look
    /// before, too, because a run whose supervisor died is ended by the reaper a moment later, and that is told instead.
    fn look_at_live(&mut self, duty: &Duty<'_>, began: Instant) -> Result<(), TellError> {
        if self.looked.is_some_and(|looked| self.since(looked) < EVERY) {
            return Ok(());
        }
        self.looked = Some(self.host.instant());
        let due = self.live_and_due(duty)?;
        let before = std::mem::replace(&mut self.due_before, due);
        for id in self.due_before.intersection(&before).copied().collect::<Vec<_>>() {
            if self.since(began) >= STEP_MAX {
                return Ok(());
            }
            self.tell(duty, id, self.read_to, Abandoned::Told)?;
        }
        Ok(())
    }

    fn live_and_due(&self, duty: &Duty<'_>) -> Result<BTreeSet<EntityId>, TellError> {
        let mut slice = Slice { live: true, limit: LIVE, ..Slice::default() };
        let mut due = BTreeSet::new();
        loop {
            let some = duty.ledger.slice(slice.clone())?;
            let Some(last) = some.last() else { return Ok(due) };
            slice.beyond = Some(last.entity.state.id);
            let now = self.clock.now();
            let seen = Observed::all(duty.ledger, some, &Viewpoint::present(now, &*self.host))?;
            let views = seen.iter().map(Observed::view);
            due.extend(views.filter(|view| notification_due(view, &self.settings, now)).map(|view| view.id));
        }
    }

    fn tell(
        &mut self,
        duty: &Duty<'_>,
        id: EntityId,
        seq: u64,
        abandoned: Abandoned,
    ) -> Result<(), TellError> {
        if !duty.is_held() {
            return Ok(());
        }
        match self.notifier(duty).tell_of(id, abandoned)? {
            Told::NotDue | Told::Sent => {
                self.open.remove(&id);
            }
            Told::Later => {
                self.open.entry(id).or_insert(seq);
            }
            Told::Failed(problem) => {
                self.open.entry(id).or_insert(seq);
                self.problem = Some(problem);
            }
        }
        Ok(())
    }

    fn send_root(&mut self, duty: &Duty<'_>) -> Result<(), TellError> {
        let is_due = self.root_looked.is_none_or(|looked| self.since(looked) >= ROOT_LOOK);
        if !self.settings.daily_root || !is_due || !duty.is_held() {
            return Ok(());
        }
        self.root_looked = Some(self.host.instant());
        if let Told::Failed(problem) = self.notifier(duty).send_daily_root(ids::id_of_roots())? {
            self.problem = Some(problem);
        }
        Ok(())
    }

    fn notifier<'a>(&'a self, duty: &Duty<'a>) -> Notifier<'a> {
        Notifier { ledger: duty.ledger, settings: &self.settings, world: &*self.host, clock: &*self.clock }
    }

    /// Everything up to here was told or needs nobody.
    fn position(&self) -> u64 {
        self.open.values().min().map_or(self.read_to, |first| self.read_to.min(first.saturating_sub(1)))
    }
}

/// What a record is about.
fn subject(record: &Record) -> Option<EntityId> {
    Kind::parse(&record.kind).ok().map(|kind| EntityId::new(kind, record.entity))
}

impl Service for NotifierService {
    fn name(&self) -> &str {
        super::status::NOTIFIER
    }

    fn every(&self) -> Duration {
        EVERY
    }

    fn follows_log(&self) -> bool {
        !self.settings.is_off()
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        if self.settings.is_off() {
            // What happens while nothing is to be sent is not told later.
            return match duty.ledger.head() {
                Ok(head) => duty.done(head),
                Err(error) => duty.failed(error_chain(&error)),
            };
        }
        self.read_to = self.read_to.max(duty.position);
        let is_quiet = self.open.is_empty();
        if is_quiet {
            self.problem = None;
        }
        let error = match self.work(duty) {
            Err(error) => Some(error_chain(&error)),
            Ok(()) if self.open.is_empty() => self.problem.clone().filter(|_| is_quiet),
            Ok(()) => {
                let told = self.problem.as_deref().unwrap_or("another process is telling it");
                Some(format!("{} not told yet: {told}", self.open.len()))
            }
        };
        Stepped { position: self.position().max(duty.position), error }
    }
}
