//! `callboard task approve`: a person agrees to a plan, or to a result.

use callboard_engine::tasks::{Asking, TaskError, refused};
use callboard_kernel::{EntityId, RefusalCode, task};
use callboard_ledger::Stored;
use callboard_lifecycle::task::TaskState;
use clap::Args;

use super::SubjectArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Approve a task of a plan, which opens it to be claimed.
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
                Some(TaskState::PendingApproval) => finish_approved(asking, &stored),
                _ => asking.approve_plan(&chosen(asking, id, self.all_of_plan)?),
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

/// Merges a result that a person approves. Merging is the work of `callboard work`, which is not part of this program yet.
fn finish_approved(_asking: &Asking<'_>, stored: &Stored) -> Result<(), TaskError> {
    let id = stored.entity.state.id;
    let problem = "its result waits to be merged, which task approve does not do";
    let help = format!("send it back or reject it: callboard task reject {id} --because TEXT [--send-back]");
    Err(refused(stored, RefusalCode::NotPermitted, problem, help))
}
