//! What workers do on the task board through a surface: they claim, begin, say how far they are, and end what they hold.
//!
//! Invariant: a claim is made by a worker that was joined in the caller's name; everything else needs the hold of the caller. Deliberately
//! absent: workers that are processes of this program, which the crew has.

use std::time::Duration;

use callboard_kernel::task::Dependency;
use callboard_kernel::{Actor, EntityId, Facts, Moment, fact, worker_state};
use callboard_ledger::{ClaimQuery, Page, RecordScope, Sequence, Slice, Stored};
use callboard_lifecycle::worker::WorkerState;
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};
use callboard_wire::{
    BlockRequest, ClaimOneRequest, ClaimRequest, DoneReport, FailReport, HoldShape, LeaseRenewal,
    ProgressReport, ReleaseRequest, SplitRequest, StartReport,
};

use super::asking::{Asking, TaskError, unfit};
use super::caller::{ActError, Acting, Caller, Performed, is_joined_by, not_allowed, only_looks, said};
use super::holding::{Hold, LEASE, NewWorker, id_in};
use super::new_task::{NewTask, gate, other_task, word};
use super::reporting::{Block, Done, TaskFailure};
use crate::ids::id_of_key;

/// How long a claim by hand lasts without a heartbeat: a person or a model thinks longer than a process.
const BY_HAND: Duration = Duration::from_secs(1800);
const LEASE_MAX_S: f64 = 86_400.0;

