//! What people do on the task board through a surface: they add tasks, change them and decide.
//!
//! Invariant: an agent and a viewer do none of it. Deliberately absent: importing plans, which is done where the plan file is.

use callboard_kernel::EntityId;
use callboard_kernel::task;
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{ActorClass, Kind};
use callboard_wire::{
    ApprovalRequest, DecisionRequest, RejectionRequest, RetryRequest, TaskChange, TaskRequest,
};

use super::caller::{ActError, Acting, Caller, Performed, not_allowed, said};
use super::decisions::retry::RetryTime;
use super::desk::Decided;
use super::new_task::NewTask;

impl Acting<'_> {
    /// Adds a task.
    pub fn add(&self, request: &TaskRequest) -> Result<(EntityId, Performed), ActError> {
        let asking = match &self.caller {
            Caller::Agent(_) => {
                let help = "split your own task into parts instead";
                return Err(not_allowed("an agent adds tasks only as parts of its own", help));
            }
            Caller::Person(_) | Caller::Viewer => self.person()?,
        };
        let new = NewTask::read(request, ActorClass::Operator)?;
        let mut id = asking.fresh_id(Kind::Task);
        let performed = self.once(id, || {
            id = asking.add(new.clone())?;
            Ok(())
        })?;
        Ok((id, performed))
    }

    /// Changes what is asked for.
    pub fn edit(&self, id: EntityId, change: &TaskChange) -> Result<Performed, ActError> {
        let asking = self.person()?;
        self.once(id, || Ok(asking.edit(id, change)?))
    }

    /// Approves a plan or a result.
    pub fn approve(&self, id: EntityId, request: &ApprovalRequest) -> Result<Performed, ActError> {
        let asking = self.person()?;
        let because = said(request.because.as_deref(), "approved")?;
        self.once(id, || {
            let (Decided::Opened(_) | Decided::Merge | Decided::Closed) =
                asking.approve(id, because, request.whole_plan)?;
            Ok(())
        })
    }

    /// Rejects a plan or a result.
    pub fn reject(&self, id: EntityId, request: &RejectionRequest) -> Result<Performed, ActError> {
        let asking = self.person()?;
        let because = said(Some(&request.because), "")?;
        self.once(id, || {
            let stored = asking.task(id)?;
            if task::state(&stored.entity) == Some(TaskState::Planned) {
                let tasks = if request.whole_plan { asking.planned_with(id)? } else { vec![id] };
                Ok(asking.reject_plan(&tasks, because)?)
            } else {
                Ok(asking.turn_down(id, because, request.again)?)
            }
        })
    }

    /// Calls a task off.
    pub fn cancel(&self, id: EntityId, request: &DecisionRequest) -> Result<Performed, ActError> {
        let asking = self.person()?;
        let because = said(request.because.as_deref(), "called off")?;
        self.once(id, || Ok(asking.cancel(id, because)?))
    }

    /// Lets a failed task be tried once more.
    pub fn retry(&self, id: EntityId, request: &RetryRequest) -> Result<Performed, ActError> {
        let asking = self.person()?;
        let because = said(request.because.as_deref(), "tried once more")?;
        let time = if request.more_time { RetryTime::Doubled } else { RetryTime::Same };
        self.once(id, || Ok(asking.retry(id, because, time)?))
    }

    /// Says that what a task waits for is there.
    pub fn unblock(&self, id: EntityId, request: &DecisionRequest) -> Result<Performed, ActError> {
        let asking = self.person()?;
        let because = said(request.because.as_deref(), "what it waited for is there")?;
        self.once(id, || Ok(asking.unblock(id, because)?))
    }
}
