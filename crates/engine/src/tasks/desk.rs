//! The desk: what waits for a person's decision about a task, and what people decide there.
//!
//! Invariant: whatever waits for a decision has a question, recorded in the same group as the wait, and every decision answers it in the
//! same group. Deliberately absent: merging; a result is closed with the commit that the crew made.

use callboard_kernel::question::{AnswerOption, RuleKey};
use callboard_kernel::task::{self, Dependency};
use callboard_kernel::{Actor, EntityId, Facts, TurnGoal, Value, fact};
use callboard_ledger::{Group, Request, Stored};
use callboard_lifecycle::question::QuestionSource;
use callboard_lifecycle::task::{TaskState, TaskTrigger};
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};

use super::asking::{Asking, TaskError, because_of, reason};
use super::decisions::Rejection;
use super::holding::id_in;
use super::looking::live;
use super::reporting::TaskFailure;
use crate::questions::{APPROVE, CANCEL, GO_ON, NewQuestion, REJECT, SEND_BACK};

/// How many tasks of a plan are listed in its question.
const LISTED_MAX: usize = 50;

/// What became of approving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// These tasks of a plan can be claimed.
    Opened(Vec<EntityId>),
    /// The result waits to be merged, and is closed then.
    Merge,
    /// There is nothing to merge: the task is closed.
    Closed,
}

