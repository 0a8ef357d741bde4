//! `callboard task done`: reports the work as done.

use callboard_engine::tasks::Done;
use callboard_kernel::Facts;
use clap::Args;

use super::holder::HolderArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Report a task as done. It is closed once its checks are passed and it is merged.
#[derive(Args, Debug)]
pub(crate) struct DoneArgs {
    #[command(flatten)]
    holder: HolderArgs,
    /// What was done.
    #[arg(long, value_name = "TEXT")]
    summary: String,
}

impl DoneArgs {
    /// Records it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let summary = self.summary.clone();
        let done = Done { evidence: summary.clone(), summary, data: Facts::none() };
        self.holder.act(screen, store, |asking, hold| asking.report_done(hold, &done))
    }
}
