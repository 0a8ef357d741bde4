//! `callboard retry`: runs again what was run, with the same words in the same directory.
//!
//! Invariant: the recipe has the words that were typed, byte for byte, and is kept where only the user can read it; the
//! record of a run has its secrets taken out and is no source for this. The run can write the file, so its hash is recorded
//! before the run is started, and a recipe that does not have it is not run. Deliberately absent: changing it.

use std::path::PathBuf;

use callboard_engine::{RECIPE, read_plain};
use callboard_kernel::{EntityId, fact};
use clap::Args;

use crate::error::{Error, Exit};
use crate::input::ids;
use crate::launch::performing;
use crate::launch::recipe::Recipe;
use crate::show::screen::Screen;
use crate::store::Store;

/// Run again what was run: the same command, in the same directory, with the same options.
#[derive(Args, Debug)]
pub(crate) struct RetryArgs {
    /// The run, or as much of its id as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// In the background, whatever it was before.
    #[arg(long, short)]
    detach: bool,
}

impl RetryArgs {
    /// Runs it again.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let (id, recipe) = kept(store, &self.id)?;
        let cwd = recipe.request.cwd.as_path();
        std::env::set_current_dir(cwd).map_err(|source| Error::Cwd(cwd.to_owned(), source))?;
        let (detach, retry_of) = (recipe.detach || self.detach, Some(id.to_string()));
        performing::start(&Recipe { detach, retry_of, ..recipe }, screen, store)
    }
}

/// More than a command line and its options can hold.
const RECIPE_BYTES_MAX: u64 = 64 << 20;

/// What was run under an id.
pub(crate) fn kept(store: &Store, typed: &str) -> Result<(EntityId, Recipe), Error> {
    let ledger = store.open_existing()?;
    let id = ids::find(&ledger, typed)?;
    let stored = ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()))?;
    let facts = &stored.entity.facts;
    let dir = facts.read(fact::DIR).map(PathBuf::from).ok_or(Error::NoRecipe(id))?;
    let kept = read_plain(&dir.join(RECIPE), RECIPE_BYTES_MAX).map_err(|_| Error::NoRecipe(id))?;
    let recorded = facts.read(fact::RECIPE_HASH);
    let recorded = recorded.ok_or(Error::ChangedRecipe(id, "no hash of it was recorded"))?;
    if blake3::hash(&kept).to_hex().as_str() != recorded {
        return Err(Error::ChangedRecipe(id, "somebody changed the file after the run was started"));
    }
    Ok((id, Recipe::read(&kept).ok_or(Error::NoRecipe(id))?))
}
