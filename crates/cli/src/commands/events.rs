//! `callboard events`: the records of the log in their order, and those to come.
//!
//! Invariant: continuing after a number loses nothing and repeats nothing. Whoever follows looks at the end of the log
//! a few times a second and reads only when it moved; it ends when nobody reads the output any more. Deliberately
//! absent: filters beyond one entity.

use std::io::{BufWriter, Write};

use callboard_ledger::{Ledger, Page, Record, Scope};
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Error, Exit};
use crate::ids::{self, Short};
use crate::screen::Screen;
use crate::store::Store;
use crate::{sending, telling};

/// Print the records of the log in order, one a line.
///
/// With --json, one JSON object a line. --since takes the number of the last record that was seen.
#[derive(Args, Debug)]
pub(crate) struct EventsArgs {
    /// Only those of one entity: its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only those after this record.
    #[arg(long, value_name = "SEQ", default_value_t = 0, hide_default_value = true)]
    since: u64,
    /// Wait for more, until interrupted.
    #[arg(long, short)]
    follow: bool,
    /// At most this many, and then no more.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Records held in memory at once.
const PAGE: u64 = 1000;
/// How long a follower waits between two looks at the end of the log.
const LOOK_MS: i64 = 100;

impl EventsArgs {
    /// Prints what there is, and what comes if that was asked for.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        let scope = match &self.id {
            None => Scope::All,
            Some(typed) => Scope::Entity(ids::find(&ledger, typed)?),
        };
        let (mut after, mut left) = (self.since, self.limit.unwrap_or(u64::MAX));
        loop {
            let head = ledger.head().map_err(Error::Ask)?;
            while after < head && left > 0 {
                let limit = usize::try_from(left.min(PAGE)).unwrap_or(usize::MAX);
                let records = page(&ledger, Page { after, limit, scope })?;
                let Some(last) = records.last() else { break };
                after = last.seq;
                left -= records.len() as u64;
                self.print(screen, &records)?;
            }
            // Between here and the head there is nothing of this entity.
            after = after.max(if left > 0 { head } else { after });
            if !self.follow || left == 0 || is_gone_after_waiting() {
                return Ok(Exit::DONE);
            }
        }
    }

    fn print(&self, screen: &Screen, records: &[Record]) -> Result<(), Error> {
        let short = Short::among(records.iter().filter_map(|record| record.id().ok()));
        let mut out: Box<dyn Write> = match self.json {
            true => Box::new(BufWriter::new(screen.data())),
            false => Box::new(screen.stream()),
        };
        for record in records {
            let line = match self.json {
                true => sending::json(record)? + "\n",
                false => telling::line(record, &short, screen.width()),
            };
            out.write_all(line.as_bytes()).map_err(Error::Write)?;
        }
        out.flush().map_err(Error::Write)
    }
}

fn page(ledger: &Ledger, page: Page) -> Result<Vec<Record>, Error> {
    ledger.records(page).map_err(Error::Ask)
}

/// Waits a moment; says at once when nobody reads the output any more.
fn is_gone_after_waiting() -> bool {
    let output = std::io::stdout();
    // Nothing is asked for: an end that hung up is reported all the same.
    let mut ends = [PollFd::new(&output, PollFlags::empty())];
    let wait = Timespec { tv_sec: 0, tv_nsec: LOOK_MS * 1_000_000 };
    poll(&mut ends, Some(&wait)).is_ok_and(|ended| ended > 0)
}
