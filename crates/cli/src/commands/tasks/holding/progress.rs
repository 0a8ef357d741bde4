//! `callboard task progress`: says how far the work is.

use clap::Args;

use super::holder::HolderArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Say how far the work on a task is.
#[derive(Args, Debug)]
pub(crate) struct ProgressArgs {
    #[command(flatten)]
    holder: HolderArgs,
    /// How far it is, in a few words.
    #[arg(value_name = "TEXT")]
    text: String,
}

impl ProgressArgs {
    /// Records it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        self.holder.act(screen, store, |asking, hold| asking.progress(hold, &self.text))
    }
}
