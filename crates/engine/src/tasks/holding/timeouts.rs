//! The bounds of attempts: the samples that earlier attempts left on their turns, and the bound that follows from them.
//!
//! Invariant: at most [`LOOKED_AT`] of the newest entities are read, however long the history is. A turn names its key, its bound, the rule and
//! the samples that the bound follows from. Deliberately absent: the rule itself, which `callboard_kernel::timeout` is.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use callboard_kernel::task::Scope;
use callboard_kernel::timeout::{AttemptBound, Sample, SampleEnd, TimeoutRule, WINDOW, default, timeout};
use callboard_kernel::{EntityId, Facts, Value, fact};
use callboard_ledger::{Ledger, ReadError, Sequence, Slice, Stored};
use callboard_lifecycle::{Kind, Words};

use crate::run::told;

/// How many of the newest entities are looked at for samples.
const LOOKED_AT: usize = 4_000;
/// How many are read at once.
const PIECE: usize = 500;

/// What attempts are compared by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeoutKey {
    /// The role that the task is for, if it has one.
    pub role: Option<String>,
    /// How much work the task is.
    pub scope: Scope,
    /// The agent profile, if it has a name.
    pub profile: Option<String>,
}

/// The bound of an attempt, and the turns that it follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenTimeout {
    /// What its samples have in common.
    pub key: TimeoutKey,
    /// The bound and its rule.
    pub timeout: AttemptBound,
    /// The turns whose durations were read, the newest first.
    pub samples: Vec<EntityId>,
}

impl TimeoutKey {
    /// The key of an attempt at a task with a profile.
    pub fn of(task: &Facts, profile: Option<&str>) -> Self {
        Self {
            role: task.read(fact::ROLE).map(str::to_owned),
            scope: scope_of(task),
            profile: profile.map(str::to_owned),
        }
    }

    /// The key as a turn records it.
    fn recorded(turn: &Facts) -> Option<Self> {
        let scope = turn.read(fact::SCOPE).and_then(|word| Scope::parse(word).ok())?;
        Some(Self {
            role: turn.read(fact::ROLE).map(str::to_owned),
            scope,
            profile: turn.read(fact::PROFILE).map(str::to_owned),
        })
    }
}

/// How much work a task is.
pub(in crate::tasks) fn scope_of(task: &Facts) -> Scope {
    task.read(fact::SCOPE).and_then(|word| Scope::parse(word).ok()).unwrap_or(Scope::Medium)
}

