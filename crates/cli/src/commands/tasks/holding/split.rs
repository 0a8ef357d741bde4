//! `callboard task split`: splits a task into parts that are done first.

use callboard_engine::tasks::{NewTask, TaskError, composed};
use callboard_wire::TaskRequest;
use clap::Args;
use serde::Serialize;

use super::holder::HolderArgs;
use crate::commands::tasks::add::stdin_text;
use crate::commands::tasks::answer::{asking, in_words, not_done, task_id};
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// The longest list of parts that is read from standard input.
const PARTS_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Split a task into parts, and give it back until they are closed.
///
/// The parts take over the repository, the base, the role and the delivery of the task. Prints their ids.
#[derive(Args, Debug)]
pub(crate) struct SplitArgs {
    #[command(flatten)]
    holder: HolderArgs,
    /// The titles of the parts.
    #[arg(long, value_name = "TITLE", num_args = 1.., required_unless_present = "plan")]
    into: Vec<String>,
    /// A dash: the parts are a JSON list on standard input, each with the fields of a task in a plan.
    #[arg(long, value_name = "-", value_parser = ["-"], conflicts_with = "into")]
    plan: Option<String>,
}

#[derive(Serialize)]
struct Split {
    task: String,
    subtasks: Vec<String>,
}

impl SplitArgs {
    /// Splits it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let requests = self.requests()?;
        let ledger = store.open_existing()?;
        let id = task_id(&ledger, &self.holder.id)?;
        let asking = asking(&ledger)?;
        let read = |request: &TaskRequest| NewTask::read(request, asking.actor.class).map_err(in_words);
        let parts: Vec<NewTask> = requests.iter().map(read).collect::<Result<_, _>>()?;
        let split = composed(&ledger, TaskError::is_refused, || {
            let (asking, hold) = asking.acting_for(id, self.holder.epoch)?;
            asking.split(&hold, parts.clone())
        });
        let subtasks: Vec<String> = match split {
            Ok(ids) => ids.iter().map(ToString::to_string).collect(),
            Err(error) => return not_done(screen, self.holder.json, error),
        };
        match self.holder.json {
            true => screen.json(&Split { task: id.to_string(), subtasks })?,
            false => screen.print(&(subtasks.join("\n") + "\n"))?,
        }
        Ok(Exit::DONE)
    }

    fn requests(&self) -> Result<Vec<TaskRequest>, Error> {
        if self.plan.is_none() {
            let titled = |title: &String| TaskRequest { title: title.clone(), ..TaskRequest::default() };
            return Ok(self.into.iter().map(titled).collect());
        }
        serde_json::from_str(&stdin_text(PARTS_BYTES_MAX)?).map_err(|error| Error::CommandLine {
            because: format!("the parts are not understood: {error}"),
            instead: "a JSON list such as [{\"title\": \"write the tests\"}]".to_owned(),
        })
    }
}
