//! `callboard task import`: puts the tasks of a plan on the board.
//!
//! Invariant: nothing is recorded unless the whole plan is sound, and then all of its tasks are, in one group.

use std::path::{Path, PathBuf};

use callboard_engine::read_plain;
use callboard_kernel::EntityId;
use callboard_ledger::Ledger;
use clap::Args;
use serde::Serialize;

use super::add::repo;
use super::answer::{asking, not_done, task_id};
use crate::error::{Error, Exit};
use crate::input::plan::{Flaw, Place, Plan, Surroundings};
use crate::show::screen::Screen;
use crate::store::Store;

/// Bytes of a plan file.
const PLAN_BYTES_MAX: u64 = 1024 * 1024;

/// Add the tasks of a plan, which wait for a person's approval.
///
/// docs/tasks.md says what a plan may hold. Everything that is wrong with it is told at once, as FILE:LINE:COLUMN, and nothing
/// is recorded then.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// A YAML or JSON file.
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    plan: String,
    tasks: Vec<Imported>,
}

#[derive(Serialize)]
struct Imported {
    name: String,
    id: EntityId,
}

impl ImportArgs {
    /// Imports it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let text = self.text()?;
        let ledger = store.open()?;
        let asking = asking(&ledger)?;
        let Plan { name, tasks } = self.read(&ledger, &text, asking.actor.class)?;
        let added = match asking.add_plan(&name, tasks) {
            Ok(added) => added,
            Err(error) => return not_done(screen, self.json, error),
        };
        let tasks: Vec<Imported> = added.into_iter().map(|(name, id)| Imported { name, id }).collect();
        if self.json {
            screen.json(&Document { plan: name, tasks })?;
            return Ok(Exit::DONE);
        }
        let mut text: String = tasks.iter().map(|task| format!("{}  {}\n", task.id, task.name)).collect();
        if let Some(first) = tasks.first() {
            text += &screen.hint(&format!("approve all: callboard task approve {} --all-of-plan", first.id));
        }
        screen.print(&text)?;
        Ok(Exit::DONE)
    }

    /// The text of the plan: a plain file, so that neither a pipe nor a device is read.
    fn text(&self) -> Result<String, Error> {
        let bytes = read_plain(&self.plan, PLAN_BYTES_MAX)
            .map_err(|source| Error::Input(self.plan.clone(), source))?;
        String::from_utf8(bytes).map_err(|error| {
            let sound = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
            let last = sound.rsplit('\n').next().unwrap_or_default();
            let line = sound.matches('\n').count() as u64 + 1;
            let at = Place { line, column: last.chars().count() as u64 + 1 };
            let problem = "this is no UTF-8".to_owned();
            self.flawed(vec![Flaw { at, problem, expected: "text in UTF-8".to_owned() }])
        })
    }

    fn read(
        &self,
        ledger: &Ledger,
        text: &str,
        author: callboard_lifecycle::ActorClass,
    ) -> Result<Plan, Error> {
        let folder = self.plan.parent().map(Path::to_owned).unwrap_or_default();
        // A path that cannot be made absolute stays as it is, and is told as a flaw.
        let absolute = |path: &str| {
            let named = repo(Some(&folder.join(path))).ok().flatten();
            named.unwrap_or_else(|| path.to_owned())
        };
        let find = |typed: &str| match task_id(ledger, typed) {
            Ok(id) => Ok(id.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let around = Surroundings { author, repo: repo(None)?, absolute: &absolute, find: &find };
        Plan::read(text, &around).map_err(|flaws| self.flawed(flaws))
    }

    fn flawed(&self, flaws: Vec<Flaw>) -> Error {
        Error::Plan { file: self.plan.display().to_string(), flaws }
    }
}
