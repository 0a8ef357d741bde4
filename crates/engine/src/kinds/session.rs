//! A run: judged by its recorded facts and a look at its processes.
//!
//! Invariant: nothing is judged here; where too little is recorded the answer is nothing, never a guess.

use callboard_kernel::health::{
    CompletedWith, Hold, Judgement, Liveness, Presence, RunClass, SessionFacts, Since, Stopping, Thresholds,
    judge_session,
};
use callboard_kernel::{Axes, Entity, Facts, Phase, Value, fact, phase, task};
use callboard_ledger::is_unwitnessed_end;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{Lifecycle, Outcome, PhaseName, PolicyVersion, ReasonCode, Severity, Tone, Words};

use super::rules::{JudgeInput, KindRules, typed};
use crate::judging::recorded::{command, keeper, survivors};
use crate::judging::view::View;
use crate::judging::viewpoint::{ProcessReading, Recorded, Viewpoint};
use crate::mutant;
use crate::run::checks_of;

pub(super) struct Rules;

impl KindRules for Rules {
    fn judge_input(&self, entity: &Entity, state: Lifecycle) -> Option<Box<dyn JudgeInput>> {
        let facts = session(entity, typed(state));
        let processes = recorded(entity, &facts);
        Some(Box::new(Run { facts, processes }))
    }

    fn severity(&self, entity: &Entity, state: Lifecycle) -> Option<(Severity, Tone)> {
        // What became of a run for a task is told by the task; as a row of its own it would ask for the same person again.
        let axes = Axes { lifecycle: Some(state), outcome: None, health: None, delivery: None };
        let reason = entity.reasons.first().map(|reason| reason.code);
        task::is_told_by_task(entity).then(|| (Severity::Neutral, axes.severity(PolicyVersion::V2, reason).1))
    }

    fn timed_out(&self, state: Lifecycle) -> Option<bool> {
        Some(state.outcome()? == Outcome::TimedOut)
    }

    fn exit_code(&self, state: Lifecycle) -> Option<u8> {
        typed::<SessionState>(state).exit_code()
    }

    fn commands(&self, view: &View<'_>) -> &'static [&'static str] {
        if view.ended_at.is_some() { &["retry"] } else { &["stop"] }
    }
}

#[derive(Clone, Debug)]
struct Run {
    facts: SessionFacts,
    processes: Recorded,
}

impl JudgeInput for Run {
    fn look(&self, sight: &Viewpoint<'_>) -> ProcessReading {
        sight.look(&self.processes)
    }

    fn phase(&self, look: ProcessReading) -> Option<Phase> {
        phase(&self.facts, look.at)
    }

    fn recorded(&self) -> Option<&Recorded> {
        Some(&self.processes)
    }

    fn judge(&mut self, look: ProcessReading) -> Judgement {
        (self.facts.liveness, self.facts.presence) = (look.liveness, look.presence);
        forget_what_is_removed(&mut self.facts);
        judge_session(&self.facts, &Thresholds::default(), look.at)
    }

