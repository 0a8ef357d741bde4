//! Acting for a task that is held: which hold counts, who acts under it, and the refusal where there is none.
//!
//! Invariant: a person acts as the worker that holds the task, and an agent only for the task that its own run is about, also where no
//! guard would ask: a heartbeat and a word about progress move nothing. Deliberately absent: what is done under the hold.

use callboard_kernel::{EntityId, Refusal, RefusalCode, fact, task};
use callboard_ledger::{Ledger, ReadError, Stored};
use callboard_lifecycle::ActorClass;

use super::asking::{Asking, TaskError};
use super::holding::{Hold, worker_actor};

impl<'a> Asking<'a> {
    /// The hold under which whoever asks acts for a task, and who acts: its worker, or the agent of its run. The epoch is the recorded
    /// one unless the caller was given another.
    pub fn acting_for(&self, id: EntityId, epoch: Option<u64>) -> Result<(Asking<'a>, Hold), TaskError> {
        let stored = self.task(id)?;
        let Some(mut hold) = self.held(id)? else {
            let help = format!("claim it: callboard task claim {id}");
            return Err(refused(&stored, RefusalCode::LeaseLost, "nobody holds it", help));
        };
        hold.epoch = epoch.unwrap_or(hold.epoch);
        if self.actor.class != ActorClass::Agent {
            return Ok((self.acting_as(worker_actor(hold.worker)), hold));
        }
        if stored.entity.facts.read(fact::RUN) != Some(self.actor.id.as_str()) {
            let problem = format!("{} holds it, and this is called from another run", hold.worker);
            let help = "claim a task of your own: callboard task claim --next".to_owned();
            return Err(refused(&stored, RefusalCode::NotPermitted, &problem, help));
        }
        Ok((self.clone(), hold))
    }

    /// The same, asked by a worker.
    #[must_use]
    pub fn acting_for_worker(&self, worker: EntityId) -> Self {
        self.acting_as(worker_actor(worker))
    }
}

/// What is known of the lease of a task.
pub fn lease(ledger: &Ledger, task: EntityId) -> Result<Option<callboard_ledger::LeaseSeen>, ReadError> {
    let name = task.to_string();
    let is_held = |seen: &callboard_ledger::LeaseSeen| seen.lease.name == name && !seen.left.is_zero();
    Ok(ledger.leases()?.into_iter().find(is_held))
}

/// A refusal of something that no command stands for, in the shape of the kernel's.
pub fn refused(stored: &Stored, code: RefusalCode, problem: &str, help: String) -> TaskError {
    let (id, state) = (stored.entity.state.id, stored.entity.state.lifecycle);
    let machine = id.kind().machine();
    let allowed = task::state(&stored.entity).map_or_else(Vec::new, |state| machine.targets(state as u8));
    TaskError::Refused(Box::new(Refusal {
        code,
        message: format!("{id}: {problem}"),
        entity: id.into(),
        from: state,
        to: None,
        allowed: allowed.into_iter().map(|state| machine.state_name(state)).collect(),
        guard: None,
        help,
    }))
}
