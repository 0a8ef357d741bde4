//! `callboard task unblock`: says that what a task waits for is there.

use clap::Args;

use super::subject::SubjectArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Say that what a task waits for is there.
///
/// It holds for everything that the task waits for, whether it is blocked or open with dependencies.
#[derive(Args, Debug)]
pub(crate) struct UnblockArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Why.
    #[arg(long, value_name = "TEXT", default_value = "a person says that it is there")]
    because: String,
}

impl UnblockArgs {
    /// Opens it again.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let because = &self.because;
        self.subject.decide(screen, store, "unblocking a task", |asking, id| asking.unblock(id, because))
    }
}
