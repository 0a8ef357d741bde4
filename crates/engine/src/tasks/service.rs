//! What happens to tasks by itself: a lease that ended, a dependency that is there or will never be, subtasks that are done or overdue,
//! workers and turns that were left.
//!
//! Invariant: every act names the version it was decided on, so repeating a step changes nothing. A task that waits for something that will not
//! come by itself is blocked, where people see it, and never waits for ever unseen. Deliberately absent: processes, git and
//! gates that run a command; the crew has those.

pub(super) mod upkeep;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use callboard_kernel::task::{self, Dependency, DependencyEnd, Stands};
use callboard_kernel::{Actor, EntityId, Facts, LeaseTerms, Moment, SubtasksSeen, TurnGoal, Value, fact};
use callboard_ledger::{Group, Ledger, Page, RecordScope, Request, Stored, error_chain};
use callboard_lifecycle::task::{TaskState, TransitionReason};
use callboard_lifecycle::{ActorClass, Kind, ReasonCode, Words};

use super::asking::{Asking, TaskError, carrying, reason, settled, shown};
use super::holding::{LEASE, id_in};
use super::looking::live;
use super::reporting::say_given_back;
use crate::abort::escalate;
use crate::mutant;
use crate::questions::GO_ON;
use crate::run::Clock;
use crate::services::{Duty, Service, Stepped, TASKS};

/// How long a parent waits for its subtasks before somebody is told.
pub const OVERDUE: Duration = Duration::from_secs(1800);
/// How often leases and moments are looked at.
const EVERY: Duration = Duration::from_millis(500);
/// How often workers and turns are looked at that nobody looks after.
const TENDED_EVERY: Duration = Duration::from_secs(10);
const PAGE: usize = 500;

/// The service that moves tasks on.
pub struct TaskService {
    clock: Arc<dyn Clock + Send + Sync>,
    overdue: Duration,
    /// The tasks that wait for something; nothing before they were looked for.
    waiting: Option<BTreeSet<EntityId>>,
    /// When workers and turns were looked at last.
    tended_at: Option<Moment>,
}

impl TaskService {
    /// A service that goes by this clock, and lets parents wait this long for their subtasks.
    pub fn new(clock: Arc<dyn Clock + Send + Sync>, overdue: Duration) -> Self {
        Self { clock, overdue, waiting: None, tended_at: None }
    }

    /// Makes one step of its own, for a process that needs no lease because nobody else is there.
    pub fn step_alone(&mut self, ledger: &Ledger, position: u64) -> Result<u64, TaskError> {
        self.look(ledger, position, &|| true)
    }

    fn look(&mut self, ledger: &Ledger, position: u64, goes_on: &dyn Fn() -> bool) -> Result<u64, TaskError> {
        let asking = Asking::new(ledger, Actor::new(ActorClass::System, "tasks"), self.clock.now());
        let mut leased = BTreeSet::new();
        for seen in ledger.leases()? {
            let Ok(id) = seen.lease.name.parse::<EntityId>() else { continue };
            if id.kind() == Kind::Task {
                leased.insert(id);
                if seen.left.is_zero() && goes_on() {
                    settled(asking.expire(id))?;
                }
            }
        }
        let head = ledger.head()?;
        let position = self.follow(ledger, position, head)?;
        for id in self.waiting.iter().flatten().copied().collect::<Vec<_>>() {
            if !goes_on() || mutant::removed("look_at_dependencies") {
                break;
            }
            let waits = match asking.resolve(id, &leased, self.overdue) {
                // What is wrong with one task keeps no other one waiting.
                Err(TaskError::Refused(_) | TaskError::NotFound { .. } | TaskError::Unfit { .. }) => true,
                other => other?,
            };
            if !waits && let Some(waiting) = &mut self.waiting {
                waiting.remove(&id);
            }
        }
        if self.tended_at.is_none_or(|at| asking.now.since(at) >= TENDED_EVERY) && goes_on() {
            self.tended_at = Some(asking.now);
            asking.recycle_workers()?;
            asking.reap_turns()?;
        }
        Ok(position)
    }

