//! Leaving the runs around us: a supervisor that is to outlive the run it was started in must be in none of its groups.
//!
//! Invariant: we go where the nearest process above us is that is in no run. That is the supervisor of the outermost
//! one, or whoever started it; a group it lives in is one that we can live in too.

use std::path::Path;
use std::{fs, io};

use super::cgroup::PREFIX;
use super::hierarchy::{Hierarchies, read};
use crate::process::Stat;

/// As many processes are asked on the way up; one that ends meanwhile begins it anew.
const STEPS_MAX: usize = 256;

/// Moves this process out of the control groups of every run it is in.
pub fn leave_runs() -> io::Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let of = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cgroup")).map(|own| read(&mounts, &own));
    let ours = of(std::process::id())?;
    if !is_in_a_run(&ours) {
        return Ok(());
    }
    let mut pid = std::process::id();
    for _ in 0..STEPS_MAX {
        pid = Stat::read(pid).map_or_else(std::process::id, |stat| stat.parent);
        let Ok(theirs) = of(pid) else { continue };
        if !is_in_a_run(&theirs) {
            return go(&ours, &theirs);
        }
    }
    Err(io::Error::other("every process above is in a run"))
}

fn go(ours: &Hierarchies, theirs: &Hierarchies) -> io::Result<()> {
    for (controller, from) in ours.groups().filter(|(_, path)| is_of_a_run(path)) {
        let to = theirs.groups().find(|(found, _)| *found == controller);
        let (_, to) = to.ok_or_else(|| io::Error::other(format!("{} has no outside", from.display())))?;
        fs::write(to.join("cgroup.procs"), "0")?;
    }
    Ok(())
}

/// The markers in the names of the control groups that a process is in, innermost first.
pub(crate) fn markers_of_groups(pid: u32) -> Vec<String> {
    let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let paths = own.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let parts = paths.flat_map(|path| path.rsplit('/'));
    parts.filter_map(|part| part.strip_prefix(PREFIX)).map(str::to_owned).collect()
}

fn is_in_a_run(place: &Hierarchies) -> bool {
    place.groups().any(|(_, path)| is_of_a_run(path))
}

fn is_of_a_run(path: &Path) -> bool {
    path.iter().any(|part| part.to_str().is_some_and(|part| part.starts_with(PREFIX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_a_run_is_known_by_its_name_wherever_it_lies() {
        let is = |path: &str| is_of_a_run(Path::new(path));
        assert!(is("/sys/fs/cgroup/user.slice/callboard-ses_1") && is("/sys/fs/cgroup/callboard-ses_1/own"));
        assert!(!is("/sys/fs/cgroup/callboard.service") && !is("/sys/fs/cgroup"));
    }

    #[test]
    fn who_is_in_no_run_stays_where_it_is() {
        let groups = || fs::read_to_string("/proc/self/cgroup").unwrap();
        let before = groups();
        if !before.contains(PREFIX) {
            leave_runs().unwrap();
            assert_eq!(groups(), before);
        }
    }
}
