//! `callboard stop`: asks runs to stop, and waits until nobody of them is left.
//!
//! Invariant: the wish is recorded before anything happens, so the end says who wanted it. A run whose supervisor is
//! dead is ended by the reaper instead. Deliberately absent: signals to anybody but a supervisor.

use std::time::Duration;

use callboard_engine::{Host, StopFor, StopOutcome, View, Viewpoint, ask_to_stop, evaluate};
use callboard_kernel::EntityId;
use callboard_ledger::{AppendError, Ledger, Listing, Stored};
use callboard_lifecycle::{ActorClass, Kind};
use clap::Args;

use crate::clock;
use crate::commands::board::ps;
use crate::error::{Error, Exit};
use crate::input::filter_args::FilterArgs;
use crate::input::ids::{self, Short};
use crate::input::moment::span;
use crate::input::word::Reading;
use crate::launch::waiting;
use crate::show::closing;
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending;

/// Ask runs to stop, and wait until they have.
///
/// TERM first, KILL after the run's own grace, for the whole tree of its processes. --now skips the grace, and so does asking
/// again. A run that has ended already is left as it is. Name the runs, or say with filters which of those that are alive are meant.
#[derive(Args, Debug)]
pub(crate) struct StopArgs {
    /// Their ids, or as much of each as tells it apart.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List those that would be asked, and ask nobody.
    #[arg(long)]
    dry_run: bool,
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
    #[command(flatten)]
    filters: FilterArgs,
}

impl StopArgs {
    /// Stops them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let (ledger, host) = (store.open_existing()?, Host::this());
        let ids = self.meant(&ledger, &host)?;
        if self.dry_run {
            return self.list(screen, &ledger, &host, &ids);
        }
        if ids.is_empty() && !self.json {
            screen.print(&screen.prose("No run that is alive matches, so nobody was asked."))?;
        }
        let short = Short::among(ids.iter().copied());
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
            let view = evaluate(&stored, &Viewpoint::present(clock::now(), &host));
            if self.json {
                screen.json_line(&view)?;
            } else {
                screen.print(&(closing::line(&view, &short.of(id), screen.width()) + "\n"))?;
            }
        }
        Ok(exit)
    }

    /// The runs that are meant: those that were named, or those alive that pass the filters.
    fn meant(&self, ledger: &Ledger, host: &Host) -> Result<Vec<EntityId>, Error> {
        match (self.ids.is_empty(), self.filters.is_given()) {
            (true, false) => Err(Error::CommandLine {
                because: "neither an id nor a filter says which runs are meant".to_owned(),
                instead: "callboard stop ID, or a filter such as --label batch=7".to_owned(),
            }),
            (false, true) => Err(Error::CommandLine {
                because: "ids and filters are both given, and it is not clear which are meant".to_owned(),
                instead: "ids alone, or filters alone".to_owned(),
            }),
            (false, false) => self.ids.iter().map(|typed| ids::find(ledger, typed)).collect(),
            (true, true) => {
                let filter = self.filters.filter(ledger, Some(Kind::Session))?;
                let listing = Listing { kind: Some(Kind::Session), ended: false, limit: 0 };
                let stored = ledger.entities(listing).map_err(Error::Ask)?;
                let sight = Viewpoint::present(clock::now(), host);
                let views = stored.iter().map(|stored| evaluate(stored, &sight));
                let admitted = views.filter(|view| filter.admits(view, view.entered_at));
                let mut ids: Vec<EntityId> = admitted.map(|view| view.id).collect();
                ids.truncate(self.filters.shown(ids.len(), 0));
                Ok(ids)
            }
        }
    }

    fn list(&self, screen: &Screen, ledger: &Ledger, host: &Host, ids: &[EntityId]) -> Result<Exit, Error> {
        let stored = ids.iter().map(|id| find(ledger, *id)).collect::<Result<Vec<_>, _>>()?;
        let sight = Viewpoint::present(clock::now(), host);
        let alive = stored.iter().filter(|stored| stored.entity.ended_at.is_none());
        let views: Vec<View<'_>> = alive.map(|stored| evaluate(stored, &sight)).collect();
        if self.json {
            views.iter().try_for_each(|view| screen.json_line(view))?;
        } else if views.is_empty() {
            screen.print(&screen.prose("No run that is alive matches."))?;
        } else {
            screen.print(&screen.table(&ps::table(&views)))?;
        }
        Ok(Exit::DONE)
    }

    fn ask(&self, screen: &Screen, ledger: &Ledger, id: EntityId, short: &str) -> Result<(), Error> {
        let stored = find(ledger, id)?;
        if stored.entity.ended_at.is_some() {
            return Ok(());
        }
        let times = if self.now { 2 } else { 1 };
        let actor = sending::actor(ledger)?;
        let wanted = if actor.class == ActorClass::Agent { StopFor::Agent } else { StopFor::Operator };
        for _ in 0..times {
            let asked = ask_to_stop(ledger, &stored, actor.clone(), wanted, clock::now());
            match asked {
                Ok(StopOutcome::Woken | StopOutcome::NobodyThere) => {}
                Ok(StopOutcome::Elsewhere) => {
                    let told = format!(
                        "{short} is on another host; the wish is recorded, and is heard there if it reads this store\n"
                    );
                    screen.print(&told)?;
                }
                Ok(StopOutcome::OutOfReach(because)) => {
                    let told =
                        format!("{short}: its supervisor {because}; the wish is recorded, nobody was told\n");
                    screen.print(&told)?;
                }
                Err(AppendError::Refused(refusal)) => return Err(Error::Refused(refusal)),
                Err(AppendError::Fault(fault)) => return Err(Error::Append(fault)),
            }
        }
        Ok(())
    }
}

fn find(ledger: &Ledger, id: EntityId) -> Result<Stored, Error> {
    ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()))
}
