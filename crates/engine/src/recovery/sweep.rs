//! Removes what supervisors left that died before their first record, or before they had removed a control group.
//!
//! Invariant: a directory without a record is removed only when its supervisor, which signed it, is dead, when the log was
//! read again after that was seen, and when it holds nothing but what is made before the first record: output and ends
//! of a store that was lost stay. What another user made stays. A control group is removed only when nobody is in it and nobody is left who would use
//! it. Never touched: what another store or another host made. Deliberately absent: runs that are recorded as alive;
//! those are the reaper's.

#![expect(
    clippy::disallowed_methods,
    reason = "it removes directories of this machine, which no other world has"
)]

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use callboard_kernel::health::{Liveness, liveness};
use callboard_kernel::{EntityId, Facts, Moment};
use callboard_ledger::{Ledger, ReadError};
use callboard_supervisor::private_files::keep_private;
use callboard_supervisor::{containment, process};
use serde::Serialize;

use crate::host::owner::{stranger, this_uid};
use crate::judging::recorded::keeper;
use crate::judging::viewpoint::ProcessTable;
use crate::run::{checks_of, whereabouts};

/// The file in which a supervisor says who it is.
const SIGNATURE: &str = "supervisor";
/// The file in which the recipe of a run is kept, to run it again.
pub const RECIPE: &str = "recipe.json";
/// What a directory of a run holds before its first record.
const BEFORE_RECORD: [&str; 3] = [SIGNATURE, RECIPE, "notify"];
/// Younger directories are left alone: a server may still be committing the record of a supervisor that is gone.
pub const YOUNG: Duration = Duration::from_secs(60);
/// How long those who are asked to go get before they are killed.
const GRACE: Duration = Duration::from_secs(2);

/// Where leftovers are looked for, and what they are judged by.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// The store.
    pub ledger: &'a Ledger,
    /// The directories of its runs.
    pub runs: &'a Path,
    /// The host.
    pub table: &'a dyn ProcessTable,
    /// When.
    pub now: Moment,
    /// Says what it would remove, and removes nothing.
    pub dry_run: bool,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Directories of runs that never got a record.
    pub directories: u32,
    /// Control groups in which nobody was.
    pub groups: u32,
}

/// Makes the directory of a run and says in it who made it: this process.
pub fn sign(dir: &Path) -> io::Result<()> {
    let text = serde_json::to_vec(&whereabouts(&process::this()?))?;
    keep_private(&dir.join(SIGNATURE), &text)
}

/// Removes the directory of a run that was not recorded, unless it holds more than was put there before that.
pub fn discard(dir: &Path) -> bool {
    if !is_unused(dir) {
        return false;
    }
    for name in BEFORE_RECORD {
        // What is not there need not be removed.
        std::fs::remove_file(dir.join(name)).ok();
    }
    std::fs::remove_dir(dir).is_ok()
}

impl Sweep<'_> {
    /// Looks for leftovers and removes them.
    pub fn sweep(&self) -> Result<Swept, ReadError> {
        let markers = containment::group_markers();
        let mut swept = Swept::default();
        for marker in &markers {
            if self.has_ended(marker)? {
                swept.groups += self.remove_group(marker);
            }
        }
        for (id, dir) in self.directories() {
            if !self.is_abandoned(id, &dir)? {
                continue;
            }
            let its = |marker: &&String| run_of(marker) == Some(id);
            swept.groups += markers.iter().filter(its).map(|marker| self.remove_group(marker)).sum::<u32>();
            swept.directories += u32::from(self.dry_run || (end_processes(id) && discard(&dir)));
        }
        Ok(swept)
    }

    fn remove_group(&self, marker: &str) -> u32 {
        if self.dry_run { containment::count_empty(marker) } else { containment::remove_empty(marker) }
    }

    /// Is a group of a run that has ended, and whose supervisor is gone?
    fn has_ended(&self, marker: &str) -> Result<bool, ReadError> {
        let Some(id) = run_of(marker) else { return Ok(false) };
        let Some(stored) = self.ledger.entity(id)? else { return Ok(false) };
        Ok(stored.entity.ended_at.is_some() && self.is_gone(&stored.entity.facts))
    }

    /// The directories that are called as runs are.
    fn directories(&self) -> impl Iterator<Item = (EntityId, PathBuf)> {
        let entries = std::fs::read_dir(self.runs).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
    }

    /// Did the supervisor of a directory die before it recorded anything?
    fn is_abandoned(&self, id: EntityId, dir: &Path) -> Result<bool, ReadError> {
        if self.ledger.entity(id)?.is_some()
            || !is_own(dir)
            || !self.is_old(dir)
            || !is_unused(dir)
            || !self.is_dead(dir)
        {
            return Ok(false);
        }
        // It may have recorded something and gone after the log was read.
        Ok(self.ledger.entity(id)?.is_none())
    }

    fn is_old(&self, dir: &Path) -> bool {
        let micros =
            |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_micros());
        let modified = std::fs::metadata(dir).and_then(|found| found.modified()).ok().and_then(micros);
        let modified = modified.and_then(|micros| i64::try_from(micros).ok()).map(Moment::from_micros);
        // One from the future is as far away: the clock was set back.
        modified.is_some_and(|at| self.now.since(at).max(at.since(self.now)) >= YOUNG)
    }

    /// Is whoever signed it known to be dead? Whoever died before that left it empty, or with an empty signature.
    fn is_dead(&self, dir: &Path) -> bool {
        let text = std::fs::read(dir.join(SIGNATURE)).unwrap_or_default();
        if text.is_empty() {
            return names(dir).is_some_and(|all| all.iter().all(|name| name == SIGNATURE));
        }
        let Ok(facts) = serde_json::from_slice::<Facts>(&text) else { return false };
        self.is_gone(&facts)
    }

    /// Is the supervisor that these facts name known to be dead?
    fn is_gone(&self, facts: &Facts) -> bool {
        let Some(supervisor) = keeper(facts) else { return false };
        if stranger(facts, self.ledger.is_shared()).is_some() {
            return false;
        }
        let seen = self.table.look(supervisor.pid);
        liveness(Some(&supervisor), self.table.here(), seen) == Liveness::Dead
    }
}

/// The run that a marker belongs to: its own, or that of its checks.
fn run_of(marker: &str) -> Option<EntityId> {
    marker.split('-').next()?.parse().ok()
}

/// Ends what is left of a run that was never recorded: a check of its contract may have been running.
fn end_processes(id: EntityId) -> bool {
    let id = id.to_string();
    [checks_of(&id), id].iter().all(|marker| process::end_all(marker, None, GRACE).left == 0)
}

/// Was a directory made by this user? Another one may have put it where both can write.
fn is_own(dir: &Path) -> bool {
    std::fs::symlink_metadata(dir).is_ok_and(|found| found.is_dir() && found.uid() == this_uid())
}

fn names(dir: &Path) -> Option<Vec<String>> {
    let entries = std::fs::read_dir(dir).ok()?;
    entries.map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// Does a directory hold nothing but what is made before the first record?
fn is_unused(dir: &Path) -> bool {
    names(dir).is_some_and(|all| all.iter().all(|name| BEFORE_RECORD.contains(&name.as_str())))
}
