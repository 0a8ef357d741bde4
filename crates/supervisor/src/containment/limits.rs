//! Limits: by the control group of version 2, by groups of version 1 beside it, or by resource limits.
//!
//! Invariant: a limit that was asked for is in force or is said to be missing. A resource limit is weaker than a group: each
//! process has it for itself, and the number of processes counts everything of the user and does not bind root.

use std::fs;
use std::path::Path;

use rustix::process::Resource;

use super::cgroup::{Group, make, name};
use super::hierarchy::hierarchies;
use super::{Containment, Force};
use crate::Limits;

/// One write of one limit: the controller, the file in version 2 and in version 1, and what is written.
struct Write {
    controller: &'static str,
    unified: (&'static str, String),
    legacy: (&'static str, String),
}

const PERIOD_US: u64 = 100_000;

fn memory(bytes: u64) -> Write {
    let text = bytes.to_string();
    Write {
        controller: "memory",
        unified: ("memory.max", text.clone()),
        legacy: ("memory.limit_in_bytes", text),
    }
}

fn cpu(percent: u32) -> Write {
    let quota = PERIOD_US * u64::from(percent) / 100;
    Write {
        controller: "cpu",
        unified: ("cpu.max", format!("{quota} {PERIOD_US}")),
        legacy: ("cpu.cfs_quota_us", quota.to_string()),
    }
}

fn processes(most: u64) -> Write {
    let text = most.to_string();
    Write { controller: "pids", unified: ("pids.max", text.clone()), legacy: ("pids.max", text) }
}

fn writes(asked: &Limits) -> impl Iterator<Item = Write> {
    [asked.memory_bytes.map(memory), asked.cpu_percent.map(cpu), asked.processes.map(processes)]
        .into_iter()
        .flatten()
}

/// Whether every limit can be held in this group of version 2, if need be after its parent has been asked to.
pub(super) fn in_reach(path: &Path, asked: &Limits) -> bool {
    writes(asked).all(|write| {
        let file = path.join(write.unified.0);
        if !file.exists()
            && let Some(above) = path.parent()
        {
            // It is refused where the controller belongs to version 1 or the parent has processes of its own.
            drop(fs::write(above.join("cgroup.subtree_control"), format!("+{}", write.controller)));
        }
        file.exists()
    })
}

/// Puts the limits in force and writes down how.
pub(super) fn impose(
    marker: &str,
    asked: &Limits,
    mut group: Option<Group>,
    account: &mut Containment,
) -> (Option<Group>, Vec<(Resource, u64)>) {
    let mut rlimits = Vec::new();
    if let Some(bytes) = asked.memory_bytes {
        account.memory = by_group(marker, &memory(bytes), group.as_mut()).unwrap_or_else(|_| {
            rlimits.push((Resource::As, bytes));
            Force::Rlimit
        });
        if account.memory == Force::Cgroup {
            without_swap(group.as_ref());
        }
    }
    if let Some(most) = asked.processes {
        account.processes = by_group(marker, &processes(most), group.as_mut()).unwrap_or_else(|why| {
            if rustix::process::geteuid().is_root() {
                return Force::Missing(format!("{why}, and a resource limit does not bind root"));
            }
            rlimits.push((Resource::Nproc, most));
            Force::Rlimit
        });
    }
    if let Some(seconds) = asked.cpu_seconds {
        rlimits.push((Resource::Cpu, seconds));
        account.cpu = Force::Rlimit;
    }
    if let Some(percent) = asked.cpu_percent {
        account.cpu = by_group(marker, &cpu(percent), group.as_mut()).unwrap_or_else(Force::Missing);
    }
    (group, rlimits)
}

/// Memory that is swapped out would not be limited. Without swap there is no such file, and nothing to do.
fn without_swap(group: Option<&Group>) {
    if let Some(group) = group {
        drop(fs::write(group.path().join("memory.swap.max"), "0"));
    }
}

fn by_group(marker: &str, write: &Write, group: Option<&mut Group>) -> Result<Force, String> {
    let group = group.ok_or("there is no control group")?;
    if fs::write(group.path().join(write.unified.0), &write.unified.1).is_ok() {
        return Ok(Force::Cgroup);
    }
    let (_, own) = hierarchies()
        .legacy
        .iter()
        .find(|(controller, _)| controller == write.controller)
        .ok_or_else(|| format!("no control group has the controller {}", write.controller))?;
    let path = make(&own.join(name(marker)))?;
    if let Err(error) = fs::write(path.join(write.legacy.0), &write.legacy.1) {
        drop(fs::remove_dir(&path));
        return Err(format!("{} refuses the limit: {error}", write.controller));
    }
    group.add_legacy(write.controller, path);
    Ok(Force::Cgroup)
}
