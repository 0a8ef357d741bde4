//! Readers: one that is slow, one that goes away, one that cannot take anything.

use std::io::Read;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::runs::truth::play::Play;
use crate::runs::truth::row::{Alive, End, How, Output, RUNGS, Row, Said, Step, Whom, run, there};

const DRAINING: Alive = Alive::WORKING.phase(&["starting", "working", "draining", "stopping"]);
const KILL: i32 = 9;
/// More than a pipe holds, and less than is kept for a slow reader.
const MUCH: &str = "head -c 400000 /dev/zero";

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        let start = there("exec yes words").rung(rung).output(Output::Pipe);
        let end = End::failed("run.failed.closed_output", 141).how(How::Signal(13));
        let row = Row::new("the reader goes away", start, end.says(&["reader"])).may(DRAINING);
        rows.push(row.does(read_a_little));
        let start = run("echo words; exit 0").rung(rung).output(Output::Full);
        let end = End::failed("run.failed.output_refused", 1).how(How::Code(0));
        rows.push(Row::new("its output cannot be passed on", start, end).may(DRAINING));
        for code in [0, 3] {
            let end = || if code == 0 { End::completed() } else { End::exited(code) };
            let start = || there(&format!("{MUCH}; exit {code}")).rung(rung).output(Output::Pipe);
            let row = Row::new(format!("a slow reader, exits with {code}"), start(), end()).may(DRAINING);
            rows.push(drains(row).does(read_all));
            let row =
                Row::new(format!("a slow reader, its supervisor is killed, exited with {code}"), start(), {
                    let mut end = end();
                    end.exit = None;
                    end
                });
            let dying = DRAINING.health(&["ok", "running", "process_dead", "degraded", "orphaned"]);
            let row = drains(row.may(DRAINING)).then(Step::Only(dying));
            rows.push(
                row.then(Step::Signal(Whom::Supervisor, KILL))
                    .then(Step::AwaitSupervisorsEnd)
                    .then(Step::Ask(&["reap"])),
            );
            let row = Row::new(format!("a slow reader, and somebody stops it after exit {code}"), start(), {
                let mut end = end().how(How::Code(code.into()));
                end.exit = None;
                end
            });
            rows.push(drains(row.may(DRAINING)).then(Step::Signal(Whom::Supervisor, 15)));
        }
    }
    rows
}

/// The command has ended, and its output waits for the reader: that is a phase, and no end yet.
fn drains(row: Row) -> Row {
    row.then(Step::Say(Said::phase("draining")))
        .then(Step::Only(DRAINING.phase(&["draining"])))
        .then(Step::Hold(Duration::from_millis(300)))
        .then(Step::Only(DRAINING))
}

fn read_a_little(play: &Play<'_>) -> Result<()> {
    let mut some = [0; 64];
    play.pipe()?.read_exact(&mut some).context("nothing came")
}

fn read_all(play: &Play<'_>) -> Result<()> {
    let mut all = Vec::new();
    play.pipe()?.read_to_end(&mut all)?;
    ensure!(all.len() == 400_000, "{} bytes came", all.len());
    Ok(())
}
