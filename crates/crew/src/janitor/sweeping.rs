//! Worktrees that were left behind: a crash between the end of a task and its clean-up, or a person who called it off.
//!
//! Invariant: a worktree is removed only if its task is over, nobody of its last run is alive, and refs hold everything in it, which is judged
//! again under the lock of the repository. Deliberately absent: worktrees of tasks that go on, of other hosts and of other stores.

use callboard_engine::tasks::TaskError;

use crate::crew::Crew;
use crate::worktrees::removable;

impl Crew {
    /// Removes the worktrees of this host that nobody needs any more.
    pub(super) fn sweep_worktrees(&self, goes_on: &dyn Fn() -> bool) -> Result<(), TaskError> {
        for stored in removable(&self.ledger, &self.state_dir)? {
            if !goes_on() {
                return Ok(());
            }
            if !self.is_here(&stored) || self.has_living_run(&stored)? {
                continue;
            }
            self.tell(&format!("{}: its task is over, its worktree is removed", stored.entity.state.id));
            self.remove_worktree(&stored);
            self.retire_branch(&stored);
        }
        Ok(())
    }
}
