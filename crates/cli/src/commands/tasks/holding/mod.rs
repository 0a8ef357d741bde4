//! Verbs of whoever holds a task: claiming it, saying how it goes, and how it ended.
//!
//! Invariant: they act under the lease of the task, so a holder that lost it is refused. A person acts as the worker that holds the task;
//! inside a run the agent acts, for the task of that run alone.

mod block;
mod claim;
mod done;
mod fail;
mod heartbeat;
mod progress;
mod release;
mod split;
mod start;

pub(super) use self::block::BlockArgs;
pub(super) use self::claim::ClaimArgs;
pub(super) use self::done::DoneArgs;
pub(super) use self::fail::FailArgs;
pub(super) use self::heartbeat::HeartbeatArgs;
pub(super) use self::progress::ProgressArgs;
pub(super) use self::release::ReleaseArgs;
pub(super) use self::split::SplitArgs;
pub(super) use self::start::StartArgs;

use callboard_engine::tasks::{Asking, Hold, TaskError};
use callboard_ledger::Ledger;
use clap::Args;

use super::answer::{asking, task_id, told};
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// How long somebody holds a task who claims it from a terminal and sends no heartbeat.
const LEASE: &str = "30m";

/// Which task, and under which of its leases.
#[derive(Args, Debug)]
struct HolderArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID")]
    id: String,
    /// Only under this lease of the task, which `task claim` printed; the recorded one unless given.
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// The task as JSON.
    #[arg(long)]
    json: bool,
}

impl HolderArgs {
    /// Does something under the hold, and says where the task stands then.
    fn act(
        &self,
        screen: &Screen,
        store: &Store,
        deed: impl FnOnce(&Asking<'_>, &Hold) -> Result<(), TaskError>,
    ) -> Result<Exit, Error> {
        self.act_in(screen, &store.open_existing()?, deed)
    }

    /// The same in a store that is open.
    fn act_in(
        &self,
        screen: &Screen,
        ledger: &Ledger,
        deed: impl FnOnce(&Asking<'_>, &Hold) -> Result<(), TaskError>,
    ) -> Result<Exit, Error> {
        let id = task_id(ledger, &self.id)?;
        let done = asking(ledger)?.acting_for(id, self.epoch).and_then(|(asking, hold)| deed(&asking, &hold));
        told(screen, ledger, id, self.json, done)
    }
}
