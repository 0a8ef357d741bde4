//! One run from before its start to after its last process is gone.
//!
//! Invariant: it is recorded before anything is started, and it ends in exactly one terminal state. If its end cannot be
//! recorded, it is kept beside the output, and the caller is told so with the exit code that the end has; if this process
//! dies, the reaper writes what it finds. Deliberately absent:
//! how processes are started and ended (supervisor) and what their end is called (`ending`).

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use callboard_agents::{Launch, Reader, Summary, verdict};
use callboard_delivery::{Agreement, InspectionLimits, Stopped, Verification, verify};
use callboard_kernel::{
    Create, EntityId, EvidenceRef, Facts, Moment, Order as Ask, StateReason, Transition, Value, fact,
};
use callboard_ledger::Stored;
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use callboard_lifecycle::worker::AbortReason;
use callboard_lifecycle::{Delivery, ReasonCode, Words};
use callboard_supervisor::{
    Cause, Containment, End, Force, How, Identity, Keep, Observer, Quiet, Rung, Signals, Spec, StartError,
    StopCause, Timer,
};

use super::checking::{Owner, Supervised, checks_of};
use super::ending::{Asked, Delivered, Ending, ending};
use super::last_words::LastWords;
use super::order::{RunOrder, process as process_facts, promised};
use super::recorder::{Desk, RecordError, Recorder, Unrecorded};
use super::sandbox_report;
use super::settings;
use super::shared_daemons::{self, Outside};
use super::watching::Watching;
use crate::mutant;
use crate::notify::SECRET_VARIABLES;
use crate::world::{PreparedCommand, RunningCommand};

/// A run that has ended.
#[derive(Debug)]
pub struct EndedRun {
    /// What is recorded, or would be if the store could be written.
    pub stored: Stored,
    /// What a shell is told.
    pub exit_code: u8,
    /// Why its end is not in the store, if it is not.
    pub unrecorded: Option<Unrecorded>,
}