impl Asking<'_> {
    /// The question whether the tasks of a plan may be done.
    pub(super) fn plan_question(
        &self,
        plan: &str,
        tasks: &[(String, EntityId)],
    ) -> Result<Option<(EntityId, Vec<Request>)>, TaskError> {
        let Some((_, first)) = tasks.first() else { return Ok(None) };
        let mut listed: Vec<&str> = tasks.iter().take(LISTED_MAX).map(|(name, _)| name.as_str()).collect();
        if tasks.len() > LISTED_MAX {
            listed.push("…");
        }
        let count = tasks.len();
        let text = format!("Approve the plan {plan} with {count} task{}?", if count == 1 { "" } else { "s" });
        let question = NewQuestion {
            context: Some(listed.join("\n")),
            options: vec![AnswerOption::granting(APPROVE), AnswerOption::denying(REJECT)],
            ..NewQuestion::new(QuestionSource::Plan, *first, text)
        };
        self.desk_question(&question).map(Some)
    }

    /// The question what becomes of a task that waits for something which will not come by itself.
    pub(super) fn dependency_question(
        &self,
        stored: &Stored,
        missing: &str,
    ) -> Result<(EntityId, Vec<Request>), TaskError> {
        let title = stored.entity.facts.read(fact::TITLE).unwrap_or("a task");
        let question = NewQuestion {
            context: Some(missing.to_owned()),
            options: vec![AnswerOption::granting(GO_ON), AnswerOption::denying(CANCEL)],
            ..NewQuestion::new(
                QuestionSource::Dependency,
                stored.entity.state.id,
                format!("{title:?} is blocked: {missing}. Go on with it?"),
            )
        };
        self.desk_question(&question)
    }

    /// A person approves a plan, or one task of it.
    pub fn approve_plan(&self, tasks: &[EntityId], because: &str) -> Result<(), TaskError> {
        let why = || self.person(const { ReasonCode::of("task.open.plan_approved") }, because);
        let open = |id: &EntityId| {
            let request = self.go(*id, TaskState::Open, why(), Facts::none());
            because_of(request, TaskTrigger::PlanApproved)
        };
        self.send_all(tasks.iter().map(open).chain(self.plan_settled(tasks, APPROVE, because)?))
    }

    /// A person rejects a plan, or one task of it.
    pub fn reject_plan(&self, tasks: &[EntityId], because: &str) -> Result<(), TaskError> {
        let why = || self.person(const { ReasonCode::of("task.cancelled.plan_rejected") }, because);
        let cancel = |id: &EntityId| {
            let request = self.go(*id, TaskState::Cancelled, why(), Facts::none());
            because_of(request, TaskTrigger::PlanRejected)
        };
        self.send_all(tasks.iter().map(cancel).chain(self.plan_settled(tasks, REJECT, because)?))
    }

    /// The commands about the question of a plan, once a decision leaves none of its tasks undecided.
    fn plan_settled(
        &self,
        decided: &[EntityId],
        option: &str,
        because: &str,
    ) -> Result<Vec<Request>, TaskError> {
        let Some(first) = decided.first() else { return Ok(Vec::new()) };
        let is_whole = self.planned_with(*first)?.iter().all(|id| decided.contains(id));
        if is_whole { self.settling(&self.task(*first)?, option, because) } else { Ok(Vec::new()) }
    }

    /// The tasks that belong to the same plan as a task, and that nobody has decided about.
    pub fn planned_with(&self, id: EntityId) -> Result<Vec<EntityId>, TaskError> {
        let stored = self.task(id)?;
        let Some(plan) = stored.entity.facts.read(fact::PLAN) else { return Ok(vec![id]) };
        let is_same = |stored: &Stored| {
            stored.entity.facts.read(fact::PLAN) == Some(plan)
                && task::state(&stored.entity) == Some(TaskState::Planned)
        };
        let all = live(self.ledger, Kind::Task)?.into_iter().filter(is_same);
        Ok(all.map(|stored| stored.entity.state.id).collect())
    }

    /// A person approves a task that waits for it: it can be claimed, or its result is merged and closed. `whole_plan` opens the
    /// other tasks of its plan too.
    pub fn approve(&self, id: EntityId, because: &str, whole_plan: bool) -> Result<Decided, TaskError> {
        let stored = self.task(id)?;
        match task::state(&stored.entity) {
            Some(TaskState::PendingApproval) if is_merged(&stored.entity.facts) => {
                let data = Facts::none().and(fact::APPROVED_BY, self.actor.id.as_str());
                let why = self.person(const { ReasonCode::of("system.operator.note") }, because);
                let order = callboard_kernel::Observe { reasons: vec![why], data };
                let mut request = self.request(id, callboard_kernel::Order::Observe(order));
                request.command.if_version = Some(stored.entity.state.version);
                self.send_together(request, self.settling(&stored, APPROVE, because)?)?;
                Ok(Decided::Merge)
            }
            Some(TaskState::PendingApproval) => {
                self.close(&stored, &Facts::none(), because)?;
                Ok(Decided::Closed)
            }
            _ => {
                let tasks = if whole_plan { self.planned_with(id)? } else { vec![id] };
                self.approve_plan(&tasks, because)?;
                Ok(Decided::Opened(tasks))
            }
        }
    }

    /// A verified result waits for a person.
    pub fn ask_approval(&self, stored: &Stored, because: &str) -> Result<(), TaskError> {
        let (question, asked) = self.desk_question(&review(stored))?;
        let why = reason(const { ReasonCode::of("task.pending_approval.policy") }, because);
        let desk = self.acting_as(Actor::new(ActorClass::ApprovalDesk, "desk"));
        let data = Facts::none().and(fact::QUESTION, question.to_string());
        let mut held = desk.go(stored.entity.state.id, TaskState::PendingApproval, why, data);
        held.command.if_version = Some(stored.entity.state.version);
        self.send_together(held, asked)
    }

    /// Does a standing rule of a person approve a verified result? The question and the rule that answered it are recorded then, once.
    pub fn approved_by_rule(&self, stored: &Stored) -> Result<bool, TaskError> {
        if stored.entity.facts.known(fact::APPROVED_BY).is_some() {
            return Ok(true);
        }
        let Some((question, rule, asked)) = self.answered_by_rule(&review(stored), APPROVE)? else {
            return Ok(false);
        };
        let data = Facts::none()
            .and(fact::QUESTION, question.to_string())
            .and(fact::APPROVED_BY, format!("standing rule {rule}"));
        let mut noted = self.observe(stored.entity.state.id, data);
        noted.command.if_version = Some(stored.entity.state.version);
        self.send_together(noted, asked)?;
        Ok(true)
    }

    /// A person does not take a result, whether it was verified or not: it failed, or is to be done again.
    pub fn turn_down(&self, id: EntityId, because: &str, again: bool) -> Result<(), TaskError> {
        let stored = self.task(id)?;
        if task::state(&stored.entity) == Some(TaskState::Done) {
            let code = const { ReasonCode::of("task.failed.verification") };
            let failure = TaskFailure { is_final: !again, ..TaskFailure::new(code, because) };
            return self.reject(&stored, &Rejection { failure, verdicts: Vec::new() });
        }
        let (to, trigger, code, option) = if again {
            let code = const { ReasonCode::of("task.open.sent_back") };
            (TaskState::Open, TaskTrigger::SentBack, code, SEND_BACK)
        } else {
            let code = const { ReasonCode::of("task.failed.rejected") };
            (TaskState::Failed, TaskTrigger::Rejected, code, REJECT)
        };
        let data = Facts::none()
            .and(fact::LAST_ERROR, because)
            .and(fact::IS_FINAL, !again)
            .and(fact::APPROVED_BY, None::<&str>);
        let mut request = because_of(self.go(id, to, self.person(code, because), data), trigger);
        request.command.if_version = Some(stored.entity.state.version);
        let mut group = Group::new(request);
        if let Some(turn) = id_in(&stored, fact::TASK_TURN) {
            for step in self.lead_turn(turn, TurnGoal::Reaped, because, Facts::none())? {
                group = group.and(step);
            }
        }
        self.send(self.settling(&stored, option, because)?.into_iter().fold(group, Group::and))?;
        Ok(())
    }
}

