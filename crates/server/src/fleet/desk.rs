//! Where the fleet is asked: one board and one set of counts for all questions.
//!
//! Invariant: whoever asks sees everything that was recorded before. A question holds the board only while it picks what
//! it needs; what is shown is unpacked and written afterwards. Deliberately absent: questions.

use std::sync::{Mutex, PoisonError};

use callboard_engine::{Clock, Host, Sight};
use callboard_ledger::{Ledger, ReadError};

use super::board::Board;
use super::glance::{Glance, Looks};
use super::standings::{Counts, Standings};

/// What is alive, what needs somebody, and how many stand where.
#[derive(Default)]
pub(crate) struct Fleet {
    board: Mutex<Option<Board>>,
    standings: Mutex<Option<Standings>>,
    looks: Looks,
}

impl Fleet {
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
        let sight = Sight::present(clock.now(), &glance);
        let board = match board.as_mut() {
            Some(board) if !board.is_far_behind(end) => board,
            Some(_) | None => board.insert(Board::read(ledger, &sight)?),
        };
        board.follow(ledger, &sight)?;
        Ok(question(board))
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
    pub(crate) const fn glance<'a>(&'a self, host: &'a Host) -> Glance<'a> {
        Glance { host, looks: &self.looks }
    }
}
