//! Starts that fail: what is missing, and that a file that is there is not called missing.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::harness::program::{self, TOKEN};
use crate::runs::truth::play::{self, Play};
use crate::runs::truth::row::{Alive, End, RUNGS, Row, Rung, Said, Start, Step, WAYS, Way, Whom, argv};

/// A command line that cannot be started: what it is, its words, the reason, the exit code, words that say and never say.
struct Fault {
    name: &'static str,
    words: &'static [&'static str],
    code: &'static [&'static str],
    exit: i32,
    says: &'static [&'static str],
    never: &'static [&'static str],
}

const FAULTS: [Fault; 8] = [
    Fault {
        name: "a program that does not exist",
        words: &["no-such-program-4711"],
        code: &["run.failed.not_found"],
        exit: 127,
        says: &["no-such-program-4711"],
        never: &[],
    },
    Fault {
        name: "a path that does not exist",
        words: &["./nowhere/program"],
        code: &["run.failed.not_found"],
        exit: 127,
        says: &["nowhere"],
        never: &[],
    },
    Fault {
        name: "a file that may not be executed",
        words: &["./plain"],
        code: &["run.failed.not_executable"],
        exit: 126,
        says: &[],
        never: &["not found", "does not exist."],
    },
    Fault {
        name: "a directory",
        words: &["./directory"],
        code: &["run.failed.not_executable"],
        exit: 126,
        says: &[],
        never: &["not found", "does not exist."],
    },
    Fault {
        name: "a script whose interpreter is missing",
        words: &["./no-interpreter"],
        code: &["run.failed.interpreter"],
        exit: 127,
        says: &["/nowhere/interpreter"],
        never: &["The command does not exist"],
    },
    Fault {
        name: "a script with CR line ends",
        words: &["./carriage-return"],
        code: &["run.failed.interpreter"],
        exit: 127,
        says: &["carriage return"],
        never: &["The command does not exist"],
    },
    Fault {
        name: "a program whose loader is missing",
        words: &["./no-loader"],
        code: &["run.failed.interpreter"],
        exit: 127,
        says: &["loader"],
        never: &["The command does not exist"],
    },
    Fault {
        name: "a program that was cut off",
        words: &["./cut"],
        code: &["run.failed.not_executable"],
        exit: 126,
        says: &[],
        never: &["exited with 127", "The command does not exist"],
    },
];

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for way in WAYS {
            for fault in &FAULTS {
                let mut end = End::failed(fault.code[0], fault.exit).says(fault.says).never(fault.never);
                end.codes.extend(&fault.code[1..]);
                let start = argv(fault.words).rung(rung).way(way);
                rows.push(late(fault.name, start, end));
            }
        }
        rows.extend(hanging(rung));
    }
    rows
}

const STARTING: Alive = Alive::WORKING.phase(&["starting"]);

/// Programs whose `exec` does not return, as on a file system that does not answer.
fn hanging(rung: Rung) -> Vec<Row> {
    let row = |name: &str, way: Way, options: &[&str], end: End| {
        let start = argv(&["./held"]).rung(rung).way(way).with(options);
        Row::new(format!("exec does not return, {name}"), start, end)
            .before(hold)
            .may(STARTING)
            .then(Step::Say(Said::phase("starting")))
            .then(Step::Only(STARTING.living()))
            .then(Step::Hold(Duration::from_millis(200)))
            .then(Step::Only(STARTING.phase(&["starting", "working", "stopping", "draining"])))
    };
    let stopped = End::cancelled("run.cancelled.operator").says(&["was not seen to start"]);
    let late = End::timed_out("run.timed_out.deadline").says(&["not started for"]).never(&["ran for"]);
    vec![
        row("and an operator stops it", Way::Detached, &[], stopped).then(Step::Ask(&["stop", "{}"])),
        row("and it is late", Way::Foreground, &["--timeout", "3s"], late).slow(),
        row("and then it does", Way::Foreground, &[], End::completed())
            .does(|play| play::send(play.pid(Whom::Named("holder"))?, KILL)),
    ]
}

const KILL: i32 = 9;

/// Whoever opens a file of which somebody has a lease is kept waiting by the kernel until it is given back.
const LEASE: &str = "$SIG{IO} = 'IGNORE'; open(F, '+<', 'held') or die; \
                     for (1..600) { last if $held = fcntl(F, 1024, 1); select(undef, undef, undef, 0.05) } \
                     $held or die; open(P, '>', 'holding'); print P $$; close P; rename 'holding', 'holder'; sleep 600";

fn hold(play: &Play<'_>) -> Result<()> {
    file(play, "held", b"#!/bin/sh\nexit 0\n", 0o755)?;
    let mut holder = Command::new("perl");
    holder.args(["-e", LEASE]).current_dir(&play.dir).env(TOKEN, &play.token);
    // It is ended with everybody who carries the token.
    drop(program::start(holder)?);
    play.await_file("holder")
}

/// The files are laid out before anything is started.
fn late(name: &str, start: Start, end: End) -> Row {
    Row::new(name, start, end).before(lay_out)
}

fn file(play: &Play<'_>, name: &str, bytes: &[u8], mode: u32) -> Result<()> {
    std::fs::write(play.path(name), bytes)?;
    Ok(std::fs::set_permissions(play.path(name), std::fs::Permissions::from_mode(mode))?)
}

fn lay_out(play: &Play<'_>) -> Result<()> {
    let file = |name: &str, bytes: &[u8], mode: u32| file(play, name, bytes, mode);
    std::fs::create_dir(play.path("directory"))?;
    file("plain", b"#!/bin/sh\nexit 0\n", 0o644)?;
    file("no-interpreter", b"#!/nowhere/interpreter\nexit 0\n", 0o755)?;
    file("carriage-return", b"#!/bin/sh\r\nexit 0\r\n", 0o755)?;
    let whole = std::fs::read("/bin/true")?;
    let loader = whole.windows(5).position(|bytes| bytes == b"/lib6" || bytes == b"/lib/");
    let mut foreign = whole.clone();
    if let Some(at) = loader {
        foreign[at..at + 4].copy_from_slice(b"/xyz");
    }
    file("no-loader", &foreign, 0o755)?;
    file("cut", &whole[..100.min(whole.len())], 0o755)
}
