//! The runs whose control groups a process is in.
//!
//! Invariant: the name of a group tells whose it is, wherever it lies. Deliberately absent: a way out of them; what is started
//! inside of a run stays inside.

use std::fs;
use std::path::Path;

use super::cgroup::PREFIX;

/// The markers in the names of the control groups that a process is in, innermost first.
pub(crate) fn markers_of_groups(pid: u32) -> Vec<String> {
    let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let paths = own.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let parts = paths.flat_map(|path| path.rsplit('/'));
    parts.filter_map(|part| part.strip_prefix(PREFIX)).map(str::to_owned).collect()
}

/// Whether a group is one of a run, or lies below one.
pub(super) fn is_of_a_run(path: &Path) -> bool {
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
}
