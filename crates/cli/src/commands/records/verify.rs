//! `callboard verify`: is the log what was written?
//!
//! Invariant: a log that does not hold ends with exit code 1 and the position of the first record that does not.
//! Deliberately absent: mending anything.

use std::path::{Path, PathBuf};

use callboard_ledger::{GuardTally, Problem, PublicKey, Report, SealedBy, SealedRoot, Trust};
use clap::Args;

use crate::error::advice;
use crate::error::{Error, Exit};
use crate::show::record_text::count;
use crate::show::screen::Screen;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;

/// Check every record of the log: its hash, its place, its seal, and whether the kernel would take it.
///
/// The views are compared with the log, the schema with the one that this program makes, and the store with what was
/// remembered beside its key of how far it was sealed.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Take only checkpoints that this public key signed, whatever keys the store lists. Can be given again.
    #[arg(long, value_name = "HEX")]
    key: Vec<PublicKey>,
    /// Compare with a root that was kept elsewhere: a file that `store root` printed.
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

impl VerifyArgs {
    /// Checks it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_read()?;
        let root = self.root.as_deref().map(read_root).transpose()?;
        let trust = Trust { keys: self.key.clone(), root };
        let report = ledger.verify_against(&trust).map_err(Error::Ask)?;
        if self.json {
            screen.json(&report)?;
        } else {
            screen.print(&text(screen, &report))?;
        }
        Ok(if report.ok { Exit::DONE } else { Exit::FAILED })
    }
}

fn read_root(file: &Path) -> Result<SealedRoot, Error> {
    let text = std::fs::read(file).map_err(|cause| Error::Input(file.to_owned(), cause))?;
    serde_json::from_slice(&text).map_err(|cause| Error::Input(file.to_owned(), cause.into()))
}

/// Who sealed how much of it, and what this program cannot prove.
fn proof(report: &Report) -> String {
    let by = |sealed: &SealedBy| format!(" {} sealed by {}.", count(sealed.records, "record"), sealed.key);
    let mut told: String = report.sealed.iter().map(by).collect();
    if report.unsealed > 0 {
        told += &format!(" {} not sealed.", count(report.unsealed, "record"));
    }
    if report.unproved > 0 {
        let records = count(report.unproved, "record");
        told += &format!(" {records} unproved: only a newer program can decide what they are.");
    }
    told + &report.guards.iter().map(guards).collect::<String>()
}

/// What is known of the records that passed a guard.
fn guards(tally: &GuardTally) -> String {
    let GuardTally { guard, proved, vouched, unnamed } = tally;
    let told = |records: u64, rest: String| match records {
        0 => String::new(),
        _ => format!(" {} {rest}.", count(records, "record")),
    };
    told(*proved, format!("passed {guard}, asked again"))
        + &told(*vouched, format!("passed {guard} by the word of the writer"))
        + &told(*unnamed, format!("of an older release without a word on {guard}"))
}

/// What was found, and what to do about it.
pub(crate) fn text(screen: &Screen, report: &Report) -> String {
    let Report { records, checkpoints, problems, .. } = report;
    let Some(first) = problems.iter().min_by_key(|problem| problem.seq.unwrap_or(u64::MAX)) else {
        return screen.prose(&format!(
            "The log holds: {} and {}.{}",
            count(*records, "record"),
            count(*checkpoints, "checkpoint"),
            proof(report)
        ));
    };
    let found = match (first.seq, &first.entity) {
        (Some(seq), Some(entity)) => format!("The log does not hold at record {seq}, of {entity}"),
        (Some(seq), None) => format!("The log does not hold at record {seq}"),
        (None, Some(entity)) => format!("The view of {entity} does not match the log"),
        (None, None) => "The store is damaged or was changed outside of its records".to_owned(),
    };
    let next = match first.seq {
        Some(seq) => advice::on_damage(seq),
        None if first.entity.is_some() => {
            "callboard store rebuild folds the views anew from the log".to_owned()
        }
        None => advice::BESIDE_THE_LOG.to_owned(),
    };
    let what = format!("{found}: {}.", first.problem);
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
