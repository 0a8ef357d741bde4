//! Keeps a run's work in the run's own processes, where a program would hand it to a daemon that others share.
//!
//! Invariant: an argument is added only where the program's directory shows that it has such a daemon; what was added is
//! recorded, and the command line is recorded as it was given. Not here: which programs have one.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use callboard_agents::{SharedDaemon, shared_daemon};

/// The argument to add, and where.
pub(super) fn argument(argv: &[OsString]) -> Option<(usize, &'static str)> {
    let daemon = shared_daemon(argv)?;
    let own = env::var_os(daemon.home_variable).map(PathBuf::from);
    let home = env::var_os("HOME").map(PathBuf::from);
    has_daemon(&daemon, own.as_deref(), home.as_deref()).then_some((daemon.position, daemon.without))
}

fn has_daemon(daemon: &SharedDaemon, own: Option<&Path>, home: Option<&Path>) -> bool {
    let directory = own.map(Path::to_owned).or_else(|| Some(home?.join(daemon.home)));
    directory.is_some_and(|directory| directory.join(daemon.trace).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_has_a_daemon_once_the_program_started_one_there() {
        let home = tempfile::tempdir().unwrap();
        let daemon = shared_daemon(&["codex".into()]).unwrap();
        assert!(!has_daemon(&daemon, None, Some(home.path())));
        std::fs::create_dir_all(home.path().join(".codex/app-server-daemon")).unwrap();
        assert!(has_daemon(&daemon, None, Some(home.path())));
        assert!(has_daemon(&daemon, Some(&home.path().join(".codex")), None));
        assert!(!has_daemon(&daemon, Some(home.path()), Some(home.path())));
    }
}
