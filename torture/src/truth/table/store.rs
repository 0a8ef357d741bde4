//! Stores that fail at the end: the command's own code is passed on, and the end is recorded when the store is back.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::truth::play::Play;
use crate::truth::play::{patience, until};
use crate::truth::row::{End, RUNGS, Row, Way, gated};
use crate::truth::surfaces;

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for code in [0, 7] {
            let end = if code == 0 { End::completed() } else { End::exited(code) };
            let start = gated(&format!("exit {code}")).rung(rung);
            let row =
                Row::new(format!("the store is moved away and back, exit {code}"), start, end).alone().slow();
            rows.push(row.does(move |play| away_and_back(play, code)));
        }
        let start = gated("exit 7").rung(rung);
        let mut row = Row::new("the store is removed, exit 7", start, End::completed()).alone().slow();
        row.end = None;
        rows.push(row.does(removed));
    }
    let start = gated("exit 0").way(Way::Detached);
    let mut row = Row::new("another store takes its place under a server", start, End::completed()).alone();
    row.end = None;
    rows.push(row.does(replaced));
    let row = Row::free("a report that cannot be written is said before the start").does(|play| {
        let words = ["run", "--report", "nowhere/report.json", "--", "sh", "-c", ": > started"];
        let output = play.place.board.command(&words).current_dir(&play.dir).output()?;
        ensure!(!output.status.success(), "it ended with {}", output.status);
        ensure!(!play.path("started").exists(), "it was started");
        Ok(())
    });
    rows.push(row);
    let row = Row::free("a store that is replaced is not ready").alone().does(|play| {
        let ready = play.place.get("/readyz")?;
        ensure!(ready.status == 200, "it is not ready before: {} {}", ready.status, ready.text());
        files(play)?.iter().try_for_each(std::fs::remove_file)?;
        until(patience(), || play.place.get("/readyz").ok().filter(|reply| reply.status != 200))?
            .context("the store is gone, and the server says that it is ready")
            .map(drop)
    });
    rows.push(row);
    rows
}

/// The files of the store.
fn files(play: &Play<'_>) -> Result<Vec<PathBuf>> {
    let all = std::fs::read_dir(play.place.path())?.flatten().map(|entry| entry.path());
    let is_store = |path: &PathBuf| {
        path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name == "ledger.db" || name == "ledger.db-wal" || name == "ledger.db-shm"
        })
    };
    Ok(all.filter(is_store).collect())
}

fn away_and_back(play: &Play<'_>, code: i32) -> Result<()> {
    let id = play.id()?;
    let aside = play.path("aside");
    std::fs::create_dir(&aside)?;
    let files = files(play)?;
    let moved = |from: &PathBuf| aside.join(from.file_name().unwrap_or_default());
    for file in &files {
        std::fs::rename(file, moved(file))?;
    }
    play.go()?;
    let told = play.wait_for_child()?;
    for file in &files {
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
    files(play)?.iter().try_for_each(std::fs::remove_file)?;
    play.go()?;
    let told = play.wait_for_child()?;
    ensure!(told == 7, "the command exited with 7, and a shell is told {told}");
    Ok(())
}

/// A server whose store was replaced acknowledges nothing more and is not ready.
fn replaced(play: &Play<'_>) -> Result<()> {
    play.id()?;
    let files = files(play)?;
    let aside = play.path("aside");
    std::fs::create_dir(&aside)?;
    for file in &files {
        std::fs::rename(file, aside.join(file.file_name().unwrap_or_default()))?;
    }
    play.place
        .board
        .ask(&["create", "task", "--title", "in another store"])
        .map(drop)
        .or_else(|_| play.place.board.ask(&["ps"]).map(drop))?;
    let refused = until(patience(), || play.place.get("/readyz").ok().filter(|reply| reply.status != 200))?;
    play.go()?;
    refused.context("another store lies there, and the server says that it is ready").map(drop)
}
