//! The truth about the tasks of a run, and what must hold of them.
//!
//! Invariant: it is kept from the records and from what workers were told; nothing of it is asked of the engine, except who moves a task on.

use std::collections::{BTreeMap, BTreeSet};

use callboard_engine::tasks::Hold;
use callboard_kernel::task::{self, Dependency, NextMove, Stands};
use callboard_kernel::{Entity, EntityId, Event, Moment, fact};
use callboard_ledger::Stored;
use callboard_lifecycle::task::{TaskState, TaskTrigger};
use callboard_lifecycle::{ActorClass, Kind};
use uuid::Uuid;

use crate::world;

/// What is known of a run with a task board.
pub(crate) struct Truth {
    /// The run is over: everybody goes home.
    pub(crate) is_over: bool,
    /// Who wrote the newest records.
    pub(crate) at_work: Option<usize>,
    tasks: BTreeSet<EntityId>,
    grants: BTreeMap<EntityId, Grant>,
    /// Under which hold an actor acts.
    acting: BTreeMap<usize, Hold>,
    names: Vec<Option<EntityId>>,
    has_twin: bool,
    /// What was recorded, for the trace.
    told: Vec<String>,
}

/// The newest lease of a task.
struct Grant {
    holder: String,
    epoch: u64,
    is_over: bool,
    completions: u32,
    /// Until then at least, because its holder was told that it was renewed.
    until: Moment,
}

impl Truth {
    pub(crate) fn new(workers: usize, has_twin: bool) -> Self {
        Self {
            is_over: false,
            at_work: None,
            tasks: BTreeSet::new(),
            grants: BTreeMap::new(),
            acting: BTreeMap::new(),
            names: vec![None; workers],
            has_twin,
            told: Vec::new(),
        }
    }

    /// The last worker is the twin of the first.
    const fn slot(&self, nth: usize) -> usize {
        if self.has_twin && nth + 1 == self.names.len() { 0 } else { nth }
    }

    pub(super) fn name(&self, nth: usize) -> Option<EntityId> {
        self.names[self.slot(nth)]
    }

    pub(super) fn rename(&mut self, nth: usize, id: EntityId) {
        let slot = self.slot(nth);
        self.names[slot] = Some(id);
    }

    pub(super) fn forget_name(&mut self, nth: usize) {
        let slot = self.slot(nth);
        self.names[slot] = None;
    }

    /// How many tasks there are.
    pub(super) fn count(&self) -> usize {
        self.tasks.len()
    }

    /// An actor is about to act under a hold.
    pub(super) fn acts(&mut self, actor: Option<usize>, hold: &Hold) {
        if let Some(actor) = actor {
            self.acting.insert(actor, hold.clone());
        }
    }

    /// A worker was told that its lease was renewed, so it lasts until then.
    pub(super) fn renewed(&mut self, hold: &Hold, until: Moment) {
        if let Some(grant) = self.grants.get_mut(&hold.task).filter(|grant| grant.epoch == hold.epoch) {
            grant.until = grant.until.max(until);
        }
    }

