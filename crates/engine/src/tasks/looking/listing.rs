//! The tasks that a list or the board shows, read once and filtered.
//!
//! Invariant: what is over is read only where somebody asks for it, because there may be very many; everything else is on the
//! board, also what waits for a person.

use callboard_kernel::task;
use callboard_kernel::{Facts, Value, fact};
use callboard_ledger::{Ledger, Listing, ReadError, StateCount, Stored};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{Kind, Words};

use crate::judging::{Observed, Viewpoint};

/// Which tasks are meant; everything that is asked for must hold.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// In one of these states; in any if there is none.
    pub states: Vec<TaskState>,
    /// For this role.
    pub role: Option<String>,
    /// With all of these labels.
    pub labels: Vec<(String, String)>,
    /// Of this repository.
    pub repo: Option<String>,
    /// Those that are over too.
    pub all: bool,
}

/// How many tasks that fit are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Over {
    /// Verified and merged.
    pub closed: u64,
    /// Called off.
    pub cancelled: u64,
}

impl TaskFilter {
    /// Is every task meant, whatever is known of it?
    pub fn is_plain(&self) -> bool {
        self.states.is_empty() && self.fits_all()
    }

    /// Does every task of a state fit?
    pub(super) fn fits_all(&self) -> bool {
        let Self { states: _, role, labels, repo, all: _ } = self;
        role.is_none() && labels.is_empty() && repo.is_none()
    }

    /// The tasks, as they are seen from here.
    pub fn read(&self, ledger: &Ledger, sight: &Viewpoint<'_>) -> Result<Vec<Observed>, ReadError> {
        let with_ended = self.all || self.states.iter().any(|state| task::is_over(*state));
        let mut stored = ledger.entities(Listing { kind: Some(Kind::Task), ended: with_ended, limit: 0 })?;
        if !with_ended {
            // What waits for a person is found among what needs somebody.
            let needed = ledger.attention(i64::MAX as usize)?;
            stored.extend(needed.into_iter().filter(|stored| task::is_undecided(&stored.entity)));
        }
        stored.retain(|stored| self.admits(stored));
        Observed::all(ledger, stored, sight)
    }

    /// How many that fit are over. Where something is filtered, they have to be read.
    pub fn over(&self, ledger: &Ledger, sight: &Viewpoint<'_>) -> Result<Over, ReadError> {
        let count = |state: TaskState| -> Result<u64, ReadError> {
            if self.is_plain() {
                return standing(ledger, state);
            }
            Ok(Self { states: vec![state], ..self.clone() }.read(ledger, sight)?.len() as u64)
        };
        Ok(Over { closed: count(TaskState::Closed)?, cancelled: count(TaskState::Cancelled)? })
    }

    fn admits(&self, stored: &Stored) -> bool {
        let Some(state) = task::state(&stored.entity) else { return false };
        let is_meant = match self.states.is_empty() {
            true => self.all || !task::is_over(state),
            false => self.states.contains(&state),
        };
        is_meant && self.fits(&stored.entity.facts)
    }

    /// Does a task fit, whatever state it is in?
    pub(super) fn fits(&self, facts: &Facts) -> bool {
        let labels = facts.read(fact::LABELS);
        let has = |(name, value): &(String, String)| matches!(labels.and_then(|labels| labels.get(name)), Some(Value::Text(text)) if text == value);
        self.role.as_deref().is_none_or(|role| facts.read(fact::ROLE) == Some(role))
            && self.repo.as_deref().is_none_or(|repo| facts.read(fact::REPO) == Some(repo))
            && self.labels.iter().all(has)
    }
}

/// How many tasks stand in a state, whatever else is known of them.
fn standing(ledger: &Ledger, state: TaskState) -> Result<u64, ReadError> {
    let (_, counts) = ledger.standings()?;
    let is_it = |count: &&StateCount| count.kind == Kind::Task.name() && count.state == state.name();
    Ok(counts.iter().filter(is_it).map(|count| count.count).sum())
}
