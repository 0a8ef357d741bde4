//! Gates that a command opens: tasks wait until it succeeds, such as one that asks whether a pull request is merged.
//!
//! Invariant: only a command that a person wrote down is run, in the repository of its task, as a run of its own under a supervisor. A gate that
//! stays closed is asked less and less often. Deliberately absent: gates of people and of time, which need no process.

use std::path::PathBuf;

use callboard_engine::tasks::TaskError;
use callboard_kernel::fact;
use callboard_kernel::task::{Dependency, waited_for};
use callboard_ledger::Stored;

use crate::crew::Crew;
use crate::janitor::Site;
use crate::pace::Pace;

impl Crew {
    /// Asks the gates that are due, and opens those whose command succeeds.
    pub(crate) fn ask_gates(
        &self,
        live: &[Stored],
        pace: &mut Pace,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), TaskError> {
        for stored in live {
            for gate in waited_for(&stored.entity) {
                let (Dependency::Command { command } | Dependency::PullRequest { command }) = &gate else {
                    continue;
                };
                if goes_on() && self.is_here(stored) && pace.is_due(stored.entity.state.id, command) {
                    self.ask_gate(stored, &gate, command)?;
                }
            }
        }
        Ok(())
    }

    fn ask_gate(&self, stored: &Stored, gate: &Dependency, command: &str) -> Result<(), TaskError> {
        let id = stored.entity.state.id;
        let repo = stored.entity.facts.read(fact::REPO).map(PathBuf::from).or_else(|| self.repo.clone());
        let (Some(dir), true) = (repo, self.is_by_person(id)?) else { return Ok(()) };
        let site = Site { task: id, parent: id, dir: &dir, git: None };
        if self.once(&site, &format!("gate: {command}"), command)?.passed {
            match self.asking(self.system_actor()).gate_opened(stored, gate) {
                // Somebody changed the task meanwhile; it is asked again.
                Ok(()) | Err(TaskError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
