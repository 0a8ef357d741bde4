//! Tasks are added: one, the tasks of a plan, or the parts of a larger one.
//!
//! Invariant: all tasks of a plan are recorded or none, and each dependency exists and leads back to nobody. A task of a plan waits for a
//! person's approval; one that is added on its own is open. Deliberately absent: reading a plan file.

use std::collections::HashMap;

use callboard_kernel::task::{self, Dependency, DependencyEnd, Stands};
use callboard_kernel::{EntityId, Facts, Value, fact, question};
use callboard_ledger::{GROUP_MAX, Group, Request};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{Kind, ReasonCode};

use super::asking::{Asking, TaskError, reason, unfit};
use super::new_task::NewTask;

/// How many tasks a plan has at the most: they are recorded together with the question about them.
const PLAN_MAX: usize = GROUP_MAX - 1;

/// One task of a plan.
#[derive(Clone, Debug)]
pub struct PlanTask {
    /// What the plan calls it.
    pub name: String,
    /// The task.
    pub task: NewTask,
    /// The tasks of the same plan that it depends on, by name.
    pub after: Vec<(String, DependencyEnd)>,
}

impl Asking<'_> {
    /// Adds a task, open to be claimed.
    pub fn add(&self, new: NewTask) -> Result<EntityId, TaskError> {
        let id = self.fresh_id(Kind::Task);
        let facts = self.with_dependencies(new.facts, &new.depends_on)?;
        let created = self.create(id, TaskState::Open, facts);
        match new.parent {
            None => drop(self.send_one(created)?),
            Some(parent) => drop(self.send(Group::new(created).and(self.adopt(parent, &[id])?))?),
        }
        Ok(id)
    }

    /// Adds the tasks of a plan: none of them is begun before a person approves.
    pub fn add_plan(&self, plan: &str, tasks: Vec<PlanTask>) -> Result<Vec<(String, EntityId)>, TaskError> {
        if tasks.len() > PLAN_MAX {
            let problem = format!("the plan has {} tasks, more than {PLAN_MAX}", tasks.len());
            return Err(unfit(problem, "split it into several plans"));
        }
        // The tasks of one plan are as old as each other; their order in the plan decides.
        let ids: Vec<EntityId> = (0..tasks.len()).map(|nth| self.nth_id(Kind::Task, nth)).collect();
        let by_name: HashMap<String, EntityId> =
            tasks.iter().map(|task| task.name.clone()).zip(ids.iter().copied()).collect();
        let named: Vec<(String, EntityId)> =
            tasks.iter().map(|task| task.name.clone()).zip(ids.iter().copied()).collect();
        let (question, asked) = match self.plan_question(plan, &named)? {
            None => return Ok(named),
            Some(question) => question,
        };
        let mut requests = Vec::with_capacity(tasks.len() + 1);
        for (PlanTask { name, task: new, after }, id) in tasks.into_iter().zip(ids) {
            let mut depends_on = new.depends_on.clone();
            for (other, until) in after {
                let known = by_name.get(&other).copied();
                let missing = || {
                    unfit(
                        format!("{name} depends on {other}, which is not in the plan"),
                        "name a task of the plan",
                    )
                };
                depends_on.push(Dependency::Task { id: known.ok_or_else(missing)?, until });
            }
            let is_own = |dependency: &Dependency| matches!(dependency, Dependency::Task { id, .. } if by_name.values().any(|own| own == id));
            let (own, others): (Vec<_>, Vec<_>) = depends_on.into_iter().partition(is_own);
            let facts = self.with_dependencies(new.facts, &others)?;
            let facts = also_unmet(facts, &own)
                .and(fact::PLAN, plan)
                .and(fact::PLAN_NAME, name.as_str())
                .and(fact::QUESTION, question.to_string());
            requests.push(self.create(id, TaskState::Planned, facts));
        }
        requests.extend(asked);
        self.send_all(requests.into_iter())?;
        Ok(named)
    }

    /// Makes tasks part of another one, which waits for them.
    fn adopt(&self, parent: EntityId, children: &[EntityId]) -> Result<Request, TaskError> {
        let stored = self.task(parent)?;
        let facts = &stored.entity.facts;
        let mut all: Vec<Value> =
            task::subtasks(facts).iter().map(|id| Value::from(id.to_string())).collect();
        all.extend(children.iter().map(|id| Value::from(id.to_string())));
        let data = Facts::none().and(fact::SUBTASKS, all).and(fact::WAITS_SUBTASKS_SINCE, self.now);
        if task::state(&stored.entity) == Some(TaskState::WaitingForSubtasks) {
            let mut request = self.observe(parent, data);
            request.command.if_version = Some(stored.entity.state.version);
            return Ok(request);
        }
        let code = const { ReasonCode::of("task.waiting_for_subtasks.decomposed") };
        let why = reason(code, "it was split before anybody claimed it");
        Ok(self.go(parent, TaskState::WaitingForSubtasks, why, data))
    }

    /// The facts of a new task with what it depends on, and what of that is not there.
    pub(super) fn with_dependencies(&self, facts: Facts, all: &[Dependency]) -> Result<Facts, TaskError> {
        if all.is_empty() {
            return Ok(facts);
        }
        let mut unmet = Vec::new();
        for dependency in all {
            if self.stands(dependency)? != Stands::Met {
                unmet.push(dependency.facts());
            }
        }
        let depends_on: Vec<Facts> = all.iter().map(Dependency::facts).collect();
        Ok(facts.and(fact::DEPENDS_ON, depends_on).and(fact::UNMET, unmet))
    }

    /// How a dependency stands, as far as the store and the clock tell.
    pub(super) fn stands(&self, dependency: &Dependency) -> Result<Stands, TaskError> {
        Ok(match dependency {
            Dependency::Task { id, until } => {
                let stored = self.task(*id)?;
                task::state(&stored.entity).map_or(Stands::Coming, |state| task::stands(state, *until))
            }
            Dependency::Question { id, .. } => {
                let stored = self.stored(*id, Kind::Question)?;
                if question::is_open(&stored.entity) { Stands::Coming } else { Stands::Met }
            }
            Dependency::Time { at } if *at <= self.now => Stands::Met,
            Dependency::Time { .. }
            | Dependency::Person { .. }
            | Dependency::Command { .. }
            | Dependency::PullRequest { .. } => Stands::Coming,
        })
    }
}

/// Facts with more dependencies, none of which is there.
fn also_unmet(mut facts: Facts, more: &[Dependency]) -> Facts {
    for name in [fact::DEPENDS_ON, fact::UNMET] {
        let mut all: Vec<Value> = facts.read(name).unwrap_or_default().to_vec();
        all.extend(more.iter().map(|dependency| Value::from(dependency.facts())));
        if !all.is_empty() {
            facts.record(name, all);
        }
    }
    facts
}
