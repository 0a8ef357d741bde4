//! Holds the end that every surface shows against the one that is true.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::play::Play;
use super::row::{End, How};
use super::surfaces::{difference, inspected, served};
use crate::runs::truth::play::{patience, until};

/// Asks everybody about the end of the run, and of the one inside of it.
pub(crate) fn end(play: &Play<'_>, end: &End) -> Result<()> {
    let id = play.id()?;
    one(play, &id, end)?;
    if let Some(expected) = end.exit {
        let told = play.exit_code(&id)?;
        ensure!(told == expected, "a shell is told {told} and not {expected}");
    }
    if let Some(inner) = &play.row.inner {
        let id = play.id_titled(&format!("{}-inner", play.token))?;
        one(play, &id, inner).context("the inner run")?;
    }
    Ok(())
}

fn one(play: &Play<'_>, id: &str, end: &End) -> Result<()> {
    let place = play.place;
    let ended = until(patience(), || served(place, id).ok().filter(|view| !view["ended_at"].is_null()))?;
    let view = match ended {
        Some(view) => view,
        None => anyhow::bail!("it has not ended: {}", served(place, id)?),
    };
    state(&view, end)?;
    let other = inspected(place, id)?;
    let difference = difference(&view, &other);
    ensure!(difference.is_none(), "the server and inspect disagree: {}", difference.unwrap_or_default());
    facts(&view, end)?;
    let record = until(patience(), || place.end_of(id))?.context("the feed does not tell of its end")?;
    let told = (&record["to"], &record["reasons"][0]["code"]);
    let shown = (&view["state"]["lifecycle"], &view["state"]["reasons"][0]["code"]);
    ensure!(told == shown, "the feed tells {told:?}, the server {shown:?}");
    words(play, id, &view, end)
}

/// State, reason and health of a run that has ended.
pub(crate) fn state(view: &Value, end: &End) -> Result<()> {
    let state = &view["state"];
    let because = &state["reasons"][0];
    let told = || format!("{}: {}", view["chain"], because);
    ensure!(state["lifecycle"] == end.state, "{} instead of {}: {}", state["lifecycle"], end.state, told());
    let is_true = end.codes.iter().any(|code| because["code"] == *code);
    ensure!(is_true, "{} instead of {:?}: {}", because["code"], end.codes, told());
    let health = state["health"].as_str().unwrap_or_default();
    ensure!(end.health.contains(&health), "health is {health:?} instead of {:?}: {}", end.health, told());
    Ok(())
}

fn facts(view: &Value, end: &End) -> Result<()> {
    let exit = &view["exit"];
    match end.how {
        None => {}
        Some(How::Code(code)) => {
            ensure!(exit["code"] == code && exit["signal"].is_null(), "exited with {code}, not {exit}");
        }
        Some(How::Signal(signal)) => {
            ensure!(
                exit["signal"] == signal && exit["code"].is_null(),
                "ended by signal {signal}, not {exit}"
            );
        }
        Some(How::Unknown) => {
            ensure!(exit["code"].is_null() && exit["signal"].is_null(), "nobody can know {exit}");
        }
    }
    for (pointer, expected) in &end.facts {
        let found = view.pointer(pointer).unwrap_or(&Value::Null);
        ensure!(found == expected, "{pointer} is {found} and not {expected}");
    }
    Ok(())
}

/// What is said in words, by `why` and by the closing line.
fn words(play: &Play<'_>, id: &str, view: &Value, end: &End) -> Result<()> {
    let why = play.place.board.ask(&["why", id])?;
    let closing = std::fs::read_to_string(play.path("stderr")).unwrap_or_default();
    // The closing line names its run by the beginning of the id; there may be one of another run.
    let is_own = |line: &&str| {
        let named = line.split_once("callboard why ").map(|(_, rest)| rest.trim_end_matches([')', ' ']));
        named.is_some_and(|short| id.starts_with(short))
    };
    let closing: Vec<&str> = closing.lines().filter(is_own).collect();
    let text = format!("{}\n{}\n{why}", closing.join("\n"), view["state"]["reasons"]);
    if let Some(missing) = end.says.iter().find(|word| !text.contains(**word)) {
        anyhow::bail!("{missing:?} is not said: {text}");
    }
    if let Some(word) = end.never.iter().find(|word| text.contains(**word)) {
        anyhow::bail!("{word:?} is said: {text}");
    }
    Ok(())
}