impl Acting<'_> {
    /// Claims the next task that fits; nothing if none does.
    pub fn claim_next(&self, request: &ClaimRequest) -> Result<Option<HoldShape>, ActError> {
        let length = lease(request.lease_s)?;
        if let Some(hold) = self.claimed_before()? {
            return self.shown(&hold).map(Some);
        }
        let query = ClaimQuery {
            role: request.role.clone(),
            labels: request.labels.clone().into_iter().collect(),
            repos: request.repos.clone(),
        };
        let (asking, worker) = self.worker(request.worker.as_deref(), request.role.as_deref())?;
        match asking.claim_next(worker, query, length)? {
            None => Ok(None),
            Some(hold) => self.shown(&hold).map(Some),
        }
    }

    /// Claims one task.
    pub fn claim(&self, id: EntityId, request: &ClaimOneRequest) -> Result<HoldShape, ActError> {
        let length = lease(request.lease_s)?;
        if let Some(hold) = self.claimed_before()? {
            return self.shown(&hold);
        }
        self.task(id)?;
        let (asking, worker) = self.worker(request.worker.as_deref(), None)?;
        self.shown(&asking.claim(worker, id, length)?)
    }

    /// The hold of the claim that the same request made before: its turn has the id that belongs to the key.
    fn claimed_before(&self) -> Result<Option<Hold>, ActError> {
        let Some(key) = &self.key else { return Ok(None) };
        let turn = id_of_key(Kind::TaskTurn, key);
        let page = Page { after: 0, limit: 1, scope: RecordScope::Entity(turn) };
        let Some(first) = self.ledger.records(page)?.into_iter().next() else { return Ok(None) };
        self.is_same(&first)?;
        let Some(stored) = self.ledger.entity(turn)? else { return Ok(None) };
        let (Some(task), Some(worker)) = (id_in(&stored, fact::TASK), id_in(&stored, fact::WORKER)) else {
            return Ok(None);
        };
        let held = Asking::new(self.ledger, Actor::new(ActorClass::System, "board"), self.now).held(task)?;
        let epoch = held.filter(|held| held.turn == turn).map_or(0, |held| held.epoch);
        Ok(Some(Hold { task, worker, turn, epoch }))
    }

    /// A worker of the caller, joined if there is none that is free, and who asks for it.
    fn worker(&self, title: Option<&str>, role: Option<&str>) -> Result<(Asking<'_>, EntityId), ActError> {
        let Caller::Person(name) = &self.caller else {
            return Err(match &self.caller {
                Caller::Agent(_) => not_allowed(
                    "an agent in a run works on the task that its worker claimed",
                    "finish your own task; the worker claims the next one",
                ),
                Caller::Viewer | Caller::Person(_) => only_looks(),
            });
        };
        let title = title.unwrap_or(name);
        let asking = self.asking(Actor::new(ActorClass::Operator, name.as_str()));
        if let Some(free) = self.free_worker(name, title)? {
            return Ok((asking, free));
        }
        let new = NewWorker {
            title: word("worker", title)?,
            role: role.map(str::to_owned),
            by: Some(name.clone()),
            ..NewWorker::default()
        };
        let joined = asking.clone().keyed(None, self.cause.clone()).join(&new)?;
        Ok((asking, joined))
    }

    /// A worker of this person and name that has no task.
    fn free_worker(&self, name: &str, title: &str) -> Result<Option<EntityId>, ActError> {
        let slice = Slice {
            kind: Some(Kind::Worker),
            live: true,
            order: Sequence::Newest,
            limit: 500,
            ..Slice::default()
        };
        let is_free = |worker: &&Stored| {
            is_joined_by(worker, name)
                && worker.entity.facts.read(fact::TITLE) == Some(title)
                && worker_state(&worker.entity) == Some(WorkerState::Idle)
        };
        Ok(self.ledger.slice(slice)?.iter().find(is_free).map(|worker| worker.entity.state.id))
    }

    fn shown(&self, hold: &Hold) -> Result<HoldShape, ActError> {
        let name = hold.task.to_string();
        let seen = self.ledger.leases()?.into_iter().find(|seen| seen.lease.name == name);
        let until =
            seen.filter(|seen| seen.lease.epoch == hold.epoch).map(|seen| seen.lease.until.to_string());
        let (worker, turn) = (hold.worker.to_string(), hold.turn.to_string());
        Ok(HoldShape { task: name, worker, turn, epoch: hold.epoch, until })
    }

    /// Says that the work has begun.
    pub fn start(&self, id: EntityId, report: &StartReport) -> Result<Performed, ActError> {
        let status = said(report.status.as_deref(), "its worker began")?;
        self.once(id, || {
            let (asking, hold) = self.hold(id, report.epoch)?;
            Ok(asking.begin(&hold, status)?)
        })
    }

    /// Lets the claim go on, and says until when.
    pub fn heartbeat(&self, id: EntityId, renewal: &LeaseRenewal) -> Result<HoldShape, ActError> {
        let length = match &self.caller {
            // Only where it claimed the task itself; else its worker renews the claim.
            Caller::Agent(_) => LEASE,
            Caller::Person(_) | Caller::Viewer => lease(renewal.lease_s)?,
        };
        let (asking, hold) = self.hold(id, renewal.epoch)?;
        let until = asking.heartbeat(&hold, length).map_err(|error| match error {
            TaskError::Unfit { problem, help } => ActError::NotHeld { problem, help },
            TaskError::NotFound { .. } | TaskError::Refused(_) | TaskError::Store(_) | TaskError::Read(_) => {
                error.into()
            }
        })?;
        Ok(HoldShape { until: Some(until.to_string()), ..self.shown(&hold)? })
    }

    /// Says how far the work is.
    pub fn progress(&self, id: EntityId, report: &ProgressReport) -> Result<Performed, ActError> {
        let text = said(Some(&report.text), "")?;
        self.once(id, || {
            let (asking, hold) = self.hold(id, report.epoch)?;
            Ok(asking.progress(&hold, text)?)
        })
    }

    /// Says that the work is done.
    pub fn done(&self, id: EntityId, report: &DoneReport) -> Result<Performed, ActError> {
        let summary = said(Some(&report.summary), "")?;
        let evidence = said(report.evidence.as_deref(), summary)?;
        let done = Done { summary: summary.to_owned(), evidence: evidence.to_owned(), data: Facts::none() };
        self.once(id, || {
            let (asking, hold) = self.hold(id, report.epoch)?;
            Ok(asking.report_done(&hold, &done)?)
        })
    }

    /// Says that the attempt failed.
    pub fn fail(&self, id: EntityId, report: &FailReport) -> Result<Performed, ActError> {
        let message = said(Some(&report.message), "")?;
        let evidence = said(report.evidence.as_deref(), message)?.to_owned();
        let code = const { ReasonCode::of("task.failed.reported") };
        let failure = TaskFailure { evidence, is_final: report.is_final, ..TaskFailure::new(code, message) };
        self.once(id, || {
            let (asking, hold) = self.hold(id, report.epoch)?;
            Ok(asking.report_failed(&hold, &failure)?)
        })
    }

    /// Says what the task waits for.
    pub fn block(&self, id: EntityId, request: &BlockRequest) -> Result<Performed, ActError> {
        let because = said(Some(&request.because), "")?;
        let by: Vec<Block> = request.by.iter().map(|text| waited_for(text)).collect::<Result<_, _>>()?;
        self.once(id, || {
            let (asking, hold) = self.hold(id, request.epoch)?;
            for one in &by {
                if let Block::Dependency(Dependency::Task { id, .. }) = one {
                    self.task(*id)?;
                }
            }
            Ok(asking.block(&hold, &by, because)?)
        })
    }

    /// Splits the task into parts that it waits for.
    pub fn split(&self, id: EntityId, request: &SplitRequest) -> Result<Performed, ActError> {
        let author = match &self.caller {
            Caller::Person(_) => ActorClass::Operator,
            Caller::Viewer | Caller::Agent(_) => ActorClass::Agent,
        };
        let parts: Vec<NewTask> =
            request.parts.iter().map(|part| NewTask::read(part, author)).collect::<Result<_, _>>()?;
        self.once(id, || {
            let (asking, hold) = self.hold(id, request.epoch)?;
            asking.split(&hold, parts.clone())?;
            Ok(())
        })
    }

    /// Gives the task back.
    pub fn release(&self, id: EntityId, request: &ReleaseRequest) -> Result<Performed, ActError> {
        let because = said(Some(&request.because), "")?;
        let moment = |text: &String| {
            text.parse::<Moment>().map_err(|_| {
                unfit(format!("{text:?} is no moment"), "use a time such as 2026-11-15T19:19:18Z")
            })
        };
        let not_before = request.not_before.as_ref().map(moment).transpose()?;
        self.once(id, || {
            let (asking, hold) = self.hold(id, request.epoch)?;
            Ok(asking.release(&hold, because, not_before)?)
        })
    }
}

/// What a task waits for, as it was written.
fn waited_for(text: &str) -> Result<Block, TaskError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(unfit("what it waits for is empty", "say what it is blocked by"));
    }
    if text.starts_with("command:") || text.starts_with("merged:") {
        let help = "use the ID of a task, person:TEXT, time:RFC3339 or other words";
        return Err(unfit("a blocked task does not wait for a command", help));
    }
    if text.starts_with("person:") || text.starts_with("time:") {
        return gate(text).map(Block::Dependency);
    }
    let id = text.strip_suffix(":ended").unwrap_or(text);
    match id.parse::<EntityId>() {
        Ok(_) => other_task(text).map(Block::Dependency),
        Err(_) => Ok(Block::Words(text.to_owned())),
    }
}

fn lease(seconds: Option<f64>) -> Result<Duration, TaskError> {
    match seconds {
        None => Ok(BY_HAND),
        Some(seconds) if (1.0..=LEASE_MAX_S).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        Some(seconds) => {
            Err(unfit(format!("a claim cannot last {seconds} s"), "use from 1 to 86400 seconds"))
        }
    }
}
