//! `callboard wait`: waits until runs have ended, and ends as they did.
//!
//! Invariant: the exit code of one run is the run's own; of several it is that of the first, in the order they were named,
//! that did not end with 0. So it is 0 only if all of them ended with 0.

use std::time::{Duration, Instant};

use callboard_engine::{Host, Viewpoint, evaluate, mutant};
use clap::Args;

use crate::clock;
use crate::error::{Error, Exit};
use crate::input::ids::{self, Short};
use crate::input::moment::span;
use crate::input::word::Reading;
use crate::launch::waiting;
use crate::show::closing;
use crate::show::screen::Screen;
use crate::store::Store;

/// Wait until runs have ended, and end as they did.
///
/// The exit code is the run's own; of several runs, that of the first, in the order they are named, that did not end
/// with 0. It is 0 only if all of them ended with 0, and 124 if one had not ended when --timeout was reached.
#[derive(Args, Debug)]
pub(crate) struct WaitArgs {
    /// Their ids, or as much of each as tells it apart.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Wait no longer than this for all of them together.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    timeout: Option<Duration>,
    /// One JSON object a run, as `inspect --json` shows it.
    #[arg(long)]
    json: bool,
}

impl WaitArgs {
    /// Waits.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        let ids = self.ids.iter().map(|typed| ids::find(&ledger, typed)).collect::<Result<Vec<_>, _>>()?;
        let (short, host) = (Short::among(ids.iter().copied()), Host::this());
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        let (mut exit, mut is_late) = (Exit::DONE, false);
        for id in ids {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let Some(stored) = waiting::until_ended(&ledger, id, left)? else {
                screen.print(&format!("{} has not ended\n", short.of(id)))?;
                is_late = true;
                continue;
            };
            let view = evaluate(&stored, &Viewpoint::present(clock::now(), &host));
            if self.json {
                screen.json_line(&view)?;
            } else {
                screen.print(&(closing::line(&view, &short.of(id), screen.width()) + "\n"))?;
            }
            let own = closing::exit(&view);
            exit = if mutant::removed("first_failure_wins") { own } else { exit.and(own) };
        }
        Ok(if is_late { Exit::TIMED_OUT } else { exit })
    }
}