    fn copy(&self) -> Box<dyn JudgeInput> {
        Box::new(self.clone())
    }
}

fn recorded(entity: &Entity, run: &SessionFacts) -> Recorded {
    let facts = &entity.facts;
    let id = entity.state.id.to_string();
    let checks =
        facts.read(fact::ARTIFACTS).is_some_and(|artifacts| artifacts.known(fact::CONTRACT).is_some());
    let markers = if checks { vec![checks_of(&id), id] } else { vec![id] };
    Recorded {
        keeper: keeper(facts),
        command: command(facts),
        markers: markers.into(),
        is_ended: run.state.is_terminal(),
        is_end_unwitnessed: is_unwitnessed_end(entity),
        is_kill_unconfirmed: run.kill_unconfirmed,
        survivors: survivors(facts),
    }
}

fn session(entity: &Entity, state: SessionState) -> SessionFacts {
    let facts = &entity.facts;
    let unconfirmed = const { ReasonCode::of("run.health.kill_unconfirmed") };
    SessionFacts {
        state,
        class: facts.read(fact::CLASS).and_then(|word| RunClass::parse(word).ok()).unwrap_or(RunClass::Agent),
        created_at: entity.created_at.unwrap_or_default(),
        started_at: entity.started_at,
        last_activity_at: entity.last_activity_at,
        last_progress_at: facts.read(fact::LAST_PROGRESS_AT),
        liveness: Liveness::Unknown,
        presence: Presence::default(),
        pid: facts.read(fact::PID),
        lease_until: facts.read(fact::LEASE_UNTIL),
        has_traces: facts.known(fact::PID).is_some() || facts.known(fact::ARTIFACTS).is_some(),
        leftovers: facts.read(fact::LEFTOVERS).or_else(|| (!may_outlive(entity)).then_some(0)),
        kill_unconfirmed: entity.reasons.iter().any(|reason| reason.code == unconfirmed),
        later_end: facts.read(fact::LATER_END).and_then(|end| end.read(fact::MESSAGE)).map(str::to_owned),
        warning: warning(entity),
        errors_in_row: facts.read(fact::ERRORS_IN_ROW).unwrap_or(0),
        waits_for: facts
            .read(fact::WAITS_FOR)
            .map(|what| Since { what: what.to_owned(), at: facts.read(fact::WAITS_SINCE) }),
        waits_inferred: facts.read(fact::WAITS_BY).is_some_and(|by| by.ends_with("(inferred)")),
        limited_until: facts
            .read(fact::LIMITED_UNTIL)
            .map(|what| Since { what, at: facts.read(fact::LIMITED_SINCE) }),
        retrying: facts.read(fact::RETRYING).and_then(|retrying| {
            let count = retrying.read(fact::COUNT).filter(|count| *count > 0)?;
            Some((count, retrying.value(fact::LAST_ERROR).and_then(said)))
        }),
        looping: facts.read(fact::LOOPING).and_then(|looping| looping.read(fact::STEPS)),
        held: held(facts),
        stopping: facts.read(fact::STOPPING).and_then(|stopping| {
            let by = stopping.read(fact::BY).map(str::to_owned);
            let what = Stopping { cause: stopping.read(fact::CAUSE)?.to_owned(), by };
            Some(Since { what, at: stopping.read(fact::SINCE) })
        }),
        exited: exited(facts),
        after_exit: facts
            .read(fact::PHASE)
            .and_then(|word| PhaseName::parse(word).ok())
            .filter(|phase| matches!(phase, PhaseName::Draining | PhaseName::Checking))
            .map(|what| Since { what, at: facts.read(fact::PHASE_SINCE) }),
        restored_at: facts.read(fact::RESTORED_AT),
    }
}

/// Was a run ended by somebody who did not look for its processes, and did it have any?
fn may_outlive(entity: &Entity) -> bool {
    is_unwitnessed_end(entity) && entity.facts.known(fact::SUPERVISOR).is_some()
}

/// What somebody should know of a run that completed.
fn warning(entity: &Entity) -> Option<CompletedWith> {
    let has = |code: ReasonCode| entity.reasons.iter().any(|reason| reason.code == code);
    if has(const { ReasonCode::of("run.completed.denied") }) {
        let tools = match entity.facts.value(fact::DENIED) {
            Some(Value::List(tools)) => tools.iter().filter_map(said).collect::<Vec<_>>().join(", "),
            Some(_) | None => "a tool".to_owned(),
        };
        return Some(CompletedWith::Denied(tools));
    }
    has(const { ReasonCode::of("run.completed.truncated") }).then_some(CompletedWith::CutAnswer)
}

/// Leaves out what a judge without a safeguard would not know.
fn forget_what_is_removed(run: &mut SessionFacts) {
    if mutant::removed("pause_is_seen") {
        (run.held, run.presence.command_hold, run.presence.supervisor_hold) = (None, None, None);
    }
    if mutant::removed("agents_conditions") {
        (run.waits_for, run.limited_until, run.retrying, run.looping) = (None, None, None, None);
    }
}

/// What holds its command, as its supervisor recorded it.
fn held(facts: &Facts) -> Option<Since<Option<Hold>>> {
    let what = facts.read(fact::STOPPED_BY).and_then(|word| Hold::parse(word).ok());
    let is_stopped = facts.read(fact::IS_STOPPED) == Some(true);
    is_stopped.then(|| Since { what, at: facts.read(fact::STOPPED_SINCE) })
}

/// How its command ended, in words, read before the end of the run.
fn exited(facts: &Facts) -> Option<Since<String>> {
    let exited = facts.read(fact::EXITED)?;
    let what = match (exited.read(fact::CODE), exited.read(fact::SIGNAL)) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => return None,
    };
    Some(Since { what, at: exited.read(fact::AT) })
}

/// A value as it is said in a sentence; an error may be recorded as a text or as a number.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) if !text.is_empty() => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        Value::Text(_) | Value::Null | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
            None
        }
    }
}
