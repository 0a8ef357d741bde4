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

use super::listing::TaskFilter;
use crate::tasks::asking::next_move;

const PAGE: usize = 500;

/// Which tasks are shown.
#[derive(Clone, Debug, Default)]
pub struct CardFilter {
    /// Which fit; a column is there for each of its states, or for all if it names none.
    pub tasks: TaskFilter,
    /// How many cards of each column are shown.
    pub limit: usize,
}

/// Reads the board. What goes on is read whole, because the most urgent of it is shown; of what is over only the cards that are shown are
/// read, and the store counts the rest, unless a filter has to look at each.
pub fn board(ledger: &Ledger, filter: &CardFilter, now: Moment) -> Result<BoardShape, ReadError> {
    let head = ledger.head()?;
    let mut columns: Vec<Column> = TaskState::ALL
        .iter()
        .filter(|state| filter.tasks.states.is_empty() || filter.tasks.states.contains(state))
        .map(|state| Column { state: *state, count: 0, cards: Vec::new() })
        .collect();
    let mut live = Vec::new();
    if columns.iter().any(|column| !column.state.is_terminal()) {
        live = live_tasks(ledger)?;
    }
    let ended = ledger.ended_counts()?;
    for column in &mut columns {
        let state = column.state;
        if !state.is_terminal() {
            for stored in live.iter().filter(|stored| task::state(&stored.entity) == Some(state)) {
                column.admit(stored, filter, now);
            }
        } else if task::is_over(state) && filter.tasks.fits_all() {
            let count = ended.iter().find(|(ended, _)| ended == state.name());
            column.count = count.map_or(0, |(_, count)| *count);
            let shown = ledger.ended_tasks(state, None, filter.limit)?;
            column.cards = shown.iter().map(|stored| card(&stored.entity, state, now)).collect();
        } else {
            each_ended(ledger, state, |stored| column.admit(stored, filter, now))?;
        }
    }
    let columns = columns.into_iter().map(|Column { state, count, mut cards }| {
        cards.truncate(filter.limit);
        BoardColumnShape { state: state.name().to_owned(), count, items: cards }
    });
    Ok(BoardShape { columns: columns.collect(), head })
}

/// The tasks in one state.
struct Column {
    state: TaskState,
    count: u64,
    cards: Vec<TaskCardShape>,
}

impl Column {
    fn admit(&mut self, stored: &Stored, filter: &CardFilter, now: Moment) {
        if filter.tasks.fits(&stored.entity.facts) {
            self.count += 1;
            take(&mut self.cards, card(&stored.entity, self.state, now), self.state, filter.limit);
        }
    }
}

/// Every task that has not ended, the newest first.
fn live_tasks(ledger: &Ledger) -> Result<Vec<Stored>, ReadError> {
    let (mut all, mut beyond) = (Vec::new(), None);
    loop {
        let slice = Slice {
            kind: Some(Kind::Task),
            live: true,
            beyond,
            limit: PAGE,
            order: Sequence::Newest,
            ..Slice::default()
        };
        let piece = ledger.slice(slice)?;
        let Some(last) = piece.last() else { return Ok(all) };
        beyond = Some(last.entity.state.id);
        all.extend(piece);
    }
}

/// Looks at every task that ended in a state, the newest first.
fn each_ended(ledger: &Ledger, state: TaskState, mut each: impl FnMut(&Stored)) -> Result<(), ReadError> {
    let mut beyond = None;
    loop {
        let piece = ledger.ended_tasks(state, beyond, PAGE)?;
        let Some(last) = piece.last() else { return Ok(()) };
        beyond = Some(last.entity.state.id);
        piece.iter().for_each(&mut each);
    }
}

/// Puts a card into its column. Cards come newest first; in a column of tasks that are not over the most urgent and then the oldest stay.
fn take(cards: &mut Vec<TaskCardShape>, card: TaskCardShape, state: TaskState, limit: usize) {
    let is_over = task::is_over(state);
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

/// What a small card says of a task: who has it and how far it is, or what it waits for. Holders are named by `name`.
pub fn card_note(entity: &Entity, name: impl Fn(&str) -> String) -> String {
    let facts = &entity.facts;
    let Some(state) = task::state(entity) else { return "unknown".to_owned() };
    match state {
        TaskState::Planned | TaskState::PendingApproval => "waits for approval".to_owned(),
        TaskState::Claimed | TaskState::InProgress => {
            let holder = facts.read(fact::LEASE_HOLDER).map_or_else(|| "—".to_owned(), name);
            match facts.read(fact::PROGRESS) {
                Some(said) => format!("{holder}: {said}"),
                None => holder,
            }
        }
        TaskState::Done => "to be verified".to_owned(),
        TaskState::Orphaned => "its worker is gone".to_owned(),
        TaskState::Failed => facts.read(fact::LAST_ERROR).unwrap_or("failed").to_owned(),
        TaskState::Open
        | TaskState::Blocked
        | TaskState::WaitingForSubtasks
        | TaskState::Closed
        | TaskState::Cancelled => next_move(state, facts),
    }
}
