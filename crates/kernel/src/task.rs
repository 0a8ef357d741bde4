//! A task as the board sees it: what it depends on, whether it can be claimed and by whom, which files it holds, and who moves it on.
//!
//! Invariant: all of it follows from the task's own records, so the store, the guards and every surface give the same answer.
//! Deliberately absent: looking whether a dependency is there, which the services do and record.

mod board;

use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::words;
use callboard_lifecycle::{Kind, Lifecycle, Words};

use crate::command::Transition;
use crate::entity::Entity;
use crate::fact;
use crate::facts::{Facts, Value};
use crate::guard::RETRIES_MAX;
use crate::id::EntityId;
use crate::moment::Moment;
use crate::way::TurnGoal;

pub use board::{BoardColumn, is_handed_in, is_over, is_undecided};

/// The priority of a task that has none: 1 is the most urgent.
pub const PRIORITY: i64 = 2;

words! {
    /// How much work a task is; it sets the time that an attempt may take.
    pub enum Scope is "scope" {
        /// An attempt may take 15 minutes.
        Small = "small",
        /// An attempt may take 30 minutes.
        Medium = "medium",
        /// An attempt may take an hour.
        Large = "large",
        /// An attempt may take two hours.
        Xl = "xl",
    }
}

impl Scope {
    /// How long an attempt may take unless the task says otherwise, in minutes.
    pub const fn minutes(self) -> u64 {
        match self {
            Self::Small => 15,
            Self::Medium => 30,
            Self::Large => 60,
            Self::Xl => 120,
        }
    }
}

words! {
    /// How another task must end before a task that depends on it can begin.
    pub enum DependencyEnd is "end of a dependency" {
        /// Verified and merged.
        Closed = "closed",
        /// Over in any way: closed, failed without a retry left, or cancelled.
        Ended = "ended",
    }
}

/// What a task depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// Another task.
    Task {
        /// Which one.
        id: EntityId,
        /// How it must end.
        until: DependencyEnd,
    },
    /// Something that a person says is there.
    Person {
        /// What.
        what: String,
    },
    /// A moment.
    Time {
        /// When.
        at: Moment,
    },
    /// A command that must succeed.
    Command {
        /// Read by a shell, in the repository of the task.
        command: String,
    },
    /// A pull request that must be merged.
    PullRequest {
        /// A command that succeeds once it is, read by a shell.
        command: String,
    },
    /// An answer to a question.
    Question {
        /// Which one.
        id: EntityId,
        /// What is asked.
        text: String,
    },
}

impl Dependency {
    /// As it is recorded.
    pub fn facts(&self) -> Facts {
        let on = |word: &str| Facts::none().and(fact::ON, word);
        match self {
            Self::Task { id, until } => {
                on("task").and(fact::ID, id.to_string()).and(fact::UNTIL_END, until.name())
            }
            Self::Person { what } => on("person").and(fact::WHAT, what.as_str()),
            Self::Time { at } => on("time").and(fact::AT, *at),
            Self::Command { command } => on("command").and(fact::COMMAND, command.as_str()),
            Self::PullRequest { command } => on("pull_request").and(fact::COMMAND, command.as_str()),
            Self::Question { id, text } => {
                on("question").and(fact::ID, id.to_string()).and(fact::TEXT, text.as_str())
            }
        }
    }

    /// Reads what was recorded; nothing if only a newer program knows it.
    pub fn of(value: &Value) -> Option<Self> {
        let Value::Map(facts) = value else { return None };
        let command = || facts.read(fact::COMMAND).map(str::to_owned);
        match facts.read(fact::ON)? {
            "task" => {
                let id = facts.read(fact::ID)?.parse().ok()?;
                let until = facts.read(fact::UNTIL_END).and_then(|word| DependencyEnd::parse(word).ok())?;
                Some(Self::Task { id, until })
            }
            "person" => Some(Self::Person { what: facts.read(fact::WHAT)?.to_owned() }),
            "time" => Some(Self::Time { at: facts.read(fact::AT)? }),
            "command" => Some(Self::Command { command: command()? }),
            "pull_request" => Some(Self::PullRequest { command: command()? }),
            "question" => {
                let text = facts.read(fact::TEXT).unwrap_or_default().to_owned();
                Some(Self::Question { id: facts.read(fact::ID)?.parse().ok()?, text })
            }
            _ => None,
        }
    }

