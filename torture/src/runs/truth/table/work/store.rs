//! Stores that fail: the command's own code is passed on, the end is recorded when the store is back, a store that is not
//! the one that was opened takes nothing more, and a backup is laid over nothing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::harness::program::{self, TOKEN};
use crate::runs::truth::play::{Play, patience, put_down, says, until};
use crate::runs::truth::row::{End, RUNGS, Row, Rung, Said, Start, Way, gated};
use crate::runs::truth::surfaces;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for code in [0, 7] {
            let end = if code == 0 { End::completed() } else { End::exited(code) };
            let start = gated(&format!("exit {code}")).rung(rung);
            let row = Row::new(format!("the store is moved away and back, exit {code}"), start, end);
            rows.push(row.alone().slow().shows().does(move |play| away_and_back(play, code)));
        }
        let start = gated("exit 7").rung(rung);
        rows.push(without_end("the store is removed, exit 7", start).slow().does(removed));
        rows.push(full(rung));
        let start = gated("exit 7").way(Way::Detached).rung(rung);
        let row = Row::new("the command exits while somebody holds the store", start, End::exited(7));
        rows.push(row.alone().does(exits_behind_a_lock));
    }
    let start = gated("exit 0").way(Way::Detached);
    rows.push(without_end("another store takes its place under a server", start).does(replaced));
    let row = Row::free("a report that cannot be written is said before the start").does(|play| {
        let words = ["run", "--report", "nowhere/report.json", "--", "sh", "-c", ": > started"];
        let output = play.place.board.command(&words).current_dir(&play.dir).output()?;
        ensure!(!output.status.success(), "it ended with {}", output.status);
        ensure!(!play.path("started").exists(), "it was started");
        Ok(())
    });
    rows.push(row);
    let row = Row::free("a store that was removed is not ready").alone().does(|play| {
        let ready = play.place.get("/readyz")?;
        ensure!(ready.status == 200, "it is not ready before: {} {}", ready.status, ready.text());
        files(play).iter().try_for_each(std::fs::remove_file)?;
        not_ready(play).context("the store is gone")
    });
    rows.push(row);
    rows.push(Row::free("a backup is laid over nothing").does(restored));
    rows.push(Row::free("a supervisor dies before its first record").alone().does(unrecorded));
    rows
}

/// A run whose end cannot be told, because its store is not there.
fn without_end(name: &str, start: Start) -> Row {
    Row { end: None, ..Row::new(name, start, End::completed()).alone() }
}

/// The files of the store, the database first: whoever opened it without its log would begin another one.
fn files(play: &Play<'_>) -> Vec<PathBuf> {
    let names = ["ledger.db", "ledger.db-wal", "ledger.db-shm"];
    names.iter().map(|name| play.place.path().join(name)).filter(|path| path.exists()).collect()
}

/// The server says that it is not ready.
fn not_ready(play: &Play<'_>) -> Result<()> {
    let refused = until(patience(), || play.place.get("/readyz").ok().filter(|reply| reply.status != 200))?;
    refused.context("the server says that it is ready").map(drop)
}

fn away_and_back(play: &Play<'_>, code: i32) -> Result<()> {
    let id = play.id()?;
    let aside = play.path("aside");
    std::fs::create_dir(&aside)?;
    let files = files(play);
    let moved = |from: &PathBuf| aside.join(from.file_name().unwrap_or_default());
    for file in &files {
        std::fs::rename(file, moved(file))?;
    }
    play.go()?;
    let told = play.wait_for_child()?;
    for file in files.iter().rev() {
        std::fs::rename(moved(file), file)?;
    }
    ensure!(told == code, "the command exited with {code}, and a shell is told {told}");
    let ended = until(patience(), || {
        surfaces::inspected(play.place, &id).ok().filter(|view| !view["ended_at"].is_null())
    })?;
    ended.context("the store is back, and nobody records the end").map(drop)
}

fn removed(play: &Play<'_>) -> Result<()> {
    play.id()?;
    files(play).iter().try_for_each(std::fs::remove_file)?;
    play.go()?;
    let told = play.wait_for_child()?;
    ensure!(told == 7, "the command exited with 7, and a shell is told {told}");
    Ok(())
}

/// A server whose store was replaced takes nothing more and is not ready.
fn replaced(play: &Play<'_>) -> Result<()> {
    let id = play.id()?;
    let other = play.path("other.db");
    let made = store(play, &other, &["create", "task", "--title", "in another store"])?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for file in files(play) {
        std::fs::rename(&file, play.path("aside").with_extension(file.extension().unwrap_or_default()))?;
    }
    std::fs::rename(&other, play.place.path().join("ledger.db"))?;
    let reply =
        play.place.post(&format!("/api/v1/entities/{id}/notes"), "{\"text\":\"to the wrong store\"}")?;
    ensure!(reply.status >= 400, "a note for a store that is not there was taken with {}", reply.status);
    play.go()?;
    not_ready(play).context("another store lies there")
}

/// Callboard on another store.
fn store(play: &Play<'_>, path: &Path, words: &[&str]) -> Result<std::process::Output> {
    Ok(play.place.board.command(words).env("CALLBOARD_STORE", path).output()?)
}

