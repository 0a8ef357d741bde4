//! The runs that this process is inside of: as its environment tells, and as it cannot deny.
//!
//! Invariant: a process cannot leave a run by clearing its environment. The control group is named after the run, every
//! process above it up to the supervisor carries the marker in the environment it was started with, and a process that
//! was left behind by those becomes a child of the supervisor, which is this program.

use std::fs;

use super::{MARKER_VARIABLE, Stat};
use crate::containment::{is_our_program, markers, markers_of_groups};

/// The markers of the runs that this process is inside of, outermost first, as its environment tells. A supervisor in the
/// background carries the marker of its own run, too.
#[must_use]
pub fn markers_around() -> Vec<String> {
    let markers = std::env::var(MARKER_VARIABLE).unwrap_or_default();
    markers.split(':').filter(|marker| !marker.is_empty()).map(str::to_owned).collect()
}

/// That this process is inside of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The marker of the innermost run; nothing if only its supervisor is known.
    pub marker: Option<String>,
    /// What shows it.
    pub shown_by: String,
}

/// As many processes are asked on the way up. Whoever puts more of them between is taken for somebody with a reason to.
const STEPS_MAX: usize = 4096;

/// This process and those above it, as far as they can be seen: pid and start time.
#[must_use]
pub fn lineage() -> Vec<(u32, u64)> {
    let mut lineage = Vec::new();
    let mut pid = std::process::id();
    while let Some(stat) = (pid > 0 && lineage.len() < STEPS_MAX).then(|| Stat::read(pid)).flatten() {
        lineage.push((pid, stat.started_ticks));
        pid = stat.parent;
    }
    lineage
}

/// The run that this process is inside of, if there is one. A name is a marker only if `is_marker` says so, because control
/// groups and variables of others may be called like ours.
#[must_use]
pub fn inside(is_marker: impl Fn(&str) -> bool) -> Option<Inside> {
    let own = std::process::id();
    let found = |marker: String, shown_by: String| Inside { marker: Some(marker), shown_by };
    if let Some(marker) = markers_of_groups(own).into_iter().find(|marker| is_marker(marker)) {
        return Some(found(marker, "its control group".to_owned()));
    }
    if let Some(marker) = markers_around().into_iter().rev().find(|marker| is_marker(marker)) {
        return Some(found(marker, "its environment".to_owned()));
    }
    let mut pid = own;
    for _ in 0..STEPS_MAX {
        pid = Stat::read(pid)?.parent;
        if pid <= 1 {
            return None;
        }
        let carried = String::from_utf8_lossy(&markers(pid).unwrap_or_default()).into_owned();
        if let Some(marker) = carried.rsplit(':').find(|marker| is_marker(marker)) {
            return Some(found(marker.to_owned(), format!("the environment of pid {pid} above it")));
        }
        if is_our_program(pid) && supervises(pid) {
            return Some(Inside {
                marker: None,
                shown_by: format!("pid {pid} above it, which is a supervisor"),
            });
        }
    }
    Some(Inside { marker: None, shown_by: format!("more than {STEPS_MAX} processes above it") })
}

/// Was this process of our program started to run something?
fn supervises(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).skip(1).any(|word| word == b"run" || word == b"retry")
}