    /// The task that it is, if it is one.
    pub const fn task_id(&self) -> Option<EntityId> {
        match self {
            Self::Task { id, .. } => Some(*id),
            Self::Person { .. }
            | Self::Time { .. }
            | Self::Command { .. }
            | Self::PullRequest { .. }
            | Self::Question { .. } => None,
        }
    }

    /// In a few words.
    pub fn told(&self) -> String {
        match self {
            Self::Task { id, until: DependencyEnd::Closed } => format!("task {id}"),
            Self::Task { id, until: DependencyEnd::Ended } => format!("the end of task {id}"),
            Self::Person { what } => format!("a person: {what}"),
            Self::Time { at } => format!("the time {at}"),
            Self::Command { command } => format!("success of the command {command}"),
            Self::PullRequest { command } => format!("the pull request that {command} asks about"),
            Self::Question { id, text } => format!("an answer to {text:?} ({id})"),
        }
    }
}

/// The dependencies in a fact.
pub fn dependencies(facts: &Facts, name: crate::Fact<fact::Items>) -> Vec<Dependency> {
    facts.read(name).unwrap_or_default().iter().filter_map(Dependency::of).collect()
}

/// How many dependencies are not there yet, also those that only a newer program knows.
fn unmet(facts: &Facts) -> &[Value] {
    facts.read(fact::UNMET).unwrap_or_default()
}

/// What a task waits for: what it depends on while it is open, what it is blocked by while it is blocked.
pub fn waited_for(entity: &Entity) -> Vec<Dependency> {
    match state(entity) {
        Some(TaskState::Open) => dependencies(&entity.facts, fact::UNMET),
        Some(TaskState::Blocked) => dependencies(&entity.facts, fact::BLOCKED_BY),
        _ => Vec::new(),
    }
}

/// The commit by which a closed task was merged into its base, if it was delivered so.
pub fn merged_as(entity: &Entity) -> Option<&str> {
    let is_delivered_otherwise = entity.facts.read(fact::DELIVER).is_some_and(|how| how != "merge");
    let is_merged = state(entity) == Some(TaskState::Closed) && !is_delivered_otherwise;
    entity.facts.read(fact::COMMIT).filter(|_| is_merged)
}

/// The pull request that a task waits for: it is done, and its newest commit is in the request.
pub fn awaited_request(entity: &Entity) -> Option<&str> {
    requested(&entity.facts).filter(|_| state(entity) == Some(TaskState::Done))
}

fn requested(facts: &Facts) -> Option<&str> {
    let tip = facts.read(fact::PULL_REQUEST_TIP)?;
    facts.read(fact::PULL_REQUEST).filter(|_| facts.read(fact::TIP) == Some(tip))
}

/// Does a task wait for other tasks, and for nothing else?
pub fn waits_for_tasks(facts: &Facts) -> bool {
    unmet(facts).iter().all(|value| matches!(Dependency::of(value), Some(Dependency::Task { .. })))
}

/// What is not there yet, in a few words.
pub(crate) fn unmet_told(facts: &Facts) -> Option<String> {
    let told =
        |value: &Value| Dependency::of(value).map_or_else(|| "something unknown".to_owned(), |d| d.told());
    let all: Vec<String> = unmet(facts).iter().map(told).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// A task that can be claimed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer<'a> {
    /// Who it is for; anybody if it has no role.
    pub role: Option<&'a str>,
    /// The lowest number comes first.
    pub priority: i64,
    /// Not before this moment.
    pub not_before: Option<Moment>,
    /// What it is sorted by.
    pub labels: Option<&'a Facts>,
    /// The repository it works on.
    pub repo: Option<&'a str>,
}

