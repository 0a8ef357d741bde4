//! Clocks: which one ran out, and that a command that ended before its bound was not ended by it.

use serde_json::json;

use crate::runs::truth::row::{Alive, End, How, RUNGS, Row, WAYS, run};

const STOPPING: Alive = Alive::WORKING.phase(&["starting", "working", "stopping", "draining"]);

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        let script = "for n in $(seq 15); do sleep 1; \"$CALLBOARD\" heartbeat; done; exit 0";
        let start = run(script).with(&["--idle-timeout", "12s", "--first-output-timeout", "12s"]).rung(rung);
        rows.push(Row::new("says nothing but that it lives", start, End::completed()).slow());
        for way in WAYS {
            let row = |name: &str, options: &[&str], script: &str, end: End| {
                Row::new(name, run(script).with(options).rung(rung).way(way), end).may(STOPPING)
            };
            let late = || End::timed_out("run.timed_out.deadline");
            let bound = ["--timeout", "300ms", "--grace", "300ms"];
            rows.push(row("runs past its bound", &bound, "exec sleep 600", late().how(How::Signal(15))));
            let stubborn = "trap '' TERM; echo on; while :; do sleep 0.1; done";
            let end = late().how(How::Signal(9)).fact("/facts/killed", true);
            rows.push(row("runs past its bound and ignores TERM", &bound, stubborn, end));
            let tidy = "trap 'exit 0' TERM; sleep 600 & wait";
            rows.push(row(
                "runs past its bound and exits with 0 when told",
                &bound,
                tidy,
                late().how(How::Code(0)),
            ));
            let family = "(setsid sleep 600 &) ; sleep 600 & wait";
            let end = late().fact("/facts/leftovers", 0);
            rows.push(row("runs past its bound with a family", &bound, family, end));
            let silent = ["--first-output-timeout", "300ms", "--grace", "300ms"];
            let end = End::timed_out("run.timed_out.first_output");
            rows.push(row("says nothing at first", &silent, "exec sleep 600", end));
            let end = End::timed_out("run.timed_out.silence");
            let idle = ["--idle-timeout", "300ms", "--grace", "300ms"];
            rows.push(row("falls silent", &idle, "echo once; exec sleep 600", end.clone()));
            let both = ["--idle-timeout", "300ms", "--timeout", "60s", "--grace", "300ms"];
            rows.push(row("falls silent long before its bound", &both, "echo once; exec sleep 600", end));
            let wide = ["--timeout", "60s", "--idle-timeout", "50s", "--first-output-timeout", "40s"];
            rows.push(row("exits with 0 before every bound", &wide, "echo on; exit 0", End::completed()));
            rows.push(row("exits with 124 before every bound", &wide, "echo on; exit 124", End::exited(124)));
            let end = End::completed().fact("/timeout/configured_s", json!(60));
            rows.push(row("is silent and exits before every bound", &wide, "exit 0", end));
        }
    }
    rows
}
