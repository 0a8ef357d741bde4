//! The store as somebody looks at it: as it is, or as it was at a moment of the past.
//!
//! Invariant: the past is judged with the clock of the past, so that what `--at` shows is what was shown then.
//! Deliberately absent: writing.

use callboard_engine::{Host, Observed, Viewpoint, outlived};
use callboard_kernel::{EntityId, Moment};
use callboard_ledger::{Ledger, Listing, Page, Record, RecordScope, Stored};
use callboard_lifecycle::Kind;
use clap::Args;

use crate::clock;
use crate::error::Error;
use crate::input::ids;
use crate::input::moment::{When, absolute};
use crate::input::word::Reading;
use crate::store::Store;

/// Which moment to look at.
#[derive(Args, Debug)]
pub(crate) struct MomentArgs {
    /// As it was then: an RFC 3339 time, or how long ago, such as 5m or 2h.
    #[arg(long, value_name = "TIME", value_parser = Reading(When::read), allow_hyphen_values = true)]
    at: Option<When>,
    /// As it was after this record of the log.
    #[arg(long, value_name = "SEQ", conflicts_with = "at")]
    as_of: Option<u64>,
}

/// A store at a moment.
pub(crate) struct StoreAt {
    pub(crate) ledger: Ledger,
    /// The newest record that counts; nothing means all of them.
    seq: Option<u64>,
    /// The clock by which things are judged.
    pub(crate) now: Moment,
    host: Host,
}

impl MomentArgs {
    /// Opens the store for questions alone, at the moment that was asked for.
    pub(crate) fn open(&self, store: &Store) -> Result<StoreAt, Error> {
        self.look(store.open_to_look()?)
    }

    /// The same for a verb that may record something.
    pub(crate) fn open_to_record(&self, store: &Store) -> Result<StoreAt, Error> {
        self.look(store.open_existing()?)
    }

    fn look(&self, ledger: Ledger) -> Result<StoreAt, Error> {
        let now = clock::now();
        let (seq, now) = match (self.at, self.as_of) {
            (None, None) => (None, now),
            (Some(when), _) => {
                let moment = when.moment(now);
                (Some(ledger.seq_at(moment).map_err(Error::Ask)?), moment)
            }
            (None, Some(seq)) => (Some(seq), decided_at(&ledger, seq)?),
        };
        Ok(StoreAt { ledger, seq, now, host: Host::this() })
    }
}

/// When a record was decided.
fn decided_at(ledger: &Ledger, seq: u64) -> Result<Moment, Error> {
    let Some(after) = seq.checked_sub(1) else { return Ok(Moment::default()) };
    let page = Page { after, limit: 1, scope: RecordScope::All };
    match ledger.records(page).map_err(Error::Ask)?.first() {
        Some(record) => Ok(record.at),
        None => Err(Error::NoRecord { seq, head: ledger.head().map_err(Error::Ask)? }),
    }
}

impl StoreAt {
    /// Looks again: at what is, if it was not the past that was asked for.
    pub(crate) fn again(&mut self) {
        if self.seq.is_none() {
            self.now = clock::now();
        }
    }

    /// From where and when things are judged.
    fn sight(&self) -> Viewpoint<'_> {
        match self.seq {
            None => Viewpoint::present(self.now, &self.host),
            Some(_) => Viewpoint::past(self.now),
        }
    }

    /// The entity whose id begins with what was typed.
    pub(crate) fn entity(&self, typed: &str) -> Result<Observed, Error> {
        let id = ids::find(&self.ledger, typed)?;
        let stored = match self.seq {
            None => self.ledger.entity(id),
            Some(seq) => self.ledger.entity_at(id, seq),
        };
        let stored =
            stored.map_err(Error::Ask)?.ok_or_else(|| Error::NotYet { id, at: absolute(self.now) })?;
        Observed::of(&self.ledger, stored, &self.sight()).map_err(Error::Ask)
    }

    /// The entities of a kind or of all, those that ended too if they are wanted.
    pub(crate) fn entities(&self, kind: Option<Kind>, ended: bool) -> Result<Vec<Observed>, Error> {
        self.seen(self.read(Listing { kind, ended, limit: 0 })?)
    }

    /// The newest entities of a kind or of all, so many of them and no more.
    pub(crate) fn newest(&self, kind: Option<Kind>, limit: usize) -> Result<Vec<Observed>, Error> {
        self.seen(self.read(Listing { kind, ended: true, limit })?)
    }

    /// The runs that have ended in the log while processes of theirs are alive here.
    pub(crate) fn outlived(&self) -> Result<Vec<Observed>, Error> {
        match self.seq {
            None => outlived(&self.ledger, &self.host, &self.sight()).map_err(Error::Ask),
            Some(_) => Ok(Vec::new()),
        }
    }

    fn seen(&self, stored: Vec<Stored>) -> Result<Vec<Observed>, Error> {
        Observed::all(&self.ledger, stored, &self.sight()).map_err(Error::Ask)
    }

    fn read(&self, listing: Listing) -> Result<Vec<Stored>, Error> {
        let stored = match self.seq {
            None => self.ledger.entities(listing),
            Some(seq) => self.ledger.entities_at(listing, seq),
        };
        stored.map_err(Error::Ask)
    }

    /// What may need somebody: everything that is alive, which is yet to be judged, and what ended in a way that
    /// calls for somebody.
    pub(crate) fn candidates(&self) -> Result<Vec<Observed>, Error> {
        if self.seq.is_some() {
            return self.entities(None, true);
        }
        let mut all = self.read(Listing::default())?;
        let ended = self.ledger.attention(i64::MAX as usize).map_err(Error::Ask)?;
        all.extend(ended.into_iter().filter(|stored| stored.entity.ended_at.is_some()));
        self.seen(all)
    }

    /// Every record of an entity, newest first.
    pub(crate) fn history(&self, id: EntityId) -> Result<Vec<Record>, Error> {
        let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(id) };
        let mut records = self.ledger.records(page).map_err(Error::Ask)?;
        records.retain(|record| self.seq.is_none_or(|seq| record.seq <= seq));
        records.reverse();
        Ok(records)
    }
}
