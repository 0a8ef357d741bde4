//! Hands: an end that a person records while the process lives, and a process that nobody can end.

use anyhow::{Context, Result, ensure};

use crate::runs::truth::play::{self, Play};
use crate::runs::truth::play::{patience, until};
use crate::runs::truth::row::{Alive, End, RUNGS, Row, Rung, Said, Step, Way, Whom, gated, there};
use crate::runs::truth::surfaces;

const STOPPING: Alive = Alive::WORKING.phase(&["starting", "working", "stopping", "draining"]);

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for (state, reason) in [
            ("failed", "run.failed.exception"),
            ("aborted", "run.aborted.operator"),
            ("cancelled", "run.cancelled.operator"),
        ] {
            let start = gated("exit 0").rung(rung).way(Way::Detached);
            let mut row =
                Row::new(format!("is called {state} by hand while it lives"), start, End::completed());
            row.end = None;
            rows.push(row.does(move |play| by_hand(play, state, reason)));
        }
    }
    rows.extend(RUNGS.map(children_live));
    // Without the right to signal another user's process, and without a control group that kills.
    let unable = ["setpriv", "--inh-caps=-kill", "--bounding-set=-kill"];
    let other = "setpriv --reuid 65534 --regid 65534 --clear-groups sleep 600 & echo $! > other; wait";
    let start = there(other).rung(Rung::Tree).wrapped(&unable).with(&["--grace", "200ms"]);
    // It is degraded as long as the process lives, and the reason stays after that.
    let mut end = End::cancelled("run.cancelled.sigterm").health(&["degraded", "ok"]);
    end = end.says(&["run.health.kill_unconfirmed"]).never(&["0 of its processes left", "were ended"]);
    end.exit = None;
    let row = Row::new("another user's process cannot be ended", start, end).may(STOPPING).slow().shows();
    let row = row.then(Step::Await("other")).does(is_of_another_user);
    rows.push(row.then(Step::Signal(Whom::Supervisor, 15)).does(unconfirmed));
    rows
}

/// Either nobody may say so, or everybody says that it lives; and its own end is told in the end.
fn by_hand(play: &Play<'_>, state: &str, reason: &str) -> Result<()> {
    let moved = play.ask(&["transition", "{}", state, "--reason", reason, "--message", "I think so"])?;
    let id = play.id()?;
    for view in [surfaces::served(play.place, &id)?, surfaces::inspected(play.place, &id)?] {
        let chain = view["chain"].as_str().unwrap_or_default();
        if moved.status.success() {
            let is_well = view["state"]["health"] == "ok";
            ensure!(!is_well, "it lives, and it is called {chain}");
        } else {
            ensure!(view["ended_at"].is_null(), "the end was refused, and it is called {chain}");
        }
    }
    play.go()?;
    let pid = play.pid(Whom::Command)?;
    until(patience(), || play::state_of(pid).is_none().then_some(()))?.context("it does not end")
}

/// The supervisor is dead and a person ends the run in the log, while a child of its command lives.
fn children_live(rung: Rung) -> Row {
    let start = there("sleep 600 & echo $! > child; : > both; wait").rung(rung).way(Way::Detached);
    let name = "is called aborted by hand while a child of its command lives";
    let dying = Alive::WORKING.health(&["ok", "running", "process_dead", "degraded"]);
    let row = Row { end: None, ..Row::new(name, start, End::reaped()).may(dying).alone() };
    row.then(Step::Await("both")).then(Step::Say(Said::state("running"))).does(|play| {
        let (server, child) = (play.place.server_pid()?, play.pid(Whom::Named("child"))?);
        // The server would reap it.
        play.blind(true);
        play::send(server, STOP)?;
        play.signal(Whom::Supervisor, KILL)?;
        let words =
            ["transition", "{}", "aborted", "--reason", "run.aborted.operator", "--message", "I think so"];
        let gone = until(patience(), || {
            let view = surfaces::inspected(play.place, &play.id().ok()?).ok()?;
            view["chain"].as_str()?.contains("Unsupervised (1 alive)").then_some(())
        })?;
        gone.context("nobody says that a child lives")?;
        let moved = play.ask(&words)?;
        ensure!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
        surfaces::until_said(play, &Said::health("degraded").words(&["Still alive (1)"]))?;
        play::put_down(child);
        play::send(server, CONT)?;
        play.blind(false);
        surfaces::until_said(play, &Said::health("ok"))
    })
}

const KILL: i32 = 9;
const STOP: i32 = 19;
const CONT: i32 = 18;

/// The process has become that of another user.
fn is_of_another_user(play: &Play<'_>) -> Result<()> {
    let other = play.pid(Whom::Named("other"))?;
    let sleeps = || {
        let words = std::fs::read(format!("/proc/{other}/cmdline")).ok()?;
        words.starts_with(b"sleep").then_some(())
    };
    until(patience(), sleeps)?.context("it does not change its user")
}

/// Whoever was left is still there; then it is ended by somebody who may.
fn unconfirmed(play: &Play<'_>) -> Result<()> {
    play.wait_for_child()?;
    let other = play.pid(Whom::Named("other"))?;
    let lives = play::state_of(other).is_some();
    let id = play.id()?;
    let view = surfaces::inspected(play.place, &id)?;
    let chain = view["chain"].as_str().unwrap_or_default().to_owned();
    play::put_down(other);
    ensure!(lives, "the process is gone, so nothing was shown");
    ensure!(chain.contains("Kill unconfirmed"), "it lives, and the run is called {chain}");
    surfaces::until_said(play, &Said::health("ok")).context("nobody is left")
}
