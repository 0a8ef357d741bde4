//! The tasks that a list or the board shows, read once and filtered.
//!
//! Invariant: what is closed or cancelled is read only where somebody asks for it, because there may be very many; everything else is on the
//! board, also what waits for a person.

use std::collections::HashMap;

use callboard_engine::{Host, Observed, Viewpoint};
use callboard_kernel::{fact, one_line, task};
use callboard_ledger::{Ledger, Listing, Stored};
use callboard_lifecycle::Kind;
use callboard_lifecycle::task::TaskState;

use crate::clock;
use crate::error::Error;

/// Which tasks are meant; everything that is asked for must hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// In one of these states; in any if there is none.
    pub(super) states: Vec<TaskState>,
    /// For this role.
    pub(super) role: Option<String>,
    /// With these labels.
    pub(super) labels: Vec<(String, String)>,
    /// Of this repository.
    pub(super) repo: Option<String>,
    /// Those that are over too.
    pub(super) all: bool,
}

impl Wanted {
    /// Is every task meant, whatever is known of it?
    pub(super) fn is_plain(&self) -> bool {
        let Self { states, role, labels, repo, all: _ } = self;
        states.is_empty() && role.is_none() && labels.is_empty() && repo.is_none()
    }

    /// The tasks, as they are seen now.
    pub(super) fn read(&self, ledger: &Ledger) -> Result<Vec<Observed>, Error> {
        let with_ended = self.all || self.states.iter().any(|state| is_over(*state));
        let listing = Listing { kind: Some(Kind::Task), ended: with_ended, limit: 0 };
        let mut stored = ledger.entities(listing).map_err(Error::Ask)?;
        if !with_ended {
            stored.extend(undecided(ledger)?);
        }
        stored.retain(|stored| self.admits(stored));
        let host = Host::this();
        Observed::all(ledger, stored, &Viewpoint::present(clock::now(), &host)).map_err(Error::Ask)
    }

    fn admits(&self, stored: &Stored) -> bool {
        let facts = &stored.entity.facts;
        let labels = facts.read(fact::LABELS);
        let has = |(name, value): &(String, String)| {
            let found = labels.and_then(|labels| labels.get(name));
            matches!(found, Some(callboard_kernel::Value::Text(text)) if text == value)
        };
        let Some(state) = task::state(&stored.entity) else { return false };
        let is_meant = match self.states.is_empty() {
            true => self.all || !is_over(state),
            false => self.states.contains(&state),
        };
        is_meant
            && self.role.as_deref().is_none_or(|role| facts.read(fact::ROLE) == Some(role))
            && self.repo.as_deref().is_none_or(|repo| facts.read(fact::REPO) == Some(repo))
            && self.labels.iter().all(has)
    }
}

/// What the workers that are there are called, by id.
pub(super) fn worker_names(ledger: &Ledger) -> Result<HashMap<String, String>, Error> {
    let listing = Listing { kind: Some(Kind::Worker), ended: false, limit: 0 };
    let all = ledger.entities(listing).map_err(Error::Ask)?;
    let named = |stored: &Stored| {
        Some((stored.entity.state.id.to_string(), one_line(stored.entity.facts.read(fact::TITLE)?)))
    };
    Ok(all.iter().filter_map(named).collect())
}

/// What waits for a person counts as ended in its machine, and is found among what needs somebody.
fn undecided(ledger: &Ledger) -> Result<impl Iterator<Item = Stored>, Error> {
    let all = ledger.attention(i64::MAX as usize).map_err(Error::Ask)?;
    Ok(all.into_iter().filter(|stored| task::state(&stored.entity) == Some(TaskState::PendingApproval)))
}

/// Is nothing to be done about a task in this state any more?
pub(super) const fn is_over(state: TaskState) -> bool {
    matches!(state, TaskState::Closed | TaskState::Cancelled)
}

/// How many tasks stand in a state, whatever else is known of them.
pub(super) fn count(ledger: &Ledger, state: TaskState) -> Result<u64, Error> {
    use callboard_lifecycle::Words;
    let (_, counts) = ledger.standings().map_err(Error::Ask)?;
    let is_it = |count: &&callboard_ledger::StateCount| {
        count.kind == Kind::Task.name() && count.state == state.name()
    };
    Ok(counts.iter().filter(is_it).map(|count| count.count).sum())
}
