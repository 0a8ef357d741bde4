//! What crashed workers of this host left: their agents are stopped, their work is kept on its branch, and their tasks go on.
//!
//! Invariant: partial work is held by a ref before the task moves on. A task whose signals are all passed by what is there counts as done; else it
//! goes back to the board if a retry is left, and fails if none is. A worker is buried only when its process is seen to be gone.
//! Deliberately absent: noticing that a lease ended, which the service of the tasks does.

use std::path::Path;
use std::time::Duration;

use callboard_engine::tasks::{Recovered, TaskError, WorkerEnd};
use callboard_engine::{Duty, RECOVERY_ON, Service, Stepped, process_is_gone};
use callboard_kernel::{EntityId, Facts, fact, task};
use callboard_ledger::{Sequence, Slice, Stored, error_chain};
use callboard_lifecycle::Kind;
use callboard_lifecycle::worker::AbortReason;

use crate::attempt::FAREWELL;
use crate::crew::Crew;

const EVERY: Duration = Duration::from_secs(1);
/// A task of another host that nobody there recovers is put back without its files after this time.
const ELSEWHERE: Duration = Duration::from_secs(60);

/// The recovery of one host.
pub struct RecoveryService {
    crew: Crew,
    name: String,
}

impl RecoveryService {
    /// A recovery that works with the means of a crew.
    pub fn new(crew: Crew) -> Self {
        let name = format!("{RECOVERY_ON}{}", crew.host.name());
        Self { crew, name }
    }

    fn look(&self) -> Result<(), TaskError> {
        self.crew.bury_the_dead()?;
        for stored in self.crew.live_tasks()? {
            self.crew.stop_abandoned(&stored)?;
            if task::is_moved_by(&stored.entity, task::RECOVERY) {
                match self.crew.recover(&stored) {
                    Ok(()) | Err(TaskError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

impl Service for RecoveryService {
    fn name(&self) -> &str {
        &self.name
    }

    fn every(&self) -> Duration {
        EVERY
    }

    fn follows_log(&self) -> bool {
        true
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        let head = duty.ledger.head();
        match self.look() {
            Ok(()) => duty.done(head.unwrap_or(duty.position)),
            Err(error) => duty.failed(error_chain(&error)),
        }
    }
}

impl Crew {
    /// Ends an agent that goes on though nobody holds its task any more: it reported the end itself, and its worker died before it saw that.
    fn stop_abandoned(&self, stored: &Stored) -> Result<(), TaskError> {
        let facts = &stored.entity.facts;
        let is_held = facts.known(fact::LEASE_HOLDER).is_some();
        let is_here = facts.read(fact::HOST).is_some_and(|host| host == self.host.name());
        let since = stored.entity.entered_at.unwrap_or_default();
        if is_held || !is_here || self.now().since(since) < FAREWELL || !self.has_living_run(stored)? {
            return Ok(());
        }
        match facts.read(fact::RUN).and_then(|text| text.parse::<EntityId>().ok()) {
            Some(run) => self.stop_run(run),
            None => Ok(()),
        }
    }

    fn recover(&self, stored: &Stored) -> Result<(), TaskError> {
        let facts = &stored.entity.facts;
        let asking = self.asking(self.system_actor());
        if !self.is_here(stored) {
            let since = stored.entity.entered_at.unwrap_or_default();
            if self.now().since(since) < ELSEWHERE {
                return Ok(());
            }
            let host = facts.read(fact::HOST).unwrap_or("another host");
            let told = format!("its worker on {host} stopped beating, and nobody there keeps its files");
            return asking.recovered(stored, Recovered::Nothing, &told, Facts::none());
        }
        if self.has_living_run(stored)? {
            if let Some(run) = facts.read(fact::RUN).and_then(|text| text.parse::<EntityId>().ok()) {
                self.stop_run(run)?;
            }
            // It is looked at again once the run has ended.
            return Ok(());
        }
        let Some(repo) = facts.read(fact::REPO) else {
            return asking.recovered(stored, Recovered::Nothing, "its worker stopped beating", Facts::none());
        };
        match self.worktree_of(stored, Path::new(repo)) {
            Ok((repository, worktree, base, tip)) => {
                let data = Facts::none().and(fact::TIP, tip.as_str()).and(fact::BRANCH, worktree.branch());
                let is_changed = repository.is_changed(&base, &tip).unwrap_or(false);
                let told = format!(
                    "its worker stopped beating; what it left is kept on {} ({tip})",
                    worktree.branch()
                );
                // Whether it is enough is for the janitor to say; without a check there is nothing that could say so.
                let has_checks = facts.read(fact::SIGNALS).is_some_and(|signals| !signals.is_empty());
                let found = if is_changed
                    && has_checks
                    && self.signals_pass(stored, &worktree, (&repository, &base, &tip))?
                {
                    Recovered::Enough
                } else {
                    Recovered::Partly
                };
                asking.recovered(stored, found, &told, data)
            }
            Err(problem) => {
                let told = format!("its worker stopped beating, and its files cannot be read: {problem}");
                asking.recovered(stored, Recovered::Nothing, &told, Facts::none())
            }
        }
    }

    /// Buries workers of this host whose process is gone.
    fn bury_the_dead(&self) -> Result<(), TaskError> {
        let slice = Slice {
            kind: Some(Kind::Worker),
            live: true,
            order: Sequence::Oldest,
            limit: 1000,
            ..Slice::default()
        };
        let asking = self.asking(self.system_actor());
        for stored in self.ledger.slice(slice)? {
            if process_is_gone(&stored, &*self.host) {
                let end = WorkerEnd::Gone(AbortReason::Unknown, "its process is not there any more");
                match asking.bury(stored.entity.state.id, end) {
                    Ok(()) | Err(TaskError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}
