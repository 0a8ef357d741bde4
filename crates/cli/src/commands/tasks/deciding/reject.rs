//! `callboard task reject`: a person does not agree to a plan, or to a result.

use callboard_engine::tasks::refused;
use callboard_kernel::{RefusalCode, task};
use callboard_lifecycle::task::TaskState;
use clap::Args;

use super::approve::chosen;
use super::subject::SubjectArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Reject a task of a plan, or a result that waits for approval.
///
/// A rejected task of a plan is cancelled. A rejected result fails the task, unless it is sent back to be done again.
#[derive(Args, Debug)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Why; whoever does it again is told.
    #[arg(long, value_name = "TEXT", default_value = "a person rejected it")]
    because: String,
    /// The result is to be done again.
    #[arg(long, conflicts_with = "all_of_plan")]
    send_back: bool,
    /// Every task of the same plan that nobody has decided about.
    #[arg(long)]
    all_of_plan: bool,
}

impl RejectArgs {
    /// Rejects it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let because = self.because.as_str();
        self.subject.decide(screen, store, "rejecting", |asking, id| {
            let stored = asking.task(id)?;
            match task::state(&stored.entity) {
                Some(TaskState::Planned) if self.send_back => {
                    let help = "leave --send-back out, or change it: callboard task edit".to_owned();
                    let problem = "it is planned, so there is no result to send back";
                    Err(refused(&stored, RefusalCode::NotPermitted, problem, help))
                }
                Some(TaskState::Planned) => {
                    asking.reject_plan(&chosen(asking, id, self.all_of_plan)?, because)
                }
                _ => asking.turn_down(id, because, self.send_back),
            }
        })
    }
}
