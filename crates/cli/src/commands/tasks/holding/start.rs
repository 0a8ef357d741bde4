//! `callboard task start`: says that the work has begun.

use clap::Args;

use super::holder::HolderArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Say that the work on a claimed task has begun.
#[derive(Args, Debug)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    holder: HolderArgs,
}

impl StartArgs {
    /// Records it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        self.holder.act(screen, store, |asking, hold| asking.begin(hold, "callboard task start"))
    }
}
