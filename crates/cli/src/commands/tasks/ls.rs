//! `callboard task ls`: the tasks on the board, the most urgent first.

use callboard_engine::tasks::TaskFilter;
use callboard_engine::{Host, Observed, View, Viewpoint};
use callboard_kernel::{fact, one_line};
use callboard_lifecycle::task::TaskState;
use clap::Args;
use serde::Serialize;

use super::answer::moved_on_by;
use crate::clock;
use crate::error::{Error, Exit};
use crate::input::ids::Short;
use crate::input::moment::age_of;
use crate::input::word::{Reading, WordParser, pair};
use crate::show::screen::Screen;
use crate::show::style::of_tone;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;

/// List the tasks on the board, the most urgent first.
///
/// AGE is how long a task is in its state. NEXT is who or what moves it on.
#[derive(Args, Debug)]
pub(crate) struct LsArgs {
    /// In this state. May be given several times.
    #[arg(long = "state", value_name = "STATE", value_parser = WordParser::<TaskState>::new())]
    states: Vec<TaskState>,
    /// For this role.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// With this label. May be given several times.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = Reading(pair))]
    labels: Vec<(String, String)>,
    /// Those that are closed or cancelled too.
    #[arg(long)]
    all: bool,
    /// At most this many; 0 is all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: usize,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    items: Vec<View<'a>>,
    /// How many there are, shown or not.
    total: usize,
}

impl LsArgs {
    /// Lists them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_look()?;
        let wanted = TaskFilter {
            states: self.states.clone(),
            role: self.role.clone(),
            labels: self.labels.clone(),
            repo: None,
            all: self.all,
        };
        let host = Host::this();
        let mut seen = wanted.read(&ledger, &Viewpoint::present(clock::now(), &host)).map_err(Error::Ask)?;
        seen.sort_by_cached_key(|seen| {
            let view = seen.view();
            let priority = seen.stored.entity.facts.read(fact::PRIORITY);
            (view.state.severity, priority.unwrap_or(callboard_kernel::task::PRIORITY), view.created_at)
        });
        let total = seen.len();
        if self.limit > 0 {
            seen.truncate(self.limit);
        }
        if self.json {
            screen.json(&Document { items: seen.iter().map(Observed::view).collect(), total })?;
            return Ok(Exit::DONE);
        }
        let mut text = match seen.is_empty() {
            true if wanted.is_plain() => screen.prose(match self.all {
                true => "No task is recorded. Add one: callboard task add TITLE",
                false => "No task is on the board. Add one: callboard task add TITLE",
            }),
            true => screen.prose("Nothing matches."),
            false => screen.table(&table(&seen)),
        };
        if total > seen.len() {
            text += &screen.hint(&format!("and {} more: --limit 0", total - seen.len()));
        }
        screen.print(&text)?;
        Ok(Exit::DONE)
    }
}

fn table(seen: &[Observed]) -> Table {
    let columns = [
        Column::names("ID", 9),
        Column::text("TITLE", 8, 12),
        Column::names("STATE", 7),
        Column::numbers("AGE", 6),
        Column::text("NEXT", 5, 12),
        Column::text("ROLE", 3, 6),
        Column::numbers("PRIORITY", 2),
    ];
    let short = Short::among(seen.iter().map(|seen| seen.stored.entity.state.id));
    let row = |seen: &Observed| {
        let (view, facts) = (seen.view(), &seen.stored.entity.facts);
        let priority = facts.read(fact::PRIORITY).map_or_else(String::new, |number| number.to_string());
        [
            Cell::text(short.of(view.id)),
            Cell::text(view.title.map_or_else(|| "—".to_owned(), one_line)),
            Cell::styled(view.chain.as_str(), of_tone(view.state.tone)),
            Cell::text(age_of(view.entered_at, view.state.evaluated_at)),
            Cell::text(moved_on_by(seen)),
            Cell::text(facts.read(fact::ROLE).unwrap_or_default()),
            Cell::text(priority),
        ]
    };
    Table::new(columns, seen.iter().map(row).collect())
}
