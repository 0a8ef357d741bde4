//! `callboard board`: the tasks in columns by state.
//!
//! Invariant: no line is wider than the screen; what does not fit is cut, and a column that has no room beside the others stands below
//! them. Deliberately absent: deciding anything; the verbs of `callboard task` do that.

use std::collections::HashMap;
use std::path::PathBuf;

use callboard_engine::tasks::{Over, TaskFilter, card_note, worker_names};
use callboard_engine::{Host, Observed, View, Viewpoint};
use callboard_kernel::task::BoardColumn;
use callboard_kernel::{fact, one_line, task};
use callboard_ledger::Ledger;
use callboard_lifecycle::Words;
use clap::Args;
use serde::Serialize;

use super::add::repo;
use crate::clock;
use crate::error::{Error, Exit};
use crate::input::ids::Short;
use crate::input::moment::age_of;
use crate::input::word::{Reading, pair};
use crate::show::columns::{Card, Column, render};
use crate::show::live::{Frame, watch};
use crate::show::screen::Screen;
use crate::show::style::of_token;
use crate::store::Store;

/// How many cards of a column are shown; the list of tasks shows all.
const CARDS_MAX: usize = 12;
/// The prefix of an id, which the verbs of tasks do not need.
const PREFIX: usize = 4;

/// Show the tasks in columns by state.
///
/// What is closed or cancelled is counted. The verbs of callboard task take an id as it is shown here.
#[derive(Args, Debug)]
pub(crate) struct BoardArgs {
    /// For this role.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// With this label. May be given several times.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = Reading(pair))]
    labels: Vec<(String, String)>,
    /// Of this git repository.
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Show it again whenever it changes, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
    /// One JSON document; with --watch, one a line.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    columns: Vec<ColumnShown<'a>>,
    closed: u64,
    cancelled: u64,
}

#[derive(Serialize)]
struct ColumnShown<'a> {
    name: &'static str,
    count: usize,
    items: Vec<View<'a>>,
}

impl BoardArgs {
    /// Shows it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_look()?;
        let wanted = TaskFilter {
            states: Vec::new(),
            role: self.role.clone(),
            labels: self.labels.clone(),
            repo: self.repo.as_deref().map(|path| repo(Some(path))).transpose()?.flatten(),
            all: false,
        };
        if self.watch {
            return watch(screen, &ledger, self.json, &mut |screen| self.frame(screen, &ledger, &wanted));
        }
        let frame = self.frame(screen, &ledger, &wanted)?;
        match self.json {
            true => screen.data_text(&frame.text)?,
            false => screen.print(&frame.text)?,
        }
        Ok(Exit::DONE)
    }

    fn frame(&self, screen: &Screen, ledger: &Ledger, wanted: &TaskFilter) -> Result<Frame, Error> {
        let host = Host::this();
        let sight = Viewpoint::present(clock::now(), &host);
        let mut seen = wanted.read(ledger, &sight).map_err(Error::Ask)?;
        seen.sort_by_cached_key(|seen| {
            let priority = seen.stored.entity.facts.read(fact::PRIORITY);
            (priority.unwrap_or(task::PRIORITY), seen.stored.entity.state.id)
        });
        let over = wanted.over(ledger, &sight).map_err(Error::Ask)?;
        let line = |seen: &Observed| {
            format!("{} {}\n", seen.stored.entity.state.id, seen.stored.entity.state.version)
        };
        let key = seen.iter().map(line).collect::<String>() + &format!("{over:?}");
        let text = match self.json {
            true => screen.document(&document(&seen, over), self.watch)?,
            false => text(screen, &seen, &worker_names(ledger).map_err(Error::Ask)?, over),
        };
        Ok(Frame { key, text })
    }
}

fn in_column(seen: &[Observed], column: BoardColumn) -> Vec<&Observed> {
    let is_in = |seen: &&Observed| task::state(&seen.stored.entity).and_then(BoardColumn::of) == Some(column);
    seen.iter().filter(is_in).collect()
}

fn document(seen: &[Observed], Over { closed, cancelled }: Over) -> Document<'_> {
    let column = |column: &BoardColumn| {
        let items: Vec<View<'_>> = in_column(seen, *column).into_iter().map(Observed::view).collect();
        ColumnShown { name: column.name(), count: items.len(), items }
    };
    Document { columns: BoardColumn::ALL.iter().map(column).collect(), closed, cancelled }
}

fn text(
    screen: &Screen,
    seen: &[Observed],
    workers: &HashMap<String, String>,
    Over { closed, cancelled }: Over,
) -> String {
    let short = Short::among(seen.iter().map(|seen| seen.stored.entity.state.id));
    let column = |column: &BoardColumn| {
        let all = in_column(seen, *column);
        Column {
            title: format!("{} {}", column.title(), all.len()),
            style: of_token(column.token()),
            cards: all.iter().take(CARDS_MAX).map(|seen| card(seen, &short, workers)).collect(),
            left: all.len().saturating_sub(CARDS_MAX),
        }
    };
    let columns: Vec<Column> = BoardColumn::ALL.iter().map(column).collect();
    let mut text = render(&columns, screen.width());
    if seen.is_empty() {
        text += &screen.prose("No task is on the board. Add one: callboard task add TITLE");
    }
    text + &screen.prose(&format!("{closed} closed, {cancelled} cancelled"))
}

fn card(seen: &Observed, short: &Short, workers: &HashMap<String, String>) -> Card {
    let view = seen.view();
    // Where a column holds several states, the note says in which one the task is.
    let note = card_note(&seen.stored.entity, |id| workers.get(id).cloned().unwrap_or_else(|| id.to_owned()));
    Card {
        title: view.title.map_or_else(|| "—".to_owned(), one_line),
        id: short.of(view.id).split_off(PREFIX),
        age: age_of(view.entered_at, view.state.evaluated_at),
        note: one_line(&note),
    }
}
