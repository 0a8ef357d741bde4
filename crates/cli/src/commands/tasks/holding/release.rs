//! `callboard task release`: gives a task back, or takes it away from its holder.

use clap::Args;

use super::holder::HolderArgs;
use crate::commands::tasks::answer::{asking, task_id, told};
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::need_person;

/// Give a task back to the board, for another worker.
#[derive(Args, Debug)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    holder: HolderArgs,
    /// Why.
    #[arg(long, value_name = "TEXT", default_value = "given back")]
    because: String,
    /// Take it away from its holder, as a person.
    #[arg(long, conflicts_with = "epoch")]
    force: bool,
}

impl ReleaseArgs {
    /// Gives it back.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        if !self.force {
            return self.holder.act(screen, store, |asking, hold| asking.release(hold, &self.because, None));
        }
        let ledger = store.open_existing()?;
        need_person("taking a task from its worker", Some(&ledger))?;
        let id = task_id(&ledger, &self.holder.id)?;
        told(screen, &ledger, id, self.holder.json, asking(&ledger)?.reassign(id, &self.because))
    }
}
