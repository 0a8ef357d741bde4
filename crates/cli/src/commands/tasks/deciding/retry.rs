//! `callboard task retry`: lets a task that failed be tried once more.

use clap::Args;

use super::subject::SubjectArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Let a task that failed be tried once more, at once.
#[derive(Args, Debug)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Why.
    #[arg(long, value_name = "TEXT", default_value = "a person lets it be tried once more")]
    because: String,
}

impl RetryArgs {
    /// Opens it again.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let because = &self.because;
        self.subject.decide(screen, store, "trying a task again", |asking, id| asking.retry(id, because))
    }
}
