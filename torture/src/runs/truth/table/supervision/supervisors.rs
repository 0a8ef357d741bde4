//! Supervisors that are killed: who lives on is told, nobody alive is called dead, and the end says what was found.

use anyhow::{Context, Result, ensure};

use crate::runs::truth::play::{self, Play};
use crate::runs::truth::play::{patience, until};
use crate::runs::truth::row::{
    Alive, End, RUNGS, Row, Rung, Said, Start, Step, WAYS, Way, Whom, argv, there,
};
use crate::runs::truth::surfaces;

/// Nobody answers for it any more; its processes may live.
const UNSUPERVISED: Alive = Alive::WORKING
    .health(&["ok", "running", "orphaned", "degraded", "process_dead"])
    .phase(&["starting", "working", "stopping", "draining"]);
const KILL: i32 = 9;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for way in WAYS {
            let start = |script: &str| there(script).rung(rung).way(way);
            let outlives = |script: &str| {
                let script = format!("echo $$ > command; : > there; {script}");
                let words = ["setpriv", "--pdeathsig", "clear", "sh", "-c", &script];
                Start { is_gated: true, ..argv(&words) }.rung(rung).way(way)
            };
            let killed = |name: &str, start: Start, end: End| {
                let row = Row::new(name, start, end).may(UNSUPERVISED).alone();
                row.then(Step::Say(Said::state("running")))
                    .does(|play| server(play, STOP))
                    .then(Step::Signal(Whom::Supervisor, KILL))
            };
            // The kernel kills a command with its supervisor, unless it has taken that back.
            let alone = killed(
                "the supervisor is killed, and the command with it",
                start("exec sleep 600"),
                End::reaped().fact("/facts/leftovers", 0),
            );
            rows.push(is_told(alone, &["Process dead"], false));
            let family = start("sleep 600 & sleep 600 & wait");
            let family = killed("the supervisor is killed, its command's children live", family, ended(2));
            rows.push(is_told(family, &["Unsupervised (2 alive)"], false));
            let alone = killed("the supervisor is killed, the command lives", outlives("exec sleep 600"), {
                ended(1)
            });
            rows.push(is_told(alone, &["Unsupervised (1 alive)"], true));
            let family = outlives("sleep 600 & sleep 600 & wait");
            let family = killed("the supervisor is killed, a family lives", family, ended(3));
            rows.push(is_told(family, &["Unsupervised (3 alive)"], true));
            let both = there("exec sleep 600").rung(rung).way(way);
            let both = Row::new("the command is killed with its supervisor", both, End::reaped());
            rows.push(
                both.may(UNSUPERVISED)
                    .then(Step::Signal(Whom::Supervisor, STOP))
                    .then(Step::Signal(Whom::Command, KILL))
                    .then(Step::Signal(Whom::Supervisor, KILL))
                    .then(Step::AwaitSupervisorsEnd)
                    .does(told_at_once)
                    .does(until_dead)
                    .then(Step::Ask(&["reap"])),
            );
            let stubborn = "trap '' TERM; echo on; while :; do sleep 0.1; done";
            let start = there(stubborn).rung(rung).way(way).with(&["--grace", "60s"]);
            let end = End::reaped().or("run.cancelled.operator");
            let stopping = Row::new("the supervisor is killed while it stops the command", start, end);
            rows.push(
                stopping
                    .may(UNSUPERVISED)
                    .then(Step::Ask(&["stop", "--no-wait", "{}"]))
                    .then(Step::Signal(Whom::Supervisor, KILL))
                    .then(Step::AwaitSupervisorsEnd)
                    .then(Step::Ask(&["reap"])),
            );
        }
        rows.push(hidden(rung));
        rows.push(waited_for(rung));
    }
    rows
}

