//! `callboard task edit`: changes what is asked for, as long as nobody works on it.

use std::time::Duration;

use callboard_kernel::task::Scope;
use callboard_lifecycle::Words;
use callboard_wire::TaskChange;
use clap::Args;

use super::add::prompt_of;
use super::answer::{asking, task_id, told};
use crate::error::{Error, Exit};
use crate::input::moment::span;
use crate::input::word::{Reading, WordParser};
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::need_person;

/// Change what is asked for, as long as nobody works on it.
#[derive(Args, Debug)]
pub(crate) struct EditArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID")]
    id: String,
    /// What is to be done, in a few words.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What the agent is told. A dash reads it from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Only workers with this role, and workers without one, claim it.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// How much work it is.
    #[arg(long, value_name = "SCOPE", value_parser = WordParser::<Scope>::new())]
    scope: Option<Scope>,
    /// The lowest number is claimed first.
    #[arg(long, value_name = "N")]
    priority: Option<i64>,
    /// How often it is tried again after a failure.
    #[arg(long, value_name = "N")]
    max_retries: Option<i64>,
    /// How long one attempt may take, such as 45m.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    timeout: Option<Duration>,
    /// The task as JSON.
    #[arg(long)]
    json: bool,
}

impl EditArgs {
    /// Changes it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let change = TaskChange {
            title: self.title.clone(),
            prompt: self.prompt.as_deref().map(prompt_of).transpose()?,
            role: self.role.clone(),
            priority: self.priority,
            scope: self.scope.map(|scope| scope.name().to_owned()),
            max_retries: self.max_retries,
            timeout_s: self.timeout.map(|span| span.as_secs_f64()),
        };
        let ledger = store.open_existing()?;
        need_person("changing a task", Some(&ledger))?;
        let id = task_id(&ledger, &self.id)?;
        told(screen, &ledger, id, self.json, asking(&ledger)?.edit(id, &change))
    }
}
