//! Signals that end the command: its own, those of a stranger, and those of a child.

use crate::runs::truth::row::{Alive, End, RUNGS, Row, Step, Way, Whom, run, there};

/// Signals that end a process, with their names.
const ALL: [(i32, &str); 18] = [
    (1, "HUP"),
    (2, "INT"),
    (3, "QUIT"),
    (4, "ILL"),
    (5, "TRAP"),
    (6, "ABRT"),
    (7, "BUS"),
    (8, "FPE"),
    (9, "KILL"),
    (10, "USR1"),
    (11, "SEGV"),
    (12, "USR2"),
    (13, "PIPE"),
    (14, "ALRM"),
    (15, "TERM"),
    (24, "XCPU"),
    (25, "XFSZ"),
    (31, "SYS"),
];

/// Those that a stop sends too.
const STOPPING: [(i32, &str); 5] = [(1, "HUP"), (2, "INT"), (3, "QUIT"), (9, "KILL"), (15, "TERM")];

fn ended_by(signal: i32, name: &'static str) -> End {
    // Where somebody collects core dumps, a limit of nothing does not stop them.
    End::signaled(signal).or("run.failed.core_dump").says(&[name])
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for (signal, name) in ALL {
            let start = run(&format!("ulimit -c 0; kill -{signal} $$; sleep 600")).rung(rung);
            rows.push(Row::new(format!("ends itself with {name}"), start, ended_by(signal, name)));
        }
        for (signal, name) in STOPPING {
            for way in [Way::Foreground, Way::Detached] {
                let start = there("ulimit -c 0; exec sleep 600").rung(rung).way(way);
                let row = Row::new(format!("a stranger sends {name}"), start, ended_by(signal, name));
                rows.push(
                    row.then(Step::Only(Alive::WORKING.living()))
                        .then(Step::Only(Alive::WORKING))
                        .then(Step::Signal(Whom::Command, signal)),
                );
            }
            let start = run(&format!("sh -c 'kill -{signal} $$; sleep 600'; exit 0")).rung(rung);
            let end = End::completed();
            rows.push(Row::new(format!("a child ends with {name}, the command with 0"), start, end));
        }
        let start = run("trap 'exit 0' TERM; sh -c \"kill -15 $$\"; sleep 600 & wait").rung(rung);
        rows.push(Row::new("a child sends TERM and the command exits with 0", start, End::completed()));
    }
    rows
}
