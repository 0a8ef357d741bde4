//! Runs inside of runs: the inner end says what happened to it, not who its parent is.

use crate::runs::truth::row::{Alive, End, How, RUNGS, Row, Start, Step, Way, Whom, there};

const STOPPING: Alive = Alive::WORKING
    .health(&["ok", "running", "process_dead", "degraded", "orphaned"])
    .phase(&["starting", "working", "stopping", "draining"]);
const INNER: &str = "\"$CALLBOARD\" run --quiet --title \"$CALLBOARD_TORTURE-inner\"";

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        let outer = |script: &str, options: &[&str], way: Way| -> Start {
            there(script).with(options).with(&["--grace", "2s"]).rung(rung).way(way)
        };
        let inside = format!("{INNER} -- sh -c ': > inner; exec sleep 600'");
        let behind = format!("{inside} & wait");
        for (shape, script) in [("waits for", &inside), ("has in the background", &behind)] {
            let stopped = row(
                &format!("the outer run is stopped, which {shape} the inner one"),
                outer(script, &[], Way::Detached),
                End::cancelled("run.cancelled.operator"),
            );
            rows.push(stopped.then(Step::Await("inner")).then(Step::Ask(&["stop", "{}"])).inner(parent()));
            let late = row(
                &format!("the outer run is late, which {shape} the inner one"),
                outer(script, &["--timeout", "1500ms"], Way::Foreground),
                End::timed_out("run.timed_out.deadline"),
            );
            rows.push(late.then(Step::Await("inner")).inner(parent()));
            let told = row(
                &format!("the outer supervisor gets TERM, which {shape} the inner run"),
                outer(script, &[], Way::Foreground),
                End::cancelled("run.cancelled.sigterm").may_say("told to terminate"),
            );
            let told = told.then(Step::Await("inner")).then(Step::Signal(Whom::Supervisor, 15));
            rows.push(told.inner(parent()));
        }
        let leaves = format!("{inside} & while [ ! -e inner ]; do sleep 0.05; done; exit 0");
        let left = row("the outer command exits", outer(&leaves, &[], Way::Foreground), End::completed());
        rows.push(left.inner(parent()));
        let well = format!("{INNER} -- sh -c 'exit 3'; exit 0");
        let fine = row("the inner run fails by itself", outer(&well, &[], Way::Foreground), End::completed());
        rows.push(fine.inner(End::exited(3)));
        let shot = format!("{INNER} -- sh -c 'kill -9 $$'; exit 0");
        let shot = row("the inner command is killed", outer(&shot, &[], Way::Foreground), End::completed());
        rows.push(shot.inner(End::signaled(9)));
        rows.extend(detached(&outer));
    }
    rows
}

/// An inner run in the background.
fn detached(outer: &dyn Fn(&str, &[&str], Way) -> Start) -> Vec<Row> {
    let mut rows = Vec::new();
    let apart = format!("{INNER} --detach -- sh -c 'echo $$ > apart; : > inner; exec sleep 600'");
    let awaits = "while [ ! -e inner ]; do sleep 0.05; done; exit 0";
    let ends = format!("{apart}; {awaits}");
    let ends = row(
        "the outer command exits, which has a detached inner run",
        outer(&ends, &[], Way::Foreground),
        End::completed(),
    );
    rows.push(ends.inner(parent()));
    let stopped = row(
        "the outer run is stopped, which has a detached inner run",
        outer(&format!("{apart}; exec sleep 600"), &[], Way::Detached),
        End::cancelled("run.cancelled.operator"),
    );
    rows.push(stopped.then(Step::Await("inner")).then(Step::Ask(&["stop", "{}"])).inner(parent()));
    // Nobody ends what started it, so that cannot be why it was killed.
    let shot = row(
        "a detached inner run is killed",
        outer(&format!("{apart}; while [ ! -e enough ]; do sleep 0.05; done; exit 0"), &[], Way::Foreground),
        End::completed(),
    );
    rows.push(
        shot.then(Step::Await("inner"))
            .then(Step::Signal(Whom::Named("apart"), 9))
            .does(|play| {
                let inner = play.id_titled(&format!("{}-inner", play.token))?;
                play.ask(&["wait", &inner]).map(drop)
            })
            .does(|play| Ok(std::fs::write(play.path("enough"), "")?))
            .inner(End::signaled(9).how(How::Signal(9)).never(&["run.cancelled.parent"])),
    );
    rows
}

fn parent() -> End {
    End::cancelled("run.cancelled.parent").never(&["told to terminate"])
}

fn row(name: &str, start: Start, end: End) -> Row {
    Row::new(name, start, end).may(STOPPING)
}