/// The bound of the next attempt at a task with a profile.
pub fn timeout_for(ledger: &Ledger, task: &Facts, profile: Option<&str>) -> Result<ChosenTimeout, ReadError> {
    let key = TimeoutKey::of(task, profile);
    let explicit = task.read(fact::TIMEOUT_S).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let mut found = Vec::new();
    each_sample(ledger, |of, id, sample| {
        if of == key {
            found.push((id, sample));
        }
        if found.len() >= WINDOW { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(chosen(key, explicit, &found))
}

/// The bound of every role, scope and profile that has samples.
pub fn timeouts(ledger: &Ledger) -> Result<Vec<ChosenTimeout>, ReadError> {
    let mut all: BTreeMap<TimeoutKey, Vec<(EntityId, Sample)>> = BTreeMap::new();
    each_sample(ledger, |key, id, sample| {
        let found = all.entry(key).or_default();
        if found.len() < WINDOW {
            found.push((id, sample));
        }
        ControlFlow::Continue(())
    })?;
    Ok(all.into_iter().map(|(key, found)| chosen(key, None, &found)).collect())
}

fn chosen(key: TimeoutKey, explicit: Option<Duration>, found: &[(EntityId, Sample)]) -> ChosenTimeout {
    let samples: Vec<Sample> = found.iter().map(|(_, sample)| *sample).collect();
    let timeout = timeout(key.scope, explicit, &samples);
    ChosenTimeout { key, timeout, samples: found.iter().map(|(id, _)| *id).collect() }
}

/// Visits the samples among the newest entities, the newest first.
fn each_sample(
    ledger: &Ledger,
    mut visit: impl FnMut(TimeoutKey, EntityId, Sample) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let mut beyond = None;
    for _ in 0..LOOKED_AT / PIECE {
        // Of all kinds: how far a listing of one kind reads depends on how much else was recorded.
        let slice = Slice { order: Sequence::Newest, beyond, limit: PIECE, ..Slice::default() };
        let piece = ledger.slice(slice)?;
        for stored in &piece {
            let Some((key, sample)) = sample_of(stored) else { continue };
            if visit(key, stored.entity.state.id, sample).is_break() {
                return Ok(());
            }
        }
        beyond = piece.last().map(|last| last.entity.state.id);
        if piece.len() < PIECE {
            break;
        }
    }
    Ok(())
}

/// The sample that a turn is, if it is one.
fn sample_of(stored: &Stored) -> Option<(TimeoutKey, Sample)> {
    let (id, facts) = (stored.entity.state.id, &stored.entity.facts);
    let end = facts.read(fact::SAMPLE).filter(|_| id.kind() == Kind::TaskTurn)?;
    let end = SampleEnd::parse(end).ok()?;
    let mut took = Duration::try_from_secs_f64(facts.read(fact::ELAPSED_S)?).ok()?;
    if end == SampleEnd::TimedOut {
        // What it took longer than its bound is the time that stopping it took.
        let bound = bound_of(facts).unwrap_or(took);
        took = took.min(bound);
    }
    Some((TimeoutKey::recorded(facts)?, Sample { took, end }))
}

/// The bound that is recorded of an attempt.
fn bound_of(facts: &Facts) -> Option<Duration> {
    let seconds = facts.read(fact::BOUND)?.read(fact::TIMEOUT_S)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The bound of the last attempt at a task, or its own if that is longer; that of its scope if there was none.
pub(in crate::tasks) fn last_bound(task: &Facts) -> Duration {
    let own = task.read(fact::TIMEOUT_S).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    bound_of(task).max(own).unwrap_or_else(|| default(scope_of(task)))
}

impl ChosenTimeout {
    /// As the task records it.
    pub fn bound_facts(&self) -> Facts {
        let count = i64::try_from(self.timeout.samples).unwrap_or(i64::MAX);
        let bound = Facts::none()
            .and(fact::TIMEOUT_S, self.timeout.bound)
            .and(fact::RULE, self.timeout.rule.name())
            .and(fact::P95_S, self.timeout.p95)
            .and(fact::SAMPLE_COUNT, count);
        Facts::none().and(fact::BOUND, bound)
    }

    /// What the turn records beside the bound: what it is compared by, and the samples.
    pub fn turn_facts(&self) -> Facts {
        let ids: Vec<Value> = self.samples.iter().map(|id| Value::from(id.to_string())).collect();
        Facts::none()
            .and(fact::ROLE, self.key.role.as_deref())
            .and(fact::SCOPE, self.key.scope.name())
            .and(fact::PROFILE, self.key.profile.as_deref())
            .and(fact::SAMPLES, ids)
    }
}

/// A bound that is recorded of an attempt, in words: how long, and why.
pub fn bound_told(facts: &Facts) -> Option<String> {
    let (bound, rule) = (facts.read(fact::BOUND)?, facts.read(fact::BOUND)?.read(fact::RULE));
    let span =
        |name| bound.read(name).and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok()).map(told);
    let count = bound.read(fact::SAMPLE_COUNT).unwrap_or(0);
    let noun = if count == 1 { "sample" } else { "samples" };
    let why = match rule.and_then(|word| TimeoutRule::parse(word).ok()) {
        Some(TimeoutRule::Explicit) => "set for the task".to_owned(),
        Some(TimeoutRule::Adaptive) => {
            let p95 = span(fact::P95_S).unwrap_or_else(|| "—".to_owned());
            format!("adaptive: p95 {p95} of {count} {noun}")
        }
        Some(TimeoutRule::Default) => format!("default of its scope: {count} {noun}, too few"),
        None => "rule unknown".to_owned(),
    };
    Some(format!("{} ({why})", span(fact::TIMEOUT_S)?))
}

/// What a turn records of an attempt that ended, for later bounds.
pub fn sample_facts(elapsed_s: f64, end: SampleEnd) -> Facts {
    let mut facts = Facts::none().and(fact::SAMPLE, end.name());
    if let Ok(took) = Duration::try_from_secs_f64(elapsed_s) {
        facts.record(fact::ELAPSED_S, took);
    }
    facts
}
