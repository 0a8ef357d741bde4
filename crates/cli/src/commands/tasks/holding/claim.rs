//! `callboard task claim`: takes a task, under a lease.
//!
//! Invariant: a claim is made by a worker, which stands for whoever calls: a person by name, or the run that this is called from. Whoever
//! claims again goes on with the worker that has nothing to do. Deliberately absent: doing the task.

use std::path::PathBuf;
use std::time::Duration;

use callboard_engine::tasks::{Asking, Hold, NewWorker, TaskError, lease};
use callboard_kernel::{EntityId, Facts, Moment, fact, worker_state};
use callboard_ledger::{ClaimQuery, Ledger, Sequence, Slice, Stored};
use callboard_lifecycle::worker::WorkerState;
use callboard_lifecycle::{ActorClass, Kind};
use clap::Args;
use serde::Serialize;

use super::holder::LEASE;
use crate::commands::tasks::add::repo;
use crate::commands::tasks::answer::{asking, entity_id, in_words, not_done, task_id};
use crate::error::{Error, Exit};
use crate::input::moment::{absolute, span};
use crate::input::word::{Reading, pair};
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::need_person;

/// How many workers are read at once.
const PIECE: usize = 500;

/// Claim a task: nobody else can until the lease ends.
///
/// Renew the lease with task heartbeat. With --next and nothing to claim, the exit code is 1.
#[derive(Args, Debug)]
pub(crate) struct ClaimArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID", required_unless_present = "next")]
    id: Option<String>,
    /// Whichever task is due first.
    #[arg(long, conflicts_with = "id")]
    next: bool,
    /// Only a task for this role, or for nobody in particular.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// With --next: only a task with this label. May be given several times.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = Reading(pair), requires = "next")]
    labels: Vec<(String, String)>,
    /// With --next: only a task of this git repository, or of none. May be given several times.
    #[arg(long, value_name = "DIR", requires = "next")]
    repo: Vec<PathBuf>,
    /// Who claims it; your user name unless given, and inside a run the run.
    #[arg(long = "as", value_name = "NAME", conflicts_with = "worker")]
    by: Option<String>,
    /// The worker that claims it, if it has joined already.
    #[arg(long, value_name = "ID")]
    worker: Option<String>,
    /// How long the claim lasts unless it is renewed.
    #[arg(long, value_name = "SPAN", default_value = LEASE, value_parser = Reading(span))]
    lease: Duration,
    /// One JSON document; null if there is nothing to claim.
    #[arg(long)]
    json: bool,
}

/// A claim, as it is told.
#[derive(Serialize)]
struct Claimed<'a> {
    task: EntityId,
    worker: EntityId,
    turn: EntityId,
    epoch: u64,
    until: Option<Moment>,
    title: Option<&'a str>,
    prompt: Option<&'a str>,
    repo: Option<&'a str>,
}

