//! The host: what it offers for supervising processes, and which programs are there.

use std::io;

use callboard_agents::Program;
use callboard_engine::on_path;
use callboard_supervisor::containment::{Containment, Force, Rung};
use callboard_supervisor::{containment, probe};

use super::Check;

/// Looks at the host.
pub(super) fn checks() -> Vec<Check> {
    let table = "mount /proc, which tells processes apart; nothing can be supervised without it";
    let pidfd = "use Linux 5.3 or newer; a signal could reach a stranger with the same pid";
    let subreaper = "allow prctl; processes that outlive a run are found by their marker only";
    let pty = "mount /dev/pts; a run at a terminal does not get one of its own";
    vec![
        tried("process table", "/proc tells processes apart", probe::process_table(), table),
        tried("pidfd", "processes are signalled by identity", probe::pidfd(), pidfd),
        tried("subreaper", "orphans of a run come to its supervisor", probe::subreaper(), subreaper),
        tried("terminals", "a run can have one of its own", probe::pty(), pty),
        groups(&containment::probe()),
        git(),
        agents(),
    ]
}

fn tried(name: &'static str, found: &str, tried: io::Result<()>, advice: &str) -> Check {
    match tried {
        Ok(()) => Check::ok(name, found),
        Err(error) => Check::broken(name, error.to_string(), advice),
    }
}

fn groups(held: &Containment) -> Check {
    let limits = [("memory", &held.memory), ("CPU", &held.cpu), ("processes", &held.processes)];
    let by_group: Vec<&str> =
        limits.iter().filter(|(_, force)| **force == Force::Cgroup).map(|(name, _)| *name).collect();
    let missing: Vec<&str> =
        limits.iter().filter(|(_, force)| **force != Force::Cgroup).map(|(name, _)| *name).collect();
    match &held.rung {
        Rung::Tree { why } => Check::warning(
            "control groups",
            format!("none: {why}"),
            "runs are held together by a subreaper instead; for limits of a whole run, start callboard with \
             systemd-run --user --scope -p Delegate=yes",
        ),
        Rung::Cgroup { .. } if missing.is_empty() => {
            Check::ok("control groups", format!("writable, with limits for {}", by_group.join(", ")))
        }
        Rung::Cgroup { .. } => Check::warning(
            "control groups",
            format!("writable, without limits for {}", missing.join(", ")),
            "these limits hold for each process alone; delegate the controllers: systemd-run --user --scope -p \
             Delegate=yes",
        ),
    }
}

fn git() -> Check {
    match on_path("git") {
        Some(path) => Check::ok("git", path.display().to_string()),
        None => Check::warning(
            "git",
            "not on the PATH",
            "install git; a contract that asks for a git diff cannot be kept without it",
        ),
    }
}

/// The agent programs whose streams are understood.
fn agents() -> Check {
    let name = |program: Program| match program {
        Program::Plain => None,
        Program::Cursor => Some("cursor-agent"),
        Program::Claude
        | Program::Codex
        | Program::Gemini
        | Program::Opencode
        | Program::Goose
        | Program::Amp
        | Program::Qwen
        | Program::Aider => Some(program.name()),
    };
    let found: Vec<String> = Program::ALL
        .into_iter()
        .filter_map(name)
        .filter_map(on_path)
        .map(|path| path.display().to_string())
        .collect();
    if found.is_empty() {
        return Check::ok(
            "agents",
            "none of the known agent programs is on the PATH; any command can be run",
        );
    }
    Check::ok("agents", found.join(", "))
}
