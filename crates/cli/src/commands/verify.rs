//! `callboard verify`: is the log what was written?
//!
//! Invariant: a log that does not hold ends with exit code 1 and the position of the first record that does not.
//! Deliberately absent: mending anything.

use callboard_ledger::{Problem, PublicKey, Report};
use clap::Args;

use crate::advice;
use crate::error::{Error, Exit};
use crate::screen::Screen;
use crate::store::Store;
use crate::table::{Cell, Column, Table};
use crate::telling::count;

/// Check every record of the log: its hash, its place, its edge, and the checkpoints over it.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Take only checkpoints that this public key signed, whatever keys the store lists. Can be given again.
    #[arg(long, value_name = "HEX")]
    key: Vec<PublicKey>,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

impl VerifyArgs {
    /// Checks it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        let report = match self.key.as_slice() {
            [] => ledger.verify(),
            keys => ledger.verify_signed_by(keys),
        };
        let report = report.map_err(Error::Ask)?;
        if self.json {
            screen.json(&report)?;
        } else {
            screen.print(&text(screen, &report))?;
        }
        Ok(if report.ok { Exit::DONE } else { Exit::FAILED })
    }
}

/// What was found, and what to do about it.
pub(crate) fn text(screen: &Screen, report: &Report) -> String {
    let Report { records, checkpoints, problems, .. } = report;
    let Some(first) = problems.iter().min_by_key(|problem| problem.seq.unwrap_or(u64::MAX)) else {
        return screen.prose(&format!(
            "The log holds: {} and {}.",
            count(*records, "record"),
            count(*checkpoints, "checkpoint")
        ));
    };
    let place = match (first.seq, &first.entity) {
        (Some(seq), Some(entity)) => format!("at record {seq}, of {entity}"),
        (Some(seq), None) => format!("at record {seq}"),
        (None, Some(entity)) => format!("in the view of {entity}"),
        (None, None) => "beside its records".to_owned(),
    };
    let next = match first.seq {
        Some(seq) => advice::on_damage(seq),
        None => "callboard store rebuild folds the views anew from the log".to_owned(),
    };
    let what = format!("The log does not hold {place}: {}.", first.problem);
    let listed = screen.table(&table(&problems[..problems.len().min(LISTED_MAX)]));
    let more = problems.len().saturating_sub(LISTED_MAX);
    let more = if more == 0 { String::new() } else { format!("and {more} more\n") };
    screen.prose(&what) + &screen.prose(&format!("What to do: {next}.")) + "\n" + &listed + &more
}

/// Problems beyond this many are counted.
const LISTED_MAX: usize = 20;

fn table(problems: &[Problem]) -> Table {
    let columns = [Column::numbers("RECORD", 9), Column::names("ENTITY", 7), Column::prose("PROBLEM", 8, 24)];
    let row = |problem: &Problem| {
        [
            Cell::text(problem.seq.map_or_else(|| "—".to_owned(), |seq| seq.to_string())),
            Cell::text(problem.entity.clone().unwrap_or_else(|| "—".to_owned())),
            Cell::text(problem.problem.as_str()),
        ]
    };
    Table::new(columns, problems.iter().map(row).collect())
}