/// The offer of a task, if it is one that workers can claim now or after a moment.
pub fn offer(entity: &Entity) -> Option<Offer<'_>> {
    let facts = &entity.facts;
    let is_offered = state(entity)? == TaskState::Open && unmet(facts).is_empty();
    is_offered.then(|| Offer {
        role: facts.read(fact::ROLE),
        priority: facts.read(fact::PRIORITY).unwrap_or(PRIORITY),
        not_before: facts.read(fact::NOT_BEFORE),
        labels: facts.read(fact::LABELS),
        repo: facts.read(fact::REPO),
    })
}

/// Is a task with its worker, the janitor, the recovery or an approver: claimed, and neither merged nor given up?
fn is_under_way(state: TaskState) -> bool {
    match state {
        TaskState::Claimed
        | TaskState::InProgress
        | TaskState::Done
        | TaskState::Orphaned
        | TaskState::PendingApproval => true,
        TaskState::Planned
        | TaskState::Open
        | TaskState::Closed
        | TaskState::Failed
        | TaskState::Blocked
        | TaskState::WaitingForSubtasks
        | TaskState::Cancelled => false,
    }
}

/// The files that nobody else may work on while this task is under way: until it is merged or given up.
pub fn held_files(entity: &Entity) -> Vec<&str> {
    if state(entity).is_some_and(is_under_way) { files(&entity.facts) } else { Vec::new() }
}

/// The files that a task asks for.
pub fn files(facts: &Facts) -> Vec<&str> {
    let all = facts.read(fact::FILES).unwrap_or_default().iter();
    all.filter_map(|value| if let Value::Text(text) = value { Some(text.as_str()) } else { None }).collect()
}

/// Do two paths claim a file in common? A directory claims everything below it.
pub fn overlap(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim_end_matches('/'), b.trim_end_matches('/'));
    let is_below = |low: &str, high: &str| low.strip_prefix(high).is_some_and(|rest| rest.starts_with('/'));
    a == b || is_below(a, b) || is_below(b, a) || a == "." || b == "."
}

/// Who or what moves a task on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextMove {
    /// A person, who is asked for this.
    Person(&'static str),
    /// Whichever worker claims it.
    AnyWorker,
    /// Whoever holds its lease.
    Holder(String),
    /// What it waits for.
    Dependency(String),
    /// Its subtasks.
    Subtasks(usize),
    /// A moment, and then whoever comes next.
    Time(Moment),
    /// Something that happens by itself.
    Service(&'static str),
    /// Nobody: it is over.
    Nobody,
}

/// Verifies what is done, and delivers it.
pub const JANITOR: &str = "janitor";
/// Puts what crashed workers left back on the board.
pub const RECOVERY: &str = "recovery";
/// Merges what a person approved.
pub const MERGE_QUEUE: &str = "merge queue";
const RETRYING: &str = "retries";

/// Where the turn of a task is left once a report brought the task here.
pub fn turn_rest(to: Lifecycle) -> TurnGoal {
    match of(to) {
        Some(TaskState::Done) => TurnGoal::Verifying,
        _ => TurnGoal::Reaped,
    }
}

/// Is it this service that moves a task on?
pub fn is_moved_by(entity: &Entity, service: &str) -> bool {
    let next = state(entity).and_then(|state| next_move(state, &entity.facts));
    next.is_some_and(|next| matches!(next, NextMove::Service(name) if name == service))
}

/// Who or what moves a task on from a state, with these facts; nothing if nobody will.
pub fn next_move(state: TaskState, facts: &Facts) -> Option<NextMove> {
    Some(match state {
        TaskState::Planned => NextMove::Person("approve or reject the plan"),
        TaskState::Open => match (unmet_told(facts), facts.read(fact::NOT_BEFORE)) {
            (Some(told), _) => NextMove::Dependency(told),
            (None, Some(at)) => NextMove::Time(at),
            (None, None) => NextMove::AnyWorker,
        },
        TaskState::Claimed | TaskState::InProgress => {
            NextMove::Holder(facts.read(fact::LEASE_HOLDER)?.to_owned())
        }
        TaskState::Done => match requested(facts) {
            Some(request) => NextMove::Dependency(format!("the pull request {request}")),
            None => NextMove::Service(JANITOR),
        },
        TaskState::Orphaned => NextMove::Service(RECOVERY),
        TaskState::Blocked => {
            let told = |value: &Value| {
                let words = if let Value::Text(text) = value { Some(text.clone()) } else { None };
                words.or_else(|| Dependency::of(value).map(|dependency| dependency.told()))
            };
            let by: Vec<String> =
                facts.read(fact::BLOCKED_BY).unwrap_or_default().iter().filter_map(told).collect();
            if by.is_empty() {
                return None;
            }
            NextMove::Dependency(by.join(", "))
        }
        TaskState::WaitingForSubtasks => match subtasks(facts).len() {
            0 => return None,
            many => NextMove::Subtasks(many),
        },
        TaskState::Failed => {
            let used = facts.read(fact::RETRIES).unwrap_or(0);
            if used < facts.read(fact::RETRIES_MAX).unwrap_or(RETRIES_MAX)
                && facts.read(fact::IS_FINAL) != Some(true)
            {
                NextMove::Service(RETRYING)
            } else {
                NextMove::Person("decide whether it is tried once more")
            }
        }
        // A person has approved it, and what is left is to merge it.
        TaskState::PendingApproval if facts.known(fact::APPROVED_BY).is_some() => {
            NextMove::Service(MERGE_QUEUE)
        }
        TaskState::PendingApproval => NextMove::Person("approve or reject the result"),
        TaskState::Closed | TaskState::Cancelled => NextMove::Nobody,
    })
}

/// How something stands that another task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It is there.
    Met,
    /// It may come by itself.
    Coming,
    /// It will not come by itself: a person has to do something.
    Dead,
}

