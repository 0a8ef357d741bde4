//! Supervisors that stand still, as on a laptop that sleeps: what happened meanwhile is judged by when it happened.
//!
//! A second of the bound stands for a minute of a real one: the supervisor stands still for longer than every bound, so a
//! judgement by the moment of waking would show.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::runs::truth::play::{self, Play};
use crate::runs::truth::play::{patience, until};
use crate::runs::truth::row::{
    Alive, End, RUNGS, Row, Rung, Said, Start, Step, WAYS, Way, Whom, gated, there,
};

const STOP: i32 = 19;
const CONT: i32 = 18;
/// The bound, and for how long everything stands still.
const BOUND: &str = "12s";
const GAP: Duration = Duration::from_secs(14);
const TEN_MINUTES: Duration = Duration::from_secs(600);
/// A supervisor that stands still is not at work, whatever its command does.
const STILL: Alive = Alive::WORKING
    .health(&["ok", "running", "paused", "degraded", "stalled", "unknown"])
    .phase(&["starting", "working", "paused", "draining", "stopping"]);

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        rows.extend(Row::times(5, || {
            let start = gated("exit 0").with(&["--timeout", BOUND]).rung(rung);
            through_the_gap(row("exits with 0 before its bound", start, End::completed()), ends_meanwhile)
        }));
        let start = gated("exit 3").with(&["--timeout", BOUND]).rung(rung).way(Way::Detached);
        rows.push(through_the_gap(
            row("exits with 3 before its bound", start, End::exited(3)),
            ends_meanwhile,
        ));
        let start = gated("kill -11 $$").with(&["--timeout", BOUND]).rung(rung);
        let end = End::signaled(11).or("run.failed.core_dump");
        rows.push(through_the_gap(row("crashes before its bound", start, end), ends_meanwhile));
        let start = gated("echo much; exit 0").with(&["--idle-timeout", BOUND]).rung(rung);
        rows.push(through_the_gap(row("exits before it is silent", start, End::completed()), ends_meanwhile));
        rows.extend(Row::times(5, || {
            let script = "while [ ! -e done ]; do echo x; sleep 0.2; done; exit 0";
            let start = there(script).with(&["--idle-timeout", BOUND]).rung(rung);
            let row = through_the_gap(row("writes all the time", start, End::completed()), |_| Ok(()));
            row.does(|play| Ok(std::fs::write(play.path("done"), "")?))
        }));
        let start = there("read _ < go; exit 0").with(&["--first-output-timeout", BOUND]).rung(rung);
        let quiet = row("has not spoken yet, and had no time to", start, End::completed());
        // It goes on for a moment, so a clock that counted the gap would have rung.
        let awake = Step::Hold(Duration::from_millis(500));
        rows.push(through_the_gap(quiet, |_| Ok(())).then(awake).then(Step::Go).shows());
        let start = there("echo on; exec sleep 600").with(&["--timeout", BOUND]).rung(rung);
        let late = row("goes on past its bound", start, End::timed_out("run.timed_out.deadline"));
        rows.push(through_the_gap(late, |_| Ok(())));
        rows.push(dead_behind_it(rung));
        for way in WAYS {
            rows.push(laptop("the whole machine sleeps", rung, way, GAP));
            // In real time, so only when everything is played.
            let long = laptop("the whole machine sleeps for ten minutes", rung, way, TEN_MINUTES);
            rows.push(Row { repeats: true, ..long });
        }
    }
    rows
}

fn row(name: &str, start: Start, end: End) -> Row {
    // It may stand still in the middle of a write, and whoever shares its store would have to wait.
    let row = Row::new(format!("the supervisor stands still, and the command {name}"), start, end);
    row.may(STILL).slow().alone().then(Step::Say(Said::state("running")))
}

/// Stops the supervisor, lets something happen, and lets it go on after the bound.
fn through_the_gap(row: Row, meanwhile: fn(&Play<'_>) -> Result<()>) -> Row {
    row.then(Step::Signal(Whom::Supervisor, STOP))
        .does(meanwhile)
        .then(Step::Hold(GAP))
        .then(Step::Signal(Whom::Supervisor, CONT))
}

/// Lets the command go, and sees to it that it has ended before anybody wakes up.
fn ends_meanwhile(play: &Play<'_>) -> Result<()> {
    let pid = play.pid(Whom::Command)?;
    play.go()?;
    let gone = until(patience(), || matches!(play::state_of(pid), None | Some('Z')).then_some(()))?;
    gone.context("the command does not end")
}

/// The command is dead and its supervisor stands still: nobody may call that running.
fn dead_behind_it(rung: Rung) -> Row {
    let start = gated("exit 4").rung(rung).way(Way::Detached);
    let row = row("is dead meanwhile, which is seen", start, End::exited(4));
    row.then(Step::Signal(Whom::Supervisor, STOP))
        .does(ends_meanwhile)
        .does(|play| {
            let id = play.id()?;
            let told = until(patience(), || {
                let view = crate::runs::truth::surfaces::served(play.place, &id).ok()?;
                let own = crate::runs::truth::surfaces::inspected(play.place, &id).ok()?;
                (view["chain"] != "Running" && own["chain"] != "Running").then_some(())
            })?;
            told.context("it is called running, and its command is dead")
        })
        .then(Step::Signal(Whom::Supervisor, CONT))
}

/// Everything of callboard stands still, the command too, and goes on later.
fn laptop(name: &str, rung: Rung, way: Way, gap: Duration) -> Row {
    let start = there("echo on; read _ < go; exit 0").rung(rung).way(way);
    let start = start.with(&["--timeout", "28s", "--idle-timeout", BOUND]);
    let row = Row::new(name, start, End::completed()).may(STILL).slow().alone();
    row.does(move |play| sleep_and_wake(play, gap)).then(Step::Go)
}

fn sleep_and_wake(play: &Play<'_>, gap: Duration) -> Result<()> {
    let (server, id) = (play.place.server_pid()?, play.id()?);
    let pids = [play.pid(Whom::Supervisor)?, play.pid(Whom::Command)?, server];
    play.blind(true);
    pids.iter().try_for_each(|pid| play::send(*pid, STOP))?;
    // Somebody whose machine is awake looks at the store.
    std::thread::sleep(Duration::from_millis(300));
    let seen = crate::runs::truth::surfaces::inspected(play.place, &id)?;
    std::thread::sleep(gap);
    // They wake in any order; the server first sees nobody else awake.
    pids.iter().rev().try_for_each(|pid| play::send(*pid, CONT))?;
    play.blind(false);
    let chain = seen["chain"].as_str().unwrap_or_default();
    ensure!(seen["ended_at"].is_null() && !chain.contains("dead"), "asleep it is called {chain}");
    ensure!(chain != "Running", "nothing of it runs, and it is called {chain}");
    Ok(())
}
