//! `callboard task fail`: reports an attempt as failed.

use callboard_engine::tasks::TaskFailure;
use callboard_lifecycle::ReasonCode;
use clap::Args;

use super::holder::HolderArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Report an attempt at a task as failed.
///
/// It goes back to the board if a retry is left, after a pause.
#[derive(Args, Debug)]
pub(crate) struct FailArgs {
    #[command(flatten)]
    holder: HolderArgs,
    /// Why it failed.
    #[arg(long, value_name = "TEXT")]
    because: String,
    /// Every further attempt would fail the same way: a person decides whether it is tried again.
    #[arg(long = "final")]
    is_final: bool,
}

impl FailArgs {
    /// Records it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let code = const { ReasonCode::of("task.failed.reported") };
        let failure =
            TaskFailure { is_final: self.is_final, ..TaskFailure::new(code, self.because.as_str()) };
        self.holder.act(screen, store, |asking, hold| asking.report_failed(hold, &failure))
    }
}
