//! `callboard task retry`: lets a task that failed be tried once more.

use callboard_engine::tasks::RetryTime;
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
    /// Let the next attempt take twice as long as the last one, at most four times the default of its scope.
    #[arg(long)]
    more_time: bool,
}

impl RetryArgs {
    /// Opens it again.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let because = &self.because;
        let time = if self.more_time { RetryTime::Doubled } else { RetryTime::Same };
        self.subject
            .decide(screen, store, "trying a task again", |asking, id| asking.retry(id, because, time))
    }
}
