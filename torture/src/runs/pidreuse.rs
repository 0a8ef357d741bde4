//! `pidreuse`: the kernel gives a pid out again, on purpose, and a signal for the dead must not reach the living.
//!
//! Invariant: a signal for an identity whose process is gone is answered with "gone", and the stranger who has its pid
//! lives on. It runs in a PID namespace of its own, where the next pid can be chosen. Deliberately absent: reuse within one
//! clock tick of the first birth, which no identity made of pid and start time can tell; the kernel would have to give out
//! every other pid in ten milliseconds.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use callboard_supervisor::process::{Sent, Sighting, look, signal};
use callboard_supervisor::{Identity, Running, Spec, start};

use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::process::{self, say};

pub(crate) const TORTURE: Torture = Torture {
    name: "pidreuse",
    about: "a signal for somebody dead never reaches who has the pid",
    mutants: &["start_time"],
    run,
    child: Some(child),
};

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let count = plan.choose(1_000, 100, 5);
    match inside(plan, count) {
        Ok(said) => {
            for trouble in said.trouble {
                tally.failures.push(trouble);
            }
            let held =
                said.figures.iter().filter_map(|figure| figure.strip_prefix("held ")?.parse::<u64>().ok());
            tally.passed += held.sum::<u64>();
            let passed = tally.passed;
            tally.check(passed == count || !tally.failures.is_empty(), || {
                format!("only {passed} of {count} reuses were forced")
            });
            tally
                .notes
                .push(format!("{count} reuses of a pid, {} signals to strangers", tally.failures.len()));
        }
        Err(error) => tally.failures.push(format!("{error:#}")),
    }
    tally
}

/// Runs the child in a PID namespace of its own.
fn inside(plan: &Plan, count: u64) -> Result<process::Said> {
    let child = process::child("pidreuse", Path::new(&count.to_string()), &[], plan)?;
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]).arg(child.get_program());
    command.args(child.get_args());
    for (key, value) in child.get_envs() {
        if let Some(value) = value {
            command.env(key, value);
        }
    }
    let (status, said) = process::run(command)?;
    if !status.success() && said.trouble.is_empty() {
        bail!("the PID namespace ended with {status}; this torture needs unshare and root");
    }
    Ok(said)
}

fn child(arguments: &[String]) -> ExitCode {
    let Some(Ok(count)) = arguments.first().map(|count| count.parse::<u64>()) else {
        return ExitCode::from(2);
    };
    let mut held = 0;
    for number in 0..count {
        match one(number) {
            Ok(()) => held += 1,
            Err(error) => say(&format!("! reuse {number}: {error:#}")),
        }
    }
    say(&format!("# held {held}"));
    ExitCode::SUCCESS
}

fn one(number: u64) -> Result<()> {
    let victim = sleeper(format!("victim-{number}"))?;
    let dead = victim.identity().clone();
    drop(victim);
    let stranger = reincarnate(&dead, number)?;
    let living = stranger.identity().clone();
    if look(&dead)? != Sighting::Gone {
        bail!("the dead process {dead:?} is taken for {living:?}");
    }
    let sent = signal(&dead, KILL)?;
    // A signal that was sent needs no time to be there; the end of who got it does.
    let until = Instant::now() + Duration::from_millis(if sent == Sent::Gone { 0 } else { 200 });
    while look(&living)? == Sighting::Alive && Instant::now() < until {
        std::thread::yield_now();
    }
    let seen = look(&living)?;
    if sent != Sent::Gone || !matches!(seen, Sighting::Alive) {
        bail!("the signal for {dead:?} was {sent:?}, and the stranger {living:?} is {seen:?}");
    }
    Ok(())
}

const KILL: i32 = 9;
/// Attempts to be the first to fork after the choice of the pid.
const ATTEMPTS: usize = 50;

/// Starts somebody with the pid of the dead, at least one clock tick later.
fn reincarnate(dead: &Identity, number: u64) -> Result<Running> {
    for attempt in 0..ATTEMPTS {
        std::fs::write("/proc/sys/kernel/ns_last_pid", (dead.pid - 1).to_string())
            .context("the next pid cannot be chosen")?;
        let stranger = sleeper(format!("stranger-{number}-{attempt}"))?;
        if stranger.identity().pid == dead.pid && stranger.identity().started_ticks != dead.started_ticks {
            return Ok(stranger);
        }
    }
    bail!("the pid {} was not given out again", dead.pid)
}

fn sleeper(name: String) -> Result<Running> {
    let spec = Spec::new("sleep", format!("{name}-{}", std::process::id())).args(["60"]);
    start(spec).context("a sleeper does not start")
}
