//! `callboard shim`: the supervisor of a run in the background. Other commands start it; nobody types it.
//!
//! Invariant: what it runs and every secret it needs are told on its input, so its command line says nothing but which run it
//! is. Deliberately absent: carrying out the recipe.

use clap::Args;

use crate::error::{Error, Exit};
use crate::launch::detaching;
use crate::launch::performing;
use crate::launch::recipe::Supervision;
use crate::launch::shim_input;
use crate::store::Store;

/// Supervise a run in the background; other commands start this
#[derive(Args, Debug)]
pub(crate) struct ShimArgs {
    /// The id of the run, behind the ids of the runs around it.
    #[arg(value_name = "ID")]
    markers: String,
}

impl ShimArgs {
    /// Supervises the run to its end.
    pub(crate) fn run(&self, store: &Store) -> Result<Exit, Error> {
        let id = detaching::become_shim(&self.markers)?;
        performing::perform(&shim_input::recipe()?, store, id, Supervision::Background)
    }
}
