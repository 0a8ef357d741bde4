//! Everybody who can be asked about a run: the command line, the server, the feed, and somebody in another namespace.
//!
//! Invariant: where two are asked about the same thing, they have to say the same. Deliberately absent: what is true.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::place::Place;
use super::play::{self, Play};
use super::row::{Said, Within};
use super::start;
use crate::runs::truth::play::{patience, until};

/// The run as the server shows it.
pub(crate) fn served(place: &Place, id: &str) -> Result<Value> {
    place.get(&format!("/api/v1/entities/{id}"))?.ok()
}

/// The run as `inspect` shows it.
pub(crate) fn inspected(place: &Place, id: &str) -> Result<Value> {
    place.board.json(&["inspect", id, "--json"])
}

/// The run as `ps` lists it.
pub(crate) fn listed(place: &Place, id: &str) -> Result<Value> {
    let all = place.board.json(&["ps", "session", "--all", "--limit", "0", "--json"])?;
    let items = all["items"].as_array().into_iter().flatten();
    items.clone().find(|view| view["id"] == id).cloned().with_context(|| format!("ps does not list {id}"))
}

/// The run as somebody elsewhere sees it.
pub(crate) fn seen_from(place: &Place, within: Within, id: &str) -> Result<Value> {
    let output = start::from(&place.board, within, &["inspect", id, "--json"]).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "inspect from elsewhere ended with {}: {said}", output.status);
    serde_json::from_slice(&output.stdout).context("inspect wrote something that is no JSON")
}

/// Waits until the command line and the server say this of the run.
pub(crate) fn until_said(play: &Play<'_>, said: &Said) -> Result<()> {
    let id = play.id()?;
    type Ask = fn(&Place, &str) -> Result<Value>;
    let surfaces: [(&str, Ask); 3] = [("the server", served), ("inspect", inspected), ("ps", listed)];
    for (name, ask) in surfaces.into_iter().skip(usize::from(play.is_blind())) {
        let mut last = None;
        let heard = until(patience(), || {
            let outcome = ask(play.place, &id).and_then(|view| play::says(&view, said));
            last = Some(outcome);
            last.as_ref().is_some_and(Result::is_ok).then_some(())
        })?;
        if heard.is_none()
            && let Some(Err(error)) = last
        {
            return Err(error.context(format!("{name} does not say {said:?}")));
        }
    }
    Ok(())
}

/// Where two views of the same run differ, apart from the moment of judging and what only one of them has.
pub(crate) fn difference(one: &Value, other: &Value) -> Option<String> {
    let mut found = Vec::new();
    differ(one, other, "", &mut found);
    (!found.is_empty()).then(|| found.join(", "))
}

fn differ(one: &Value, other: &Value, at: &str, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) => {
            for (name, value) in fields {
                let is_moment = name == "evaluated_at";
                if let Some(other) = others.get(name).filter(|_| !is_moment) {
                    differ(value, other, &format!("{at}/{name}"), found);
                }
            }
        }
        _ if one == other => {}
        _ => found.push(format!("{at} is {one} and {other}")),
    }
}
