//! Which task a person decides about, and who may.

use callboard_engine::tasks::{Asking, TaskError};
use callboard_kernel::EntityId;
use clap::Args;

use crate::commands::tasks::answer::{asking, task_id, told};
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::need_person;

/// Which task a person decides about.
#[derive(Args, Debug)]
pub(crate) struct SubjectArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID")]
    id: String,
    /// The task as JSON.
    #[arg(long)]
    json: bool,
}

impl SubjectArgs {
    /// Does what a person decided, and says where the task stands then.
    pub(super) fn decide(
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
