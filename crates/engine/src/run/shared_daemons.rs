//! Keeps a run's work in the run's own processes, where a program would hand it to a daemon that others share, and tells
//! what of it is elsewhere all the same.
//!
//! Invariant: an argument that a release may refuse is added only where the program's directory shows that it knows it;
//! what was added is recorded, and the command line is recorded as it was given. A server that was there before is told
//! only if it is alive. Not here: which programs have one.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use callboard_agents::{SharedDaemon, SharedServer, shared_daemon, shared_server};
use callboard_kernel::{Facts, fact};
use callboard_supervisor::process;

use crate::redact;

/// The arguments to add, and where.
pub(super) fn arguments(argv: &[OsString]) -> Option<(usize, &'static [&'static str])> {
    let daemon = shared_daemon(argv)?;
    let directory = directory(daemon.home_variable, daemon.home);
    Some((daemon.position, arguments_in(&daemon, directory.as_deref())))
}

fn arguments_in(daemon: &SharedDaemon, directory: Option<&Path>) -> &'static [&'static str] {
    let is_known = directory.is_some_and(|directory| directory.join(daemon.trace).is_dir());
    if is_known { daemon.without } else { daemon.never_started }
}

/// The directory of a program, by its variable or below the user's home.
fn directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(below_home));
    env::var_os(variable).map(PathBuf::from).or_else(home)
}

/// A server outside of the run in which it has its work done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outside {
    server: String,
    pid: Option<u32>,
}

impl Outside {
    /// The server that a command says it works in, if there is one.
    pub(super) fn of(argv: &[OsString]) -> Option<Self> {
        match shared_server(argv)? {
            SharedServer::At(address) => Some(Self { server: redact::text(&address), pid: None }),
            SharedServer::OfHome(home) => {
                let directory = directory(home.variable, home.directory)?;
                let pid = alive(&std::fs::read_to_string(directory.join(home.process)).ok()?)?;
                let server = directory.join(home.socket).to_string_lossy().into_owned();
                Some(Self { server, pid: Some(pid) })
            }
        }
    }

    /// As it is recorded.
    pub(super) fn facts(&self) -> Facts {
        Facts::none().and(fact::SERVER, self.server.as_str()).and(fact::PID, self.pid)
    }

    /// In a sentence.
    pub(super) fn told(&self) -> String {
        let pid = self.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        format!("what it has done in the shared server {}{pid} is outside of this run", self.server)
    }
}

/// The pid of a daemon that is alive, by what its program wrote about it.
fn alive(written: &str) -> Option<u32> {
    let written: serde_json::Value = serde_json::from_str(written).ok()?;
    let pid = u32::try_from(written["pid"].as_u64()?).ok()?;
    let seen = process::of(pid).ok()??;
    (written["processIdentity"]["startTicks"].as_u64() == Some(seen.started_ticks)).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_starts_no_daemon_and_uses_none_that_its_home_knows() {
        let home = tempfile::tempdir().unwrap();
        let daemon = shared_daemon(&["codex".into()]).unwrap();
        let first = ["-c", "features.daemon_auto_start=false"];
        assert_eq!(arguments_in(&daemon, Some(home.path())), first);
        assert_eq!(arguments_in(&daemon, None), first);
        std::fs::create_dir_all(home.path().join("app-server-daemon")).unwrap();
        assert_eq!(arguments_in(&daemon, Some(home.path())), ["--no-daemon"]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test knows which machine it runs on")]
    fn a_daemon_is_told_only_while_it_is_alive() {
        let this = process::this().unwrap();
        let written = |ticks: u64| {
            format!(r#"{{"pid":{},"processIdentity":{{"bootId":"b","startTicks":{ticks}}}}}"#, this.pid)
        };
        assert_eq!(alive(&written(this.started_ticks)), Some(this.pid));
        assert_eq!(alive(&written(this.started_ticks + 1)), None, "another process has its pid");
        assert_eq!(alive("{}"), None);
        assert_eq!(alive("half a"), None);
    }

    #[test]
    fn a_server_that_is_named_is_told() {
        let outside = Outside::of(&["codex".into(), "--remote".into(), "ws://127.0.0.1:9".into()]).unwrap();
        assert_eq!(
            outside.told(),
            "what it has done in the shared server ws://127.0.0.1:9 is outside of this run"
        );
    }
}