/// A daemon that left its session and emptied its environment: a control group finds it, and where there is none, it is
/// said that nobody can.
fn hidden(rung: Rung) -> Row {
    let script = "setsid env -i sh -c 'echo $$ > daemon; exec sleep 600' & while [ ! -s daemon ]; do sleep 0.01; done; \
                  : > left; exec sleep 600";
    let (words, end): (&'static [&str], End) = match rung {
        Rung::Group => (&["Unsupervised (1 alive)"], ended(1)),
        Rung::Tree => (&["Process dead"], End::reaped().says(&["cannot be ruled out"])),
    };
    let start = there(script).rung(rung).way(Way::Detached);
    let row =
        Row::new("the supervisor is killed, a hidden daemon lives", start, end).may(UNSUPERVISED).alone();
    let row = row
        .then(Step::Await("left"))
        .then(Step::Say(Said::state("running")))
        .does(|play| server(play, STOP))
        .then(Step::Signal(Whom::Supervisor, KILL));
    is_told(row, words, false).does(|play| {
        // Without a control group it is ours to end.
        play::put_down(play.pid(Whom::Named("daemon"))?);
        Ok(())
    })
}

const STOP: i32 = 19;
const CONT: i32 = 18;

fn ended(count: u32) -> End {
    let end = End::reaped().fact("/facts/leftovers", 0);
    match count {
        1 => end.says(&["1 of its processes"]),
        2 => end.says(&["2 of its processes"]),
        _ => end.says(&["3 of its processes"]),
    }
}

/// Who lives is told, and nobody else; then a reaper ends it.
fn is_told(row: Row, words: &'static [&'static str], lives: bool) -> Row {
    row.then(Step::AwaitSupervisorsEnd)
        .then(Step::Say(Said::default().words(words)))
        .does(move |play| {
            let pid = play.pid(Whom::Command)?;
            let found = !matches!(play::state_of(pid), None | Some('Z'));
            ensure!(found == lives, "the command lives: {found}, and not {lives}");
            Ok(())
        })
        .then(Step::Ask(&["reap"]))
        .does(|play| server(play, CONT))
}

/// The server would reap it while we look, so it sleeps meanwhile.
fn server(play: &Play<'_>, signal: i32) -> Result<()> {
    play.id()?;
    play.blind(signal == STOP);
    play::send(play.place.server_pid()?, signal)
}

/// A dead run is told as dead by everybody, or has been reaped meanwhile.
fn until_dead(play: &Play<'_>) -> Result<()> {
    let id = play.id()?;
    let told = until(patience(), || {
        let view = surfaces::served(play.place, &id).ok()?;
        let is_dead = view["state"]["health"] == "process_dead" || !view["ended_at"].is_null();
        is_dead.then_some(())
    })?;
    told.context("nobody says that it is dead")
}

/// Its supervisor is gone, so no answer from now on may say that it runs, whoever is asked.
fn told_at_once(play: &Play<'_>) -> Result<()> {
    let id = play.id()?;
    let views = [
        ("the server", surfaces::served(play.place, &id)?),
        ("inspect", surfaces::inspected(play.place, &id)?),
        ("ps", surfaces::listed(play.place, &id)?),
    ];
    for (surface, view) in views {
        ensure!(view["chain"] != "Running", "its supervisor is gone, and {surface} calls it running");
    }
    Ok(())
}

fn waited_for(rung: Rung) -> Row {
    let start = there("exec sleep 600").rung(rung).way(Way::Detached);
    Row::new("the supervisor is killed and somebody waits", start, End::reaped())
        .may(UNSUPERVISED)
        .then(Step::Signal(Whom::Supervisor, KILL))
        .then(Step::AwaitSupervisorsEnd)
        .does(wait_tells)
}

/// Whoever waits is told the end, and not left waiting.
fn wait_tells(play: &Play<'_>) -> Result<()> {
    let waited = play.ask(&["wait", "--timeout", "30s", "{}"])?;
    ensure!(waited.status.code() == Some(130), "wait ended with {}", waited.status);
    Ok(())
}
