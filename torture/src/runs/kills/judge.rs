//! What must hold after a batch: of each run, of the log, and of the host.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Figures;
use super::batch::{History, Run};
use super::cast::{Moment, Rival};
use crate::harness::program::{Board, groups, holders};

const TERMINAL: [&str; 5] = ["completed", "failed", "timed_out", "aborted", "cancelled"];
const STOPPED: &str = "run.cancelled.operator";

/// Judges everything.
pub(super) fn all(board: &Board, history: &History, figures: &mut Figures) -> Result<()> {
    let lines = board.events()?;
    if !lines.starts_with(&history.seen) {
        bail!("{} records were seen, and the log does not begin with them", history.seen.len());
    }
    figures.seen += history.seen.len() as u64;
    let records: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).context("a record that is no JSON"))
        .collect::<Result<_>>()?;
    let mut ids = Vec::new();
    for run in &history.runs {
        ids.extend(one(run, &records, figures).with_context(|| told(run))?);
    }
    let misnamed = history.misnamed.to_string();
    ended(&misnamed, &records).context("the run whose supervisor's pid belongs to somebody else")?;
    let spared = ended(&history.bystander, &records).context("the run that nobody touched")?;
    if spared["reasons"][0]["code"] != STOPPED {
        bail!("the run that nobody touched was ended before it was stopped: {spared}");
    }
    if !history.stranger_lives {
        bail!("the stranger with the supervisor's pid was ended");
    }
    nobody_left(history)?;
    ids.extend([misnamed, history.bystander.clone()]);
    if let Some(group) = groups(&ids).first() {
        bail!("the control group {} is left", group.display());
    }
    board.ask(&["verify"])?;
    let again = board.json(&["reap", "--json"])?;
    if again["ended"] != 0 || board.events()? != lines {
        bail!("another reap changed something: {again}");
    }
    Ok(())
}

fn told(run: &Run) -> String {
    let Run { part, is_hit, code } = run;
    let how = if part.is_detached { "detached" } else { "in the foreground" };
    format!(
        "{} ({:?}), {how}, {:?}, {:?}, hit: {is_hit}, exit code: {code:?}",
        part.token, part.act.name, part.moment, part.rival
    )
}

/// Judges one run; its id, if it was recorded.
fn one(run: &Run, records: &[Value], figures: &mut Figures) -> Result<Option<String>> {
    figures.killed += u64::from(run.is_hit);
    let created = records.iter().find(|record| record["data"]["title"] == run.part.token.as_str());
    let Some(created) = created else {
        if !run.is_hit {
            bail!("it was not recorded, and nobody killed its supervisor");
        }
        figures.unrecorded += 1;
        return Ok(None);
    };
    let id = created["entity"]["id"].as_str().context("a record without an id")?.to_owned();
    let end = ended(&id, records)?;
    let code = end["reasons"][0]["code"].as_str().unwrap_or_default();
    if code.starts_with("system.health.") {
        if !run.is_hit {
            bail!("it ended with {code}, and nobody killed its supervisor");
        }
        figures.reaped[usize::from(end["from"] != "pending")] += 1;
        let left = end["data"]["leftovers"].as_u64();
        if left != Some(0) {
            bail!("the reaper says that {left:?} of its processes are left");
        }
        figures.with_leftovers += u64::from(end["reasons"][0].to_string().contains("were ended"));
        return Ok(Some(id));
    }
    figures.in_time += u64::from(run.is_hit);
    let may_be_stopped = run.part.rival == Rival::Stopper
        || (run.part.act.ends.is_none() && matches!(run.part.moment, Moment::Ending { .. }));
    if Some(code) != run.part.act.ends && !(code == STOPPED && may_be_stopped) {
        bail!("it ended with {code}, and its own end is {:?}", run.part.act.ends);
    }
    match (run.code, end["data"]["shell_code"].as_i64()) {
        (Some(said), Some(recorded)) if i64::from(said) != recorded => {
            bail!("its supervisor ended with {said}, and {recorded} is recorded")
        }
        _ => Ok(Some(id)),
    }
}

/// The one record that ended it.
fn ended<'a>(id: &str, records: &'a [Value]) -> Result<&'a Value> {
    let is_end = |record: &&Value| {
        record["entity"]["id"] == id
            && record["type"] == "transitioned"
            && TERMINAL.iter().any(|state| record["to"] == *state)
    };
    let ends: Vec<&Value> = records.iter().filter(is_end).collect();
    match ends[..] {
        [end] => Ok(end),
        [] => bail!("{id} has not ended"),
        _ => bail!("{id} ended {} times", ends.len()),
    }
}

fn nobody_left(history: &History) -> Result<()> {
    for run in &history.runs {
        if let Some(holder) = holders(&run.part.token).first() {
            bail!("{}: {} lives: {}", told(run), holder.pid, holder.words);
        }
    }
    Ok(())
}