/// Why a run was not started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The place for its output.
    #[error("{} cannot be made", .0.display())]
    Dir(PathBuf, #[source] io::Error),
    /// The process table of this host.
    #[error("this process cannot tell who it is")]
    Identity(#[source] io::Error),
    /// Nothing was started, because nothing could be recorded.
    #[error("nothing was started")]
    NotRecorded(#[source] Box<RecordError>),
}

/// Runs it; `started` is called when its process is there and recorded.
pub fn perform(
    order: RunOrder,
    desk: Desk<'_>,
    started: &mut dyn FnMut(EntityId),
) -> Result<EndedRun, RunError> {
    let this = desk.world.this().map_err(RunError::Identity)?;
    let mut recorder = Recorder::new(desk, order.id, &order.dir, &this, order.cause.clone());
    let signals = desk.world.signals().map_err(RunError::Identity)?;
    let (added, outside) = (shared_daemons::arguments(&order.argv), Outside::of(&order.argv));
    let mut data = order.facts(&this);
    data.merge(&recorder.end_key());
    if let Some((_, words)) = added {
        data.record(fact::ADDED_ARGUMENTS, words.to_vec());
    }
    if let Some(outside) = &outside {
        data.record(fact::SHARED, outside.facts());
    }
    let begin = Create { at: SessionState::Pending.into(), reasons: Vec::new(), data };
    let unrecorded = |error| RunError::NotRecorded(Box::new(error));
    let recorded = recorder.submit(Ask::Create(begin)).map_err(|error| unrecorded(error.into()))?;
    // Everything but the child is made while the record is synced; the child is started after it.
    let prepared = desk.world.prepare(spec(&order, added, &recorder));
    recorder.wait(recorded).map_err(unrecorded)?;
    recorder.reserve();
    match prepared.and_then(PreparedCommand::start) {
        Ok(running) => {
            let mut begun = Some(begun(&order, running.as_ref(), outside.as_ref()));
            if order.is_detached()
                && !running.is_starting()
                && let Some(begun) = begun.take()
                && let Some(ticket) = recorder.begin(Ask::Transition(begun))
            {
                // Whoever started it is told when it is recorded, or will be at its end.
                drop(ticket.wait());
            }
            started(order.id);
            watch(&order, (running, signals), begun, outside.as_ref(), &mut recorder)
        }
        Err(error) => not_started(&order, &error, signals, &mut recorder),
    }
}

impl RunOrder {
    /// Is nobody there to see its output?
    fn is_detached(&self) -> bool {
        self.audience == callboard_supervisor::Audience::Nobody
    }
}

fn spec(order: &RunOrder, added: Option<(usize, &[&str])>, recorder: &Recorder<'_>) -> Spec {
    let mut argv = order.argv.clone();
    if let Some((position, words)) = added {
        let position = position.min(argv.len());
        argv.splice(position..position, words.iter().map(Into::into));
    }
    let (program, args) = argv.split_first().map_or_else(Default::default, |(p, a)| (p.clone(), a.to_vec()));
    let began_us = u64::try_from(recorder.now().as_micros()).unwrap_or_default();
    Spec {
        args,
        env: order.env.clone(),
        without: withheld(&order.env),
        cwd: order.cwd.clone(),
        stdin: order.stdin,
        audience: order.audience,
        timers: order.timers.clone(),
        limits: order.limits.clone(),
        descriptors: order.descriptors.clone(),
        privileges: order.privileges,
        sandbox: order.sandbox.as_ref().map(|(_, sandbox)| sandbox.clone()),
        keep: Some(Keep { dir: order.dir.clone(), max_bytes: order.output_max_bytes, began_us }),
        ..Spec::new(program, order.id.to_string())
    }
}

/// The variables that neither the command nor a check inherits, unless they were given to it by name: an agent that could
/// sign could say anything in our name.
pub(super) fn withheld(given: &[(OsString, OsString)]) -> Vec<OsString> {
    let is_given = |name: &&str| given.iter().any(|(given, _)| given == name);
    SECRET_VARIABLES.into_iter().filter(|name| !is_given(name)).map(Into::into).collect()
}

fn begun(order: &RunOrder, running: &dyn RunningCommand, outside: Option<&Outside>) -> Transition {
    let Identity { pid, started_ticks, .. } = running.identity();
    let seen = format!("pid {pid}, started at tick {started_ticks}");
    let mut reason = StateReason::new(const { ReasonCode::of("run.started.ok") }, "the process was started")
        .shown_by(EvidenceRef::tool_result(seen));
    reason.evidence.extend(outside.map(|outside| EvidenceRef::tool_result(outside.told())));
    let mut data = process_facts(running.identity());
    data.record(fact::CONTAINMENT, containment(running.containment()));
    if let (Some((profile, sandbox)), Some(walls)) = (&order.sandbox, running.walls()) {
        reason.evidence.push(EvidenceRef::tool_result(sandbox_report::told(profile, walls)));
        data.record(fact::SANDBOX, sandbox_report::facts(profile, sandbox, walls));
    }
    Transition::to(SessionState::Running, reason).caused_by(SessionTrigger::Spawned).with(data)
}

/// What holds the tree together and which limits are in force, as it is recorded.
fn containment(held: &Containment) -> Facts {
    let (rung, why) = match &held.rung {
        Rung::Cgroup { path } => ("cgroup", path.to_string_lossy().into_owned()),
        Rung::Tree { why } => ("tree", why.clone()),
    };
    let mut facts = Facts::none().and(fact::RUNG, rung).and(fact::DETAIL, why);
    let limits = [(fact::MEMORY, &held.memory), (fact::CPU, &held.cpu), (fact::PROCESSES, &held.processes)];
    for (limit, force) in limits {
        match force {
            Force::NotAsked => {}
            Force::Cgroup => facts.record(limit, "cgroup"),
            Force::Rlimit => facts.record(limit, "rlimit, for each process"),
            Force::Missing(why) => facts.record(limit, format!("not limited: {why}")),
        }
    }
    facts
}

fn watch(
    order: &RunOrder,
    (running, signals): (Box<dyn RunningCommand>, Option<Signals>),
    begun: Option<Transition>,
    outside: Option<&Outside>,
    recorder: &mut Recorder<'_>,
) -> Result<EndedRun, RunError> {
    let is_starting = running.is_starting();
    let mut watching = Watching::new(recorder, begun, reader(order)).starting(is_starting);
    let (mut end, signals) = running.watch(signals, &mut watching);
    if let Some(error) = watching.take_stillborn() {
        return not_started(order, &error, signals, recorder);
    }
    end.cause = watching.cause(&end);
    let now = watching.now();
    watching.checking();
    let checked = check(order, &mut watching, signals, now);
    let seen = watching.seen();
    let (summary, known, asked, last_words) = watching.finish();
    let mut ending = named(&end, &asked, &summary, &checked, &last_words);
    if let (Some(outside), Some(first)) = (outside, ending.reasons.first_mut()) {
        first.evidence.push(EvidenceRef::tool_result(outside.told()));
    }
    if let Some(first) = ending.reasons.first_mut() {
        first.evidence.extend(seen.into_iter().map(EvidenceRef::tool_result));
    }
    let mut data = known;
    data.merge(&of_end(&end));
    data.merge(&checked.facts(&order.agreement));
    conclude(order, ending, data, recorder)
}

/// What reads its output.
fn reader(order: &RunOrder) -> Reader {
    let launch = Launch::of(&order.argv);
    let mut reader = Reader::launched(order.program, &launch);
    let program = launch.program.filter(|_| launch.model.is_none());
    if let Some(model) = program.and_then(|program| settings::model(program, &order.cwd)) {
        reader.settings_name(&model);
    }
    reader
}

/// What became of the check of the artifacts.
enum Checked {
    /// Nothing was promised.
    Nothing,
    Verified(Box<Verification>),
    /// Somebody asked for a stop meanwhile.
    Stopped(StopCause),
}

impl Checked {
    const fn verified(&self) -> Option<&Verification> {
        match self {
            Self::Verified(verified) => Some(verified),
            Self::Nothing | Self::Stopped(_) => None,
        }
    }

    /// The verdict, as it is recorded.
    fn facts(&self, agreement: &Agreement) -> Facts {
        match self {
            Self::Nothing => Facts::none(),
            Self::Verified(verified) => delivered(agreement, verified),
            Self::Stopped(_) => unchecked("the check was stopped"),
        }
    }
}

/// Checks what was promised, whatever the end was; its owner goes on meanwhile and may stop it.
fn check(order: &RunOrder, owner: &mut dyn Observer, signals: Option<Signals>, now: Moment) -> Checked {
    if order.agreement.contract.is_empty() {
        return Checked::Nothing;
    }
    let marker = checks_of(&order.id.to_string());
    let owner = RefCell::new(Owner::new(owner, signals));
    let sandbox = order.sandbox.as_ref().map(|(_, sandbox)| sandbox);
    let checks = Supervised::owned(&marker, &owner, &order.env).within(sandbox);
    let verified = verify(&order.agreement, &checks, &InspectionLimits::DEFAULT, now);
    match verified {
        Ok(verified) => Checked::Verified(Box::new(verified)),
        Err(Stopped) => Checked::Stopped(owner.borrow().stopped().unwrap_or(StopCause::Terminate)),
    }
}

fn named(end: &End, asked: &Asked, summary: &Summary, checked: &Checked, last_words: &LastWords) -> Ending {
    let code = match end.how {
        How::Exited { code } => Some(i32::from(code)),
        How::Signaled { .. } | How::Unconfirmed => None,
    };
    let verified = checked.verified();
    let effect = verified.and_then(Verification::effect);
    let delivery = match checked {
        Checked::Stopped(cause) => Delivered::Unchecked(*cause),
        Checked::Nothing | Checked::Verified(_) => effect.as_ref().map_or(Delivered::Kept, Delivered::Broken),
    };
    let mut ending = ending(end, asked, &verdict(summary, code), delivery);
    if let Some(first) = ending.reasons.first_mut() {
        if ending.to != SessionState::Completed {
            let told = last_words.told(!summary.program.reports_end());
            first.evidence.extend(told.into_iter().map(EvidenceRef::tool_result));
        }
        if ending.to == SessionState::Completed {
            first.evidence.extend(verified.map(Verification::evidence).unwrap_or_default());
        }
    }
    ending
}

/// What was read of the end, as it is recorded.
fn of_end(end: &End) -> Facts {
    let output = Facts::none()
        .and(fact::STDOUT_BYTES, end.output.stdout_bytes)
        .and(fact::STDERR_BYTES, end.output.stderr_bytes)
        .and(fact::DROPPED_BYTES, end.output.dropped)
        .and(fact::LOST_BYTES, end.output.lost)
        .and(fact::UNREAD_BYTES, end.output.passed.dropped)
        .and(fact::REFUSED_BYTES, end.output.passed.refused)
        .and(fact::READER_CLOSED, end.output.passed.closed);
    let usage = Facts::none()
        .and(fact::USER_S, end.usage.user.as_secs_f64())
        .and(fact::SYSTEM_S, end.usage.system.as_secs_f64())
        .and(fact::MAX_RSS_BYTES, end.usage.max_rss_bytes);
    let (code, signal) = match end.how {
        How::Exited { code } => (Some(code), None),
        How::Signaled { signal, .. } => (None, Some(signal)),
        How::Unconfirmed => (None, None),
    };
    let clock = match end.cause {
        Cause::Timer { timer, configured, .. } => {
            let name = match timer {
                Timer::Total => "total",
                Timer::FirstOutput => "first_output",
                Timer::Silence => "silence",
                Timer::Waiting => "waiting",
                Timer::Tool => "tool",
            };
            Facts::none().and(fact::TIMER, name).and(fact::TIMEOUT_S, configured)
        }
        Cause::OfItself | Cause::Stopped(_) => Facts::none(),
    };
    let abort = match end.cause {
        Cause::Stopped(StopCause::Sibling) => Some(AbortReason::SiblingAborted),
        Cause::Stopped(StopCause::Parent) => Some(AbortReason::ParentAborted),
        Cause::Stopped(_) | Cause::Timer { .. } | Cause::OfItself => None,
    };
    let clock = match abort {
        Some(abort) => clock.and(fact::ABORT_REASON, abort.name()),
        None => clock,
    };
    let survivors = end.survivors.iter().map(|one| {
        Facts::none()
            .and(fact::PID, one.pid)
            .and(fact::STARTED_TICKS, one.started_ticks)
            .and(fact::NAME, one.name.as_str())
            .and(fact::UID, one.uid)
            .and(fact::REFUSED, one.is_refused)
    });
    let survivors: Vec<Facts> = survivors.collect();
    let clock = if survivors.is_empty() { clock } else { clock.and(fact::SURVIVORS, survivors) };
    clock
        .and(fact::EXIT_CODE, code)
        .and(fact::SIGNAL, signal)
        .and(fact::OOM, end.oom)
        .and(fact::OOM_KILLS, end.oom_kills)
        .and(fact::ELAPSED_S, end.elapsed)
        .and(fact::SUSPENDED_S, end.stood_still)
        .and(fact::KILLED, end.killed)
        .and(fact::LEFTOVERS, i64::from(end.left))
        .and(fact::ESCAPED, i64::from(end.escaped))
        .and(fact::OUTPUT, output)
        .and(fact::USAGE, usage)
}

/// That nobody knows what was delivered, and why, as it is recorded.
pub(crate) fn unchecked(because: &str) -> Facts {
    Facts::none()
        .and(fact::DELIVERY, Delivery::Unknown.name())
        .and(fact::DELIVERY_DETAIL, format!("Artifacts not checked ({because})"))
}

/// The verdict on what was promised, as it is recorded.
pub(crate) fn delivered(agreement: &Agreement, verified: &Verification) -> Facts {
    let found = verified.facts().map_or(Value::Null, Value::Map);
    let mut facts = Facts::none()
        .and(fact::DELIVERY, verified.delivery.name())
        .and(fact::ARTIFACTS, promised(agreement).and(fact::VERIFICATION, found));
    if let Some(detail) = &verified.detail {
        facts.record(fact::DELIVERY_DETAIL, detail.as_str());
    }
    facts
}

fn not_started(
    order: &RunOrder,
    error: &StartError,
    signals: Option<Signals>,
    recorder: &mut Recorder<'_>,
) -> Result<EndedRun, RunError> {
    let code = match error {
        _ if mutant::removed("why_not_started") => const { ReasonCode::of("run.failed.spawn") },
        StartError::NotFound { .. } => const { ReasonCode::of("run.failed.not_found") },
        StartError::Interpreter { .. } => const { ReasonCode::of("run.failed.interpreter") },
        StartError::NotExecutable { .. } => const { ReasonCode::of("run.failed.not_executable") },
        StartError::MissingCwd { .. } => const { ReasonCode::of("run.failed.missing_cwd") },
        StartError::Sandbox { .. } => const { ReasonCode::of("run.failed.sandbox") },
        StartError::Resources { .. } | StartError::Invalid(_) | StartError::Setup { .. } => {
            const { ReasonCode::of("run.failed.spawn") }
        }
    };
    let seen = match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    let reason = StateReason::new(code, error.to_string()).shown_by(EvidenceRef::tool_result(seen));
    let exit_code = error.exit_code();
    let ending = Ending {
        to: SessionState::Failed,
        trigger: SessionTrigger::SpawnFailed,
        reasons: vec![reason],
        exit_code,
    };
    let data = check(order, &mut Quiet, signals, recorder.now()).facts(&order.agreement);
    conclude(order, ending, data, recorder)
}

/// Writes the end.
fn conclude(
    order: &RunOrder,
    ending: Ending,
    mut data: Facts,
    recorder: &mut Recorder<'_>,
) -> Result<EndedRun, RunError> {
    let Ending { to, trigger, reasons, exit_code } = ending;
    data.record(fact::SHELL_CODE, i64::from(exit_code));
    let told = reasons.first().map_or_else(String::new, |reason| reason.message.clone());
    let later = later_end(to, &told, &reasons, &data);
    let end =
        Ask::Transition(Transition { to: Some(to.into()), trigger: Some(trigger.into()), reasons, data });
    let mut unrecorded = recorder.end(&end).err();
    let mut stored = if unrecorded.is_none() { recorder.ended() } else { None };
    if unrecorded.as_ref().is_some_and(Unrecorded::is_ended_already) {
        // Somebody has ended it in the log already. What was read must not be lost.
        match recorder.observe(later).map(|ticket| recorder.wait(ticket)) {
            Some(Ok(())) => {
                stored = recorder.stored(order.id);
                unrecorded = None;
            }
            Some(Err(because)) => unrecorded = Some(Unrecorded { because, kept: None }),
            None => {}
        }
    }
    if let (None, Some(ended)) = (&unrecorded, &stored) {
        // The end is in the log; that it spreads is asked for on top.
        recorder.escalate(ended);
    }
    // What a shell is told does not depend on the store.
    let stored = stored.or_else(|| recorder.imagined(&end)).unwrap_or_else(|| Stored::unborn(order.id));
    Ok(EndedRun { stored, exit_code, unrecorded })
}

/// How the command ended, for a run that was ended in the log before.
fn later_end(to: SessionState, told: &str, reasons: &[StateReason], data: &Facts) -> Facts {
    let mut end = Facts::none()
        .and(fact::STATE, to.name())
        .and(fact::REASON, reasons.first().map(|reason| reason.code.as_str()))
        .and(fact::MESSAGE, told);
    end.copy(fact::EXIT_CODE, data, fact::EXIT_CODE);
    end.copy(fact::SIGNAL, data, fact::SIGNAL);
    end.copy(fact::ELAPSED_S, data, fact::ELAPSED_S);
    Facts::none().and(fact::LATER_END, end)
}