/// How a task stands for another one that waits until it has ended so.
pub fn stands(state: TaskState, until: DependencyEnd) -> Stands {
    match (state, until) {
        (TaskState::Closed, _) | (TaskState::Failed | TaskState::Cancelled, DependencyEnd::Ended) => {
            Stands::Met
        }
        // A failed task that is tried again by itself goes on in the same breath, so this one waits for a person.
        (TaskState::Failed | TaskState::Cancelled, DependencyEnd::Closed) => Stands::Dead,
        (
            TaskState::Planned
            | TaskState::Open
            | TaskState::Claimed
            | TaskState::InProgress
            | TaskState::Done
            | TaskState::Blocked
            | TaskState::WaitingForSubtasks
            | TaskState::Orphaned
            | TaskState::PendingApproval,
            _,
        ) => Stands::Coming,
    }
}

/// The subtasks that a task was split into.
pub fn subtasks(facts: &Facts) -> Vec<EntityId> {
    let id = |value: &Value| if let Value::Text(text) = value { text.parse().ok() } else { None };
    facts.read(fact::SUBTASKS).unwrap_or_default().iter().filter_map(id).collect()
}

/// Was it a run for a task, and has it ended? What became of it is told by the task.
pub fn is_told_by_task(entity: &Entity) -> bool {
    let parent = || entity.facts.read(fact::PARENT).and_then(|text| text.parse::<EntityId>().ok());
    entity.ended_at.is_some()
        && entity.state.id.kind() == Kind::Session
        && parent().is_some_and(|parent| matches!(parent.kind(), Kind::TaskTurn | Kind::Task))
}

/// Is the turn over in which somebody handled a task, though the turn itself does not know? Its task is handled in another one, or was
/// led to where neither its holder, the janitor nor the recovery goes on with it.
pub fn is_turn_over(task: &Entity, turn: EntityId) -> bool {
    let is_its_own = task.facts.read(fact::TASK_TURN) == Some(turn.to_string().as_str());
    !is_its_own || state(task).is_some_and(|state| !is_under_way(state))
}

/// Does a move lead a task to where nobody holds it? Its lease ends with such a move, whoever makes it.
pub fn is_let_go(entity: &Entity, order: &Transition) -> bool {
    let follow = || {
        let (from, trigger) = (entity.state.lifecycle?, order.trigger?);
        let to = from.kind().machine().after(from.position(), trigger.position())?;
        Some(Lifecycle::new(from.kind(), to))
    };
    let is_task = entity.state.id.kind() == Kind::Task;
    let to = order.to.or_else(follow).filter(|_| is_task).and_then(of);
    to.is_some_and(|to| !matches!(to, TaskState::Claimed | TaskState::InProgress))
}

