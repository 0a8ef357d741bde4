//! Where the fleet is asked: one board and one set of counts for all questions.
//!
//! Invariant: whoever asks sees everything that was recorded before. A question holds the board only while it picks what
//! it needs; what is shown is unpacked and written afterwards. Deliberately absent: questions.

use std::sync::{Arc, Mutex, PoisonError};

use callboard_engine::{Clock, Host, Viewpoint};
use callboard_kernel::EntityId;
use callboard_ledger::{Ledger, ReadError};

use super::board::{Board, Changed};
use super::cached_process_table::{CachedLooks, CachedProcessTable};
use super::standings::{Counts, Standings};
use crate::deaths::Bell;

/// What is alive, what needs somebody, and how many stand where.
pub(crate) struct Fleet {
    board: Mutex<Option<Board>>,
    standings: Mutex<Option<Standings>>,
    looks: CachedLooks,
    /// Is rung when a verdict changed although nothing was recorded.
    bell: Arc<Bell>,
}

impl Fleet {
    pub(crate) fn new(bell: Arc<Bell>) -> Self {
        Self { board: Mutex::default(), standings: Mutex::default(), looks: CachedLooks::default(), bell }
    }

    /// Asks the board, brought up to the end of the log and judged.
    pub(crate) fn ask<T>(
        &self,
        ledger: &Ledger,
        clock: &dyn Clock,
        host: &Host,
        question: impl FnOnce(&Board) -> T,
    ) -> Result<T, ReadError> {
        let end = ledger.head()?;
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let glance = self.glance(host);
        let sight = Viewpoint::present(clock.now(), &glance);
        let board = match board.as_mut() {
            Some(board) if !board.is_far_behind(end) => board,
            Some(_) | None => board.insert(Board::read(ledger, &sight)?),
        };
        board.follow(ledger, &sight)?;
        if board.has_changed() {
            self.bell.ring();
        }
        Ok(question(board))
    }

    /// Looks again at runs of which a process ended, and reads the log after that.
    pub(crate) fn look_again(
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
        let glance = self.glance(host);
        let sight = Viewpoint::present(clock.now(), &glance);
        board.look_again(runs, &sight);
        board.follow(ledger, &sight)
    }

    /// Whose verdict changed although nothing was recorded, with the record up to which that was judged.
    pub(crate) fn take_changed(&self) -> (u64, Vec<Changed>) {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.as_mut().map_or_else(Default::default, |board| (board.head, board.take_changed()))
    }

    /// How many stand in each state.
    pub(crate) fn counts(&self, ledger: &Ledger) -> Result<Counts, ReadError> {
        let end = ledger.head()?;
        let mut standings = self.standings.lock().unwrap_or_else(PoisonError::into_inner);
        let standings = match standings.as_mut() {
            Some(standings) if !standings.is_far_behind(end) => standings,
            Some(_) | None => standings.insert(Standings::read(ledger)?),
        };
        standings.catch_up(ledger, end)?;
        Ok(standings.counts.clone())
    }

    /// From where things are judged.
    pub(crate) const fn glance<'a>(&'a self, host: &'a Host) -> CachedProcessTable<'a> {
        CachedProcessTable { host, looks: &self.looks }
    }
}
