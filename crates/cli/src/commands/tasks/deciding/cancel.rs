//! `callboard task cancel`: calls a task off.

use clap::Args;

use super::subject::SubjectArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Call a task off, with the subtasks it was split into.
///
/// Whoever works on it finds out with the next heartbeat.
#[derive(Args, Debug)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    because: String,
}

impl CancelArgs {
    /// Calls it off.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let because = &self.because;
        self.subject.decide(screen, store, "cancelling a task", |asking, id| asking.cancel(id, because))
    }
}
