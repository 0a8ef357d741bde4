//! The host: what it offers for supervising processes, and which programs are there.

use std::io;

use callboard_agents::Program;
use callboard_engine::on_path;
use callboard_supervisor::containment::{Containment, Force, Rung};
use callboard_supervisor::probe::Offered;
use callboard_supervisor::sandbox::Wall;
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
        sandbox(),
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

/// Which walls a sandbox can have here, and what holds them.
fn sandbox() -> Check {
    const NAME: &str = "sandbox";
    let Offered { walls, ports, sees_calls } = match probe::sandbox() {
        Ok(offered) => offered,
        Err(error) => {
            return Check::warning(NAME, error.to_string(), "runs start only without --sandbox here");
        }
    };
    let stands = |(wall, by): &(Wall, String)| match (wall, &ports) {
        (Wall::Network, Ok(())) => {
            format!("network (seccomp for none, Landlock for ports, {by} for loopback and hosts)")
        }
        (wall, _) => format!("{} ({by})", wall.name()),
    };
    let standing: Vec<String> = walls.standing.iter().map(stands).collect();
    let seen =
        if sees_calls { "refused system calls are recorded" } else { "refused system calls are not seen" };
    let found = format!("walls for {}; {seen}", standing.join(", "));
    let lacks = |(wall, why): &(Wall, String)| match wall {
        Wall::Network => format!("network for loopback and hosts ({why})"),
        Wall::Files
        | Wall::Hidden
        | Wall::Protected
        | Wall::Tmp
        | Wall::Signals
        | Wall::Sockets
        | Wall::Calls
        | Wall::Privileges => format!("{} ({why})", wall.name()),
    };
    let by_port = ports.as_ref().err().map(|why| format!("network by port ({why})"));
    let missing: Vec<String> = walls.missing.iter().map(lacks).chain(by_port).collect();
    if missing.is_empty() {
        return Check::ok(NAME, found);
    }
    Check::warning(
        NAME,
        format!("{found}; none for {}", missing.join(", ")),
        "a run that asks for one of these does not start, or starts without it with --sandbox-best-effort; use Linux 6.12 or \
         newer, and a host that lets you make user namespaces",
    )
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