    /// Takes in which tasks may wait for something.
    fn follow(&mut self, ledger: &Ledger, position: u64, head: u64) -> Result<u64, TaskError> {
        let Some(waiting) = &mut self.waiting else {
            let all = live(ledger, Kind::Task)?;
            self.waiting = Some(all.iter().map(|stored| stored.entity.state.id).collect());
            return Ok(head);
        };
        let mut after = position;
        while after < head {
            let records = ledger.records(Page { after, limit: PAGE, scope: RecordScope::All })?;
            let Some(last) = records.last() else { break };
            after = last.seq;
            let tasks = records.iter().filter(|record| record.kind == Kind::Task.name());
            waiting.extend(tasks.map(|record| EntityId::new(Kind::Task, record.entity)));
        }
        Ok(after.max(position))
    }
}

impl Service for TaskService {
    fn name(&self) -> &str {
        TASKS
    }

    fn every(&self) -> Duration {
        EVERY
    }

    fn follows_log(&self) -> bool {
        true
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        match self.look(duty.ledger, duty.position, &|| duty.is_held()) {
            Ok(position) => duty.done(position),
            Err(error) => {
                self.waiting = None;
                duty.failed(error_chain(&error))
            }
        }
    }
}

impl Asking<'_> {
    /// The lease of a task ended and was not renewed.
    fn expire(&self, id: EntityId) -> Result<(), TaskError> {
        let stored = self.task(id)?;
        let holder = stored.entity.facts.read(fact::LEASE_HOLDER).unwrap_or("its worker").to_owned();
        let ended = |request: Request| carrying(request, LeaseTerms::default().and_end());
        match task::state(&stored.entity) {
            Some(TaskState::Claimed) => {
                let told = format!("{holder} did not renew its lease and had not begun");
                let why = reason(const { ReasonCode::of("task.open.released") }, told.as_str());
                let open = self.go(id, TaskState::Open, why, Facts::none().and(fact::RUN, None::<&str>));
                let mut group = Group::new(ended(versioned(open, &stored)));
                if let Some(turn) = id_in(&stored, fact::TASK_TURN) {
                    let mut steps = self.lead_turn(turn, TurnGoal::Reaped, &told, Facts::none())?;
                    say_given_back(&mut steps, &told);
                    group = steps.into_iter().fold(group, Group::and);
                }
                self.send(group)?;
            }
            Some(TaskState::InProgress) => {
                let told = format!("{holder} did not renew its lease");
                let why = shown(
                    const { ReasonCode::of("task.orphaned.heartbeat_lost") },
                    "its worker stopped beating",
                    told,
                );
                let orphaned = self.go(id, TaskState::Orphaned, why, Facts::none());
                self.send_one(ended(versioned(orphaned, &stored)))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Looks whether a task can go on; false if it waits for nothing that is looked for here.
    fn resolve(
        &self,
        id: EntityId,
        leased: &BTreeSet<EntityId>,
        overdue: Duration,
    ) -> Result<bool, TaskError> {
        let stored = self.task(id)?;
        match task::state(&stored.entity) {
            // An import brings the claims of another store along and none of its leases, so nobody here can renew them.
            Some(TaskState::Claimed | TaskState::InProgress) if !leased.contains(&id) => {
                self.expire(id).map(|()| false)
            }
            Some(TaskState::Open | TaskState::Planned) => self.resolve_open(&stored),
            Some(TaskState::Blocked) => self.resolve_blocked(&stored),
            Some(TaskState::WaitingForSubtasks) => self.resolve_parent(&stored, overdue),
            _ => Ok(false),
        }
    }

    fn resolve_open(&self, stored: &Stored) -> Result<bool, TaskError> {
        let id = stored.entity.state.id;
        let unmet = stored.entity.facts.read(fact::UNMET).unwrap_or_default();
        let (mut left, mut dead) = (Vec::new(), Vec::new());
        for value in unmet {
            let Some(dependency) = Dependency::of(value) else {
                left.push(value.clone());
                continue;
            };
            match self.stands(&dependency)? {
                Stands::Met => {}
                Stands::Coming => left.push(value.clone()),
                Stands::Dead => {
                    left.push(value.clone());
                    dead.push(dependency);
                }
            }
        }
        let is_open = task::state(&stored.entity) == Some(TaskState::Open);
        if is_open && !dead.is_empty() {
            self.hold_back(stored, &dead)?;
            return Ok(true);
        }
        if left.len() < unmet.len() {
            self.send_one(versioned(self.observe(id, Facts::none().and(fact::UNMET, left.clone())), stored))?;
        }
        Ok(!left.is_empty())
    }

    /// What a task depends on failed: it is taken off the board and shown as blocked. The table has no shorter way from open.
    fn hold_back(&self, stored: &Stored, dead: &[Dependency]) -> Result<(), TaskError> {
        let id = stored.entity.state.id;
        let told: Vec<String> = dead.iter().map(Dependency::told).collect();
        let told = format!("{} has failed or was called off", told.join(", "));
        let back = reason(const { ReasonCode::of("task.claimed.held_back") }, told.as_str());
        let held = versioned(self.go(id, TaskState::Claimed, back, Facts::none()), stored);
        let held = carrying(held, LeaseTerms::grant("dependencies", LEASE));
        let why = reason(const { ReasonCode::of("task.blocked.dependency_failed") }, told.as_str());
        let by: Vec<Facts> = dead.iter().map(Dependency::facts).collect();
        let (question, asked) = self.dependency_question(stored, &told)?;
        let data = Facts::none().and(fact::BLOCKED_BY, by).and(fact::QUESTION, question.to_string());
        let blocked = carrying(self.go(id, TaskState::Blocked, why, data), LeaseTerms::default().and_end());
        self.send(asked.into_iter().fold(Group::new(held).and(blocked), Group::and))?;
        Ok(())
    }

    fn resolve_blocked(&self, stored: &Stored) -> Result<bool, TaskError> {
        let by = stored.entity.facts.read(fact::BLOCKED_BY).unwrap_or_default();
        for value in by {
            let stands = match Dependency::of(value) {
                Some(dependency) => self.stands(&dependency)?,
                None => Stands::Coming,
            };
            if stands != Stands::Met {
                return Ok(true);
            }
        }
        let why =
            reason(const { ReasonCode::of("task.open.unblocked") }, "everything it waited for is there");
        let facts = Facts::none().and(fact::BLOCKED_BY, Vec::<Value>::new());
        let open = self.go(stored.entity.state.id, TaskState::Open, why, facts);
        self.send_together(versioned(open, stored), self.settling(stored, GO_ON, "")?)?;
        Ok(true)
    }

    fn resolve_parent(&self, stored: &Stored, overdue: Duration) -> Result<bool, TaskError> {
        let (id, facts) = (stored.entity.state.id, &stored.entity.facts);
        let (mut closed, mut dead, mut open) = (0, Vec::new(), Vec::new());
        let children = task::subtasks(facts);
        for child in &children {
            let dependency = Dependency::Task { id: *child, until: DependencyEnd::Closed };
            match self.stands(&dependency)? {
                Stands::Met => closed += 1,
                Stands::Dead => dead.push(dependency),
                Stands::Coming => open.push(dependency),
            }
        }
        let all = children.len() as u32;
        if closed == all {
            let why = shown(
                const { ReasonCode::of("task.done.subtasks") },
                format!("all {all} subtasks are closed"),
                children.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            );
            let data = Facts::none().and(fact::TRANSITION_REASON, TransitionReason::Completed.name());
            let mut done = versioned(self.go(id, TaskState::Done, why, data), stored);
            done.command.testimony.subtasks = Some(SubtasksSeen { closed, all });
            self.send_one(done)?;
            return Ok(false);
        }
        for failed in dead.iter().filter_map(Dependency::task_id) {
            escalate(self.ledger, &self.task(failed)?, self.now)?;
        }
        if !dead.is_empty() && self.task(id)?.entity.ended_at.is_some() {
            return Ok(false);
        }
        let since = facts.read(fact::WAITS_SUBTASKS_SINCE).or(stored.entity.entered_at);
        let is_late = since.is_some_and(|since| self.now.since(since) >= overdue);
        let (code, told, by) = if !dead.is_empty() {
            let code = const { ReasonCode::of("task.blocked.subtask_failed") };
            (code, "a subtask has failed or was called off", dead)
        } else if is_late {
            (const { ReasonCode::of("task.blocked.subtask_overdue") }, "a subtask takes too long", open)
        } else {
            return Ok(true);
        };
        let (question, asked) = self.dependency_question(stored, told)?;
        let by: Vec<Facts> = by.iter().map(Dependency::facts).collect();
        let data = Facts::none().and(fact::BLOCKED_BY, by).and(fact::QUESTION, question.to_string());
        let blocked = self.go(id, TaskState::Blocked, reason(code, told), data);
        self.send_together(versioned(blocked, stored), asked)?;
        Ok(true)
    }
}

fn versioned(mut request: Request, stored: &Stored) -> Request {
    request.command.if_version = Some(stored.entity.state.version);
    request
}
