//! Which task a verb of its holder is about, and acting under its lease.

use callboard_engine::tasks::{Asking, Hold, TaskError, composed};
use callboard_ledger::Ledger;
use clap::Args;

use crate::commands::tasks::answer::{asking, task_id, told};
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// How long somebody holds a task who claims it from a terminal and sends no heartbeat.
pub(super) const LEASE: &str = "30m";

/// Which task, and under which of its leases.
#[derive(Args, Debug)]
pub(crate) struct HolderArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// Only under this lease of the task, which `task claim` printed; the recorded one unless given.
    #[arg(long, value_name = "N")]
    pub(super) epoch: Option<u64>,
    /// The task as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

impl HolderArgs {
    /// Does something under the hold, and says where the task stands then.
    pub(super) fn act(
        &self,
        screen: &Screen,
        store: &Store,
        deed: impl Fn(&Asking<'_>, &Hold) -> Result<(), TaskError>,
    ) -> Result<Exit, Error> {
        self.act_in(screen, &store.open_existing()?, deed)
    }

    /// The same in a store that is open.
    pub(super) fn act_in(
        &self,
        screen: &Screen,
        ledger: &Ledger,
        deed: impl Fn(&Asking<'_>, &Hold) -> Result<(), TaskError>,
    ) -> Result<Exit, Error> {
        let id = task_id(ledger, &self.id)?;
        let asking = asking(ledger)?;
        let done = composed(ledger, TaskError::is_refused, || {
            let (asking, hold) = asking.acting_for(id, self.epoch)?;
            deed(&asking, &hold)
        });
        told(screen, ledger, id, self.json, done)
    }
}