    /// What was recorded since somebody asked last.
    pub(crate) fn take_told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }

    /// Takes in a record about a task; what does not hold.
    pub(crate) fn follow(&mut self, entity: &Entity, event: &Event, now_us: u64) -> Vec<String> {
        let id = event.entity;
        self.tasks.insert(id);
        let code = event.reasons.first().map_or("", |reason| reason.code.as_str());
        let lease =
            event.data.read(fact::LEASE_EPOCH).map_or_else(String::new, |epoch| format!(", epoch {epoch}"));
        let (version, to, by) = (event.version, event.to, &event.actor.id);
        self.told.push(format!("{id} version {version} is {to}, by {by}{lease} {code}"));
        let mut problems = Vec::new();
        let mut blame = |problem: String| problems.push(format!("{id} {problem}"));
        let state = task::state(entity);
        if state.is_none_or(|state| task::next_move(state, &entity.facts).is_none()) {
            blame("has nobody who moves it on".to_owned());
        }
        let is_by_worker = event.actor.class == ActorClass::Worker;
        let epoch = event.data.read(fact::LEASE_EPOCH).and_then(|epoch| u64::try_from(epoch).ok());
        let old = self.grants.get(&id);
        if is_by_worker && epoch.is_none() {
            let acting = self.at_work.and_then(|actor| self.acting.get(&actor));
            // A part of another task comes to be under the hold of that one.
            let own = acting.filter(|hold| hold.task == id);
            if let Some(hold) = own
                && !old.is_some_and(|grant| grant.epoch == hold.epoch && !grant.is_over)
            {
                blame(format!("was changed under the epoch {}, which is over", hold.epoch));
            }
        }
        if let Some(epoch) = epoch {
            if let Some(grant) = old.filter(|grant| !grant.is_over) {
                blame(format!("was granted while {} holds it", grant.holder));
            }
            if old.is_some_and(|grant| grant.epoch >= epoch) {
                blame(format!("got the epoch {epoch} twice"));
            }
            let holder = event.data.read(fact::LEASE_HOLDER).unwrap_or_default().to_owned();
            let grant = Grant { holder, epoch, is_over: false, completions: 0, until: Moment::default() };
            self.grants.insert(id, grant);
        } else if event.data.get(fact::LEASE_HOLDER.name()).is_some() {
            let is_expiry = event.actor.class == ActorClass::System && event.actor.id == "tasks";
            if is_expiry && old.is_some_and(|grant| !grant.is_over && grant.until > world::moment(now_us, 0))
            {
                blame("lost its lease, which was renewed".to_owned());
            }
            self.grants.entry(id).and_modify(|grant| grant.is_over = true);
        }
        if event.trigger == Some(TaskTrigger::WorkReported.into())
            && let Some(grant) = self.grants.get_mut(&id)
        {
            grant.completions += 1;
            if grant.completions > 1 {
                blame(format!("was completed twice under the epoch {}", grant.epoch));
            }
        }
        problems
    }

    /// A task that a worker holds has a turn in which it is handled.
    pub(crate) fn turns(&self, all: &BTreeMap<Uuid, Stored>) -> Vec<String> {
        let mut problems = Vec::new();
        for (id, grant) in self.grants.iter().filter(|(_, grant)| !grant.is_over) {
            let turn = all.get(&id.uuid()).and_then(|stored| stored.entity.facts.read(fact::TASK_TURN));
            let turn = turn.and_then(|turn| turn.parse::<EntityId>().ok());
            let task = turn.and_then(|turn| all.get(&turn.uuid())?.entity.facts.read(fact::TASK));
            let is_by_worker = grant.holder.parse::<EntityId>().is_ok();
            if is_by_worker && task != Some(id.to_string().as_str()) {
                problems.push(format!("{id} is held by {} without a turn", grant.holder));
            }
        }
        problems
    }

    /// What must hold once nothing happens any more: every task is over, or somebody is asked about it.
    pub(crate) fn at_rest(&self, all: &BTreeMap<Uuid, Stored>) -> Vec<String> {
        let stands = |dependency: &Dependency| match dependency {
            Dependency::Task { id, until } => {
                let state = all.get(&id.uuid()).and_then(|stored| task::state(&stored.entity));
                state.map_or(Stands::Coming, |state| task::stands(state, *until))
            }
            Dependency::Time { .. } => Stands::Met,
            Dependency::Person { .. }
            | Dependency::Command { .. }
            | Dependency::PullRequest { .. }
            | Dependency::Question { .. } => Stands::Coming,
        };
        let mut problems = Vec::new();
        for entity in all.values().map(|stored| &stored.entity) {
            let Some(state) = task::state(entity).filter(|_| entity.state.id.kind() == Kind::Task) else {
                continue;
            };
            let facts = &entity.facts;
            let waits_for = |name| task::dependencies(facts, name);
            let is_asked = match state {
                TaskState::Closed | TaskState::Cancelled => true,
                TaskState::Failed => matches!(task::next_move(state, facts), Some(NextMove::Person(_))),
                TaskState::Blocked => {
                    let by = waits_for(fact::BLOCKED_BY);
                    let named = facts.read(fact::BLOCKED_BY).unwrap_or_default().len();
                    named > by.len() || by.iter().any(|by| stands(by) != Stands::Met)
                }
                // It waits for a task that waits for a person.
                TaskState::Open => waits_for(fact::UNMET).iter().any(|by| stands(by) == Stands::Coming),
                TaskState::Planned
                | TaskState::Claimed
                | TaskState::InProgress
                | TaskState::Done
                | TaskState::WaitingForSubtasks
                | TaskState::Orphaned
                | TaskState::PendingApproval => false,
            };
            if !is_asked {
                problems.push(format!("{} is stuck as {state}", entity.state.id));
            }
        }
        problems
    }
}
