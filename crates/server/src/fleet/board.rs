//! The board: everything that is alive or ended in a way that calls for somebody, and how many stand where.
//!
//! Invariant: a question first brings the board up to the end of the log, and is then answered from it. What changed is
//! read from the view rows of the ledger, never computed here. Deliberately absent: what ended and needs nobody; there
//! may be millions of them, and the ledger lists those.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callboard_engine::{Host, Sight, View, evaluate};
use callboard_kernel::{EntityId, Moment};
use callboard_ledger::{Ledger, Listing, Page, ReadError, Scope, Stored};
use callboard_lifecycle::{Health, Severity};

use super::glance::{Glance, Looks};

/// Records read at once while catching up.
const PAGE: usize = 2000;
/// How long a judgement of the whole board is used again.
const MOMENT: Duration = Duration::from_millis(250);
/// Behind by more than this, everything is read anew.
const FAR_BEHIND: u64 = 50_000;

/// What is alive and what needs somebody.
#[derive(Default)]
pub(crate) struct Fleet {
    board: Mutex<Option<Board>>,
    standings: Mutex<Option<Standings>>,
    ranking: Mutex<Option<(u64, Instant, Ranking)>>,
    looks: Looks,
}

/// Everything on the board in the order of its severity, the newest first among equals.
pub(crate) type Ranking = Arc<Vec<Ranked>>;

/// One entity, and what the judge said of it.
pub(crate) struct Ranked {
    pub(crate) severity: Severity,
    pub(crate) health: Option<Health>,
    pub(crate) stored: Arc<Stored>,
}

impl Ranked {
    pub(crate) fn id(&self) -> EntityId {
        self.stored.entity.state.id
    }
}

/// How many stand in each state, by kind.
pub(crate) type Counts = BTreeMap<String, BTreeMap<String, u64>>;

struct Board {
    head: u64,
    /// Shared with those who are being answered; copied only if somebody still looks at it when it changes.
    entities: Arc<HashMap<EntityId, Arc<Stored>>>,
}

struct Standings {
    head: u64,
    counts: Counts,
}

/// The board as one question sees it.
pub(crate) struct Seen {
    /// Everything up to this record is in it.
    pub(crate) head: u64,
    entities: Arc<HashMap<EntityId, Arc<Stored>>>,
}

impl Fleet {
    /// The board, up to the end of the log.
    pub(crate) fn seen(&self, ledger: &Ledger) -> Result<Seen, ReadError> {
        let end = ledger.head()?;
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let board = match board.as_mut() {
            Some(board) if end.saturating_sub(board.head) <= FAR_BEHIND => board,
            Some(_) | None => board.insert(Board::read(ledger)?),
        };
        board.catch_up(ledger, end)?;
        Ok(Seen { head: board.head, entities: Arc::clone(&board.entities) })
    }

    /// How many stand in each state.
    pub(crate) fn counts(&self, ledger: &Ledger) -> Result<Counts, ReadError> {
        let end = ledger.head()?;
        let mut standings = self.standings.lock().unwrap_or_else(PoisonError::into_inner);
        let standings = match standings.as_mut() {
            Some(standings) if end.saturating_sub(standings.head) <= FAR_BEHIND => standings,
            Some(_) | None => standings.insert(Standings::read(ledger)?),
        };
        standings.catch_up(ledger, end)?;
        Ok(standings.counts.clone())
    }

    /// The board in the order of its severity. It is judged anew when something was recorded, and after a moment though
    /// nothing was, because health changes though nobody writes.
    pub(crate) fn ranking(&self, seen: &Seen, now: Moment, host: &Host) -> Ranking {
        let mut ranking = self.ranking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((head, at, ranked)) = &*ranking
            && *head == seen.head
            && at.elapsed() < MOMENT
        {
            return Arc::clone(ranked);
        }
        let glance = self.glance(host);
        let sight = Sight::present(now, &glance);
        let rank = |stored: &Arc<Stored>| {
            let view = evaluate(stored, &sight);
            Ranked { severity: view.state.severity, health: view.state.health, stored: Arc::clone(stored) }
        };
        let mut ranked: Vec<Ranked> = seen.entities.values().map(rank).collect();
        ranked.sort_by_key(|ranked| (ranked.severity, Reverse(ranked.id().uuid())));
        let ranked = Arc::new(ranked);
        *ranking = Some((seen.head, Instant::now(), Arc::clone(&ranked)));
        ranked
    }

    /// From where and when things are judged.
    pub(crate) const fn glance<'a>(&'a self, host: &'a Host) -> Glance<'a> {
        Glance { host, looks: &self.looks }
    }
}

impl Board {
    fn read(ledger: &Ledger) -> Result<Self, ReadError> {
        // The end is read first: what comes meanwhile is followed and at worst read twice.
        let head = ledger.head()?;
        let alive = ledger.entities(Listing::default())?;
        let urgent = ledger.attention(i64::MAX as usize)?;
        let all = alive.into_iter().chain(urgent);
        let entities = all.map(|stored| (stored.entity.state.id, Arc::new(stored))).collect();
        Ok(Self { head, entities: Arc::new(entities) })
    }

    fn catch_up(&mut self, ledger: &Ledger, end: u64) -> Result<(), ReadError> {
        while self.head < end {
            let records = ledger.records(Page { after: self.head, limit: PAGE, scope: Scope::All })?;
            let Some(last) = records.last().map(|record| record.seq) else { break };
            let touched: HashSet<EntityId> = records.iter().filter_map(|record| record.id().ok()).collect();
            let entities = Arc::make_mut(&mut self.entities);
            for id in touched {
                match ledger.entity(id)? {
                    Some(stored) if stored.entity.ended_at.is_none() || stored.is_urgent() => {
                        entities.insert(id, Arc::new(stored));
                    }
                    Some(_) | None => {
                        entities.remove(&id);
                    }
                }
            }
            self.head = last;
        }
        Ok(())
    }
}

impl Standings {
    fn read(ledger: &Ledger) -> Result<Self, ReadError> {
        let (head, standings) = ledger.standings()?;
        let mut counts = Counts::new();
        for standing in standings {
            counts.entry(standing.kind).or_default().insert(standing.state, standing.count);
        }
        Ok(Self { head, counts })
    }

    fn catch_up(&mut self, ledger: &Ledger, end: u64) -> Result<(), ReadError> {
        while self.head < end {
            let records = ledger.records(Page { after: self.head, limit: PAGE, scope: Scope::All })?;
            let Some(last) = records.last().map(|record| record.seq) else { break };
            for record in &records {
                let states = self.counts.entry(record.kind.clone()).or_default();
                if let Some(count) = states.get_mut(&record.from_state) {
                    *count = count.saturating_sub(1);
                }
                *states.entry(record.to_state.clone()).or_default() += 1;
            }
            self.head = last;
        }
        Ok(())
    }
}

impl Seen {
    /// Everything on the board.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Stored> {
        self.entities.values().map(AsRef::as_ref)
    }

    /// What has not ended.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Stored> {
        self.all().filter(|stored| stored.entity.ended_at.is_none())
    }

    /// Everything on the board, judged.
    pub(crate) fn views(&self, now: Moment, glance: &Glance<'_>) -> Vec<View<'_>> {
        let sight = Sight::present(now, glance);
        self.all().map(|stored| evaluate(stored, &sight)).collect()
    }
}
