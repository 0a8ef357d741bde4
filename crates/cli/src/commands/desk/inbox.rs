//! `callboard inbox`: the questions that wait for a person, the oldest first.

use callboard_engine::questions::inbox;
use callboard_kernel::{EntityId, one_line};
use callboard_ledger::Ledger;
use callboard_wire::{InboxShape, QuestionShape};
use clap::Args;

use super::question_text::expiry;
use crate::clock;
use crate::error::{Error, Exit};
use crate::input::ids::Short;
use crate::input::moment::age_of;
use crate::show::live::{Frame, watch};
use crate::show::screen::Screen;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;

/// List the questions that wait for a person, the oldest first.
///
/// callboard answer ID shows one whole, and callboard answer ID OPTION answers it.
#[derive(Args, Debug)]
pub(crate) struct InboxArgs {
    /// Those that were answered, expired or were withdrawn too: the newest 100.
    #[arg(long)]
    all: bool,
    /// Show it again whenever it changes, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
    /// One JSON document; with --watch, one a line.
    #[arg(long)]
    json: bool,
}

/// How many of the past are listed.
const PAST: usize = 100;

impl InboxArgs {
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
        let shown = inbox(ledger, self.all.then_some(PAST)).map_err(Error::Ask)?;
        let key: Vec<String> = shown.items.iter().map(|item| format!("{}{}", item.id, item.state)).collect();
        let text = match self.json {
            true => screen.document(&shown, self.watch)?,
            false if shown.items.is_empty() => screen.prose("No question waits for an answer."),
            false => screen.table(&table(&shown)),
        };
        Ok(Frame { key: key.join(","), text })
    }
}

fn table(shown: &InboxShape) -> Table {
    let columns = [
        Column::names("ID", 9),
        Column::text("QUESTION", 8, 20),
        Column::text("OPTIONS", 7, 8),
        Column::numbers("AGE", 6),
        Column::numbers("LEFT", 4),
        Column::text("ABOUT", 5, 12),
        Column::text("ASKED BY", 3, 8),
    ];
    let id = |item: &QuestionShape| item.id.parse::<EntityId>().ok();
    let short = Short::among(shown.items.iter().filter_map(id));
    let now = clock::now();
    let row = |item: &QuestionShape| {
        let about = item.subject.as_ref().map_or_else(String::new, |subject| {
            subject.title.as_deref().map_or_else(|| subject.id.clone(), one_line)
        });
        let answer = match (&item.answer, item.state.as_str()) {
            (Some(answer), state) => format!("{state}: {}", one_line(answer)),
            (None, "asked") if item.options.is_empty() => "any text".to_owned(),
            (None, "asked") => item.options.join(", "),
            (None, state) => state.to_owned(),
        };
        [
            Cell::text(id(item).map_or_else(|| item.id.clone(), |id| short.of(id))),
            Cell::text(one_line(&item.text)),
            Cell::text(one_line(&answer)),
            Cell::text(age_of(item.asked_at.as_ref().and_then(|at| at.parse().ok()), now)),
            Cell::text(expiry(item, now)),
            Cell::text(about),
            Cell::text(item.asked_by.as_deref().map_or_else(|| "—".to_owned(), one_line)),
        ]
    };
    Table::new(columns, shown.items.iter().map(row).collect())
}
