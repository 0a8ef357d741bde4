//! `callboard task worktrees`: the worktrees that the crew made on this host, what is in each, and what becomes of it.
//!
//! Invariant: a worktree that cannot be read is listed with the reason, and the others are listed all the same. Deliberately absent: removing
//! one, which is the janitor's and the user's.

use std::path::Path;

use callboard_crew::{WorktreeContent, WorktreeFate, WorktreeReport, worktrees};
use callboard_kernel::{EntityId, fact, one_line};
use callboard_lifecycle::{Tone, Words};
use clap::Args;
use serde::Serialize;

use super::answer::observed;
use crate::error::{Error, Exit};
use crate::input::ids::Short;
use crate::show::screen::Screen;
use crate::show::style::of_tone;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;

/// List the git worktrees of tasks on this host: what is in each, and what becomes of it.
///
/// HOLDS is nothing, merged (its work is in the base branch), parked (a branch or a hidden ref holds it) or unsaved (only the worktree holds
/// it). A worktree is removed when its task is closed, unless something in it is unsaved.
#[derive(Args, Debug)]
pub(crate) struct WorktreesArgs {
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    items: Vec<Item<'a>>,
}

/// A worktree for programs; what is not known is null.
#[derive(Serialize)]
struct Item<'a> {
    task: EntityId,
    title: Option<&'a str>,
    state: Option<&'static str>,
    path: &'a Path,
    branch: &'a str,
    has_uncommitted: Option<bool>,
    content: Option<&'static str>,
    fate: &'static str,
    problem: Option<&'a str>,
}

impl WorktreesArgs {
    /// Lists them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_look()?;
        let all = worktrees(&ledger, &store.state_dir()?).map_err(Error::Ask)?;
        if self.json {
            screen.json(&Document { items: all.iter().map(item).collect() })?;
            return Ok(Exit::DONE);
        }
        if all.is_empty() {
            screen.print(&screen.prose(
                "No task has a worktree here. callboard work makes one for each task that it does.",
            ))?;
            return Ok(Exit::DONE);
        }
        let short = Short::among(all.iter().map(|one| one.id));
        let mut rows = Vec::new();
        for one in &all {
            rows.push(row(one, &short, state(&ledger, one)?));
        }
        let mut text = screen.table(&Table::new(COLUMNS, rows));
        if let Some(root) = all.first().and_then(|one| one.path.parent()) {
            text += &screen.hint(&format!("each is at {}/ID, on the branch callboard/ID", root.display()));
        }
        screen.print(&text)?;
        Ok(Exit::DONE)
    }
}

const COLUMNS: [Column; 8] = [
    Column::names("TASK", 9),
    Column::text("TITLE", 5, 12),
    Column::names("STATE", 6),
    Column::names("HOLDS", 8),
    Column::names("CHANGES", 4),
    Column::text("FATE", 7, 18),
    Column::names("PATH", 2),
    Column::names("BRANCH", 1),
];

/// How its task stands, as the other verbs show it.
fn state(ledger: &callboard_ledger::Ledger, one: &WorktreeReport) -> Result<Cell, Error> {
    if one.task.is_none() {
        return Ok(Cell::text("—"));
    }
    let seen = observed(ledger, one.id)?;
    let view = seen.view();
    Ok(Cell::styled(view.chain.as_str(), of_tone(view.state.tone)))
}

fn row(one: &WorktreeReport, short: &Short, state: Cell) -> [Cell; 8] {
    let tone = match one.fate {
        WorktreeFate::Stays | WorktreeFate::Unknown => Tone::Warning,
        WorktreeFate::UntilClosed | WorktreeFate::Removable => Tone::Neutral,
    };
    let changes = match one.has_uncommitted {
        Some(true) => "uncommitted",
        Some(false) => "",
        None => "—",
    };
    [
        Cell::text(short.of(one.id)),
        Cell::text(title(one).map_or_else(|| "—".to_owned(), one_line)),
        state,
        Cell::text(one.content.map_or("—", WorktreeContent::name)),
        Cell::text(changes),
        Cell::styled(fate(one), of_tone(tone)),
        Cell::text(one_line(&one.path.to_string_lossy())),
        Cell::text(one.branch.as_str()),
    ]
}

fn title(one: &WorktreeReport) -> Option<&str> {
    one.task.as_ref().and_then(|task| task.entity.facts.read(fact::TITLE))
}

/// What becomes of it, in words.
fn fate(one: &WorktreeReport) -> String {
    match one.fate {
        WorktreeFate::UntilClosed => "removed when closed".to_owned(),
        WorktreeFate::Removable => "callboard work removes it".to_owned(),
        WorktreeFate::Stays => "stays; save its work".to_owned(),
        WorktreeFate::Unknown => one.problem.as_deref().map_or_else(|| "unknown".to_owned(), one_line),
    }
}

fn item(one: &WorktreeReport) -> Item<'_> {
    let state = one.task.as_ref().and_then(|task| task.entity.state.lifecycle);
    Item {
        task: one.id,
        title: title(one),
        state: state.map(|state| state.name()),
        path: &one.path,
        branch: &one.branch,
        has_uncommitted: one.has_uncommitted,
        content: one.content.map(WorktreeContent::name),
        fate: one.fate.name(),
        problem: one.problem.as_deref(),
    }
}
