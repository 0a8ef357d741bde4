//! `callboard task approve`: a person agrees to a plan, or to a result.

use std::sync::Arc;

use callboard_crew::Profile;
use callboard_engine::tasks::{Asking, TaskError, refused};
use callboard_kernel::{EntityId, RefusalCode, fact, task};
use callboard_ledger::Stored;
use callboard_lifecycle::task::TaskState;
use clap::Args;

use super::subject::SubjectArgs;
use crate::commands::crew::work;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Approve a task of a plan, which opens it to be claimed, or a result that waits for approval, which merges it.
#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Every task of the same plan that nobody has decided about.
    #[arg(long)]
    all_of_plan: bool,
}

impl ApproveArgs {
    /// Approves it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        self.subject.decide(screen, store, "approving", |asking, id| {
            let stored = asking.task(id)?;
            match task::state(&stored.entity) {
                Some(TaskState::PendingApproval) => finish_approved(store, asking, &stored),
                _ => asking.approve_plan(&chosen(asking, id, self.all_of_plan)?, "approved"),
            }
        })
    }
}

/// The tasks that are meant: one, or those of its plan. One that is not planned any more is asked for all the same, and refused.
pub(super) fn chosen(
    asking: &Asking<'_>,
    id: EntityId,
    all_of_plan: bool,
) -> Result<Vec<EntityId>, TaskError> {
    let all = if all_of_plan { asking.planned_with(id)? } else { vec![id] };
    Ok(if all.is_empty() { vec![id] } else { all })
}

/// Merges a result that a person approves, here and now, and closes its task in the name of that person.
pub(in crate::commands) fn finish_approved(
    store: &Store,
    asking: &Asking<'_>,
    stored: &Stored,
) -> Result<(), TaskError> {
    let id = stored.entity.state.id;
    let unfit = |error: Error| TaskError::Unfit { problem: error.to_string(), help: "try again".to_owned() };
    let mut crew = work::crew_of(store, asking.ledger.clone(), Profile::default()).map_err(unfit)?;
    // The answer of this verb says what became of it.
    crew.say = Arc::new(|_| ());
    crew.merge_approved(stored, &asking.actor)?;
    let now = asking.task(id)?;
    match task::state(&now.entity) {
        Some(TaskState::PendingApproval) => {
            let problem = now.entity.facts.read(fact::PROBLEM).unwrap_or("its result cannot be merged");
            let help = format!(
                "mend that and approve it again, or send it back: callboard task reject {id} --send-back --because TEXT"
            );
            Err(refused(&now, RefusalCode::NotPermitted, problem, help))
        }
        _ => Ok(()),
    }
}
