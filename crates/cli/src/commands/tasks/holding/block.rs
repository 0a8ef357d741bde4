//! `callboard task block`: says that the work cannot go on before something is there.

use callboard_engine::tasks::{Block, NewTask};
use callboard_wire::TaskRequest;
use clap::Args;

use super::holder::HolderArgs;
use crate::commands::tasks::answer::{dependency, in_words};
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::actor;

/// Give a task back until something is there that it needs.
///
/// What was named with --on or --gate opens it again by itself. What was named with --by is confirmed with task unblock.
#[derive(Args, Debug)]
pub(crate) struct BlockArgs {
    #[command(flatten)]
    holder: HolderArgs,
    #[command(flatten)]
    on: BlockedByArgs,
    /// Why it cannot go on; what it waits for unless given.
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
struct BlockedByArgs {
    /// What is missing, in words. May be given several times.
    #[arg(long, value_name = "TEXT")]
    by: Vec<String>,
    /// Another task that must be closed first; with :ended behind the id, one that must have ended. May be given several times.
    #[arg(long, value_name = "ID[:ended]")]
    on: Vec<String>,
    /// As for task add: person:TEXT, time:RFC3339, command:COMMAND or merged:COMMAND. May be given several times.
    #[arg(long, value_name = "GATE")]
    gate: Vec<String>,
}

impl BlockArgs {
    /// Records it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        let after = self.on.on.iter().map(|typed| dependency(&ledger, typed)).collect::<Result<_, _>>()?;
        // The dependencies of a new task are read the same way, so an agent can wait for no command here either.
        let title = "what it waits for".to_owned();
        let request = TaskRequest { title, after, gates: self.on.gate.clone(), ..TaskRequest::default() };
        let named = NewTask::read(&request, actor(&ledger)?.class).map_err(in_words)?;
        let words = self.on.by.iter().map(|text| Block::Words(text.clone()));
        let by: Vec<Block> = words.chain(named.depends_on.into_iter().map(Block::Dependency)).collect();
        let because = self.because.clone().unwrap_or_else(|| self.waits_for());
        self.holder.act_in(screen, &ledger, |asking, hold| asking.block(hold, &by, &because))
    }

    fn waits_for(&self) -> String {
        let BlockedByArgs { by, on, gate } = &self.on;
        let all: Vec<&str> = [by, on, gate].into_iter().flatten().map(String::as_str).collect();
        format!("it waits for {}", all.join(", "))
    }
}