impl ClaimArgs {
    /// Claims it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        if self.by.is_some() || self.worker.is_some() {
            need_person("claiming a task for somebody else", Some(&ledger))?;
        }
        let asking = asking(&ledger)?;
        let id = self.id.as_deref().map(|typed| task_id(&ledger, typed)).transpose()?;
        let repos = self.repo.iter().map(|path| repo(Some(path))).collect::<Result<Vec<_>, _>>()?;
        let worker = self.worker(&asking)?;
        let claimed = match id {
            Some(id) => asking.claim(worker, id, self.lease).map(Some),
            None => {
                let repos = repos.into_iter().flatten().collect();
                let query = ClaimQuery { role: self.role.clone(), labels: self.labels.clone(), repos };
                asking.claim_next(worker, query, self.lease)
            }
        };
        match claimed.and_then(|hold| bound_to_run(&asking, hold)) {
            Ok(Some(hold)) => self.tell(screen, &ledger, &hold),
            Ok(None) => self.tell_nothing(screen),
            Err(error) => not_done(screen, self.json, error),
        }
    }

    /// The worker that claims: the one that was named, one of the same name with nothing to do, or a new one.
    fn worker(&self, asking: &Asking<'_>) -> Result<EntityId, Error> {
        if let Some(typed) = &self.worker {
            return entity_id(asking.ledger, typed, Kind::Worker);
        }
        let by = self.by.clone().unwrap_or_else(|| asking.actor.id.clone());
        if let Some(worker) = free_worker(asking.ledger, &by, self.role.as_deref())? {
            return Ok(worker);
        }
        let new = NewWorker {
            title: by.clone(),
            role: self.role.clone(),
            profile: None,
            process: None,
            by: Some(by),
        };
        asking.join(&new).map_err(in_words)
    }

    fn tell(&self, screen: &Screen, ledger: &Ledger, hold: &Hold) -> Result<Exit, Error> {
        let Hold { task, worker, turn, epoch } = *hold;
        let until = lease(ledger, task).map_err(Error::Ask)?.map(|seen| seen.lease.until);
        let stored = ledger.entity(task).map_err(Error::Ask)?;
        let text = |name| stored.as_ref().and_then(|stored| stored.entity.facts.read(name));
        let claimed = Claimed {
            task,
            worker,
            turn,
            epoch,
            until,
            title: text(fact::TITLE),
            prompt: text(fact::PROMPT),
            repo: text(fact::REPO),
        };
        if self.json {
            screen.json(&claimed)?;
            return Ok(Exit::DONE);
        }
        let until = until.map_or_else(|| "—".to_owned(), absolute);
        let properties = [
            ("task", task.to_string()),
            ("title", claimed.title.unwrap_or("—").to_owned()),
            ("worker", worker.to_string()),
            ("turn", turn.to_string()),
            ("epoch", epoch.to_string()),
            ("until", until),
        ];
        screen.print(&screen.properties(&properties.map(|(name, value)| (name.to_owned(), vec![value]))))?;
        Ok(Exit::DONE)
    }

    fn tell_nothing(&self, screen: &Screen) -> Result<Exit, Error> {
        match self.json {
            true => screen.json(&None::<Claimed<'_>>)?,
            false => {
                screen.print(&screen.prose("Nothing to claim. What waits, and for what: callboard board"))?
            }
        }
        Ok(Exit::FAILED)
    }
}

/// The agent of the run that this is called from acts for the task from here on.
fn bound_to_run(asking: &Asking<'_>, hold: Option<Hold>) -> Result<Option<Hold>, TaskError> {
    if let Some(hold) = &hold
        && asking.actor.class == ActorClass::Agent
    {
        let run = asking.actor.id.parse().ok();
        asking.acting_for_worker(hold.worker).launched(hold, run, Facts::none(), &Facts::none())?;
    }
    Ok(hold)
}

/// A worker of this name and role that has nothing to do.
fn free_worker(ledger: &Ledger, by: &str, role: Option<&str>) -> Result<Option<EntityId>, Error> {
    let is_free = |stored: &&Stored| {
        let facts = &stored.entity.facts;
        matches!(worker_state(&stored.entity), Some(WorkerState::Starting | WorkerState::Idle))
            && facts.read(fact::BY) == Some(by)
            && facts.read(fact::ROLE) == role
            && facts.read(fact::TASK).is_none()
    };
    let mut beyond = None;
    loop {
        let slice = Slice {
            kind: Some(Kind::Worker),
            live: true,
            order: Sequence::Newest,
            beyond,
            limit: PIECE,
            ..Slice::default()
        };
        let piece = ledger.slice(slice).map_err(Error::Ask)?;
        if let Some(found) = piece.iter().find(is_free) {
            return Ok(Some(found.entity.state.id));
        }
        let Some(last) = piece.last() else { return Ok(None) };
        beyond = Some(last.entity.state.id);
    }
}
