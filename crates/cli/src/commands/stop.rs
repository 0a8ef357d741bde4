//! `callboard stop`: asks runs to stop, and waits until nobody of them is left.
//!
//! Invariant: the wish is recorded before anything happens, so the end says who wanted it. A run whose supervisor is
//! dead is ended by the reaper instead. Deliberately absent: signals to anybody but a supervisor.

use std::time::Duration;

use callboard_engine::{Asked, Host, Sight, StopFor, ask_to_stop, evaluate};
use callboard_kernel::EntityId;
use callboard_ledger::{AppendError, Ledger, Stored};
use clap::Args;

use crate::error::{Error, Exit};
use crate::ids::{self, Short};
use crate::screen::Screen;
use crate::store::Store;
use crate::when::span;
use crate::word::Reading;
use crate::{clock, closing, sending, waiting};

/// Ask runs to stop, and wait until they have.
///
/// TERM first, KILL after the run's own grace, for the whole tree of its processes. --now skips the grace. A run that has
/// ended already is left as it is.
#[derive(Args, Debug)]
pub(crate) struct StopArgs {
    /// Their ids, or as much of each as tells it apart.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Do not give it time to go by itself.
    #[arg(long)]
    now: bool,
    /// Ask, and do not wait for the end.
    #[arg(long)]
    no_wait: bool,
    /// Wait no longer than this.
    #[arg(long, value_name = "SPAN", default_value = "60s", value_parser = Reading(span))]
    timeout: Duration,
    /// One JSON object a run, as `inspect --json` shows it.
    #[arg(long)]
    json: bool,
}

impl StopArgs {
    /// Stops them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        let ids = self.ids.iter().map(|typed| ids::find(&ledger, typed)).collect::<Result<Vec<_>, _>>()?;
        let (short, host) = (Short::among(ids.iter().copied()), Host::this());
        for id in &ids {
            self.ask(screen, &ledger, *id, &short.of(*id))?;
        }
        if self.no_wait {
            return Ok(Exit::DONE);
        }
        let mut exit = Exit::DONE;
        for id in ids {
            let Some(stored) = waiting::until_ended(&ledger, id, Some(self.timeout))? else {
                screen.print(&format!("{} was asked and has not ended yet\n", short.of(id)))?;
                exit = Exit::TIMED_OUT;
                continue;
            };
            let view = evaluate(&stored, &Sight::present(clock::now(), &host));
            if self.json {
                screen.json_line(&view)?;
            } else {
                screen.print(&(closing::line(&view, &short.of(id)) + "\n"))?;
            }
        }
        Ok(exit)
    }

    fn ask(&self, screen: &Screen, ledger: &Ledger, id: EntityId, short: &str) -> Result<(), Error> {
        let find = || ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()));
        let stored: Stored = find()?;
        if stored.entity.ended_at.is_some() {
            return Ok(());
        }
        let times = if self.now { 2 } else { 1 };
        for _ in 0..times {
            let asked = ask_to_stop(ledger, &stored, sending::operator(), StopFor::Operator, clock::now());
            match asked {
                Ok(Asked::Woken | Asked::NobodyThere) => {}
                Ok(Asked::Elsewhere) => {
                    screen
                        .print(&format!("{short} is on another host, which finds the wish in the log\n"))?;
                }
                Err(AppendError::Refused(refusal)) => return Err(Error::Refused(refusal)),
                Err(AppendError::Fault(fault)) => return Err(Error::Append(fault)),
            }
        }
        Ok(())
    }
}
