//! `callboard board`: the tasks in columns by state.
//!
//! Invariant: no line is wider than the screen; what does not fit is cut, and a column that has no room beside the others stands below
//! them. Deliberately absent: deciding anything; the verbs of `callboard task` do that.

use std::collections::HashMap;
use std::path::PathBuf;

use callboard_engine::{Observed, View};
use callboard_kernel::{Facts, fact, one_line, task};
use callboard_ledger::Ledger;
use callboard_lifecycle::Token;
use callboard_lifecycle::task::TaskState;
use clap::Args;
use serde::Serialize;

use super::add::repo;
use super::answer::moved_on_by;
use super::listing::{Wanted, count, worker_names};
use crate::error::{Error, Exit};
use crate::input::ids::Short;
use crate::input::moment::age_of;
use crate::input::word::{Reading, pair};
use crate::show::columns::{Card, Column, render};
use crate::show::live::{Frame, watch};
use crate::show::screen::Screen;
use crate::show::style::of_token;
use crate::store::Store;

/// How many cards of a column are shown; the list of tasks shows all.
const CARDS_MAX: usize = 12;
/// The prefix of an id, which the verbs of tasks do not need.
const PREFIX: usize = 4;

/// Show the tasks in columns by state.
///
/// What is closed or cancelled is counted. The verbs of callboard task take an id as it is shown here.
#[derive(Args, Debug)]
pub(crate) struct BoardArgs {
    /// For this role.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// With this label. May be given several times.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = Reading(pair))]
    labels: Vec<(String, String)>,
    /// Of this git repository.
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Show it again whenever it changes, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
    /// One JSON document; with --watch, one a line.
    #[arg(long)]
    json: bool,
}

/// A column of the board.
struct Group {
    name: &'static str,
    title: &'static str,
    token: Token,
    states: &'static [TaskState],
}

const GROUPS: [Group; 6] = [
    Group { name: "planned", title: "Planned", token: Token::Review, states: &[TaskState::Planned] },
    Group { name: "open", title: "Open", token: Token::Neutral, states: &[TaskState::Open] },
    Group {
        name: "working",
        title: "Working",
        token: Token::Running,
        states: &[TaskState::Claimed, TaskState::InProgress],
    },
    Group {
        name: "review",
        title: "Review",
        token: Token::Review,
        states: &[TaskState::Done, TaskState::PendingApproval],
    },
    Group {
        name: "blocked",
        title: "Blocked",
        token: Token::Warning,
        states: &[TaskState::Blocked, TaskState::WaitingForSubtasks, TaskState::Orphaned],
    },
    Group { name: "failed", title: "Failed", token: Token::Error, states: &[TaskState::Failed] },
];

#[derive(Serialize)]
struct Document<'a> {
    columns: Vec<ColumnShown<'a>>,
    closed: u64,
    cancelled: u64,
}

#[derive(Serialize)]
struct ColumnShown<'a> {
    name: &'static str,
    count: usize,
    items: Vec<View<'a>>,
}

impl BoardArgs {
    /// Shows it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_look()?;
        let wanted = Wanted {
            states: Vec::new(),
            role: self.role.clone(),
            labels: self.labels.clone(),
            repo: self.repo.as_deref().map(|path| repo(Some(path))).transpose()?.flatten(),
            all: false,
        };
        if self.watch {
            return watch(screen, &ledger, self.json, &mut |screen| self.frame(screen, &ledger, &wanted));
        }
        let frame = self.frame(screen, &ledger, &wanted)?;
        match self.json {
            true => screen.data_text(&frame.text)?,
            false => screen.print(&frame.text)?,
        }
        Ok(Exit::DONE)
    }

    fn frame(&self, screen: &Screen, ledger: &Ledger, wanted: &Wanted) -> Result<Frame, Error> {
        let mut seen = wanted.read(ledger)?;
        seen.sort_by_cached_key(|seen| {
            let priority = seen.stored.entity.facts.read(fact::PRIORITY);
            (priority.unwrap_or(task::PRIORITY), seen.stored.entity.state.id)
        });
        let [closed, cancelled] = over(ledger, wanted)?;
        let line = |seen: &Observed| {
            format!("{} {}\n", seen.stored.entity.state.id, seen.stored.entity.state.version)
        };
        let key = seen.iter().map(line).collect::<String>() + &format!("{closed} {cancelled}");
        let text = match self.json {
            true => screen.document(&document(&seen, closed, cancelled), self.watch)?,
            false => text(screen, &seen, &worker_names(ledger)?, [closed, cancelled]),
        };
        Ok(Frame { key, text })
    }
}

