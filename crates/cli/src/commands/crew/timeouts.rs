//! `callboard timeouts`: how long attempts may take, and what that follows from.
//!
//! Invariant: everything is read from the turns of earlier attempts; nothing is shown for what has no samples.

use std::time::Duration;

use callboard_engine::tasks::{ChosenTimeout, timeouts};
use callboard_kernel::{EntityId, one_line};
use callboard_lifecycle::Words;
use clap::Args;
use serde::Serialize;

use crate::error::{Error, Exit};
use crate::input::moment::clock_time;
use crate::show::screen::Screen;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;

/// Show how long attempts may take, and the earlier attempts which that follows from.
///
/// BOUND is what the next attempt gets unless its task has a timeout of its own. It follows from the newest attempts of the same
/// role, scope and profile, and is the default of the scope as long as there are fewer than 8. docs/tasks.md has the rule.
#[derive(Args, Debug)]
pub(crate) struct TimeoutsArgs {
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    items: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    role: Option<&'a str>,
    scope: &'a str,
    profile: Option<&'a str>,
    samples: usize,
    p95_s: Option<f64>,
    bound_s: f64,
    rule: &'a str,
    /// The turns of the samples, the newest first.
    sample_turns: &'a [EntityId],
}

impl<'a> Row<'a> {
    fn of(chosen: &'a ChosenTimeout) -> Self {
        let (key, timeout) = (&chosen.key, chosen.timeout);
        Self {
            role: key.role.as_deref(),
            scope: key.scope.name(),
            profile: key.profile.as_deref(),
            samples: timeout.samples,
            p95_s: timeout.p95.map(|span| span.as_secs_f64()),
            bound_s: timeout.bound.as_secs_f64(),
            rule: timeout.rule.name(),
            sample_turns: &chosen.samples,
        }
    }
}

impl TimeoutsArgs {
    /// Shows them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_look()?;
        let all = timeouts(&ledger).map_err(Error::Ask)?;
        if self.json {
            screen.json(&Document { items: all.iter().map(Row::of).collect() })?;
            return Ok(Exit::DONE);
        }
        let text = match all.is_empty() {
            true => {
                screen.prose("No attempt has ended yet: the defaults of the scopes hold (15m, 30m, 1h, 2h).")
            }
            false => screen.table(&table(&all)),
        };
        screen.print(&text)?;
        Ok(Exit::DONE)
    }
}

fn table(all: &[ChosenTimeout]) -> Table {
    let columns = [
        Column::text("ROLE", 7, 8),
        Column::names("SCOPE", 8),
        Column::text("PROFILE", 6, 8),
        Column::numbers("SAMPLES", 5),
        Column::numbers("P95", 4),
        Column::numbers("BOUND", 9),
        Column::names("RULE", 3),
    ];
    let word = |text: Option<&String>| text.map_or_else(|| "—".to_owned(), |text| one_line(text));
    let span = |span: Option<Duration>| span.map_or_else(|| "—".to_owned(), clock_time);
    let row = |chosen: &ChosenTimeout| {
        let (key, timeout) = (&chosen.key, chosen.timeout);
        [
            Cell::text(word(key.role.as_ref())),
            Cell::text(key.scope.name()),
            Cell::text(word(key.profile.as_ref())),
            Cell::text(timeout.samples.to_string()),
            Cell::text(span(timeout.p95)),
            Cell::text(clock_time(timeout.bound)),
            Cell::text(timeout.rule.name()),
        ]
    };
    Table::new(columns, all.iter().map(row).collect())
}
