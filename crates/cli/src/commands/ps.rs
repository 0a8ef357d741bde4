//! `callboard ps`: what is alive, the most urgent first.
//!
//! Invariant: a row says what the view says; rows from before there were states are a number beside the list and in
//! none of its figures. Deliberately absent: why a row is as it is; `why` tells that.

use callboard_engine::{View, evaluate};
use callboard_lifecycle::{Kind, Words};
use clap::Args;
use serde::Serialize;

use crate::error::{Error, Exit};
use crate::ids::Short;
use crate::look::LookArgs;
use crate::screen::Screen;
use crate::store::Store;
use crate::style::of_tone;
use crate::table::{Cell, Column, Table};
use crate::telling::{one_line, typed};
use crate::when::age_of;
use crate::word::WordParser;

/// List what is alive: runs, tasks, agents and whatever else is recorded.
///
/// The most urgent come first, then the newest. AGE is how long a thing is in its state.
#[derive(Args, Debug)]
pub(crate) struct PsArgs {
    /// Only those of a kind.
    #[arg(value_name = "KIND", value_parser = WordParser::<Kind>::new())]
    kind: Option<Kind>,
    /// Those that ended too.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    look: LookArgs,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    items: Vec<View<'a>>,
    legacy: u64,
}

impl PsArgs {
    /// Lists them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let look = self.look.open(store)?;
        let stored = look.entities(self.kind, self.all)?;
        let legacy = look.ledger.legacy().map_err(Error::Ask)?;
        let mut items: Vec<View<'_>> = stored.iter().map(|stored| evaluate(stored, &look.sight())).collect();
        items.sort_by_key(|view| (view.state.severity, std::cmp::Reverse(view.created_at)));
        if self.json {
            screen.json(&Document { items, legacy })?;
        } else {
            screen.print(&(self.text(screen, &items) + &hint(screen, legacy)))?;
        }
        Ok(Exit::DONE)
    }

    fn text(&self, screen: &Screen, items: &[View<'_>]) -> String {
        if !items.is_empty() {
            return screen.table(&table(items));
        }
        let what =
            self.kind.map_or_else(|| "Nothing".to_owned(), |kind| format!("No {}", kind.machine().noun));
        let kind = self.kind.map_or_else(String::new, |kind| format!(" {kind}"));
        screen.prose(&match self.all {
            true => format!("{what} is recorded."),
            false => format!("{what} is alive. What has ended: callboard ps{kind} --all"),
        })
    }
}

fn hint(screen: &Screen, legacy: u64) -> String {
    match legacy {
        0 => String::new(),
        1 => screen.hint("and 1 row from before there were states, counted nowhere"),
        count => screen.hint(&format!("and {count} rows from before there were states, counted nowhere")),
    }
}

fn table(items: &[View<'_>]) -> Table {
    let columns = [
        Column::names("ID", 9),
        Column::text("TITLE", 7, 12),
        Column::names("STATE", 8),
        Column::numbers("AGE", 6),
        Column::names("KIND", 3),
        Column::text("WHERE", 4, 8),
    ];
    let short = Short::among(items.iter().map(|view| view.id));
    let row = |view: &View<'_>| {
        [
            Cell::text(short.of(view.id)),
            Cell::text(view.title.map_or_else(|| "—".to_owned(), one_line)),
            Cell::styled(view.chain.as_str(), of_tone(view.state.tone)),
            Cell::text(age_of(view.entered_at, view.state.evaluated_at)),
            Cell::text(view.kind.name()),
            Cell::text(view.host.map_or_else(|| "—".to_owned(), typed)),
        ]
    };
    Table::new(columns, items.iter().map(row).collect())
}