/// How many are closed, and how many cancelled. Where something is filtered, they have to be read.
fn over(ledger: &Ledger, wanted: &Wanted) -> Result<[u64; 2], Error> {
    let states = [TaskState::Closed, TaskState::Cancelled];
    let mut counts = [0, 0];
    for (state, counted) in states.into_iter().zip(&mut counts) {
        *counted = if wanted.is_plain() {
            count(ledger, state)?
        } else {
            Wanted { states: vec![state], ..wanted.clone() }.read(ledger)?.len() as u64
        };
    }
    Ok(counts)
}

fn in_group<'a>(seen: &'a [Observed], group: &Group) -> Vec<&'a Observed> {
    let is_in = |seen: &&Observed| {
        task::state(&seen.stored.entity).is_some_and(|state| group.states.contains(&state))
    };
    seen.iter().filter(is_in).collect()
}

fn document(seen: &[Observed], closed: u64, cancelled: u64) -> Document<'_> {
    let column = |group: &Group| {
        let items: Vec<View<'_>> = in_group(seen, group).into_iter().map(Observed::view).collect();
        ColumnShown { name: group.name, count: items.len(), items }
    };
    Document { columns: GROUPS.iter().map(column).collect(), closed, cancelled }
}

fn text(
    screen: &Screen,
    seen: &[Observed],
    workers: &HashMap<String, String>,
    [closed, cancelled]: [u64; 2],
) -> String {
    let short = Short::among(seen.iter().map(|seen| seen.stored.entity.state.id));
    let column = |group: &Group| {
        let all = in_group(seen, group);
        Column {
            title: format!("{} {}", group.title, all.len()),
            style: of_token(group.token),
            cards: all.iter().take(CARDS_MAX).map(|seen| card(seen, &short, workers)).collect(),
            left: all.len().saturating_sub(CARDS_MAX),
        }
    };
    let columns: Vec<Column> = GROUPS.iter().map(column).collect();
    let mut text = render(&columns, screen.width());
    if seen.is_empty() {
        text += &screen.prose("No task is on the board. Add one: callboard task add TITLE");
    }
    text + &screen.prose(&format!("{closed} closed, {cancelled} cancelled"))
}

fn card(seen: &Observed, short: &Short, workers: &HashMap<String, String>) -> Card {
    let view = seen.view();
    let facts = &seen.stored.entity.facts;
    let state = task::state(&seen.stored.entity);
    // Where a column holds several states, the card says in which one the task is.
    let waits = match state {
        Some(TaskState::Planned) => "waits for approval".to_owned(),
        Some(TaskState::Claimed | TaskState::InProgress) => held_by(facts, workers),
        Some(TaskState::Done) => "to be verified".to_owned(),
        Some(TaskState::PendingApproval) => "waits for approval".to_owned(),
        Some(TaskState::Orphaned) => "its worker is gone".to_owned(),
        Some(TaskState::Failed) => facts.read(fact::LAST_ERROR).map_or_else(|| "failed".to_owned(), one_line),
        _ => moved_on_by(seen),
    };
    Card {
        title: view.title.map_or_else(|| "—".to_owned(), one_line),
        id: short.of(view.id).split_off(PREFIX),
        age: age_of(view.entered_at, view.state.evaluated_at),
        note: one_line(&waits),
    }
}

/// Who has it, and how far the work is.
fn held_by(facts: &Facts, workers: &HashMap<String, String>) -> String {
    let holder = facts.read(fact::LEASE_HOLDER).unwrap_or("—");
    let name = workers.get(holder).map_or_else(|| one_line(holder), Clone::clone);
    match facts.read(fact::PROGRESS) {
        Some(said) => format!("{name}: {}", one_line(said)),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use callboard_lifecycle::Words;

    use super::*;
    use crate::commands::tasks::listing::is_over;

    #[test]
    fn every_state_that_is_not_over_has_one_column() {
        for state in TaskState::ALL {
            let groups = GROUPS.iter().filter(|group| group.states.contains(state)).count();
            assert_eq!(groups, usize::from(!is_over(*state)), "{state}");
        }
    }
}
