//! Pauses: what does not run is not called running, and says since when and by what.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::runs::truth::play::{Play, patience, until};
use crate::runs::truth::row::{Alive, End, How, RUNGS, Row, Rung, Said, Step, WAYS, Way, Whom, gated, there};

const STOP: i32 = 19;
const CONT: i32 = 18;
const PAUSING: Alive = Alive::WORKING
    .health(&["ok", "running", "paused"])
    .phase(&["starting", "working", "paused", "stopping", "draining"]);
const PAUSED: Alive = Alive::WORKING.health(&["paused"]).phase(&["paused"]).living();
const WORKING: Alive = Alive::WORKING.living();

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for way in WAYS {
            let start = gated("exit 0").rung(rung).way(way);
            let row = Row::new("the command gets STOP and CONT", start, End::completed()).may(PAUSING);
            let row = row.then(Step::Signal(Whom::Command, STOP));
            rows.push(seen_paused(row).then(Step::Signal(Whom::Command, CONT)).goes_on());
        }
        let start = there("exec sleep 600").rung(rung).way(Way::Detached).with(&["--grace", "500ms"]);
        let end = End::cancelled("run.cancelled.operator").how(How::Signal(15));
        let row = Row::new("a paused command is stopped", start, end).may(PAUSING);
        let row = seen_paused(row.then(Step::Signal(Whom::Command, STOP)));
        rows.push(row.then(Step::Only(PAUSING)).then(Step::Ask(&["stop", "{}"])));
        let start = there("exec sleep 600").rung(rung).way(Way::Detached);
        let row = Row::new("a paused command is killed by a stranger", start, End::signaled(9)).may(PAUSING);
        let row = seen_paused(row.then(Step::Signal(Whom::Command, STOP)));
        rows.push(row.then(Step::Only(PAUSING)).then(Step::Signal(Whom::Command, 9)));
        let start = gated("exit 0").rung(rung).way(Way::Terminal);
        let row = Row::new("Ctrl-Z and back", start, End::completed()).may(PAUSING);
        let row = seen_paused(row.then(Step::Type(b"\x1a")));
        rows.push(row.then(Step::Only(PAUSING)).then(Step::Signal(Whom::Supervisor, CONT)).goes_on());
    }
    for way in WAYS {
        let start = gated("exit 0").rung(Rung::Group).way(way);
        let row = Row::new("the control group is frozen and thawed", start, End::completed()).may(PAUSING);
        let row = row.does(|play| freeze(play, "1"));
        rows.push(seen_paused(row).does(|play| freeze(play, "0")).goes_on());
    }
    rows
}

/// As long as it is paused, that is what everybody says.
fn seen_paused(row: Row) -> Row {
    row.then(Step::Say(Said::health("paused").words(&["Paused"])))
        .then(Step::Only(PAUSED))
        .then(Step::Hold(Duration::from_millis(300)))
        .then(Step::Only(PAUSING))
}

impl Row {
    /// It runs again, and then it ends.
    fn goes_on(self) -> Self {
        self.then(Step::Say(Said::health("running")))
            .then(Step::Only(WORKING))
            .then(Step::Hold(Duration::from_millis(200)))
            .then(Step::Only(Alive::WORKING))
            .then(Step::Go)
    }
}

/// Freezes or thaws the control group of the run.
fn freeze(play: &Play<'_>, how: &str) -> Result<()> {
    let id = play.id()?;
    let found = || {
        let view = crate::runs::truth::surfaces::inspected(play.place, &id).ok()?;
        let group = view["facts"]["containment"]["detail"].as_str()?;
        group.starts_with('/').then(|| group.to_owned())
    };
    let group = until(patience(), found)?.context("no control group is recorded")?;
    Ok(std::fs::write(format!("{group}/cgroup.freeze"), how)?)
}
