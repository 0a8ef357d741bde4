//! The whole story of a task: who claimed it, in which turns it was handled, what ran, what was asked and answered, what was checked, and
//! what it was merged as.
//!
//! Invariant: everything is read from records; what is not recorded is null.

use std::collections::BTreeMap;

use callboard_kernel::{EntityId, Facts, Moment, Value, fact, task};
use callboard_ledger::{Ledger, Page, ReadError, Record, RecordScope, Sequence, Slice, Stored};
use callboard_lifecycle::Kind;
use callboard_lifecycle::task::TaskState;
use callboard_wire::QuestionShape;
use serde::Serialize;

use crate::questions::shown;
use crate::tasks::asking::next_move;

/// What a task has been through.
#[derive(Clone, Debug, Serialize)]
pub struct TaskStory {
    /// What moves it on next.
    pub next_move: String,
    /// Every claim, the oldest first.
    pub claims: Vec<ClaimShown>,
    /// Every turn, the oldest first.
    pub turns: Vec<TurnShown>,
    /// Every run of an agent or of a check, the oldest first.
    pub runs: Vec<RunShown>,
    /// Every question about it or about one of its runs, the oldest first.
    pub questions: Vec<QuestionShape>,
    /// What the newest verification found.
    pub verdicts: Vec<Value>,
    /// What it was merged as.
    pub merge: MergeShown,
    /// The tasks it was split into.
    pub subtasks: Vec<EntityId>,
}

/// One claim of a task.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimShown {
    /// When.
    pub at: Moment,
    /// Who.
    pub holder: Option<String>,
    /// Which lease it was.
    pub epoch: Option<i64>,
}

/// One turn of a task.
#[derive(Clone, Debug, Serialize)]
pub struct TurnShown {
    /// Its id.
    pub id: EntityId,
    /// Where it stands.
    pub state: Option<&'static str>,
    /// Who handled the task in it.
    pub worker: Option<String>,
    /// The run of its agent.
    pub run: Option<String>,
    /// How long its attempt may take: the bound, its rule and what the rule was given.
    pub bound: Option<Facts>,
    /// The turns of earlier attempts that the bound follows from.
    pub samples: Vec<Value>,
    /// The files as they were when it began.
    pub start_ref: Option<String>,
    /// The files as they were when it ended.
    pub end_ref: Option<String>,
    /// Why it is where it is.
    pub reason: Option<String>,
    /// When it began.
    pub created_at: Option<Moment>,
    /// When it ended.
    pub ended_at: Option<Moment>,
}

/// One run for a task.
#[derive(Clone, Debug, Serialize)]
pub struct RunShown {
    /// Its id.
    pub id: EntityId,
    /// What it is called.
    pub title: Option<String>,
    /// Where it stands.
    pub state: Option<&'static str>,
    /// Why it is where it is.
    pub reason: Option<String>,
    /// When it came to be.
    pub created_at: Option<Moment>,
}

/// What a task was merged as.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MergeShown {
    /// The commit that brought it into its base.
    pub commit: Option<String>,
    /// The branch that holds or held the work.
    pub branch: Option<String>,
}

/// Tells the story of a task.
pub fn story(ledger: &Ledger, stored: &Stored) -> Result<TaskStory, ReadError> {
    let id = stored.entity.state.id;
    let facts = &stored.entity.facts;
    let turns = children(ledger, id, Kind::TaskTurn)?;
    let mut runs = Vec::new();
    for turn in &turns {
        runs.extend(children(ledger, turn.entity.state.id, Kind::Session)?);
    }
    let records = ledger.records(Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(id) })?;
    let state = task::state(&stored.entity);
    let text = |name| facts.read(name).map(|text: &str| text.to_owned());
    Ok(TaskStory {
        next_move: state.map_or_else(|| "unknown".to_owned(), |state| next_move(state, facts)),
        claims: claims(&records),
        turns: turns.iter().map(turn_shown).collect(),
        runs: runs.iter().map(run_shown).collect(),
        questions: questions(ledger, id, &runs, &records)?,
        verdicts: facts.read(fact::VERDICTS).unwrap_or_default().to_vec(),
        merge: MergeShown { commit: text(fact::COMMIT), branch: text(fact::BRANCH) },
        subtasks: task::subtasks(facts),
    })
}

fn children(ledger: &Ledger, parent: EntityId, kind: Kind) -> Result<Vec<Stored>, ReadError> {
    let slice = Slice {
        kind: Some(kind),
        parent: Some(parent),
        order: Sequence::Oldest,
        limit: 500,
        ..Slice::default()
    };
    ledger.slice(slice)
}

fn claims(records: &[Record]) -> Vec<ClaimShown> {
    let mut claims = Vec::new();
    for record in records {
        let Ok(event) = record.event() else { continue };
        if task::of(event.to) == Some(TaskState::Claimed) && event.data.known(fact::LEASE_EPOCH).is_some() {
            claims.push(ClaimShown {
                at: event.at,
                holder: event.data.read(fact::LEASE_HOLDER).map(str::to_owned),
                epoch: event.data.read(fact::LEASE_EPOCH),
            });
        }
    }
    claims
}

/// The questions about a task and its runs, and those that the task waited for: the question of a plan is about its first task only.
fn questions(
    ledger: &Ledger,
    task: EntityId,
    runs: &[Stored],
    records: &[Record],
) -> Result<Vec<QuestionShape>, ReadError> {
    let mut found = BTreeMap::new();
    for subject in runs.iter().map(|run| run.entity.state.id).chain([task]) {
        for question in children(ledger, subject, Kind::Question)? {
            found.insert(question.entity.state.id, question);
        }
    }
    for record in records {
        let Ok(event) = record.event() else { continue };
        let named = event.data.read(fact::QUESTION).and_then(|id| id.parse::<EntityId>().ok());
        let Some(id) = named.filter(|id| !found.contains_key(id)) else { continue };
        if let Some(question) = ledger.entity(id)? {
            found.insert(id, question);
        }
    }
    found.values().map(|question| shown(ledger, question)).collect()
}

fn why(stored: &Stored) -> Option<String> {
    stored.entity.reasons.first().map(|reason| format!("{}: {}", reason.code, reason.message))
}

fn text(facts: &Facts, name: callboard_kernel::Fact<fact::Text>) -> Option<String> {
    facts.read(name).map(str::to_owned)
}

fn turn_shown(stored: &Stored) -> TurnShown {
    let entity = &stored.entity;
    TurnShown {
        id: entity.state.id,
        state: entity.state.lifecycle.map(|state| state.name()),
        worker: text(&entity.facts, fact::WORKER),
        run: text(&entity.facts, fact::RUN),
        bound: entity.facts.read(fact::BOUND).cloned(),
        samples: entity.facts.read(fact::SAMPLES).unwrap_or_default().to_vec(),
        start_ref: text(&entity.facts, fact::START_REF),
        end_ref: text(&entity.facts, fact::END_REF),
        reason: why(stored),
        created_at: entity.created_at,
        ended_at: entity.ended_at,
    }
}

fn run_shown(stored: &Stored) -> RunShown {
    let entity = &stored.entity;
    RunShown {
        id: entity.state.id,
        title: text(&entity.facts, fact::TITLE),
        state: entity.state.lifecycle.map(|state| state.name()),
        reason: why(stored),
        created_at: entity.created_at,
    }
}
