//! Verbs of a person who decides about tasks: approving, rejecting, cancelling, trying again, unblocking.
//!
//! Invariant: all of them are refused inside a run.

mod approve;
mod cancel;
mod reject;
mod retry;
mod unblock;

pub(super) use self::approve::ApproveArgs;
pub(super) use self::cancel::CancelArgs;
pub(super) use self::reject::RejectArgs;
pub(super) use self::retry::RetryArgs;
pub(super) use self::unblock::UnblockArgs;

use callboard_engine::tasks::{Asking, TaskError};
use callboard_kernel::EntityId;
use clap::Args;

use super::answer::{asking, task_id, told};
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::need_person;

/// Which task a person decides about.
#[derive(Args, Debug)]
struct SubjectArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID")]
    id: String,
    /// The task as JSON.
    #[arg(long)]
    json: bool,
}

impl SubjectArgs {
    /// Does what a person decided, and says where the task stands then.
    fn decide(
        &self,
        screen: &Screen,
        store: &Store,
        act: &'static str,
        deed: impl FnOnce(&Asking<'_>, EntityId) -> Result<(), TaskError>,
    ) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        need_person(act, Some(&ledger))?;
        let id = task_id(&ledger, &self.id)?;
        told(screen, &ledger, id, self.json, deed(&asking(&ledger)?, id))
    }
}
