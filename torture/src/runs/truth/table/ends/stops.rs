//! Stops: who asked, how the command took it, and that a signal from a program is not told as a person's key.

use anyhow::ensure;

use crate::runs::truth::row::{Alive, End, How, RUNGS, Row, Rung, Start, Step, Way, Whom, Within, ready};
use crate::runs::truth::start;

const STOPPING: Alive = Alive::WORKING.phase(&["starting", "working", "stopping", "draining"]);

/// How a command takes a stop: its script, and how its process ends if it is told with TERM.
const TAKES: [(&str, &str, &str, How); 4] = [
    ("obeys", "ulimit -c 0", "exec sleep 600", How::Signal(15)),
    ("ignores it", "trap '' TERM INT QUIT HUP", "while :; do sleep 0.1; done", How::Signal(9)),
    ("exits with 0", "trap 'exit 0' TERM INT QUIT HUP", "while :; do sleep 600 & wait; done", How::Code(0)),
    ("exits with 7", "trap 'exit 7' TERM INT QUIT HUP", "while :; do sleep 600 & wait; done", How::Code(7)),
];

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for (takes, first, script, how) in TAKES {
            let operator = || End::cancelled("run.cancelled.operator").says(&["stopped by"]);
            let start = || ready(first, script).with(&["--grace", "300ms"]).rung(rung).way(Way::Detached);
            let row = |who: &str, end: End| {
                Row::new(format!("{who}, and it {takes}"), start(), end)
                    .may(STOPPING)
                    .then(Step::Only(STOPPING.living()))
                    .then(Step::Only(STOPPING))
            };
            rows.push(row("an operator stops it", operator().how(how)).then(Step::Ask(&["stop", "{}"])));
            let end = operator();
            rows.push(row("an operator stops it at once", end).then(Step::Ask(&["stop", "--now", "{}"])));
            rows.push(row("it is stopped over HTTP", operator().how(how)).does(|play| {
                let reply = play.place.post(&format!("/api/v1/entities/{}/stop", play.id()?), "{}")?;
                ensure!(reply.status < 300, "the stop was answered with {} {}", reply.status, reply.text());
                Ok(())
            }));
            rows.extend(by_signal(takes, &ready(first, script).rung(rung)));
        }
        rows.extend(shown_while_stopping(rung));
        rows.push(unheard(rung));
    }
    rows
}

/// A program sends a signal to the supervisor. Nobody pressed a key and no terminal was closed.
fn by_signal(takes: &str, start: &Start) -> Vec<Row> {
    let ends = [
        (15, "TERM", End::cancelled("run.cancelled.sigterm")),
        (2, "INT", End::cancelled("run.cancelled.signal").says(&["SIGINT"])),
        (3, "QUIT", End::cancelled("run.cancelled.signal").says(&["SIGQUIT"])),
        (1, "HUP", End::cancelled("run.cancelled.signal").says(&["SIGHUP"])),
    ];
    let row = |(signal, name, end): (i32, &str, End)| {
        let start = start.clone().with(&["--grace", "300ms"]);
        Row::new(format!("a program sends {name} to the supervisor, and the command {takes}"), start, end)
            .may(STOPPING)
            .then(Step::Signal(Whom::Supervisor, signal))
    };
    ends.into_iter().map(row).collect()
}

/// A wish that its supervisor was not told of explains nothing that happens later.
fn unheard(rung: Rung) -> Row {
    let start = ready("ulimit -c 0", "exec sleep 600").rung(rung).way(Way::Detached);
    let end = End::signaled(9).never(&["by an operator"]);
    let row = Row::new("nobody tells it of a stop, and a stranger kills it later", start, end).slow();
    row.does(|play| {
        let id = play.id()?;
        let words = ["stop", "--no-wait", &id];
        let output = start::from(&play.place.board, Within::PidNamespace, &words).output()?;
        ensure!(output.status.success(), "the stop ended with {}", output.status);
        Ok(())
    })
    .then(Step::Hold(std::time::Duration::from_secs(7)))
    .then(Step::Signal(Whom::Command, 9))
}

/// While it is being stopped, that is what is shown, with who wanted it.
fn shown_while_stopping(rung: Rung) -> Vec<Row> {
    let stubborn = "while :; do sleep 0.1; done";
    let said = crate::runs::truth::row::Said::phase("stopping");
    let slow = || ready("trap '' TERM INT", stubborn).with(&["--grace", "60s"]).rung(rung);
    let by_operator = Row::new(
        "an operator's stop takes its time",
        slow().way(Way::Detached),
        End::cancelled("run.cancelled.operator").fact("/facts/killed", true),
    );
    let by_signal = Row::new(
        "a stop by TERM takes its time",
        slow(),
        End::cancelled("run.cancelled.sigterm").fact("/facts/killed", true),
    );
    let only = Alive::WORKING.phase(&["stopping"]).living();
    let after = Alive::WORKING.phase(&["stopping", "draining"]);
    vec![
        by_operator
            .may(STOPPING)
            .then(Step::Ask(&["stop", "--no-wait", "{}"]))
            .then(Step::Say(said.words(&["Stopping"])))
            .then(Step::Only(only))
            .then(Step::Hold(std::time::Duration::from_millis(300)))
            .then(Step::Only(after))
            .then(Step::Ask(&["stop", "--now", "{}"])),
        by_signal
            .may(STOPPING)
            .then(Step::Signal(Whom::Supervisor, 15))
            .then(Step::Say(said.words(&["Stopping"])))
            .then(Step::Only(only))
            .then(Step::Hold(std::time::Duration::from_millis(300)))
            .then(Step::Only(after))
            .then(Step::Signal(Whom::Supervisor, 15)),
    ]
}
