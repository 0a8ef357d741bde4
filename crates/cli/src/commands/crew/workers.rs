//! `callboard workers`: the workers of the board, and whether each is at work, stalled, merging, idle or gone.
//!
//! Invariant: the visual state and its reason are the engine's; nothing is judged here. Deliberately absent: starting and ending
//! workers, which `callboard work` does.

use callboard_engine::Host;
use callboard_engine::tasks::{WorkersWanted, workers};
use callboard_kernel::EntityId;
use callboard_kernel::Moment;
use callboard_ledger::Ledger;
use callboard_lifecycle::{Token, Words};
use callboard_wire::{WorkerShape, WorkersShape};
use clap::Args;

use crate::clock;
use crate::error::{Error, Exit};
use crate::input::ids::Short;
use crate::input::moment::age_of;
use crate::show::live::{Frame, watch};
use crate::show::screen::Screen;
use crate::show::style::of_token;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;

/// List the workers of the board: at work, stalled, merging, idle or gone.
///
/// The state is judged now, from the lease of the worker's task and a look at its process; WHY says from what. A process on another host
/// cannot be looked at: its worker is judged by the lease alone. HEARD is when the worker renewed its lease last.
#[derive(Args, Debug)]
pub(crate) struct WorkersArgs {
    /// Those that ended in the last day too.
    #[arg(long)]
    all: bool,
    /// Show them again whenever something changes, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
    /// One JSON document; with --watch, one a line.
    #[arg(long)]
    json: bool,
}

impl WorkersArgs {
    /// Lists them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_look()?;
        if self.watch {
            return watch(screen, &ledger, self.json, &mut |screen| self.frame(screen, &ledger));
        }
        let frame = self.frame(screen, &ledger)?;
        match self.json {
            true => screen.data_text(&frame.text)?,
            false => screen.print(&frame.text)?,
        }
        Ok(Exit::DONE)
    }

    fn frame(&self, screen: &Screen, ledger: &Ledger) -> Result<Frame, Error> {
        let now = clock::now();
        let wanted = if self.all { WorkersWanted::Lately } else { WorkersWanted::Live };
        let shown = workers(ledger, &Host::this(), wanted, now).map_err(Error::Ask)?;
        let line = |one: &WorkerShape| format!("{} {} {} {:?}\n", one.id, one.visual, one.why, one.task);
        let key = shown.items.iter().map(line).collect();
        let text = match self.json {
            true => screen.document(&shown, self.watch)?,
            false => self.text(screen, &shown, now),
        };
        Ok(Frame { key, text })
    }

    fn text(&self, screen: &Screen, shown: &WorkersShape, now: Moment) -> String {
        if !shown.items.is_empty() {
            return screen.table(&table(&shown.items, now));
        }
        screen.prose(match self.all {
            true => "No worker was there in the last day. Start one: callboard work -- COMMAND",
            false => "No worker is there. Start one: callboard work -- COMMAND; those that ended: --all",
        })
    }
}

fn table(items: &[WorkerShape], now: Moment) -> Table {
    let columns = [
        Column::names("STATE", 9),
        Column::text("WORKER", 8, 10),
        Column::text("TASK", 7, 10),
        Column::numbers("HEARD", 5),
        Column::prose("WHY", 6, 26),
        Column::names("ID", 4),
        Column::text("HOST", 3, 6),
        Column::numbers("PID", 3),
        Column::text("ROLE", 2, 6),
        Column::text("PROFILE", 1, 6),
    ];
    let id = |one: &WorkerShape| one.id.parse::<EntityId>().ok();
    let short = Short::among(items.iter().filter_map(id));
    let row = |one: &WorkerShape| {
        let style = Token::parse(&one.token).map_or_else(|_| anstyle::Style::new(), of_token);
        let heard = one.last_heard_at.as_deref().and_then(|at| at.parse::<Moment>().ok());
        let text = |text: &Option<String>| Cell::text(text.as_deref().unwrap_or("—"));
        [
            Cell::styled(format!("{} {}", one.indicator, one.label), style),
            text(&one.title),
            text(&one.task_title.clone().or_else(|| one.task.clone())),
            Cell::text(age_of(heard, now)),
            Cell::text(one.why.as_str()),
            Cell::text(id(one).map_or_else(|| one.id.clone(), |id| short.of(id))),
            text(&one.host),
            Cell::text(one.pid.map_or_else(|| "—".to_owned(), |pid| pid.to_string())),
            Cell::text(one.role.as_deref().unwrap_or_default()),
            Cell::text(one.profile.as_deref().unwrap_or_default()),
        ]
    };
    Table::new(columns, items.iter().map(row).collect())
}
