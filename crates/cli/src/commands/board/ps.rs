//! `callboard ps`: what is alive, the most urgent first.
//!
//! Invariant: a row says what the view says; rows from before there were states are a number beside the list and in
//! none of its figures. Deliberately absent: why a row is as it is; `why` tells that.

use std::collections::BTreeSet;

use callboard_engine::board::Filter;
use callboard_engine::{Observed, View};
use callboard_kernel::one_line;
use callboard_lifecycle::{Kind, Words};
use clap::Args;
use serde::Serialize;

use crate::error::{Error, Exit};
use crate::input::filter_args::FilterArgs;
use crate::input::ids::Short;
use crate::input::moment::age_of;
use crate::input::word::WordParser;
use crate::show::live::{Frame, watch};
use crate::show::record_text::typed;
use crate::show::screen::Screen;
use crate::show::style::of_tone;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;
use crate::store::at_moment::{MomentArgs, StoreAt};

/// List what is alive: runs, tasks, agents and whatever else is recorded.
///
/// The most urgent come first, then the newest. AGE is how long a thing is in its state. Asking for a state that is an
/// end, such as failed, lists what has ended. With --all and --limit and no other filter, the newest are listed, the most
/// urgent of them first.
#[derive(Args, Debug)]
pub(crate) struct PsArgs {
    /// Only those of a kind.
    #[arg(value_name = "KIND", value_parser = WordParser::<Kind>::new())]
    kind: Option<Kind>,
    /// Those that ended too.
    #[arg(long)]
    all: bool,
    /// Show it again whenever it changes, until Ctrl-C.
    #[arg(long, short, conflicts_with_all = ["at", "as_of"])]
    watch: bool,
    #[command(flatten)]
    look: MomentArgs,
    /// One JSON document; with --watch, one a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filters: FilterArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    items: &'a [View<'a>],
    /// How many there are, shown or not; null if only the newest were read, and there are more.
    total: Option<usize>,
    legacy: u64,
}

impl PsArgs {
    /// Lists them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let mut look = self.look.open(store)?;
        let filter = self.filters.filter(&look.ledger, self.kind)?;
        if self.watch {
            let ledger = look.ledger.clone();
            return watch(screen, &ledger, self.json, &mut |screen| {
                look.again();
                self.frame(screen, &look, &filter)
            });
        }
        let frame = self.frame(screen, &look, &filter)?;
        if self.json {
            screen.data_text(&frame.text)?
        } else {
            screen.print(&frame.text)?
        }
        Ok(Exit::DONE)
    }

    /// How many of the newest are read, where nothing but their number was asked for: there may be very many.
    fn newest(&self) -> Option<usize> {
        let limit = self.filters.limit.filter(|limit| *limit > 0)?;
        (self.all && !self.filters.is_given()).then_some(limit)
    }

    fn frame(&self, screen: &Screen, look: &StoreAt, filter: &Filter) -> Result<Frame, Error> {
        let newest = self.newest();
        let is_all = self.all || filter.asks_for_ends();
        let mut seen = match newest {
            Some(limit) => look.newest(self.kind, limit.saturating_add(1))?,
            None => look.entities(self.kind, is_all)?,
        };
        let is_cut = newest.is_some_and(|limit| seen.len() > limit);
        seen.truncate(newest.unwrap_or(usize::MAX));
        if !is_all && self.kind.is_none_or(|kind| kind == Kind::Session) {
            seen.extend(look.outlived()?);
        }
        let legacy = look.ledger.legacy().map_err(Error::Ask)?;
        let mut items: Vec<View<'_>> = seen.iter().map(Observed::view).collect();
        items.retain(|view| filter.admits(view, view.entered_at));
        items.sort_by_key(|view| (view.state.severity, std::cmp::Reverse(view.created_at)));
        let found = items.len();
        items.truncate(self.filters.shown(found, 0));
        let total = (!is_cut).then_some(found);
        let left = total.map(|total| total - items.len());
        let line = |view: &View<'_>| {
            format!("{} {} {:?} {}\n", view.id, view.state.severity, view.title, view.chain)
        };
        let key = items.iter().map(line).collect::<String>() + &format!("{total:?} {legacy}");
        let text = match self.json {
            true => screen.document(&Document { items: &items, total, legacy }, self.watch)?,
            false => self.text(screen, &items) + &more(screen, left) + &hint(screen, legacy),
        };
        Ok(Frame { key, text })
    }

    fn text(&self, screen: &Screen, items: &[View<'_>]) -> String {
        if !items.is_empty() {
            return screen.table(&table(items));
        }
        if self.filters.is_given() {
            return screen.prose(if self.all {
                "Nothing matches."
            } else {
                "Nothing matches. Those that ended too: --all"
            });
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

fn more(screen: &Screen, left: Option<usize>) -> String {
    match left {
        Some(0) => String::new(),
        Some(left) => screen.hint(&format!("and {left} more: --limit 0")),
        None => screen.hint("and more: --limit 0"),
    }
}

fn hint(screen: &Screen, legacy: u64) -> String {
    match legacy {
        0 => String::new(),
        1 => screen.hint("and 1 row from before there were states, counted nowhere"),
        count => screen.hint(&format!("and {count} rows from before there were states, counted nowhere")),
    }
}

/// The table of these views. The project is told where there are several.
pub(crate) fn table(items: &[View<'_>]) -> Table {
    let columns = [
        Column::names("ID", 9),
        Column::text("TITLE", 7, 12),
        Column::names("STATE", 8),
        Column::numbers("AGE", 6),
        Column::text("PROJECT", 5, 8),
        Column::names("KIND", 3),
        Column::text("WHERE", 4, 8),
    ];
    let short = Short::among(items.iter().map(|view| view.id));
    let projects: BTreeSet<&str> = items.iter().filter_map(View::project).collect();
    let project = |view: &View<'_>| match projects.len() {
        0 | 1 => String::new(),
        _ => view.project().map_or_else(|| "—".to_owned(), one_line),
    };
    let row = |view: &View<'_>| {
        [
            Cell::text(short.of(view.id)),
            Cell::text(view.title.map_or_else(|| "—".to_owned(), one_line)),
            Cell::styled(view.chain.as_str(), of_tone(view.state.tone)),
            Cell::text(age_of(view.entered_at, view.state.evaluated_at)),
            Cell::text(project(view)),
            Cell::text(view.kind.name()),
            Cell::text(view.host.map_or_else(|| "—".to_owned(), typed)),
        ]
    };
    Table::new(columns, items.iter().map(row).collect())
}