/// Has a task failed, so that only a person brings it back?
pub fn has_failed(entity: &Entity) -> bool {
    state(entity) == Some(TaskState::Failed)
}

/// Can a task be called off where it stands?
pub fn can_be_called_off(entity: &Entity) -> bool {
    state(entity).is_some_and(|state| match state {
        TaskState::Open
        | TaskState::Claimed
        | TaskState::InProgress
        | TaskState::Blocked
        | TaskState::WaitingForSubtasks => true,
        TaskState::Planned
        | TaskState::Done
        | TaskState::Closed
        | TaskState::Failed
        | TaskState::Cancelled
        | TaskState::Orphaned
        | TaskState::PendingApproval => false,
    })
}

/// The state of a task; nothing if it is none, or has none yet.
pub fn state(entity: &Entity) -> Option<TaskState> {
    entity.state.lifecycle.and_then(of)
}

/// A state as one of a task.
pub fn of(state: Lifecycle) -> Option<TaskState> {
    (state.kind() == Kind::Task).then(|| TaskState::ALL[usize::from(state.position())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::State;
    use uuid::Uuid;

    fn task(state: TaskState, facts: Facts) -> Entity {
        let id = EntityId::new(Kind::Task, Uuid::from_u128(1));
        let mut entity = Entity::known_by(State { id, version: 1, lifecycle: Some(state.into()) });
        entity.facts = facts;
        entity
    }

    #[test]
    fn a_dependency_reads_back_as_it_was_recorded() {
        let id = EntityId::new(Kind::Task, Uuid::from_u128(7));
        let all = [
            Dependency::Task { id, until: DependencyEnd::Ended },
            Dependency::Person { what: "the design".into() },
            Dependency::Time { at: Moment::from_micros(1_800_000_000_000_000) },
            Dependency::Command { command: "test -f x".into() },
            Dependency::PullRequest { command: "gh pr view 3".into() },
            Dependency::Question {
                id: EntityId::new(Kind::Question, Uuid::from_u128(8)),
                text: "which?".into(),
            },
        ];
        for one in all {
            assert_eq!(Dependency::of(&Value::Map(one.facts())), Some(one));
        }
    }

    #[test]
    fn only_an_open_task_without_unmet_dependencies_is_offered() {
        let waits = Facts::none().and(fact::UNMET, vec![Dependency::Person { what: "x".into() }.facts()]);
        assert!(offer(&task(TaskState::Open, waits.clone())).is_none());
        assert!(offer(&task(TaskState::Claimed, Facts::none())).is_none());
        assert_eq!(offer(&task(TaskState::Open, Facts::none())).unwrap().priority, PRIORITY);
        assert_eq!(next_move(TaskState::Open, &waits), Some(NextMove::Dependency("a person: x".to_owned())));
    }

    #[test]
    fn a_directory_claims_what_is_below_it() {
        assert!(overlap("src", "src/a.rs") && overlap("src/", "src") && overlap("src/a.rs", "src/a.rs"));
        assert!(!overlap("src/a.rs", "src/b.rs") && !overlap("src", "srcx") && overlap(".", "a"));
    }

    #[test]
    fn every_state_has_a_next_move_or_cannot_be_recorded() {
        let held = Facts::none()
            .and(fact::LEASE_HOLDER, "wrk")
            .and(fact::BLOCKED_BY, vec!["the network"])
            .and(fact::SUBTASKS, vec![EntityId::new(Kind::Task, Uuid::from_u128(2)).to_string()]);
        for state in TaskState::ALL {
            assert!(next_move(*state, &held).is_some(), "{state}");
        }
        for state in
            [TaskState::Claimed, TaskState::InProgress, TaskState::Blocked, TaskState::WaitingForSubtasks]
        {
            assert_eq!(next_move(state, &Facts::none()), None, "{state}");
        }
    }
}
