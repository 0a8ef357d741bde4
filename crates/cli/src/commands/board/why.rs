//! `callboard why`: the state, the reasons for it, and what shows them, back to the beginning.
//!
//! Invariant: every record of the entity is told, newest first, whoever wrote it; what the judge says is told apart
//! from what is recorded. Deliberately absent: conclusions of its own.

use callboard_engine::View;
use callboard_kernel::{EntityId, NormalizedState, one_line};
use callboard_ledger::Record;
use callboard_lifecycle::{Kind, PhaseName, Words};
use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{Error, Exit};
use crate::input::moment::{absolute, detailed};
use crate::show::record_text::{Depth, detail, reason};
use crate::show::screen::Screen;
use crate::show::style::{of_tone, paint};
use crate::store::Store;
use crate::store::at_moment::MomentArgs;
use crate::store::sending::json;

/// Tell why an entity is in its state: its reasons and what shows them, newest first.
///
/// With --json, one document: the state as it is judged, then every record of the entity, newest first.
#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// Its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// Every fact that was recorded, too.
    #[arg(long)]
    facts: bool,
    #[command(flatten)]
    look: MomentArgs,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    id: EntityId,
    kind: Kind,
    title: Option<&'a str>,
    version: u64,
    chain: &'a str,
    state: &'a NormalizedState,
    records: Vec<Box<RawValue>>,
}

impl WhyArgs {
    /// Tells it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let look = self.look.open(store)?;
        let seen = look.entity(&self.id)?;
        let view = seen.view();
        let records = look.history(view.id)?;
        if self.json {
            screen.json(&document(&view, &records)?)?;
        } else {
            let depth = if self.facts { Depth::Facts } else { Depth::Reasons };
            screen.print(&text(screen, &view, &records, depth))?;
        }
        Ok(Exit::DONE)
    }
}

fn document<'a>(view: &'a View<'a>, records: &[Record]) -> Result<Document<'a>, Error> {
    let raw =
        |record: &Record| RawValue::from_string(json(record)?).map_err(|error| Error::Write(error.into()));
    Ok(Document {
        id: view.id,
        kind: view.kind,
        title: view.title,
        version: view.version,
        chain: &view.chain,
        state: &view.state,
        records: records.iter().map(raw).collect::<Result<_, _>>()?,
    })
}

fn text(screen: &Screen, view: &View<'_>, records: &[Record], depth: Depth) -> String {
    let now = view.state.evaluated_at;
    let mut text = screen.title(&one_line(view.name()));
    text += &(paint(of_tone(view.state.tone), &view.chain) + "\n");
    let noun = view.kind.machine().noun;
    text += &format!("{noun} {}, version {}, {}\n", view.id, view.version, view.state.severity.name());
    if let Some(phase) = view.state.phase.as_ref().filter(|phase| phase.name != PhaseName::Working) {
        let since = phase.since.map_or_else(String::new, |since| format!(" since {}", detailed(since, now)));
        let detail =
            phase.detail.as_ref().map_or_else(String::new, |detail| format!(": {}", one_line(detail)));
        text += &format!("{phase}{since}{detail}\n");
    }
    if let Some(health) = view.state.health
        && !view.judged().is_empty()
    {
        text += &format!("\njudged at {}: health is {}\n", absolute(now), health.name());
        text.extend(view.judged().iter().flat_map(reason).map(|said| screen.said(&said)));
    }
    for record in records.iter().filter(|record| depth == Depth::Facts || explains(record)) {
        text += &format!("\nrecord {}, {}\n", record.seq, detailed(record.at, now));
        text.extend(detail(record, depth).iter().map(|said| screen.said(said)));
    }
    if depth == Depth::Reasons {
        let hint = screen.hint(&format!("with its facts: callboard why {} --facts", view.id));
        text += if hint.is_empty() { "" } else { "\n" };
        text += &hint;
    }
    text
}

/// Does it move the entity or say something about it? Heartbeats and their kind do neither.
fn explains(record: &Record) -> bool {
    record.from_state != record.to_state || record.event().map_or(true, |event| !event.reasons.is_empty())
}