/// The question whether a verified result is merged.
fn review(stored: &Stored) -> NewQuestion {
    let facts = &stored.entity.facts;
    let title = facts.read(fact::TITLE).unwrap_or("a task");
    let mut context = vec![facts.read(fact::SUMMARY).unwrap_or("its worker gave no summary").to_owned()];
    for verdict in facts.read(fact::VERDICTS).unwrap_or_default() {
        let Value::Map(verdict) = verdict else { continue };
        let mark = if verdict.read(fact::PASSED) == Some(true) { "passed" } else { "not passed" };
        context.push(format!("{mark}: {}", verdict.read(fact::WHAT).unwrap_or("a check")));
    }
    if let Some(branch) = facts.read(fact::BRANCH) {
        let id = stored.entity.state.id;
        context.push(format!("branch {branch}; what it changes: callboard task diff {id}"));
    }
    let key = |scope: &str, key: String| RuleKey { scope: scope.to_owned(), key };
    let mut rule_keys = Vec::new();
    if let Some(repo) = facts.read(fact::REPO) {
        let role = facts.read(fact::ROLE);
        rule_keys.extend(role.map(|role| key("role", format!("results of tasks for {role} in {repo}"))));
        rule_keys.push(key("repo", format!("results of tasks in {repo}")));
    }
    NewQuestion {
        context: Some(context.join("\n")),
        options: vec![
            AnswerOption::granting(APPROVE),
            AnswerOption::denying(REJECT),
            AnswerOption::denying(SEND_BACK),
            AnswerOption::denying(CANCEL),
        ],
        rule_keys,
        ..NewQuestion::new(
            QuestionSource::Review,
            stored.entity.state.id,
            format!("Approve the result of {title:?}?"),
        )
    }
}

/// What a task is blocked by that only a person can bring, in words.
pub(super) fn needs_person(dependency: &Dependency) -> Option<String> {
    match dependency {
        Dependency::Person { what } => Some(what.clone()),
        Dependency::Task { .. }
        | Dependency::Time { .. }
        | Dependency::Command { .. }
        | Dependency::PullRequest { .. }
        | Dependency::Question { .. } => None,
    }
}

/// Is the result of a task merged into a branch? Otherwise it is closed as it is.
fn is_merged(facts: &Facts) -> bool {
    facts.known(fact::REPO).is_some() && facts.read(fact::DELIVER) != Some("branch")
}
