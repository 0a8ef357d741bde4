//! Other places: who cannot see a process says that it is unknown, never dead, and signals nobody.

use anyhow::{Context, Result, ensure};

use crate::runs::truth::play::{self, Play};
use crate::runs::truth::play::{patience, until};
use crate::runs::truth::row::{Alive, End, RUNGS, Row, Rung, Said, Step, Way, Whom, Within, gated, there};
use crate::runs::truth::{start, surfaces};

/// Its processes cannot be seen from where the server stands.
const UNSEEN: Alive = Alive::WORKING.health(&["ok", "running", "unknown"]);
/// Its command gets STOP before its supervisor is killed.
const DYING: Alive = Alive::WORKING
    .health(&["ok", "running", "paused", "process_dead", "orphaned", "degraded"])
    .phase(&["starting", "working", "paused", "draining"]);
const KILL: i32 = 9;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for (code, way) in [(0, Way::Detached), (3, Way::Foreground)] {
            let end = || if code == 0 { End::completed() } else { End::exited(code) };
            let here = || gated(&format!("exit {code}")).rung(rung).way(way);
            let row =
                Row::new(format!("is looked at from a pid namespace, exits with {code}"), here(), end());
            rows.push(row.does(from_pid_namespace).then(Step::Go));
            let row =
                Row::new(format!("is looked at from a time namespace, exits with {code}"), here(), end());
            rows.push(row.does(from_time_namespace).then(Step::Go));
            let row = Row::new(format!("is looked at from a sandbox, exits with {code}"), here(), end());
            rows.push(row.does(from_sandbox).then(Step::Go));
            let row =
                Row::new(format!("is looked at under another host name, exits with {code}"), here(), end());
            rows.push(row.does(from_another_name).then(Step::Go));
        }
        for within in
            [Within::PidNamespace, Within::TimeNamespace, Within::Sandbox, Within::Host("elsewhere")]
        {
            let start = gated("exit 3").rung(rung).within(within);
            let row = Row::new("is reaped from here while it lives", start, End::exited(3)).may(UNSEEN);
            rows.push(row.does(outlives_a_reaper).then(Step::Go));
        }
        let start = gated("exit 0").rung(rung).within(Within::PidNamespace);
        let row = Row::new("runs in a pid namespace, seen from here", start, End::completed()).may(UNSEEN);
        rows.push(row.then(Step::Say(Said::health("unknown"))).does(outlives_a_reaper).then(Step::Go));
        let start =
            there("exec sleep 600").rung(rung).within(Within::Host("renamed-since")).way(Way::Detached);
        let row = Row::new("the host is renamed and the supervisor killed", start, End::reaped()).may(DYING);
        rows.push(
            row.then(Step::Signal(Whom::Command, STOP))
                .then(Step::Signal(Whom::Supervisor, KILL))
                .then(Step::AwaitSupervisorsEnd)
                .then(Step::Ask(&["reap"])),
        );
        let start = there("exec sleep 600").rung(rung).way(Way::Detached).with(&["--grace", "300ms"]);
        let end = End::cancelled("run.cancelled.operator");
        let row = Row::new("a stop from a pid namespace signals nobody there", start, end);
        let stopping = Alive::WORKING.phase(&["starting", "working", "stopping", "draining"]);
        rows.push(row.may(stopping).does(stop_from_elsewhere).then(Step::Ask(&["stop", "{}"])));
        rows.push(container_dies(rung));
    }
    rows
}

const STOP: i32 = 19;

/// What somebody elsewhere may say; and whoever reaps there ends nothing.
fn seen_from(play: &Play<'_>, within: Within, allowed: &[&str]) -> Result<()> {
    surfaces::until_said(play, &Said::state("running"))?;
    let view = surfaces::seen_from(play.place, within, &play.id()?)?;
    let health = view["state"]["health"].as_str().unwrap_or_default();
    ensure!(allowed.contains(&health), "from {within:?} it is {}", view["chain"]);
    ensure!(view["ended_at"].is_null(), "from {within:?} it has ended: {}", view["chain"]);
    let output = start::from(&play.place.board, within, &["reap", "--json"]).output()?;
    let reaped: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let items = reaped["items"].as_array().into_iter().flatten();
    let id = play.id()?;
    let own =
        items.clone().find(|item| item["id"] == id.as_str()).context("the reaper did not look at it")?;
    ensure!(own["act"] == "left_alone", "a reaper in {within:?} says {own}");
    lives(play)
}

fn lives(play: &Play<'_>) -> Result<()> {
    let supervisor = play.pid(Whom::Supervisor)?;
    let state = play::state_of(supervisor);
    ensure!(!matches!(state, None | Some('Z')), "its supervisor was ended");
    Ok(())
}

fn from_pid_namespace(play: &Play<'_>) -> Result<()> {
    seen_from(play, Within::PidNamespace, &["unknown"])
}

/// Another boot id is no sign that this machine was restarted.
fn from_sandbox(play: &Play<'_>) -> Result<()> {
    seen_from(play, Within::Sandbox, &["unknown"])
}

fn from_time_namespace(play: &Play<'_>) -> Result<()> {
    seen_from(play, Within::TimeNamespace, &["unknown", "running"])
}

fn from_another_name(play: &Play<'_>) -> Result<()> {
    seen_from(play, Within::Host("another-name"), &["running"])
}

fn outlives_a_reaper(play: &Play<'_>) -> Result<()> {
    seen_from(play, Within::Here, &["running", "unknown"])
}

/// A wish that is written from where nobody can be seen signals nobody there.
fn stop_from_elsewhere(play: &Play<'_>) -> Result<()> {
    let id = play.id()?;
    let words = ["stop", "--no-wait", &id];
    let output = start::from(&play.place.board, Within::PidNamespace, &words).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "stop from elsewhere ended with {}: {said}", output.status);
    Ok(())
}

/// A container that is killed takes everything with it, and outside nobody can know.
fn container_dies(rung: Rung) -> Row {
    let start = there("exec sleep 600").rung(rung).within(Within::PidNamespace);
    // Alone, because the number of a namespace that is gone is given out again, and whoever is in the new one knows that.
    let mut row = Row::new("its pid namespace is killed", start, End::reaped()).may(UNSEEN).alone();
    row.end = None;
    row.then(Step::Only(UNSEEN.living())).does(|play| {
        let id = play.id()?;
        let all = crate::harness::program::holders(&play.token);
        // The first process of the namespace is the shell that waits for the supervisor.
        let first =
            all.iter().find(|holder| holder.words.starts_with("sh -c ") && holder.words.contains("exit $?"));
        play::put_down(first.with_context(|| format!("no namespace among {all:?}"))?.pid);
        play.wait_for_child()?;
        let gone =
            until(patience(), || crate::harness::program::holders(&play.token).is_empty().then_some(()))?;
        gone.context("somebody outlived the namespace")?;
        play.ask(&["reap"])?;
        let view = surfaces::inspected(play.place, &id)?;
        ensure!(view["state"]["health"] == "unknown", "nobody here can know that it is {}", view["chain"]);
        Ok(())
    })
}
