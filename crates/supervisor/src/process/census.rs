//! Which processes of each run are alive: one walk through the process table for all of them.

use std::collections::{HashMap, HashSet};

use super::{Stat, all};
use crate::containment::{group_members, markers};

/// The processes of every run that can be found on this host: in its control group, or with its marker in the environment,
/// or descended from one of those and without a marker of their own. The caller itself is never among them.
#[must_use]
pub fn census() -> HashMap<String, Vec<u32>> {
    let table = all();
    let alive: HashMap<u32, &Stat> =
        table.iter().filter(|stat| !stat.is_zombie()).map(|stat| (stat.pid, stat)).collect();
    let own: HashMap<u32, Vec<String>> =
        alive.keys().filter_map(|pid| Some((*pid, names(&markers(*pid)?)))).collect();
    let mut found: HashMap<String, HashSet<u32>> = group_members();
    for pid in alive.keys() {
        for marker in inherited(*pid, &alive, &own) {
            found.entry(marker.clone()).or_default().insert(*pid);
        }
    }
    let this = std::process::id();
    let is_counted = |pid: &u32| *pid != this && alive.contains_key(pid);
    let counted = |pids: HashSet<u32>| pids.into_iter().filter(is_counted).collect();
    found.into_iter().map(|(marker, pids)| (marker, counted(pids))).collect()
}

/// The markers of a process, or those of the nearest process above it that has any.
fn inherited<'a>(pid: u32, alive: &HashMap<u32, &Stat>, own: &'a HashMap<u32, Vec<String>>) -> &'a [String] {
    let (mut at, mut steps) = (pid, 0);
    // A table that was read while it changed may lead in a circle.
    while steps < DEPTH_MAX {
        match own.get(&at) {
            Some(markers) if !markers.is_empty() => return markers,
            Some(_) | None => {}
        }
        match alive.get(&at) {
            Some(stat) if stat.parent > 1 => at = stat.parent,
            Some(_) | None => return &[],
        }
        steps += 1;
    }
    &[]
}

/// More than any chain of processes in use.
const DEPTH_MAX: usize = 256;

fn names(markers: &[u8]) -> Vec<String> {
    let words = markers.split(|byte| *byte == b':').filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
