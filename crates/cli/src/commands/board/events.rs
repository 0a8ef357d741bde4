//! `callboard events`: the records of the log in their order, and those to come.
//!
//! Invariant: continuing after a number loses nothing and repeats nothing. Whoever follows is woken by the ledger and
//! reads only when the log has grown; a server that is away is waited for. It ends when nobody reads the output any
//! more. Deliberately absent: filters beyond one entity.

use std::io::{BufWriter, Write};
use std::time::Duration;

use callboard_ledger::{Ledger, Page, Record, RecordScope};
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Error, Exit, tell};
use crate::input::ids::{self, Short};
use crate::show::record_text;
use crate::show::screen::{Screen, steady};
use crate::store::Store;
use crate::store::sending;

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
/// How long a follower waits for the log before it looks whether anybody still reads.
const WAIT: Duration = Duration::from_millis(200);

impl EventsArgs {
    /// Prints what there is, and what comes if that was asked for.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_read()?;
        let scope = match &self.id {
            None => RecordScope::All,
            Some(typed) => RecordScope::Entity(ids::find(&ledger, typed)?),
        };
        let mut place = Place { after: self.since, left: self.limit.unwrap_or(u64::MAX) };
        let (mut head, mut is_told) = (ledger.head().map_err(Error::Ask)?, false);
        loop {
            let read = self.print_to(screen, &ledger, scope, head, &mut place);
            let grown = match read {
                Ok(()) if !self.follow || place.left == 0 || is_gone() => return Ok(Exit::DONE),
                Ok(()) => ledger.wait_beyond(head, WAIT).map_err(Error::Ask),
                Err(error) => Err(error),
            };
            match grown {
                Ok(grown) => (head, is_told) = (grown, false),
                Err(Error::Ask(error)) if self.follow && error.is_away() && !is_gone() => {
                    if !is_told {
                        tell("the server of the store is away; waiting for it\n");
                    }
                    is_told = true;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Prints what lies between the place and the head, and moves the place there.
    fn print_to(
        &self,
        screen: &Screen,
        ledger: &Ledger,
        scope: RecordScope,
        head: u64,
        place: &mut Place,
    ) -> Result<(), Error> {
        while place.after < head && place.left > 0 {
            let limit = usize::try_from(place.left.min(PAGE)).unwrap_or(usize::MAX);
            let page = Page { after: place.after, limit, scope };
            let records = ledger.records(page).map_err(Error::Ask)?;
            let Some(last) = records.last() else { break };
            self.print(screen, &records)?;
            place.after = last.seq;
            place.left -= records.len() as u64;
        }
        if place.left > 0 {
            // Between here and the head there is nothing of this entity.
            place.after = place.after.max(head);
        }
        Ok(())
    }

    fn print(&self, screen: &Screen, records: &[Record]) -> Result<(), Error> {
        let short = Short::among(records.iter().filter_map(|record| record.id().ok()));
        let mut out: Box<dyn Write> = match self.json {
            true => Box::new(BufWriter::new(screen.data())),
            false => Box::new(screen.stream()),
        };
        for record in records {
            let line = match self.json {
                true => screen.for_programs(&sending::json(record)?).into_owned() + "\n",
                false => steady(&record_text::line(record, &short, screen.width())).into_owned(),
            };
            out.write_all(line.as_bytes()).map_err(Error::Write)?;
        }
        out.flush().map_err(Error::Write)
    }
}

/// How far the output has come.
struct Place {
    after: u64,
    left: u64,
}

/// Does nobody read the output any more?
fn is_gone() -> bool {
    let output = std::io::stdout();
    // Nothing is asked for: an end that hung up is reported all the same.
    let mut ends = [PollFd::new(&output, PollFlags::empty())];
    poll(&mut ends, Some(&Timespec::default())).is_ok_and(|ended| ended > 0)
}