/// A disk that is full when the command ends and has room again later, in a mount namespace of its own.
const FULL: &str = "mkdir disk && mount -t tmpfs -o size=16m none disk && cd disk && mkfifo go || exit 70; \
                    export CALLBOARD_STORE=$PWD/s.db; \
                    \"$CALLBOARD\" run --title full -- sh -c 'read _ < go; exit 7' 2> told & \
                    n=0; until \"$CALLBOARD\" ps 2> /dev/null | grep -q Running; do \
                    n=$((n+1)); [ $n -lt 600 ] || exit 71; sleep 0.1; done; \
                    cat /dev/zero > fill 2> /dev/null; echo go > go; wait $!; code=$?; rm fill; \
                    \"$CALLBOARD\" ps --all --json > ../after; exit $code";

fn full(rung: Rung) -> Row {
    let hides = if rung == Rung::Tree { "mount -t tmpfs -o ro none /sys/fs/cgroup || exit 70; " } else { "" };
    let name = format!("the disk is full at the end, exit 7, {rung:?}");
    Row::free(name).slow().does(move |play| {
        let script = format!("{hides}{FULL}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).current_dir(&play.dir);
        let board = &play.place.board;
        let status = command.env(TOKEN, &play.token).env("CALLBOARD", board.program()).status()?;
        ensure!(status.code() == Some(7), "the command exited with 7, and a shell is told {status}");
        let after: Value = serde_json::from_slice(&std::fs::read(play.path("after"))?)?;
        let run = &after["items"][0];
        let (state, exit) = (&run["state"]["lifecycle"], &run["exit"]["code"]);
        ensure!(state == "failed" && exit == 7, "with room again it is called {}: {exit}", run["chain"]);
        Ok(())
    })
}

/// A backup is refused while a store lies there, and is the store where none does.
fn restored(play: &Play<'_>) -> Result<()> {
    let (own, backup) = (play.path("own.db"), play.path("backup.db"));
    let backup_word = backup.to_string_lossy().into_owned();
    let ran = |words: &[&str]| -> Result<bool> { Ok(store(play, &own, words)?.status.success()) };
    let tasks = || -> Result<usize> {
        let listed: Value = serde_json::from_slice(&store(play, &own, &["ps", "--all", "--json"])?.stdout)?;
        Ok(listed["items"].as_array().map_or(0, Vec::len))
    };
    ensure!(ran(&["create", "task", "--title", "before the backup"])?, "no task is made");
    ensure!(ran(&["store", "backup", &backup_word])?, "no backup is made");
    ensure!(ran(&["create", "task", "--title", "after the backup"])?, "no task is made");
    ensure!(!ran(&["store", "restore", &backup_word])?, "a backup was laid over a store");
    ensure!(tasks()? == 2, "a backup that was refused changed the store: {} tasks", tasks()?);
    let aside = play.path("aside");
    std::fs::create_dir(&aside)?;
    for file in std::fs::read_dir(&play.dir)?.flatten() {
        if file.file_name().to_string_lossy().starts_with("own.db") {
            std::fs::rename(file.path(), aside.join(file.file_name()))?;
        }
    }
    ensure!(ran(&["store", "restore", &backup_word])?, "the backup cannot be restored");
    ensure!(tasks()? == 1 && ran(&["verify"])?, "the store is not what was backed up: {} tasks", tasks()?);
    Ok(())
}

/// A command whose exit cannot be recorded has ended all the same. The lock is let go before its supervisor gives up.
fn exits_behind_a_lock(play: &Play<'_>) -> Result<()> {
    let lock = rusqlite::Connection::open(play.place.path().join("ledger.db"))?;
    lock.busy_timeout(patience())?;
    surfaces::until_said(play, &Said::phase("working"))?;
    lock.execute_batch("BEGIN IMMEDIATE")?;
    play.go()?;
    let id = play.id()?;
    let told = until(patience(), || {
        let view = surfaces::served(play.place, &id).ok()?;
        says(&view, &Said::phase("draining")).ok()
    })?;
    lock.execute_batch("ROLLBACK")?;
    told.context("its command has ended, and the server does not say so")
}

/// A supervisor that is killed while it waits to write its first record leaves nothing for ever.
fn unrecorded(play: &Play<'_>) -> Result<()> {
    let store = play.place.path().join("ledger.db");
    let runs = play.place.path().join("runs");
    let directories = || std::fs::read_dir(&runs).into_iter().flatten().flatten().map(|entry| entry.path());
    let lock = rusqlite::Connection::open(&store)?;
    lock.execute_batch("BEGIN IMMEDIATE")?;
    let mut command = play.place.board.command(&["run", "--title", &play.token, "--", "true"]);
    command.env(TOKEN, &play.token).current_dir(&play.dir);
    let mut child = program::start(command)?;
    let signed = until(patience(), || directories().find(|path| path.join("supervisor").exists()))?;
    put_down(child.id());
    child.wait()?;
    lock.execute_batch("ROLLBACK")?;
    let left = signed.context("no directory was made before the first record")?;
    // Younger ones may belong to a record that is being written.
    let age = Duration::from_secs(120);
    let aged =
        Command::new("touch").args(["-d", &format!("{} seconds ago", age.as_secs())]).arg(&left).status()?;
    ensure!(aged.success(), "touch ended with {aged}");
    play.place.board.ask(&["reap"])?;
    ensure!(!left.exists(), "{} is left", left.display());
    let id = left.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let groups = program::groups(&[id]);
    ensure!(groups.is_empty(), "control groups are left: {groups:?}");
    Ok(())
}
