//! `callboard task show`: the whole story of one task.
//!
//! Invariant: everything is read from records; what is not recorded is left out of the text and null in JSON. A priority or scope that is the
//! default is left out of the text too.

use callboard_engine::tasks::{Signal, TaskStory, bound_told, lease, story};
use callboard_engine::{Observed, View};
use callboard_kernel::task::{self, Dependency, Scope};
use callboard_kernel::{Facts, Moment, RETRIES_MAX, fact, one_line};
use callboard_ledger::{LeaseSeen, Ledger};
use callboard_lifecycle::Words;
use clap::Args;
use serde::Serialize;

use super::answer::{observed, task_id};
use super::timeline::timeline;
use crate::error::{Error, Exit};
use crate::input::moment::{absolute, detailed};
use crate::show::record_text::{pairs, reason};
use crate::show::screen::Screen;
use crate::show::style::{of_tone, paint};
use crate::store::Store;

/// Show the whole story of a task: what it is, where it stands and why, what moves it on, and what happened.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID")]
    id: String,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    view: &'a View<'a>,
    #[serde(flatten)]
    story: &'a TaskStory,
}

impl ShowArgs {
    /// Shows it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_look()?;
        let id = task_id(&ledger, &self.id)?;
        let seen = observed(&ledger, id)?;
        let (view, story) = (seen.view(), story(&ledger, &seen.stored).map_err(Error::Ask)?);
        if self.json {
            screen.json(&Document { view: &view, story: &story })?;
            return Ok(Exit::DONE);
        }
        let lease = lease(&ledger, id).map_err(Error::Ask)?;
        let held = held_by(&ledger, &seen.stored.entity.facts, lease.as_ref())?;
        screen.print(&text(screen, &seen, &view, &story, held))?;
        Ok(Exit::DONE)
    }
}

fn text(
    screen: &Screen,
    seen: &Observed,
    view: &View<'_>,
    story: &TaskStory,
    held: Option<String>,
) -> String {
    let facts = &seen.stored.entity.facts;
    let mut text = screen.title(&one_line(view.name()));
    text += &(paint(of_tone(view.state.tone), &view.chain) + "\n");
    for said in view.state.reasons.iter().flat_map(reason) {
        text += &screen.said(&said);
    }
    text += &screen.prose(&format!("next: {}", one_line(&story.next_move)));
    text.push('\n');
    let mut properties = place(view, facts);
    properties.extend(standing(view, facts, story, held));
    text += &screen.properties(&properties);
    if let Some(prompt) = facts.read(fact::PROMPT).filter(|prompt| view.title != Some(*prompt)) {
        text += &format!("\n{}", screen.title("Prompt"));
        text += &prompt.lines().map(|line| screen.prose(&one_line(line))).collect::<String>();
    }
    let happened = timeline(screen, story);
    if !happened.is_empty() {
        text += &format!("\n{}{happened}", screen.title("What happened"));
    }
    text
}

/// What it is, and where it is worked on.
fn place(view: &View<'_>, facts: &Facts) -> Vec<(String, Vec<String>)> {
    let text = |name| facts.read(name).map(one_line).into_iter().collect::<Vec<_>>();
    let scope = facts.read(fact::SCOPE).filter(|scope| *scope != Scope::Medium.name());
    let priority = facts.read(fact::PRIORITY).filter(|priority| *priority != task::PRIORITY);
    let timeout = view
        .timeout
        .configured_s
        .as_ref()
        .map(|seconds| format!("{}s", crate::show::record_text::typed(seconds)));
    let checks = Signal::all(facts).map_or_else(
        |problem| vec![problem],
        |signals| signals.iter().map(|signal| one_line(&signal.told())).collect(),
    );
    let files = task::files(facts).iter().map(|path| one_line(path)).collect();
    let depends_on = task::dependencies(facts, fact::DEPENDS_ON);
    let approval = facts.read(fact::APPROVAL) == Some(true);
    named([
        ("id", vec![view.id.to_string()]),
        ("role", text(fact::ROLE)),
        ("priority", priority.iter().map(ToString::to_string).collect()),
        ("scope", scope.map(one_line).into_iter().collect()),
        ("timeout", timeout.into_iter().collect()),
        ("bound", bound_told(facts).into_iter().collect()),
        ("labels", pairs(view.labels)),
        ("repository", text(fact::REPO)),
        ("base", text(fact::BASE)),
        ("files", files),
        ("depends on", depends_on.iter().map(|one| one_line(&one.told())).collect()),
        ("checks", checks),
        ("delivered by", text(fact::DELIVER)),
        ("approval", approval.then(|| "a person approves the result".to_owned()).into_iter().collect()),
        ("plan", text(fact::PLAN)),
        ("part of", text(fact::PARENT)),
    ])
}

/// Who holds it, and until when.
fn held_by(ledger: &Ledger, facts: &Facts, lease: Option<&LeaseSeen>) -> Result<Option<String>, Error> {
    let Some(holder) = facts.read(fact::LEASE_HOLDER) else { return Ok(None) };
    let until = match lease {
        Some(seen) => format!("until {}", absolute(seen.lease.until)),
        None => "its lease has ended".to_owned(),
    };
    let worker = holder.parse().ok().map(|id| ledger.entity(id)).transpose().map_err(Error::Ask)?.flatten();
    let name = worker.as_ref().and_then(|worker| worker.entity.facts.read(fact::TITLE));
    let name = name.map_or_else(String::new, |name| format!("{}, ", one_line(name)));
    Ok(Some(format!("{name}{}, {until}", one_line(holder))))
}

/// How it stands.
fn standing(
    view: &View<'_>,
    facts: &Facts,
    story: &TaskStory,
    held: Option<String>,
) -> Vec<(String, Vec<String>)> {
    let now = view.state.evaluated_at;
    let text = |name| facts.read(name).map(one_line).into_iter().collect::<Vec<_>>();
    let time = |at: Option<Moment>| at.map(|at| detailed(at, now)).into_iter().collect::<Vec<_>>();
    let unmet = task::dependencies(facts, fact::UNMET);
    let retries = facts
        .read(fact::RETRIES)
        .map(|used| format!("{used} of {}", facts.read(fact::RETRIES_MAX).unwrap_or(RETRIES_MAX)));
    named([
        ("waits for", unmet.iter().map(|one: &Dependency| one_line(&one.told())).collect()),
        ("held by", held.into_iter().collect()),
        ("progress", text(fact::PROGRESS)),
        ("retries", retries.into_iter().collect()),
        ("last error", text(fact::LAST_ERROR)),
        ("summary", text(fact::SUMMARY)),
        ("subtasks", story.subtasks.iter().map(ToString::to_string).collect()),
        ("added", time(view.created_at)),
        ("ended", time(view.ended_at)),
        ("why", vec![format!("callboard why {}", view.id)]),
    ])
}

fn named<const N: usize>(all: [(&str, Vec<String>); N]) -> Vec<(String, Vec<String>)> {
    all.into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
}
