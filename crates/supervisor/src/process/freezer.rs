//! Whether the control group of a process is frozen, as by `docker pause`.
//!
//! Invariant: a frozen process looks like a sleeping one in the process table, so the groups are asked. What cannot be
//! read is not frozen: a supervisor that stands still is noticed by other signs.

use std::fs;

use crate::containment::groups_of;

/// Is the control group of a process frozen, or one above it?
pub(super) fn is_frozen(pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return false };
    let (unified, legacy) = groups_of(&text);
    let says = |file: std::path::PathBuf, word: &str| {
        fs::read_to_string(file).is_ok_and(|text| text.lines().any(|line| line == word))
    };
    unified.is_some_and(|group| says(group.join("cgroup.events"), "frozen 1"))
        || legacy.is_some_and(|group| says(group.join("freezer.state"), "FROZEN"))
}
