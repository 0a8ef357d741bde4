//! Where the fleet is asked: one board and one set of counts for all questions.
//!
//! Invariant: whoever asks sees everything that was recorded before. A question holds the board only while it picks what
//! it needs; what is shown is unpacked and written afterwards. Deliberately absent: questions.

use std::sync::{Mutex, PoisonError};

use callboard_kernel::EntityId;
use callboard_ledger::{Ledger, ReadError};

use super::cached_process_table::{CachedLooks, CachedProcessTable};
use super::ranked::{Board, ChangedVerdict};
use super::state_counts::{Counts, StateCounts};
use crate::{Clock, Host, Viewpoint};

/// What is alive, what needs somebody, and how many stand where.
pub struct Fleet {
    board: Mutex<Option<Board>>,
    standings: Mutex<Option<StateCounts>>,
    looks: CachedLooks,
    /// Is called when a verdict changed although nothing was recorded.
    on_change: Box<dyn Fn() + Send + Sync>,
}

impl Fleet {
    /// A fleet that is read when the first question is asked; `on_change` is called when a verdict changed although nothing
    /// was recorded.
    pub fn new(on_change: Box<dyn Fn() + Send + Sync>) -> Self {
        Self {
            board: Mutex::default(),
            standings: Mutex::default(),
            looks: CachedLooks::default(),
            on_change,
        }
    }

    /// Asks the board, brought up to the end of the log and judged.
    pub fn ask<T>(
        &self,
        ledger: &Ledger,
        clock: &dyn Clock,
        host: &Host,
        question: impl FnOnce(&Board) -> T,
    ) -> Result<T, ReadError> {
        let end = ledger.head()?;
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let table = self.process_table(host);
        let sight = Viewpoint::present(clock.now(), &table);
        let board = match board.as_mut() {
            Some(board) if !board.is_far_behind(end) => board,
            Some(_) | None => board.insert(Board::read(ledger, &sight)?),
        };
        board.follow(ledger, &sight)?;
        if board.has_changed() {
            (self.on_change)();
        }
        Ok(question(board))
    }

    /// Looks again at runs of which a process ended, and reads the log after that.
    pub fn look_again(
        &self,
        ledger: &Ledger,
        clock: &dyn Clock,
        host: &Host,
        runs: &[EntityId],
        pids: &[u32],
    ) -> Result<(), ReadError> {
        self.looks.forget(pids);
        host.forget();
        // What is not on the board yet is judged when it is read.
        self.ask(ledger, clock, host, |_| ())?;
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(board) = board.as_mut() else { return Ok(()) };
        let table = self.process_table(host);
        let sight = Viewpoint::present(clock.now(), &table);
        board.look_again(runs, &sight);
        board.follow(ledger, &sight)
    }

    /// Whose verdict changed although nothing was recorded, with the record up to which that was judged.
    pub fn take_changed(&self) -> (u64, Vec<ChangedVerdict>) {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.as_mut().map_or_else(Default::default, |board| (board.head, board.take_changed()))
    }

    /// How many stand in each state.
    pub fn counts(&self, ledger: &Ledger) -> Result<Counts, ReadError> {
        let end = ledger.head()?;
        let mut standings = self.standings.lock().unwrap_or_else(PoisonError::into_inner);
        let standings = match standings.as_mut() {
            Some(standings) if !standings.is_far_behind(end) => standings,
            Some(_) | None => standings.insert(StateCounts::read(ledger)?),
        };
        standings.catch_up(ledger, end)?;
        Ok(standings.counts.clone())
    }

    /// The process table by which things are judged.
    pub const fn process_table<'a>(&'a self, host: &'a Host) -> CachedProcessTable<'a> {
        CachedProcessTable { host, looks: &self.looks }
    }
}
