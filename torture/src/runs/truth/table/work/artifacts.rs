//! Promises: what was delivered is new, whatever the command said and however it ended.

use anyhow::Result;

use crate::runs::truth::play::Play;
use crate::runs::truth::row::{Alive, End, How, RUNGS, Row, Rung, Said, Step, Way, gated, run};

const CHECKING: Alive = Alive::WORKING.phase(&["starting", "working", "stopping", "draining", "checking"]);

/// What the command does, with which exit, and what is true of it then.
fn cases() -> Vec<(&'static str, &'static str, &'static str, End)> {
    let missing = || End::failed("run.failed.missing_artifact", 1).or("run.failed.invalid_artifact");
    let passed = || End::completed().fact("/state/delivery", "passed");
    let did_not = ["run.completed.ok"];
    vec![
        ("writes what it promised", "new", "echo done > new", passed()),
        ("writes nothing", "new", "true", missing().never(&did_not)),
        ("says that it wrote it", "new", "echo I wrote new", missing().never(&did_not)),
        ("writes it elsewhere", "new", "mkdir sub; echo done > sub/new", missing()),
        ("writes an empty file", "new", ": > new", missing()),
        ("says that it wrote a file that is old", "old", "echo I wrote old", missing().never(&did_not)),
        ("reads a file that is old", "old", "cat old", missing().never(&did_not)),
        ("changes a file that is old", "old", "echo more >> old", passed()),
        ("replaces a file that is old", "old", "rm old; echo other > old", passed()),
        ("leaves a file that may be old", "old:existing", "true", passed()),
        ("leaves out what is optional", "new:optional", "true", End::completed()),
        ("writes what it promised and exits with 3", "new", "echo done > new; exit 3", End::exited(3)),
        ("writes nothing and exits with 3", "new", "exit 3", End::exited(3)),
        ("leaves an old file and exits with 3", "old", "exit 3", End::exited(3)),
        ("writes what it promised and crashes", "new", "echo done > new; kill -11 $$", {
            End::signaled(11).or("run.failed.core_dump")
        }),
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for (name, promise, script, end) in cases() {
            let start = run(&format!("ulimit -c 0; {script}")).with(&["--expect", promise]).rung(rung);
            let row = Row::new(name, start, end).may(CHECKING).before(old_file);
            rows.push(if promise == "old" { row.shows() } else { row });
        }
        let start = run("echo on; sleep 600").with(&["--expect", "new", "--timeout", "300ms"]).rung(rung);
        let end = End::timed_out("run.timed_out.deadline").fact("/state/delivery", "missing");
        rows.push(Row::new("is late and writes nothing", start, end).may(CHECKING));
        rows.extend(checks(rung));
    }
    rows
}

fn old_file(play: &Play<'_>) -> Result<()> {
    Ok(std::fs::write(play.path("old"), "written last week\n")?)
}

const PASSES: &str = "artifacts:\n  - id: check\n    command: [sh, -c, exit 0]\n";
const FAILS: &str = "artifacts:\n  - id: check\n    command: [sh, -c, exit 1]\n";
const SLOW: &str =
    "artifacts:\n  - id: check\n    command: [sh, -c, \": > checking; read _ < checked; exit 0\"]\n";

/// Checks that run a program of their own.
fn checks(rung: Rung) -> Vec<Row> {
    let with = |name: &str, script: &str, end: End, before: fn(&Play<'_>) -> Result<()>| {
        let start = gated(script).with(&["--contract", "contract.yaml"]).rung(rung).way(Way::Detached);
        Row::new(name, start, end).may(CHECKING).before(before).then(Step::Go)
    };
    let broken = End::failed("run.failed.invalid_artifact", 1).or("run.failed.missing_artifact");
    let slow = |name: &str, end: End| {
        with(name, "exit 0", end, slow_check)
            .then(Step::Await("checking"))
            .then(Step::Say(Said::phase("checking")))
            .then(Step::Only(Alive::WORKING.phase(&["checking"]).living()))
            .then(Step::Hold(std::time::Duration::from_millis(200)))
            .then(Step::Only(CHECKING))
    };
    let unchecked = End::cancelled("run.cancelled.operator").how(How::Code(0));
    let unchecked = unchecked.fact("/state/delivery", "unknown").says(&["while its artifacts were checked"]);
    vec![
        with("a check passes", "exit 0", End::completed(), |play| {
            Ok(std::fs::write(play.path("contract.yaml"), PASSES)?)
        }),
        with("a check fails", "exit 0", broken, |play| {
            Ok(std::fs::write(play.path("contract.yaml"), FAILS)?)
        }),
        with("a check fails after exit 3", "exit 3", End::exited(3), |play| {
            Ok(std::fs::write(play.path("contract.yaml"), FAILS)?)
        }),
        slow("a check takes its time", End::completed())
            .does(|play| Ok(std::fs::write(play.path("checked"), "go\n")?)),
        slow("a check is stopped", unchecked).then(Step::Ask(&["stop", "{}"])),
    ]
}

fn slow_check(play: &Play<'_>) -> Result<()> {
    std::fs::write(play.path("contract.yaml"), SLOW)?;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    Ok(rustix::fs::mkfifoat(rustix::fs::CWD, play.path("checked"), mode)?)
}
