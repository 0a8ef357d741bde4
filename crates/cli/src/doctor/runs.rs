//! The runs: those that are recorded as alive and are dead, and output that belongs to none.

use std::path::Path;
use std::time::Duration;

use callboard_engine::{Host, ReapAct, Reaper, Viewpoint, outlived};
use callboard_kernel::{EntityId, Moment};
use callboard_ledger::Ledger;
use callboard_server::watchable;

use super::Check;
use crate::error::told;
use crate::show::record_text::size;
use crate::store::Store;

/// Looks at the runs.
pub(super) fn checks(store: &Store, ledger: &Ledger, now: Moment) -> Vec<Check> {
    let mut checks = vec![supervisors(ledger, now)];
    checks.extend(ended(ledger, now));
    if let Ok(dir) = store.runs() {
        checks.push(output(ledger, &dir));
    }
    checks
}

fn supervisors(ledger: &Ledger, now: Moment) -> Check {
    let host = Host::this();
    let reaper = Reaper { ledger, world: &host, now, older_than: Duration::ZERO, dry_run: true };
    match reaper.reap() {
        Err(error) => {
            let advice = "callboard store check says what is damaged";
            Check::broken("supervisors", told(&error), advice)
        }
        // Each has a supervisor and a command.
        Ok(runs) if 2 * runs.len() > watchable() => Check::warning(
            "supervisors",
            format!(
                "{} runs are alive, and a server that is started from here can be told the end of {} processes",
                runs.len(),
                watchable()
            ),
            "it looks at the others now and then; raise the number of open files (ulimit -n) where it is started",
        ),
        Ok(runs) => match runs.iter().filter(|run| run.act == ReapAct::WouldEnd).count() {
            0 => Check::ok("supervisors", format!("{} runs are alive", runs.len())),
            dead => Check::warning(
                "supervisors",
                format!("{dead} of {} runs recorded as alive are dead", runs.len()),
                "callboard reap ends them, each with what shows it",
            ),
        },
    }
}

/// Runs that have ended in the log while processes of theirs are alive here, if there are any.
fn ended(ledger: &Ledger, now: Moment) -> Option<Check> {
    let host = Host::this();
    let found = match outlived(ledger, &host, &Viewpoint::present(now, &host)) {
        Ok(found) if found.is_empty() => return None,
        Ok(found) => found,
        Err(error) => {
            let advice = "callboard store check says what is damaged";
            return Some(Check::broken("ended runs", told(&error), advice));
        }
    };
    let ids: Vec<String> = found.iter().map(|seen| seen.view().id.to_string()).collect();
    Some(Check::warning(
        "ended runs",
        format!("{} ended in the log, and processes of them are alive: {}", found.len(), ids.join(", ")),
        "callboard inspect ID tells which processes; end them with kill, or find out who ended the run in the log with \
         callboard why ID",
    ))
}

/// Directories of output whose run is not in this store, as another store's or a lost one's.
fn output(ledger: &Ledger, dir: &Path) -> Check {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Check::ok("output", "none is kept yet");
        }
        Err(error) => {
            let advice = "give yourself the right to read there";
            return Check::broken("output", format!("{}: {error}", dir.display()), advice);
        }
    };
    let (mut kept, mut strays, mut bytes) = (0_usize, 0_usize, 0_u64);
    for entry in entries.flatten() {
        let id = entry.file_name().to_str().and_then(|name| name.parse::<EntityId>().ok());
        let is_known = id.is_some_and(|id| !matches!(ledger.entity(id), Ok(None)));
        kept += 1;
        if !is_known {
            strays += 1;
            bytes += size_of(&entry.path());
        }
    }
    match strays {
        0 => Check::ok("output", format!("{kept} runs have output below {}", dir.display())),
        _ => Check::warning(
            "output",
            format!(
                "{strays} directories below {} belong to no run of this store: {}",
                dir.display(),
                size(bytes)
            ),
            "callboard reap removes those whose supervisor died before its first record; remove the others if no other \
             store keeps its runs there",
        ),
    }
}

/// The files right in a directory; a run's output has none below.
fn size_of(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    files
        .filter_map(|file| file.metadata().ok())
        .filter(|found| found.is_file())
        .map(|found| found.len())
        .sum()
}
