//! The task board as people look at it: a column for each state, with the tasks that fit.
//!
//! Invariant: every count is of all tasks that fit, and a card says who moves its task on. Deliberately absent: judging health, which the
//! views do.

use std::collections::BTreeMap;

use callboard_kernel::task::{self, Dependency, PRIORITY, Scope};
use callboard_kernel::{Entity, Fact, Facts, Moment, Value, fact};
use callboard_ledger::{Ledger, ReadError, Sequence, Slice, Stored};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{Kind, Words};
use callboard_wire::{BoardColumnShape, BoardShape, TaskCardShape};

use super::asking::next_move;

const PAGE: usize = 500;

/// Which tasks are shown.
#[derive(Clone, Debug, Default)]
pub struct CardFilter {
    /// Only in these states; in all if there is none.
    pub states: Vec<TaskState>,
    /// Only for this role.
    pub role: Option<String>,
    /// Only with all of these labels.
    pub labels: Vec<(String, String)>,
    /// Only in this repository.
    pub repo: Option<String>,
    /// How many cards of each column are shown.
    pub limit: usize,
}

impl CardFilter {
    fn admits(&self, facts: &Facts) -> bool {
        let labels = facts.read(fact::LABELS);
        let has = |(name, value): &(String, String)| matches!(labels.and_then(|labels| labels.get(name)), Some(Value::Text(text)) if text == value);
        self.role.as_deref().is_none_or(|role| facts.read(fact::ROLE) == Some(role))
            && self.repo.as_deref().is_none_or(|repo| facts.read(fact::REPO) == Some(repo))
            && self.labels.iter().all(has)
    }
}

/// Reads the board.
pub fn board(ledger: &Ledger, filter: &CardFilter, now: Moment) -> Result<BoardShape, ReadError> {
    let head = ledger.head()?;
    let mut columns: Vec<(TaskState, u64, Vec<TaskCardShape>)> = TaskState::ALL
        .iter()
        .filter(|state| filter.states.is_empty() || filter.states.contains(state))
        .map(|state| (*state, 0, Vec::new()))
        .collect();
    let mut beyond = None;
    loop {
        let slice = Slice {
            kind: Some(Kind::Task),
            beyond,
            limit: PAGE,
            order: Sequence::Newest,
            ..Slice::default()
        };
        let piece = ledger.slice(slice)?;
        let Some(last) = piece.last() else { break };
        beyond = Some(last.entity.state.id);
        for Stored { entity, .. } in &piece {
            let Some(state) = task::state(entity) else { continue };
            let column = columns.iter_mut().find(|(its, _, _)| *its == state);
            if let Some((_, count, cards)) = column.filter(|_| filter.admits(&entity.facts)) {
                *count += 1;
                take(cards, card(entity, state, now), state, filter.limit);
            }
        }
    }
    let columns = columns.into_iter().map(|(state, count, mut items)| {
        items.truncate(filter.limit);
        BoardColumnShape { state: state.name().to_owned(), count, items }
    });
    Ok(BoardShape { columns: columns.collect(), head })
}

/// Puts a card into its column. Cards come newest first; in a column of tasks that are not over the most urgent and then the oldest stay.
fn take(cards: &mut Vec<TaskCardShape>, card: TaskCardShape, state: TaskState, limit: usize) {
    let is_over = matches!(state, TaskState::Closed | TaskState::Cancelled);
    if is_over && cards.len() >= limit {
        return;
    }
    let place =
        if is_over { cards.len() } else { cards.partition_point(|other| other.priority < card.priority) };
    cards.insert(place, card);
    cards.truncate(limit);
}

/// One task as a card.
fn card(entity: &Entity, state: TaskState, now: Moment) -> TaskCardShape {
    let facts = &entity.facts;
    let text = |name| facts.read(name).map(|text: &str| text.to_owned());
    let labels = facts.read(fact::LABELS).into_iter().flat_map(Facts::iter);
    let labels: BTreeMap<String, String> =
        labels
            .filter_map(|(name, value)| {
                if let Value::Text(text) = value { Some((name.to_owned(), text.clone())) } else { None }
            })
            .collect();
    TaskCardShape {
        id: entity.state.id.to_string(),
        title: text(fact::TITLE),
        state: state.name().to_owned(),
        role: text(fact::ROLE),
        priority: facts.read(fact::PRIORITY).unwrap_or(PRIORITY),
        scope: facts.read(fact::SCOPE).unwrap_or(Scope::Medium.name()).to_owned(),
        repo: text(fact::REPO),
        labels,
        entered_at: entity.entered_at.map(|at| at.to_string()),
        age_s: entity.entered_at.map(|at| now.since(at).as_secs_f64()),
        holder: text(fact::LEASE_HOLDER),
        progress: text(fact::PROGRESS),
        waits_for: waits_for(state, facts),
        next_move: next_move(state, facts),
    }
}

/// What a task waits for, one sentence each.
fn waits_for(state: TaskState, facts: &Facts) -> Vec<String> {
    let told = |value: &Value| {
        if let Value::Text(text) = value {
            return text.clone();
        }
        Dependency::of(value).map_or_else(|| "something unknown".to_owned(), |on| on.told())
    };
    let all = |name: Fact<fact::Items>| facts.read(name).unwrap_or_default().iter().map(told).collect();
    match state {
        TaskState::Planned | TaskState::Open => all(fact::UNMET),
        TaskState::Blocked => all(fact::BLOCKED_BY),
        TaskState::WaitingForSubtasks => {
            task::subtasks(facts).iter().map(|id| format!("its subtask {id}")).collect()
        }
        TaskState::Claimed
        | TaskState::InProgress
        | TaskState::Done
        | TaskState::Closed
        | TaskState::Failed
        | TaskState::Cancelled
        | TaskState::Orphaned
        | TaskState::PendingApproval => Vec::new(),
    }
}
