//! `callboard reap`: ends what is recorded as alive and is dead, and says what it left alone and why.
//!
//! Invariant: the engine's reaper does it, the same one everywhere. Deliberately absent: rules of its own.

use std::time::Duration;

use callboard_engine::{Host, ReapAct, ReapError, Reaped, Reaper, Sweep, Swept};
use callboard_kernel::one_line;
use clap::Args;
use serde::Serialize;

use crate::clock;
use crate::error::{Error, Exit};
use crate::input::ids::Short;
use crate::input::moment::span;
use crate::input::word::Reading;
use crate::show::screen::Screen;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;

/// End the runs whose supervisor is dead, each with what shows it.
///
/// Never touches what is alive, nor what another host holds a lease on. Also removes the directories and control groups of
/// supervisors that died before their first record.
#[derive(Args, Debug)]
pub(crate) struct ReapArgs {
    /// Say what would be ended, and end nothing.
    #[arg(long)]
    dry_run: bool,
    /// Only what was not heard of for longer than this.
    #[arg(long, value_name = "SPAN", default_value = "0s", value_parser = Reading(span))]
    older_than: Duration,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    dry_run: bool,
    ended: usize,
    items: &'a [Reaped],
    swept: Swept,
}

impl ReapArgs {
    /// Ends them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let (ledger, host) = (store.open_existing()?, Host::this());
        let (older_than, dry_run) = (self.older_than, self.dry_run);
        let reaper = Reaper { ledger: &ledger, world: &host, now: clock::now(), older_than, dry_run };
        let items = reaper.reap().map_err(of_reaper)?;
        let runs = store.runs()?;
        let sweep = Sweep { ledger: &ledger, runs: &runs, table: &host, now: reaper.now, dry_run };
        let swept = sweep.sweep().map_err(Error::Ask)?;
        if self.json {
            let ended = items.iter().filter(|item| item.act == ReapAct::Ended).count();
            screen.json(&Document { dry_run, ended, items: &items, swept })?;
            return Ok(Exit::DONE);
        }
        match items.is_empty() {
            true => screen.print(&screen.prose("No run is alive, so there is nothing to end."))?,
            false => screen.print(&screen.table(&table(&items)))?,
        }
        if swept != Swept::default() {
            screen.print(&screen.prose(&told(swept, dry_run)))?;
        }
        Ok(Exit::DONE)
    }
}

/// What the reaper failed with.
pub(crate) fn of_reaper(error: ReapError) -> Error {
    match error {
        ReapError::Ask(cause) => Error::Ask(cause),
        ReapError::Write(fault) => Error::Append(fault),
    }
}

fn told(swept: Swept, dry_run: bool) -> String {
    let count = |number: u32, one: &str, many: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    };
    let directories = count(swept.directories, "directory", "directories");
    let groups = count(swept.groups, "control group", "control groups");
    let verb = if dry_run { "Would remove" } else { "Removed" };
    format!("{verb} {directories} and {groups} that dead supervisors left behind.")
}

fn table(items: &[Reaped]) -> Table {
    let columns = [
        Column::names("", 8),
        Column::names("ID", 9),
        Column::text("TITLE", 6, 12),
        Column::text("BECAUSE", 7, 20),
        Column::numbers("PROCESSES ENDED", 2),
    ];
    let short = Short::among(items.iter().map(|item| item.id));
    let row = |item: &Reaped| {
        let act = match item.act {
            ReapAct::Ended => "ended",
            ReapAct::WouldEnd => "would end",
            ReapAct::LeftAlone => "left alone",
        };
        [
            Cell::text(act),
            Cell::text(short.of(item.id)),
            Cell::text(item.title.as_deref().map_or_else(|| "—".to_owned(), one_line)),
            Cell::text(item.because.as_str()),
            Cell::text(match item.processes_ended {
                0 => String::new(),
                ended => ended.to_string(),
            }),
        ]
    };
    Table::new(columns, items.iter().map(row).collect())
}
