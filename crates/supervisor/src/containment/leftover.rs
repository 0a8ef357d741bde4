//! Control groups that a supervisor left behind when it died.
//!
//! Invariant: a group is removed only when nobody is in it. Deliberately absent: whose it is and whether it is still
//! needed; between being made and taking in its child a group is empty too, so the caller has to know.

use std::collections::BTreeSet;

use super::cgroup::{Group, PREFIX, each, find};
use super::hierarchy::hierarchies;

/// The markers of all control groups of runs on this host.
pub fn group_markers() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Some(root) = &hierarchies().unified_root {
        each(root, &mut |directory| {
            let name = directory.file_name().and_then(|name| name.to_str());
            found.extend(name.and_then(|name| name.strip_prefix(PREFIX)).map(str::to_owned));
        });
    }
    found
}

/// How many control groups with this marker there are in which nobody is.
pub fn count_empty(marker: &str) -> u32 {
    find(marker).into_iter().filter_map(|mut group| (!group.is_populated()).then_some(())).count() as u32
}

/// Removes the control groups with this marker in which nobody is, and says how many.
pub fn remove_empty(marker: &str) -> u32 {
    let is_removed = |mut group: Group| !group.is_populated() && group.remove();
    find(marker).into_iter().filter_map(|group| is_removed(group).then_some(())).count() as u32
}
