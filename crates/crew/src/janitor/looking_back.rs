//! What was closed and is not merged: a branch that somebody set back, or a disk that forgot what the store remembers.
//!
//! Invariant: it is told and not mended, because setting a branch back may be what somebody wanted. What a branch holds is judged by its
//! commits first and by content then, so a rewritten history does not alarm. Deliberately absent: tasks of other hosts, and older ones.

use std::path::Path;

use callboard_engine::StandingClaim;
use callboard_engine::tasks::TaskError;
use callboard_kernel::{fact, task};
use callboard_ledger::{Slice, Stored};
use callboard_lifecycle::Kind;

use crate::crew::Crew;
use crate::git::{CommitId, GitRepository};

/// How many of the newest tasks are looked at.
const NEWEST: usize = 200;

impl Crew {
    /// Looks whether what was merged here is still in its branch, and disputes it where it is not.
    pub(super) fn look_back(&self, goes_on: &dyn Fn() -> bool) -> Result<(), TaskError> {
        let newest = Slice { kind: Some(Kind::Task), limit: NEWEST, ..Slice::default() };
        for stored in self.ledger.slice(newest)? {
            if stored.entity.ended_at.is_some() {
                // Somebody else may have ended it.
                self.deliver_goes_on(stored.entity.state.id);
            }
            let is_here = stored.entity.facts.read(fact::HOST) == Some(self.host.name());
            if !goes_on() || !is_here {
                continue;
            }
            let (Some(commit), Some(is_there)) =
                (task::merged_as(&stored.entity), self.is_still_merged(&stored))
            else {
                continue;
            };
            let (id, base) =
                (stored.entity.state.id, stored.entity.facts.read(fact::BASE).unwrap_or_default());
            let claim = StandingClaim::new(&format!("{id} is merged"), format!("{id} is merged into {base}"));
            if is_there {
                claim.confirm(&self.ledger, &format!("{commit} is in {base}"), self.now());
            } else {
                let message =
                    format!("{id} is closed, and {base} does not hold what it was merged as ({commit})");
                claim.dispute(&self.ledger, &message, &message, self.now());
            }
        }
        Ok(())
    }

    /// Is the work of a closed task in its branch? Nothing if that cannot be seen.
    fn is_still_merged(&self, stored: &Stored) -> Option<bool> {
        let facts = &stored.entity.facts;
        let repository = GitRepository::open(Path::new(facts.read(fact::REPO)?)).ok()?;
        let target = repository.base(facts.read(fact::BASE)).ok()?.commit;
        let commit = |name| facts.read(name).and_then(|text: &str| CommitId::parse(text).ok());
        let merged = commit(fact::COMMIT)?;
        if repository.is_ancestor(&merged, &target).unwrap_or(false) {
            return Some(true);
        }
        let by_content =
            |tip: &CommitId, base: &CommitId| repository.is_merged(tip, base, &target).ok().flatten();
        let (tip, base) = (commit(fact::TIP)?, commit(fact::BASE_COMMIT)?);
        Some(by_content(&tip, &base).is_some())
    }
}
